"""Experiments: one trial each, written for one key; the engine makes many of them.

`base` is the contract and `study` the usual experiment; every other file is one kind of trial.
Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.experiments.angle_flow import AngleFlow
    from limelight.experiments.base import Experiment
    from limelight.experiments.bound_ascent import BoundAscent
    from limelight.experiments.classify import Classify
    from limelight.experiments.cluster_flow import ClusterFlow
    from limelight.experiments.denoising import Denoising
    from limelight.experiments.encodings import Encodings
    from limelight.experiments.finetune import Finetune
    from limelight.experiments.idealized import Idealized
    from limelight.experiments.joint_selection import JointSelection
    from limelight.experiments.linear_rules import LinearRules
    from limelight.experiments.margin_ranks import MarginRanks
    from limelight.experiments.mixed_selection import MixedSelection
    from limelight.experiments.oversmoothing import Oversmoothing
    from limelight.experiments.packed import Packed
    from limelight.experiments.parity import Parity
    from limelight.experiments.passage import Passage
    from limelight.experiments.prompt_descent import PromptDescent
    from limelight.experiments.prompt_errors import PromptErrors
    from limelight.experiments.prompt_flow import PromptFlow
    from limelight.experiments.rank_collapse import RankCollapse
    from limelight.experiments.recovery import Recovery
    from limelight.experiments.representable import Representable
    from limelight.experiments.screened import Screened
    from limelight.experiments.selection_path import SelectionPath
    from limelight.experiments.set_shift import SetShift
    from limelight.experiments.single_rate import SingleRate
    from limelight.experiments.sketch import Sketch
    from limelight.experiments.sparse_and import SparseAnd
    from limelight.experiments.starts import Pretraining, Start, Starts
    from limelight.experiments.students import StudentMatrices, Students
    from limelight.experiments.study import Study
    from limelight.experiments.token_basins import TokenBasins
    from limelight.experiments.token_geometry import TokenGeometry
    from limelight.experiments.token_selection import TokenSelection
    from limelight.experiments.tolerance import Tolerance
    from limelight.experiments.transfer import Transfer

__all__ = [
    "AngleFlow",
    "BoundAscent",
    "Classify",
    "ClusterFlow",
    "Denoising",
    "Encodings",
    "Experiment",
    "Finetune",
    "Idealized",
    "JointSelection",
    "LinearRules",
    "Oversmoothing",
    "MarginRanks",
    "MixedSelection",
    "Packed",
    "Parity",
    "Passage",
    "Pretraining",
    "PromptDescent",
    "PromptErrors",
    "PromptFlow",
    "RankCollapse",
    "Recovery",
    "Representable",
    "Screened",
    "SelectionPath",
    "SetShift",
    "SingleRate",
    "Sketch",
    "SparseAnd",
    "Start",
    "Starts",
    "StudentMatrices",
    "Students",
    "Study",
    "TokenGeometry",
    "TokenBasins",
    "TokenSelection",
    "Tolerance",
    "Transfer",
]

__getattr__ = on_first_use(__name__)
