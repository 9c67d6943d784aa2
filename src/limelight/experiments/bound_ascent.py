r"""How tight is the bound of rank collapse? One layer, ascended towards it."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array

from limelight._core.errors import check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.experiments.base import Experiment
from limelight.theory.geshkovski2023.residuals import collapse_bound, log_residual, weight_size
from limelight.worlds.sphere import Rows

Weights = tuple[Array, Array, Array]


@kind("experiment.bound_ascent")
class BoundAscent(Experiment):
    r"""Adam on tokens, $W_{QK}$ and $W_V$ of one head, for the largest residual over its bound.

    Leaves the ratio at the start (`random`) and the largest one on the way (`ratio`); a ratio above
    1 would contradict the bound.

    Args:
        world: Tokens at the start, and their number and width.
        steps: Of the ascent.
        rate: Of Adam.

    Example:
        >>> BoundAscent(steps=10).check()

    Reference: Dong, Cordonnier and Loukas (2021), Theorem 2.2 as recalled.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = ()

    world: Rows = Rows()
    steps: int = eqx.field(static=True, default=3000)
    rate: Number = 0.01

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw, then ascend."""
        k_tokens, k_score, k_value = named(key, "tokens", "score", "value")
        d = self.world.dimension
        square = lambda k: jr.normal(k, (d, d)) * d**-0.5
        x = self.world.sample(k_tokens, None, jnp.array(0)).tokens
        begun = (x, square(k_score), square(k_value))
        ascent = optax.adam(self.rate)

        def step(carry, _):
            weights, state, best = carry
            value, slope = jax.value_and_grad(log_ratio)(weights)
            moves, state = ascent.update(jax.tree.map(jnp.negative, slope), state, weights)
            return (optax.apply_updates(weights, moves), state, jnp.maximum(best, value)), None

        first = log_ratio(begun)
        carry = (begun, ascent.init(begun), first)
        (_, _, best), _ = jax.lax.scan(step, carry, None, length=self.steps)
        return {"random": jnp.exp(first), "ratio": jnp.exp(best)}

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_least(self, ("steps",))
        check_positive(self, ("rate",))


def log_ratio(weights: Weights) -> Scalar:
    """The residual after one layer over its bound, as a logarithm."""
    x, query_key, value = weights
    scale = x.shape[1] ** -0.5
    after = jax.nn.softmax(x @ query_key @ x.T * scale, axis=-1) @ x @ value
    size = weight_size(query_key, value)
    bound = collapse_bound(log_residual(x), size, x.shape[1])
    return log_residual(after) - bound
