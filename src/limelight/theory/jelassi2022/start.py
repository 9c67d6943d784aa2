r"""What the value vector alone can do: the population loss under the attention of the start.

While attention does not distinguish sets ($\gamma = \rho = 0$), an image matters by two counts:
the marks that agree with the label, and those that do not. Their law is multinomial. So the loss is
a finite sum at any size, any odd power and any density, traced ones included.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from limelight._core.types import Number
from limelight.models.positional import Activation

#: Lengths of the value vector that are tried for the smallest loss, and how often this is refined.
POINTS, ROUNDS = 48, 4


def start_loss(
    alpha: Float[Array, ""],
    tokens: int,
    size: int,
    density: Number,
    activation: Activation,
    diagonal: Number = 1.0,
    temperature: Number = 1.0,
) -> Float[Array, ""]:
    r"""$E \log(1 + e^{-yF})$ with $v = \alpha w^*$ and the free entries of $A$ at 0.

    With $a$ marks of the label's sign and $b$ against it among the $D - C$ patches of random sets,
    $M = C + a - b$, $\Gamma = 1/(e^{\beta/\tau} + D - 1)$, $\Lambda = 1 - (D-1)\Gamma$:
    $F = (C+a)\,\sigma(O_+) + b\,\sigma(O_-) + (D-C-a-b)\,\sigma(O_0)$,
    $O_s = D\alpha[(\Lambda - \Gamma) s + \Gamma M]$.

    Example:
        >>> act = Activation(3, 0.01)
        >>> round(float(start_loss(jnp.array(0.0), 16, 4, 0.5, act)), 4)  # log 2
        0.6931
    """
    D, C = tokens, size
    free = jnp.arange(D - C + 1)
    a, b = jnp.meshgrid(free, free, indexing="ij")
    none = D - C - a - b
    weight = jnp.where(none >= 0, jnp.exp(_log_multinomial(a, b, none, density)), 0.0)
    Gamma = 1.0 / (jnp.exp(jnp.asarray(diagonal / temperature)) + D - 1)
    M = C + a - b
    output = lambda s: D * alpha * ((1.0 - D * Gamma) * s + Gamma * M)
    F = (C + a) * activation(output(1)) + b * activation(output(-1)) + none * activation(output(0))
    return jnp.sum(weight * jax.nn.softplus(-F)) / jnp.sum(weight)


def start_level(
    tokens: int,
    size: int,
    density: Number,
    activation: Activation,
    diagonal: Number = 1.0,
    temperature: Number = 1.0,
) -> Float[Array, ""]:
    r"""$L_0^* = \min_\alpha L(\alpha, A_0)$: the plateau that only learned attention leaves.

    Example:
        >>> round(float(start_level(16, 4, 0.5, Activation(3, 0.01))), 4)
        0.1416
    """
    loss = lambda t: start_loss(
        jnp.exp(t), tokens, size, density, activation, diagonal, temperature
    )

    def refine(_, found):
        low, high, best = found
        grid = jnp.linspace(low, high, POINTS)
        losses = jax.lax.map(loss, grid)
        at = jnp.argmin(losses)
        ends = grid[jnp.maximum(at - 1, 0)], grid[jnp.minimum(at + 1, POINTS - 1)]
        return *ends, jnp.minimum(best, losses[at])

    start = jnp.log(1e-4), jnp.log(10.0), jnp.array(jnp.inf)
    return jax.lax.fori_loop(0, ROUNDS, refine, start)[2]


def _log_multinomial(a, b, none, density: Number) -> Array:
    """The log probability of the counts: two signs of probability `density / 2` each."""
    ways = gammaln(a + b + none + 1.0) - gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(none + 1.0)
    q = jnp.asarray(density, float)
    # A density of 0 or 1 leaves only the counts that are possible.
    times = lambda count, log: jnp.where(count > 0, count * log, 0.0)
    return ways + times(a + b, jnp.log(q / 2)) + times(none, jnp.log1p(-q))
