"""Figure 2 without dropout of embeddings: another protocol, and much cheaper."""

from limelight.claims import Estimate, Inside
from limelight.papers.edelman2022.variants import against, variant
from limelight.papers.recipe import claim
from limelight.table import Table

AXIS = "embedding_dropout"


@claim(
    "dropout.same",
    "Dropping no embeddings changes the number of examples needed by less than a quarter.",
    Inside(0.8, 1.25),
    at="limelight, the protocol of edelman2022, Figure 2",
)
def same(table: Table) -> Estimate:
    """m50 without over m50 with embedding dropout, geometric mean over T."""
    return against(table, AXIS, value=0.0, usual=0.1)


figure = variant(
    AXIS,
    [0.0, 0.1],
    statement=(
        "without dropout of embeddings training is a table computation; is it the same experiment?"
    ),
    claim=same,
)
