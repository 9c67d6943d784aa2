"""li2023: how a shallow ViT learns from label-relevant tokens.

`boundary` the sample complexity read off a table; `fig1a` its figures; `concentration` Figure 4,
where attention goes.
"""

from functools import partial

from limelight.papers.base import Paper, Statement
from limelight.papers.li2023 import concentration, fig1a
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
        Statement(
            "proposition1",
            "the same with keys and queries frozen",
            partial(theory.learning, frozen=True),
        ),
        Statement("proposition2", "attention mass that any weights can reach", theory.mass_bound),
    ),
    figures=(*fig1a.figures, concentration.figure),
)

#: A figure by name, so that `papers.li2023.figure("fig1a")` reads as one expects.
figure = paper.figure

__all__ = ["figure", "paper"]
