r"""What the paper says of learning a sparse AND, and how each sentence is decided.

The rules were fixed before any run. Where the paper gives a word and no number ("sublinear", "no
sharp transition"), the number in a rule is ours: a ratio of 4 where the lengths span 8, a rise over
20 examples (two steps of the grid), 10 examples (one step) below the reference line.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from limelight import fit
from limelight.claims import Above, AtLeast, AtMost, Bands, Below, Claim, Estimate
from limelight.fit.laws import line_fits
from limelight.fit.likelihood import Curve
from limelight.papers.edelman2022.critical import (
    LENGTH,
    MANY,
    SIZE,
    Counts,
    counted,
    reference,
    setting,
)
from limelight.table import Table

#: Stands for "beyond the grid" in a resample: larger than any decision could ask for.
BEYOND = 1e6
#: Widths of a rise, in examples, that a fitted curve may have.
WIDTHS = (1.0, 10_000.0)


def fitted_share(table: Table) -> Estimate:
    """A1: trials, of those that run to the end, that fit their sample; exceptions are counted."""
    rows = table.rows(table["to_the_end"].astype(bool))
    fitted = np.isfinite(rows["fitted"])
    n, wrong = len(rows), int((~fitted).sum())
    last = setting(table, "iterations", 0)
    worst = float(rows["lowest_training_loss"].max()) if n else np.nan
    note = f"{wrong} exceptions of {n}, worst training loss {worst:.2g}, {last} iterations"
    share = 1.0 - wrong / n if n else np.nan
    if last < 1000:
        return Estimate(share, (np.nan, np.nan), n, f"{note}; 1000 needed")
    low, high = fit.exact(n - wrong, n)
    return Estimate(share, (float(low), float(high)), n, note)


def trend(table: Table) -> Estimate:
    """A2a: weakest trend of success in m over the lengths with both outcomes."""
    found = counted(table)
    all_z = {
        int(T): fit.rising(found.sizes, s, n)
        for T, s, n in zip(found.lengths, found.successes, found.trials, strict=True)
    }
    z = {T: value for T, value in all_z.items() if np.isfinite(value)}
    note = f"{len(z)} of {len(all_z)} lengths have both outcomes"
    if not z:
        return Estimate(np.nan, None, found.n, note)
    values = np.array(list(z.values()))
    weakest, ends = fit.together(ndtr(-values), ndtr(values))
    note += f"; smallest z at T = {list(z)[int(values.argmin())]}"
    if len(found.sizes) < 3 or found.trials.min() < 10:
        note += "; 3 sizes and 10 trials a cell are needed"
        return Estimate(weakest, (np.nan, np.nan), found.n, note)
    if 2 * len(z) < len(all_z):  # a fall is a fall, but too few lengths show a rise
        return Estimate(weakest, (min(ends[0], 0.0), ends[1]), found.n, f"{note}, half needed")
    return Estimate(weakest, ends, found.n, note)


def width(table: Table) -> Estimate:
    """A2b: median over T of the rise of success from 10 to 90 %, in examples."""
    found = counted(table)
    drawn = found.resampled(MANY)
    curve = _in_size(found.sizes)
    values, draws = [], []
    for i, n in enumerate(found.trials):
        values.append(_rise(curve, found.successes[i : i + 1], n)[0])
        draws.append(_rise(curve, drawn[:, i], n))
    low, high = fit.percentile_interval(np.median(draws, axis=0))
    value, ends = float(np.median(values)), (float(low), float(high))
    spans = f"widths {min(values):.0f} to {max(values):.0f}"
    if not found.is_paper_grid:
        return Estimate(value, (np.nan, np.nan), found.n, f"{spans}; the paper's grid is needed")
    return Estimate(value, ends, found.n, spans)


def _in_size(sizes: np.ndarray) -> Curve:
    """A logistic curve in m itself: its slope is one over examples."""
    u = sizes.astype(float)
    reach = float(u[-1] - u[0]) or 1.0
    slopes = np.log(81) / WIDTHS[1], np.log(81) / WIDTHS[0]
    return Curve(u, 0.5, (float(slopes[0]), float(slopes[1])), (u[0] - reach, u[-1] + reach))


def _rise(curve: Curve, successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    _, slope, _ = curve.maximise(successes, np.broadcast_to(trials, successes.shape))
    return np.log(81) / slope


def exponent(table: Table) -> Estimate:
    """A3a: slope of ln m* on ln T."""
    found = counted(table)
    x = np.log(found.lengths)
    slope = lambda y: line_fits(x, np.log(np.atleast_2d(y)))[0][:, 1]
    spans = bool(len(x) >= 3 and found.lengths[-1] >= 4 * found.lengths[0])
    return _law(found, slope, spans, "3 lengths over a factor 4")


def log_against_linear(table: Table) -> Estimate:
    """A4: what is left of m* by a line in T, less what is left by one in ln T."""
    found = counted(table)
    T = found.lengths.astype(float)
    rest = lambda x, y: squares_left(x, np.atleast_2d(y))
    difference = lambda y: rest(T, y) - rest(np.log(T), y)
    return _law(found, difference, len(T) >= 6, "6 lengths")


def squares_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sum of squares that a straight line in x leaves, row by row."""
    a, b = line_fits(x, y)[0].T
    return ((y - a[:, None] - b[:, None] * x) ** 2).sum(axis=1)


