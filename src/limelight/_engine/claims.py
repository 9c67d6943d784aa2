"""Who works on which chunk: a lock that dies with its process, or a lease where locks do not work.

A lock file is held by `flock`, which the system releases with the process. Some file systems have
none (Lustre without the option, some NFS). There a claim is a lease: a file that appears with all
of its content in one step, so that of many that try one succeeds, and that its holder touches
every few seconds. A lease whose process is gone, or that nobody touched for long, is taken over.

Either only saves work: two processes that compute one chunk write the same rows.
"""

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from limelight._core.files import (
    explained,
    lock,
    locked,
    read_regular,
    remove_unheld,
    still_named,
)
from limelight._core.processes import DAY, ended, owned, space

#: Seconds between two touches of a lease, and after how many without one its holder counts as dead:
#: a client of NFS may see a touch a minute late.
BEAT, LEASE = 10.0, 120.0
#: How the name of a lease ends.
ENDING = ".lease"


def holder() -> dict[str, Any]:
    """This process, for others to read: the machine, the process, the job and the worker's number.

    `space` tells apart processes with one number: those of two containers, or before a restart.
    """
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "space": space(),
        "job": job(),
        "worker": os.environ.get("LIMELIGHT_WORKER", ""),
    }


def job() -> str:
    """What a scheduler calls this process's job; nothing without one."""
    known = os.environ
    if "LIMELIGHT_JOB" in known:
        return known["LIMELIGHT_JOB"]
    if "SLURM_ARRAY_JOB_ID" in known and "SLURM_ARRAY_TASK_ID" in known:
        return f"{known['SLURM_ARRAY_JOB_ID']}_{known['SLURM_ARRAY_TASK_ID']}"
    return known.get("SLURM_JOB_ID", "")


