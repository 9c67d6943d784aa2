r"""Figure 3: what trained attention saves, against the same network with keys and queries frozen.

Both arms of a trial share everything: examples, start, readout, batches.
"""

import numpy as np

from limelight.claims import AtLeast, Claim, Estimate, Inside
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import LOOSE, STRICT, boundary, exponent, relevant
from limelight.papers.li2023.fig1a import (
    DEPARTURES,
    EXAMPLES,
    ends,
    facts,
    nd,
    ratio,
    setup,
    steps_of,
)
from limelight.papers.li2023.quotients import Quotients, growth, quotients, smallest
from limelight.plot import Series, caption, curves
from limelight.table import Table

ARM = "model.frozen"


def arms(base: Setup) -> Setup:
    """The same grid with trained and with frozen attention, on common randomness."""
    return Setup(base.experiment, {**base.axes, ARM: [False, True]}, base.trials, shared=(ARM,))


# --- what is read off a table -----------------------------------------------------------------


def arm(table: Table, frozen: bool) -> Table:
    """The rows of one arm."""
    return table.rows(table[ARM].astype(bool) == frozen)


def savings(table: Table, level: float) -> Quotients:
    """N50 frozen over N50 trained, at every fraction."""
    return quotients(boundary(table, level), ARM, True, False)


def advantage(level: float):
    """The smallest saving."""
    return lambda table: smallest(savings(table, level))


def order(level: float):
    """Exponent of the frozen boundary in one over the relevant fraction."""
    return lambda table: exponent(level, relevant)(arm(table, True))


def savings_growth(level: float):
    """Exponent of the saving in one over the relevant fraction."""

    def estimate(table: Table) -> Estimate:
        found = savings(table, level)
        return growth(found, 1 / found.where["world.relevant"])

    return estimate


def below_transition(table: Table) -> list[str]:
    """Loss and accuracy of both arms where neither can succeed: the fewest examples."""
    fewest = table.where(train__examples=table.values("train.examples")[0])
    lines = []
    for at, rows in fewest.cells("world.relevant"):
        parts = [
            f"{name} loss {part['test_loss'].mean():.2f}, accuracy {part['accuracy'].mean():.3f}"
            for name, part in (("trained", arm(rows, False)), ("frozen", arm(rows, True)))
        ]
        lines.append(f"  alpha_* {at['world.relevant']:.2f}: {'; '.join(parts)}")
    return lines


def summary(table: Table) -> list[str]:
    """N50 of both arms, their ratio, and what happens below the transition."""
    lines = []
    for level in (STRICT, LOOSE):
        found = savings(table, level)
        edges = [boundary(arm(table, frozen), level) for _, frozen in ARMS]
        points = [dict(zip(relevant(e).tolist(), e.thresholds, strict=True)) for e in edges]
        lines.append(f"N50 with test loss below {level:g}: trained, frozen, frozen/trained")
        for i, a in enumerate(found.where["world.relevant"]):
            low, high = found.interval(i)
            both = "   ".join(str(part[float(a)]) for part in points)
            lines.append(
                f"  alpha_* {a:.2f}: {both}   ratio {found.values[i]:.2f} [{low:.2f}, {high:.2f}]"
            )
    few = table.values("train.examples")[0]
    return [*lines, f"with {few} examples:", *below_transition(table)]


# --- pictures ---------------------------------------------------------------------------------

ARMS = (("trained", False), ("frozen", True))


def draw_arms(table: Table):
    """N50 of both arms against one over the relevant fraction, with the predicted slopes."""
    series, guides = [], []
    for (name, frozen), slope in zip(ARMS, (2, 4), strict=True):
        edge = boundary(arm(table, frozen))
        x = 1 / relevant(edge)
        series.append(Series(f"{name} attention", x, *ends(edge)))
        use = edge.resolved
        if use.any():
            middle = np.exp(np.mean(np.log(edge.values[use]) - slope * np.log(x[use])))
            guides.append(Series(rf"slope {slope}, predicted, {name}", x, middle * x**slope))
    figure = curves(
        series,
        guides=guides,
        x_label=r"$1/\alpha_*$",
        y_label="N50, training examples",
        log_x=True,
        log_y=True,
        width=4.6,
    )
    caption(figure, *facts(table, series))
    return figure


