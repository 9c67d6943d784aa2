r"""Appendix G.2: each pattern becomes a set, and its members are learned as one.

The appendix predicts that the keys and queries of a discriminative set grow along one fixed
combination of the features of its members, whose coefficients depend on the frequencies in the
set, and that attention on the other sets still falls to 0. Frequencies are swept. The update
$W_Q\, (\partial F/\partial G)^\top$ of the keys sums the queries of the set's tokens, so to first
order a member's coefficient is proportional to how often it occurs and the share of the first
member follows its frequency with slope 1; of queries the appendix says only that it depends on it.
Members that grew each along itself would give slope 0 and a cosine of 0.8.
"""

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.core.types import Role
from limelight.experiments import Study
from limelight.measures import Accuracy, AttentionMass, FreshLoss, RoleMass, SetGrowth
from limelight.models import Shallow
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import DRAWS, setting
from limelight.papers.li2023.concentration import average, logged_steps
from limelight.papers.li2023.fig1a import facts
from limelight.papers.li2023.traces import band, steps_of, trace
from limelight.plot import Series, caption, curves, lines
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import Patterns, PatternSets

FIRST = "world.first"


def setup(scale: str, trials: int, firsts, *, width: int, examples: int, steps: int) -> Setup:
    """Figure 4's study in 20 dimensions with sets of two, token by token."""
    noise = 0.01 if scale == "paper" else None
    base = Patterns(tokens=50, relevant=0.5, confusing=0.04, dimension=20, noise=noise)
    experiment = Study(
        world=PatternSets(base, first=0.5),
        model=Shallow(width=width),
        train=Train(
            steps=steps, batch=20, rate=2.0, examples=examples, every=2 if scale == "paper" else 5
        ),
        measures=(FreshLoss(100), Accuracy(100)),
        traces=(AttentionMass(20), RoleMass(20), SetGrowth()),
    )
    return Setup(experiment, {FIRST: list(firsts)}, trials, shared=(FIRST,))


# --- what is read off a table -----------------------------------------------------------------


def shares(table: Table, word: str) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies of the first member, and its share at the end: frequencies by trials."""
    firsts = table.values(FIRST)
    rows = [table.where(world__first=f) for f in firsts]
    return firsts, np.array(
        [trace(r, f"sets.{word}.first")[np.argsort(r["trial"]), -1] for r in rows]
    )


def slope(word: str):
    """Slope of the first member's share on its frequency, whole trials drawn."""

    def estimate(table: Table) -> Estimate:
        firsts, found = shares(table, word)
        if len(firsts) < 2:
            return Estimate(np.nan, None, len(table), "one frequency has no slope")
        draws = fit.resample_means(found.T, DRAWS)
        law = fit.linear(firsts, found.mean(axis=1), level=0.9, samples=draws)
        note = f"share = {law.intercept:.2f} + {law.slope:.2f} x frequency"
        return Estimate(law.slope, law.slope_interval, len(table), note)

    return estimate


def common(word: str):
    """Smallest cosine between the growth of two members at the end, all frequencies."""
    return lambda table: average(trace(table, f"sets.{word}.common")[:, -1])


def idle_mass(table: Table) -> np.ndarray:
    """Attention on the non-discriminative sets, averaged over all queries: trials by looks."""
    base = setting(table, "world.base")
    names = ("tokens", "relevant", "confusing")
    relevant, confusing = Patterns(**{name: base[name] for name in names}).fractions()
    queries = np.array([relevant, confusing, 1 - relevant - confusing])
    logs = np.stack([trace(table, f"roles.{name}.idle") for name in Role.NAMES])
    return np.tensordot(queries, logs, axes=1)


def idle_left(table: Table) -> Estimate:
    """That mass at the end."""
    return average(idle_mass(table)[:, -1])


def idle_lost(table: Table) -> Estimate:
    """By how much it has changed."""
    mass = idle_mass(table)
    return average(mass[:, -1] - mass[:, 0])


# --- pictures ---------------------------------------------------------------------------------


