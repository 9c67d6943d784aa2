"""Studies: a grid of trials, planned, run in chunks, resumed.

`base` what can be swept; `grid` axes and cells; `plan` chunks, compilations, memory; `run` the
engine; `cost` FLOPs and bytes counted before compiling; `device` memory, cache, sharding.
"""

from limelight.study.base import Experiment, Study
from limelight.study.grid import Grid
from limelight.study.plan import Plan, make_plan
from limelight.study.run import Progress

__all__ = ["Experiment", "Grid", "Plan", "Progress", "Study", "make_plan"]
