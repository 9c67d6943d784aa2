r"""Do ViTs over-smooth? The similarity of patches by block, with and without skips and MLPs."""

from collections.abc import Callable

import numpy as np

from limelight.claims import Above, AtLeast, AtMost, Below, Estimate, Undecided
from limelight.experiments.classify import Classify
from limelight.experiments.oversmoothing import ABLATIONS, DEFINED, Oversmoothing
from limelight.fit import tabulate
from limelight.fit.estimates import highest, lowest, together
from limelight.models.vit import Vision
from limelight.papers.geshkovski2023.reading import COLLAPSE, average
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Panel, Picture, Reference, Series
from limelight.table import Table
from limelight.train.images import ImageTraining
from limelight.worlds.images import Images

NAMES = {
    "full": "whole network",
    "no_mlp": "no MLP",
    "no_attention_skip": "no skip around attention",
    "no_skip": "no skips",
    "pure": "attention alone",
}


def trained(table: Table) -> Table:
    """Trained networks."""
    return table.where(trained=True) if "trained" in table.axes else table


def course(rows: Table, name: str, row: int = 0) -> np.ndarray:
    """Similarities of one network, images by depths."""
    images = int(rows.setting("images"))
    return rows[f"trace.{name}"][row].astype(float).reshape(images, -1)


def networks(table: Table):
    """Every trained network in words, and its place."""
    rows = trained(table)
    if not len(rows):
        raise Undecided("not in this table")
    if "images" in table.axes and not table.setting("checkpoint", default=""):
        raise Undecided("no checkpoint was given: this is a ViT trained on digits")
    for row in range(len(rows)):
        yield f"network {row + 1}" if len(rows) > 1 else "all images", rows, row


def each(table: Table, read: Callable[[Table, int], np.ndarray]) -> list[tuple[str, Estimate]]:
    """The mean over images of what is read of every network."""
    return together(((at, read(rows, i)) for at, rows, i in networks(table)), average)


def last(rows: Table, row: int, name: str) -> np.ndarray:
    """Similarities after the last block."""
    return course(rows, name, row)[:, -1]


def trend(rows: Table, row: int, name: str) -> np.ndarray:
    """The last similarity less that entering the second block, image by image."""
    path = course(rows, name, row)
    return path[:, -1] - path[:, 1]


def recipe(key: str, words: str, **parts) -> Figure:
    """The figure for a kind of network; `key` begins the names of its claims."""
    fixed = "pilot" if key == "deit" else "before"

    @claim(
        f"{key}.pure",
        f"Attention alone makes all patches alike: a similarity of .99 or more ({words}).",
        AtLeast(0.99),
        at=f"{COLLAPSE}, as a prediction",
        fixed=fixed,
    )
    def pure(table: Table) -> Estimate:
        """Similarity after the last block of attention alone, mean over images; lowest network."""
        return lowest(each(table, lambda rows, i: last(rows, i, "pure")))

    @claim(
        f"{key}.skips",
        f"The whole network does not make all patches alike: a similarity of at most .9 ({words}).",
        AtMost(0.9),
        at=f"{COLLAPSE}, as a prediction",
        fixed=fixed,
    )
    def skips(table: Table) -> Estimate:
        """Similarity after the last block of the whole network; highest network."""
        return highest(each(table, lambda rows, i: last(rows, i, "full")))

    @claim(
        f"{key}.trend",
        f"Similarity rises with depth ({words}).",
        Above(0.0),
        at="limelight, for what others have measured",
        fixed=fixed,
    )
    def rises(table: Table) -> Estimate:
        """Similarity after the last block less that after the first, paired; lowest network."""
        return lowest(each(table, lambda rows, i: trend(rows, i, "full")))

    @claim(
        f"{key}.definitions",
        f"Of twelve measures of similarity none has the opposite trend to the first ({words}).",
        AtMost(0.0),
        at="limelight, for what others have measured",
        fixed=fixed,
    )
    def agree(table: Table) -> Estimate:
        """Definitions whose decided trend is not that of the first; network with most."""
        most, note = 0, ""
        for at, rows, i in networks(table):
            trends = together(((name, trend(rows, i, name)) for name in DEFINED), average)
            signs = {name: _sign(found) for name, found in trends}
            other = [name for name, sign in signs.items() if sign * signs[DEFINED[0]] < 0]
            if len(other) >= most:
                most, note = len(other), f"{at}: {', '.join(other) or 'none'}"
        return Estimate(float(most), None, len(DEFINED), note)

    @claim(
        f"{key}.mlp",
        f"Perceptrons keep patches apart ({words}).",
        Below(0.0),
        at="limelight",
        fixed=fixed,
    )
    def mlp(table: Table) -> Estimate:
        """Last similarity of the whole network less that without perceptrons; highest network."""
        gap = lambda rows, i: last(rows, i, "full") - last(rows, i, "no_mlp")
        return highest(each(table, gap))

    return Figure(
        claims=(pure, skips, rises, agree, mlp),
        pictures={"similarity": draw},
        summary=summary,
        reference="limelight",
        **parts,
    )


