"""Figures 1(b) and 3: contiguous and scattered sets, and one image whose label is spread over one.

The paper draws both as sketches; here they are drawn from the world that the other figures use.
"""

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, Estimate
from limelight.experiments import Sketch
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.table import Table
from limelight.worlds import Spatial

PARTITION = "world.partition"
TITLES = {"grid": "localized sets", "random": "scattered sets"}


@claim(
    "fig3.label",
    "In every image one set carries the label in all its patches.",
    AtLeast(1.0),
    at="jelassi2022, Definition 2.1 and Figure 3",
    kind="identity",
)
def spread(table: Table) -> Estimate:
    """Share of images with such a set."""
    marks = np.rint(table["trace.marks"])
    agree = marks == table["label"][:, None]
    whole = [
        any(right[sets == one].all() for one in np.unique(sets))
        for right, sets in zip(agree, table["trace.sets"], strict=True)
    ]
    return Estimate(float(np.mean(whole)), None, len(whole))


def panels(table: Table, marked: bool) -> list[plot.Panel]:
    """The first trial of each partition: its sets, and its marks where asked for."""
    found = []
    for at, rows in table.cells(PARTITION):
        label = f", label {rows['label'][0]:+.0f}" if marked else ""
        marks = np.rint(rows["trace.marks"][0]) if marked else None
        title = f"{TITLES[at[PARTITION]]}{label}"
        found.append(plot.patch_sets(title, rows["trace.sets"][0], marks))
    return found


def draw_point(table: Table) -> plot.Picture:
    """One image: colours are sets, signs are the features that patches carry."""
    note = "one colour per set; + and - are features, other patches have none"
    return plot.Picture(panels(table, True), width=plot.WIDE, height=2.3, note=note)


def draw_sets(table: Table) -> plot.Picture:
    """The sets alone, localized and scattered."""
    return plot.Picture(
        panels(table, False), width=plot.WIDE, height=2.3, note="one colour per set"
    )


figure = Figure(
    statement="sets of patches may be localized or scattered; the label is spread over one of them,"
    " the other patches carry random features or none",
    trial=Sketch(Spatial(tokens=16, size=4, density=0.5)),
    grid={PARTITION: list(TITLES)},
    trials=20,
    scales=scales(smoke=Scale(trials=2), small=Scale(trials=5)),
    claims=(spread,),
    pictures={"point": draw_point, "sets": draw_sets},
    findings={"point": "fig3.label", "sets": "fig3.label"},
    reference="Figures 1(b) and 3",
    sizes="the paper's: 16 patches in sets of 4",
    departures="the paper's are sketches, these are drawn from the world",
)
