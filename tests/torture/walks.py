"""The figure of a paper that the tortured run is: workers are told where its code lies."""

from pathlib import Path

import limelight as ll
from limelight._engine.run import lay_out
from limelight.papers.contents import Paper
from limelight.papers.recipe import Figure, Scale
from limelight.table import Table
from tests.torture.study import AXES, TRIALS, WIDTH, Walk

#: Times that a worker is replaced although it finished nothing: it may be killed while it loads.
RETRIES = 50

paper = Paper(
    key="walk2000",
    title="Of Walks that Are Disturbed",
    authors="A Walker",
    venue="On the way, 2000",
    symbols={},
    statements=(),
    figures=(
        Figure(
            name="walk",
            title="where walks end",
            statement="a walk ends somewhere",
            trial=Walk(),
            grid={**AXES},
            trials=TRIALS,
            scales={name: Scale() for name in ("smoke", "small", "paper")},
            claims=(),
            pictures={},
        ),
    ),
)


def sweep(store: Path, progress=None) -> Table:
    """The run, or what is missing of it."""
    return paper.figure("walk").run("small", store, width=WIDTH, progress=progress)


def hire(store: Path, progress=None) -> Table:
    """The same by two workers, processes of their own that find the run's code by its path."""
    figure = paper.figure("walk")
    lay_out(figure.plan("small", width=WIDTH, store=store), store, figure.about("small", 0, {}))
    crew = ll.workers(store, on="local", count=2, paper=__file__, retries=RETRIES, grace=1)
    return crew.wait(progress)
