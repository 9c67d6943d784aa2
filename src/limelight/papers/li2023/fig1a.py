r"""Figure 1(a): how many examples a shallow ViT needs, against the fraction of relevant tokens.

The paper moves $\alpha_\#$ with $\alpha_*$, which confounds the two; `fig1a_ratio` and `fig1a_gap`
do not.
"""

import math
from functools import partial

from limelight import plot
from limelight.claims import AtLeast, Bands, Estimate, Inside
from limelight.experiments import Study
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.li2023 import boundary
from limelight.papers.li2023.boundary import LEVELS, exponent, gap, laws, relevant, straightness
from limelight.papers.li2023.protocols import EXAMPLES, PAIR, SUM_FRACTIONS, fixed_sum
from limelight.papers.recipe import Figure, Scale, claim, claims, scales
from limelight.table import Table
from limelight.theory.li2023 import relevant_needed
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

stated = partial(claim, at="li2023, Figure 1(a)")


@stated("1a.transition", "Success goes from rare to sure as examples are added.", Bands(0.2, 0.8))
def transition(table: Table) -> Estimate:
    """Share of alpha_* with success at most 0.1 at the smallest N, at least 0.9 at the largest."""
    _, _, success, _ = boundary.success_rates(table)
    good = (success[0] <= 0.1) & (success[-1] >= 0.9)
    note = f"{good.sum()} of {len(good)} fractions"
    return Estimate(float(good.mean()), None, len(table), note)


@stated("1a.line", "The boundary is almost a straight line in alpha_*^-2.", AtLeast(0.8))
def straight(table: Table) -> Estimate:
    """R^2 of N50 on alpha_*^-2."""
    return straightness(table, relevant)


law = laws("1a.law", "the paper's protocol, where alpha_# moves too")


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
    """Where trials succeed, N50 with straight lines through it, and where Theorem 1 applies."""
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
    claims=(transition, straight, *law, *gap_law),
    pictures={"phase": draw_phase, "law": boundary.draw_law},
    summary=boundary.summary,
    reference="Figure 1(a)",
    departures="step size 2, batch 16 and steps are ours (the paper states none); token noise is "
    "0, so that equal tokens are grouped exactly; positions are permuted in every example; the "
    "start is `perturb` because the printed one saturates the softmax",
)