class Claims:
    """The claims of a run folder, by locks or by leases.

    Args:
        folder: Where they are kept.
        leases: Whether locks are known not to work between the machines that share the folder;
            otherwise a lock that fails is what tells. The environment says it with
            `LIMELIGHT_LOCKS=off`, for file systems whose locks hold on one machine only.
    """

    def __init__(self, folder: Path, leases: bool = False):
        self.folder = folder
        self.leases = leases or os.environ.get("LIMELIGHT_LOCKS", "") == "off"
        self.mine: dict[Path, str] = {}
        self.seen: dict[Path, tuple[Any, float]] = {}
        self.heart: threading.Thread | None = None

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Whether this process may work on something now; the claim dies with the process."""
        if not self.leases:
            path = self.folder / name
            handle, mine = self._locked(path)
            try:
                if mine is not None:
                    yield mine
                    return
                self.leases = True
            finally:
                if mine is not False:
                    with contextlib.suppress(OSError):
                        path.unlink()
                os.close(handle)
        path = self.folder / (name + ENDING)
        free = not path.exists() or self._inherits(path)
        mine = free and self._take(path)
        try:
            yield mine
        finally:
            if mine:
                self._release(path)

    def names(self) -> set[str]:
        """What seems to be held, at one look: a killed process may have left some of it."""
        try:
            return {name.removesuffix(ENDING) for name in os.listdir(self.folder)}
        except OSError:
            return set()

    def held(self) -> dict[str, dict[str, Any]]:
        """What is held now, by name, each with its holder and since when."""
        found = {}
        for path in sorted(self.folder.glob("[!.]*")):
            with contextlib.suppress(OSError):
                lease = path.name.endswith(ENDING)
                alive = not self._looks_dead(path) if lease else locked(path)
                if alive:
                    name = path.name.removesuffix(ENDING) if lease else path.name
                    found[name] = read_holder(path)
        return found

    def tidy(self) -> None:
        """Remove locks that nobody holds and leases of processes that are no more."""
        for path in self.folder.glob("[!.]*"):
            with contextlib.suppress(OSError, ValueError):
                if not path.name.endswith(ENDING):
                    remove_unheld(path)
                    continue
                who, age = _parsed(content := _text(path)), time.time() - path.stat().st_mtime
                if gone(who) or (age > DAY and not is_here(who)):
                    self._bury(path, content)

    # --- locks ---------------------------------------------------------------------------------

    def _locked(self, path: Path) -> tuple[int, bool | None]:
        """An open lock file, and whether it is ours; `None` on a file system without locks."""
        with explained(path):
            while True:
                try:
                    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
                except FileNotFoundError:  # somebody tidied up
                    self.folder.mkdir(exist_ok=True)
                    continue
                mine = lock(handle)
                # Whoever held it before may have removed it since it was opened.
                if not mine or still_named(handle, path):
                    break
                os.close(handle)
        if mine:
            with contextlib.suppress(OSError):  # a full disk: it is held all the same
                if os.fstat(handle).st_size:  # a file system may flush what was cut to nothing
                    os.ftruncate(handle, 0)
                os.write(handle, _content().encode())
        return handle, mine

    # --- leases --------------------------------------------------------------------------------

    def _take(self, path: Path) -> bool:
        """Put a lease of ours in its place unless one is there; of many that try, one succeeds."""
        with explained(path):
            content = _content()
            draft = self._unseen()
            try:
                draft.write_text(content)
                os.link(draft, path)
            except FileExistsError:
                return False
            except FileNotFoundError:  # somebody tidied up
                self.folder.mkdir(exist_ok=True)
                return self._take(path)
            except OSError:  # no links here: made empty, then filled
                try:
                    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
                except FileExistsError:
                    return False
                os.write(handle, content.encode())
                os.close(handle)
            finally:
                draft.unlink(missing_ok=True)
        self.mine[path] = content
        if self.heart is None or not self.heart.is_alive():
            self.heart = threading.Thread(target=self._beat, daemon=True, name="leases")
            self.heart.start()
        return True

    def _beat(self) -> None:
        while True:
            time.sleep(BEAT)
            for path in list(self.mine):
                with contextlib.suppress(OSError):
                    os.utime(path)

    def _inherits(self, path: Path) -> bool:
        """Whether a lease's holder has stopped, and its lease is taken away by us.

        Time is our own, so no two clocks need to agree.
        """
        try:
            content, status = _text(path), path.stat()
        except (OSError, ValueError):
            return False
        if not gone(_parsed(content)):
            stamp, now = (content, status.st_mtime_ns), time.monotonic()
            before, since = self.seen.setdefault(path, (stamp, now))
            if before != stamp:
                self.seen[path] = stamp, now
            if before != stamp or now - since <= LEASE:
                return False
        return self._bury(path, content)

    def _looks_dead(self, path: Path) -> bool:
        """The same at one look, for which the clocks must roughly agree."""
        return gone(read_holder(path)) or time.time() - path.stat().st_mtime > LEASE

    def _bury(self, path: Path, content: str) -> bool:
        """Take a dead lease away; of many that try, one succeeds."""
        self.seen.pop(path, None)
        grave = self._unseen()
        try:
            path.rename(grave)
            dead = _text(grave) == content
            if not dead:  # another was quicker, and this lease is its own: it goes back
                os.link(grave, path)
            grave.unlink()
        except (OSError, ValueError):
            return False
        return dead

    def _unseen(self) -> Path:
        """A name of our own that no claim has."""
        return self.folder / f"{owned('lease')}{uuid.uuid4().hex}.tmp"

    def _release(self, path: Path) -> None:
        ours = self.mine.pop(path, None)
        with contextlib.suppress(
            OSError, ValueError
        ):  # ours only if nobody took us for dead meanwhile
            if _text(path) == ours:
                path.unlink()


def read_holder(path: Path) -> dict[str, Any]:
    """Who wrote a lock or a lease; nothing where it does not say."""
    try:
        return _parsed(_text(path))
    except (OSError, ValueError):
        return {}


def _text(path: Path) -> str:
    """What a claim says; a pipe, or what is too large to be one, is none."""
    return read_regular(path, 4096).decode()


def _parsed(content: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _content() -> str:
    return json.dumps(holder() | {"since": round(time.time(), 3), "token": uuid.uuid4().hex})


def is_here(who: Mapping[str, Any]) -> bool:
    """Whether a holder is or was a process of this very machine, since its last start."""
    return (who.get("host"), who.get("space")) == (socket.gethostname(), space())


def gone(who: Mapping[str, Any]) -> bool:
    """Whether a holder was a process of this very machine that is no more."""
    if not is_here(who):
        return False
    try:
        return ended(int(who["pid"]))
    except (ValueError, TypeError, KeyError):
        return False
