r"""Gaussian patches labelled by a convolution: where no association needs to be learned.

The negative example of jelassi2022: a one-hidden-layer convolutional network with one filter and
a cubic activation labels Gaussian images. It is spatially structured, and yet a network may
predict it well without learning the sets.
"""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from limelight._core.errors import check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.shown import Shown, patches_in_sets
from limelight._core.types import Example, PRNGKey, Role
from limelight.worlds._partitions import members, partition
from limelight.worlds.base import World
from limelight.worlds.laws import check_partition
from limelight.worlds.spatial import unit_vector

KERNELS = ("tied", "untied")


class Filter(eqx.Module):
    """What one trial keeps fixed.

    Args:
        sets: The set of each patch.
        kernel: One vector for each place in a set, together of unit length.
    """

    sets: Int[Array, " tokens"]
    kernel: Float[Array, "size dimension"]


@kind("world.gaussian_patches")
class GaussianPatches(World[Filter, Example]):
    r"""Standard Gaussian patches, labelled by one filter.

    $$y = \mathrm{sign} \sum_\ell \Big(\sum_{k<C} \langle w_k, X_{S_\ell[k]}\rangle\Big)^3$$

    With a `tied` kernel, $w_k = w/\sqrt C$, attention by positions alone can represent the label
    exactly; with an `untied` one it cannot.

    Notation: `tokens` is their $D$, `size` their $C$, `dimension` their $d$.
    Departures: the filter's size, stride and law are not stated in the paper; the stride is the
        block and the kernel has unit length.

    Args:
        tokens: Patches in an image.
        size: Patches that the filter covers.
        dimension: Length of a patch.
        kernel: `tied` or `untied`.
        partition: How patches are grouped under the filter.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.GaussianPatches(tokens=8, size=2, dimension=4)
        >>> make = lambda: world.sample(jr.key(1), world.draw(jr.key(0)), jax.numpy.array(0))
        >>> jax.eval_shape(make).tokens.shape
        (8, 4)

    Reference: jelassi2022, Section 2 and Figure 2.
    """

    tokens: int = eqx.field(static=True, default=16)
    size: int = eqx.field(static=True, default=4)
    dimension: int = eqx.field(static=True, default=8)
    kernel: str = eqx.field(static=True, default="tied")
    partition: str = eqx.field(static=True, default="grid")

    @property
    def sets(self) -> int:
        """How many places the filter visits."""
        return self.tokens // self.size

    def draw(self, key: PRNGKey) -> Filter:
        """A partition and a kernel."""
        k_sets, k_kernel = named(key, "sets", "kernel")
        sets = partition(k_sets, self.partition, self.tokens, self.size)
        if self.kernel == "tied":
            rows = jnp.tile(unit_vector(k_kernel, self.dimension), (self.size, 1))
            return Filter(sets, rows / self.size**0.5)
        flat = unit_vector(k_kernel, self.size * self.dimension)
        return Filter(sets, flat.reshape(self.size, self.dimension))

    def sample(self, key: PRNGKey, truth: Filter, index: Int[Array, ""]) -> Example:
        """One image; every patch is relevant to its label."""
        tokens = jr.normal(key, (self.tokens, self.dimension))
        label = jnp.where(convolution(tokens, truth) > 0, 1.0, -1.0)
        return Example(tokens, label, roles=jnp.full(self.tokens, Role.RELEVANT))

    def tell(self, truth: Filter, item: Example) -> Shown:
        """The patches and the set of each."""
        return patches_in_sets(np.asarray(item.tokens), np.asarray(truth.sets), item.label)

    def check(self) -> None:
        """Refuse sets that do not divide and unknown kernels."""
        check_partition(self.partition, self.tokens, self.size)
        check_word("world.kernel", self.kernel, KERNELS)
        check_least(self, ("dimension",), prefix="world.")


def convolution(tokens: Float[Array, "tokens dimension"], truth: Filter) -> Float[Array, ""]:
    r"""$\sum_\ell u_\ell^3$ with $u_\ell$ the response of the filter to set $\ell$."""
    places = members(truth.sets, truth.kernel.shape[0])
    responses = jnp.einsum("lkd,kd->l", tokens[places], truth.kernel)
    return jnp.sum(responses**3)
