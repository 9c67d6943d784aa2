"""The official CIFAR archives, packed or unpacked; their pickles are read, never run."""

import contextlib
import gzip
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.worlds.sources._base import NO_COARSE, Pictures, content, pictures
from limelight.worlds.sources._pickles import read_plain

#: Bytes a batch may have, and an archive when unpacked; the official ones have 156 and 186 MB.
MOST_BATCH, MOST_ARCHIVE, MOST_MEMBERS = 2**28, 2**29, 64

TEN = (tuple(f"data_batch_{i}" for i in range(1, 6)), ("test_batch",), "batches.meta")
HUNDRED = (("train",), ("test",), "meta")
#: By folder name: training batches, test batches, names of classes.
FOLDERS = {"cifar-10-batches-py": TEN, "cifar-100-python": HUNDRED}

#: What to do about an archive that cannot be one of theirs.
OFFICIAL = "download the official one again: www.cs.toronto.edu/~kriz/cifar.html"

Read = Callable[[str], bytes]


def is_archive(path: Path) -> bool:
    """Whether a file looks like a packed archive."""
    return path.name.endswith((".tar.gz", ".tgz", ".tar"))


def is_folder(path: Path) -> bool:
    """Whether a folder holds the unpacked batches."""
    parts = FOLDERS.values()
    return any((path / test).is_file() and (path / meta).is_file() for _, (test,), meta in parts)


def load_archive(path: Path, coarse: bool = False) -> Pictures:
    """Read an archive in memory. Nothing is unpacked to the disk."""
    members = _members(path)
    folders = {name.split("/")[0] for name in members}
    known = [folder for folder in FOLDERS if folder in folders]
    if not known:
        raise InputError(
            f"{path.name} is not an official CIFAR archive",
            "expected a folder " + " or ".join(FOLDERS) + " in it",
        )
    folder = known[0]
    reader = lambda name: _need(members, f"{folder}/{name}", path)
    return _load(reader, FOLDERS[folder], coarse)


def load_folder(path: Path, coarse: bool = False) -> Pictures:
    """Read unpacked batches."""
    parts = TEN if (path / TEN[1][0]).is_file() else HUNDRED
    return _load(lambda name: content(path / name, MOST_BATCH), parts, coarse)


def _members(path: Path) -> dict[str, bytes]:
    """The plain files of an archive; one with anything else in it is refused."""
    found: dict[str, bytes] = {}
    total = 0
    try:
        with _unpacked(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for count, member in enumerate(archive):
                name = member.name.removeprefix("./")
                total += member.size
                if not (member.isfile() or member.isdir()):
                    raise InputError(
                        f"{path.name} holds a link or a device, {name[:80]!r}", OFFICIAL
                    )
                if name.startswith("/") or ".." in name.split("/"):
                    raise InputError(
                        f"{path.name} has a path that leaves it, {name[:80]!r}", OFFICIAL
                    )
                if count >= MOST_MEMBERS or member.size > MOST_BATCH or total > MOST_ARCHIVE:
                    raise InputError(f"{path.name} is too large for a CIFAR archive", OFFICIAL)
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    found[name] = file.read(MOST_BATCH)
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or "not a gzip file"
        raise InputError(f"cannot read {path}: {reason}", "download it again") from None
    except Exception as error:  # whatever hostile bytes lead to
        raise InputError(
            f"{path.name} is damaged: {type(error).__name__}", "download it again"
        ) from None
    return found


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[Any]:
    """The bytes of an archive, unpacked as they are read, and never more than an archive has."""
    with open(path, "rb") as raw:
        plain: Any = raw if path.name.endswith(".tar") else gzip.GzipFile(fileobj=raw)
        yield _Limited(plain, path.name)


class _Limited:
    """A stream that ends in a refusal: even a header of an archive can say that it is endless."""

    def __init__(self, stream: Any, name: str):
        self.stream, self.name, self.left = stream, name, MOST_ARCHIVE + 2**20

    def read(self, size: int) -> bytes:
        """Some bytes, while there are any allowed."""
        found = self.stream.read(size)
        self.left -= len(found)
        if self.left < 0:
            raise InputError(f"{self.name} is too large for a CIFAR archive", OFFICIAL)
        return found


def _need(members: dict[str, bytes], name: str, path: Path) -> bytes:
    if name not in members:
        raise InputError(f"{path.name}: {name} is missing", "download the archive again")
    return members[name]


def _load(
    read: Read, parts: tuple[tuple[str, ...], tuple[str, ...], str], coarse: bool
) -> Pictures:
    train, test, meta = parts
    if parts is HUNDRED:
        name, prefix = "CIFAR-100", "coarse_" if coarse else "fine_"
    else:
        name, prefix = "CIFAR-10", ""
        if coarse:
            raise InputError(NO_COARSE.format(name), "only CIFAR-100 has both")
    names = read_plain(read(meta), meta).get(f"{prefix}label_names", [])
    if not isinstance(names, list) or not all(isinstance(word, bytes | str) for word in names):
        raise InputError(f"{meta}: no names of classes in it", "download the archive again")
    training, testing = (_batches(read, part, f"{prefix}labels") for part in (train, test))
    if names and max(part[1].max(initial=0) for part in (training, testing)) >= len(names):
        raise InputError(f"{meta}: fewer names than classes", "download the archive again")
    return pictures(
        name,
        training,
        testing,
        [n.decode("ascii", "replace") if isinstance(n, bytes) else str(n) for n in names],
    )


def _batches(read: Read, names: tuple[str, ...], key: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels = [], []
    for name in names:
        batch = read_plain(read(name), name)
        data, found = batch.get("data"), batch.get(key)
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (3072,):
            raise InputError(f"{name}: no 32 x 32 images in it", "download the archive again")
        if not isinstance(found, list) or not all(type(label) is int for label in found):
            raise InputError(f"{name}: no {key} in it", "download the archive again")
        if found and not 0 <= min(found) <= max(found) < 100:
            raise InputError(f"{name}: {key} are not class numbers", "download the archive again")
        images.append(data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        labels.append(np.array(found, dtype=np.int32))
    return np.concatenate(images), np.concatenate(labels)
