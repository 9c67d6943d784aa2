"""Labelled images made to fit a ViT, and what is known of their patches."""

import contextlib
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from limelight._core.arrays import Real
from limelight._core.errors import InputError, suggest
from limelight._core.files import read_regular
from limelight._core.manifests import Broken, read_json
from limelight.instruments.sight import Sight
from limelight.worlds._patches import mostly, tiled
from limelight.worlds.sources import Fit, Pictures, load_pictures

#: Backgrounds made here: tiles of this share of a side.
TILES, TILE = "tiles", 0.1
#: The side of a pasted image over that of the whole: 26 of 32 pixels in li2023, Figure 6.
PASTED = 26 / 32
#: How an image is resized that is pasted, whatever the network's configuration says of others.
PASTED_BY = "bicubic"
#: A file of class groups may have so many bytes.
MOST = 2**22


@dataclass(frozen=True)
class Behind:
    """Backgrounds that images are pasted on, so that it is known which patches show the image.

    A patch counts as relevant where at least half of its pixels are the image's, as in
    `worlds.composites`.

    Args:
        source: `tiles`, or images by name or path.
        only: Names of the classes that are used; all when empty.
        size: Side of the pasted image over the side of the whole.
    """

    source: str
    only: tuple[str, ...] = ()
    size: Real = PASTED

    def __post_init__(self) -> None:
        if not 0 < self.size <= 1:
            raise InputError(f"size = {self.size:g}", "above 0, at most 1")

    def __str__(self) -> str:
        name = Path(self.source).name
        return f"{', '.join(self.only)} of {name}" if self.only else name

    def load(self, side: int) -> Pictures | None:
        """The backgrounds; nothing for tiles."""
        if self.source == TILES:
            return None
        found = load_seen(self.source, side)
        if not self.only:
            return found
        if set(self.only) - set(found.names):  # perhaps coarse classes are meant
            with contextlib.suppress(InputError):
                found = load_seen(self.source, side, coarse=True)
        for name in self.only:
            if name not in found.names:
                raise InputError(
                    f"{found.name} has no class {name!r}", suggest(name, list(found.names))
                )
        return found.only([found.names.index(name) for name in self.only])


@dataclass(frozen=True)
class Gallery:
    """Images for a ViT, a batch at a time.

    Args:
        sight: What the ViT takes in.
        pictures: The source.
        numbers: Which of its images, in this order.
        scale: How images are prepared, in words; see `Sight.prepared`.
        seed: Places and backgrounds of pasted images come from it, image by image.
        behind: What images are pasted on; `None` shows them alone.
        backgrounds: Once read.
    """

    sight: Sight
    pictures: Pictures
    numbers: Int[np.ndarray, " count"]
    scale: str
    seed: int = 0
    behind: Behind | None = None
    backgrounds: Pictures | None = field(default=None, repr=False)

    @classmethod
    def load(
        cls,
        source: str,
        sight: Sight,
        *,
        limit: int | None = None,
        pixels: str = "",
        stretch: bool = False,
        skip_bad: bool = False,
        seed: int = 0,
        behind: Behind | None = None,
        labelled: bool = True,
    ) -> "Gallery":
        """Test images where the source keeps some apart, else all.

        Args:
            source: A name or a path; see `worlds.sources.load_pictures`.
            sight: What the ViT takes in.
            limit: Images at most, drawn without replacement.
            pixels: How they are scaled; by default as the network's configuration says.
            stretch: Whether images are made squares whole, and not cut to the middle.
            skip_bad: Whether files that cannot be read are left out.
            seed: Fixes the draw, and the places of pasted images.
            behind: What to paste the images on.
            labelled: Whether the images must have labels.
        """
        if behind is not None and sight.pixels is not None:  # the whole object is pasted
            plain = dataclasses.replace(sight.pixels, crop=1.0, stretch=False, way=PASTED_BY)
            sight = dataclasses.replace(sight, pixels=plain)
        sight, word = sight.prepared(pixels, stretch)
        found = load_seen(source, sight.whole, labelled=labelled, skip_bad=skip_bad)
        first = found.training if found.official else 0
        numbers = np.arange(first, len(found.labels))
        if limit is not None and limit < 1:
            raise InputError(f"limit = {limit}", "at least 1")
        if limit is not None and limit < len(numbers):
            numbers = np.sort(np.random.default_rng(seed).choice(numbers, limit, replace=False))
        backgrounds = None if behind is None else behind.load(sight.side)
        return cls(sight, found, numbers, word, seed, behind, backgrounds)

    def __len__(self) -> int:
        return len(self.numbers)

    def __str__(self) -> str:
        part = "test" if self.pictures.official else "of all"
        behind = "" if self.behind is None else f", pasted on {self.behind}"
        bad = len(self.pictures.skipped)
        skipped = f" ({bad} files could not be read and are left out)" if bad else ""
        return f"{len(self):,} {part} images of {self.pictures.name}{behind}{skipped}"

    @property
    def knows_roles(self) -> bool:
        """Whether it is known which patches matter."""
        return self.behind is not None

    def labels(self) -> Int[np.ndarray, " count"]:
        """The class of every image."""
        return np.asarray(self.pictures.labels)[self.numbers]

    def images(self, places: Int[np.ndarray, " some"]):
        """Images as the ViT sees them, before scaling, and which patches are the image's own."""
        shown = [self._image(int(self.numbers[place])) for place in places]
        images, own = zip(*shown, strict=True)
        return np.stack(images), np.stack(own)

    def tokens(
        self, images: UInt8[np.ndarray, "some side side channels"]
    ) -> Float[np.ndarray, "some patches numbers"]:
        """Images as scaled patches."""
        moments = self.sight.moments(self.pictures, self.scale)
        return self.sight.tokens(images, self.pictures.brightest, moments)

    def _image(self, number: int):
        image = np.asarray(self.pictures.images)[number]
        if self.behind is None:
            fitted = self.sight.coloured(image) if self.pictures.fitted else self.sight.fit(image)
            return fitted, np.ones(self.sight.patches, bool)
        rng = np.random.default_rng([self.seed, number])
        side = max(1, round(self.behind.size * self.sight.side))
        return paste(rng, self.sight.fit(image, side), self._background(rng), self.sight)

    def _background(self, rng: np.random.Generator) -> UInt8[np.ndarray, "side side channels"]:
        found, sight = self.backgrounds, self.sight
        if found is None:
            return tiles(rng, sight, self.pictures.brightest)
        first = found.training if found.official else 0
        chosen = np.asarray(found.images)[rng.integers(first, len(found.labels))]
        scale = self.pictures.brightest / found.brightest
        return np.rint(sight.fit(chosen, sight.side) * scale).astype(np.uint8)


