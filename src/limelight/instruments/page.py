"""What a probe found, as pictures and one HTML page that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limelight.instruments.overlay import Overlay
from limelight.instruments.probe import KINDS, PARTS, Noise, Probe, Shown, distils, with_interval
from limelight.measures.denoising import CONTROLS, POPULATIONS, STAGES
from limelight.page.report import Illustration, Numbers, Section, write_report
from limelight.plot import (
    Axis,
    Panel,
    Picture,
    Series,
    attention_over_image,
    panels,
    similarity_maps,
)
from limelight.plot.files import render
from limelight.plot.patches import MOST

#: As in jelassi2022, Figure 1(a): what is drawn darkest.
DARKEST = 0.55
#: Of pictures on the page: sharp on a screen, light in a mail.
DOTS = 160
#: What the stages and the stand-ins for attention are called in pictures.
STAGE_WORDS = {
    "entering": "entering the block",
    "normed": "behind the norm",
    "mixed": "behind attention",
    "attended": "behind the first sum",
    "leaving": "leaving the block",
}
CONTROL_WORDS = {
    "attention": "attention",
    "identity": "none (A = I)",
    "even": "even",
    "local": "3 x 3 average",
    "masked": "without diagonal",
}
KIND_WORDS = {"hit": "noisy patches", "spared": "spared patches", "feature": "noise on tokens"}


def pictures(found: Probe) -> dict[str, Picture]:
    """Every picture of the page, by name."""
    drawn: dict[str, Picture] = {}
    if found.positions is not None:
        drawn["positions"] = similarity_maps(
            [("drawn afresh", found.positions.fresh), ("trained", found.positions.similarity)],
            DARKEST,
            "similarity of positions",
        )
    for number, shown in enumerate(found.shown, 1):
        drawn[f"attention-{number}"] = draw_attention(shown)
    if found.noise is not None:
        drawn["heads"] = draw_heads(found)
        drawn["stages"] = draw_stages(found.noise)
        drawn["controls"] = draw_controls(found.noise)
        drawn["parts"] = draw_parts(found.noise)
        drawn["model"] = draw_model(found.model)
    return drawn


def draw_attention(shown: Shown) -> Picture:
    """Attention of every block and head over one image."""
    return attention_over_image(shown.image, shown.maps, bar_label="weight over even weight")


def draw_heads(found: Probe) -> Picture:
    """How widely heads attend, and to what: means over heads, from the lowest to the highest."""
    most = np.log(found.keys)
    classed = bool(np.isfinite(found.heads["class"]).all())
    asking = "class token" if classed else "mean of queries"
    both = lambda of_class, of_patches, by=1.0: [
        _spread(asking, found.heads[of_class] / by),
        _spread("patches", found.heads[of_patches] / by),
    ]
    alone = lambda name: [_spread("patches", found.heads[name])]
    itself = both("class_itself", "itself") if classed else alone("itself")
    parts = [
        Panel("entropy over its largest", both("class_entropy", "entropy", most)),
        Panel("effective keys", alone("effective_keys"), Axis(log=True)),
        Panel("weight on itself", itself, Axis(log=True)),
    ]
    if classed:
        parts.append(Panel("weight on the class token", alone("class")))
    if found.relevant_share is not None:
        even = ("even attention", *_level(found, found.relevant_share))
        lines = [*both("class_relevant", "relevant"), even]
        parts.append(Panel("mass on the image's patches", lines))
    return panels(parts, x_label="block", columns=2 if len(parts) == 4 else 3, height=1.7)


def draw_stages(noise: Noise) -> Picture:
    """Noise over signal at every stage of every block."""
    words = [STAGE_WORDS[stage] for stage in STAGES]
    parts = _by_kind(noise.stages, POPULATIONS, words, "noise over signal, $g$")
    return panels(parts, x_label="block", columns=2, height=2.2)


def draw_controls(noise: Noise) -> Picture:
    """What attention and its stand-ins let through."""
    words = [CONTROL_WORDS[control] for control in CONTROLS]
    parts = _by_kind(noise.gains, KINDS, words, "noise out over noise in")
    return panels(parts, x_label="block", columns=3, height=2.0)


def draw_parts(noise: Noise) -> Picture:
    """Noise on tokens behind averaging: how it comes about."""
    words = {
        "total": "all of it",
        "frozen": "attention kept clean",
        "response": "response of attention",
        "predicted": "kept clean, by formula",
    }
    blocks = np.arange(1, len(noise.gains) + 1)
    lines = [(words[name], blocks, _drawable(noise.parts[name])) for name in PARTS]
    part = Panel("noise on tokens, before $W_O$", lines, Axis("noise out over noise in", log=True))
    return panels([part], x_label="block", height=2.0)


def draw_model(fits: tuple[tuple[Overlay, ...], ...]) -> Picture:
    """What attention leaves of the spread around centres, beside the law; and how well it fits."""
    mean = lambda name: np.mean([[getattr(b, name) for b in image] for image in fits], axis=0)
    left = [_spread("by the head", mean("measured")), _spread("by the law", mean("predicted"))]
    fit = [_spread("$R^2$ of the slope", mean("r_squared"))]
    parts = [Panel("spread left by attention", left), Panel("fit of the logits", fit)]
    return panels(parts, x_label="block", columns=2, height=2.0)


def _by_kind(
    values: np.ndarray, kinds: Sequence[str], words: Sequence[str], y_label: str
) -> list[Panel]:
    """One panel per kind of noise and one line per word; values by block, word and kind."""
    blocks = np.arange(1, len(values) + 1)
    lines = lambda k: [(word, blocks, _drawable(values[:, i, k])) for i, word in enumerate(words)]
    return [
        Panel(KIND_WORDS[kind], lines(k), Axis("" if k else y_label, log=True))
        for k, kind in enumerate(kinds)
    ]


def _spread(label: str, values: np.ndarray) -> Series:
    """Means over heads, from the lowest head to the highest."""
    blocks = np.arange(1, len(values) + 1)
    return Series(label, blocks, values.mean(axis=1), values.min(axis=1), values.max(axis=1))


def _level(found: Probe, value: float) -> tuple[np.ndarray, np.ndarray]:
    blocks = np.arange(1, len(found.heads["entropy"]) + 1)
    return blocks, np.full(len(blocks), value)


def _drawable(values: np.ndarray) -> np.ndarray:
    """Nothing where there is no noise: a logarithm has no place for it."""
    return np.where(values > 0, values, np.nan)


# --- the page ---------------------------------------------------------------------------------


def write_page(
    path: Path, name: str, found: Probe, machine: dict[str, Any], rerun: Sequence[str]
) -> None:
    """Write the page; whole or not at all."""
    drawn = {key: render(figure, dots_per_inch=DOTS) for key, figure in pictures(found).items()}
    parts = (_positions(found, drawn), _attention(found, drawn), _denoising(found, drawn))
    versions = {"commit": machine["commit"], **machine["versions"], **machine["device"]}
    how = Section("", "How it was read", settings=found.settings, versions=versions, rerun=rerun)
    write_report(
        path,
        f"{name}: attention, positions and noise",
        statement="What this ViT attends to, what its positions know, what its blocks do to noise.",
        sections=[*(part for part in parts if part), how],
    )


def _positions(found: Probe, drawn: dict[str, bytes]) -> Section | None:
    if found.positions is None:
        return None
    p = found.positions
    rows = [
        ("locality", f"{p.locality:.3f}", f"{p.largest:.3f} (largest of 200)", "0"),
        ("nearest is a neighbour", f"{p.neighbours:.1%}", f"{p.neighbours_fresh:.1%} (mean)", ""),
    ]
    rows += [
        (
            f"association, {k}",
            f"{v['overlap']:.3f}",
            f"{v['fresh']:.3f} (mean)",
            f"{v['chance']:.3f}",
        )
        for k, v in p.association.items()
    ]
    text = (
        "Every small map is one patch's similarity to all others, at its place in the image."
        " Darkest from .55 of the largest; 0 and below is the lightest."
    )
    return Section(
        "",
        "Positions",
        "Locality is the mean cosine of next neighbours less that of patches more than two apart."
        " Association is the share of a patch's group that is among its most similar patches.",
        figures=[Illustration(drawn["positions"], text)],
        numbers=[
            Numbers(
                "Trained, beside fresh Gaussian positions of the same shape.",
                ("score", "trained", "fresh", "by chance"),
                rows,
            )
        ],  # fmt: skip
    )


def _attention(found: Probe, drawn: dict[str, bytes]) -> Section | None:
    if found.noise is None:
        return None
    figures = [
        Illustration(
            drawn[f"attention-{number}"],
            f"Attention to every patch of this image ({shown.name}), by block and head"
            + ("" if max(shown.maps.shape[:2]) <= MOST else f"; {MOST} of each at most are shown")
            + ". 1 is even attention.",
        )
        for number, shown in enumerate(found.shown, 1)
    ]
    text = (
        "Means over heads and images; bands reach from the lowest head to the highest. Effective"
        " keys are one over the sum of squared weights: over so many keys independent noise is"
        " averaged."
    )
    return Section("", "Attention", figures=[*figures, Illustration(drawn["heads"], text)])


def _denoising(found: Probe, drawn: dict[str, bytes]) -> Section | None:
    if found.noise is None:
        return None
    rows = [_noise_row(found.noise, block) for block in range(len(found.noise.stages))]
    lower = "Noise that attention lets through over what no attention (A = I, same value and"
    numbers = Numbers(
        f"{lower} output maps) does: geometric mean over images, 95 % interval (one image has"
        " none). Below 1, attention distils noise. A spared patch of the first block has no noise"
        " to begin with.",
        ("block", *(KIND_WORDS[kind] for kind in KINDS)),
        rows,
    )
    stages = (
        "Noise of standard deviation {noise:g} on {noisy_share:.0%} of the patches: its length"
        " over that of the signal (the distance of clean tokens from their mean), for patches that"
        " were hit and for those that were not.".format(**found.settings)
    )
    controls = (
        "Noise behind the output map over noise behind the norm, with other attention in place of"
        " the block's own."
    )
    parts = (
        "Small noise on the tokens of each block. With attention kept clean its noise is averaged"
        " over the effective keys; the formula takes it as independent and even in all directions."
        " The rest is attention's response to the noise."
    )
    model = (
        "Tokens gathered into clusters: their distance from the centres behind attention (values"
        " left as they are) over that before, by the head's own weights and by the law that the"
        " model of xu2022 has for the slope of its logits on inner products. Where that slope"
        " explains little, the law speaks of another head."
    )
    return Section(
        "",
        "Noise, block by block",
        "Attention is said to average noise away. Here the same network reads a clean and a noisy"
        " copy, and every block's attention is replaced in turn.",
        figures=[
            Illustration(drawn["stages"], stages),
            Illustration(drawn["controls"], controls),
            Illustration(drawn["parts"], parts),
            Illustration(drawn["model"], model),
        ],
        numbers=[numbers],
        notes=[
            "An even average lets least noise through, and no signal either: gains of noise"
            " alone do not say that a stand-in would be better."
        ],  # fmt: skip
    )


def _noise_row(noise: Noise, block: int) -> list[str]:
    cells = [str(block + 1)]
    for ends in noise.against_identity[block]:
        ratio = with_interval(ends)
        cells.append(f"{ratio} {_WORD[distils(ends)]}" if ratio else "none to begin with")
    return cells


_WORD = {"yes": "distils", "no": "does not", "open": "open"}
