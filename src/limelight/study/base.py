"""What the engine can sweep: an experiment, and the usual one, a study.

The engine knows only `trial(key)` and `check()`. A paper whose flow is its own (no training, two
stages, another loop) writes an `Experiment`; nothing in the engine changes.
"""

import abc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array

from limelight.core.errors import InputError
from limelight.core.keys import named
from limelight.core.types import PRNGKey
from limelight.models.base import Recipe
from limelight.study.grid import Axes, assign
from limelight.table import Table
from limelight.train import Train
from limelight.worlds.base import World, law

Measure = Callable[[PRNGKey, Any, Any, Any], Array | Mapping[str, Array]]


class Experiment(eqx.Module):
    """One trial as a function of a key; fields not marked static can be swept for free.

    A kind of experiment whose numbers need it sets `double`: the engine then computes it in
    float64, whatever the rest of the process uses. One that runs at another pace than usual says
    its FLOP/s in `pace`, by kind of device, for estimates of time. `compiler` is told to the
    compiler of a GPU.
    """

    double: ClassVar[bool] = False
    pace: ClassVar[Mapping[str, float]] = {}
    compiler: ClassVar[Mapping[str, str | bool]] = {}

    @abc.abstractmethod
    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """What one trial leaves: scalars, and traces of one fixed length each."""

    @abc.abstractmethod
    def check(self) -> None:
        """Refuse settings that make no sense, on concrete numbers."""

    def fitted(self, cells: "list[Experiment]") -> "Experiment":
        """This experiment with room for every cell of a sweep; by default itself."""
        return self

    def sweep(
        self,
        axes: Axes,
        *,
        trials: int = 20,
        seed: int = 0,
        shared: tuple[str, ...] = (),
        store: str | Path | None = None,
        width: int | None = None,
        name: str = "study",
        progress: Any = None,
        stall: float = 1800.0,
        about: Mapping[str, Any] | None = None,
    ) -> Table:
        """Run every cell of a grid and return its table; run again to resume.

        Args:
            axes: Dotted path (or tuple of paths that move together) to values.
            trials: Trials a cell.
            seed: The one number all randomness comes from, with the cell and the trial.
            shared: Axes whose cells share their trials' randomness, for paired comparisons.
            store: Folder to keep results in; memory only when `None`.
            width: Trials in one program; found from the device's memory when `None`.
            name: Enters the randomness, so that two studies with one seed are independent.
            progress: Called with a `study.run.Progress` after every chunk.
            stall: Seconds a chunk may take before the run gives up, store intact.
            about: Extra facts for the manifest (paper, figure, scale, command).

        Returns:
            One row a trial.
        """
        from limelight.study.plan import make_plan
        from limelight.study.run import run

        plan = make_plan(
            self, axes, trials=trials, seed=seed, shared=shared, width=width, name=name, store=store
        )
        return run(plan, store=store, progress=progress, stall=stall, about=about or {})


class Study(Experiment):
    """A world, a model, how it is trained, and what is read off it.

    Args:
        world: Makes the data.
        model: Makes the model.
        train: Trains it; `None` measures it as it starts.
        measures: Read at the end of a trial: functions `(key, world, truth, model)` to a scalar,
            or to several by name where they share work. The key names the test set, so measures
            of one trial see one test set. A measure with a method `begin(key, world, truth, start)`
            is begun once, before training, and may look back at the start or keep its test set.
        traces: Measures logged through training, every `train.every` steps.
    """

    world: World
    model: Recipe
    train: Train | None = None
    measures: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)
    traces: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw a truth, make a model, train it, read it."""
        k_truth, k_init, k_train, k_test = named(key, "truth", "init", "train", "test")
        truth = self.world.draw(k_truth)
        model = self.model.init(k_init, law(self.world), truth)
        about = k_test, self.world, truth, model
        look, last = begin(self.traces, *about), begin(self.measures, *about)
        results: dict[str, Array] = {}
        if self.train is not None:
            model, record, traces = self.train(k_train, self.world, truth, model, look)
            results |= {"steps": record.steps, "diverged": record.diverged}
            results |= {"training_loss": record.loss}
            results |= {f"trace.{name}": log for name, log in traces.items()}
        return results | last(model)

    def check(self) -> None:
        """Check every part, and the parts together."""
        self.world.check()
        self.model.check(law(self.world))
        if law(self.world) is not self.world and not self.model.honours_masks:
            raise InputError("this model ignores removed tokens", "set model.groups=false")
        if self.train is not None:
            self.train.check()
        elif self.traces:
            raise InputError("traces need training", "give the study a train")
        for measures in (self.measures, self.traces):
            names = [measure_name(measure) for measure in measures]
            for name in names:
                if names.count(name) > 1:
                    raise InputError(f"two measures are called {name!r}", "give one another name")

    def fitted(self, cells: list["Study"]) -> "Study":  # pyright: ignore[reportIncompatibleMethodOverride]
        """Room for the largest training set of the sweep."""
        if self.train is None or self.train.capacity is not None:
            return self
        largest = max(int(cell.train.examples) for cell in cells if cell.train is not None)
        return assign(self, {"train.capacity": largest})


def begin(
    measures: tuple[Measure, ...], key: PRNGKey, world: World, truth: Any, start: Any
) -> Callable[[Any], dict[str, Array]]:
    """A function that reads every measure off a model, by column.

    What a measure prepares before training is done here, once.
    """
    readers = []
    for measure in measures:
        ready = getattr(measure, "begin", None)
        late = lambda model, measure=measure: measure(key, world, truth, model)
        readers.append((measure_name(measure), ready(key, world, truth, start) if ready else late))

    def read(model: Any) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for name, reader in readers:
            value = reader(model)
            if isinstance(value, Mapping):
                found |= {f"{name}.{part}": number for part, number in value.items()}
            else:
                found[name] = value
        return found

    return read


def measure_name(measure: Measure) -> str:
    """The column a measure fills: its `name`, or the name of the function."""
    return getattr(measure, "name", None) or getattr(measure, "__name__", type(measure).__name__)
