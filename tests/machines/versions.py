"""Other Pythons, with the oldest and the newest of what pyproject.toml allows; and a wheel alone.

Environments are made by uv (`pip install uv`), which can also resolve to the oldest versions.
Pythons are those that are on this machine.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.machines.places import ROOT, Unavailable, copied, surroundings
from tests.machines.quick import Place

PYTHONS = ("3.11", "3.12", "3.13")
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
#: Bytes that a source distribution may have: the results alone have tens of megabytes.
LARGEST_SDIST = 10_000_000
#: What is written down of an environment.
NAMED = ("jax", "equinox", "optax", "numpy", "scipy", "pyarrow", "typer", "rich", "matplotlib")


def uv(*words: str) -> str:
    """What uv says; it must be there."""
    program = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
    if program is None:
        raise Unavailable("uv is not installed")
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise Unavailable(f"uv {words[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def interpreter(version: str) -> str:
    """The path of a Python that is here; pyenv hides all but one behind its own commands."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for found in sorted(pyenv.glob(f"{version}.*/bin/python")):
        return str(found)
    return uv("python", "find", "--no-python-downloads", version)


@contextlib.contextmanager
def versions(python: str, which: str) -> Iterator[Place]:
    """An environment of the oldest or the newest; the tools of the tests are the newest."""
    found = interpreter(python)
    with copied() as (tree, scratch), _venv(found) as inside:
        wanted = scratch / "requirements.txt"
        compiled = ("pip", "compile", "-q", "--no-annotate", "--no-header", "pyproject.toml")
        wanted.write_text(uv(*compiled, "--resolution", RESOLUTIONS[which], "--python", found))
        uv("pip", "install", "--python", inside, "-r", str(wanted), *_tools())
        yield Place(inside, tree, scratch, environment=surroundings(tree))


@contextlib.contextmanager
def wheel(python: str) -> Iterator[Place]:
    """A wheel, built and installed without constraints in an environment that has nothing else."""
    found = interpreter(python)
    with copied() as (_, scratch), _venv(found) as inside:
        uv("build", "-q", "--out-dir", str(scratch / "dist"), "--python", found)
        (built,) = (scratch / "dist").glob("*.whl")
        _check_source(next((scratch / "dist").glob("*.tar.gz")))
        uv("pip", "install", "--python", inside, str(built))
        bare = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"}
        yield Place(inside, None, scratch, environment=bare)


def _check_source(path: Path) -> None:
    """A source distribution carries no results."""
    with tarfile.open(path) as archive:
        names = archive.getnames()
    carried = [name for name in names if name.split("/")[1:2] == ["results"]]
    assert not carried, "the sdist carries results"
    assert path.stat().st_size < LARGEST_SDIST, f"{path.stat().st_size:,} bytes"


@contextlib.contextmanager
def _venv(python: str) -> Iterator[str]:
    """The interpreter of a new environment."""
    with tempfile.TemporaryDirectory(prefix="machines") as folder:
        uv("venv", "-q", "--python", python, f"{folder}/venv")
        yield f"{folder}/venv/bin/python"


def _tools() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["test"]


def named(place: Place) -> dict[str, str]:
    """The versions of a place."""
    code = (
        "import importlib.metadata as m, json, platform; "
        f"print(json.dumps({{'python': platform.python_version()}} | "
        f"{{n: m.version(n) for n in {NAMED!r}}}))"
    )
    return json.loads(place.run("-c", code, cwd=place.scratch, limit=60).stdout)


VERSIONS = {
    f"Python {python}, {which}": partial(versions, python, which)
    for python in PYTHONS
    for which in RESOLUTIONS
}
WHEELS = {f"wheel, Python {python}": partial(wheel, python) for python in PYTHONS}
