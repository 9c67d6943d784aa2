"""An engine without training: numbers made up from cell and trial, the same every time."""

import numpy as np

from limelight.core.types import Role
from limelight.study.run import Engine

POOLS = ("all", *Role.NAMES)


def made_up(engine: Engine, chunk) -> dict[str, np.ndarray]:
    """The columns of a chunk of any figure of li2023, as if trials had been run.

    A trial succeeds when it has more examples than 2 / relevant^2, give or take its luck.
    """
    cells = [engine.plan.grid.cells[cell] for cell in chunk.cells]
    axes = {name: np.array([cell[name] for cell in cells]) for name in engine.plan.grid.names}
    luck = np.array(
        [
            np.random.default_rng([int(cell), int(trial)]).normal()
            for cell, trial in zip(chunk.cells, chunk.trials, strict=True)
        ]
    )
    relevant, examples = axes.get("world.relevant", 0.5), axes.get("train.examples", 50)
    failed = examples < 2.0 * relevant ** np.full(len(cells), -2.0) * np.exp(0.3 * luck)
    train = engine.plan.experiment.train
    rise = np.linspace(0.5, 0.9, train.steps // train.every + 1)
    trace = (rise + 0.01 * luck[:, None]).astype(np.float32)
    return {
        "cell": chunk.cells,
        "trial": chunk.trials,
        **axes,
        "steps": np.full(len(cells), train.steps, dtype=np.int32),
        "diverged": np.zeros(len(cells), dtype=bool),
        "training_loss": np.zeros(len(cells), dtype=np.float32),
        "test_loss": np.where(failed, 0.5, 0.0).astype(np.float32),
        "accuracy": np.where(failed, 0.7, 1.0).astype(np.float32),
        **{f"trace.mass.{pool}": trace for pool in POOLS},
        **{f"trace.roles.{query}.{key}": trace for query in Role.NAMES for key in Role.NAMES},
    }
