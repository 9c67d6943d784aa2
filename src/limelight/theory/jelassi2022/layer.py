r"""The one-layer network of jelassi2022 on its symmetric manifold.

Under gradient descent on the population, attention logits stay at three values: $\beta$ on the
diagonal (frozen), $\gamma$ inside a set, $\rho$ across sets; the value vector stays
$\alpha w^*$.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.types import Number
from limelight.models.positional import Activation


class LayerState(NamedTuple):
    r"""The three numbers that move: $\alpha, \gamma, \rho$.

    Example:
        >>> LayerState(alpha=0.1, gamma=0.0, rho=0.0).alpha
        0.1
    """

    alpha: Number
    gamma: Number
    rho: Number


class LayerWeights(NamedTuple):
    r"""Attention of a patch to itself, to one of its set, to one of another.

    Notation: $\Lambda, \Gamma, \Xi$.
    """

    own: Float[Array, ""]
    same: Float[Array, ""]
    other: Float[Array, ""]


class Layer(eqx.Module):
    r"""One layer of positional attention with a fixed read-out, $F = \sum_i \sigma(O_i)$.

    $$O_i = D \sum_j \mathrm{softmax}_j(A_{ij}/\tau) \langle v, X_j\rangle, \quad
      \sigma(x) = x^p + \nu x$$

    Departures: the paper divides logits by $\sqrt d$ in its network and not in its lemmas. Here the
        temperature $\tau$ is a field, 1 as in the lemmas. Gradient descent with
        $(\tau, \eta_A, \beta)$ is the same as with $(1, \eta_A/\tau^2, \beta/\tau)$ on $A/\tau$.

    Args:
        tokens: Patches, their $D$.
        size: Patches in a set, their $C$.
        diagonal: Frozen diagonal of the logits, their $\sigma_A$ (here $\beta$); 0 is a saddle that
            descent never leaves.
        temperature: Divides the logits.
        activation: $\sigma$; its `linear` is their $\nu$, its `power` their $p$.

    Example:
        >>> Layer(tokens=16, size=4, diagonal=2.0).size
        4

    Reference: jelassi2022, Simplification 3.1 and Lemmas 4.1 to 4.3.
    """

    tokens: int = eqx.field(static=True, default=36)
    size: int = eqx.field(static=True, default=4)
    diagonal: Number = 1.0
    temperature: Number = 1.0
    activation: Activation = eqx.field(default_factory=Activation)

    def weights(self, state: LayerState) -> LayerWeights:
        r"""$\Lambda, \Gamma, \Xi$; with their multiplicities they add up to 1."""
        C, D = self.size, self.tokens
        logits = jnp.stack([jnp.asarray(x, float) for x in (self.diagonal, *state[1:])])
        count = jnp.array([1.0, C - 1.0, D - C])
        share = jax.nn.softmax(logits / self.temperature + jnp.log(count)) / count
        return LayerWeights(share[0], share[1], share[2])

    def differences(self, state: LayerState) -> tuple[Array, Array, Array]:
        r"""$a = \Lambda - \Gamma$, $b = \Gamma - \Xi$, $e = \Xi$.

        $O_i = D\alpha (a \delta_i + b m + e M)$ for a patch with mark $\delta_i$ in a set of sum
        $m$, $M$ the sum of all marks.
        """
        own, same, other = self.weights(state)
        return own - same, same - other, other

    def gain(self, state: LayerState) -> Float[Array, ""]:
        r"""$G = D(\Lambda + (C-1)\Gamma)$: from about $C$ (uniform) to $D$ (all inside)."""
        own, same, _ = self.weights(state)
        return self.tokens * (own + (self.size - 1) * same)

    def start(self) -> LayerState:
        r"""The idealized start: $\alpha = \nu^{1/(p-1)}$, $\gamma = \rho = 0$."""
        alpha = jnp.asarray(self.activation.knee, float)
        return LayerState(alpha, jnp.zeros_like(alpha), jnp.zeros_like(alpha))
