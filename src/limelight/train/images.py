r"""How a network for images is trained: mini-batches, AdamW or SGD, warm-up, cosine.

One step samples its images, augments them and updates, all inside the compiled loop.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from limelight._core.errors import (
    InputError,
    check_between,
    check_least,
    check_positive,
    check_word,
)
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import widened
from limelight._core.types import Number, PRNGKey
from limelight.models.base import Model, split
from limelight.train._loop import descend
from limelight.train.losses import cross_entropy
from limelight.train.optimizers import Optimizer, check_optimizer, make_optimizer

OPTIMIZERS = ("adamw", "sgd")
PRECISIONS = ("highest", "tensorfloat32", "bfloat16")
NUMBERS = ("float32", "bfloat16")
#: Of SGD.
MOMENTUM = 0.9


class TrainedNetwork(eqx.Module):
    """What training leaves: the model, the loss of every step, and whether all was finite."""

    model: Any
    losses: Float[Array, " steps"]
    finite: Bool[Array, ""]

    @property
    def last(self) -> Float[Array, ""]:
        """The mean loss over the last twentieth of the steps."""
        return jnp.mean(self.losses[-max(len(self.losses) // 20, 1) :])


@kind("train.images")
class ImageTraining(eqx.Module):
    r"""Training on images of several classes.

    The loss is cross-entropy, with `smoothing` of the label spread evenly over all classes. Weight
    decay acts on matrices alone: not on positions, class tokens, norms or biases. The rate rises
    over `warmup` steps and then falls as a cosine to `floor` of its peak.

    Args:
        steps: Updates.
        batch: Images per step, drawn with replacement.
        rate: Peak step size.
        examples: Training images used, the first of a trial's own order; 0 for all.
        optimizer: `adamw`, or `sgd` with Nesterov momentum 0.9; an Optax optimizer, used as it is
            (leave `rate` at 1); or a function that makes one from the rate, which is then a
            schedule. Clipping and decay belong to the named ones.
        decay: Weight decay.
        warmup: Steps to the peak.
        floor: The last rate over the peak.
        clip: Largest norm of a gradient; longer ones are shortened. `None` for any.
        smoothing: Share of the label spread over all classes.
        precision: Of matrix products in training: `highest`, `tensorfloat32` or `bfloat16`; if a
            device lacks it, the next better one. Weights and tests are in float32.
        numbers: What a training step computes with: `float32`, or `bfloat16` for everything but
            weights, their updates, the sums in norms, softmaxes and the loss.
        fresh: Whether an image is made anew at every step (augmented, on another background); else
            example $i$ is one and the same throughout.

    Example:
        >>> import limelight as ll
        >>> ll.train.ImageTraining(steps=100, batch=32, rate=1e-3).steps
        100
    """

    steps: int = eqx.field(static=True, default=1500)
    batch: int = eqx.field(static=True, default=128)
    rate: Number = 3e-3
    examples: Number = 0
    optimizer: Optimizer = eqx.field(static=True, default="adamw")
    decay: Number = 0.01
    warmup: int = eqx.field(static=True, default=0)
    floor: Number = 0.0
    clip: Number | None = None
    smoothing: Number = 0.0
    precision: str = eqx.field(static=True, default="highest")
    numbers: str = eqx.field(static=True, default="float32")
    fresh: bool = eqx.field(static=True, default=True)

    def __call__(self, key: PRNGKey, world: Any, truth: Any, model: Model) -> TrainedNetwork:
        """Train one model on the training part of a world."""
        k_batch, k_image, k_drop = named(key, "batch", "image", "drop")
        trained, rest = split(model)
        weights, unpacked, decaying = self._packed(trained)
        count = self.size(world)

        def loss(weights, step):
            u = jr.uniform(jr.fold_in(k_batch, step), (self.batch,))
            index = jnp.minimum(jnp.floor(u * count).astype(int), count - 1)
            network: Any = eqx.combine(unpacked(self._cast(weights)), self._cast(rest))
            keys = jr.split(jr.fold_in(k_image, step), self.batch)
            if not self.fresh:
                keys = jax.vmap(lambda i: jr.fold_in(k_image, i))(index)
            drops = jr.split(jr.fold_in(k_drop, step), self.batch)
            entropy = lambda output, item: cross_entropy(
                widened(output), item.label, self.smoothing
            )

            def one(k_image, k_drop, i):
                item = world.sample(k_image, truth, i)
                return entropy(network(self._cast(network.prepare(item)), k_drop), item)

            if not getattr(network, "fused", False):
                return jnp.mean(jax.vmap(one)(keys, drops, index))
            items = jax.vmap(lambda key, i: world.sample(key, truth, i))(keys, index)
            return jnp.mean(jax.vmap(entropy)(network.over(self._cast(items)), items))

        with jax.default_matmul_precision(self.precision):
            end = descend(loss, self.optimiser(decaying), weights, self.steps)
        network = eqx.combine(unpacked(end.weights), rest)
        return TrainedNetwork(network, end.reports["loss"], ~end.diverged)

    def _packed(self, trained: Model) -> tuple[Any, Callable[[Any], Model], Any]:
        """Weights as an optimizer sees them, the way back, and which of them decay.

        In bfloat16 a named optimizer sees two vectors, those that decay and the others: a few
        kernels of a GPU then clip, update and check them all, and not a few for each array.
        """
        kinds = {leaf.dtype for leaf in jax.tree.leaves(trained)}
        if self.numbers == "float32" or len(kinds) > 1 or not isinstance(self.optimizer, str):
            return trained, lambda weights: weights, None
        parts = eqx.partition(trained, decays(trained))
        vectors, undo = zip(*(ravel_pytree(part) for part in parts), strict=True)
        back = lambda weights: eqx.combine(*(u(w) for u, w in zip(undo, weights, strict=True)))
        return vectors, back, (True, False)

    def _cast(self, tree: Any) -> Any:
        if self.numbers == "float32":
            return tree
        short = lambda leaf: leaf.astype(self.numbers) if eqx.is_inexact_array(leaf) else leaf
        return jax.tree.map(short, tree)

    def size(self, world: Any) -> Any:
        """Training images used; a traced number where it is swept."""
        whole = world.available
        return jnp.where(self.examples == 0, whole, jnp.minimum(self.examples, whole))

    def optimiser(self, decaying: Any = None) -> optax.GradientTransformation:
        """Built inside the traced function, so that its rates can be swept.

        `decaying` says which weights decay, where it is not `decays`.
        """
        return make_optimizer(
            self.optimizer,
            self.pace,
            decay=self.decay,
            decays=decays if decaying is None else decaying,
            momentum=MOMENTUM,
            clip=self.clip,
        )

    def pace(self, step) -> Float[Array, ""]:
        """The rate at a step: up in a line, down as a cosine."""
        up = jnp.minimum((step + 1.0) / max(self.warmup, 1), 1.0)
        done = jnp.clip((step - self.warmup) / max(self.steps - self.warmup, 1), 0.0, 1.0)
        down = self.floor + (1.0 - self.floor) * 0.5 * (1.0 + jnp.cos(jnp.pi * done))
        return self.rate * up * down

    def check(self, world: Any) -> None:
        """Refuse settings that make no sense."""
        check_optimizer("course.optimizer", self.optimizer, self.rate, OPTIMIZERS)
        if self.clip is not None and not isinstance(self.optimizer, str):
            raise InputError(
                f"course.clip = {self.clip:g} beside an optimizer of your own",
                "put optax.clip_by_global_norm into it",
            )
        check_word("course.precision", self.precision, PRECISIONS)
        check_word("course.numbers", self.numbers, NUMBERS)
        check_least(self, ("steps", "batch"), prefix="course.")
        check_positive(self, ("rate", "clip"), "course.")
        check_least(self, ("decay",), 0, "course.")
        check_between(self, ("examples",), 0, world.available, "course.")
        check_between(self, ("warmup",), 0, self.steps, "course.")
        for name in ("floor", "smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"course.{name} = {getattr(self, name):g}", "from 0 to below 1")


def decays(tree: Any) -> Any:
    """Which weights decay: matrices that are no positions."""

    def one(path, leaf) -> bool:
        names = {getattr(part, "name", None) for part in path}
        return leaf.ndim >= 2 and not names & {"positions", "class_token"}

    return jax.tree_util.tree_map_with_path(one, tree)


def accuracy(
    model: Model, world: Any, truth: Any, key: PRNGKey, block: int = 200
) -> Float[Array, ""]:
    """Share of all test images whose largest output is that of their class."""
    held = world.held_out()

    def right(index):
        item = held.sample(jr.fold_in(key, index), truth, index)
        return jnp.argmax(model(model.prepare(item))) == jnp.argmax(item.label)

    many: Callable = jax.lax.map
    return jnp.mean(many(right, jnp.arange(held.available), batch_size=block), dtype=float)