def load_seen(
    source: str,
    side: int | Fit,
    *,
    coarse: bool = False,
    labelled: bool = False,
    skip_bad: bool = False,
) -> Pictures:
    """Images that a ViT can be shown: grey ones, or ones in colour."""
    found = load_pictures(source, side, coarse, labelled, skip_bad)
    if found.channels not in (1, 3):
        raise InputError(
            f"{found.name}: images of {found.channels} channels",
            "1 for grey or 3 for colour; leave transparency out",
        )
    return found


def paste(rng: np.random.Generator, image, behind, sight: Sight):
    """A small image at a random place of a large one, and which patches show it."""
    row, column = rng.integers(0, sight.side - len(image) + 1, 2)
    place = (slice(row, row + len(image)), slice(column, column + len(image)))
    whole, inside = behind.copy(), np.zeros((sight.side, sight.side))
    whole[place], inside[place] = image, 1.0
    return whole, mostly(inside, sight.patch)


def tiles(rng: np.random.Generator, sight: Sight, brightest: int):
    """Squares, each of a brightness of its own."""
    tile = max(1, round(TILE * sight.side))
    count = -(-sight.side // tile)
    level = rng.integers(0, brightest + 1, (count, count, sight.channels), dtype=np.uint8)
    return tiled(level, tile)[: sight.side, : sight.side]


@dataclass(frozen=True)
class Groups:
    """Outputs of a ViT gathered into the classes of a data set.

    The probability of a class is the sum over its outputs; classes that the images do not have
    compete too.

    Args:
        names: Of the classes, those of the images first.
        member: Which outputs make which class.
    """

    names: tuple[str, ...]
    member: Bool[np.ndarray, "outputs classes"]

    def predict(self, logits: Float[np.ndarray, "count outputs"]) -> Int[np.ndarray, " count"]:
        """The most probable class of every image."""
        odds = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return np.argmax(odds @ self.member, axis=1)


def group(outputs: int, pictures: Pictures, groups: Path | None = None) -> Groups:
    """How the outputs of a ViT name the classes of some images.

    Args:
        outputs: Of the ViT.
        pictures: Their classes, in order.
        groups: A JSON file, class name to a list of outputs; without it output $i$ is class $i$.

    Raises:
        InputError: Where the two do not fit.
    """
    if groups is None:
        if outputs != pictures.classes:
            raise InputError(
                f"the ViT has {outputs} outputs, {pictures.name} has {pictures.classes} classes",
                "say which outputs make which class with groups=FILE.json",
            )
        return Groups(pictures.names, np.eye(outputs, dtype=bool))
    found = _read_groups(groups)
    missing = [name for name in pictures.names if name not in found]
    if missing:
        raise InputError(
            f"{groups.name} has no group {missing[0]!r}", suggest(missing[0], list(found))
        )
    names = (*pictures.names, *(name for name in found if name not in pictures.names))
    member = np.zeros((outputs, len(names)), dtype=bool)
    for place, name in enumerate(names):
        beyond = [i for i in found[name] if not 0 <= i < outputs]
        if beyond:
            raise InputError(
                f"{groups.name}: {name!r} names output {beyond[0]}", f"the ViT has {outputs}"
            )
        member[found[name], place] = True
    return Groups(names, member)


def _read_groups(path: Path) -> dict[str, list[int]]:
    try:
        found = read_json(read_regular(path, MOST))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check the name") from None
    except Broken as error:
        raise InputError(f"{path}: {error}", "class name to a list of outputs") from None
    whole = lambda v: isinstance(v, list) and v and all(type(i) is int for i in v)
    if not isinstance(found, dict) or not found or not all(map(whole, found.values())):
        raise InputError(
            f"{path} is not a table of groups", 'such as {"cat": [281, 282], "dog": [151]}'
        )
    return found
