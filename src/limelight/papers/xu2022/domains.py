r"""From a source to a target domain: what a classifier of patches loses behind each filter.

The paper sets out to explain why transformers "generalize well from source domain to target
domain", and offers that attention is more resilient to random perturbations of single patches. So a
classifier is fitted on quiet source images and read on target images in which some patches are
perturbed: behind attention, behind a 3 x 3 average, and on the patches as they are. The rules below
were fixed before the first table.
"""

from functools import partial

import numpy as np

from limelight import plot
from limelight._core.gram import Number
from limelight.claims import AtMost, Estimate, Undecided
from limelight.experiments import Study
from limelight.fit import estimates, tabulate
from limelight.measures import domain_accuracy
from limelight.models import Smoother
from limelight.papers.recipe import Figure, Scale, claims, scales
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


OURS = "limelight, on xu2022, Section 1"
STRONG = {"loud": 3.0, "share": 0.3, "words": "three tenths of the patches with noise 3"}
MILD = {"loud": 1.5, "share": 0.1, "words": "a tenth of the patches with noise 1.5"}


@claims(
    "domains.{name}",
    "From source to target a classifier behind {first} loses less than {second} ({layout}, {words}).",
    AtMost(0.0),
    at="{source}",
    cases=[
        {"name": name, "better": better, "worse": worse, "layout": layout, "source": source, **how}
        | {"first": first, "second": second}
        for name, better, first, worse, second, layout, source, how in (
            *(
                (name, "att6", "attention", "conv3", "one behind a 3 x 3 average", layout, at, how)
                for name, layout, at, how in (
                    ("mild", "regions", "xu2022, Section 1; the experiment is ours", MILD),
                    ("strong", "regions", "xu2022, Section 1; the experiment is ours", STRONG),
                    ("scattered", "scattered", OURS, MILD),
                )
            ),
            ("raw", "att6", "attention", "raw", "one on single patches", "regions", OURS, STRONG),
            (
                *("cosine", "cos10_masked", "cosine attention without the diagonal"),
                *("conv3", "one behind a 3 x 3 average", "regions", OURS, STRONG),
            ),
        )
    ],
)
def loses_less(
    table: Table, better: str, worse: str, layout: str, loud: float, share: float
) -> Estimate:
    """Accuracy lost from source to target, the first less the second, points, paired by draw."""
    rows = cell(table, layout, loud, share)
    gone = [lost(rows, name) for name in (better, worse)]
    note = "lost {:.2f} and {:.2f} points".format(*(one.mean() for one in gone))
    return estimates.paired(*gone, note=note)


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
        f"{most:.0%} of the target's patches are perturbed",
        "{side} x {side} patches, C = {clusters}, d = {dimension}".format(**world),
    )
    return plot.Picture(panels, width=plot.TWO_COLUMNS, height=2.6, share="y", note=note)


def summary(table: Table) -> list[str]:
    """Accuracy on source and target behind every filter, in every cell."""

    def both(rows: Table, name: str) -> str:
        parts = (100 * rows[f"domain.{name}.{part}"].mean() for part in ("source", "target"))
        return "{:.1f}/{:.1f}".format(*parts)

    heads = {LAYOUT: "layout", SHARE: "share", LOUD: "noise"}
    columns = {name: partial(both, name=name) for name in NAMES}
    return tabulate(table, heads, columns, title="accuracy on source/target, %")


figure = Figure(
    statement="transformers generalize well from source to target domain, because attention is "
    "resilient to perturbations of single patches",
    trial=Study(Regions(dimension=32, method="direct"), Smoother(), None, (domain_accuracy,)),
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
    claims=loses_less,
    pictures={"domains": draw},
    summary=summary,
    reference="Section 1",
    departures="the paper asks this of its networks and argues in words; images, classifier and "
    "perturbations are ours; filters are fixed, not trained (trained ones: trained, networks)",
    shared=(LOUD,),
)
