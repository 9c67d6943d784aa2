"""What every source of images gives: pixels, labels, and where training ends."""

import dataclasses
import errno
import hashlib
from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import numpy as np
from jaxtyping import Array, Int, UInt8

from limelight._core.errors import InputError
from limelight._core.files import read_regular
from limelight.worlds.sources._known import Shape

#: Decoded bytes that a source may have, and images.
MOST_BYTES, MOST_IMAGES = 4 * 2**30, 2_000_000
#: Where the data sets are to be had, for those who have none.
WHERE = (
    "digits needs no file; else name an official CIFAR archive (cs.toronto.edu/~kriz/cifar.html),"
    " a folder of sheets, a folder of images by class, or an npz"
)
NO_COARSE = "{} has one kind of label, no coarse ones"


class Pictures(eqx.Module):
    """Square images of one size, the training part first.

    Args:
        images: Pixels from 0 to `brightest`.
        labels: The class of every image.
        training: How many of them, the first, are for training.
        official: Whether that split is the data set's own; else it is drawn afresh in each trial.
        brightest: The largest value a pixel can have.
        mean: Of the training images, where that split is fixed, else of all; by channel, 0 to 1.
        deviation: Of the same.
        name: Of the data set.
        names: Of the classes.
        fitted: Whether the files' images were fitted to a size when they were read.
        skipped: What is wrong with each file that could not be read and was left out.
    """

    images: UInt8[Array | np.ndarray, "count side side channels"]
    labels: Int[Array | np.ndarray, " count"]
    training: int = eqx.field(static=True)
    official: bool = eqx.field(static=True)
    brightest: int = eqx.field(static=True)
    mean: tuple[float, ...] = eqx.field(static=True)
    deviation: tuple[float, ...] = eqx.field(static=True)
    name: str = eqx.field(static=True, default="images")
    names: tuple[str, ...] = eqx.field(static=True, default=())
    fitted: bool = eqx.field(static=True, default=False)
    skipped: tuple[str, ...] = eqx.field(static=True, default=())

    @property
    def side(self) -> int:
        """Pixels along a side."""
        return self.images.shape[1]

    @property
    def channels(self) -> int:
        """Numbers a pixel."""
        return self.images.shape[3]

    @property
    def classes(self) -> int:
        """How many."""
        return len(self.names)

    @property
    def shape(self) -> Shape:
        """All sizes."""
        return Shape(self.side, self.channels, self.classes, self.training, self.testing)

    @property
    def testing(self) -> int:
        """Images that are not for training."""
        return len(self.labels) - self.training

    @property
    def digest(self) -> str:
        """SHA-256 of everything in it: pixels, labels, the split, names of classes."""
        facts = (self.training, self.official, self.brightest, self.images.shape, self.names)
        found = hashlib.sha256(repr(facts).encode())
        for array in (self.images, self.labels):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def only(self, labels: Sequence[int]) -> "Pictures":
        """The images of some classes, these numbered anew in the order given."""
        place = {label: new for new, label in enumerate(labels)}
        unknown = [label for label in labels if not 0 <= label < self.classes]
        if unknown or not place:
            raise InputError(f"{self.name} has no class {unknown or 'none'}", "count from 0")
        chosen = np.isin(self.labels, list(place))
        new = np.array([place[int(label)] for label in self.labels[chosen]], dtype=np.int32)
        return dataclasses.replace(
            self,
            images=self.images[chosen],
            labels=new,
            training=int(chosen[: self.training].sum()),
            names=tuple(self.names[label] for label in labels),
        )

    def first(self, training: int, testing: int) -> "Pictures":
        """The first images of both parts."""
        if not (1 <= training <= self.training and 1 <= testing <= self.testing):
            raise InputError(
                f"{self.name} has {self.training} training and {self.testing} test images,"
                f" not {training} and {testing}",
                "ask for at most as many, and at least one of each",
            )
        chosen = np.r_[0:training, self.training : self.training + testing]
        images, labels = self.images[chosen], self.labels[chosen]
        return dataclasses.replace(self, images=images, labels=labels, training=training)


def pictures(
    name: str,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray] | None = None,
    names: Sequence[str] = (),
    brightest: int = 255,
    training: int | None = None,
) -> Pictures:
    """Checked arrays as a source; without a test part about a fifth is held out in each trial."""
    parts = [train] if test is None else [train, test]
    for images, labels in parts:
        _check(name, images, labels)
    if len({images.shape[1:] for images, _ in parts}) > 1:
        raise InputError(
            f"{name}: training and test images differ in size", "bring them to one size"
        )
    images = np.concatenate([_coloured(images) for images, _ in parts])
    labels = np.concatenate([labels.reshape(-1) for _, labels in parts]).astype(np.int32)
    classes = max(int(labels.max()) + 1, len(names))
    if labels.min() < 0 or classes > 100_000:
        raise InputError(f"{name}: labels must count classes from 0", "at most 100,000 classes")
    if images.max() > brightest:
        raise InputError(f"{name}: a pixel of {images.max()}", f"at most {brightest}")
    named = tuple(names) + tuple(str(i) for i in range(len(names), classes))
    held = len(train[1]) if test is not None else (training or max(len(labels) * 4 // 5, 1))
    mean, deviation = _moments(images[: held if test is not None else None], brightest)
    official = test is not None
    return Pictures(images, labels, held, official, brightest, mean, deviation, name, named)


def _moments(images: np.ndarray, brightest: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of every channel, exactly, from the counts of every value."""
    values, found = np.arange(256) / brightest, []
    for channel in np.moveaxis(images, -1, 0):
        share = np.bincount(channel.reshape(-1), minlength=256) / channel.size
        mean = float(share @ values)
        found.append((mean, float(share @ (values - mean) ** 2) ** 0.5 or 1.0))
    means, deviations = zip(*found, strict=True)
    return means, deviations


def _check(name: str, images: np.ndarray, labels: np.ndarray) -> None:
    if images.dtype != np.uint8:
        raise InputError(f"{name}: pixels are {images.dtype}", "expected whole numbers, 0 to 255")
    if images.ndim not in (3, 4) or images.shape[1] != images.shape[2] or not images.size:
        raise InputError(
            f"{name}: images of shape {list(images.shape)}",
            "expected [images, side, side] or [images, side, side, channels]",
        )
    if not np.issubdtype(labels.dtype, np.integer) or labels.size != len(images):
        raise InputError(
            f"{name}: {labels.size} labels of type {labels.dtype} for {len(images)} images",
            "one whole number per image",
        )
    if images.nbytes > MOST_BYTES or len(images) > MOST_IMAGES:
        raise InputError(f"{name} is too large", f"at most {MOST_BYTES // 2**30} GiB of pixels")


def _coloured(images: np.ndarray) -> np.ndarray:
    return images[..., None] if images.ndim == 3 else images


def content(path: Path, most: int) -> bytes:
    """A file's bytes, up to a size."""
    try:
        return read_regular(path, most)
    except OSError as error:
        if error.errno == errno.EFBIG:
            size = f"{most // 2**20} MiB"
            raise InputError(f"{path.name} is larger than {size}", "is it the file?") from None
        raise InputError(f"cannot read {path}: {error.strerror}", "check the name") from None
