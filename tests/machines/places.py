"""Places that lack something, each made for the time of a test and gone after it.

A function yields a `Place`, or raises `Unavailable` with the reason where this machine cannot make
it.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.machines.quick import Place

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
#: A user that has no name, no group and no home.
NAMELESS = 54321
EIGHT_GB = 8_000_000_000
#: Puts a small /dev in the place of the usual one, in a space of names of its own.
BARE_DEV = """
d=$(mktemp -d) && mount -t tmpfs none $d && mkdir $d/shm && mount -t tmpfs none $d/shm &&
for n in null zero random urandom; do cp -a /dev/$n $d/; done && ln -s /proc/self/fd $d/fd &&
mount --bind $d /dev && exec "$@"
"""


class Unavailable(Exception):
    """This machine cannot make the place."""


@contextlib.contextmanager
def copied(name: str = "limelight") -> Iterator[tuple[Path, Path]]:
    """A copy of the tree that everybody may write, and a scratch folder beside it."""
    with tempfile.TemporaryDirectory(prefix="machines") as folder:
        top = Path(folder).resolve()
        tree, scratch = top / name, top / f"{name} scratch"
        left = shutil.ignore_patterns(".*", "results", "__pycache__", "demo", "dist")
        shutil.copytree(ROOT, tree, ignore=left)
        (tree / "results").symlink_to(ROOT / "results")
        scratch.mkdir()
        for path in (top, scratch, *(p for p in tree.rglob("*") if p.is_dir()), tree):
            path.chmod(0o777)
        yield tree, scratch


def surroundings(tree: Path, **other: str) -> dict[str, str]:
    """The usual one, with the library of the tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    return {**kept, "PYTHONPATH": str(tree / "src"), "MPLBACKEND": "Agg", **other}


@contextlib.contextmanager
def usual() -> Iterator[Place]:
    """Nothing is missing; to compare with."""
    with copied() as (tree, scratch):
        yield Place(sys.executable, tree, scratch, environment=surroundings(tree))


@contextlib.contextmanager
def spaces() -> Iterator[Place]:
    """A path with spaces, quotes and letters that are not ASCII."""
    with copied("it's a \u00fcber path") as (tree, scratch):
        yield Place(sys.executable, tree, scratch, environment=surroundings(tree))


@contextlib.contextmanager
def ascii_only() -> Iterator[Place]:
    """A locale that is not UTF-8, with Python's own remedies switched off."""
    settings = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with copied() as (tree, scratch):
        yield Place(sys.executable, tree, scratch, environment=surroundings(tree, **settings))


@contextlib.contextmanager
def no_git() -> Iterator[Place]:
    """A path of programs that has no git."""
    with copied() as (tree, scratch):
        programs = tree.parent / "programs"
        programs.mkdir()
        for folder in os.environ["PATH"].split(os.pathsep):
            for program in Path(folder).glob("*") if folder else ():
                link = programs / program.name
                if not program.name.startswith("git") and not link.is_symlink():
                    link.symlink_to(program)
        environment = surroundings(tree, PATH=str(programs))
        yield Place(sys.executable, tree, scratch, environment=environment)


@contextlib.contextmanager
def no_dev_full() -> Iterator[Place]:
    """A /dev with the four usual devices and no `full`."""
    before = ("unshare", "-m", "sh", "-c", BARE_DEV, "sh")
    check = [*before, "sh", "-c", "test ! -e /dev/full && test -e /dev/null"]
    if os.name != "posix" or subprocess.run(check, capture_output=True).returncode:
        raise Unavailable("mounting needs root")
    with copied() as (tree, scratch):
        yield Place(sys.executable, tree, scratch, before, surroundings(tree))


@contextlib.contextmanager
def eight_gb() -> Iterator[Place]:
    """A control group of 8 GB, swap included; the most that was used is its `peak`."""
    with copied() as (tree, scratch), _group() as (before, used):
        place = Place(sys.executable, tree, scratch, before, surroundings(tree))
        yield place
        place.peak = max(used)


@contextlib.contextmanager
def whole_in_eight_gb() -> Iterator[Place]:
    """The same for the tree itself: the whole suite also reads what a copy leaves out."""
    with tempfile.TemporaryDirectory(prefix="machines") as scratch, _group() as (before, used):
        place = Place(sys.executable, ROOT, Path(scratch), before, surroundings(ROOT))
        yield place
        place.peak = max(used)


@contextlib.contextmanager
def _group() -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Words that put a program into the group, and the bytes its processes held, looked at often.

    Files that the system keeps in memory are not counted: it gives them up when asked.
    """
    group = Path("/sys/fs/cgroup/memory/limelight")
    try:
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(EIGHT_GB))
    except OSError as error:
        raise Unavailable(f"no control group can be made: {error.strerror}") from None
    used, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            lines = (group / "memory.stat").read_text().splitlines()
            counted = dict(line.split() for line in lines)
            used.append(int(counted["total_rss"]) + int(counted.get("total_shmem", 0)))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"), used
    finally:
        over.set()
        watcher.join()
        with contextlib.suppress(OSError):
            group.rmdir()


@contextlib.contextmanager
def other_user() -> Iterator[Place]:
    """Another user than root, with a home of its own."""
    with _as(NOBODY) as place:
        home = place.scratch / "home"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        place.environment["HOME"] = str(home)
        yield place


@contextlib.contextmanager
def locked_home() -> Iterator[Place]:
    """Another user, whose home can be read and not written."""
    with _as(NOBODY) as place:
        home = place.scratch / "home"
        home.mkdir(mode=0o555)
        place.environment["HOME"] = str(home)
        yield place


@contextlib.contextmanager
def nameless() -> Iterator[Place]:
    """A number without a name in the list of users, without a home: a usual thing in containers."""
    with _as(NAMELESS) as place:
        for name in ("HOME", "USER", "LOGNAME"):
            place.environment.pop(name, None)
        yield place


@contextlib.contextmanager
def _as(user: int) -> Iterator[Place]:
    if os.geteuid() != 0:
        raise Unavailable("only root can become another user")
    with copied() as (tree, scratch):
        environment = surroundings(tree)
        for name in [n for n in environment if n.startswith("XDG_") or n == "MPLCONFIGDIR"]:
            del environment[name]
        options = {"user": user, "group": user, "extra_groups": []}
        python, paths = _reachable(options)
        environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], *paths])
        yield Place(python, tree, scratch, environment=environment, options=options)


def _reachable(options: dict) -> tuple[str, list[str]]:
    """An interpreter that the user may start: this one, or the system's of the same version."""
    libraries = sysconfig.get_paths()["purelib"]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python, paths in ((sys.executable, []), (f"/usr/bin/python{version}", [libraries])):
        with contextlib.suppress(OSError):
            there = "import os, sys; sys.exit(not os.access(sys.argv[1], os.R_OK | os.X_OK))"
            if subprocess.run([python, "-c", there, libraries], **options).returncode == 0:
                return python, paths
    raise Unavailable(f"no Python {version} that another user may start")


PLACES = {
    "as it is": usual,
    "path with spaces and quotes": spaces,
    "locale that is not UTF-8": ascii_only,
    "no git": no_git,
    "no /dev/full": no_dev_full,
    "another user than root": other_user,
    "home that cannot be written": locked_home,
    "user without name or home": nameless,
    "8 GB of memory": eight_gb,
}
#: Places for the whole suite.
WHOLE = {"8 GB of memory, whole suite": whole_in_eight_gb}
