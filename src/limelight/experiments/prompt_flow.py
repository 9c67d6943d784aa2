r"""Training linear attention on the exact population loss: gradient flow, or descent."""

from collections.abc import Callable
from typing import ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from limelight._core.errors import (
    InputError,
    check_between,
    check_least,
    check_positive,
    check_word,
)
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.models.linear_attention import (
    LinearAttention,
    MergedAttention,
    SeparateAttention,
)
from limelight.theory.ode import follow_descent, follow_flow
from limelight.theory.zhang2024.course import Watcher
from limelight.theory.zhang2024.dynamics import white_course
from limelight.theory.zhang2024.population import (
    PromptLoss,
    exponential_covariances,
    linear_spectrum,
    one_covariance,
    uneven_spectrum,
)
from limelight.worlds.prompts import Prompts

Spectrum = Literal["linear", "uneven", "exponential"]
Trainer = Literal["flow", "descent"]


@kind("experiment.prompt_flow")
class PromptFlow(Experiment):
    r"""$\theta' = -\frac12\nabla L$ for a layer of linear attention, to the bottom of the loss.

    Leaves, for $m = 1, …, d$, the time at which the loss is half-way from level $m - 1$ to level
    $m$ (`time`); for the inner levels whether they are plateaus (`seen`, `count` of them), how long
    the loss stays (`dwell`), how far from the level (`offset`) and from principal component
    regression (`cosine`); when half and all but 1/100 of the loss above the least is gone (`half`,
    `settled`); at the end `excess` over the loss of predicting 0, the distance from the best matrix
    (`distance`), the value against that of the theorem (`value`, one head), the drift of what the
    flow conserves (`drift`), and the distance from the closed form (`apart`, start `aligned`).

    Notation: `examples` is $N$, `spread` $g$, `rate` $\eta$; time is that of the flow, $\eta$ times
        the steps of a descent.

    Args:
        dimension: Length of a covariate.
        examples: Examples of a prompt; the query is not counted.
        spectrum: Eigenvalues: evenly spaced, (1.5, 1, .7, .4, .2), or drawn anew for every prompt.
        spread: Of evenly spaced eigenvalues.
        model: The layer; for the start `theorem` its scale is a share of the largest that the
            theorem admits.
        trainer: The flow, or descent.
        rate: Of descent.
        tolerance: Relative error of a step of the flow.
        stop: Where to end: this share of the last step of the loss above its end.
        last: The level to end at; 0 for the least loss.
        plateaus: Whether levels are read; what is read of them has the dimension's length, so that
            one table holds one dimension.
        looks: Times at which the loss is kept, evenly in their logarithm.
        span: The first and the last of them.
        steps: Steps at most; a run that needs more is not `finished`.

    Example:
        >>> PromptFlow().check()

    Reference: zhang2024, Theorem 4.1; Zhang et al. (2025), Sections 4 to 6.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = (
        "time",
        "dwell",
        "offset",
        "cosine",
        "half",
        "settled",
        "apart",
        "trace.loss",
    )

    dimension: int = eqx.field(static=True, default=4)
    examples: Number = 31
    spectrum: Spectrum = eqx.field(static=True, default="linear")
    spread: Number = 0.6
    model: LinearAttention = LinearAttention()
    trainer: Trainer = eqx.field(static=True, default="flow")
    rate: Number = 0.25
    tolerance: Number = 1e-6
    stop: Number = 1e-3
    last: int = eqx.field(static=True, default=0)
    plateaus: bool = eqx.field(static=True, default=True)
    looks: int = eqx.field(static=True, default=0)
    span: tuple[float, float] = eqx.field(static=True, default=(1.0, 1e6), converter=tuple)
    steps: int = eqx.field(static=True, default=200_000)

    @property
    def law(self) -> PromptLoss:
        """The exact loss."""
        if self.spectrum == "exponential":
            return exponential_covariances(self.dimension, self.examples)
        even = self.spectrum == "linear"
        found = linear_spectrum(self.dimension, self.spread) if even else None
        return one_covariance(
            jnp.asarray(uneven_spectrum(self.dimension) if found is None else found), self.examples
        )

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train, and read the course."""
        law = PromptLoss(*(jnp.asarray(part, float) for part in self.law))
        start = self.begin(key, law)
        first, rebuild = ravel_pytree(start)
        times = jnp.geomspace(*self.span, self.looks)
        watcher = Watcher(law, lambda y: rebuild(y).matrix, times, self._closed(law))

        def field(weights):
            matrix, back = jax.vjp(watcher.matrix, weights)
            return back(law.pull(matrix))[0]

        last = self.last or self.dimension
        going = lambda kept: watcher.above(kept, last, self.stop)
        path = (field, first, watcher, watcher.begin(first), going)
        if self.trainer == "flow":
            tolerances = {"rtol": self.tolerance, "atol": 1e-4 * self.tolerance}
            end, kept, steps = follow_flow(*path, most=self.steps, **tolerances)
        else:
            end, kept, steps = follow_descent(*path, most=self.steps, rate=self.rate)
        model, best, seen = rebuild(end.state), law.minimum, watcher.seen(kept)
        drift = conserved(model) - conserved(start)
        levels = {
            "time": kept.crossed[:-2],
            "seen": seen.astype(float),
            "dwell": kept.dwell,
            "offset": kept.offset,
            "cosine": kept.cosine,
        }
        return {
            **(levels if self.plateaus else {}),
            "count": jnp.sum(seen),
            "half": kept.crossed[-2],
            "settled": kept.crossed[-1],
            "excess": kept.excess / law.constant,
            "distance": jnp.linalg.norm(model.matrix - jnp.diag(best)) / jnp.linalg.norm(best),
            "value": jnp.abs(model.value[0]) / jnp.sum(best**2) ** 0.25,
            "drift": jnp.max(jnp.abs(drift)) / jnp.max(end.state**2),
            "apart": kept.apart / law.constant,
            "steps": steps,
            "reached": end.time,
            "finished": ~going(kept),
            **({"trace.loss": kept.looked.astype(jnp.float32)} if self.looks else {}),
        }

    def begin(self, key: PRNGKey, law: PromptLoss) -> MergedAttention | SeparateAttention:
        """The layer at its start."""
        recipe = self.model
        if recipe.start == "theorem":
            most = jnp.sqrt(2 * jnp.min(law.minimum) / self.dimension**0.5)  # 1 / |Gamma|
            recipe = eqx.tree_at(lambda r: r.scale, recipe, recipe.scale * most)
        (k_model,) = named(key, "model")
        return recipe.init(k_model, Prompts(self.dimension), None)  # pyright: ignore

    def _closed(self, law: PromptLoss) -> Callable[[Array], Array] | None:
        """The loss at a time, where the start is aligned and the spectrum white."""
        if self.model.start != "aligned" or self.spectrum != "linear":
            return None
        d = self.dimension
        size = lambda time: white_course(time, d, 1 / d, self.examples, self.model.scale)
        return lambda time: law.loss(size(time) * jnp.eye(d))

    @property
    def loop_length(self) -> int:
        """A step is tried at most so often; most runs end far earlier."""
        return self.steps

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.model.check(Prompts(self.dimension))
        check_least(self, ("dimension",), 2)
        check_least(self, ("examples", "steps"))
        check_least(self, ("looks",), 0)
        check_between(self, ("last",), 0, self.dimension)
        check_between(self, ("spread",), 0, 1)
        check_positive(self, ("rate", "tolerance", "stop"))
        check_word("spectrum", self.spectrum, get_args(Spectrum))
        check_word("trainer", self.trainer, get_args(Trainer))
        if not 0 < self.span[0] < self.span[1]:
            raise InputError(f"span = {self.span}", "two times, the first above 0")
        if self.model.form == "full":
            raise InputError("model.form = full has no exact loss", "merged or separate")


def conserved(model: MergedAttention | SeparateAttention) -> Array:
    r"""Conserved: $v_h^2 - |U_h|^2$, or $v_h^2 - |K_h|^2$ and $K_hK_h^\top - Q_hQ_h^\top$."""
    if isinstance(model, MergedAttention):
        return model.value**2 - jnp.sum(model.key_query**2, axis=(1, 2))
    gram = lambda rows: jnp.einsum("hri,hsi->hrs", rows, rows)
    balance = model.value**2 - jnp.sum(model.key**2, axis=(1, 2))
    return jnp.append(balance, (gram(model.key) - gram(model.query)).ravel())
