r"""Attention among tokens themselves: on the sphere as flow and as layers, and rescaled in space.

On the sphere, with $P = \mathrm{softmax}(\beta\langle x_i, x_j\rangle)$ and $V = I$,

$$x_i' = \big(I - x_ix_i^\top\big)\sum_j P_{ij}x_j, \qquad
  x_i \leftarrow \mathrm{norm}\Big(x_i + \eta\sum_j P_{ij}x_j\Big).$$

In space $z_i = e^{-tV}x_i$ obeys $z_i' = \sum_j P_{ij}V(z_j - z_i)$ with the logits
$\langle e^{tV}z_i, Be^{tV}z_j\rangle$.

Reference: geshkovski2023; the sphere is that of its later papers.
"""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_positive, check_word
from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.models.base import Model, Recipe
from limelight.worlds.base import World
from limelight.worlds.sphere import TokenSet

Tokens = Float[Array, "tokens width"]
Weights = Float[Array, "tokens tokens"]
Normalise = Literal["softmax", "sum"]

#: Value matrices $V$ by name.
VALUES: dict[str, tuple[tuple[float, ...], ...]] = {
    "line": ((1.0,),),
    "plane": ((1.0, 0.0), (0.0, 1.0)),
    "space": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "unequal": ((1.0, 0.0), (0.0, 0.3)),
    "coupled": ((0.647, 0.819), (0.612, 0.633)),
    "mixed": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -0.5)),
}


class SphereMoves(Model):
    r"""How attention moves tokens on the sphere; nothing in it is trained.

    Args:
        strength: $\beta$.
        step: $\eta$ of a layer.
        skip: 1 with a skip connection, 0 without.
        normalise: Whether a row of weights is divided by its sum or by $n$.
        layers: How many a call applies.

    Example:
        >>> {"skip", "step", "strength"} <= set(SphereMoves.__dataclass_fields__)
        True
    """

    fixed = ("strength", "step", "skip")

    strength: Scalar
    step: Scalar
    skip: Scalar
    normalise: Normalise = eqx.field(static=True)
    layers: int = eqx.field(static=True)

    def prepare(self, example: TokenSet) -> Tokens:
        """The tokens."""
        return example.tokens

    def weights(self, x: Tokens) -> Weights:
        """$P$."""
        logits = self.strength * (x @ x.T)
        if self.normalise == "softmax":
            return jax.nn.softmax(logits, axis=-1)
        return jnp.exp(logits) / len(x)

    def velocity(self, x: Tokens) -> Tokens:
        """$x'$ of the flow."""
        pull = self.weights(x) @ x
        return pull - jnp.sum(pull * x, axis=-1, keepdims=True) * x

    def layer(self, x: Tokens) -> Tokens:
        """One layer, and the norm after it."""
        return unit(self.skip * x + self.step * (self.weights(x) @ x))

    def energy(self, x: Tokens) -> Scalar:
        r"""Mean of $e^{\beta(\langle x_i, x_j\rangle - 1)}$, which never falls along the flow."""
        return jnp.mean(jnp.exp(self.strength * (x @ x.T - 1)))

    def __call__(self, prepared: Tokens, key: PRNGKey | None = None) -> Tokens:
        """The tokens after all layers."""
        return jax.lax.fori_loop(0, self.layers, lambda _, x: self.layer(x), prepared)


@kind("model.sphere_attention")
class SphereAttention(Recipe):
    r"""The strength of attention on the sphere, and its layers.

    Args:
        strength: $\beta$.
        step: $\eta$ of a layer.
        skip: 1 with a skip connection, 0 without.
        normalise: `softmax`, or `sum`: weights $e^{\beta\langle x_i, x_j\rangle}/n$.
        layers: How many a call applies.

    Example:
        >>> SphereAttention(strength=4.0).strength
        4.0
    """

    strength: Number = 1.0
    step: Number = 1.0
    skip: Number = 1.0
    normalise: Normalise = eqx.field(static=True, default="softmax")
    layers: int = eqx.field(static=True, default=1)

    def init(self, key: PRNGKey, world: World, truth: None) -> SphereMoves:
        """The model; nothing is random about it."""
        strength, step, skip = (
            jnp.asarray(v, dtype=float) for v in (self.strength, self.step, self.skip)
        )
        return SphereMoves(strength, step, skip, self.normalise, self.layers)

    def check(self, world: World) -> None:
        """Refuse numbers out of range."""
        check_least(self, ("strength", "skip"), 0, "model.")
        check_positive(self, ("step",), "model.")
        check_least(self, ("layers",), prefix="model.")
        check_word("model.normalise", self.normalise, get_args(Normalise))


class RescaledMoves(Model):
    r"""How attention moves rescaled tokens, $z = e^{-tV}x$, for a diagonalisable $V$.

    Args:
        value: $V$.
        spectrum: Its eigenvalues, real.
        basis: Its eigenvectors, as columns.
        inverse: Their inverse.

    Example:
        >>> "spectrum" in RescaledMoves.__dataclass_fields__
        True
    """

    fixed = ("value", "spectrum", "basis", "inverse")

    value: Float[Array, "width width"]
    spectrum: Float[Array, " width"]
    basis: Float[Array, "width width"]
    inverse: Float[Array, "width width"]

    def prepare(self, example: TokenSet) -> Tokens:
        """The tokens."""
        return example.tokens

    def weights(self, time: Scalar, z: Tokens) -> Weights:
        """$P$ at a time, with $B = I$."""
        grown = (self.basis * jnp.exp(time * self.spectrum)[None, :]) @ self.inverse
        x = z @ grown.T
        return jax.nn.softmax(x @ x.T, axis=-1)

    def velocity(self, time: Scalar, z: Tokens) -> Tokens:
        """$z'$."""
        return (self.weights(time, z) @ z - z) @ self.value.T

    def __call__(self, prepared: Tokens, key: PRNGKey | None = None) -> Tokens:
        """$z'$ at time 0."""
        return self.velocity(jnp.zeros(()), prepared)


@kind("model.rescaled_attention")
class RescaledAttention(Recipe):
    r"""A value matrix by name; keys and queries are $B = I$.

    Args:
        value: One of `VALUES`: the identity of a `line`, `plane` or `space`; `unequal`,
            diag(1, .3); `coupled`, the one of the released code; `mixed`, diag(1, 1, -.5).

    Example:
        >>> RescaledAttention("unequal").matrix.tolist()
        [[1.0, 0.0], [0.0, 0.3]]
    """

    value: str = eqx.field(static=True, default="plane")

    @property
    def matrix(self) -> np.ndarray:
        """$V$."""
        return np.array(VALUES[self.value])

    def init(self, key: PRNGKey, world: World, truth: None) -> RescaledMoves:
        """The model; nothing is random about it."""
        spectrum, basis = (np.real(part) for part in np.linalg.eig(self.matrix))
        parts = (self.matrix, spectrum, basis, np.linalg.inv(basis))
        return RescaledMoves(*(jnp.asarray(part, dtype=float) for part in parts))

    def check(self, world: World) -> None:
        """Refuse unknown names and other dimensions."""
        check_word("model.value", self.value, tuple(VALUES))
        if (d := getattr(world, "dimension", None)) != len(self.matrix):
            raise InputError(
                f"model.value = {self.value} acts on {len(self.matrix)} dimensions, not {d}",
                "set world.dimension to it",
            )
