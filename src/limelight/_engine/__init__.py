"""The engine: a grid of trials, planned, run in chunks, stored, resumed.

`grid` axes and cells; `plan` programs and chunks, known before anything starts; `batch` and `lanes`
the two ways to compute a chunk; `run` the loop over chunks; `share` the same for one worker among
many; `store` the run folder; `claims` who works on what; `status` how far it is; `identity`
and `code` what makes two studies the same; `cost` FLOPs and bytes, counted before anything
is compiled; `device` memory, cache and sharding.

Nothing here knows a world, a model, a measure, an experiment or a paper.
"""

from limelight._engine.grid import Grid
from limelight._engine.plan import Plan, make_plan
from limelight._engine.run import Progress

__all__ = ["Grid", "Plan", "Progress", "make_plan"]
