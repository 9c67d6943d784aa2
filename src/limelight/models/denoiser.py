r"""Small networks that denoise a grid of patches: local filters, CNNs, one attention layer.

Each is a pytree of weights and a function of one image, tokens in row order.
"""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.keys import named
from limelight._core.types import PRNGKey
from limelight.models.cnn import windows
from limelight.models.smoother import normalised

Network = Literal["linear5", "cnn2", "cnn4", "cnn8", "att", "att-mask", "cos", "cos-mask"]
NETWORKS = get_args(Network)
Grid = Float[Array, "patches channels"]


def neighbourhoods(grid: Grid, side: int, radius: int) -> Float[Array, "patches window channels"]:
    """Every patch's square window, zero beyond the edge."""
    found = windows(grid.reshape(side, side, -1), 2 * radius + 1, 1)
    return found.reshape(side**2, -1, grid.shape[1])


class LinearFilter(eqx.Module):
    """One kernel shared by all channels, and a scalar skip."""

    kernel: Float[Array, " window"]
    skip: Float[Array, ""]
    side: int = eqx.field(static=True)
    radius: int = eqx.field(static=True)

    def __call__(self, grid: Grid) -> Grid:
        """The filtered image."""
        windows = neighbourhoods(grid, self.side, self.radius)
        return self.skip * grid + jnp.einsum("pwc,w->pc", windows, self.kernel)


class Convolutions(eqx.Module):
    """3 x 3 convolutions with GELU between them, and a skip from input to output."""

    kernels: list[Array]
    biases: list[Array]
    side: int = eqx.field(static=True)

    def __call__(self, grid: Grid) -> Grid:
        """The denoised image."""
        x = grid
        for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            windows = neighbourhoods(x, self.side, 1).reshape(self.side**2, -1)
            x = windows @ kernel + bias[None, :]
            x = jax.nn.gelu(x) if i < len(self.kernels) - 1 else x
        return grid + x


class DenoiserAttention(eqx.Module):
    r"""$\mathrm{softmax}(e^l (Z W_Q)(Z W_K)^\top) X W_V$, no skip; $Z$ is $X$ or its directions."""

    query: Float[Array, "channels channels"]
    key: Float[Array, "channels channels"]
    value: Float[Array, "channels channels"]
    log_strength: Float[Array, ""]
    normalise: bool = eqx.field(static=True)
    mask: bool = eqx.field(static=True)

    def __call__(self, grid: Grid) -> Grid:
        """The denoised image."""
        z = normalised(grid) if self.normalise else grid
        logits = jnp.exp(self.log_strength) * (z @ self.query) @ (z @ self.key).T
        kept = ~jnp.eye(grid.shape[0], dtype=bool) if self.mask else None
        return jax.nn.softmax(logits, axis=-1, where=kept) @ grid @ self.value


def make(
    key: PRNGKey, network: str, side: int, channels: int, hidden: int
) -> LinearFilter | Convolutions | DenoiserAttention:
    """A network at its start; `-mask` is for attention without a diagonal."""
    if network == "linear5":
        return LinearFilter(jnp.full(25, 0.02), jnp.array(0.5), side, 2)
    if network.startswith("cnn"):
        depth = int(network[3:])
        sizes = [channels, *([hidden] * (depth - 1)), channels]
        keys = jr.split(key, depth)
        kernels = [
            jr.normal(k, (9 * a, b)) * jnp.sqrt(2.0 / (9 * a))
            for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
        ]
        kernels[-1] = 0.1 * kernels[-1]
        return Convolutions(kernels, [jnp.zeros(b) for b in sizes[1:]], side)
    k_query, k_key = named(key, "query", "key")
    near = lambda k: jnp.eye(channels) + 0.02 * jr.normal(k, (channels, channels))
    return DenoiserAttention(
        near(k_query),
        near(k_key),
        jnp.eye(channels),
        jnp.log(4.0),
        network.startswith("cos"),
        network.endswith("-mask"),
    )
