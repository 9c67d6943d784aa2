"""Settings of the whole suite: strict ranks, quick compilation, one cache for a run, no display."""

import contextlib
import ctypes
import gc
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("LIMELIGHT_CACHE", "off")

import jax
import jaxtyping
import pytest
from hypothesis import settings

from tests import typed
from tests.page.browser import MISSING, find_chromium

jaxtyping.jaxtyped = typed.checked  # nothing of limelight is imported yet
jax.config.update("jax_numpy_rank_promotion", "raise")

#: Bytes beyond which a worker forgets its compiled programs, and by how many it may then grow.
ROOM, GROWTH = 1_200_000_000, 300_000_000
_room = [ROOM]

# The same examples every time; `pytest --hypothesis-profile=default` looks for others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


def pytest_configure(config):
    """Compile quickly: most tests compile far more than they compute.

    Set before the first program is compiled, and inherited by every process that a test starts. The
    slow tests are compiled as users compile.
    """
    if "not slow" in config.option.markexpr:
        quick = " --xla_backend_optimization_level=0"
        if jax.__version_info__ < (0, 11):  # later releases do not know the flag, and stop at it
            quick += " --xla_cpu_use_fusion_emitters=false"
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + quick
    _share_programs(config)


#: Where the programs of one run of the suite are kept, and how long one compiled to be kept.
PROGRAMS, LEAST = "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"


def _share_programs(config):
    """Compile no program twice: not in the other worker, nor in a process that a test starts.

    The first process makes the folder and removes it; workers inherit it. A folder that is named
    from outside stays, and makes the next run quicker. A process that a test starts reads
    from it and never writes: it may be killed in the middle of a file.
    """
    if PROGRAMS not in os.environ:
        os.environ[PROGRAMS] = folder = tempfile.mkdtemp(prefix="limelight-programs-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        config.add_cleanup(lambda: os.environ.pop(PROGRAMS))
    os.environ[LEAST] = "1e9"
    jax.config.update(PROGRAMS.lower(), os.environ[PROGRAMS])
    jax.config.update(LEAST.lower(), 0.0)


def pytest_collection_finish():
    """Look for garbage less often, and never again in what is imported for good."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(autouse=True)
def _small_workers():
    """Forget compiled programs when a worker grows: kept, they would come to several GB."""
    yield
    if _memory() > _room[0]:
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # give freed memory back to the system
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        # What cannot be given back must not make every later test compile anew.
        _room[0] = max(ROOM, _memory() + GROWTH)


def _memory() -> int:
    """Bytes that this process holds; nothing where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    """The most bytes that this process ever held; nothing where the system does not say."""
    try:
        words = Path("/proc/self/status").read_text(encoding="utf-8").partition("VmHWM:")[2].split()
    except OSError:
        return 0
    return 1024 * int(words[0]) if words else 0


_peaks: list[int] = []


def pytest_sessionfinish(session):
    """A worker tells the first process how large it was."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak"] = _peak()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """One that was lost tells nothing."""
    _peaks.append(getattr(node, "workeroutput", {}).get("peak", 0))


@pytest.fixture
def double():
    """Theory against formulas is checked in float64."""
    with jax.enable_x64(True):
        yield


def pytest_terminal_summary(terminalreporter):
    """Say how large the run was, and loudly when the pages were not tested in a browser."""
    of = f" of {len(_peaks)}" if _peaks else ""
    terminalreporter.line(f"most memory of a process{of}: {max([*_peaks, _peak()]) / 1e9:.2f} GB")
    if find_chromium() is None:
        terminalreporter.section("pages", sep="!", red=True)
        terminalreporter.line(MISSING, red=True)