def _sign(found: Estimate) -> int:
    """1 where the interval lies above 0, -1 below, 0 where it does not say."""
    low, high = found.interval or (np.nan, np.nan)
    return int(low > 0) - int(high < 0)


def draw(table: Table) -> Picture:
    """Similarity by block: with parts left out, and by definition."""
    rows = trained(table)
    spread = lambda path: (path.mean(axis=0), *np.percentile(path, [5, 95], axis=0))
    every = lambda name: np.concatenate([course(rows, name, i) for i in range(len(rows))])
    blocks = np.arange(every("full").shape[1])
    shown = [name for name in NAMES if name != "no_attention_skip"]  # near "no skips"
    left = [Series(NAMES[name], blocks, *spread(every(name))) for name in shown]
    right = []
    for where, colour in (("stream", 0), ("normed", 1)):
        for how, dash in (("signed", 0), ("absolute", 1)):
            words = "residual stream" if where == "stream" else "after the norm"
            mean = every(f"{where}.patches.{how}").mean(axis=0)
            label = f"{words}, {how}"
            right.append(Series(label, blocks, mean, colour=colour, dash=dash))
    across = "block entered; the last: left"
    upwards = Axis("mean cosine of two patches", limits=(-0.1, 1.05))
    path = str(rows.setting("checkpoint", default="")).rpartition("/")[2]
    source = path.removesuffix(".safetensors") or f"{len(rows)} ViTs trained on digits"
    count = int(rows.setting("images"))
    return Picture(
        [
            Panel("parts left out", [*left, Reference("", 0.0)], upwards, across),
            Panel("what is counted", [*right, Reference("", 0.0)], upwards, across),
        ],
        width=TWO_COLUMNS,
        height=3.1,
        share="y",
        note=(source, f"{count} images", "bands: 5 to 95 % of the images"),
    )


def summary(table: Table) -> list[str]:
    """First, second and last similarity of every ablation and definition."""
    rows = table
    lines = [
        ({"what": name, "row": i}, course(rows, name, i))
        for i in range(len(rows))
        for name in (*ABLATIONS, *DEFINED)
    ]
    columns = {
        "entering 0": lambda path: path[:, 0].mean(),
        "entering 1": lambda path: path[:, 1].mean(),
        "last": lambda path: average(path[:, -1]),
    }
    return tabulate(lines, {"row": "network", "what": "similarity"}, columns, most=60)


DIGITS = Classify(
    Images(patch=2, unit=False),
    vit=Vision(width=64, depth=6, heads=4, hidden=128, pool="class"),
    course=ImageTraining(400, 64, 2e-3, decay=0.05, warmup=40, floor=0.01, clip=1.0),
)
SMOKE = {
    "images": 4,
    "study.course.steps": 20,
    "study.course.warmup": 5,
    "study.watched": 5,
    "study.vit.width": 8,
    "study.vit.depth": 2,
}

figure = recipe(
    "digits",
    "small ViTs on digits",
    statement="do small ViTs make their patches alike, and what keeps them apart?",
    trial=Oversmoothing(study=DIGITS),
    grid={"trained": [True, False]},
    trials=3,
    scales=scales(
        smoke=Scale(trials=1, grid={"trained": [True]}, settings=SMOKE),
        small=Scale(trials=2),
    ),
    sizes="ours, for two cores: three small networks trained on 8 x 8 digits and 64 images, where"
    " DeiT and ViT checkpoints and 1,000 images were meant; deit-tiny has one of them",
    departures="ours; parts are left out of trained networks, nothing is trained again; biases"
    " stay, which shift all tokens alike. 8 x 8 digits in 16 patches, 6 blocks of width 64",
    shared=("trained",),
)
