r"""What the variants of Figure 2 have in common: critical sizes, their words and pictures.

$m^*(T)$ is the paper's: the first size on the grid at which more than half of the trials succeed.
Its standard error is the deviation over 50 bootstrap resamples of trials, as in the paper, and its
interval holds the percentiles of 1000. $m_{50}$ is the threshold by likelihood, printed beside
$m^*$ and never mixed with it.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from limelight import fit, plot
from limelight._engine.grid import Axes
from limelight.chart import Explorer
from limelight.claims import Claim, all_parts
from limelight.fit.laws import LawName
from limelight.papers.recipe import Scale
from limelight.table import Table
from limelight.theory.edelman2022.consistent import examples_needed

LENGTH, SIZE = "world.length", "examples"
#: Resamples: the paper's for its standard error, ours for intervals.
FEW, MANY = 50, 1000
#: What a smoke run changes.
QUICK: dict[str, Any] = {"iterations": 60, "holdout": 1000, "first": 250}
#: Lengths that the paper shows curves for.
SHOWN = (100, 200, 400, 800)
BANDS = "bands: exact 95 % intervals"


def smaller(
    trials: int, lengths: list[int], sizes: list[int], grid: Axes | None = None, **settings: Any
) -> Scale:
    """A smaller scale of a figure of this kind, computed in float32; `grid` changes other axes."""
    changed = {LENGTH: lengths[0], "numbers": "float32", **settings}
    return Scale(trials, {LENGTH: lengths, SIZE: sizes, **(grid or {})}, changed)


def counted(table: Table, success: str = "success") -> fit.CriticalSizes:
    """m* of every length; `success` is the column that says which trials succeed."""
    return table.cached(
        ("critical", success), lambda: fit.critical_sizes(table, SIZE, LENGTH, success, MANY)
    )


def boundary(table: Table) -> fit.Edge:
    """m50 of every length, and of every value of the other axes."""
    return table.cached(
        "m50", lambda: fit.threshold(table, along=SIZE, measure="success", level=0.5)
    )


def reference(table: Table) -> np.ndarray:
    """What a consistent learner of ANDs needs at every length; unknown for other rules.

    An OR is an AND of flipped bits with the label flipped, so it needs as many.
    """
    lengths = table.values(LENGTH)
    if table.setting("world.rule") not in ("and", "or"):
        return np.full(len(lengths), np.nan)
    sparsity = table.setting("world.sparsity")
    return np.array([examples_needed(int(T), sparsity) for T in lengths], dtype=float)


def consistent(table: Table, level: float) -> list[plot.Guide]:
    """What any consistent learner needs, at every length."""
    return [plot.Guide("any consistent learner", table.values(LENGTH), reference(table))]


#: Success by length and sample size, with an accuracy to move. A trial ends at its first look above
#: .99: higher levels cannot be asked for.
EXPLORER = Explorer(
    upwards=SIZE,
    measure="best_accuracy",
    edge=lambda table, level: fit.threshold(
        table, along=SIZE, measure="best_accuracy", level=level
    ),
    across={
        "context length $T$": lambda at: float(at[LENGTH]),
        r"$\ln T$": lambda at: float(np.log(at[LENGTH])),
    },
    levels=(0.9, 0.92, 0.94, 0.96, 0.975, 0.98, 0.985, 0.99),
    start=0.99,
    below=False,
    label="training examples $m$",
    measured="best holdout accuracy",
    found="$m_{50}$, where half of the trials succeed",
    theory=consistent,
    log=False,
    ends=(0.84, 1.0),
)


def summary(table: Table, loose: bool = False) -> list[str]:
    """Critical sizes, with a second threshold where asked for, laws of m50 and success by cell."""
    found = counted(table)
    rates = [({"T": T}, row) for T, row in zip(found.places, found.rates, strict=True)]
    sizes = {str(m): itemgetter(j) for j, m in enumerate(found.sizes)}
    return [
        *critical_lines(table, "success", ".99"),
        *(critical_lines(table, "success_loose", ".975") if loose else ()),
        *law_lines(found),
        *fit.tabulate(rates, "T", sizes, title="share of trials above .99, by examples:"),
    ]


def critical_lines(table: Table, success: str, level: str) -> list[str]:
    """m*, the paper's standard error, our interval, m50 and the reference, one line per length."""
    found, needed = counted(table, success), reference(table)
    errors = found.deviations(FEW)

    def on_grid(size: float) -> str:
        if np.isinf(size):
            return f">{found.sizes[-1]}"
        return f"<={found.sizes[0]}" if size == found.sizes[0] else f"{size:g}"

    return fit.tabulate(
        [({"T": T}, i) for i, T in enumerate(found.places)],
        "T",
        {
            "m*": lambda i: on_grid(float(found.values[i])),
            "standard error": lambda i: f"{errors[i]:.1f}",
            "95 %": lambda i: "[{}, {}]".format(*map(on_grid, found.interval[:, i])),
            "m50": lambda i: found.thresholds[i],
            "consistent learner": lambda i: f"{needed[i]:.0f}",
        },
        title=f"critical examples, accuracy above {level}:",
    )


