"""Whole batches: many trials as one program, `jit(vmap(trial))`.

The usual executor. A program runs as long as its slowest trial; all trials of a chunk start and end
together. On a CPU an experiment may ask for its trials one after another, still in one program.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from limelight._core.backend import on_gpu
from limelight._core.errors import InputError, LimelightError
from limelight._core.keys import trial_key
from limelight._engine import device
from limelight._engine.cost import Cost, trial_cost
from limelight._engine.grid import Cell, assign, leaves, typed

if TYPE_CHECKING:
    from limelight._engine.plan import Group

#: Matrix products in full float32, on every device.
PRECISION = "highest"


class Batches:
    """Plans and compiles programs that compute whole batches of trials.

    Every executor has these methods; a plan and a run use nothing else of it.
    """

    #: Whether trials that one device cannot hold are refused; else their bytes are an upper bound.
    exact_memory = False

    def cost(self, group: "Group", cells: Sequence[Cell]) -> Cost:
        """FLOPs and peak bytes of one trial, counted from its traced program."""
        swept = {name: typed([cell[name] for cell in cells])[0] for name in group.swept}
        still = {k: np.asarray(v) for k, v in leaves(group.experiment).items() if k not in swept}
        zero = np.uint32(0)
        blank = (zero, np.zeros(2, np.uint32), zero, swept, still)
        try:
            cost = trial_cost(_one_trial(group), blank, group.experiment.loop_length)
        except LimelightError:
            raise
        except (Exception, SystemExit) as error:  # a model that does not fit its world
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(
                f"a trial cannot be built: {type(error).__name__}: {lines[0]}",
                "do the world, the model and the measures fit together?",
            ) from error
        if not isinstance(cost.leaves, Mapping):
            kind = type(group.experiment).__name__
            raise InputError(f"a trial of {kind} gives no numbers by name", 'return {"name": ...}')
        return cost

    def width(self, experiment: Any, cost: Cost, rows: int) -> int:
        """Trials in one chunk, for a group of so many."""
        return device.chunk_width(cost.bytes, rows)

    def slots(self, experiment: Any, width: int) -> int:
        """Trials that a program holds at one time."""
        return width

    def place(self, arguments: tuple, width: int) -> tuple:
        """The arguments of a chunk on the devices that share it."""
        seed, words, trials, swept, still = arguments
        many, one = device.over_trials(width), device.everywhere(width)
        words, trials, swept = jax.device_put((words, trials, swept), many)
        seed, still = jax.device_put((seed, still), one)
        return seed, words, trials, swept, still

    def trace(self, group: "Group", arguments: tuple) -> Any:
        """The program of a group, ready to be compiled."""
        options = device.for_gpu(group.experiment.compiler)
        return jax.jit(program(group), compiler_options=options).lower(*arguments)

    def run(
        self, program: Callable, arguments: tuple, cells: Sequence[Any], tell: Callable
    ) -> dict[str, np.ndarray]:
        """The results of a chunk; `cells` are the experiments of its rows."""
        return jax.device_get(program(*arguments))


def program(group: "Group") -> Callable:
    """Many trials as one function, from the trial that was traced to plan them."""
    planned = group.trial

    def many(seed, words, trials, swept, still):
        def row(words, trial, swept):
            given = seed, words, trial, swept, still
            if planned is None or not planned.fits(given):
                return _one_trial(group)(*given)
            with jax.default_matmul_precision(PRECISION):  # rules for many rows are asked only now
                return planned(*given)

        return over_rows(row, group.experiment.in_turn)(words, trials, swept)

    return many


def _one_trial(group: "Group") -> Callable:
    return of_one_row(group, lambda experiment, key: experiment.trial(key))


def over_rows(one: Callable, in_turn: bool) -> Callable:
    """`one` of every row of its arguments: of all at a time, or on a single CPU one after another.

    In turn the data of a trial stay in the cache from step to step, and a trial that ends early
    does not wait for the others. A GPU, and devices that share the rows, take all at a time.
    """
    if not in_turn or on_gpu() or jax.local_device_count() > 1:
        return jax.vmap(one)
    return lambda *rows: jax.lax.map(lambda row: one(*row), rows)


def of_one_row(group: "Group", read: Callable) -> Callable:
    """A function of one row's arguments: what `read` makes of its experiment and key."""

    def one(seed, words, trial, swept, still):
        experiment = assign(group.experiment, swept | still)
        # Some devices would round float32 products to ten bits; a criterion of 1e-3 sees that.
        with jax.default_matmul_precision(PRECISION):
            return read(experiment, trial_key(seed, words, trial))

    return one
