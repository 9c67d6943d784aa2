"""A study fitted to its workers: how wide a chunk is, and what the whole will cost.

Whoever submits often has no GPU. So the width is found for the device that the workers will have:
as many trials as it holds, but so few that a worker that is stopped loses minutes, and that every
worker has something to do.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from limelight._engine import device
from limelight._engine.plan import Plan

#: Seconds that a chunk should take at most, roughly: what a preemption may cost.
LONGEST = 300.0
#: Chunks per worker at least, so that none waits long for the last.
EACH = 4
#: Bytes of a GPU that nobody has seen.
GPU_MEMORY = 16 * 2**30


@dataclass(frozen=True)
class CostEstimate:
    """What a run by workers will cost.

    Args:
        programs: To compile; alike machines share them.
        chunks: Of the whole study.
        left: Chunks that are not there yet; what follows is about them alone.
        trials: In these.
        workers: That find something to do.
        chunk_seconds: Of one chunk, roughly.
        device_hours: Of all workers together, roughly, without compilation.
        kind: `GPU` or `CPU`.
    """

    programs: int
    chunks: int
    left: int
    trials: int
    workers: int
    chunk_seconds: float
    device_hours: float
    kind: str

    @property
    def each(self) -> float:
        """Chunks per worker."""
        return self.left / max(self.workers, 1)


def fitted(make: Callable[..., Plan], count: int, gpus: bool) -> Plan:
    """The plan of a study for some workers; `make` makes it, at a width if one is given."""
    plan = make(width=None)
    wide = plan.width
    if gpus:  # the usual executor's; one of its own kind is told by its experiment
        wide = max(wide, device.room(plan.cost.bytes, "gpu", GPU_MEMORY))
    seconds = plan.cost.flops / pace_of(plan, gpus)
    quick = LONGEST / seconds if seconds > 0 else math.inf
    wide = max(1, int(min(wide, quick, plan.rows / (EACH * count))))
    return make(width=1 << (wide.bit_length() - 1))


def estimate(plan: Plan, count: int, gpus: bool, there: Collection[str] = ()) -> CostEstimate:
    """What it will cost, from counted FLOPs and a rough pace; chunks that are `there` are paid."""
    seconds = plan.cost.flops / pace_of(plan, gpus)
    left = [chunk for chunk in plan.chunks if chunk.name not in there]
    trials = sum(len(chunk.cells) for chunk in left)
    return CostEstimate(
        programs=len({chunk.group for chunk in left}),
        chunks=len(plan.chunks),
        left=len(left),
        trials=trials,
        workers=min(count, len(left)),
        chunk_seconds=seconds * plan.width,
        device_hours=seconds * trials / 3600,
        kind="GPU" if gpus else "CPU",
    )


def pace_of(plan: Plan, gpus: bool) -> float:
    """FLOP/s of one device, roughly."""
    known: dict[str, Any] = device.PACE | dict(plan.experiment.pace)
    return known["gpu" if gpus else "cpu"]