def law_lines(found: fit.CriticalSizes) -> list[str]:
    """A line, a logarithm and a power through m50, and how much of its variance each explains."""
    middle = [t.value if t.resolved else np.nan for t in found.thresholds]
    if np.isfinite(middle).sum() < 3:
        return []
    lines = [f"  {fit.fit_law(law, found.places, middle)}" for law in fit.LAWS]
    return ["laws of m50 in T (intervals: scatter of the points):", *lines]


def overall(table: Table, name: str, *parts: Claim) -> str:
    """What becomes of a sentence that has several parts."""
    return f"{name}, all parts: {all_parts(part.decide(table, '').verdict for part in parts)}"


def iterations(table: Table) -> str:
    """How long training was, for a caption."""
    return f"{table.setting('iterations')} iterations"


def draw_success(table: Table, shown: Sequence[int] = SHOWN) -> plot.Picture:
    """Share of trials that succeed against the number of examples, for some lengths."""
    if {*shown} <= {*table.values(LENGTH).tolist()}:
        table = table.rows(np.isin(table[LENGTH], shown))
    return plot.lines(
        plot.over_cells(table, SIZE, "success", by=LENGTH, name="$T$ = {}"),
        x_label="training examples $m$",
        y_label="share of trials above 99 % accuracy",
        limits=(-0.03, 1.03),
        x_ticks=table.values(SIZE) if len(table.values(SIZE)) == 1 else None,
        note=(iterations(table), BANDS),
    )


def draw_critical(table: Table) -> plot.Picture:
    """The critical number of examples against the length, two laws and the reference line."""
    found = counted(table)
    T = found.places.astype(float)
    star = np.where(np.isinf(found.values), np.nan, found.values)
    half = [(t.value if t.resolved else np.nan, *t.open_ends) for t in found.thresholds]
    off = ", ".join(f"{length:g}" for length in T[np.isinf(found.values)])
    first = plot.Series("$m^*$ (first $m$ above one half)", T, star, *found.interval, colour=0)
    measured = [
        first,
        plot.Series("$m_{50}$ (likelihood)", T, *np.array(half).T, colour=1),
        plot.Series("any consistent learner", T, reference(table), colour=2),
    ]
    y = plot.Axis("critical number of examples")
    parts = [plot.Panel("measured", measured, y), plot.Panel("laws", [first, *_laws(T, star)], y)]
    return plot.panels(
        parts[: 2 if np.isfinite(star).sum() > 2 else 1],
        x_label="context length $T$",
        log_x=True,
        share=True,
        height=2.4,
        note=(
            iterations(table),
            f"$m^*$ in steps of {np.diff(found.sizes).max(initial=0)}",
            "bands: 95 % intervals, open where they leave the grid",
            "laws: of $m^*$" + (f", without $T$ = {off}, where it is beyond the grid" * bool(off)),
        ),
    )


def _laws(T: np.ndarray, star: np.ndarray) -> list[plot.Guide]:
    use = np.isfinite(star)
    if use.sum() < 3:
        return []
    names: dict[str, LawName] = {r"$a + b \ln T$": "logarithmic", "$a + b T$": "linear"}
    fitted = {name: fit.fit_law(law, T[use], star[use]) for name, law in names.items()}
    return [
        plot.Guide(f"{name}, $R^2$ = {law.r_squared:.2f}", T, law.predict(T), colour=3 + i)
        for i, (name, law) in enumerate(fitted.items())
    ]


PICTURES = {"success": draw_success, "critical": draw_critical}
