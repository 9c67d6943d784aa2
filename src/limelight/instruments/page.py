"""What a probe found, on one HTML page that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limelight._page.report import Illustration, Numbers, Section, Svg, write_report
from limelight.instruments.draw import KIND_WORDS, pictures
from limelight.instruments.findings import by_subject
from limelight.instruments.probe import KINDS, Noise, Probe, distils, with_interval
from limelight.measures.similarity import ALONE, DEFINITIONS
from limelight.plot._svg import svg

#: How many findings open the page, one per section; each section begins with all of its own.
LEAD = 3


def write_page(
    path: Path,
    name: str,
    found: Probe,
    machine: dict[str, Any],
    rerun: Sequence[str],
    block: int | None = None,
    head: int | None = None,
) -> None:
    """Write the page; whole or not at all. `block` and `head`: see `draw.pictures`."""
    every = pictures(found, block, head)
    drawn = {key: Svg(svg(picture)) for key, picture in every.items()}
    makers = (_attention, _similarity, _norms, _denoising, _positions)
    parts = [make(found, drawn) for make in makers]
    versions = {"commit": machine["commit"], **machine["versions"], **machine["device"]}
    how = Section("", "How it was read", settings=found.settings, versions=versions, rerun=rerun)
    write_report(
        path,
        f"{name}, looked into",
        statement=" ".join([said[0] for said in by_subject(found).values()][:LEAD]),
        sections=[*(part for part in parts if part), how],
    )


def _said(found: Probe, subject: str) -> str:
    return " ".join(by_subject(found)[subject])


def _positions(found: Probe, drawn: dict[str, Svg]) -> Section | None:
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
        " Lightest from .55 of the largest; 0 and below is the darkest."
    )
    return Section(
        "",
        "Positions",
        f"{_said(found, 'positions')} Locality is the mean cosine of next neighbours less that of"
        " patches more than two apart."
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


def _attention(found: Probe, drawn: dict[str, Svg]) -> Section | None:
    if not found.heads:
        return None
    figures = []
    for number, one in enumerate(found.shown, 1):
        figures += [
            Illustration(
                drawn[f"attention-{number}"],
                f"This image ({one.name}), what one block attends to in it, and the rollout: how"
                " much of each patch reaches the output if every block passes on half of what it"
                " gets. Grey: even attention or less. The warmest patches have the darkest red.",
            ),
            Illustration(drawn[f"blocks-{number}"], f"{one.name}: every block, mean of its heads."),
            Illustration(drawn[f"heads-{number}"], f"{one.name}: the heads of one block."),
        ]
    text = (
        "Means over heads and images; bands reach from the lowest head to the highest. Effective"
        " keys are one over the sum of squared weights: over so many keys independent noise is"
        " averaged."
    )
    mass = [] if found.relevant_share is None else [_mass(found)]
    figures.append(Illustration(drawn["heads"], text))
    return Section("", "Attention", _said(found, "attention"), figures=figures, numbers=mass)


def _mass(found: Probe) -> Numbers:
    """Mass on the object, block by block."""
    heads, rolled = found.heads["class_relevant"], found.rollout_mass
    assert rolled is not None
    best = lambda row: f"{row.max():.3f} (head {row.argmax() + 1})"
    rows = [
        (str(b + 1), f"{row.mean():.3f}", best(row), f"{rolled[b]:.3f}")
        for b, row in enumerate(heads)
    ]
    return Numbers(
        f"Of the attention to patches, the part on the object's own; even attention has"
        f" {found.relevant_share:.3f}.",
        ("block", "mean of heads", "best head", "rollout up to here"),
        rows,
    )


def _similarity(found: Probe, drawn: dict[str, Svg]) -> Section | None:
    alike = found.similarity
    if alike is None:
        return None
    means = {name: alike.mean(name) for name in (*DEFINITIONS, ALONE)}
    rows = [
        (str(depth), *(f"{path[depth]:.3f}" for path in means.values()))
        for depth in range(len(means["cosine"]))
    ]
    definitions = [(name, d.words, d.source, alike.trend(name)) for name, d in DEFINITIONS.items()]
    low, high = alike.grip.min(), alike.grip.max()
    law = (
        "Rank collapse (Dong et al. 2021) is about attention alone: one block's attention leaves at"
        " most 4 beta H |res|^2 / sqrt(d) of the distance of tokens from a common one. That says"
        f" something below 1; in these blocks it is {low:.2g} to {high:.2g}, so"
        + (" the law is silent, whatever is measured." if low >= 1 else " it speaks in some.")
    )
    inside = (
        "The law of xu2022 is about the inside of clusters: what attention leaves of the distance"
        " from their centres, values as they are, if logits grow in proportion to inner products"
        " (the last panel says how far they do). Tokens of one cluster can draw together while"
        " clusters move apart, and then the mean cosine says nothing of either."
    )
    text = (
        "Mean cosine of two different patches of one image, tokens as they leave a block; 0 is what"
        " enters the first. Bands: lowest to highest image. Beside it, the definitions that others"
        " use, and the same tokens through attention alone, without sums and perceptrons. Below,"
        " block by block, what attention does to the same tokens and what two laws say of it."
    )
    return Section(
        "",
        "How alike tokens are",
        _said(found, "similarity")
        + " Papers and threads report opposite trends of token similarity with depth. They measure"
        " different things: here they are side by side, on the same images.",
        figures=[Illustration(drawn["similarity"], text)],
        numbers=[
            Numbers(
                "What each definition does.", ("name", "what it is", "from", "trend"), definitions
            ),
            Numbers("Means over images by depth.", ("depth", *means), rows),
        ],
        notes=[law, inside],
    )


def _norms(found: Probe, drawn: dict[str, Svg]) -> Section | None:
    if found.norms is None:
        return None
    rows = [
        (str(d["depth"]), f"{d['median']:.3g}", f"{d['percentile_99']:.3g}", f"{d['largest']:.3g}",
         f"{d['cut']:.3g}", f"{d['long_tokens']:,}", f"{d['long_share']:.2%}",
         f"{d['images_with_any']:.0%}")
        for d in found.norms.as_json()
    ]  # fmt: skip
    text = (
        "Euclidean lengths of the patch tokens that leave a block, before any norm; 0 is what"
        " enters the first block. A token is long above twice the median and six deviations (median"
        " distance from the median, times 1.4826), or above the length that was given."
    )
    titles = ("depth", "median", "99 %", "longest", "long above", "long", "of patches", "of images")
    return Section(
        "",
        "Artifact tokens",
        _said(found, "norms")
        + " Large ViTs keep notes in a few patches, whose tokens grow several times as long as the"
        " others (Darcet et al. 2024). After the last norm they cannot be seen.",
        figures=[Illustration(drawn["norms"], text)],
        numbers=[Numbers("By depth.", titles, rows)],
    )


def _denoising(found: Probe, drawn: dict[str, Svg]) -> Section | None:
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
        "Noise after the output map over noise after the norm, with other attention in place of"
        " the block's own."
    )
    parts = (
        "Small noise on the tokens of each block. With attention kept clean its noise is averaged"
        " over the effective keys; the formula takes it as independent and even in all directions."
        " The rest is attention's response to the noise."
    )
    return Section(
        "",
        "Noise, block by block",
        _said(found, "noise")
        + " Attention is said to average noise away. Here the same network reads a clean and a"
        " noisy copy, and every block's attention is replaced in turn.",
        figures=[
            Illustration(drawn["stages"], stages),
            Illustration(drawn["controls"], controls),
            Illustration(drawn["parts"], parts),
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
