"""The machine under a study: its devices, their memory, and the compilation cache."""

import functools
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from limelight._core.backend import on_gpu

#: Share of a device's memory that one chunk may take.
SHARE = 0.4
#: Trials in a chunk at most.
WIDEST = {"cpu": 128, "gpu": 4096, "tpu": 4096}
#: Bytes of a chunk at most: on a CPU a chunk that stays near the cache is the fast one (token by
#: token at 24 MB per trial, CPU time per step was 1.3 to 2.5 ms at width 4, 2.5 to 2.9 ms at 16).
ROOM = {"cpu": 128 * 2**20}
#: Rough sustained FLOP/s of these small programs on one device, for time estimates only.
PACE = {"cpu": 5e9, "gpu": 2e12, "tpu": 2e12}

#: Environment variables that compilers and libraries read, and that may move the last bits.
FLAGS = (
    "CUBLAS_WORKSPACE_CONFIG",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_X64",
    "JAX_NUMPY_DTYPE_PROMOTION",
    "JAX_PLATFORMS",
    "JAX_RANDOM_SEED_OFFSET",
    "JAX_THREEFRY_PARTITIONABLE",
    "LIBTPU_INIT_ARGS",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "XLA_FLAGS",
)

#: Told to a GPU's compiler: products by the library, none of its own. For a ViT the search for its
#: own takes a minute or two, and with JAX 0.11 it can end the process: a failed check of the pass
#: that makes them (`triton_tiling_propagation`), which nobody can catch.
LIBRARY: Mapping[str, str | bool] = {"xla_gpu_enable_triton_gemm": False}
#: The same, and of the library's products the first that will do. To time them all takes longer
#: than most studies run, and what is chosen, and so the last digit, can differ from run to run.
FIRST: Mapping[str, str | bool] = {"xla_gpu_autotune_level": "0", **LIBRARY}


def for_gpu(options: Mapping[str, str | bool]) -> dict[str, str | bool] | None:
    """What to tell the compiler: these options if it is a GPU's, else nothing."""
    return dict(options) if options and on_gpu() else None


#: Seconds of computing, as planned, up to which a compiler should hurry.
SHORT = 300.0


#: JAX's flag, and what it was last set to here: another value is the user's.
DRAWN = "jax_threefry_gpu_kernel_lowering"
_drawn = [False]


def draw_by_kernel(seconds: float) -> None:
    """Let the random numbers of a short run on a GPU come from JAX's own kernel.

    They are the same numbers. Written out in every program that draws them, the hundred operations
    of a draw are half of what the compiler spends its time on; but then they need no kernels of
    their own in every step, which a long run would notice. What the user chose stands.
    """
    if on_gpu() and DRAWN.upper() not in os.environ and getattr(jax.config, DRAWN) == _drawn[0]:
        _drawn[0] = seconds <= SHORT
        jax.config.update(DRAWN, _drawn[0])


def in_haste(seconds: float) -> dict[str, str | bool | int] | None:
    """What to tell a CPU's compiler about a run of so many seconds; nothing to any other.

    With few passes it needs a third of the time, and what it makes runs as fast or up to a seventh
    slower (`benchmarks/compiling.py`), which only a long run would notice. A level that the user
    chose stands.
    """
    chosen = "xla_backend_optimization_level" in os.environ.get("XLA_FLAGS", "")
    if chosen or jax.default_backend() != "cpu" or seconds > SHORT:
        return None
    options: dict[str, str | bool | int] = {"xla_backend_optimization_level": 1}
    if jax.__version_info__ < (0, 11):  # later compilers do not know it, and stop there
        options["xla_cpu_use_fusion_emitters"] = False
    return options


@functools.cache
def by_library(function: Callable) -> Callable:
    """The function of arrays compiled, on a GPU with `LIBRARY`, on a CPU in haste.

    To be called when it is used, not as a decorator: it asks which device there is.
    """
    return jax.jit(function, compiler_options=in_haste(0.0) or for_gpu(LIBRARY))


def memory() -> int:
    """Bytes that one device may use."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 * 2**30


def chunk_width(bytes_a_trial: int, rows: int) -> int:
    """Trials in one program: all of them, or as many as fit, then a power of two a device."""
    devices = jax.local_device_count()
    most = min(room(bytes_a_trial, jax.default_backend(), memory()), -(-rows // devices))
    if devices * most >= rows:  # one chunk holds a whole group
        return devices * most
    return devices << (most.bit_length() - 1)


def room(bytes_a_trial: int, backend: str, memory: int) -> int:
    """Trials that a device of some kind and memory computes at one time; at least one."""
    limit = min(SHARE * memory, ROOM.get(backend, math.inf))
    return max(1, min(int(limit / max(bytes_a_trial, 1)), WIDEST.get(backend, 128)))


def hands(chunk: int) -> int:
    """Chunks of so many bytes that are computed at a time.

    On a CPU two, where there are cores and memory: most of these programs keep one core busy. A
    worker that was given one core of many computes one.
    """
    given = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(given(0)) if given else os.cpu_count() or 1
    spare = jax.default_backend() == "cpu" and cores > 1 and 2 * chunk <= SHARE * memory()
    return 2 if spare else 1


def over_trials(width: int) -> NamedSharding:
    """The local devices share the leading axis, the trials."""
    return NamedSharding(_mesh(width), PartitionSpec("trial"))


def everywhere(width: int) -> NamedSharding:
    """The same value on every one of these devices."""
    return NamedSharding(_mesh(width), PartitionSpec())


def _mesh(width: int) -> Mesh:
    """All local devices, or as many as divide a width that another machine chose."""
    devices = jax.local_devices()
    many = max(n for n in range(1, len(devices) + 1) if width % n == 0)
    return Mesh(devices[:many], ("trial",))


def use_cache() -> Path | None:
    """Keep compiled programs in the user's cache folder, unless the user chose another place."""
    chosen = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if chosen is not None:
        return Path(chosen) if chosen else None  # no name is JAX's word for none
    if os.environ.get("LIMELIGHT_CACHE", "") == "off":
        return None
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "limelight" / "xla"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a read-only home, or a user without one
        return None  # compile anew each time
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return folder


def describe_machine() -> dict[str, Any]:
    """Versions and devices, for a manifest."""
    names = ("limelight", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "pyarrow")
    versions = {name: _version(name) for name in names}
    device = jax.local_devices()[0]
    flags = {name: os.environ[name] for name in FLAGS if name in os.environ}
    return {
        "commit": commit(),
        **({"environment": flags} if flags else {}),
        "versions": {"python": platform.python_version(), **versions},
        "device": {
            "platform": device.platform,
            "kind": device.device_kind,
            "count": jax.local_device_count(),
            "cores": os.cpu_count(),
            "system": sys.platform,
        },
    }


def commit() -> str:
    """The commit of a source checkout, `LIMELIGHT_COMMIT` where there is none, else nothing."""
    told = os.environ.get("LIMELIGHT_COMMIT")
    if told:
        return "".join(filter(str.isprintable, told))
    here = Path(__file__).resolve().parents[3]
    if not (here / ".git").exists():
        return ""
    command = ["git", "-C", str(here), "describe", "--always", "--abbrev=40", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from source
        return "source"