def draw_savings(table: Table):
    """How many times fewer examples trained attention needs, at both criteria."""
    series = []
    for level in (STRICT, LOOSE):
        found = savings(table, level)
        spans = np.array([found.interval(i) for i in range(len(found.values))]).reshape(-1, 2)
        x = 1 / found.where["world.relevant"]
        series.append(Series(f"test loss < {level:g}", x, found.values, *spans.T))
    guides = []
    found = savings(table, STRICT)
    x, use = 1 / found.where["world.relevant"], np.isfinite(found.values)
    if use.any():
        middle = np.exp(np.mean(np.log(found.values[use]) - 2 * np.log(x[use])))
        guides.append(Series("slope 2, predicted", x, middle * x**2))
    figure = curves(
        series,
        guides=guides,
        x_label=r"$1/\alpha_*$",
        y_label="N50 frozen / N50 trained",
        log_x=True,
        log_y=True,
        width=4.6,
    )
    caption(figure, *facts(table, series))
    return figure


# --- claims and recipes -----------------------------------------------------------------------


def claims(prefix: str, where: str) -> tuple[Claim, ...]:
    """Advantage, order of the frozen boundary, growth of the advantage; at both criteria."""
    found = []
    for suffix, level in (("", STRICT), (".loose", LOOSE)):
        below = f"test loss below {level:g}"
        found += [
            Claim(
                f"{prefix}.advantage{suffix}",
                f"Trained attention needs fewer examples at every alpha_* ({where}).",
                f"smallest N50 frozen / N50 trained, {below}",
                advantage(level),
                AtLeast(1.0),
                "li2023, Figure 3",
            ),
            Claim(
                f"{prefix}.order{suffix}",
                f"With frozen attention examples needed grow as alpha_*^-4 ({where}).",
                f"log-log slope of the frozen N50 in 1/alpha_*, {below}",
                order(level),
                Inside(3.0, 5.0),
                "li2023, Proposition 1 (13)",
            ),
            Claim(
                f"{prefix}.growth{suffix}",
                f"The advantage grows as alpha_*^-2 ({where}).",
                f"log-log slope of N50 frozen / N50 trained in 1/alpha_*, {below}",
                savings_growth(level),
                Inside(1.0, 3.0),
                "li2023, Theorem 1 (10) and Proposition 1 (13)",
            ),
        ]
    return tuple(found)


MORE = (128, 192, 256, 384, 512)

figures = (
    Figure(
        name="fig3",
        title="examples needed with trained and with frozen attention",
        statement="without self-attention the sample complexity is much larger, about alpha_*^-4",
        setups={
            "smoke": arms(setup("smoke", 300, (0.36, 0.42, 0.5), nd, (2, 8, 32), 4)),
            "small": arms(
                setup(
                    "small",
                    1000,
                    (0.34, 0.36, 0.39, 0.43, 0.5),
                    nd,
                    (2, 4, 8, 16, 32, 48, 64, 128, 256),
                    12,
                )
            ),
            "paper": arms(
                setup("paper", 1000, steps_of(0.32, 0.5, 0.02), nd, (*EXAMPLES, *MORE), 50)
            ),
        },
        claims=claims("3", "the paper's protocol"),
        draws={"arms": draw_arms, "savings": draw_savings},
        summary=summary,
        reference="Figure 3",
        departures=DEPARTURES + "; the paper calls the frozen network a CNN",
    ),
    Figure(
        name="fig3-ratio",
        title="the same with alpha_# held at a quarter of alpha_*",
        statement="without self-attention the sample complexity is much larger, about alpha_*^-4",
        setups={
            "smoke": arms(setup("smoke", 300, (0.16, 0.32, 0.48), ratio, (2, 8, 32), 4)),
            "small": arms(
                setup(
                    "small",
                    1000,
                    (0.12, 0.16, 0.24, 0.36, 0.52),
                    ratio,
                    (2, 4, 8, 16, 32, 64, 128, 256),
                    8,
                )
            ),
            "paper": arms(
                setup(
                    "paper",
                    2000,
                    (0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.36, 0.44, 0.52, 0.6),
                    ratio,
                    (*EXAMPLES, *MORE),
                    50,
                )
            ),
        },
        claims=claims("3.ratio", "alpha_# a quarter of alpha_*"),
        draws={"arms": draw_arms, "savings": draw_savings},
        summary=summary,
        reference="Figure 3, without its confounder",
        departures=DEPARTURES + "; the protocol is ours: alpha_# = alpha_*/4",
    ),
)
