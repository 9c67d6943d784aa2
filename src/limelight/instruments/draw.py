"""What a probe found, as pictures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from limelight.instruments.collapse import Similarity
from limelight.instruments.overlay import Overlay
from limelight.instruments.probe import KINDS, PARTS, Noise, Probe, ShownImage
from limelight.measures.denoising import CONTROLS, POPULATIONS, STAGES
from limelight.measures.similarity import ALONE, DEFINITIONS, RESIDUAL
from limelight.plot import Axis, Guide, Map, Panel, Picture, Reference, Series, panels
from limelight.plot._heat import coloured, heated, tiled_images
from limelight.plot.patches import shown as some_of
from limelight.plot.patches import similarity_maps

#: As in jelassi2022, Figure 1(a): what is drawn lightest.
LIGHTEST = 0.55
#: The weight of the last colour over the even one: that of the warmest patch but a few.
WARMEST, LEAST = 0.99, 2.0
#: What the stages and the stand-ins for attention are called in pictures.
STAGE_WORDS = {
    "entering": "entering the block",
    "normed": "after the norm",
    "mixed": "after attention",
    "attended": "after the first sum",
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


def pictures(found: Probe, block: int | None = None, head: int | None = None) -> dict[str, Picture]:
    """Every picture of the page, by name.

    Args:
        found: What was read.
        block: The block whose heads are drawn, counted from 1; where attention finds most when not
            given.
        head: Draw this head alone in the large picture, counted from 1; the mean of all when not.
    """
    drawn: dict[str, Picture] = {}
    for number, one in enumerate(found.shown, 1):
        chosen = chosen_block(found) if block is None else block - 1
        drawn[f"attention-{number}"] = draw_large(one, chosen, None if head is None else head - 1)
        drawn[f"blocks-{number}"] = draw_blocks(one)
        drawn[f"heads-{number}"] = draw_heads_of(one, chosen)
    if found.heads:
        drawn["heads"] = draw_heads(found)
    if found.similarity is not None:
        drawn["similarity"] = draw_similarity(found)
    if found.norms is not None:
        drawn["norms"] = draw_norms(found)
    if found.noise is not None:
        drawn["stages"] = draw_stages(found.noise)
        drawn["controls"] = draw_controls(found.noise)
        drawn["parts"] = draw_parts(found.noise)
    if found.positions is not None:
        maps = similarity_maps(
            [("trained", found.positions.similarity), ("drawn afresh", found.positions.fresh)],
            LIGHTEST,
            "similarity of positions",
        )
        drawn["positions"] = replace(maps, height=2.9)  # two squares and their bars, no more
    return drawn


def chosen_block(found: Probe) -> int:
    """The block to look at: most attention on the object, or else the narrowest attention."""
    if found.relevant_share is not None:
        return int(found.heads["class_relevant"].mean(axis=1).argmax())
    return int(found.heads["class_entropy"].mean(axis=1).argmin())


def draw_large(one: ShownImage, block: int, head: int | None) -> Picture:
    """The image, one block over it, and the rollout through all blocks."""
    maps = _over_even(one.maps[block].mean(axis=0) if head is None else one.maps[block, head])
    rolled = _over_even(one.rollout[-1])
    which = "mean of heads" if head is None else f"head {head + 1}"
    tiles = [
        ("the image", coloured(one.image)),
        (f"block {block + 1}, {which}", heated(one.image, maps, _warmest(maps))),
        ("rollout through all blocks", heated(one.image, rolled, _warmest(rolled, 1.2))),
    ]
    return tiled_images(tiles, 3)


def draw_blocks(one: ShownImage) -> Picture:
    """Every block, mean of its heads."""
    chosen = some_of(len(one.maps))
    maps = _over_even(one.maps.mean(axis=1))[chosen]
    full = _warmest(maps)
    tiles = [
        (f"block {b + 1}", heated(one.image, m, full)) for b, m in zip(chosen, maps, strict=True)
    ]
    return tiled_images(tiles, min(4, len(tiles)), full=full)


def draw_heads_of(one: ShownImage, block: int) -> Picture:
    """Every head of one block."""
    chosen = some_of(one.maps.shape[1])
    maps = _over_even(one.maps[block])[chosen]
    full = _warmest(maps)
    tiles = [
        (f"block {block + 1}, head {h + 1}", heated(one.image, m, full))
        for h, m in zip(chosen, maps, strict=True)
    ]
    return tiled_images(tiles, min(4, len(tiles)), full=full)


def _over_even(maps: np.ndarray) -> np.ndarray:
    """Weights over the mean weight of a patch."""
    return maps / np.maximum(maps.mean(axis=(-2, -1), keepdims=True), 1e-30)


def _warmest(maps: np.ndarray, least: float = LEAST) -> float:
    return max(float(np.quantile(maps, WARMEST)), least)


def draw_similarity(found: Probe) -> Picture:
    """Similarity by every definition against depth, and the two laws beside what they speak of."""
    alike = found.similarity
    assert alike is not None
    depth = np.arange(len(alike.mean("cosine")))
    line = lambda label, name: Series(label, depth, alike.mean(name), *alike.spread(name))
    ours = line("the network, mean cosine of patches", "cosine")
    words = {"absolute": "absolute", "whole": "with diagonal and class token",
             "columns": "columns", "normed": "after the last norm"}  # fmt: skip
    others = [Guide(words[n], depth, alike.mean(n)) for n in DEFINITIONS if n != "cosine"]
    ends = np.concatenate([alike.mean(name) for name in DEFINITIONS] + [*alike.spread("cosine")])
    room = 0.05 * (ends.max() - ends.min())
    left = lambda name: np.maximum(alike.mean(name), 1e-7)
    residual = [
        Series(ours.label, depth, left(RESIDUAL)),
        Series("attention alone", depth, left(f"{RESIDUAL}_{ALONE}")),
    ]
    limits = (float(ends.min() - room), float(ends.max() + room))
    deep = "depth (blocks passed)"
    parts = [
        Panel("definitions", [ours, *others], Axis("similarity", limits=limits), deep),
        Panel("beside attention alone", [ours, line("attention alone", ALONE)], "similarity", deep),
        Panel("distance from the mean token", residual, Axis("over the length", log=True), deep),
        *_laws(alike, found.model),
    ]
    return panels(parts, columns=3, height=2.2)


def _laws(alike: Similarity, fits: tuple[tuple[Overlay, ...], ...]) -> list[Panel]:
    """Rank collapse and xu2022, block by block, beside what is measured of the same tokens."""
    blocks = np.arange(1, len(alike.grip) + 1)
    # A law is a thin black line, whatever it is the law of.
    limit = [
        Series("measured, one block's attention", blocks, alike.factor, colour=0, marker=0, dash=0),
        Guide("its law", blocks, alike.grip, colour="ink"),
        Reference("no change", 1.0),
    ]
    held = [*alike.factor, *alike.grip, 1.0]  # the law may be far above what is measured
    factor = Axis("residual out over in", log=True, limits=(min(held) / 2, max(held) * 2))
    parts = [Panel("rank collapse (Dong et al. 2021)", limit, factor, "block")]
    if fits:
        mean = lambda name: np.mean([[getattr(b, name) for b in i] for i in fits], axis=0)
        inside = [
            _spread("measured, one block's attention", mean("measured")),
            Guide("its law", blocks, mean("predicted").mean(axis=1), colour="ink"),
            Reference("no change", 1.0),
        ]
        fit = [_spread("measured, one block's attention", mean("r_squared"))]
        parts.append(Panel("inside clusters (xu2022)", inside, "spread out over in", "block"))
        parts.append(Panel("do logits follow products?", fit, "$R^2$ of the slope", "block"))
    return parts


def draw_norms(found: Probe) -> Picture:
    """Lengths of tokens against depth, the share of long ones, and where those are."""
    norms = found.norms
    assert norms is not None
    depth = np.arange(len(norms.cuts))
    quantile = lambda q: np.quantile(norms.lengths, q, axis=(0, 2))
    top = norms.lengths.max(axis=(0, 2))
    lines = [
        Series("median, 1 % to 99 %", depth, quantile(0.5), quantile(0.01), quantile(0.99)),
        Series("longest", depth, top),
        Guide("long from here on", depth, norms.cuts, colour="muted"),
    ]
    # Where the words say most are: after a block, not before the first.
    worst = int(norms.shares[1:].argmax()) + 1
    where = norms.where[worst]
    side = round(len(where) ** 0.5)
    parts = [
        Panel("lengths of patch tokens", lines, Axis("length", log=True), "depth (blocks passed)"),
        Panel(
            "long tokens",
            [("", depth, 100 * norms.shares)],
            Axis("% of the patches"),
            "depth (blocks passed)",
        ),
        Panel(
            f"where, after block {worst}" if where.any() else "where: nowhere",
            [
                Map(
                    where.reshape(side, side),
                    "share of images",
                    low=0.0,
                    high=max(where.max(), 1e-3),
                )
            ],
        ),
    ]
    return panels(parts, columns=3, height=2.2)


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
        even = Reference("even attention", found.relevant_share)
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


def _drawable(values: np.ndarray) -> np.ndarray:
    """Nothing where there is no noise: a logarithm has no place for it."""
    return np.where(values > 0, values, np.nan)
