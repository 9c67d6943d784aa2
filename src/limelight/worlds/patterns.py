r"""Label-relevant, confusing and idle tokens: the data model of li2023.

Every token is a noisy copy of one of $M$ orthonormal patterns. Patterns 1 and 2 vote on the label;
the rest say nothing. Both may occur in one example: the majority is *relevant*, the minority
*confusing*.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_between, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import count, unit
from limelight._core.types import Example, Number, PRNGKey, Role
from limelight.worlds.base import World


class PatternTruth(eqx.Module):
    """What one trial keeps fixed.

    Args:
        patterns: One per row.
        duals: Rows whose products with the patterns are 1 and 0; `None` for orthonormal patterns,
            which are their own.
    """

    patterns: Float[Array, "patterns dimension"]
    duals: Float[Array, "patterns dimension"] | None = None


@kind("world.patterns")
class Patterns(World[PatternTruth, Example]):
    r"""Tokens near orthonormal patterns, labelled by majority vote.

    Counts are the same in every example: $n_* = \mathrm{round}(\alpha_* L)$ relevant and
    $n_\# = \mathrm{round}(\alpha_\# L)$ confusing tokens, the rest spread as evenly as possible
    over patterns $3..M$, the first ones taking the remainder.

    Notation: `relevant` is their $\alpha_*$, `confusing` their $\alpha_\#$, `tokens` their $L$ (or
        $|S|$), `patterns` their $M$, `dimension` their $d$, `noise` their $c_0$.
    Departures: the patterns are the first $M$ axes. A rotation of tokens and maps commutes with
        training, so this is the law of a random orthonormal set at no cost (and without QR).
        Gaussian noise is unbounded, so their $\tau$ is a statistic (of `Example.distance`), not a
        parameter. Labels alternate (`balanced`), so that every prefix of a data set is balanced.

    Args:
        tokens: Tokens in an example.
        relevant: Fraction of tokens that carry the label.
        confusing: Fraction that carries the opposite label.
        patterns: Number of patterns, the two discriminative ones included.
        dimension: Length of a token.
        noise: Standard deviation of the Gaussian token noise per coordinate; `None` for none at
            all, which costs no random numbers.
        noisy_share: Share of tokens that use `loud_noise` instead; `None` for none.
        loud_noise: Noise of that share.
        normalise: Whether tokens are scaled to unit length after noise.
        positions: `permuted` afresh in each example, or `fixed` roles at fixed places.
        labels: `balanced` (+1, -1, +1, ...) or a fair `coin`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Patterns(tokens=20, relevant=0.4, confusing=0.1)
        >>> make = lambda: world.sample(jr.key(1), world.draw(jr.key(0)), jax.numpy.array(0))
        >>> jax.eval_shape(make).tokens.shape
        (20, 10)

    Reference: li2023, Section 2 and Section 4.1.
    """

    tokens: int = eqx.field(static=True, default=100)
    relevant: Number = 0.4
    confusing: Number = 0.1
    patterns: int = eqx.field(static=True, default=5)
    dimension: int = eqx.field(static=True, default=10)
    noise: Number | None = None
    noisy_share: Number | None = None
    loud_noise: Number = 0.5
    normalise: bool = eqx.field(static=True, default=True)
    positions: str = eqx.field(static=True, default="permuted")
    labels: str = eqx.field(static=True, default="balanced")

    def draw(self, key: PRNGKey) -> PatternTruth:
        """The patterns: the first axes (see Departures)."""
        return PatternTruth(jnp.eye(self.patterns, self.dimension))

    def counts(self, label: Float[Array, ""]) -> Int[Array, " patterns"]:
        """Tokens of each pattern in an example of this label."""
        relevant, confusing = count(self.relevant, self.tokens), count(self.confusing, self.tokens)
        others = self.patterns - 2
        each, more = jnp.divmod(self.tokens - relevant - confusing, others)
        idle = each + (jnp.arange(others) < more)
        pair = jnp.where(
            label > 0, jnp.stack([relevant, confusing]), jnp.stack([confusing, relevant])
        )
        return jnp.concatenate([pair, idle.astype(pair.dtype)])

    def sample(self, key: PRNGKey, truth: PatternTruth, index: Int[Array, ""]) -> Example:
        """One example; see the class."""
        k_label, k_place, k_noise, k_loud = named(key, "label", "place", "noise", "loud")
        label = self._label(k_label, index)
        pattern = self._arrange(k_place, label)
        scale = None if self.noise is None else self._scale(k_loud)[:, None]
        tokens, distance = noisy(k_noise, truth.patterns[pattern], scale, self.normalise)
        return Example(tokens, label, roles=roles(pattern, label), distance=distance)

    def fractions(self) -> tuple[float, float]:
        """The realised fractions of relevant and confusing tokens, after rounding to counts."""
        relevant, confusing = count(self.relevant, self.tokens), count(self.confusing, self.tokens)
        return float(relevant) / self.tokens, float(confusing) / self.tokens

    def check(self) -> None:
        """Refuse ties, impossible counts and shapes."""
        relevant, confusing = (
            int(count(self.relevant, self.tokens)),
            int(count(self.confusing, self.tokens)),
        )
        check_word("world.positions", self.positions, ("permuted", "fixed"))
        check_word("world.labels", self.labels, ("balanced", "coin"))
        if not 3 <= self.patterns <= self.dimension:
            raise InputError(
                f"patterns = {self.patterns} does not fit dimension = {self.dimension}",
                "at least 3 patterns, and at most one per dimension",
            )
        if confusing < 0:
            raise InputError(
                f"confusing = {self.confusing:g} is negative", "a fraction of the tokens"
            )
        if relevant <= confusing:
            raise InputError(
                f"{relevant} relevant against {confusing} confusing of {self.tokens} tokens:"
                " the majority vote is tied or lost",
                "make world.relevant larger than world.confusing by at least one token",
            )
        if relevant + confusing > self.tokens:
            raise InputError(
                f"{relevant} relevant and {confusing} confusing tokens do not fit {self.tokens}",
                "world.relevant + world.confusing must be at most 1",
            )
        check_least(self, ("noise",), 0, "world.")
        check_between(self, ("noisy_share",), 0, 1, "world.")
        if self.noisy_share is not None and self.noise is None:
            raise InputError("noisy_share needs noise", "set world.noise as well, 0 is allowed")

    def _label(self, key: PRNGKey, index: Int[Array, ""]) -> Float[Array, ""]:
        if self.labels == "coin":
            return jr.rademacher(key, (), dtype=jnp.float32).astype(float)
        return jnp.where(index % 2 == 0, 1.0, -1.0)

    def _arrange(self, key: PRNGKey, label: Float[Array, ""]) -> Int[Array, " tokens"]:
        # Roles laid out in order (relevant, confusing, idle), whatever the label: fixed positions
        # then carry the same role in every example.
        counts = self.counts(jnp.array(1.0))
        layout = in_order(counts, self.tokens)
        if self.positions == "permuted":
            layout = jr.permutation(key, layout)
        swapped = jnp.where(layout < 2, 1 - layout, layout)
        return jnp.where(label > 0, layout, swapped)

    def _scale(self, key: PRNGKey) -> Float[Array, " tokens"]:
        if self.noisy_share is None:
            return jnp.broadcast_to(jnp.asarray(self.noise), (self.tokens,))
        loud = jr.bernoulli(key, self.noisy_share, (self.tokens,))
        return jnp.where(loud, self.loud_noise, jnp.asarray(self.noise))


def in_order(counts: Int[Array, " patterns"], tokens: int) -> Int[Array, " tokens"]:
    """As many of each pattern as its count says, the first patterns first."""
    return jnp.searchsorted(jnp.cumsum(counts), jnp.arange(tokens), side="right")


def noisy(
    key: PRNGKey, clean: Float[Array, "tokens dimension"], scale: Any, normalise: bool = True
) -> tuple[Float[Array, "tokens dimension"], Float[Array, " tokens"]]:
    """Tokens with Gaussian noise, of unit length again if asked for; and how far each was moved."""
    tokens = clean
    if scale is not None:
        tokens = tokens + scale * jr.normal(key, tokens.shape)
        tokens = unit(tokens) if normalise else tokens
    return tokens, jnp.linalg.norm(tokens - clean, axis=-1)


def roles(pattern: Int[Array, " tokens"], label: Float[Array, ""]) -> Int[Array, " tokens"]:
    """The role of each token, from the generator's own pattern index (never the nearest one)."""
    relevant = jnp.where(label > 0, 0, 1)
    discriminative = jnp.where(pattern == relevant, Role.RELEVANT, Role.CONFUSING)
    return jnp.where(pattern < 2, discriminative, Role.IDLE)