def _law(found: Counts, of: Callable[[np.ndarray], np.ndarray], enough: bool, needed: str):
    out = found.censored()
    note = (
        ""
        if not out.any()
        else "off the grid too often at T = " + ", ".join(map(str, found.lengths[out]))
    )
    if not enough:
        note = f"{needed} needed"
    if not np.isfinite(found.critical).all() or len(found.lengths) < 3:
        return Estimate(np.nan, None, found.n, note or f"{needed} needed")
    value = float(of(found.critical)[0])
    if note:
        return Estimate(value, (np.nan, np.nan), found.n, note)
    low, high = fit.percentile_interval(of(np.minimum(found.draws, BEYOND)))
    return Estimate(value, (float(low), float(high)), found.n)


def within(table: Table) -> Estimate:
    """A3: smallest share of resamples in which m* is on the grid, over T up to 800."""
    found = counted(table)
    use = found.lengths <= 800
    shares = 1.0 - found.beyond[use]
    at = found.lengths[use][shares.argmin()]
    note = f"smallest at T = {at}; largest m* {np.max(found.critical):g}"
    if not found.is_paper_grid:
        return Estimate(float(shares.min()), (np.nan, np.nan), found.n, f"{note}; the paper's grid")
    return Estimate(float(shares.min()), None, found.n, note)


def ratio(table: Table, any_grid: bool = False) -> Estimate:
    """A3b: m* at T = 800 over m* at T = 100; the paper's grid is needed unless any will do."""
    found = counted(table)
    if not {100, 800} <= {*found.lengths.tolist()}:
        return Estimate(np.nan, None, found.n, "T = 100 and 800 are needed")
    a, b = (int(np.flatnonzero(found.lengths == T)[0]) for T in (100, 800))
    if np.isinf(found.critical[a]):
        return Estimate(np.nan, None, found.n, "m*(100) is beyond the grid")
    # Beyond the grid is more than its last size, without limit: the ends allow for both. Nearest
    # order statistics, because infinity has no mean with a number.
    last, (under, over) = float(found.sizes[-1]), (found.draws[:, a], found.draws[:, b])
    low = np.quantile(np.minimum(over, last) / under, 0.025, method="nearest")
    high = np.quantile(over / np.minimum(under, last), 0.975, method="nearest")
    ends = (float(low), float(high)) if any_grid or found.is_paper_grid else (np.nan, np.nan)
    note = f"m* {found.critical[a]:g} and {found.critical[b]:g}"
    note += f"; beyond the grid in {found.beyond[b]:.1%} of resamples" if found.beyond[b] else ""
    return Estimate(float(found.critical[b] / found.critical[a]), ends, found.n, note)


