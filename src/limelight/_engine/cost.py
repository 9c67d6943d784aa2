"""What one trial costs, counted from its traced program before anything is compiled.

FLOPs count multiply and add separately for matrix products and one for each element of anything
else. Peak bytes follow the life of every intermediate array, as if nothing were fused: an upper
estimate, good for sizing a chunk.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from limelight._core.errors import InputError
from limelight._engine.traced import Traced

#: What a CPU leaves to libraries that wait for its threads, or to Python. Two such calls at a time
#: can wait for each other for ever.
WAITING = frozenset(
    {
        "cholesky",
        "cholesky_update",
        "eig",
        "eigh",
        "fft",
        "geqp3",
        "geqrf",
        "hessenberg",
        "householder_product",
        "lu",
        "ormqr",
        "qr",
        "schur",
        "svd",
        "triangular_solve",
        "tridiagonal",
        "tridiagonal_solve",
        "custom_call",
        "ffi_call",
        "io_callback",
        "pallas_call",
        "pure_callback",
    }
)


@dataclass(frozen=True)
class Cost:
    """FLOPs and peak bytes of one trial, and the shapes of what it leaves.

    Args:
        flops: Multiply and add counted apart.
        bytes: At the peak.
        leaves: The shapes of what it leaves.
        free: Whether two programs of such trials may run in one process at a time.
        trial: What was counted.
    """

    flops: float
    bytes: int
    leaves: Any = None
    free: bool = False
    trial: Traced | None = None


def trial_cost(function: Callable, arguments: tuple, loop_trips: int) -> Cost:
    """Count one call of `function`; a while loop is taken to run `loop_trips` times."""
    trial = Traced.of(function, arguments)
    jaxpr = trial.closed.jaxpr
    free = not WAITING & _names(jaxpr)
    return Cost(_flops(jaxpr, loop_trips), _peak(jaxpr), trial.leaves, free, trial)


def xla_flops(program: Any, *given: Any) -> float:
    """XLA's own count for a jitted function, before compilation, whatever device it is for.

    Where a GPU's products are calls of a library, the count of the compiled program leaves them
    out; and before compilation a GPU's runtime counts nothing. So it is lowered for the host.
    """
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), given)
    try:
        host = jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        raise InputError(
            "JAX was told to leave out the CPU, which counts FLOPs",
            "name it too: JAX_PLATFORMS=cuda,cpu",
        ) from None
    with jax.default_device(host):
        return float(program.lower(*shapes).cost_analysis()["flops"])


def _flops(jaxpr: Jaxpr, trips: int) -> float:
    total = 0.0
    for eqn in jaxpr.eqns:
        inner = [_flops(sub, trips) for sub in _inner(eqn)]
        if inner:
            repeat = eqn.params.get("length", trips if eqn.primitive.name == "while" else 1)
            total += repeat * sum(inner)
        elif eqn.primitive.name == "dot_general":
            (contract, _), _ = eqn.params["dimension_numbers"]
            summed = math.prod(_shape(eqn.invars[0])[axis] for axis in contract)
            total += 2.0 * _size(eqn.outvars[0]) * summed
        else:
            total += sum(_size(var) for var in eqn.outvars)
    return total


def _names(jaxpr: Jaxpr) -> set[str]:
    """The primitives of a program, those inside others too."""
    own = {eqn.primitive.name for eqn in jaxpr.eqns}
    return own.union(*(_names(sub) for eqn in jaxpr.eqns for sub in _inner(eqn)))


def _peak(jaxpr: Jaxpr) -> int:
    last: dict[Any, int] = {}
    for place, eqn in enumerate(jaxpr.eqns):
        for var in eqn.invars:
            if not isinstance(var, Literal):
                last[var] = place
    for var in jaxpr.outvars:
        if not isinstance(var, Literal):
            last[var] = len(jaxpr.eqns)
    alive = {var: _bytes(var) for var in (*jaxpr.invars, *jaxpr.constvars)}
    peak = now = sum(alive.values())
    for place, eqn in enumerate(jaxpr.eqns):
        made = {var: _bytes(var) for var in eqn.outvars}
        inside = max((_peak(sub) for sub in _inner(eqn)), default=0)
        peak = max(peak, now + sum(made.values()) + inside)
        alive |= made
        for var in [var for var in alive if last.get(var, -1) <= place]:
            del alive[var]
        now = sum(alive.values())
    return peak


def _inner(eqn) -> list[Jaxpr]:
    found: list[Jaxpr] = []
    for value in eqn.params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, ClosedJaxpr):
                found.append(item.jaxpr)
            elif isinstance(item, Jaxpr):
                found.append(item)
    return found


def _shape(var: Any) -> tuple[int, ...]:
    return getattr(var.aval, "shape", ())


def _size(var: Any) -> int:
    return math.prod(_shape(var))


def _bytes(var: Any) -> int:
    width = getattr(getattr(var.aval, "dtype", None), "itemsize", 4)
    return _size(var) * width
