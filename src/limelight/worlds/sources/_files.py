"""Images from other files: sheets with labels, folders by class, npz, and IDX."""

import dataclasses
import gzip
import io
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from limelight._core.errors import InputError
from limelight._core.files import read_regular
from limelight.worlds.sources._base import (
    MOST_BYTES,
    MOST_IMAGES,
    NO_COARSE,
    Pictures,
    content,
    pictures,
)
from limelight.worlds.sources._npz import read_arrays
from limelight.worlds.sources.fit import Fit

#: Names under which an npz may hold training images and labels, test images and labels.
NPZ_NAMES = (
    ("x_train", "y_train", "x_test", "y_test"),
    ("train_images", "train_labels", "test_images", "test_labels"),
    ("images", "labels"),
)
#: The files of MNIST and Fashion-MNIST.
IDX_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
KINDS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
#: The formats that are opened, whatever a file is called.
FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF")
#: Pixels that an image or a sheet may have, in all and along a side, and bytes of its file.
MOST_PIXELS, LONGEST, MOST_FILE = 64_000_000, 65_535, 2**29
CELL = 32


def load_npz(path: Path) -> Pictures:
    """Arrays in an npz; see `NPZ_NAMES`."""
    found = read_arrays(path, {"names", *(name for names in NPZ_NAMES for name in names)})
    for names in NPZ_NAMES:
        if set(names) <= set(found):
            pairs = zip(names[::2], names[1::2], strict=True)
            train, *test = ((found[a], found[b]) for a, b in pairs)
            listed = [str(name) for name in found.get("names", np.array([])).reshape(-1)]
            return pictures(path.stem, train, test[0] if test else None, listed)
    expected = " or ".join(", ".join(names) for names in NPZ_NAMES)
    raise InputError(f"{path.name} does not hold images and labels", f"expected {expected}")


def load_sheets(path: Path, coarse: bool = False) -> Pictures:
    """Sheets of 32 x 32 images, `train_*.webp` and `test_*.webp`, with `labels.npz` beside them."""
    parts = ("train", "test", "train_coarse", "test_coarse", "names", "coarse_names")
    labels = read_arrays(path / "labels.npz", parts)
    if coarse and "train_coarse" not in labels:
        raise InputError(NO_COARSE.format(path.name), "only CIFAR-100 has both")
    found = []
    for part in ("train", "test"):
        if part not in labels:
            raise InputError(f"{path}/labels.npz has no {part!r}", "one array of labels a part")
        sheets = sorted(path.glob(f"{part}_*.webp"), key=lambda f: (len(f.name), f.name))
        if not sheets:
            raise InputError(f"{path} has no sheet {part}_0.webp", "labels alone are not enough")
        images = np.concatenate([_sheet(sheet) for sheet in sheets])
        classes = labels[f"{part}_coarse" if coarse else part]
        # The last row of a sheet may be padded; a folder may also hold the first sheets only.
        count = min(len(images), classes.size)
        found.append((images[:count], classes.reshape(-1)[:count]))
    listed = labels.get("coarse_names" if coarse else "names", np.array([]))
    names = [str(name) for name in listed.reshape(-1)]
    return pictures(path.name, found[0], found[1], names)


