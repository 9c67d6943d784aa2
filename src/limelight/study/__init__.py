"""Studies: a grid of trials, planned, run in chunks, resumed.

`base` what can be swept; `screened` two stages, on sparsified tokens; `passage` first success;
`denoising` networks that clean patches; `descent` full-batch training of model (T), `recovery` of
the planted sets, `transfer` to a new feature; `students` of a convolution (jelassi2022);
`grid` axes and cells; `plan` chunks, compilations, memory; `run` the engine; `cost` FLOPs and
bytes counted before compiling; `device` memory, cache, sharding.
"""

from limelight.study.base import Experiment, Study
from limelight.study.grid import Grid
from limelight.study.passage import Passage
from limelight.study.plan import Plan, make_plan
from limelight.study.run import Progress
from limelight.study.screened import Screened

__all__ = [
    "Experiment",
    "Grid",
    "Passage",
    "Plan",
    "Progress",
    "Screened",
    "Study",
    "make_plan",
]
