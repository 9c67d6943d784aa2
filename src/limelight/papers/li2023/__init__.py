"""li2023: how a shallow ViT learns from label-relevant tokens.

`boundary` the sample complexity read off a table and `quotients` its ratios; `fig1a` and `pool` its
laws, `tokens` the same token by token, `fig1b` what errors and noise cost, `fig2` the iterations,
`fig3` frozen attention; `concentration` and `fig7` where attention goes; `sparsify` and `fig5` what
removing tokens does; `lemmas` what is behind it, with `traces` how a log is read, `lucky` Lemmas 3
and 4, `envelope` Definition 1 and `lemma2`; `sets` appendix G.2; `fig6` real images, with
`composites` what is read off its tables and `fig6_pictures`.
"""

from dataclasses import replace

from limelight.papers.base import Paper, Statement
from limelight.papers.li2023 import (
    concentration,
    fig1a,
    fig1b,
    fig2,
    fig3,
    fig5,
    fig6,
    fig7,
    lemmas,
    pool,
    sets,
    tokens,
)
from limelight.papers.li2023.costs import measured

FIGURES = (
    *fig1a.figures,
    pool.figure,
    tokens.figure,
    *fig1b.figures,
    fig2.figure,
    *fig3.figures,
    concentration.figure,
    *fig5.figures,
    *fig6.figures,
    fig7.figure,
    lemmas.figure,
    sets.figure,
)

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
        Statement(
            "theorem1",
            "samples, batch, steps and width that suffice",
            "limelight.theory.li2023:learning",
        ),
        Statement(
            "proposition1",
            "the same with keys and queries frozen",
            "limelight.theory.li2023:learning",
            {"frozen": True},
        ),
        Statement(
            "proposition2",
            "attention mass that any weights can reach",
            "limelight.theory.li2023:mass_bound",
        ),
        Statement(
            "definition1", "the envelope of attention", "limelight.theory.li2023:envelope_bound"
        ),
        Statement("lemma3", "how many neurons are lucky", "limelight.theory.li2023:lucky_neurons"),
        Statement("lemma4", "whether they stay lucky", "limelight.theory.li2023:lucky_kept"),
    ),
    figures=tuple(replace(f, cost=measured(f.name)) for f in FIGURES),
)

#: A figure by name, so that `papers.li2023.figure("fig1a")` reads as one expects.
figure = paper.figure

__all__ = ["figure", "paper"]
