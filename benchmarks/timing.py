"""What the benchmarks share: the time of a call, the rate of plain memory traffic, who measured."""

import shlex
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp

from limelight._engine.device import describe_machine
from limelight._engine.store import now


def about() -> dict[str, Any]:
    """The command, the moment and the machine of a record."""
    return {"command": "python " + shlex.join(sys.argv), "date": now(), **describe_machine()}


def seconds(function, *arguments) -> float:
    """The best of three calls, after one that compiles."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(3):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return min(times)


def copy_rate() -> float:
    """Bytes read and written per second, over an array far larger than any cache."""
    passes = 10
    array = jnp.ones(2**28 if jax.default_backend() == "gpu" else 2**26, jnp.float32)
    sweep = jax.jit(lambda x: jax.lax.fori_loop(0, passes, lambda _, v: v * 1.01, x))
    return passes * 2 * array.nbytes / seconds(sweep, array)
