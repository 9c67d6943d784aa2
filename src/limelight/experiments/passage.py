"""When a trial first succeeds: one number instead of a whole trace."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.study import Measure, Study, Trained
from limelight.models.base import Maker
from limelight.train.minibatch import Train
from limelight.worlds.base import World


@kind("experiment.passage")
class Passage(Trained):
    """A study that keeps, of what is followed through training, when it first falls below a level.

    Leaves `passage.NAME` for every measure followed: the first logged step at which it is below
    `level`, NaN when it never is. With `train.every` = 1 that is the very update.

    `traces` are what is followed, scalars; the other parts are those of `Study`.

    Example:
        >>> import limelight as ll
        >>> world, model = ll.worlds.Patterns(tokens=20), ll.models.Shallow(width=8)
        >>> ll.experiments.Passage(world, model, ll.Train(steps=40)).check()
    """

    world: World
    model: Maker
    train: Train
    level: Number = 1e-3
    measures: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)
    traces: tuple[Measure, ...] = eqx.field(static=True, default=(), converter=tuple)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train, follow, and note the first passage."""
        results = self._study().trial(key)
        followed = [name for name in results if name.startswith("trace.")]
        for name in followed:
            below = results.pop(name) < self.level
            step = (jnp.argmax(below) * self.train.every).astype(float)
            first = jnp.where(jnp.any(below), step, jnp.nan)
            results["passage." + name.removeprefix("trace.")] = first
        return results

    def check(self) -> None:
        """Check the study."""
        self._study().check()

    def _study(self) -> Study:
        return Study(self.world, self.model, self.train, self.measures, self.traces)
