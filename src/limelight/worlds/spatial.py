r"""Patches in hidden sets, one set of which carries the label: the data model of jelassi2022.

The patches of one set, drawn afresh in every example, all carry the label times a feature; every
other patch carries a feature of random sign with probability $q$. Who belongs with whom is not to
be seen in any one example.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from limelight._core.errors import check_between, check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.shown import Shown, patches_in_sets
from limelight._core.types import Example, Number, PRNGKey, Role
from limelight.worlds._partitions import partition
from limelight.worlds.base import World
from limelight.worlds.laws import check_partition


class Structure(eqx.Module):
    """What one trial keeps fixed.

    Args:
        sets: The set of each patch.
        feature: The direction that carries the label, of unit length.
    """

    sets: Int[Array, " tokens"]
    feature: Float[Array, " dimension"]


@kind("world.spatial")
class Spatial(World[Structure, Example]):
    r"""Patches in hidden sets, one of which carries the label as its marks.

    $$y \sim U\{\pm1\}, \quad \ell^* \sim U[L], \quad X_j = \delta_j w^* + \xi_j, \quad
      \xi_j \sim N(0, \sigma^2 (I_d - w^* w^{*\top}))$$

    with $\delta_j = y$ in the signal set $S_{\ell^*}$, and elsewhere $\pm 1$ with probability
    $q/2$ each and 0 otherwise.

    Notation: `tokens` is their $D$, `size` their $C$, `density` their $q$, `dimension` their $d$,
        `variance` their $\sigma^2$; `truth.sets` their $S_\ell$, `truth.feature` their $w^*$.
    Departures: the law of $y$ is not stated in the paper; it is uniform here. Their noise
        covariance is written with $I_D$ for $I_d$.

    Args:
        tokens: Patches in an image.
        size: Patches in a set.
        dimension: Length of a patch.
        density: Probability that a patch outside the signal set carries a feature.
        variance: Variance of the noise per coordinate; $1/d$ when `None`.
        partition: `grid` (square blocks), `random` (afresh in each trial) or `strided`.

    Example:
        >>> import limelight as ll
        >>> ll.worlds.Spatial(tokens=16, size=4, dimension=8).sets  # hidden sets of four patches
        4

    Reference: jelassi2022, Definition 2.1 and Assumptions 1 and 2.
    """

    tokens: int = eqx.field(static=True, default=36)
    size: int = eqx.field(static=True, default=4)
    dimension: int = eqx.field(static=True, default=36)
    density: Number = 0.35
    variance: Number | None = None
    partition: str = eqx.field(static=True, default="random")

    @property
    def sets(self) -> int:
        """How many sets there are, their $L$."""
        return self.tokens // self.size

    def draw(self, key: PRNGKey) -> Structure:
        """A partition and a feature."""
        k_sets, k_feature = named(key, "sets", "feature")
        sets = partition(k_sets, self.partition, self.tokens, self.size)
        return Structure(sets, unit_vector(k_feature, self.dimension))

    def transfer(self, key: PRNGKey, truth: Structure) -> Structure:
        """The downstream task: the same sets, another feature."""
        return Structure(truth.sets, unit_vector(key, self.dimension))

    def sample(self, key: PRNGKey, truth: Structure, index: Int[Array, ""]) -> Example:
        """One image; see the class."""
        k_marks, k_noise = named(key, "marks", "noise")
        label, _, marks = self.marked(k_marks, truth.sets)
        noise = jr.normal(k_noise, (self.tokens, self.dimension))
        noise = noise - jnp.outer(noise @ truth.feature, truth.feature)
        tokens = jnp.outer(marks, truth.feature) + self.deviation * noise
        return Example(tokens, label, roles=roles(marks, label))

    def marked(
        self, key: PRNGKey, sets: Int[Array, " tokens"]
    ) -> tuple[Float[Array, ""], Int[Array, ""], Int[Array, " tokens"]]:
        """The label, the signal set and the marks of one image."""
        k_label, k_signal, k_random = named(key, "label", "signal", "random")
        label = jr.rademacher(k_label, (), dtype=int)
        signal = jr.randint(k_signal, (), 0, self.sets)
        random = random_marks(k_random, self.density, (self.tokens,))
        return label.astype(float), signal, jnp.where(sets == signal, label, random)

    def tell(self, truth: Structure, item: Example) -> Shown:
        """The patches, the set of each, and the mark it carries."""
        marks = np.rint(np.asarray(item.tokens) @ np.asarray(truth.feature)).astype(int)
        return patches_in_sets(np.asarray(item.tokens), np.asarray(truth.sets), item.label, marks)

    @property
    def deviation(self) -> Number:
        r"""The standard deviation $\sigma$ of the noise per coordinate."""
        return (1.0 / self.dimension if self.variance is None else self.variance) ** 0.5

    def check(self) -> None:
        """Refuse sets that do not divide, and what is no probability or variance."""
        check_partition(self.partition, self.tokens, self.size)
        check_least(self, ("dimension",), prefix="world.")
        check_between(self, ("density",), 0, 1, "world.")
        check_least(self, ("variance",), 0, "world.")


def random_marks(key: PRNGKey, density: Number, shape: tuple[int, ...]) -> Int[Array, "..."]:
    """Independent marks: +1 and -1 with half the density each, 0 otherwise."""
    chance = jr.uniform(key, shape)
    return (chance < density / 2).astype(int) - (chance > 1 - density / 2).astype(int)


def unit_vector(key: PRNGKey, dimension: int) -> Float[Array, " dimension"]:
    """A uniformly random direction."""
    return unit(jr.normal(key, (dimension,)))


def roles(marks: Int[Array, " tokens"], label: Float[Array, ""]) -> Int[Array, " tokens"]:
    """What each mark says of the label."""
    against = jnp.where(marks == label, Role.RELEVANT, Role.CONFUSING)
    return jnp.where(marks == 0, Role.IDLE, against)


def labelling(
    marks: Int[Array, " tokens"], sets: Int[Array, " tokens"], count: int
) -> Int[Array, ""]:
    r"""The labelling function, from the marks $\delta_i = \langle w^*, X_i\rangle$.

    $$f^*(X) = \sum_\ell \mathrm{Thr}_{0.9C}\Big(\sum_{i \in S_\ell} \delta_i\Big), \quad
      \mathrm{Thr}_c(z) = z \, 1[|z| > c]$$

    tested in integers: $0.9\,C$ is no binary fraction.

    Reference: jelassi2022, Assumption 1.
    """
    size = marks.shape[0] // count
    sums = jax.ops.segment_sum(marks, sets, count)
    return jnp.sum(jnp.where(10 * jnp.abs(sums) > 9 * size, sums, 0))
