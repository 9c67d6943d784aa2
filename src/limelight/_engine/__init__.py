"""The engine: a grid of trials, planned, run in chunks, stored, resumed.

`grid` axes and cells; `plan` programs and chunks, known before anything starts; `batch` and `lanes`
the two ways to compute a chunk; `run` the loop over chunks; `store` the run folder, `reading` what
a whole one holds; `claims` who works on what; `progress` what a bar shows; `cost` FLOPs and bytes,
counted before anything is compiled; `device` memory, cache and sharding.

What makes two studies the same is in `_identity`; many workers on one run are in `_workers`.

Nothing here knows a world, a model, a measure, an experiment or a paper.
"""

from limelight._engine.grid import Grid
from limelight._engine.plan import Plan, make_plan
from limelight._engine.run import Progress

__all__ = ["Grid", "Plan", "Progress", "make_plan"]
