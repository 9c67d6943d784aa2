"""Figure 2 with wrong labels in the training sample."""

from limelight.claims import Above, Estimate
from limelight.papers.edelman2022.variants import SIZES, steps, variant
from limelight.papers.recipe import claim
from limelight.table import Table

AXIS = "world.label_noise"


@claim(
    "noise.grows",
    "Each step of label noise (0, .05, .1) raises the number of examples needed.",
    Above(0.0),
    at="limelight, the protocol of edelman2022, Figure 2",
    statistic="smallest log ratio of m50 from one noise to the next, over noise and T,"
    " ends shared out over them",
)
def grows(table: Table) -> Estimate:
    """The smallest log ratio of m50 from one noise to the next."""
    return steps(table, AXIS)


figure = variant(
    AXIS,
    [0.0, 0.05, 0.1],
    statement="do wrong labels raise the number of examples needed?",
    claim=grows,
    sizes=[*SIZES, 500, 600, 800],  # a tenth of the labels wrong needs more than 400 examples
)
