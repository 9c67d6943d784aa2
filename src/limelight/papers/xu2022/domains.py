r"""From a source to a target domain: what a classifier of patches loses after each filter.

The paper sets out to explain why transformers "generalize well from source domain to target
domain", and offers that attention is more resilient to random perturbations of single patches. So a
classifier is fitted on quiet source images and read on target images in which some patches are
perturbed: after attention, after a 3 x 3 average, and on the patches as they are. What is lost
says little of a classifier that had little to lose, so accuracy on the target is asked too; that
was added after a smoke run, before the table.
"""

from functools import partial

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtLeast, AtMost, Estimate, Undecided
from limelight.experiments import Study
from limelight.fit import estimates, tabulate
from limelight.measures import domain_accuracy
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Finding, Scale, claims, scales
from limelight.table import Table
from limelight.worlds import Regions

LAYOUT, LOUD, SHARE = "world.layout", "world.loud", "world.share"
NAMES = {
    "raw": "patches as they are",
    "conv3": "3 x 3 average",
    "att6": r"attention, $\lambda$ = 6",
    "cos10_masked": r"cosine, $\lambda$ = 10, masked",
}


def cell(table: Table, layout: str, loud: Number, share: Number) -> Table:
    """The draws of one layout, noise and share of perturbed patches."""
    rows = table.where(world__layout=layout)
    rows = rows.rows(np.isclose(rows[LOUD], loud) & np.isclose(rows[SHARE], share))
    if not len(rows):
        raise Undecided(f"{layout}, noise {loud:g}, a share of {share:g}: not in this table")
    return rows


def lost(rows: Table, name: str) -> np.ndarray:
    """Accuracy on the source less that on the target, in points, a number per draw."""
    return 100 * (rows[f"domain.{name}.source"] - rows[f"domain.{name}.target"]).astype(float)


OURS, THEIRS = "limelight, on xu2022, Section 1", "xu2022, Section 1; the experiment is ours"
MILD = {"loud": 1.5, "share": 0.1, "words": "a tenth of the patches with noise 1.5"}
STRONG = {"loud": 3.0, "share": 0.3, "words": "three tenths of the patches with noise 3"}
AVERAGE = {"worse": "conv3", "second": "one after a 3 x 3 average"}
ATTENTION = {"better": "att6", "first": "attention", "layout": "regions", "source": THEIRS}
COSINE = {"better": "cos10_masked", "first": "cosine attention without the diagonal"}


@claims(
    "domains.{name}",
    "From source to target a classifier after {first} loses less than {second} ({layout},"
    " {words}).",
    AtMost(0.0),
    at="{source}",
    cases=(
        {**ATTENTION, **AVERAGE, **MILD, "name": "lost.mild"},
        {**ATTENTION, **AVERAGE, **STRONG, "name": "lost.strong"},
        {**ATTENTION, **STRONG, "worse": "raw", "second": "one on single patches"}
        | {"name": "lost.raw", "source": OURS},
        {**ATTENTION, **COSINE, **AVERAGE, **STRONG, "name": "lost.cosine", "source": OURS},
    ),
    fixed="pilot",
)
def loses_less(
    table: Table, better: str, worse: str, layout: str, loud: float, share: float
) -> Estimate:
    """Accuracy lost from source to target, the first less the second, points, paired by draw."""
    rows = cell(table, layout, loud, share)
    gone = [lost(rows, name) for name in (better, worse)]
    note = "lost {:.2f} and {:.2f} points".format(*(one.mean() for one in gone))
    return estimates.paired(*gone, note=note)


@claims(
    "domains.{name}",
    "On the target a classifier after {first} is right more often than {second} ({layout},"
    " {words}).",
    AtLeast(0.0),
    at="{source}",
    cases=(
        {**ATTENTION, **AVERAGE, **MILD, "name": "target.mild"},
        {**ATTENTION, **AVERAGE, **STRONG, "name": "target.strong"},
        {**ATTENTION, **STRONG, "worse": "raw", "second": "one on single patches"}
        | {"name": "target.raw", "source": OURS},
        {**ATTENTION, **AVERAGE, **STRONG, "name": "target.scattered", "source": OURS}
        | {"layout": "scattered"},
    ),
    fixed="pilot",
)
def right_more(
    table: Table, better: str, worse: str, layout: str, loud: float, share: float
) -> Estimate:
    """Accuracy on the target, the first less the second, points, paired by draw."""
    rows = cell(table, layout, loud, share)
    right = [100 * rows[f"domain.{name}.target"].astype(float) for name in (better, worse)]
    note = "{:.2f} and {:.2f} %".format(*(one.mean() for one in right))
    return estimates.paired(*right, note=note)


def draw(table: Table) -> plot.Picture:
    """Accuracy on the target over the noise of perturbed patches, one panel per layout."""
    most = max(table.values(SHARE))
    rows = table.rows(np.isclose(table[SHARE], most))

    def accuracy(part: Table, name: str) -> Estimate:
        return estimates.mean(100 * part[f"domain.{name}.target"].astype(float))

    panels = []
    for at, part in rows.cells(LAYOUT):
        marks = [
            line
            for name, words in NAMES.items()
            for line in plot.over_cells(part, LOUD, partial(accuracy, name=name), name=words)
        ]
        axis = plot.Axis(r"noise of a perturbed patch $\sigma_c$")
        panels.append(plot.Panel(str(at[LAYOUT]), marks, "accuracy on the target, %", axis))
    world = {name: table.setting(f"world.{name}") for name in ("side", "clusters", "dimension")}
    note = (
        f"{100 * most:.0f} % of the target's patches are perturbed",
        "{side} x {side} patches, C = {clusters}, d = {dimension}".format(**world),
    )
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=2.6, share="y", note=note)


def summary(table: Table) -> list[str]:
    """Accuracy on source and target after every filter, in every cell."""

    def both(rows: Table, name: str) -> str:
        parts = (100 * rows[f"domain.{name}.{part}"].mean() for part in ("source", "target"))
        return "{:.1f}/{:.1f}".format(*parts)

    heads = {LAYOUT: "layout", SHARE: "share", LOUD: "noise"}
    columns = {name: partial(both, name=name) for name in NAMES}
    return tabulate(table, heads, columns, title="accuracy on source/target, %")


figure = Figure(
    statement="transformers generalize well from source to target domain, because attention is "
    "resilient to perturbations of single patches",
    trial=Study(Regions(dimension=32), Smoother(), None, (domain_accuracy,)),
    grid={
        LAYOUT: ["regions", "scattered"],
        SHARE: [0.1, 0.3],
        LOUD: [0.5, 1.0, 1.5, 2.0, 3.0, 4.0],
    },
    trials=256,
    scales=scales(
        smoke=Scale(
            trials=6,
            grid={SHARE: [0.3], LOUD: [0.5, 3.0]},
            settings={"world.side": 6, "world.clusters": 3},
        ),
        small=Scale(trials=32, grid={LOUD: [0.5, 1.5, 3.0]}),
    ),
    claims=(*loses_less, *right_more),
    pictures={"domains": draw},
    findings={
        "domains": Finding(
            "domains.target.strong",
            fails="Before a classifier of a noisy target attention is worth {value:+.1f} points"
            " against a 3 x 3 average",
        )
    },
    summary=summary,
    reference="Section 1",
    departures="the paper asks this of its networks and argues in words; images, classifier and "
    "perturbations are ours; filters are fixed, not trained (trained ones: trained, networks)",
    shared=(LOUD,),
)
