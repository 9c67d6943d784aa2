r"""Beyond the papers: plateaus need no distinct eigenvalues, only a small enough start."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Estimate
from limelight.experiments.prompt_flow import PromptFlow
from limelight.fit import tabulate
from limelight.fit.estimates import lowest, paired, share
from limelight.models.linear_attention import LinearAttention
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.papers.zhang2024.reading import over
from limelight.plot import TWO_COLUMNS, Axis, Map, Panel, Picture
from limelight.table import Table

#: A moderate scale of the start.
MODERATE = 0.3


def separate(table: Table) -> Table:
    """Runs with separate keys and queries."""
    return table.where(model__form="separate")


@claim(
    "phase.white",
    "From a small enough start every plateau is there for a white covariance too, in seven seeds of"
    " ten or more.",
    AtLeast(0.7),
    at="limelight, beyond Zhang, Singh, Latham and Saxe (2025)",
    fixed="pilot",
)
def white(table: Table) -> Estimate:
    """Share of seeds with all inner levels seen at g = 0, smallest s, separate; lowest N."""
    rows = separate(table).where(spread=0.0)
    rows = over(rows.where(model__scale=rows.values("model.scale")[0]))
    return lowest(
        (f"N = {at['examples']:g}", share(part["seen"].all(axis=1)))
        for at, part in rows.cells("examples")
    )


@claim(
    "phase.gap",
    "From a moderate start a spread of eigenvalues makes plateaus: half a level more is seen with"
    " it.",
    AtLeast(0.5),
    at="limelight, beyond Zhang, Singh, Latham and Saxe (2025)",
    fixed="pilot",
)
def gap(table: Table) -> Estimate:
    """Levels seen at g = 0.6 less those at g = 0, same seeds, s = 0.3, separate; lowest N."""
    rows = over(separate(table).where(model__scale=MODERATE))
    found = []
    for at, part in rows.cells("examples"):
        ends = [part.where(spread=g) for g in (0.6, 0.0)]
        counts = [end["count"][np.argsort(end["trial"])] for end in ends]
        found.append((f"N = {at['examples']:g}", paired(*counts)))
    return lowest(found)


@claim(
    "phase.merged",
    "Merged keys and queries never show a plateau, for a spread up to 0.6.",
    AtMost(0.0),
    at="Zhang, Singh, Latham and Saxe (2025), two fixed points",
    fixed="pilot",
)
def merged(table: Table) -> Estimate:
    """Largest number of inner levels seen in a run with merged keys and queries, g at most 0.6."""
    rows = over(table.where(model__form="merged"))
    return Estimate(float(rows["count"].max()), None, len(rows))


def draw(table: Table) -> Picture:
    """The mean number of plateaus over spread and scale, separate and merged side by side."""
    N = 31 if 31 in table.values("examples") else table.values("examples")[0]
    table = table.where(examples=N)
    most = table["seen"].shape[1]
    spreads, starts = table.values("spread"), table.values("model.scale")[::-1]
    ticks = lambda values: {i + 0.5: f"{value:g}" for i, value in enumerate(values)}
    panels = []
    for form in ("separate", "merged"):
        rows = table.where(model__form=form)
        mean = lambda s, g, rows=rows: rows.where(model__scale=s, spread=g)["count"].mean()
        counts = [[mean(s, g) for g in spreads] for s in starts]
        label = "plateaus seen, mean"
        marks = [Map(counts, label, low=0, high=most, numbers=True, square=False)]
        across = Axis("spread $g$ of the eigenvalues", ticks=ticks(spreads))
        upwards = Axis("scale $s$ of the start", ticks=ticks(starts))
        panels.append(Panel(f"{form} keys and queries", marks, upwards, across))
    note = f"N = {N:g}; {most} plateaus are possible"
    return Picture(panels, width=TWO_COLUMNS, height=3.2, share="both", note=note)


def half_scale(rows: Table) -> float:
    """The scale, between neighbours, at which half the seeds show every level."""
    scales = rows.values("model.scale")[::-1]
    full = np.array([rows.where(model__scale=s)["seen"].all(axis=1).mean() for s in scales])
    after = int(np.argmax(full >= 0.5))
    if full[after] < 0.5 or after == 0:
        return float("nan") if after == 0 and full[0] < 0.5 else float(scales[0])
    part = (0.5 - full[after - 1]) / (full[after] - full[after - 1])
    return float(scales[after - 1] * (scales[after] / scales[after - 1]) ** part)


def summary(table: Table) -> list[str]:
    """The scale at which half the seeds show all levels, and the levels seen at a moderate one."""
    columns = {
        "s with half the seeds": half_scale,
        f"levels seen at s = {MODERATE:g}": lambda rows: rows.where(model__scale=MODERATE)[
            "count"
        ].mean(),
    }
    by = {"examples": "N", "spread": "g"}
    return tabulate(separate(table), by, columns, title="separate keys and queries")


figure = Figure(
    statement="do plateaus need distinct eigenvalues?",
    trial=PromptFlow(model=LinearAttention("separate", 8, 1, 0.1), steps=300_000),
    grid={
        "model.form": ["separate", "merged"],
        "model.scale": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003],
        "examples": [5, 31],
        "spread": [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6],
    },
    trials=50,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={"model.scale": [1.0, 0.1], "examples": [31], "spread": [0.0, 0.6]},
            settings={"dimension": 3, "model.heads": 4},
        ),
        small=Scale(
            trials=10,
            grid={
                "model.scale": [1.0, 0.3, 0.1, 0.03, 0.01],
                "examples": [31],
                "spread": [0.0, 0.1, 0.2, 0.4, 0.6],
            },
        ),
    ),
    claims=(white, gap, merged),
    pictures={"phase": draw},
    summary=summary,
    reference="limelight",
    departures="ours: the theory asks for distinct eigenvalues and an infinitely small start",
    shared=("model.scale", "spread", "examples"),
)
