r"""Digits: what the paper shows on CIFAR, in minutes and without a file.

One pixel of an 8 x 8 digit is one token. Shuffled pixels with positions shuffled alike are the very
training on plain ones; positions learned from shuffled pixels look local after the inverse
shuffle; a CNN needs its pixels in their places; attention from positions alone competes.
"""

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments.classify import Classify
from limelight.fit.estimates import mean
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.reading import fact
from limelight.plot import TWO_COLUMNS, caption, new_figure, provenance
from limelight.plot.style import COLOURS, INK, LABEL, MARKERS, MUTED, TICK, label, open_frame
from limelight.table import Table
from limelight.train.images import Course
from limelight.worlds.images import Images

AXIS = ("network", "world.cell", "aligned")
#: What is trained, by name: network, shuffled cells, whether positions start shuffled alike.
ARMS = {
    "vanilla": ("vit", 0, False),
    "shuffled, P alike": ("vit", 1, True),
    "shuffled": ("vit", 1, False),
    "positional": ("positional", 0, False),
    "CNN": ("cnn", 0, False),
    "CNN, shuffled": ("cnn", 1, False),
}
#: What is read of the positions.
PARTS = ("start", "raw", "inverse")
#: Steps over which two losses must agree, and by how much.
AGREEING, TOLERANCE = 50, 1e-4


def setup(steps: int, batch: int, arms, seeds: int) -> Setup:
    """One program an arm; all arms of a seed share split, shuffle, start and batches."""
    course = Course(steps=steps, batch=batch, rate=3e-3, decay=0.01)
    base = Classify(Images(unit=False), course=course, watched=AGREEING)
    return Setup(base, {AXIS: [ARMS[arm] for arm in arms]}, seeds, shared=AXIS)


# --- what is read off a table -----------------------------------------------------------------


def arm(table: Table, name: str) -> Table:
    """The seeds of one arm, in order."""
    mask = np.ones(len(table), dtype=bool)
    for path, value in zip(AXIS, ARMS[name], strict=True):
        mask &= table[path] == value
    found = table.rows(mask)
    return found.rows(np.argsort(found["trial"]))


def paired(table: Table, one: str, other: str, column: str = "accuracy") -> np.ndarray:
    """One arm less another, seed by seed."""
    return arm(table, one)[column].astype(float) - arm(table, other)[column]


def missing(table: Table, *names: str) -> Estimate | None:
    """What to say where an arm was not run."""
    for name in names:
        if not len(arm(table, name)):
            return Estimate(float("nan"), None, 0, f"{name} is not in this table")
    return None


def disagreement(table: Table) -> Estimate:
    """Largest difference of loss between plain training and its shuffled copy."""
    lost = missing(table, "vanilla", "shuffled, P alike")
    if lost:
        return lost
    gap = np.abs(paired(table, "vanilla", "shuffled, P alike", "trace.loss"))[:, :AGREEING]
    return Estimate(float(gap.max()), None, len(gap), f"over {gap.shape[1]} steps of every seed")


def regained(table: Table) -> Estimate:
    """Locality after the inverse shuffle less locality before it."""
    rows = arm(table, "shuffled")
    if not len(rows):
        return missing(table, "shuffled") or Estimate(float("nan"), None, 0)
    return mean(rows["locality.inverse"].astype(float) - rows["locality.raw"])


def gap(one: str, other: str):
    """Accuracy of one arm less that of another, in points, paired by seed."""

    def estimate(table: Table) -> Estimate:
        return missing(table, one, other) or mean(100 * paired(table, one, other))

    return estimate


CLAIMS = (
    Claim(
        "digits.exact",
        "Training on shuffled pixels with positions shuffled alike is training on plain ones.",
        f"largest difference of loss over {AGREEING} steps, float32",
        disagreement,
        AtMost(TOLERANCE),
        "jelassi2022, Figure 5; ours",
    ),
    Claim(
        "digits.similarity",
        "Positions learned from shuffled pixels are local after the inverse shuffle.",
        "locality after the inverse less before it, mean over seeds",
        regained,
        AtLeast(0.05),
        "jelassi2022, Figure 5",
    ),
    Claim(
        "digits.cnn",
        "A CNN is less accurate on shuffled pixels.",
        "accuracy of the CNN less that on shuffled pixels, points, paired by seed",
        gap("CNN", "CNN, shuffled"),
        AtLeast(1.0),
        "jelassi2022, Figure 5",
    ),
    Claim(
        "digits.gap",
        "Positional attention competes with vanilla attention.",
        "accuracy of vanilla less positional, points, paired by seed",
        gap("vanilla", "positional"),
        AtMost(5.0),
        "jelassi2022, Figure 7",
    ),
)


