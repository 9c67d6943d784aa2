"""Which process of which machine: said in a way that others can check."""

import functools
import hashlib
import os
import re
import socket
import time
from pathlib import Path

#: Seconds after which a file that a process of another machine was writing counts as left behind.
DAY = 86_400.0
_OWNER = re.compile(r"\.([0-9a-f]{8})-(\d{1,10})\.[^.]*\.tmp")


def space() -> str:
    """One start of one machine, and one container in it: where a process's number means it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot[:8] + os.readlink("/proc/self/ns/pid")
    except OSError:
        return "?"


def ended(pid: int) -> bool:
    """Whether no process of this machine has that number; in doubt, one has."""
    if os.name != "posix":  # elsewhere asking would stop it
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


def owned(name: str) -> str:
    """How the name of a temporary file begins, for a file of that name: with its owner in it."""
    return f".{name[:40]}.{_machine()}-{os.getpid()}."


def left_behind(path: Path) -> bool:
    """Whether the owner of a temporary file is gone, by the file's name and, from afar, its age."""
    found = _OWNER.search(path.name)
    if found is None:
        return False
    if found[1] == _machine():
        return ended(int(found[2]))
    return time.time() - path.stat(follow_symlinks=False).st_mtime > DAY


@functools.cache
def _machine() -> str:
    return hashlib.sha256(f"{socket.gethostname()} {space()}".encode()).hexdigest()[:8]
