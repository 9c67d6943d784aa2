"""Files that are whole or not there at all, and what a killed process leaves of them."""

import contextlib
import errno
import glob
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from limelight._core.errors import InputError, StoreError
from limelight._core.processes import left_behind, owned

try:
    import fcntl
except ImportError:  # not on every system; then nothing is known to be left over
    fcntl = None


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name to write to; flushed and renamed to `path` when the block succeeds.

    A failure leaves neither the temporary file nor a half-written `path`.
    """
    path = Path(path)
    with _temporary(path) as temporary, explained(path):
        yield temporary
        flush(temporary)
        temporary.chmod(_usual_mode())
        temporary.replace(path)
        flush(path.parent)


def write_whole(path: str | Path, content: bytes) -> None:
    """Put a file in its place in one step; a link is followed, what it points to is replaced."""
    path = Path(os.path.realpath(path))
    clear_leftovers(path.parent, of=path.name)
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def write_once(path: Path, content: bytes) -> bool:
    """Put a file in its place unless one is there; of many that try at once, one succeeds."""
    with _temporary(path) as temporary, explained(path):
        temporary.write_bytes(content)
        temporary.chmod(_usual_mode())
        flush(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links: last come stays
            temporary.replace(path)
        flush(path.parent)
        return True


def clear_leftovers(folder: Path, locks: bool = True, of: str = "") -> int:
    """Remove the temporary files that killed processes left in a folder; how many there were.

    Whoever writes one holds a lock on it, which dies with the process. Where locks do not work, the
    name tells: it says which process of which machine the file belongs to.

    Args:
        folder: Where to look.
        locks: Whether a lock that can be had shows that nobody holds it.
        of: The name of the file that was to be written; any without one.
    """
    cleared = 0
    for path in folder.glob(f".{glob.escape(of[:40])}*.tmp"):
        with contextlib.suppress(OSError):
            if left_behind(path):
                path.unlink()
                cleared += 1
            elif locks:
                cleared += remove_unheld(path)
    return cleared


def remove_unheld(path: Path) -> bool:
    """Remove a file unless a process holds a lock on it, or locks do not work here."""
    quietly = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, os.O_RDWR | quietly)
    try:
        free = bool(lock(handle)) and still_named(handle, path)
        if free:
            path.unlink()
        return free
    finally:
        os.close(handle)


def from_home(path: str | Path) -> Path:
    """A path with the folder of a user in the place of `~`; an unknown user is refused."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no such user, or a user without a home
        raise InputError(f"there is no home folder for {path}", "write the path out") from None


def read_regular(path: str | Path, most: int | None = None) -> bytes:
    """The content of a plain file; a pipe or a device, which could be endless, is refused.

    Args:
        path: The file; a link is followed.
        most: Bytes that it may have.

    Raises:
        OSError: When it cannot be read, is no plain file, or is larger.
    """
    # Opening a pipe would wait for its writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        if most is not None and status.st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
        return file.read()


def file_digest(path: str | Path) -> str:
    """SHA-256 of a plain file's bytes."""
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", "check it") from None


def files_digest(paths: Iterable[str | Path]) -> str:
    """SHA-256 of a file's bytes; of several files, of all their names and digests."""
    paths = [Path(path) for path in paths]
    if len(paths) == 1:
        return file_digest(paths[0])
    lines = [f"{path.name} {file_digest(path)}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def lock(handle: int) -> bool | None:
    """Lock an open file until it is closed: whether it is ours; `None` where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def locked(path: Path) -> bool:
    """Whether a process holds the lock of a file now."""
    if fcntl is None:
        return False
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(handle)
    return False


def still_named(handle: int, path: Path) -> bool:
    """Whether an open file is the one that its name stands for now."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(os.fstat(handle), there)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A new file beside `path`, locked while it is written, gone afterwards."""
    with explained(path):
        while True:
            handle, name = tempfile.mkstemp(".tmp", owned(path.name), path.parent)
            lock(handle)
            # Another process may have taken it for a leftover before it was locked.
            if still_named(handle, Path(name)):
                break
            os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(handle)


def _usual_mode() -> int:
    """The permissions of any new file; temporary ones are made private."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


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
