"""jelassi2022: how a ViT learns which patches belong together.

`fig2` a small error without association; `fig4` attention recovers the planted sets; `phase` over
sample size and time; `erosion` under long training; `transfer` what learned attention is worth;
`reading` what the figures share.
"""

from limelight.papers.base import Paper
from limelight.papers.jelassi2022 import erosion, fig2, fig4, phase, transfer

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
        "nu, p": "model.linear, model.power",
        "omega": "model.logit_scale and model.value_scale",
        "sqrt(d) in the softmax": "model.temperature",
        "eta": "descent.rate; descent.mode says what it is for A",
        "N": "examples",
        "T": "descent.steps",
    },
    statements=(),
    figures=(fig2.figure, fig4.figure, phase.figure, erosion.figure, transfer.figure),
)

__all__ = ["paper"]