def summary(table: Table) -> list[str]:
    """Accuracy and locality of every arm."""
    lines = []
    for name in ARMS:
        rows = arm(table, name)
        if not len(rows):
            continue
        spread = rows["accuracy"]
        line = f"{name}: accuracy {spread.mean():.3f} ({spread.min():.3f} to {spread.max():.3f})"
        if np.isfinite(rows["locality.raw"]).all():
            parts = [f"{part} {rows[f'locality.{part}'].mean():.3f}" for part in PARTS]
            line += ", locality " + ", ".join(parts)
        lines.append(f"{line}, {len(rows)} seeds")
    return lines


# --- pictures ---------------------------------------------------------------------------------


def draw(table: Table):
    """Accuracy of every arm, and locality of the positions before and after; a mark a seed."""
    names = [name for name in ARMS if len(arm(table, name))][::-1]
    figure = new_figure(TWO_COLUMNS, 0.9 + 0.26 * len(names), columns=2)
    left, right = figure.axes
    for axes, x_label in ((left, "test accuracy"), (right, "locality of the positions")):
        open_frame(axes)
        label(axes, x_label, "")
        axes.set_ylim(-0.6, len(names) - 0.4)
    left.set_yticks(range(len(names)), names, fontsize=TICK)
    right.set_yticks(range(len(names)), [""] * len(names))
    right.axvline(0.0, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
    for y, name in enumerate(names):
        rows = arm(table, name)
        _marks(left, rows["accuracy"], y, 0)
        for number, part in enumerate(PARTS):
            if part != "inverse" or "shuffled" in name:
                _marks(right, rows[f"locality.{part}"], y, number)
    words = ("at the start", "trained", "after the inverse shuffle")
    handles = [
        Line2D([], [], label=text, linestyle="none", **_look(i)) for i, text in enumerate(words)
    ]
    right.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        frameon=False,
        fontsize=TICK,
        labelcolor=INK,
        handletextpad=0.2,
        columnspacing=0.8,
        borderpad=0.1,
    )
    left.set_title("one mark a seed", fontsize=LABEL, color=INK, loc="left", pad=4)
    caption(figure, *facts(table))
    return figure


def _look(number: int) -> dict:
    return {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 3.4}


def _marks(axes, values, y: int, number: int) -> None:
    axes.plot(values, np.full(len(values), y), linestyle="none", alpha=0.8, **_look(number))


def facts(table: Table) -> tuple[str, ...]:
    """The line under a figure."""
    trials = table.manifest.get("configuration", {}).get("trials")
    steps, batch = (fact(table, f"course.{name}") for name in ("steps", "batch"))
    note = f"8 x 8 digits, a pixel a token, {steps} steps of {batch}"
    return provenance(scale=table.manifest.get("scale", ""), trials=trials, note=note)


figure = Figure(
    name="digits",
    title="8 x 8 digits: shuffled pixels, positional attention, and a CNN",
    statement="a ViT does not mind shuffled pixels and learns their places, a CNN minds; attention"
    " from positions alone competes",
    setups={
        "smoke": setup(100, 64, list(ARMS)[:2], 1),
        "small": setup(1500, 128, ARMS, 5),
        "paper": setup(1500, 128, ARMS, 20),
    },
    claims=CLAIMS,
    draws={"digits": draw},
    summary=summary,
    reference="Figures 1(a), 5 and 7, in small",
    cost={"smoke": "28 s of CPU time", "paper": "2 minutes on one H200"},
    departures="ours: the paper shows CIFAR and ImageNet. One-layer ViT of width 32, 4 heads, MLP"
    " 128, mean pool, pre-norm, positions of size .02; AdamW 3e-3, cosine, decay .01 on matrices;"
    " pixels from 0 to 1 less their mean; 1,400 digits for training, split afresh for each seed;"
    " thresholds were set after pilot runs on other seeds",
)
