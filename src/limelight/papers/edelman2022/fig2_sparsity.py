"""Figure 2 with ANDs of two, three and four bits."""

from limelight.claims import Above, Estimate
from limelight.papers.edelman2022.variants import steps, variant
from limelight.papers.recipe import claim
from limelight.table import Table

AXIS = "world.sparsity"


@claim(
    "sparsity.grows",
    "Each further bit of the AND raises the number of examples needed.",
    Above(0.0),
    at="limelight, the protocol of edelman2022, Figure 2",
)
def grows(table: Table) -> Estimate:
    """Smallest log ratio of m50 from s to s + 1, over s and T, ends shared out over them."""
    return steps(table, AXIS)


figure = variant(
    AXIS,
    [2, 3, 4],
    statement="does every further bit raise the number of examples needed?",
    claim=grows,
    label="$s$ = {:g}",
)
