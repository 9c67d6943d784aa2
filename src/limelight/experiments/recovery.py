r"""Does attention find the planted sets, and when? Model (T) trained on a fixed sample."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight._engine.grid import assign
from limelight.experiments.base import Experiment
from limelight.measures.association import association_exact, association_margin
from limelight.models.positional import Positional, PositionalNet
from limelight.theory.jelassi2022.start import start_level
from limelight.train.descent import Descent, DescentRun, Sample, train
from limelight.worlds.base import example
from limelight.worlds.spatial import Spatial, Structure, labelling

TARGETS = ("label", "fstar")
#: Images made at once: what one block of them takes besides the patches that are kept.
BLOCK = 2048


class Descending(Experiment):
    """Model (T) under full-batch descent: `world`, `model`, `descent`, `examples`, `capacity`."""

    in_turn: ClassVar[bool] = True

    def check(self: Any) -> None:
        """Check every part, and refuse a sample of no size or beyond its room."""
        self.world.check()
        self.model.check(self.world)
        self.descent.check()
        if self.model.gram:
            raise InputError(
                "model.gram = True: the formulas are those of a free A", "set it to False"
            )
        if self.examples < 1 or self.examples != round(float(self.examples)):
            raise InputError(f"examples = {self.examples}", "a whole number, at least 1")
        if self.capacity is not None and self.examples > self.capacity:
            raise InputError(
                f"examples = {self.examples} exceeds capacity = {self.capacity}",
                "leave capacity unset",
            )

    @property
    def loop_length(self: Any) -> int:
        """Blocks of descent."""
        return self.descent.blocks

    def with_room(self: Any, cells: Sequence[Any]) -> "Descending":
        """Room for the largest sample of the sweep."""
        if self.capacity is not None:
            return self
        return assign(self, {"capacity": max(int(cell.examples) for cell in cells)})


@kind("experiment.recovery")
class Recovery(Descending):
    r"""Train model (T) by full-batch gradient descent and follow association and test error.

    The *stopping step* is the first logged one with a training loss at or below $L_0^*/4$, a
    quarter of what the value vector reaches without attention; training goes on to
    `descent.beyond` times it. Leaves that level, the stopping step (NaN when it was not reached),
    and traces: training loss, test error, off-diagonal association (share of exact rows, margin),
    association with the diagonal, $\cos(v, w^*)$ and both rates.

    Departures: the paper trains for any $T \ge \mathrm{poly}(d)/\eta$ and has no stopping rule; at
        finite sample sizes association may be lost again, see `descent.beyond`.

    Args:
        world: Makes the images.
        model: How model (T) starts.
        descent: How it is trained.
        examples: Size of the training set, their $N$.
        capacity: Largest training set a program has room for; cells of one capacity share it.
        tests: Fresh images on which the error is read, drawn as projections.
        frames: Blocks after which $A$ itself is kept, row after row; 0 is the start.
        target: What an error is an error against: the `label` $y$, or `fstar`, the labelling
            function of the paper's theorems.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.Spatial(tokens=16, size=4, dimension=8)
        >>> ll.experiments.Recovery(world, descent=ll.train.Descent(steps=20)).check()

    Reference: jelassi2022, Theorem 4.2 and Figure 4.
    """

    world: Spatial = Spatial()
    model: Positional = Positional()
    descent: Descent = Descent()
    examples: Number = 4000
    capacity: int | None = eqx.field(static=True, default=None)
    tests: int = eqx.field(static=True, default=20_000)
    frames: tuple[int, ...] = eqx.field(static=True, default=(), converter=tuple)
    target: Literal["label", "fstar"] = eqx.field(static=True, default="label")

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw a structure and a sample, train, follow."""
        k_truth, k_init, k_data, k_test = named(key, "truth", "init", "data", "test")
        world = self.world
        truth = world.draw(k_truth)
        net = self.model.init(k_init, world, truth)
        sample = training_set(
            world, k_data, truth, self.examples, self.capacity or int(self.examples)
        )
        error = TestSet(world, k_test, truth, self.tests, self.target)

        def read(net: PositionalNet) -> dict[str, Array]:
            logits = net.logits
            numbers = {
                "error": error(net),
                "exact": association_exact(logits, truth.sets, offdiag=True),
                "exact_diagonal": association_exact(logits, truth.sets),
                "margin": association_margin(logits, truth.sets, offdiag=True),
                "cosine": net.value @ truth.feature / jnp.linalg.norm(net.value),
            }
            return numbers | ({"logits": logits} if self.frames else {})

        level = self.level / 4
        run = train(self.descent, net, sample, world.size, read, level)
        return {"level": level} | self._leaves(run, truth)

    @property
    def level(self) -> Float[Array, ""]:
        r"""$L_0^*$, the loss without learned attention."""
        world, model = self.world, self.model
        fixed = model.activation, model.diagonal, model.temperature
        return start_level(world.tokens, world.size, world.density, *fixed)

    def _leaves(self, run: DescentRun, truth: Structure) -> dict[str, Array]:
        traces = dict(run.traces)
        frames: dict[str, Array] = {}
        if self.frames:
            shown = traces.pop("logits")[jnp.array(self.frames)]
            frames = {"frames": shown.reshape(-1), "sets": truth.sets}
        stop = jnp.where(run.stop >= 0, run.stop * self.descent.every, jnp.nan)
        steps = run.block * self.descent.every
        scalars = {"stop": stop, "steps": steps, "diverged": run.diverged}
        return scalars | frames | {f"trace.{name}": log for name, log in traces.items()}

    def check(self) -> None:
        """Check every part, and what is read."""
        super().check()
        check_word("target", self.target, TARGETS)
        check_least(self, ("tests",))
        if not all(0 <= frame <= self.descent.blocks for frame in self.frames):
            raise InputError(
                f"frames = {self.frames}", f"blocks, from 0 to {self.descent.blocks}, in order"
            )