def draw_share(table: Table):
    """Share of the first member in what keys and queries grow along, against its frequency."""
    series = []
    for word, name in (("key", "keys"), ("query", "queries")):
        firsts, found = shares(table, word)
        ends = np.array([fit.mean_interval(part, level=0.95) for part in found])
        series.append(Series(name, firsts, found.mean(axis=1), *ends.T))
    firsts = table.values(FIRST)
    figure = curves(
        series,
        guides=[
            Series("follows the frequency", firsts, firsts),
            Series("each member along itself", firsts, np.full(len(firsts), 0.5)),
        ],
        x_label="frequency of the first member in its set",
        y_label="its share in the growth",
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_mass(table: Table):
    """Attention on the non-discriminative sets over steps, all queries, by frequency."""
    steps = steps_of(table, table)
    series = [
        band(f"first member {at[FIRST]:.0%}", steps, idle_mass(rows))
        for at, rows in table.cells(FIRST)
    ]
    return lines(
        series, x_label="training step", y_label="attention mass on idle sets", limits=(0, 1)
    )


def summary(table: Table) -> list[str]:
    """Direction, share and attention by frequency."""
    lines = ["frequency of the first member: its share in the growth of keys, of queries; smallest"]
    lines[0] += " cosine between members, keys, queries; mass on idle sets, start -> end"
    for at, rows in table.cells(FIRST):
        end = lambda name, rows=rows: trace(rows, f"sets.{name}")[:, -1].mean()
        mass = idle_mass(rows).mean(axis=0)
        lines.append(
            f"  {at[FIRST]:.2f}: {end('key.first'):.3f}, {end('query.first'):.3f};"
            f" {end('key.common'):.3f}, {end('query.common'):.3f};"
            f" {mass[0]:.3f} -> {mass[-1]:.3f} after {logged_steps(table, rows)[-1]} steps"
        )
    return lines


CLAIMS = (
    *(
        Claim(
            f"G2.{words}.common",
            f"All members of a set grow along one combination of their {words}.",
            "smallest cosine between the growth of two members at the end (0.8 if each grew along "
            "itself)",
            common(word),
            AtLeast(0.95),
            "li2023, appendix G.2",
        )
        for word, words in (("key", "keys"), ("query", "queries"))
    ),
    *(
        Claim(
            f"G2.{words}.frequency",
            f"The coefficients of that combination of {words} depend on the frequencies in the "
            "set.",
            "slope of the first member's share on its frequency "
            f"({order}0 if each grew along itself)",
            slope(word),
            AtLeast(0.5),
            "li2023, appendix G.2; the slope is ours",
        )
        for word, words, order in (
            ("key", "keys", "1 to first order, "),
            ("query", "queries", ""),
        )
    ),
    Claim(
        "G2.idle",
        "Attention on the non-discriminative sets goes to 0.",
        "final mass on them, averaged over queries and trials",
        idle_left,
        AtMost(0.05),
        "li2023, appendix G.2",
    ),
    Claim(
        "G2.fall",
        "Attention on the non-discriminative sets falls.",
        "final minus initial mass on them, averaged over queries and trials",
        idle_lost,
        AtMost(-0.12),
        "li2023, appendix G.2; the level is that of Figure 7",
    ),
)

figure = Figure(
    name="sets",
    title="what a set of patterns grows along, against the frequencies of its members",
    statement="keys and queries of a discriminative set grow along one combination of its members' "
    "features, which depends on their frequencies; attention on other sets goes to 0",
    setups={
        "smoke": setup("smoke", 2, (0.5, 0.9), width=20, examples=40, steps=60),
        "small": setup("small", 4, (0.5, 0.8), width=100, examples=200, steps=300),
        "paper": setup("paper", 20, (0.5, 0.65, 0.8, 0.95), width=1000, examples=200, steps=300),
    },
    claims=CLAIMS,
    draws={"share": draw_share, "mass": draw_mass},
    summary=summary,
    reference="Appendix G.2",
    departures="the generator of sets is ours: two members at distance 0.63, features their images "
    "under one isometry; otherwise as fig4 in 20 dimensions; the paper says that coefficients "
    "depend on the frequencies, not how",
)
