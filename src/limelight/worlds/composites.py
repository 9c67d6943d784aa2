r"""Objects pasted on backgrounds, so that it is known which patches the label depends on.

The composites of li2023's figure 6: an image, made smaller, at a random place of another one.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_between, check_positive, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import ranks
from limelight._core.shown import Shown, as_image
from limelight._core.types import Example, Number, PRNGKey, Role
from limelight.worlds._patches import mostly, tiled, to_patches
from limelight.worlds.base import World
from limelight.worlds.images import AUGMENTS, PARTS, augmented, centred, label_of
from limelight.worlds.sources import DIGITS, Pictures, Shape, known_shape, load_pictures

#: Backgrounds made here, nothing at all and tiles, and how large those are.
BLANK, TILES, TILE = "blank", "tiles", 3


@kind("world.composites")
class Composites(World[Int[Array, " count"], Example]):
    r"""A labelled image on a background, cut into patches; each patch is object or background.

    A patch is label-relevant where at least half of its pixels are the object's. With `relevant`
    background patches are removed at random until that fraction of the patches left are relevant
    (or none is left to remove), so that $\alpha_*$ is set example by example; where removal is
    `blind` as many patches go, whatever they show, and $\alpha_*$ stays. With `spurious` the
    backgrounds of the first two classes give the label away: a training image of the first class
    has one with that probability, one of the second with one minus it, and zeros elsewhere; in the
    test part both have one half of the time. Background patches then count as confusing.

    Departures: the paper takes backgrounds from ImageNet's plants and objects from CIFAR-10. Any
    source serves here; by default digits on tiles, which need no file. How the paper treats patches
    on the edge of an object is not said; here the majority of pixels decides. Its zero padding is
    zeros behind normalised pixels here: the mean colour.

    Args:
        source: Of objects; see `sources.load_pictures`.
        background: `tiles`, `blank`, or a source of images as large as the canvas.
        only: Classes of the object source that are used, renumbered; all when empty.
        behind: Classes of the background source that are used, by its coarse labels where
            `coarse`; all when empty.
        coarse: Whether `behind` counts coarse classes.
        size: Pixels along the side of an object on the canvas.
        canvas: Pixels along the side of the whole.
        patch: Pixels along the side of a patch.
        relevant: The fraction of label-relevant patches wanted; `None` removes nothing.
        blind: Whether as many patches are removed whatever they show.
        spurious: Probability of a background behind the first class in training; `None` puts one
            behind everything.
        part: `train` or `test`; backgrounds come from the same part.
        augment: Of training objects, before they are pasted, as in `Images`.
        objects: The objects, once read.
        behinds: The backgrounds, once read.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.Composites(source="digits", background="tiles", only=(3, 8))
        >>> world.only, world.canvas
        ((3, 8), 10)

    Reference: li2023, Section 5.2 and Figure 6.
    """

    source: str = eqx.field(static=True, default=DIGITS)
    background: str = eqx.field(static=True, default=TILES)
    only: tuple[int, ...] = eqx.field(static=True, default=())
    behind: tuple[int, ...] = eqx.field(static=True, default=())
    coarse: bool = eqx.field(static=True, default=False)
    size: int = eqx.field(static=True, default=8)
    canvas: int = eqx.field(static=True, default=10)
    patch: int = eqx.field(static=True, default=2)
    relevant: Number | None = None
    blind: Number = False
    spurious: Number | None = None
    part: str = eqx.field(static=True, default="train")
    augment: str = eqx.field(static=True, default="none")
    objects: Pictures | None = None
    behinds: Pictures | None = None

    @property
    def pictures(self) -> tuple[Pictures, Pictures | None]:
        """Objects and backgrounds: those given, or read now."""
        if self.objects is not None:
            return self.objects, self.behinds
        objects, behind = load_pictures(self.source), None
        if self.background not in (BLANK, TILES):
            behind = load_pictures(self.background, coarse=self.coarse)
            behind = behind.only(self.behind) if self.behind else behind
        return (objects.only(self.only) if self.only else objects), behind

    def files_read(self) -> dict[str, str]:
        """The sources that are not bundled or given: their pixels and labels."""
        if self.objects is not None:
            return {}
        found = {} if self.source == DIGITS else {self.source: load_pictures(self.source).digest}
        if self.background not in (BLANK, TILES, DIGITS):
            found[self.background] = load_pictures(self.background, coarse=self.coarse).digest
        return found

    @property
    def shape(self) -> Shape:
        """Sizes of the objects' source; of one with a name they are known without its files."""
        known = known_shape(self.source, False) if self.objects is None else None
        if known is None:
            return self.pictures[0].shape
        if not self.only:
            return known
        part = lambda count: count * len(self.only) // known.classes  # classes are of one size
        training, testing = part(known.training), part(known.testing)
        return Shape(known.side, known.channels, len(self.only), training, testing)

    def loaded(self) -> "Composites":
        """The same world with its images in it, so that a program takes them as an argument."""
        objects, behinds = self.pictures
        return dataclasses.replace(self, objects=objects, behinds=behinds)

    def held_out(self) -> "Composites":
        """The same world, its test images."""
        return dataclasses.replace(self, part="test")

    @property
    def tokens(self) -> int:
        """Patches of a composite."""
        return (self.canvas // self.patch) ** 2

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
        """Objects in this part."""
        return self.shape.training if self.part == "train" else self.shape.testing

    def draw(self, key: PRNGKey) -> Int[Array, " count"]:
        """An order of the objects: of those for training, where the split is the source's own."""
        objects = self.pictures[0]
        if not objects.official:
            return jr.permutation(key, len(objects.labels))
        held = jnp.arange(objects.training, len(objects.labels))
        return jnp.concatenate([jr.permutation(key, objects.training), held])

    def sample(self, key: PRNGKey, truth: Int[Array, " count"], index: Int[Array, ""]) -> Example:
        """Object number `index` of this part, on a background of its own."""
        k_augment, k_place, k_behind, k_hide, k_remove = named(
            key, "augment", "place", "behind", "hide", "remove"
        )
        objects, _ = self.pictures
        number = truth[index if self.part == "train" else objects.training + index]
        image = centred(objects, number)
        if self.part == "train":
            image = augmented(k_augment, image, self.augment)
        pasted = jax.image.resize(image, (self.size, self.size, image.shape[2]), "linear")
        canvas = self._background(k_behind)
        canvas = jnp.where(self._shown(k_hide, jnp.asarray(objects.labels)[number]), canvas, 0.0)
        row, column = jr.randint(k_place, (2,), 0, self.canvas - self.size + 1)
        corner = (row, column, jnp.zeros_like(row))
        canvas = jax.lax.dynamic_update_slice(canvas, pasted, corner)
        inside = jax.lax.dynamic_update_slice(
            jnp.zeros(canvas.shape[:2]), jnp.ones(pasted.shape[:2]), corner[:2]
        )
        ours = jnp.asarray(mostly(inside, self.patch))
        other = Role.IDLE if self.spurious is None else Role.CONFUSING
        roles = jnp.where(ours, Role.RELEVANT, other)
        tokens, label = to_patches(canvas, self.patch), label_of(objects, number)
        return Example(tokens, label, self._kept(k_remove, ours), roles)

    def tell(self, truth: Int[Array, " count"], item: Example) -> Shown:
        """The image, and which of its patches show the object."""
        return as_image(item, self.patch, ("object", "background", "background"))

    def _background(self, key: PRNGKey) -> Float[Array, "canvas canvas channels"]:
        objects, behind = self.pictures
        if self.background == BLANK:
            return jnp.zeros((self.canvas, self.canvas, objects.channels))
        if behind is None:
            return tiles(key, self.canvas, objects.channels)
        first = 0 if self.part == "train" else behind.training
        count = behind.training if self.part == "train" else behind.testing
        return centred(behind, first + jr.randint(key, (), 0, count))

    def _shown(self, key: PRNGKey, label: Int[Array, ""]) -> Array:
        if self.spurious is None:
            return jnp.array(True)
        biased = jnp.where(label == 0, self.spurious, 1.0 - self.spurious)
        return jr.bernoulli(key, biased if self.part == "train" else 0.5)

    def _kept(self, key: PRNGKey, ours: Array) -> Array:
        if self.relevant is None:
            return jnp.ones_like(ours)
        count = jnp.sum(ours)
        others = jnp.round(count * (1.0 / self.relevant - 1.0)).astype(int)
        chance = jr.uniform(key, ours.shape)
        kept = ours | (ranks(jnp.where(ours, 2.0, chance)) < others)
        return jnp.where(self.blind, ranks(chance) < jnp.sum(kept), kept)

    def check(self) -> None:
        """Refuse sizes that do not fit, sources that are not there, and odd fractions."""
        check_word("world.part", self.part, PARTS)
        check_word("world.augment", self.augment, AUGMENTS)
        if not 1 <= self.size <= self.canvas or self.canvas % max(self.patch, 1) or self.patch < 1:
            raise InputError(
                f"objects of {self.size} and patches of {self.patch} do not fit a canvas of"
                f" {self.canvas} pixels",
                "world.size at most world.canvas, which world.patch must divide",
            )
        found = self._behind_shape()
        if found is not None and found != (self.canvas, self.shape.channels):
            raise InputError(
                f"backgrounds are {found[0]} x {found[0]} x {found[1]}, the canvas"
                f" {self.canvas} x {self.canvas} x {self.shape.channels}",
                "choose world.canvas, or backgrounds of another size",
            )
        check_positive(self, ("relevant",), "world.")
        check_between(self, ("relevant", "spurious"), 0, 1, "world.")
        if self.spurious is not None and self.classes != 2:
            raise InputError(
                f"spurious backgrounds are for two classes, not {self.classes}",
                "name two with world.only",
            )

    def _behind_shape(self) -> tuple[int, int] | None:
        """Side and channels of the backgrounds, where they have a source."""
        if self.background in (BLANK, TILES):
            return None
        found = known_shape(self.background, self.coarse) or self.pictures[1]
        return None if found is None else (found.side, found.channels)


def tiles(key: PRNGKey, side: int, channels: int) -> Float[Array, "side side channels"]:
    """Squares of `TILE` pixels, each of a brightness of its own, cut at a random place."""
    k_level, k_place = named(key, "level", "place")
    count = -(-side // TILE) + 1
    level = jr.normal(k_level, (count, count, channels))
    row, column = jr.randint(k_place, (2,), 0, TILE)
    corner = (row, column, jnp.zeros_like(row))
    return jax.lax.dynamic_slice(tiled(level, TILE), corner, (side, side, channels))