def _sheet(path: Path) -> np.ndarray:
    pixels = _decode(path)
    height, width, _ = pixels.shape
    if height % CELL or width % CELL:
        raise InputError(f"{path.name} is {width} x {height}", f"expected multiples of {CELL}")
    cells = pixels.reshape(height // CELL, CELL, width // CELL, CELL, 3).swapaxes(1, 2)
    return cells.reshape(-1, CELL, CELL, 3)


def load_folders(path: Path, fit: Fit | None = None, skip_bad: bool = False) -> Pictures:
    """Images in folders named for their class, perhaps under `train` and `test`."""
    split = (path / "train").is_dir() and (path / "test").is_dir()
    roots = [path / "train", path / "test"] if split else [path]
    names = sorted(folder.name for folder in roots[0].iterdir() if folder.is_dir())
    bad: list[str] | None = [] if skip_bad else None
    parts = [_by_class(root, names, fit, bad) for root in roots]
    found = pictures(path.name, parts[0], parts[1] if split else None, names)
    return dataclasses.replace(found, fitted=fit is not None, skipped=tuple(bad or ()))


def _by_class(
    root: Path, names: list[str], fit: Fit | None, bad: list[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    found = [(file, label) for label, name in enumerate(names) for file in _images_in(root / name)]
    if not found:
        raise InputError(
            f"{root} has no images in folders by class",
            f"expected {root.name}/CLASS/IMAGE.jpg; only a probe and backgrounds need no classes",
        )
    files, labels = zip(*found, strict=True)
    images, kept = _squares(root, files, fit, bad)
    return images, np.array(labels, dtype=np.int32)[kept]


def loose_images(path: Path) -> list[Path]:
    """Images without a class: the file itself, or those of a folder with no folders of images."""
    if not path.is_dir():
        return [path] if path.suffix.lower() in KINDS and path.is_file() else []
    classed = any(_images_in(folder) for folder in path.iterdir() if folder.is_dir())
    return [] if classed else _images_in(path)


def load_loose(
    path: Path, files: Sequence[Path], fit: Fit | None = None, skip_bad: bool = False
) -> Pictures:
    """Images without labels: each is a class of its own, named for its file."""
    bad: list[str] | None = [] if skip_bad else None
    images, kept = _squares(path, files, fit, bad)
    names = [files[number].name for number in kept]
    found = pictures(path.name, (images, np.arange(len(names))), None, names)
    return dataclasses.replace(found, fitted=fit is not None, skipped=tuple(bad or ()))


def _images_in(folder: Path) -> list[Path]:
    """Image files by name; hidden ones, folders, pipes and devices are none."""
    files = (file for file in folder.glob("[!.]*") if file.suffix.lower() in KINDS)
    return sorted(file for file in files if file.is_file())


def _squares(
    root: Path, files: Sequence[Path], fit: Fit | None, bad: list[str] | None
) -> tuple[np.ndarray, list[int]]:
    """The images and which files they are of; those that cannot be read go to `bad`, if allowed."""
    images: list[np.ndarray] = []
    kept: list[int] = []
    for number, file in enumerate(files):
        try:
            images.append(_decode(file, fit))
        except InputError as error:
            if bad is None:
                raise
            bad.append(error.message)
            continue
        kept.append(number)
        if len(images) * images[0].nbytes > MOST_BYTES or len(images) > MOST_IMAGES:
            raise InputError(f"{root} has too many images", "name a smaller folder")
    if not images:
        raise InputError(f"no image of {root} can be read: {(bad or [''])[0]}", "repair one")
    shapes = {image.shape for image in images}
    if len(shapes) > 1 or images[0].shape[0] != images[0].shape[1]:
        raise InputError(
            f"{root}: images are not squares of one size",
            "resize them; the world of images does it with world.side",
        )
    return np.stack(images), kept


def _decode(path: Path, fit: Fit | None = None) -> np.ndarray:
    """The pixels of one image file, whatever its name says, of a format that is meant here.

    Pillow knows many more, and some of them run programs.
    """
    try:
        raw = io.BytesIO(read_regular(path, MOST_FILE))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on odd colour profiles; sizes are checked here
            with Image.open(raw, formats=FORMATS) as image:
                _check_size(path, image.width, image.height)
                turned = ImageOps.exif_transpose(image)
                plain = _eight_bits(path, turned).convert("RGB")
                return np.asarray(plain if fit is None else fit(plain))
    except InputError:
        raise
    except Exception as error:  # whatever hostile bytes lead to
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        listed = ", ".join(FORMATS)
        raise InputError(
            f"{path} is not a readable image{why}", f"remove it, or repair it; read are {listed}"
        ) from None


def _check_size(path: Path, width: int, height: int) -> None:
    """Refuse what an image declares before it is decoded: rows cost memory, even empty ones."""
    if width * height > MOST_PIXELS or max(width, height) > LONGEST:
        raise InputError(
            f"{path.name} is too large: {width:,} x {height:,}",
            f"{MOST_PIXELS:,} pixels at most, {LONGEST:,} along a side",
        )


def _eight_bits(path: Path, image: Image.Image) -> Image.Image:
    """Brightness of 16 bits as 8; Pillow by itself would cut off whatever is above 255."""
    if image.mode.startswith("I;16"):
        return Image.fromarray(
            ((np.asarray(image).astype(np.uint32) + 128) // 257).astype(np.uint8)
        )
    if image.mode in ("I", "F"):
        raise InputError(f"{path.name} has pixels of 32 bits", "8 or 16 are read")
    return image


def load_idx(path: Path) -> Pictures:
    """The four IDX files of MNIST or Fashion-MNIST, packed with gzip or not."""
    arrays = [_idx(path, name) for name in IDX_NAMES]
    return pictures(path.name, (arrays[0], arrays[1]), (arrays[2], arrays[3]))


def is_idx(path: Path) -> bool:
    """Whether a folder holds IDX files."""
    return any((path / (IDX_NAMES[0] + end)).is_file() for end in ("", ".gz"))


def _idx(folder: Path, name: str) -> np.ndarray:
    packed = folder / f"{name}.gz"
    try:
        if packed.is_file():
            with gzip.open(packed) as file:
                raw = file.read(2**28 + 1)
        else:
            raw = content(folder / name, 2**28)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {packed.name}: {error}", "download it again") from None
    if len(raw) > 2**28:
        raise InputError(f"{packed.name} is too large", "is it the file?")
    dimensions = raw[3] if raw[:3] == b"\0\0\x08" and len(raw) > 3 else 0
    shape = tuple(np.frombuffer(raw[4 : 4 + 4 * dimensions], ">u4").tolist())
    start = 4 + 4 * dimensions
    if not dimensions or len(raw) - start != int(np.prod(shape, dtype=object)):
        raise InputError(f"{name} is not an IDX file of bytes", "download it again")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)
