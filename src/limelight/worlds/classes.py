r"""Four classes: two label bits, four discriminative patterns (li2023, appendix G.1)."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import count
from limelight._core.types import Example, Number, PRNGKey, Role
from limelight.worlds.base import World
from limelight.worlds.patterns import PatternTruth, in_order, noisy

CLASSES = 4


@kind("world.four_classes")
class FourClasses(World[PatternTruth, Example]):
    r"""Tokens near orthonormal patterns, labelled with two bits by plurality vote.

    Patterns $\mu_1..\mu_4$ stand for the classes $(1,1), (1,-1), (-1,1), (-1,-1)$. An example has
    $n_*$ tokens of its class's pattern, $n_\#$ spread as evenly as possible over the other three
    (lowest first), the rest over patterns $5..M$.

    Notation: as in `Patterns`; the label is their $y \in \{+1, -1\}^2$.
    Departures: the paper gives no generator for this case; counts and vote are ours.

    Args:
        tokens: Tokens in an example.
        relevant: Fraction of tokens that carry the label.
        confusing: Fraction that carries the other three labels, together.
        patterns: Number of patterns, the four discriminative ones included.
        dimension: Length of a token.
        noise: Standard deviation of the Gaussian token noise per coordinate; `None` for none.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.FourClasses(tokens=20)
        >>> make = lambda: world.sample(jr.key(1), world.draw(jr.key(0)), 0)
        >>> jax.eval_shape(make).label.shape  # two bits
        (2,)

    Reference: li2023, appendix G.1.
    """

    tokens: int = eqx.field(static=True, default=50)
    relevant: Number = 0.5
    confusing: Number = 0.12
    patterns: int = eqx.field(static=True, default=6)
    dimension: int = eqx.field(static=True, default=10)
    noise: Number | None = None

    def draw(self, key: PRNGKey) -> PatternTruth:
        """The patterns: the first axes."""
        return PatternTruth(jnp.eye(self.patterns, self.dimension))

    def counts(self, kind: Int[Array, ""]) -> Int[Array, " patterns"]:
        """Tokens of each pattern in an example of class `kind`."""
        relevant, confusing = count(self.relevant, self.tokens), count(self.confusing, self.tokens)
        place = jnp.arange(CLASSES)
        rank = place - (place > kind)  # order among the other three
        each, more = jnp.divmod(confusing, CLASSES - 1)
        votes = jnp.where(place == kind, relevant, each + (rank < more))
        others = self.patterns - CLASSES
        each, more = jnp.divmod(self.tokens - relevant - confusing, others)
        return jnp.concatenate([votes, each + (jnp.arange(others) < more)])

    def sample(self, key: PRNGKey, truth: PatternTruth, index: Int[Array, ""]) -> Example:
        """One example; classes take turns, so that every prefix is balanced."""
        k_place, k_noise = named(key, "place", "noise")
        kind = index % CLASSES
        pattern = jr.permutation(k_place, in_order(self.counts(kind), self.tokens))
        tokens, distance = noisy(k_noise, truth.patterns[pattern], self.noise)
        roles = jnp.where(pattern < CLASSES, Role.CONFUSING, Role.IDLE)
        roles = jnp.where(pattern == kind, Role.RELEVANT, roles)
        return Example(tokens, bits(kind), roles=roles, distance=distance)

    def check(self) -> None:
        """Refuse lost votes, impossible counts and shapes."""
        relevant, confusing = (
            int(count(fraction, self.tokens)) for fraction in (self.relevant, self.confusing)
        )
        if not CLASSES < self.patterns <= self.dimension:
            raise InputError(
                f"patterns = {self.patterns} does not fit dimension = {self.dimension}",
                "at least 5 patterns, and at most one per dimension",
            )
        if confusing < 0 or relevant + confusing > self.tokens:
            raise InputError(f"{relevant} and {confusing} tokens do not fit {self.tokens}")
        if relevant <= -(-confusing // (CLASSES - 1)):
            raise InputError(
                f"{relevant} relevant against {confusing} confusing tokens: the vote is tied or"
                " lost"
            )


def bits(kind: Int[Array, ""]) -> Float[Array, "2"]:
    """The two label bits of a class."""
    return jnp.stack([jnp.where(kind < 2, 1.0, -1.0), jnp.where(kind % 2 == 0, 1.0, -1.0)])
