r"""Figure 1(a): how many examples a shallow ViT needs, against the fraction of relevant tokens.

The paper moves $\alpha_\#$ with $\alpha_*$, which confounds the two; `fig1a_ratio` and `fig1a_gap`
do not.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from limelight import plot
from limelight.claims import LEVEL, Above, Estimate, Inside, Undecided
from limelight.experiments import Study
from limelight.fit import curves, estimates, percentile_interval
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.li2023 import boundary
from limelight.papers.li2023.boundary import (
    EXPLORER,
    LEVELS,
    exponent,
    gap,
    laws,
    relevant,
    straightness,
)
from limelight.papers.li2023.offset import offset_claims
from limelight.papers.li2023.protocols import EXAMPLES, PAIR, SUM_FRACTIONS, fixed_sum
from limelight.papers.recipe import Figure, Finding, Scale, claim, claims, scales
from limelight.table import Table
from limelight.theory.li2023 import relevant_needed
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

stated = partial(claim, at="li2023, Figure 1(a)")
#: Where the power -2 is claimed of protocols that are not the paper's.
ORDER = "limelight; li2023, Theorem 1 (10), sufficient, without its offset"


@stated(
    "1a.transition",
    "Success rises from the fewest examples to the most, at every alpha_*.",
    Above(0.0),
    fixed="after",
)
def transition(table: Table) -> Estimate:
    """Share of trials that succeed at the largest N less at the smallest, least certain alpha_*."""
    fractions, _, success, trials = boundary.success_rates(table)
    level = 1 - (1 - LEVEL) / (2 * len(fractions))  # of each end of each fraction

    def share(size: int, place: int) -> Estimate:
        good = round(success[size, place] * trials[size, place])
        return estimates.share(good, int(trials[size, place]), level=level)

    rises = [
        (f"alpha_* {fraction:g}", estimates.difference(share(-1, place), share(0, place)))
        for place, fraction in enumerate(fractions)
    ]
    found = estimates.lowest(rises)
    n = int(trials[[0, -1]].sum())  # at the ends, all fractions
    return replace(found, n=n, family=len(fractions))


@stated(
    "1a.line",
    "The boundary is almost a straight line in alpha_*^-2: at most twice as steep in one half as in"
    " the other (our reading).",
    Inside(0.5, 2.0),
    fixed="after",
)
def straight(table: Table) -> Estimate:
    """Slope of N50 in alpha_*^-2 over the smaller half of the fractions, over the larger half."""
    edge = boundary.n50(table)
    use = edge.resolved
    x, order = relevant(edge)[use] ** -2.0, np.argsort(relevant(edge)[use])
    if use.sum() < boundary.POINTS:
        raise Undecided(f"{use.sum()} resolved points, {boundary.POINTS} needed", n=len(table))
    values, known = boundary.drawn(edge)
    draws = values[known[:, use].all(axis=1)][:, use][:, order]
    half = len(order) // 2
    whole = np.concatenate([edge.values[use][order][None], draws])

    def slope(part: slice) -> np.ndarray:
        return curves.slopes(x[order][part], whole[:, part].T)

    # The point in the middle belongs to both halves.
    found = slope(slice(None, half + 1)) / slope(slice(len(order) - half - 1, None))
    low, high = percentile_interval(found[1:])
    line = straightness(table, relevant).value
    note = f"{use.sum()} points; R^2 of one line through them {line:.3f}"
    return Estimate(float(found[0]), (float(low), float(high)), boundary.trials_of(edge, use), note)


law = laws(
    "1a.law",
    "the paper's protocol, where alpha_# moves too",
    at="li2023, Figure 1(a); (10) is sufficient and has an offset",
)
with_offset = offset_claims("1a.law", "the paper's protocol")


@claims(
    "1a.gap{suffix}",
    "Examples needed grow as the gap alpha_* - alpha_# to the power -2.",
    Inside(1.5, 2.5),
    at="limelight; suggested by li2023, condition (8)",
    cases=LEVELS,
)
def gap_law(table: Table, level: float) -> Estimate:
    """Log-log slope of N50 in 1/(alpha_* - alpha_#), test loss below {level:g}."""
    return exponent(table, level, gap)


def draw_phase(table: Table) -> plot.Picture:
    """Where trials succeed, N50 with the power -2 through it, and where Theorem 1 applies."""
    least = relevant_needed(0.5, 0.1, 0.2, 0.0)  # of relevant tokens, by condition (8)
    validity = plot.Span("Theorem 1 does not apply", least**-2.0, math.inf)
    return boundary.draw_phase(table, validity)


SMALL = {"model.width": 100, "measures": (FreshLoss(100), Accuracy(100))}
SMOKE = SMALL | {"world.tokens": 50, "model.width": 50}

figure = Figure(
    statement="the sample complexity is almost linear in alpha_*^-2",
    trial=Study(
        world=Patterns(tokens=100),
        model=Shallow(width=1000, groups=True),
        train=Train(steps=1000, batch=16, rate=2.0, every=20),
        measures=(FreshLoss(200), Accuracy(200)),
    ),
    grid={PAIR: fixed_sum(SUM_FRACTIONS), "train.examples": EXAMPLES},
    trials=50,
    scales=scales(
        smoke=Scale(
            trials=4,
            grid={PAIR: fixed_sum((0.36, 0.42, 0.5)), "train.examples": [2, 8, 32]},
            settings=SMOKE | {"train.steps": 200},
        ),
        small=Scale(
            trials=20,
            grid={PAIR: fixed_sum((0.32, 0.34, 0.36, 0.39, 0.43, 0.46, 0.5))},
            settings=SMALL | {"train.steps": 800},  # so that every cell converges
        ),
    ),
    claims=(transition, straight, *law, *with_offset, *gap_law),
    pictures={"phase": draw_phase, "law": boundary.draw_law},
    findings={
        "phase": Finding(
            "1a.law",
            holds="Examples needed grow as alpha_*^-{value:.1f}, as printed",
            fails="Examples needed grow as alpha_*^-{value:.1f}, not as alpha_*^-2",
        ),
        "law": Finding(
            "1a.gap",
            holds="Examples needed grow as the gap alpha_* - alpha_# to the power -{value:.1f}",
            fails="Not even the gap gives the power -2: it is -{value:.1f}",
        ),
    },
    charts={"phase": EXPLORER.chart},
    summary=boundary.summary,
    reference="Figure 1(a)",
    remark="A power of -2 can fail where the same power of alpha_* less an offset fits: near the "
    "offset a small step of alpha_* is a large part of what is left, which a pure power can only "
    "follow with a steep exponent.",
    sizes="the paper's sizes (width 1,000, 100 tokens, sigma 0.1, delta 0.2) and more trials "
    "per cell; rate, batch and steps are ours",
    departures="step size 2, batch 16 and steps are ours (the paper states none); token noise is "
    "0, so that equal tokens are grouped exactly; positions are permuted in every example; the "
    "start is `perturb` because the printed one saturates the softmax",
)
