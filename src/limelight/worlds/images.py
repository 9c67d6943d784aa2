"""Real images as tokens: patches of bundled digits, CIFAR, or any folder; shuffled, noisy."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_between, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.shown import Shown, as_image
from limelight._core.types import Example, Number, PRNGKey, Role
from limelight.worlds._patches import patch_order, shuffle_cells, to_patches
from limelight.worlds.base import World
from limelight.worlds.sources import DIGITS, Pictures, Shape, known_shape, load_pictures

PARTS = ("train", "test")
AUGMENTS = ("none", "flip", "crop")


class ImageTruth(eqx.Module):
    """What stays fixed in one trial.

    Args:
        order: Which image of the source is number $i$; the training part comes first.
        cells: The shuffle: place $k$ of every image shows the cell that was at `cells[k]`.
    """

    order: Int[Array, " count"]
    cells: Int[Array, " cells"]


@kind("world.images")
class Images(World[ImageTruth, Example]):
    r"""Labelled images cut into patches, each patch a token.

    Pixels are moved to mean 0 by channel, and scaled to deviation 1 where `unit` says so. A label
    has +1 at its class and -1 at every other. With `cell` every image is cut into square cells that
    one permutation, drawn once per trial, puts in other places; cells of whole patches make it a
    permutation of tokens. What matters to the label is not known here, so every token counts as
    relevant.

    Args:
        source: `digits`, `cifar10`, `cifar100`, `fashion-mnist`, or a path; see
            `sources.load_pictures`.
        patch: Pixels along the side of a patch.
        cell: Pixels along the side of a shuffled cell; 0 for no shuffle.
        part: `train` or `test`.
        training: Training images used, the first ones; 0 for all.
        testing: Test images used, likewise.
        noise: Standard deviation of Gaussian noise on every number of a patch; `None` for none.
        noisy_share: Probability that a patch gets it.
        augment: Of training images, before any shuffle: `none`, `flip` (left to right, half of
            them) or `crop` (the same, and moved by up to an eighth of a side, zeros moving in).
        unit: Whether pixels have deviation 1 over the data set, or black and white are 1 apart.
        coarse: Whether labels are the coarse ones of CIFAR-100.
        side: Pixels along a side to resize images in folders to.
        data: The images, once read.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.Images(source="digits", patch=2)
        >>> world.tokens, world.classes
        (16, 10)

    Reference: jelassi2022, Section 6 (the shuffles).
    """

    source: str = eqx.field(static=True, default=DIGITS)
    patch: int = eqx.field(static=True, default=1)
    cell: int = eqx.field(static=True, default=0)
    part: str = eqx.field(static=True, default="train")
    training: int = eqx.field(static=True, default=0)
    testing: int = eqx.field(static=True, default=0)
    noise: Number | None = None
    noisy_share: Number = 1.0
    augment: str = eqx.field(static=True, default="none")
    unit: bool = eqx.field(static=True, default=True)
    coarse: bool = eqx.field(static=True, default=False)
    side: int | None = eqx.field(static=True, default=None)
    data: Pictures | None = None

    @property
    def pictures(self) -> Pictures:
        """The images: those given, or read now."""
        if self.data is not None:
            return self.data
        found = load_pictures(self.source, self.side, self.coarse)
        if not (self.training or self.testing):
            return found
        return found.first(self.training or found.training, self.testing or found.testing)

    @property
    def shape(self) -> Shape:
        """Sizes; of a data set with a name they are known without its files."""
        known = known_shape(self.source, self.coarse) if self.data is None else None
        if known is None:
            return self.pictures.shape
        training, testing = self.training or known.training, self.testing or known.testing
        return dataclasses.replace(known, training=training, testing=testing)

    def files_read(self) -> dict[str, str]:
        """The source, unless it is bundled or was given: its pixels and labels."""
        if self.source == DIGITS or self.data is not None:
            return {}
        return {self.source: load_pictures(self.source, self.side, self.coarse).digest}

    def loaded(self) -> "Images":
        """The same world with its images in it, so that a program takes them as an argument."""
        return dataclasses.replace(self, data=self.pictures)

    def held_out(self) -> "Images":
        """The same world, its test images."""
        return dataclasses.replace(self, part="test")

    @property
    def tokens(self) -> int:
        """Patches of an image."""
        return (self.shape.side // self.patch) ** 2

    @property
    def dimension(self) -> int:
        """Numbers in a patch."""
        return self.patch**2 * self.shape.channels

    @property
    def classes(self) -> int:
        """How many."""
        return self.shape.classes

    @property
    def available(self) -> int:
        """Images in this part."""
        return self.shape.training if self.part == "train" else self.shape.testing

    def draw(self, key: PRNGKey) -> ImageTruth:
        """A split, where the source has none of its own, and a shuffle."""
        k_split, k_cells = named(key, "split", "cells")
        found = self.pictures
        count = len(found.labels)
        order = jnp.arange(count) if found.official else jr.permutation(k_split, count)
        cells = (found.side // self.cell) ** 2 if self.cell else 1
        return ImageTruth(order, jr.permutation(k_cells, cells))

    def sample(self, key: PRNGKey, truth: ImageTruth, index: Int[Array, ""]) -> Example:
        """Image number `index` of this part."""
        k_augment, k_noise = named(key, "augment", "noise")
        found = self.pictures
        number = truth.order[index if self.part == "train" else found.training + index]
        image = centred(found, number, self.unit)
        if self.part == "train":
            image = augmented(k_augment, image, self.augment)
        if self.cell:
            image = shuffle_cells(image, self.cell, truth.cells)
        tokens = to_patches(image, self.patch)
        distance = None
        if self.noise is not None:
            tokens, distance = noised(k_noise, tokens, self.noise, self.noisy_share)
        roles = jnp.full(len(tokens), Role.RELEVANT)
        return Example(tokens, label_of(found, number), roles=roles, distance=distance)

    def tell(self, truth: ImageTruth, item: Example) -> Shown:
        """The image, cut into patches."""
        return as_image(item, self.patch)

    def order(self, truth: ImageTruth) -> Int[Array, " patches"]:
        """The shuffle as one of patches: patch $k$ shows the one that was at `[k]`."""
        if not self.cell:
            return jnp.arange(self.tokens)
        return patch_order(truth.cells, self.pictures.side, self.cell, self.patch)

    def check(self) -> None:
        """Refuse sources that are not there and cuts that leave a rest."""
        check_word("world.part", self.part, PARTS)
        check_word("world.augment", self.augment, AUGMENTS)
        found = self.shape
        for name in ("patch", "cell"):
            pixels = getattr(self, name)
            if pixels < (name == "patch") or (pixels and found.side % pixels):
                raise InputError(
                    f"{name}s of {pixels} pixels do not fill {found.side} x {found.side} images",
                    f"world.{name} must divide {found.side}",
                )
        check_least(self, ("noise",), 0, "world.")
        check_between(self, ("noisy_share",), 0, 1, "world.")


def centred(found: Pictures, number, unit: bool = True) -> Float[Array, "side side channels"]:
    """An image with mean 0 by channel, over the data set, and deviation 1 if asked for."""
    pixels = jnp.asarray(found.images)[number].astype(float) / found.brightest
    pixels = pixels - jnp.array(found.mean)[None, None]
    return pixels / jnp.array(found.deviation)[None, None] if unit else pixels


def label_of(found: Pictures, number) -> Float[Array, " classes"]:
    """+1 at the class of an image, -1 at every other."""
    return 2.0 * jax.nn.one_hot(jnp.asarray(found.labels)[number], found.classes) - 1.0


def augmented(key: PRNGKey, image, how: str) -> Float[Array, "side side channels"]:
    """The image, perhaps mirrored, perhaps moved."""
    if how == "none":
        return image
    k_flip, k_move = named(key, "flip", "move")
    image = jnp.where(jr.bernoulli(k_flip), image[:, ::-1], image)
    if how == "flip":
        return image
    reach = max(image.shape[0] // 8, 1)
    padded = jnp.pad(image, ((reach, reach), (reach, reach), (0, 0)))
    row, column = jr.randint(k_move, (2,), 0, 2 * reach + 1)
    return jax.lax.dynamic_slice(padded, (row, column, jnp.zeros_like(row)), image.shape)


def noised(key: PRNGKey, tokens, scale: Number, share: Number):
    """Tokens with noise on some of them, and how far each was moved."""
    k_hit, k_noise = named(key, "hit", "noise")
    hit = jr.bernoulli(k_hit, share, (len(tokens), 1))
    noise = jnp.where(hit, scale * jr.normal(k_noise, tokens.shape), 0.0)
    return tokens + noise, jnp.linalg.norm(noise, axis=-1)
