r"""Attention from positions alone: one layer whose weights no input enters, model (T).

$$F(X) = \sum_{i=1}^D \sigma\Big(D \sum_{j=1}^D S_{ij} \langle v, X_j\rangle\Big), \quad
  S = \mathrm{softmax}(A/\tau), \quad \sigma(x) = x^p + \nu x$$
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_positive, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World

Square = Float[Array, "tokens tokens"]
STARTS = ("realistic", "idealized")


class Activation(eqx.Module):
    r"""$\sigma(x) = x^p + \nu x$, and its slope.

    Example:
        >>> act = Activation(3, 0.5)
        >>> float(act(2.0)), float(act.slope(2.0))
        (9.0, 12.5)
    """

    power: int = eqx.field(static=True, default=3)
    linear: Number = 0.01

    def __call__(self, x):
        """The activation, on numbers and arrays."""
        return x**self.power + self.linear * x

    def slope(self, x):
        """Its derivative."""
        return self.power * x ** (self.power - 1) + self.linear

    @property
    def knee(self) -> Number:
        r"""$\nu^{1/(p-1)}$, where both terms are of one size: the idealized start of $v$."""
        return self.linear ** (1.0 / (self.power - 1))


class PositionalNet(Model):
    r"""Model (T): logits $A$, a value vector $v$, and a sum over the outputs.

    Args:
        weights: $A$, [tokens, tokens]; with `gram` the encodings $P$, one per row, and
            $A = P P^\top$.
        value: $v$, [dimension].
        diagonal: What the diagonal of a free $A$ is frozen at, [].
        temperature: $\tau$, [].
        activation: $\sigma$.
        gram: Whether the logits are inner products of encodings.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Spatial(tokens=16, size=4, dimension=8)
        >>> make = lambda: ll.models.Positional().init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).value.shape
        (8,)
    """

    fixed = ("diagonal", "temperature", "activation")

    weights: Square
    value: Float[Array, " dimension"]
    diagonal: Float[Array, ""]
    temperature: Float[Array, ""]
    activation: Activation
    gram: bool = eqx.field(static=True, default=False)

    @property
    def logits(self) -> Square:
        """$A$, whatever its entries on a frozen diagonal were moved to."""
        if self.gram:
            return self.weights @ self.weights.T
        return jnp.where(jnp.eye(len(self.weights), dtype=bool), self.diagonal, self.weights)

    @property
    def attention(self) -> Square:
        """$S$, one row per query; it depends on no input."""
        return jax.nn.softmax(self.logits / self.temperature, axis=-1)

    def prepare(self, example: Any) -> Float[Array, "tokens dimension"]:
        """The patches."""
        return example.tokens

    def __call__(
        self, prepared: Float[Array, "tokens dimension"], key: PRNGKey | None = None
    ) -> Float[Array, ""]:
        """$F$ of one image."""
        return self.read(prepared @ self.value)

    def read(self, projections: Float[Array, " tokens"]) -> Float[Array, ""]:
        r"""$F$ from $\langle v, X_j \rangle$, one number per patch."""
        outputs = len(projections) * (self.attention @ projections)
        return jnp.sum(self.activation(outputs))


@kind("model.positional")
class Positional(Recipe):
    r"""How model (T) starts.

    `realistic`: $v$ and the free entries of $A$ are Gaussian and small. `idealized`:
    $v = \nu^{1/(p-1)} w^*$ and the free entries are 0.

    Notation: `power` is their $p$, `linear` their $\nu$, `diagonal` their $\sigma_A$, `logit_scale`
        and `value_scale` their $\omega$; $\tau$ is $\sqrt d$ in their model (T).
    Departures: the temperature is a field, 1 by default, as in the paper's lemmas; gradient descent
        on $A$ at $(\tau, \eta_A, \beta)$ moves $A/\tau$ as $(1, \eta_A/\tau^2, \beta/\tau)$ does.
        The paper gives no number for $\sigma_A$, $\nu$ and $\omega$. $A$ is free, neither symmetric
        nor an inner product, as in the paper's analysis; `gram` trains encodings instead, and
        freezes nothing.

    Args:
        power: Degree of the activation, odd.
        linear: Its linear part.
        temperature: Of the softmax.
        diagonal: What the diagonal of $A$ is frozen at.
        logit_scale: Standard deviation of the other entries (of the encodings, with `gram`).
        value_scale: Standard deviation of the entries of $v$.
        start: `realistic` or `idealized`.
        gram: Whether $A = P P^\top$ with trained encodings.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Spatial(tokens=16, size=4, dimension=8)
        >>> make = lambda: ll.models.Positional().init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).weights.shape
        (16, 16)

    Reference: jelassi2022, Simplification 3.1 and Parametrization 3.1.
    """

    power: int = eqx.field(static=True, default=3)
    linear: Number = 0.01
    temperature: Number = 1.0
    diagonal: Number = 1.0
    logit_scale: Number = 1e-3
    value_scale: Number = 1e-3
    start: Literal["realistic", "idealized"] = eqx.field(static=True, default="realistic")
    gram: bool = eqx.field(static=True, default=False)

    @property
    def activation(self) -> Activation:
        """What acts on the outputs of attention."""
        return Activation(self.power, self.linear)

    def init(self, key: PRNGKey, world: Any, truth: Any) -> PositionalNet:
        """Weights at the start."""
        k_logits, k_value = named(key, "logits", "value")
        weights = self.logit_scale * jr.normal(k_logits, (world.tokens, world.tokens))
        value = self.value_scale * jr.normal(k_value, (world.dimension,))
        if self.start == "idealized":
            weights, value = 0.0 * weights, self.activation.knee * truth.feature
        number = lambda value: jnp.asarray(value, weights.dtype)
        # As an array, so that a save and a load find it.
        activation = Activation(self.power, number(self.linear))
        fixed = number(self.diagonal), number(self.temperature), activation
        return PositionalNet(weights, value, *fixed, self.gram)

    def check(self, world: World) -> None:
        """Refuse even powers, negative scales, and starts that lead nowhere."""
        check_word("model.start", self.start, STARTS)
        if self.power < 3 or self.power % 2 == 0:
            raise InputError(f"model.power = {self.power}", "odd, 3 or more")
        check_least(self, ("linear", "logit_scale", "value_scale"), 0, "model.")
        check_positive(self, ("temperature",), "model.")
        if self.start != "idealized":
            return
        if self.gram:
            raise InputError("the idealized start is one of a free A", "set model.gram=false")
        if not self.diagonal > 0:
            raise InputError(
                f"model.diagonal = {self.diagonal:g}: uniform attention is a saddle, A never moves",
                "a positive number",
            )
