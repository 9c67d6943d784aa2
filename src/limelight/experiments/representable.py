"""One rule three times: constructed, trained from the construction, and trained from nothing."""

from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from limelight import models
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.norms import head_norms
from limelight._core.types import PRNGKey
from limelight.experiments.study import Trained
from limelight.measures.accuracy import margins
from limelight.models import Constructed, SequenceNet
from limelight.train.minibatch import Train
from limelight.worlds import SparseBoolean


@kind("experiment.representable")
class Representable(Trained):
    """One rule three times: `built`, trained from there, and `learned` from random weights.

    Loss and accuracy are read on `test` fresh examples.

    Example:
        >>> import limelight as ll
        >>> built, learned = ll.models.Constructed(), ll.models.Sequence(width=16)
        >>> world, train = ll.worlds.SparseBoolean(length=8), ll.Train(steps=20, loss="logistic")
        >>> ll.experiments.Representable(world, built, learned, train).check()
    """

    world: SparseBoolean
    built: Constructed
    learned: models.Sequence
    train: Train
    test: int = eqx.field(static=True, default=1000)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Norms, accuracy and the measured gap of all three, on one hidden subset."""
        k_truth, k_init, k_train, k_test = named(key, "truth", "init", "train", "test")
        truth = self.world.draw(k_truth)
        built = self.built.init(k_init, self.world, truth)
        out = self._read("built", built, k_test, truth)
        starts: dict[str, SequenceNet] = {
            "tuned": built,
            "learned": self.learned.init(k_init, self.world, truth),
        }
        for name, start in starts.items():
            trained, record, _ = self.train(k_train, self.world, truth, start)
            out |= self._read(name, cast(SequenceNet, trained), k_test, truth)
            out |= {f"{name}.training_loss": record.loss, f"{name}.diverged": record.diverged}
            out[f"{name}.gap"] = out[f"{name}.test_loss"] - record.loss
        return out

    def check(self) -> None:
        """Check every part."""
        self.world.check()
        self.built.check(self.world)
        self.learned.check(self.world)
        self.train.check()

    def _read(self, name: str, model: SequenceNet, key: PRNGKey, truth) -> dict[str, Array]:
        margin = margins(key, self.world, truth, model, self.test)
        h = model.heads
        tokens = jnp.linalg.norm(model.tokens(), axis=-1)
        sizes = head_norms(h.query[0], h.key[0], h.value[0])
        sizes |= {
            "token": jnp.maximum(jnp.max(tokens), jnp.linalg.norm(model.asking)),
            "query_token": jnp.linalg.norm(model.asking),
        }
        return {
            f"{name}.accuracy": jnp.mean(margin > 0, dtype=float),
            f"{name}.test_loss": jnp.mean(jax.nn.softplus(-margin)),
            **{f"{name}.{key}": value for key, value in sizes.items()},
        }
