"""jelassi2022: how a ViT learns which patches belong together.

`fig2` a small error without association; `fig4` attention recovers the planted sets; `phase` over
sample size and time; `erosion` under long training; `transfer` what learned attention is worth;
`idealized` population descent as three exact numbers, `event3` whether alpha rises again; `linear`
linear rules, `shift` a network without association; `fig1a`, `fig5`, `fig7` real images and
checkpoints, `digits` the same in small; `reading` what the figures share.
"""

from limelight.papers.base import Paper, Statement
from limelight.papers.jelassi2022 import (
    digits,
    erosion,
    event3,
    fig1a,
    fig2,
    fig4,
    fig5,
    fig7,
    idealized,
    linear,
    phase,
    shift,
    transfer,
)
from limelight.theory.jelassi2022 import dynamics, statements

paper = Paper(
    key="jelassi2022",
    title="Vision Transformers provably learn spatial structure",
    authors="Samy Jelassi, Michael E. Sander, Yuanzhi Li",
    venue="NeurIPS 2022, arXiv 2210.09221",
    symbols={
        "D": "world.tokens, patches of an image",
        "d": "world.dimension, length of a patch",
        "C": "world.size, patches of a set",
        "L": "world.sets, number of sets",
        "S_l": "truth.sets, the set of each patch",
        "q": "world.density, chance of a random mark",
        "sigma^2": "world.variance",
        "w*": "truth.feature",
        "delta_j": "marks",
        "A": "logits of a positional net",
        "v": "value of a positional net",
        "sigma_A": "model.diagonal, also beta",
        "alpha, gamma, rho": "theory.jelassi2022.State",
        "Lambda, Gamma, Xi": "theory.jelassi2022.layer.Weights",
        "G": "theory.jelassi2022.Layer.gain",
        "nu, p": "model.linear, model.power",
        "omega": "model.logit_scale and model.value_scale",
        "sqrt(d) in the softmax": "model.temperature",
        "eta": "descent.rate; descent.mode says what it is for A",
        "N": "examples",
        "T": "descent.steps",
    },
    statements=(
        Statement("definition2.1", "how often f* misses the label", statements.labelling),
        Statement("theorem3.1", "linear models, as printed (false)", statements.linear_models),
        Statement("theorem3.2", "small error without association", statements.set_shift),
        Statement("theorem4.1", "idealized descent, exactly", dynamics.idealized_descent),
        Statement("lemma4.1", "the manifold of Lemmas 4.1 and 4.2", dynamics.manifold),
        Statement("lemma4.3", "attention inside sets grows", dynamics.attention_grows),
        Statement("event-iii", "does alpha rise again?", dynamics.second_rise),
    ),
    figures=(
        fig1a.figure,
        fig2.figure,
        fig4.figure,
        *fig5.figures,
        *fig7.figures,
        digits.figure,
        phase.figure,
        erosion.figure,
        transfer.figure,
        idealized.figure,
        *event3.figures,
        linear.figure,
        shift.figure,
    ),
)

__all__ = ["paper"]
