r"""Appendix G.2: each pattern becomes a set, and its members are learned as one.

The appendix predicts that the keys and queries of a discriminative set grow along one fixed
combination of the features of its members, whose coefficients depend on the frequencies in the
set, and that attention on the other sets still falls to 0. Frequencies are swept. The update
$W_Q\, (\partial F/\partial G)^\top$ of the keys sums the queries of the set's tokens, so to first
order a member's coefficient is proportional to how often it occurs and the share of the first
member follows its frequency with slope 1; of queries the appendix says only that it depends on it.
Members that grew each along itself would give slope 0 and a cosine of 0.8.
"""

from dataclasses import replace

import numpy as np

from limelight import fit, plot
from limelight._core.types import Role
from limelight.claims import AtLeast, AtMost, Estimate, Undecided
from limelight.measures import SetGrowth
from limelight.papers.li2023.boundary import DRAWS
from limelight.papers.li2023.concentration import average, logged_steps, trial, world
from limelight.papers.li2023.traces import band, steps_of, trace
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table
from limelight.worlds import Patterns, PatternSets

FIRST = "world.first"


@claims(
    "G2.{words}.common",
    "All members of a set grow along one combination of their {words}: cosines of 0.95 or more.",
    AtLeast(0.95),
    at="li2023, appendix G.2",
    cases=({"word": "key", "words": "keys"}, {"word": "query", "words": "queries"}),
    statistic="smallest cosine between the growth of two members at the end (0.8 if each grew "
    "along itself)",
)
def common(table: Table, word: str) -> Estimate:
    """Smallest cosine between the growth of two members at the end, all frequencies."""
    return average(trace(table, f"sets.{word}.common")[:, -1])


def growth_by_frequency(table: Table, word: str) -> Estimate:
    """Slope of the first member's share on its frequency ({order}0 if each grew along itself)."""
    firsts, found = shares(table, word)
    if len(firsts) < 2:
        raise Undecided("one frequency has no slope", n=len(table))
    draws = fit.resample_means(found.T, DRAWS)
    law = fit.fit_law("linear", firsts, found.mean(axis=1), samples=draws)
    note = f"share = {law.intercept:.2f} + {law.slope:.2f} x frequency"
    return Estimate(law.slope, law.slope_interval, len(table), note)


frequency = claims(
    "G2.{words}.frequency",
    "The coefficients of the common combination of {words} rise with the frequencies in the set, by"
    " a half of them or more.",
    AtLeast(0.5),
    at="li2023, appendix G.2; the slope is ours",
    cases=(
        {"word": "key", "words": "keys", "order": "1 to first order, "},
        {"word": "query", "words": "queries", "order": ""},
    ),
)(growth_by_frequency)


def shares(table: Table, word: str) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies of the first member, and its share at the end: frequencies by trials."""
    firsts = table.values(FIRST)
    rows = [table.where(world__first=first) for first in firsts]
    return firsts, np.array(
        [trace(r, f"sets.{word}.first")[np.argsort(r["trial"]), -1] for r in rows]
    )


@claim(
    "G2.idle",
    "Attention on the non-discriminative sets goes to 0: to 0.05 or less.",
    AtMost(0.05),
    at="li2023, appendix G.2",
)
def idle_left(table: Table) -> Estimate:
    """Final mass on them, averaged over queries and trials."""
    return average(idle_mass(table)[:, -1])


@claim(
    "G2.fall",
    "Attention on the non-discriminative sets falls by 0.12 or more.",
    AtMost(-0.12),
    at="li2023, appendix G.2; the level is ours",
)
def idle_lost(table: Table) -> Estimate:
    """Final minus initial mass on them, averaged over queries and trials."""
    mass = idle_mass(table)
    return average(mass[:, -1] - mass[:, 0])


def idle_mass(table: Table) -> np.ndarray:
    """Attention on the non-discriminative sets, averaged over all queries: trials by looks."""
    names = ("tokens", "relevant", "confusing")
    base = Patterns(**{name: table.setting(f"world.base.{name}") for name in names})
    relevant, confusing = base.fractions()
    queries = np.array([relevant, confusing, 1 - relevant - confusing])
    logs = np.stack([trace(table, f"roles.{name}.idle") for name in Role.NAMES])
    return np.tensordot(queries, logs, axes=1)


def draw_share(table: Table) -> plot.Picture:
    """Share of the first member in what keys and queries grow along, against its frequency."""
    found = [
        plot.band(name, firsts, share.T)
        for name, (firsts, share) in (
            ("keys", shares(table, "key")),
            ("queries", shares(table, "query")),
        )
    ]
    firsts = table.values(FIRST)
    return plot.lines(
        found,
        guides=[
            plot.Guide("follows the frequency", firsts, firsts),
            plot.Guide("each member along itself", firsts, np.full(len(firsts), 0.5)),
        ],
        x_label="frequency of the first member in its set",
        y_label="its share in the growth",
    )


def draw_mass(table: Table) -> plot.Picture:
    """Attention on the non-discriminative sets over steps, all queries, by frequency."""
    steps = steps_of(table, table)
    return plot.lines(
        [
            band(f"first member {100 * at[FIRST]:.0f} %", steps, idle_mass(rows))
            for at, rows in table.cells(FIRST)
        ],
        x_label="training step",
        y_label="attention mass on idle sets",
        limits=(0, 1),
    )


def summary(table: Table) -> list[str]:
    """Direction, share and attention by frequency."""
    last = lambda name: lambda rows: trace(rows, f"sets.{name}")[:, -1].mean()
    return fit.tabulate(
        table,
        {FIRST: "frequency of the first member"},
        {
            "share in keys": last("key.first"),
            "in queries": last("query.first"),
            "least cosine, keys": last("key.common"),
            "queries": last("query.common"),
            "mass on idle sets, start": lambda rows: idle_mass(rows)[:, 0].mean(),
            "end": lambda rows: idle_mass(rows)[:, -1].mean(),
        },
        title=f"growth of sets and attention after {logged_steps(table, table)[-1]} steps:",
    )


QUIET = {"world.base.noise": None, "train.every": 5}

figure = Figure(
    statement="keys and queries of a discriminative set grow along one combination of its members' "
    "features, which depends on their frequencies; attention on other sets goes to 0",
    trial=replace(trial(traces=(SetGrowth(),)), world=PatternSets(world(20), first=0.5)),
    grid={FIRST: [0.5, 0.65, 0.8, 0.95]},
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={FIRST: [0.5, 0.9]},
            settings={"model.width": 20, "train.examples": 40, "train.steps": 60, **QUIET},
        ),
        small=Scale(trials=4, grid={FIRST: [0.5, 0.8]}, settings={"model.width": 100, **QUIET}),
    ),
    claims=(*common, *frequency, idle_left, idle_lost),
    pictures={"share": draw_share, "mass": draw_mass},
    findings={
        "share": Finding(
            "G2.keys.frequency",
            holds="The share of a key in what its set grows along rises with its frequency",
        ),
        "mass": Finding(
            "G2.idle",
            fails="Attention on the non-discriminative sets ends at {value:.2f}, not near 0",
        ),
    },
    summary=summary,
    reference="Appendix G.2",
    departures="the generator of sets is ours: two members at distance 0.63, features their images "
    "under one isometry; otherwise as fig4 in 20 dimensions; the paper says that coefficients "
    "depend on the frequencies, not how",
    shared=(FIRST,),
)