def above_reference(table: Table) -> Estimate:
    """A5: how far m* stays above the consistent learner, where it comes nearest."""
    found = counted(table)
    line = reference(table)
    if not np.isfinite(line).all():
        return Estimate(np.nan, None, found.n, "the line is that of ANDs and ORs")
    away = lambda m: np.min(np.minimum(m, BEYOND) - line, axis=-1)
    value = float(away(found.critical))
    if not np.isfinite(found.critical).any():
        return Estimate(np.nan, None, found.n, "m* is beyond the grid everywhere")
    low, high = np.quantile(away(found.draws), [0.025, 0.975], method="nearest")
    at = found.lengths[np.argmin(found.critical - line)]
    return Estimate(value, (float(low), float(high)), found.n, f"nearest at T = {at}")


def by_half_time(table: Table) -> Estimate:
    """A6: success by iteration 500 at T = 400, rare with 100 examples and common with 200.

    The smaller of the two distances from one half, with the ends of the exact intervals.
    """
    found = []
    for size, sign in ((100, -1.0), (200, 1.0)):
        rows = table.rows((table[LENGTH] == 400) & (table[SIZE] == size))
        s, n = int((rows["first_success"] <= 500).sum()), len(rows)
        if n < 50:
            return Estimate(np.nan, None, n, f"50 trials at T = 400, m = {size} are needed")
        low, high = fit.exact(s, n)
        ends = sorted(sign * (float(end) - 0.5) for end in (low, high))
        found.append((sign * (s / n - 0.5), *ends, s, n))
    value, low, high = (min(part[i] for part in found) for i in range(3))
    counts = " and ".join(f"{s} of {n}" for *_, s, n in found)
    return Estimate(
        value, (low, high), sum(part[4] for part in found), f"{counts} by iteration 500"
    )


# --- claims ---------------------------------------------------------------------------------------

CLAIMS = (
    Claim(
        "A1.fitted",
        "Every trial fits its sample: training loss below 1e-4 and accuracy 1 by iteration 1000.",
        "share of the trials that run to the end, dropout off, exact interval",
        fitted_share,
        AtLeast(0.99),
        "edelman2022, Section 5",
    ),
    Claim(
        "A2a.rises",
        "At every length success becomes more frequent with more examples.",
        "smallest Cochran-Armitage z over the lengths with both outcomes,"
        " ends one-sided at 5 % after Holm",
        trend,
        Above(0.0),
        "edelman2022, Figure 2",
    ),
    Claim(
        "A2b.gradual",
        "Success rises without a sharp step (our reading: over more than 20 examples).",
        "median over T of the 10 to 90 % rise of a logistic curve in m",
        width,
        Above(20.0),
        "edelman2022, Figure 2",
    ),
    Claim(
        "A3a.sublinear",
        "The critical number of examples grows slower than the length.",
        "slope of ln m* on ln T",
        exponent,
        Below(1.0),
        "edelman2022, Figure 2",
    ),
    Claim(
        "A3b.ratio",
        "From T = 100 to 800 the critical number of examples grows at most fourfold (our reading).",
        "m*(800) / m*(100)",
        ratio,
        AtMost(4.0),
        "edelman2022, Figure 2",
    ),
    Claim(
        "A3c.within",
        "200 examples are enough at every length up to 800.",
        "smallest share of resamples with m* on the grid",
        within,
        Bands(0.025, 0.975),
        "edelman2022, Figure 2",
    ),
    Claim(
        "A4.log",
        "A logarithm of the length describes m* better than a line.",
        "squares left by a + b T minus squares left by a + b ln T",
        log_against_linear,
        Above(0.0),
        "edelman2022, Figure 2",
    ),
    Claim(
        "A5.reference",
        "m* is not below what any consistent learner needs, up to a step of the grid.",
        "smallest m*(T) minus the reference line",
        above_reference,
        AtLeast(-10.0),
        "limelight",
    ),
    Claim(
        "A6.examples",
        "At T = 400, 100 examples mostly overfit and 200 mostly succeed by iteration 500.",
        "smaller of 1/2 - share at m = 100 and share at m = 200 - 1/2, exact intervals",
        by_half_time,
        Above(0.0),
        "edelman2022, Figure 4",
    ),
)
