r"""Figure 6: what is read off the tables, and the claims.

Objects on backgrounds: removing background patches raises $\alpha_*$. All cells of a figure share
their trials' randomness, so that cells are compared by paired differences.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from limelight import fit
from limelight.claims import Above, AtLeast, Below, Claim, Estimate, Inside
from limelight.fit import Edge, estimates
from limelight.fit.estimates import lowest
from limelight.papers.li2023.boundary import law_of
from limelight.papers.li2023.quotients import Quotients, quotients, single
from limelight.table import Table

EXAMPLES = "course.examples"
#: Whether patches go blindly, and the fraction wanted; a start, and who has a background.
CUT, RELEVANT = ("world.blind", "world.relevant"), "world.relevant"
ARM = ("starts.which", "world.spurious")
#: What figure 6(c) compares: a start, and the share of the first class that has a background.
ARMS = {
    ("wide", 0.9): "wide start",
    ("narrow", 0.9): "narrow start",
    ("wide", 0.5): "wide start, backgrounds tell nothing",
}
#: Test accuracy at which a trial succeeds: the paper's, and two that a smaller network may reach.
LEVELS = (0.775, 0.7, 0.6)
#: Every background patch is removed.
ALL = 1.0


# --- cells ------------------------------------------------------------------------------------


def sized(table: Table, examples: float) -> Table:
    """The rows with one number of examples."""
    return table.rows(table[EXAMPLES] == examples)


def cut(table: Table, fraction: float, blind: bool = False) -> Table:
    """The rows with one fraction, background alone removed or blindly; in order of trial."""
    rows = table.rows(table[RELEVANT] == fraction)
    if "world.blind" in rows.columns:
        rows = rows.rows(rows["world.blind"].astype(bool) == blind)
    return rows.rows(np.argsort(rows["trial"], kind="stable"))


def arm(table: Table, which: str, spurious: float) -> Table:
    """The rows of one start, and of one share of backgrounds behind the first class."""
    return table.rows((table["starts.which"] == which) & (table["world.spurious"] == spurious))


def fractions(table: Table) -> list[float]:
    """The fractions asked for, ascending; at the lowest nothing is removed."""
    return [float(value) for value in table.values(RELEVANT)]


def sizes(table: Table) -> list[float]:
    """Numbers of examples, ascending."""
    return [float(value) for value in table.values(EXAMPLES)]


def realised(table: Table, fraction: float) -> float:
    r"""$\alpha_*$ as counted on test composites."""
    return float(cut(table, fraction)["alpha"].astype(float).mean())


# --- estimates --------------------------------------------------------------------------------


#: A mean over trials with its 95 % bootstrap interval.
mean = partial(estimates.mean, method="bootstrap")


def points(rows: Table) -> np.ndarray:
    """Accuracy in percent."""
    return 100 * rows["accuracy"].astype(float)


def gain(table: Table, blind: bool = False) -> np.ndarray:
    """Accuracy with all backgrounds removed less with none, points, trial by trial."""
    whole, bare = cut(table, fractions(table)[0]), cut(table, ALL, blind)
    return points(bare) - points(whole) if len(whole) == len(bare) else np.zeros(0)


def over_sizes(read: Callable[[Table], np.ndarray]) -> Callable[[Table], Estimate]:
    """A reading of the cells with one number of examples, averaged over those, trial by trial."""

    def estimate(table: Table) -> Estimate:
        found = [read(sized(table, n)) for n in sizes(table)]
        return mean(np.mean(found, axis=0) if found else np.zeros(0))

    return estimate


def slope(table: Table) -> np.ndarray:
    r"""Points of accuracy for each tenth of $\alpha_*$, by least squares, trial by trial."""
    levels = fractions(table)
    x = np.array([realised(table, a) for a in levels])
    y = np.stack([points(cut(table, a)) for a in levels])
    x = x - x.mean()
    return 0.1 * (x @ y) / (x @ x)


def doubling(table: Table) -> Estimate:
    """Points of accuracy for each doubling of the examples, mean over fractions."""
    x = np.log2(sizes(table))
    x = x - x.mean()
    y = [
        np.mean([points(cut(sized(table, n), a)) for a in fractions(table)], axis=0)
        for n in sizes(table)
    ]
    return mean(x @ np.stack(y) / (x @ x))


def at_every_size(table: Table) -> Estimate:
    """The gain at the number of examples where it is least certain."""
    return lowest((f"N {n:g}", mean(gain(sized(table, n)))) for n in sizes(table))


def beyond_chance(table: Table) -> np.ndarray:
    """Accuracy without backgrounds less with as many patches of any kind gone, points."""
    return gain(table) - gain(table, True)


def attended(table: Table) -> Estimate:
    """Attention on the object after training less before, nothing removed, mean over sizes."""
    whole = cut(table, fractions(table)[0])
    rows = [whole.rows(whole[EXAMPLES] == n) for n in sizes(table)]
    return mean(np.mean([r["mass.end"].astype(float) - r["mass.start"] for r in rows], axis=0))


# --- sample complexity ------------------------------------------------------------------------


def boundary(table: Table, level: float) -> Edge:
    """N50 by fraction: the number of examples at which half of the trials reach an accuracy."""
    return table.cached(("accuracy", level), lambda: _boundary(table, level))


def _boundary(table: Table, level: float) -> Edge:
    rows = table.rows(~table["world.blind"].astype(bool))
    alone = {name: column for name, column in rows.columns.items() if name != "world.blind"}
    plain = Table(alone, (RELEVANT, EXAMPLES), rows.manifest)
    return fit.threshold(plain, along=EXAMPLES, measure="accuracy", level=level)


def counted(table: Table, edge: Edge) -> np.ndarray:
    r"""$\alpha_*$, as counted, of every point of a boundary."""
    return np.array([realised(table, float(a)) for a in edge.x(RELEVANT)])


def savings(table: Table, level: float) -> Quotients:
    """N50 with every background patch removed over N50 with none removed."""
    return quotients(boundary(table, level), RELEVANT, ALL, fractions(table)[0])


def power(level: float) -> Callable[[Table], Estimate]:
    r"""Slope of log N50 in log $1/\alpha_*$."""

    def estimate(table: Table) -> Estimate:
        edge = boundary(table, level)
        return law_of(edge, "power", "slope", 1 / counted(table, edge), edge.resolved, True)

    return estimate


# --- 6(c) -------------------------------------------------------------------------------------


def rises(table: Table) -> Estimate:
    """The gain with spurious backgrounds, of the start where it is least certain."""
    bias = float(table["world.spurious"].max())
    return lowest((w, mean(gain(arm(table, w, bias)))) for w in ("wide", "narrow"))


def better_start(table: Table) -> Estimate:
    """Accuracy from the wide start less from the narrow one, mean over fractions."""
    bias = float(table["world.spurious"].max())
    wide, narrow = (arm(table, which, bias) for which in ("wide", "narrow"))
    pairs = [points(cut(wide, a)) - points(cut(narrow, a)) for a in fractions(table)]
    values = np.mean(pairs, axis=0)
    note = "one start of each kind: the interval is of fine-tuning alone"
    return mean(values, note=note if len(values) else "")


def correlated(table: Table) -> Estimate:
    """The gain where backgrounds give the label away less the gain where they do not."""
    low, high = (float(f(table["world.spurious"])) for f in (np.min, np.max))
    return mean(gain(arm(table, "wide", high)) - gain(arm(table, "wide", low)))


# --- starts -----------------------------------------------------------------------------------


def learned(table: Table) -> Estimate:
    """Accuracy of a start on its own classes over chance, the smaller of the two."""
    ratio = table["accuracy"].astype(float) / table["chance"]
    told = ", ".join(f"{w}: {r:.3g}" for w, r in zip(table["starts.which"], ratio, strict=True))
    return Estimate(float(ratio.min()), None, len(table), told)


# --- claims -----------------------------------------------------------------------------------

CLAIMS = (
    Claim(
        "6a.alpha",
        "Accuracy rises as background patches are removed.",
        "slope of accuracy in alpha_*, points a tenth, mean over N, by trial",
        over_sizes(slope),
        Above(0.0),
        "li2023, Figure 6(a)",
    ),
    Claim(
        "6a.every",
        "It does so at every number of examples.",
        "accuracy without background less with all of it, points, the least certain N",
        at_every_size,
        Above(0.0),
        "li2023, Figure 6(a)",
    ),
    Claim(
        "6a.samples",
        "Accuracy rises with the number of examples.",
        "points of accuracy a doubling of N, mean over alpha_*, by trial",
        doubling,
        Above(0.0),
        "li2023, Figure 6(a)",
    ),
    Claim(
        "6a.control",
        "It is the background that must go: removing as many patches of any kind helps less.",
        "accuracy without background less with as many patches of any kind removed, points,"
        " mean over N, by trial",
        over_sizes(beyond_chance),
        Above(0.0),
        "limelight; li2023, Figure 5 has this control",
    ),
    Claim(
        "6a.attention",
        "Training moves attention to the label-relevant patches.",
        "attention mass on the object after training less before, nothing removed, mean over N",
        attended,
        Above(0.0),
        "limelight; li2023, Proposition 2",
    ),
    *(
        Claim(
            f"6b.falls{suffix}",
            "Fewer examples suffice as background patches are removed.",
            f"N50 without background over N50 with all of it, accuracy at least {level:.1%}",
            lambda table, level=level: single(savings(table, level)),
            Below(1.0),
            f"li2023, Figure 6(b){'' if level == LEVELS[0] else '; the level is ours'}",
        )
        for suffix, level in zip(("", ".70", ".60"), LEVELS, strict=True)
    ),
    *(
        Claim(
            f"6b.law{suffix}",
            "Examples needed grow as the relevant fraction to the power -2.",
            f"log-log slope of N50 in 1/alpha_*, accuracy at least {level:.1%}",
            power(level),
            Inside(1.5, 2.5),
            "li2023, Theorem 1 (10)",
        )
        for suffix, level in zip(("", ".70", ".60"), LEVELS, strict=True)
    ),
)

SPURIOUS_CLAIMS = (
    Claim(
        "6c.rises",
        "From both starts accuracy rises as spurious backgrounds are removed.",
        "accuracy without background less with all of it, points, the less certain start",
        rises,
        Above(0.0),
        "li2023, Figure 6(c)",
    ),
    Claim(
        "6c.start",
        "The start that was trained on more is better.",
        "accuracy from the wide start less from the narrow one, points, mean over alpha_*",
        better_start,
        Above(0.0),
        "li2023, Figure 6(c)",
    ),
    Claim(
        "6c.cause",
        "Part of the gain is the spurious correlation itself, beyond alpha_*.",
        "gain with 90 % and 10 % backgrounds less gain with half and half, points, by trial",
        correlated,
        Above(0.0),
        "limelight; li2023 removes both at once",
    ),
)

START_CLAIMS = (
    Claim(
        "6.starts",
        "Both starts have learned the classes they were trained on.",
        "accuracy over chance, the smaller of the two",
        learned,
        AtLeast(3.0),
        "limelight",
    ),
)
