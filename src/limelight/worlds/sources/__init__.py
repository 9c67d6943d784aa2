"""Where images come from: bundled digits, official CIFAR archives, sheets, folders, npz, IDX.

`_base` what a source gives; `_known` data sets with a name; `_cifar` the archives, whose pickles
`_pickles` reads without running; `_files` everything else; `digits.npz` 1,797 digits of 8 x 8
pixels, always there.
"""

import functools
from importlib import resources
from pathlib import Path

import numpy as np

from limelight._core.errors import InputError
from limelight._core.files import from_home
from limelight.worlds.sources import _cifar as cifar
from limelight.worlds.sources import _files as files
from limelight.worlds.sources._base import NO_COARSE, WHERE, Pictures, pictures
from limelight.worlds.sources._known import KNOWN, Shape, find_known, known_shape
from limelight.worlds.sources.fit import Fit

#: The bundled data set.
DIGITS = "digits"
#: Digits for training; the rest are for tests.
DIGITS_TRAINING = 1_400


def load_pictures(
    source: str,
    side: int | Fit | None = None,
    coarse: bool = False,
    labelled: bool = True,
    skip_bad: bool = False,
) -> Pictures:
    """Images by name or path.

    Args:
        source: `digits`; `cifar10`, `cifar100` or `fashion-mnist`, looked for in the folder that
            the variable `LIMELIGHT_DATA` names; or a path to an official CIFAR archive (or the
            folder in it), a folder of sheets, of IDX files, or of images by class, or an npz.
        side: Pixels along a side, to which images in folders are stretched; or how they are fitted.
        coarse: Whether the label is the coarse one, where there are two (CIFAR-100).
        labelled: Whether labels are needed, and images to test on; else one image will do, and a
            folder with images in it, each a class of its own.
        skip_bad: Whether images that cannot be read are left out, and listed in `skipped`.

    Raises:
        InputError: In one line, for what is missing, damaged, or not a data set.
    """
    if source == DIGITS:
        if coarse:
            raise InputError(NO_COARSE.format(DIGITS), "only CIFAR-100 has both")
        return digits()
    path = from_home(source)
    if source in KNOWN and not path.exists():
        path = find_known(source)
    if not path.exists():
        raise InputError(f"there are no images at {source}", WHERE)
    if not (path.is_dir() or path.is_file()):
        raise InputError(f"{source} is neither a file nor a folder", WHERE)
    fit = Fit(side) if isinstance(side, int) else side
    found = _read(path, fit, coarse, labelled, skip_bad, _stamp(path))
    if labelled and not found.testing:
        raise InputError(f"{found.name} has no image to test on", "at least two images are needed")
    return found


def _stamp(path: Path) -> tuple:
    """What changes when any of the files there does; a folder's own time would not tell."""
    held = sorted(path.rglob("*")) if path.is_dir() else [path]
    facts = ((str(file), file.lstat()) for file in held)
    return tuple((name, fact.st_size, fact.st_mtime_ns) for name, fact in facts)


@functools.lru_cache(maxsize=4)
def _read(
    path: Path, fit: Fit | None, coarse: bool, labelled: bool, skip_bad: bool, stamp: tuple
) -> Pictures:
    if cifar.is_folder(path):
        return cifar.load_folder(path, coarse)
    if cifar.is_archive(path):
        return cifar.load_archive(path, coarse)
    if (path / "labels.npz").is_file():
        return files.load_sheets(path, coarse)
    if coarse:
        raise InputError(NO_COARSE.format(path.name), "only CIFAR-100 has both")
    if files.is_idx(path):
        return files.load_idx(path)
    loose = [] if labelled else files.loose_images(path)
    if loose:
        return files.load_loose(path, loose, fit, skip_bad)
    if path.is_dir():
        return files.load_folders(path, fit, skip_bad)
    if path.suffix == ".npz":
        return files.load_npz(path)
    raise InputError(f"{path.name} is no kind of data set that is read here", WHERE)


@functools.cache
def digits() -> Pictures:
    """The bundled digits: pixels from 0 to 16, ten classes.

    The test part of the UCI data set *Optical Recognition of Handwritten Digits* (E. Alpaydin and
    C. Kaynak, 1998, doi 10.24432/C50P49), CC BY 4.0; see `DIGITS.md` beside the file.
    """
    with resources.files(__name__).joinpath("digits.npz").open("rb") as file:
        found = np.load(file, allow_pickle=False)
        images, labels = found["images"], found["labels"]
    names = [str(digit) for digit in range(10)]
    return pictures(DIGITS, (images, labels), None, names, brightest=16, training=DIGITS_TRAINING)


__all__ = ["DIGITS", "KNOWN", "Fit", "Pictures", "Shape", "digits", "known_shape", "load_pictures"]
