"""Two stages: a model's attention decides which tokens a fresh model is trained on."""

import dataclasses
from typing import Any

import equinox as eqx
from jaxtyping import Array

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.experiments.study import Measure, Study, Trained
from limelight.models.base import Maker, make_model
from limelight.train.minibatch import Train
from limelight.worlds.sparse import Sparse


@kind("experiment.screened")
class Screened(Trained):
    """A study on a sparsified world, whose scoring model is trained first where one is needed.

    For the `attention` policy a model is trained on the whole tokens of the trial's own training
    set; what it attends to is kept, in training and test examples alike, and a fresh model is
    trained on that. The other policies need one stage (a traced policy may be any, and pays for
    both). All policies of a trial share the fresh model's start, the examples and the batches.

    The parts are those of `Study`: `model` and `train` serve both models, `measures` and `traces`
    are of the fresh one.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.Sparse(ll.worlds.Patterns(tokens=20), policy="attention", kept=10)
        >>> ll.experiments.Screened(world, ll.models.Shallow(width=8), ll.Train(steps=40)).check()

    Reference: li2023, Section 4.1; the magnitude rule that its Proposition 2 justifies.
    """

    world: Sparse
    model: Maker
    train: Train
    measures: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)
    traces: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train the scoring model if there is to be one, then the fresh one."""
        world = self.world
        if world.scored:
            world = dataclasses.replace(world, scorer=self._scorer(key))
        return self._study(world).trial(key)

    def check(self) -> None:
        """Check both stages."""
        if self.world.scorer is not None:
            raise InputError("world.scorer is set, but it is trained here", "leave it unset")
        self._study(self.world).check()

    def _scorer(self, key: PRNGKey) -> Any:
        # The names of `Study.trial`: the same truth, examples and batches; a start of its own.
        k_truth, k_train, k_screen = named(key, "truth", "train", "screen")
        whole = self.world.inner
        truth = whole.draw(k_truth)
        model = make_model(self.model, k_screen, whole, truth)
        return self.train(k_train, whole, truth, model)[0]

    def _study(self, world: Sparse) -> Study:
        return Study(world, self.model, self.train, self.measures, self.traces)
