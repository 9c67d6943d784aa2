"""Data sets known by name: their sizes without their files, and where the files may lie."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from limelight._core.errors import InputError
from limelight._core.files import from_home

#: The environment variable that names the folder of data sets.
FOLDER = "LIMELIGHT_DATA"


@dataclass(frozen=True)
class Shape:
    """Sizes of a data set: pixels along a side, numbers per pixel, classes, images of each part."""

    side: int
    channels: int
    classes: int
    training: int
    testing: int


@dataclass(frozen=True)
class Known:
    """A data set with a name.

    Args:
        shape: Its sizes.
        files: What it may be called in the folder of data sets.
        where: Where to get it.
        coarse: Coarse classes, where it has them.
    """

    shape: Shape
    files: tuple[str, ...]
    where: str
    coarse: int | None = None


_CIFAR = "www.cs.toronto.edu/~kriz/cifar.html"

KNOWN = {
    "cifar10": Known(
        Shape(32, 3, 10, 50_000, 10_000),
        ("cifar10", "cifar-10-python.tar.gz", "cifar-10-batches-py", "cifar10.npz"),
        f"cifar-10-python.tar.gz from {_CIFAR}",
    ),
    "cifar100": Known(
        Shape(32, 3, 100, 50_000, 10_000),
        ("cifar100", "cifar-100-python.tar.gz", "cifar-100-python", "cifar100.npz"),
        f"cifar-100-python.tar.gz from {_CIFAR}",
        coarse=20,
    ),
    "fashion-mnist": Known(
        Shape(28, 1, 10, 60_000, 10_000),
        ("fashion-mnist", "fashion-mnist.npz"),
        "the four IDX files from github.com/zalandoresearch/fashion-mnist",
    ),
}


def known_shape(name: str, coarse: bool) -> Shape | None:
    """The sizes of a data set with a name; `None` for any other source."""
    if name not in KNOWN:
        return None
    found = KNOWN[name]
    if not coarse:
        return found.shape
    if found.coarse is None:
        raise InputError(f"{name} has no coarse labels", "only cifar100 has")
    return replace(found.shape, classes=found.coarse)


def find_known(name: str) -> Path:
    """The file or folder of a data set with a name, or how to get it."""
    folder = os.environ.get(FOLDER, "")
    for file in KNOWN[name].files:
        path = from_home(folder) / file
        if folder and path.exists():
            return path
    raise InputError(
        f"no {name} in " + (folder or f"{FOLDER}, which is not set"),
        f"get {KNOWN[name].where}; name its folder with {FOLDER}, or give its path, not its name",
    )
