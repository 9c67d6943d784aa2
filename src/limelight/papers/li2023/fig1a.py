r"""Figure 1(a): how many examples a shallow ViT needs, against the fraction of relevant tokens.

The paper moves $\alpha_\#$ with $\alpha_*$, which confounds the two; `fig1a_ratio` and `fig1a_gap`
do not.
"""

import numpy as np

from limelight import plot
from limelight.claims import AtLeast, Bands, Estimate, Inside
from limelight.experiments import Study
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.li2023.boundary import (
    LEVELS,
    LOOSE,
    N50,
    STRICT,
    boundary,
    exponent,
    gap,
    in_words,
    laws,
    line,
    relevant,
    slope_guide,
    straight_guide,
    straightness,
    unconverged_cells,
    unresolved,
    usable,
)
from limelight.papers.li2023.protocols import EXAMPLES, PAIR, SUM_FRACTIONS, fixed_sum
from limelight.papers.recipe import Figure, Scale, claim, claims, scales
from limelight.plot import Marked, Picture, TopAxis, Validity
from limelight.table import Table
from limelight.theory.li2023 import relevant_needed
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

#: What a phase diagram is drawn over.
PLANE = ("world.relevant", "train.examples")


# --- claims -----------------------------------------------------------------------------------


@claim(
    "1a.transition",
    "Success goes from rare to sure as examples are added.",
    Bands(0.2, 0.8),
    at="li2023, Figure 1(a)",
)
def transition(table: Table) -> Estimate:
    """Share of alpha_* with success at most 0.1 at the smallest N, at least 0.9 at the largest."""
    _, _, success, _ = plot.success_rates(table, *PLANE, "test_loss", STRICT, below=True)
    good = (success[0] <= 0.1) & (success[-1] >= 0.9)
    note = f"{good.sum()} of {len(good)} fractions"
    return Estimate(float(good.mean()), None, len(table), note)


@claim(
    "1a.line",
    "The boundary is almost a straight line in alpha_*^-2.",
    AtLeast(0.8),
    at="li2023, Figure 1(a)",
)
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


# --- pictures ---------------------------------------------------------------------------------

THEOREM = Validity(relevant_needed(0.5, 0.1, 0.2, 0.0) ** -2.0, "right", "Theorem 1 does not apply")


def draw_phase(table: Table, validity: Validity | None = THEOREM) -> Picture:
    """Where trials succeed, N50 with straight lines through it, and where Theorem 1 applies."""
    edge = boundary(table)
    x = relevant(edge) ** -2.0
    fractions, sizes, success, _ = plot.success_rates(
        table, *PLANE, "test_loss", STRICT, below=True
    )
    return plot.phase_diagram(
        fractions**-2.0,
        sizes,
        success,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=line("N50, 95 % interval", edge, x),
        theory=[
            *straight_guide(r"line in $\alpha_*^{-2}$", edge, x, x),
            *straight_guide(r"line in $(\alpha_*-\alpha_\#)^{-2}$", edge, gap(edge) ** -2.0, x),
        ],
        validity=validity,
        marked=Marked("training not converged", unconverged_cells(table, *PLANE)),
        top=TopAxis(r"$\alpha_*$", fractions),
    )


def draw_law(table: Table) -> Picture:
    """N50 against one over the relevant fraction, on logarithmic axes, with slopes of 2 beside."""
    strict, loose = boundary(table, STRICT), boundary(table, LOOSE)
    found = [
        line("N50, test loss < 0.001", strict, 1 / relevant(strict)),
        line("N50, test loss < 0.01", loose, 1 / relevant(loose)),
    ]
    x, y = 1 / relevant(strict), np.where(usable(strict), strict.values, np.nan)
    return plot.lines(
        found,
        guides=[
            *slope_guide(r"slope 2: $N \propto \alpha_*^{-2}$", x, y, 2.0),
            *slope_guide(r"$N \propto (\alpha_*-\alpha_\#)^{-2}$", 1 / gap(strict), y, 2.0, at=x),
        ],
        x_label=r"$1/\alpha_*$",
        y_label=N50,
        log_x=True,
        log_y=True,
        note=unresolved(found),
    )


def summary(table: Table) -> list[str]:
    """N50 for each fraction, and both straight lines with their intervals."""
    lines = ["N50 (examples at which half of the trials succeed), 95 % interval:"]
    for level in (STRICT, LOOSE):
        lines.append(f" test loss below {level:g}")
        lines += [
            f"  alpha_* {at['world.relevant']:.2f}, alpha_# {at['world.confusing']:.2f}: {found}"
            for at, found in boundary(table, level)
        ]
    for name, x in (("alpha_*", relevant), ("alpha_* - alpha_#", gap)):
        squared, slope = in_words(straightness, table, x), in_words(exponent, table, STRICT, x)
        lines.append(f"against ({name})^-2: R^2 {squared}; exponent in 1/({name}) {slope}")
    return lines


# --- the recipe -------------------------------------------------------------------------------


def trial(steps: int) -> Study:
    """The paper's model on its data."""
    return Study(
        world=Patterns(tokens=100),
        model=Shallow(width=1000, groups=True),
        train=Train(steps=steps, batch=16, rate=2.0, every=20),
        measures=(FreshLoss(200), Accuracy(200)),
    )


LESS_TESTED = {"measures": (FreshLoss(100), Accuracy(100))}
SMOKE = {"world.tokens": 50, "model.width": 50, **LESS_TESTED}
SMALL = {"model.width": 100, **LESS_TESTED}
DEPARTURES = (
    "step size 2, batch 16 and steps are ours (the paper states none); token noise is 0, so that "
    "equal tokens are grouped exactly; positions are permuted in every example; the start is "
    "`perturb` because the printed one saturates the softmax"
)

figure = Figure(
    statement="the sample complexity is almost linear in alpha_*^-2",
    trial=trial(steps=1000),
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
    pictures={"phase": draw_phase, "law": draw_law},
    summary=summary,
    reference="Figure 1(a)",
    departures=DEPARTURES,
)
