r"""Pattern sets: each pattern becomes a small cluster of patterns (li2023, appendix G.2)."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Example, Number, PRNGKey
from limelight.worlds.base import World
from limelight.worlds.patterns import Patterns, PatternTruth, noisy, roles


@kind("world.pattern_sets")
class PatternSets(World[PatternTruth, Example]):
    r"""`Patterns`, each of which is a set of a few that lie close together.

    Pattern $j$ is the set of $\mu_{j,b} = (\mu_j + r\,e_{j,b})/\sqrt{1+r^2}$.

    All $e_{j,b}$ are orthonormal and orthogonal to all $\mu$, so patterns of different sets stay
    orthogonal ($\kappa = \sqrt 2$) and the largest distance inside a set is
    $\Delta = r\sqrt 2/\sqrt{1+r^2}$. A token picks its member independently.

    Notation: `members` is their $l_j$; the other names are those of `Patterns`.
    Departures: the generator is ours; the paper asks only for $2\tau + \Delta < \kappa$.

    Args:
        base: Counts, labels, positions and noise of the tokens; `dimension` must be at least
            patterns times (1 + members).
        members: Patterns in a set.
        radius: $r$.
        first: Share of tokens that pick the first member; all members alike when `None`.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.PatternSets(ll.worlds.Patterns(tokens=20, dimension=20), members=2)
        >>> world.tokens, world.members
        (20, 2)

    Reference: li2023, appendix G.2.
    """

    base: Patterns = Patterns(tokens=50, dimension=20)
    members: int = eqx.field(static=True, default=2)
    radius: Number = 0.5
    first: Number | None = None

    @property
    def tokens(self) -> int:
        """Tokens in an example."""
        return self.base.tokens

    @property
    def dimension(self) -> int:
        """Length of a token."""
        return self.base.dimension

    @property
    def noise(self) -> Number | None:
        """Token noise."""
        return self.base.noise

    @property
    def patterns(self) -> int:
        """Patterns in all sets together."""
        return self.base.patterns * self.members

    def draw(self, key: PRNGKey) -> PatternTruth:
        """Every member of every set, a row each, and the dual rows."""
        M, l, r = self.base.patterns, self.members, jnp.asarray(self.radius)
        centre = jnp.repeat(jnp.eye(M, self.dimension), l, axis=0)
        away = jnp.eye(self.dimension)[M : M + M * l]
        within = jnp.repeat(jnp.sum(away.reshape(M, l, -1), axis=1), l, axis=0)
        length = jnp.sqrt(1.0 + r**2)
        patterns = (centre + r * away) / length
        # In closed form, the rows whose products with the patterns are 1 and 0.
        duals = length * (centre / (l + r**2) + away / r - within / (r * (l + r**2)))
        return PatternTruth(patterns, duals)

    def sample(self, key: PRNGKey, truth: PatternTruth, index: Int[Array, ""]) -> Example:
        """One example of the base world, each token moved to a member of its set."""
        k_member, k_label, k_place, k_noise = named(key, "member", "label", "place", "noise")
        label = self.base._label(k_label, index)
        pattern = self.base._arrange(k_place, label)
        row = pattern * self.members + jr.choice(
            k_member, self.members, (self.tokens,), p=self._shares()
        )
        tokens, distance = noisy(k_noise, truth.patterns[row], self.noise)
        return Example(tokens, label, roles=roles(pattern, label), distance=distance)

    def check(self) -> None:
        """Refuse what the base refuses, and sets that do not fit."""
        self.base.check()
        if self.members < 1 or self.base.patterns * (1 + self.members) > self.dimension:
            raise InputError(
                f"{self.base.patterns} sets of {self.members} patterns do not fit dimension"
                f" {self.dimension}",
                "dimension must be at least patterns x (1 + members)",
            )
        check_positive(self, ("radius",), "world.")
        if self.base.noisy_share is not None:
            raise InputError("pattern sets have one noise level", "leave base.noisy_share unset")

    def _shares(self) -> Float[Array, " members"]:
        even = jnp.full(self.members, 1.0 / self.members)
        if self.first is None or self.members == 1:
            return even
        rest = (1.0 - self.first) / (self.members - 1)
        return jnp.where(jnp.arange(self.members) == 0, self.first, rest)
