"""The usual trial: a truth is drawn, a model is made and trained, numbers are read off it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
from jaxtyping import Array

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight._engine.grid import assign
from limelight.experiments.base import Experiment
from limelight.models.base import Maker, check_maker, make_model
from limelight.train.minibatch import Train
from limelight.worlds.base import World, law

Measure = Callable[[PRNGKey, Any, Any, Any], Array | Mapping[str, Array]]


class Trained(Experiment):
    """An experiment with a `train`: how long it takes, and room for the largest training set."""

    @property
    def loop_length(self: Any) -> int:
        """Blocks of training."""
        return 1 if self.train is None else self.train.blocks

    def with_room(self: Any, cells: Sequence[Any]) -> "Trained":
        """Room for the largest training set of the sweep."""
        if self.train is None or self.train.capacity is not None:
            return self
        largest = max(int(cell.train.examples) for cell in cells if cell.train is not None)
        return assign(self, {"train.capacity": largest})


@kind("experiment.study")
class Study(Trained):
    """A world, a model, how it is trained, and what is read off it.

    Args:
        world: Makes the data.
        model: Makes the model: a recipe, or a function of key, world and truth.
        train: Trains it; `None` measures it as it starts.
        measures: Read at the end of a trial: functions `(key, world, truth, model)` to a scalar,
            or to several by name where they share work. The key names the test set, so measures
            of one trial see one test set. A measure with a method `begin(key, world, truth, start)`
            is begun once, before training, and may look back at the start or keep its test set.
        traces: Measures logged through training, every `train.every` steps.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.SparseBoolean(length=8, sparsity=2)
        >>> model = ll.models.Sequence(width=8)
        >>> study = ll.Study(world, model, ll.Train(steps=20, batch=8), [ll.measures.accuracy])
        >>> study.check()  # then study.sweep({"train.examples": [4, 16]}, trials=20)
    """

    world: World
    model: Maker
    train: Train | None = None
    measures: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)
    traces: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw a truth, make a model, train it, read it."""
        k_truth, k_init, k_train, k_test = named(key, "truth", "init", "train", "test")
        truth = self.world.draw(k_truth)
        model = make_model(self.model, k_init, law(self.world), truth)
        about = k_test, self.world, truth, model
        follow, last = begin(self.traces, *about), begin(self.measures, *about)
        results: dict[str, Array] = {}
        if self.train is not None:
            model, record, traces = self.train(k_train, self.world, truth, model, follow)
            results |= {"steps": record.steps, "diverged": record.diverged}
            results |= {"training_loss": record.loss}
            results |= {f"trace.{name}": log for name, log in traces.items()}
        return results | last(model)

    def check(self) -> None:
        """Check every part, and the parts together."""
        self.world.check()
        check_maker(self.model, law(self.world), masked=law(self.world) is not self.world)
        if self.train is not None:
            self.train.check()
        elif self.traces:
            raise InputError("train = None, and traces need training", "give the study a train")
        for measures in (self.measures, self.traces):
            names = [measure_name(measure) for measure in measures]
            for name in names:
                if names.count(name) > 1:
                    raise InputError(f"two measures are called {name!r}", "give one another name")


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
        columns: dict[str, Array] = {}
        for name, reader in readers:
            value = reader(model)
            if isinstance(value, Mapping):
                columns |= {f"{name}.{part}": number for part, number in value.items()}
            else:
                columns[name] = value
        return columns

    return read


def measure_name(measure: Measure) -> str:
    """The column a measure fills: its `name`, or the name of the function."""
    return getattr(measure, "name", None) or getattr(measure, "__name__", type(measure).__name__)
