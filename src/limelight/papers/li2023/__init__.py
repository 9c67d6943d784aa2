"""li2023: how a shallow ViT learns from label-relevant tokens.

`boundary` Figure 1(a), the sample complexity; `concentration` Figure 4, where attention goes.
"""

from limelight.papers.base import Paper, Statement
from limelight.papers.li2023 import boundary, concentration
from limelight.theory import li2023 as theory

paper = Paper(
    key="li2023",
    title=(
        "A Theoretical Understanding of Shallow Vision Transformers: Learning, Generalization, "
        "and Sample Complexity"
    ),
    authors="Hongkang Li, Meng Wang, Sijia Liu, Pin-Yu Chen",
    venue="ICLR 2023, arXiv 2302.06015",
    symbols={
        "alpha_*": "world.relevant, the fraction of label-relevant tokens",
        "alpha_#": "world.confusing, the fraction of confusion tokens",
        "|S|, L": "world.tokens",
        "M": "world.patterns",
        "d": "world.dimension",
        "c_0": "world.noise, per coordinate; tau is worlds.patterns.spread",
        "m": "model.width",
        "sigma": "model.value_error",
        "delta": "model.key_error",
        "xi": "model.output_scale",
        "m_a, m_b": "model.value_dimension, model.key_dimension",
        "a_(l)": "model.readout",
        "eta": "train.rate",
        "B": "train.batch",
        "T": "train.steps",
        "N": "train.examples",
    },
    statements=(
        Statement("theorem1", "samples, batch, steps and width that suffice", theory.learning),
        Statement("proposition1", "the same with keys and queries frozen", theory.frozen_learning),
        Statement("proposition2", "attention mass that any weights can reach", theory.mass_bound),
    ),
    figures=(*boundary.figures, concentration.figure),
)

__all__ = ["paper"]
