"""The stable names of our parts: what a stored study calls a class or a function of the library.

The first release named a part by its import path. Its run folders must open, resume and plot, so
every path that it may have written is kept here, with the kind that stands for it now.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Part = TypeVar("Part")

_NAME = "__limelight_kind__"


def kind(name: str) -> Callable[[Part], Part]:
    """Give a class or a function the name by which stored studies know it.

    The name must never change: files written years ago hold it. The class itself may move and may
    be renamed.

    Example:
        >>> @kind("world.coins")
        ... class Coins: ...
        >>> kind_of(Coins)
        'world.coins'
    """

    def label(part: Part) -> Part:
        setattr(part, _NAME, name)
        return part

    return label


def kind_of(part: Any) -> str | None:
    """The stable name of a class or function; `None` for one that is not ours.

    A subclass does not inherit the name: it is another part.
    """
    return vars(part).get(_NAME) if hasattr(part, "__dict__") else None


#: Import path in a description of the first release, and the kind that it means.
EARLIER = {
    "limelight.measures.accuracy.Accuracy": "measure.accuracy",
    "limelight.measures.accuracy.FreshLoss": "measure.fresh_loss",
    "limelight.measures.accuracy.Margins": "measure.margins",
    "limelight.measures.attention.AttentionMass": "measure.attention_mass",
    "limelight.measures.attention.RoleMass": "measure.role_mass",
    "limelight.measures.extremes.WorstErrors": "measure.worst_errors",
    "limelight.measures.features.FeatureNorms": "measure.feature_norms",
    "limelight.measures.features.FeatureTurns": "measure.feature_turns",
    "limelight.measures.features.Invariants": "measure.invariants",
    "limelight.measures.features.OwnAttention": "measure.own_attention",
    "limelight.measures.filters.CrossErrors": "measure.cross_errors",
    "limelight.measures.filters.FilterErrors": "measure.filter_errors",
    "limelight.measures.neurons.LuckyNeurons": "measure.lucky_neurons",
    "limelight.measures.neurons.OutputProjections": "measure.output_projections",
    "limelight.measures.noise.NoiseLeft": "measure.noise_left",
    "limelight.measures.noise.NoiseParts": "measure.noise_parts",
    "limelight.measures.noise.NoisePath": "measure.noise_path",
    "limelight.measures.noise.Purity": "measure.purity",
    "limelight.measures.sets.SetGrowth": "measure.set_growth",
    "limelight.measures.tokens.KeptTokens": "measure.kept_tokens",
    "limelight.measures.values.ValueParts": "measure.value_parts",
    "limelight.measures.values.ValuePull": "measure.value_pull",
    "limelight.models.cnn.Convolutional": "model.convolutional",
    "limelight.models.constructed.Constructed": "model.constructed",
    "limelight.models.constructed.Loaded": "model.loaded",
    "limelight.models.decoder.update.Clipped": "train.clipped",
    "limelight.models.extended.Extended": "model.extended",
    "limelight.models.extended.FourWay": "model.four_way",
    "limelight.models.positional.Positional": "model.positional",
    "limelight.models.sequence.Sequence": "model.sequence",
    "limelight.models.shallow.Shallow": "model.shallow",
    "limelight.models.smoother.Smoother": "model.smoother",
    "limelight.models.vit.Vision": "model.vision",
    "limelight.papers.edelman2022.capacity.Representable": "experiment.representable",
    "limelight.papers.edelman2022.learning.Learning": "experiment.sparse_and",
    "limelight.papers.edelman2022.parity.Parity": "experiment.parity",
    "limelight.study.base.Study": "experiment.study",
    "limelight.study.classify.Classify": "experiment.classify",
    "limelight.study.course.Course": "train.images",
    "limelight.study.denoising.Denoising": "experiment.denoising",
    "limelight.study.descent.Descent": "train.descent",
    "limelight.study.encodings.Encodings": "experiment.encodings",
    "limelight.study.finetune.Finetune": "experiment.finetune",
    "limelight.study.idealized.Idealized": "experiment.idealized",
    "limelight.study.linear.LinearRules": "experiment.linear_rules",
    "limelight.study.passage.Passage": "experiment.passage",
    "limelight.study.recovery.Recovery": "experiment.recovery",
    "limelight.study.screened.Screened": "experiment.screened",
    "limelight.study.shift.SetShift": "experiment.set_shift",
    "limelight.study.starts.Pretraining": "experiment.pretraining",
    "limelight.study.starts.Start": "experiment.start",
    "limelight.study.starts.Starts": "experiment.starts",
    "limelight.study.students.Students": "experiment.students",
    "limelight.study.tolerance.Tolerance": "experiment.tolerance",
    "limelight.study.transfer.Transfer": "experiment.transfer",
    "limelight.train.Train": "train.minibatch",
    "limelight.worlds.boolean.SparseBoolean": "world.sparse_boolean",
    "limelight.worlds.classes.FourClasses": "world.four_classes",
    "limelight.worlds.clusters.Clusters": "world.clusters",
    "limelight.worlds.composites.Composites": "world.composites",
    "limelight.worlds.images.Images": "world.images",
    "limelight.worlds.pairs.Pairs": "world.pairs",
    "limelight.worlds.patterns.Patterns": "world.patterns",
    "limelight.worlds.projected.GaussianPatches": "world.gaussian_patches",
    "limelight.worlds.regions.Regions": "world.regions",
    "limelight.worlds.sets.PatternSets": "world.pattern_sets",
    "limelight.worlds.sparse.Sparse": "world.sparse",
    "limelight.worlds.spatial.Spatial": "world.spatial",
}

#: Fields that a kind has gained since it was first stored, each with the value that means "as
#: before". A description without them is read as if they stood there.
GAINED: dict[str, dict[str, Any]] = {}
