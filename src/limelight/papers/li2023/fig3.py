r"""Figure 3: what trained attention saves, against the same network with keys and queries frozen.

Both arms of a trial share everything: examples, start, readout, batches.
"""

from dataclasses import replace
from itertools import chain

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, Claim, Estimate, Inside
from limelight.papers.li2023 import boundary, fig1a
from limelight.papers.li2023.boundary import LEVELS, LOOSE, STRICT, n50, relevant
from limelight.papers.li2023.protocols import EXAMPLES, PAIR, SUM_FRACTIONS, fixed_sum
from limelight.papers.li2023.quotients import Quotients, growth, quotients, smallest
from limelight.papers.recipe import Finding, Scale, claims, scales
from limelight.table import Table

ARM = "model.frozen"
ARMS = {"trained": False, "frozen": True}
BOTH = {ARM: list(ARMS.values())}
UP_TO_512 = [*EXAMPLES, 128, 192, 256, 384, 512]


def arm(table: Table, frozen: bool) -> Table:
    """The rows of one arm."""
    return table.cached((ARM, frozen), lambda: table.rows(table[ARM].astype(bool) == frozen))


def savings(table: Table, level: float) -> Quotients:
    """N50 frozen over N50 trained, at every fraction."""
    return table.cached(("savings", level), lambda: quotients(n50(table, level), ARM, True, False))


def arm_claims(prefix: str, where: str, ours: str = "") -> tuple[Claim, ...]:
    """The advantage, the order of the frozen boundary, and how the advantage grows.

    Equations (10) and (13) are sufficient conditions: the last two read them as laws, as the paper
    does in its Remark 1.
    """

    @claims(
        prefix + ".advantage{suffix}",
        f"Trained attention needs fewer examples at every alpha_* where both numbers are on the"
        f" grid ({where}).",
        AtLeast(1.0),
        at=f"{ours}li2023, Figure 3",
        cases=LEVELS,
    )
    def advantage(table: Table, level: float) -> Estimate:
        """Smallest N50 frozen / N50 trained, test loss below {level:g}."""
        return smallest(savings(table, level))

    @claims(
        prefix + ".order{suffix}",
        f"With frozen attention examples needed grow as alpha_*^-4 ({where}).",
        Inside(3.0, 5.0),
        at=f"{ours}li2023, Proposition 1 (13), sufficient, read as a law",
        cases=LEVELS,
    )
    def order(table: Table, level: float) -> Estimate:
        """Log-log slope of the frozen N50 in 1/alpha_*, test loss below {level:g}."""
        return boundary.exponent(arm(table, True), level, relevant)

    @claims(
        prefix + ".growth{suffix}",
        f"The advantage grows as alpha_*^-2 ({where}).",
        Inside(1.0, 3.0),
        at=f"{ours}li2023, Remark 1",
        cases=LEVELS,
    )
    def grows(table: Table, level: float) -> Estimate:
        """Log-log slope of N50 frozen / N50 trained in 1/alpha_*, test loss below {level:g}."""
        found = savings(table, level)
        return growth(found, 1 / found.where["world.relevant"])

    return tuple(chain.from_iterable(zip(advantage, order, grows, strict=True)))


def draw_arms(table: Table) -> plot.Picture:
    """N50 of both arms against one over the relevant fraction, with the predicted slopes."""
    found, guides = [], []
    for (name, frozen), slope in zip(ARMS.items(), (2.0, 4.0), strict=True):
        edge = n50(arm(table, frozen))
        one = boundary.line(f"{name} attention", edge, 1 / relevant(edge))
        found.append(one)
        label = f"slope {slope:g}, predicted, {name}"
        guides += boundary.slope_guide(label, 1 / relevant(edge), np.asarray(one.y), slope)
    return boundary.logarithmic(found, r"$1/\alpha_*$", guides=guides)


def draw_savings(table: Table) -> plot.Picture:
    """How many times fewer examples trained attention needs, at both criteria."""
    ratios = {level: savings(table, level) for level in (STRICT, LOOSE)}
    x = {level: 1 / found.where["world.relevant"] for level, found in ratios.items()}
    series = [
        plot.Series(f"test loss < {level:g}", x[level], found.values, *found.intervals.T)
        for level, found in ratios.items()
    ]
    guides = boundary.slope_guide("slope 2, predicted", x[STRICT], ratios[STRICT].values, 2.0)
    return boundary.logarithmic(series, r"$1/\alpha_*$", "N50 frozen / N50 trained", guides=guides)


def summary(table: Table) -> list[str]:
    """N50 of both arms, their ratio, and what happens below the transition."""
    few = table.values("train.examples")[0]
    fractions = savings(table, STRICT).where["world.relevant"]
    return [
        *boundary.n50_lines(table),
        *fit.tabulate(
            [({"a": fraction}, place) for place, fraction in enumerate(fractions)],
            {"a": "alpha_*"},
            boundary.at_both(lambda place, level: savings(table, level).estimate(place)),
            title="N50 frozen / N50 trained:",
        ),
        *fit.tabulate(
            table.where(train__examples=few),
            {"world.relevant": "alpha_*", ARM: "frozen"},
            {"test loss": "test_loss", "accuracy": "accuracy"},
            title=f"with {few} examples:",
        ),
    ]


#: Both arms, one after the other.
EXPLORER = replace(
    boundary.EXPLORER,
    parts={
        "trained attention": lambda table: ~table["model.frozen"].astype(bool),
        "frozen attention": lambda table: table["model.frozen"].astype(bool),
    },
)

figure = replace(
    fig1a.figure,
    remark="",
    charts={"arms": EXPLORER.chart},
    statement="without self-attention the sample complexity is much larger, about alpha_*^-4",
    grid={PAIR: fixed_sum(SUM_FRACTIONS), "train.examples": UP_TO_512} | BOTH,
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={PAIR: fixed_sum((0.36, 0.42, 0.5)), "train.examples": [2, 8, 32]},
            settings=fig1a.SMOKE | {"train.steps": 300},
        ),
        small=Scale(
            trials=12,
            grid={
                PAIR: fixed_sum((0.34, 0.36, 0.39, 0.43, 0.5)),
                "train.examples": [2, 4, 8, 16, 32, 48, 64, 128, 256],
            },
            settings=fig1a.SMALL,
        ),
    ),
    claims=arm_claims("3", "the paper's protocol"),
    pictures={"arms": draw_arms, "savings": draw_savings},
    summary=summary,
    findings={
        "arms": Finding(
            "3.advantage",
            holds="Trained attention needs fewer examples, {value:.1f} times fewer at least",
        ),
        "savings": Finding(
            "3.growth",
            holds="The advantage grows as alpha_*^-{value:.1f}",
            fails="The advantage does not grow as alpha_*^-2: it goes as (1/alpha_*)^{value:.1f}",
        ),
    },
    reference="Figure 3",
    sizes="the sizes of fig1a, with attention frozen beside it",
    departures=f"{fig1a.figure.departures}; the paper calls the frozen network a CNN",
    shared=(ARM,),
)
