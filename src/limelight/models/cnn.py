"""Convolutional networks for the comparisons: a few plain layers, and a small ResNet.

They read the same examples as a ViT: patches are put back in their places first. A convolution is
a matrix product with shifted copies of the image, so that many trials side by side stay products.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_word
from limelight._core.kinds import kind
from limelight._core.numerics import widened
from limelight._core.types import Example, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.models.layers import Affine, affine
from limelight.worlds._patches import from_patches
from limelight.worlds.base import World

Image = Float[Array, "height width channels"]
Filtered = Float[Array, "rows columns filters"]
NORMS = ("none", "group")


def windows(image: Image, size: int, stride: int) -> Float[Array, "rows columns window"]:
    """The square window around every `stride`-th pixel, zero beyond the edge."""
    height, width, _ = image.shape
    before, after = (size - 1) // 2, size // 2
    padded = jnp.pad(image, ((before, after), (before, after), (0, 0)))
    shifts = [(i, j) for i in range(size) for j in range(size)]
    part = lambda i, j: padded[i : i + height : stride, j : j + width : stride]
    return jnp.concatenate([part(i, j) for i, j in shifts], axis=-1)


class Convolution(eqx.Module):
    """A square kernel with a bias, then group norm where there is a gain.

    Args:
        kernel: Its weight is [size * size * channels, filters]: the pixels of a window row by row,
            channels last.
        gain: Of the norm, [filters]; `None` without a norm.
        shift: Of the norm, likewise.
        size: Pixels along the side of a window.
        stride: Pixels from one window to the next.
        groups: Into how many the norm divides the filters.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> make = lambda: ll.models.Convolutional(widths=(4,), strides=(1,)).init(jr.key(0),
        ...     ll.worlds.Images(), None)
        >>> net = jax.eval_shape(make)
        >>> net.layers[0].size, net.layers[0].stride
        (3, 1)
    """

    kernel: Affine
    gain: Float[Array, " channels"] | None
    shift: Float[Array, " channels"] | None
    size: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)
    groups: int = eqx.field(static=True)

    def __call__(self, image: Image) -> Filtered:
        """The filtered image, `stride` times smaller."""
        y = self.kernel(windows(image, self.size, self.stride))
        if self.gain is None or self.shift is None:
            return y
        split = widened(y).reshape(*y.shape[:2], self.groups, -1)
        centred = split - jnp.mean(split, axis=(0, 1, 3), keepdims=True)
        variance = jnp.mean(centred**2, axis=(0, 1, 3), keepdims=True)
        unit = (centred * jax.lax.rsqrt(variance + 1e-5)).reshape(y.shape)
        return (unit * self.gain[None, None] + self.shift[None, None]).astype(y.dtype)


def convolution(
    key: PRNGKey, channels: int, width: int, stride: int = 1, size: int = 3, norm: str = "none"
) -> Convolution:
    """A start that keeps the size of what passes a ReLU: variance two over the inputs."""
    kernel = affine(key, size * size * channels, width)
    kernel = Affine(2.0**0.5 * kernel.weight, kernel.bias)
    normed = norm == "group"
    gain, shift = (jnp.ones(width), jnp.zeros(width)) if normed else (None, None)
    groups = next(g for g in (8, 4, 2, 1) if width % g == 0)
    return Convolution(kernel, gain, shift, size, stride, groups)


class Residual(eqx.Module):
    """Two convolutions and what they are added to; the ReLU after the sum is the network's.

    Args:
        first: Followed by a ReLU.
        second: Added to the image, or to what `skip` makes of it.
        skip: A convolution where sizes differ, else `None`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> recipe = ll.models.Convolutional(widths=(4, 4), strides=(1, 1), blocks=1)
        >>> make = lambda: recipe.init(jr.key(0), ll.worlds.Images(), None)
        >>> type(jax.eval_shape(make).layers[-1]).__name__
        'Residual'
    """

    first: Convolution
    second: Convolution
    skip: Convolution | None

    def __call__(self, image: Image) -> Filtered:
        """The image after the block."""
        y = self.second(jax.nn.relu(self.first(image)))
        return y + (image if self.skip is None else self.skip(image))


class ConvNet(Model):
    """Convolutions, each before a ReLU; the mean over pixels; a linear head.

    Args:
        layers: From the image up.
        head: Its weight is [filters of the last layer, outputs].
        patch: Pixels along the side of a patch, to put the image together again.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> recipe = ll.models.Convolutional(widths=(4, 8), strides=(1, 2))
        >>> len(jax.eval_shape(lambda: recipe.init(jr.key(0), ll.worlds.Images(), None)).layers)
        2
    """

    layers: tuple[Convolution | Residual, ...]
    head: Affine
    patch: int = eqx.field(static=True)

    def prepare(self, example: Example) -> Image:
        """The patches, put back in their places."""
        return from_patches(example.tokens, self.patch)

    def __call__(self, prepared: Image, key: PRNGKey | None = None) -> Float[Array, "..."]:
        """One number for each class; a plain number where there is one output."""
        output = self.head(jnp.mean(self.features(prepared)[-1], axis=(0, 1)))
        return output[0] if output.shape == (1,) else output

    def features(self, prepared: Image) -> list[Filtered]:
        """The filtered image after every layer."""
        found, x = [], prepared
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
            found.append(x)
        return found


@kind("model.convolutional")
class Convolutional(Recipe):
    """How a convolutional network starts.

    Departures: group norm stands in for batch norm, which needs a batch to read one example.

    Args:
        widths: Channels of every layer; with `blocks` of every stage.
        strides: Step of every layer or stage.
        blocks: Residual blocks per stage, after a first plain layer; 0 for plain layers alone.
            Widths 64, 128, 256, 512 with strides 1, 2, 2, 2 and 2 blocks are ResNet-18 with a
            3 x 3 stem.
        norm: `none` or `group`.
        outputs: Outputs; the world's classes when `None`, one where it names none.

    Example:
        >>> import limelight as ll
        >>> ll.models.Convolutional(widths=(4, 8), strides=(1, 2)).widths
        (4, 8)
    """

    widths: tuple[int, ...] = eqx.field(static=True, default=(16, 32, 32))
    strides: tuple[int, ...] = eqx.field(static=True, default=(1, 2, 1))
    blocks: int = eqx.field(static=True, default=0)
    norm: str = eqx.field(static=True, default="none")
    outputs: int | None = eqx.field(static=True, default=None)

    @property
    def honours_masks(self) -> bool:
        """A convolution sees every pixel."""
        return False

    def init(self, key: PRNGKey, world: Any, truth: Any) -> ConvNet:
        """Weights at the start."""
        k_head, k_layers = jr.split(key)
        channels = world.dimension // world.patch**2
        layers = self._residual if self.blocks else self._plain
        outputs = self.outputs or getattr(world, "classes", 1)
        head = affine(k_head, self.widths[-1], outputs)
        return ConvNet(tuple(layers(k_layers, channels)), head, world.patch)

    def check(self, world: World) -> None:
        """Refuse worlds without a grid of patches, and sizes that do not fit."""
        check_word("model.norm", self.norm, NORMS)
        if not isinstance(getattr(world, "patch", None), int):
            raise InputError(
                f"a convolutional network needs images, not {type(world).__name__}",
                "use Images or another world with patches",
            )
        if not self.widths or min(*self.widths, *self.strides, self.outputs or 1, 1) < 1:
            raise InputError(
                f"widths {self.widths}, strides {self.strides}, outputs {self.outputs}",
                "all at least 1, and at least one width",
            )
        if len(self.widths) != len(self.strides):
            raise InputError(
                f"{len(self.widths)} widths and {len(self.strides)} strides", "one for each layer"
            )

    def _plain(self, key: PRNGKey, channels: int):
        sizes = zip((channels, *self.widths), self.widths, self.strides, strict=False)
        for number, (before, width, stride) in enumerate(sizes):
            yield convolution(jr.fold_in(key, number), before, width, stride, norm=self.norm)

    def _residual(self, key: PRNGKey, channels: int):
        k_stem, key = jr.split(key)
        before = self.widths[0]
        yield convolution(k_stem, channels, before, norm=self.norm)
        for stage, (width, stride) in enumerate(zip(self.widths, self.strides, strict=True)):
            for number in range(self.blocks):
                keys = jr.split(jr.fold_in(key, stage * self.blocks + number), 3)
                step = stride if number == 0 else 1
                same = step == 1 and before == width
                yield Residual(
                    convolution(keys[0], before, width, step, norm=self.norm),
                    convolution(keys[1], width, width, norm=self.norm),
                    None if same else convolution(keys[2], before, width, step, 1, self.norm),
                )
                before = width
