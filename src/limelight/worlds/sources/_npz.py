"""Arrays in an npz: what each says of itself is checked before any of it is unpacked."""

import math
import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from limelight._core.errors import InputError
from limelight.worlds.sources._base import MOST_BYTES

#: Beyond this many bytes, an array may be this many times as large as what it was packed to.
UNSUSPICIOUS, MOST_PACKED = 2**27, 200
#: Files in an archive at most.
MOST_MEMBERS = 1_000

HINT = "expected plain arrays, as np.savez writes"


def read_arrays(path: Path, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """The wanted arrays that are there; whatever else the file holds is not read.

    Raises:
        InputError: In one line, for a file that is damaged, lies about its sizes, is too large, or
            holds Python objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            chosen = [part for part in members if part.filename.removesuffix(".npy") in wanted]
            if len(members) > MOST_MEMBERS or sum(part.file_size for part in chosen) > MOST_BYTES:
                raise InputError(f"{path.name} is too large", f"at most {MOST_BYTES >> 30} GiB")
            for part in chosen:
                _check_header(archive, part, path.name)
            found = {}
            for part in chosen:
                with archive.open(part) as file:
                    name = part.filename.removesuffix(".npy")
                    found[name] = npy.read_array(file, allow_pickle=False)
            return found
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", "check it") from None
    except Exception:  # whatever hostile bytes lead to
        raise InputError(f"{path.name} cannot be read: it is damaged", HINT) from None


def _check_header(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> None:
    """Refuse an array that is not what its header says, or that is a bomb."""
    with archive.open(part) as file:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file)
        start = file.tell()
    if dtype.hasobject:
        raise InputError(f"{name} cannot be read: it holds Python objects", HINT)
    if start + math.prod(shape) * dtype.itemsize != part.file_size:
        raise InputError(
            f"{name} cannot be read: {part.filename} has another size than it says", HINT
        )
    if part.file_size > max(UNSUSPICIOUS, MOST_PACKED * part.compress_size):
        raise InputError(
            f"{name} is too large: {part.file_size:,} bytes packed into {part.compress_size:,}",
            "is it a data set?",
        )
