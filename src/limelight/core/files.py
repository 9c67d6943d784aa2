"""Files that are whole or not there at all."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from limelight.core.errors import StoreError


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name to write to; flushed and renamed to `path` when the block succeeds.

    A failure leaves neither the temporary file nor a half-written `path`.
    """
    path = Path(path)
    with explained(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
    temporary = Path(name)
    try:
        with explained(path):
            yield temporary
            flush(temporary)
            # mkstemp makes private files; give this one the permissions of any new file.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(path)
            flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: str | Path, content: bytes) -> None:
    """Put a file in its place in one step; a link is followed, what it points to is replaced."""
    with atomic(Path(os.path.realpath(path))) as temporary:
        temporary.write_bytes(content)


def flush(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:  # some file systems do not flush folders
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.EACCES):
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into one line with a hint."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StoreError(
                f"no room to write {path.name}: {error.strerror}",
                "free some space and run the same command again; finished chunks are kept",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreError(
                f"cannot write in {path.parent}: {error.strerror}", "choose another folder"
            ) from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise StoreError(
                f"cannot write {path.name}: there is no folder {path.parent}",
                "make it first, or choose another",
            ) from error
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
