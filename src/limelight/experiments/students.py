r"""Networks taught by a convolution on Gaussian patches: a small error without the sets."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.measures.association import association_exact, association_overlap
from limelight.models.base import Model, Recipe, split
from limelight.models.positional import Positional, PositionalNet
from limelight.models.vit import Vision, ViT
from limelight.train._loop import descend
from limelight.train.losses import logistic
from limelight.train.optimizers import make_optimizer
from limelight.worlds._partitions import members
from limelight.worlds.base import example
from limelight.worlds.projected import Filter, GaussianPatches

#: Students by name, with their scales at the start and their rate.
STUDENTS: dict[str, tuple[Recipe, float]] = {
    "free": (Positional(logit_scale=0.01, value_scale=0.1), 0.01),
    "gram": (Positional(logit_scale=0.25, value_scale=0.1, gram=True), 0.01),
    "vit": (Vision(width=32, heads=4, hidden=64, pool="sum"), 0.003),
}
#: Test images at once.
BLOCK = 500


@kind("experiment.students")
class Students(Experiment):
    r"""Train one student with Adam and cosine decay; read its error and its association.

    `free` is model (T), `gram` model (T) with $A = P P^\top$, `vit` a one-layer ViT. Association is
    read off the logits $A$, off the Gram matrix of positions for the ViT. Beside the test error
    stands that of the linear rule, the sign of the sum of the filter's responses: the teacher
    without its cube.

    Departures: the paper gives neither network nor training; all of it is ours. The ViT has layer
        norms.

    Args:
        world: Gaussian patches and the filter that labels them.
        student: `free`, `gram` or `vit`.
        steps: Updates.
        batch: Images per step.
        examples: Images of the training set.
        tests: Fresh images for the error.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Students(student="free", steps=100).check()

    Reference: jelassi2022, Section 2 and Figure 2.
    """

    world: GaussianPatches = GaussianPatches()
    student: Literal["free", "gram", "vit"] = eqx.field(static=True, default="gram")
    steps: int = eqx.field(static=True, default=4000)
    batch: int = eqx.field(static=True, default=256)
    examples: int = eqx.field(static=True, default=20_000)
    tests: int = eqx.field(static=True, default=20_000)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw a filter, teach, test."""
        return self.lesson(key)[0]

    def lesson(
        self, key: PRNGKey
    ) -> tuple[dict[str, Array], Float[Array, "tokens tokens"], Int[Array, " tokens"]]:
        """What a trial reads, the matrix that association is read off, and the sets."""
        k_truth, k_init, k_data, k_batch, k_test = named(
            key, "truth", "init", "data", "batch", "test"
        )
        recipe, rate = STUDENTS[self.student]
        truth = self.world.draw(k_truth)
        model = recipe.init(k_init, self.world, truth)
        model, loss, finite = self._taught(model, rate, k_data, k_batch, truth)
        scores = similarity(model)
        readings = self._errors(model, k_test, truth) | {
            "training_loss": loss,
            "diverged": ~finite,
            "exact": association_exact(scores, truth.sets, offdiag=True),
            "overlap": association_overlap(scores, truth.sets, offdiag=True),
            "exact_diagonal": association_exact(scores, truth.sets),
            "overlap_diagonal": association_overlap(scores, truth.sets),
        }
        return readings, scores, truth.sets

    def _taught(self, model: Model, rate: Number, k_data: PRNGKey, k_batch: PRNGKey, truth: Filter):
        """The student after its lessons, its last losses, and whether all was finite."""
        trained, rest = split(model)

        def row(index):
            item = example(self.world, k_data, truth, index)
            return model.prepare(item), item.label

        prepared, labels = jax.vmap(row)(jnp.arange(self.examples))
        optimizer = make_optimizer("adam", optax.cosine_decay_schedule(rate, self.steps))

        def loss(trained, step):
            index = jr.randint(jr.fold_in(k_batch, step), (self.batch,), 0, self.examples)
            rows = jax.tree.map(lambda leaf: leaf[index], prepared)
            outputs = jax.vmap(eqx.combine(trained, rest))(rows)
            return jnp.mean(jax.vmap(logistic)(outputs, labels[index]))

        end = descend(loss, optimizer, trained, self.steps)
        last = jnp.mean(end.reports["loss"][-max(self.steps // 20, 1) :])
        return eqx.combine(end.weights, rest), last, ~end.diverged

    def _errors(self, model: Model, key: PRNGKey, truth: Filter) -> dict[str, Float[Array, ""]]:
        def one(index):
            item = example(self.world, key, truth, index)
            responses = item.tokens[members(truth.sets, self.world.size)] * truth.kernel[None]
            missed = item.label * model(model.prepare(item)) <= 0
            return missed, item.label * jnp.sum(responses) <= 0

        missed = jax.lax.map(one, jnp.arange(self.tests), batch_size=min(BLOCK, self.tests))
        return {
            "error": jnp.mean(missed[0], dtype=float),
            "linear": jnp.mean(missed[1], dtype=float),
        }

    def check(self) -> None:
        """Refuse unknown students and sizes that make no sense."""
        self.world.check()
        check_word("student", self.student, tuple(STUDENTS))
        STUDENTS[self.student][0].check(self.world)
        check_least(self, ("steps", "batch", "examples", "tests"))


@kind("experiment.student_matrices")
class StudentMatrices(Experiment):
    r"""A trial of `Students` that also keeps the matrix that its association is read off.

    Args:
        lesson: The student, its teacher and its training.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.StudentMatrices(ll.experiments.Students(steps=100)).check()

    Reference: jelassi2022, Figure 2, right.
    """

    lesson: Students = Students()

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """The same as without, and the matrix row by row."""
        readings, scores, sets = self.lesson.lesson(key)
        return readings | {"trace.scores": scores.reshape(-1), "trace.sets": sets}

    def check(self) -> None:
        """Refuse what the lesson refuses."""
        self.lesson.check()


def similarity(model: Model) -> Float[Array, "tokens tokens"]:
    """Who a student groups with whom: its logits, or inner products of its positions."""
    if isinstance(model, PositionalNet):
        return model.logits
    if isinstance(model, ViT):
        return model.encodings @ model.encodings.T
    raise InputError(f"no positions are known of a {type(model).__name__}")