class TestSet:
    r"""Fresh images of a structure, seen through any value vector without drawing them.

    What (T) says of an image depends on it through
    $z_j = \alpha \delta_j + \sigma |v_\perp| g_j$ alone, $\alpha = \langle v, w^* \rangle$.

    Departures: the paper's theorems bound $P[f^* F \le 0]$. $f^*$ itself may be 0 or wrong, so
        errors are against $y$ unless `target` is `fstar`.
    """

    __test__ = False

    def __init__(
        self, world: Spatial, key: PRNGKey, truth: Structure, count: int, target: str = "label"
    ):
        k_marks, k_noise = named(key, "marks", "noise")
        draw = lambda k: world.marked(k, truth.sets)
        self.labels, _, marks = jax.vmap(draw)(jr.split(k_marks, count))
        self.marks = marks.astype(self.labels.dtype)
        if target == "fstar":
            self.labels = jax.vmap(lambda m: labelling(m, truth.sets, world.sets))(marks)
        self.noise = world.deviation * jr.normal(k_noise, (count, world.tokens))
        self.feature = truth.feature

    def __call__(self, net: PositionalNet) -> Float[Array, ""]:
        """The share of images whose sign is missed; 0 and what is no number are misses."""
        along = net.value @ self.feature
        across = jnp.linalg.norm(net.value - along * self.feature)
        z = along * self.marks + across * self.noise
        outputs = jnp.sum(net.activation(z.shape[1] * z @ net.attention.T), axis=1)
        return jnp.mean(~(self.labels * outputs > 0), dtype=z.dtype)


def training_set(
    world: Spatial, key: PRNGKey, truth: Structure, examples: Number, capacity: int
) -> Sample:
    """The first `examples` images that a key names, in an array with room for `capacity`."""

    def row(index):
        item = example(world, key, truth, index)
        return item.tokens, item.label

    index = jnp.arange(capacity)
    # Equal blocks where there are some: a shorter last one would be compiled by itself.
    equal = max(size for size in range(1, min(capacity, BLOCK) + 1) if capacity % size == 0)
    tokens, labels = jax.lax.map(row, index, batch_size=equal if 8 * equal >= BLOCK else BLOCK)
    return Sample(tokens, labels, jnp.where(index < examples, 1.0 / examples, 0.0))
