"""jelassi2022: how a ViT learns which patches belong together.

Two modules are not figures: `images` holds what the figures on real images share, `traces` what is
read off a network as it is trained.
"""

from limelight.papers.contents import Paper, Statement

_THEORY = "limelight.theory.jelassi2022"

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
    statements=tuple(
        Statement(label, title, f"{_THEORY}.{function}", most={"tokens": 2_000})
        for label, title, function in (
            ("definition2.1", "how often f* misses the label", "statements:labelling"),
            ("theorem3.1", "linear models, as printed (false)", "statements:linear_models"),
            ("theorem3.2", "small error without association", "statements:set_shift"),
            ("theorem4.1", "idealized descent, exactly", "dynamics:idealized_descent"),
            ("theorem4.2", "where finite samples are read", "finite:finite_sample"),
            ("lemma4.1", "the manifold of Lemmas 4.1 and 4.2", "dynamics:manifold"),
            ("lemma4.3", "attention inside sets grows", "dynamics:attention_grows"),
            ("event-iii", "does alpha rise again?", "dynamics:second_rise"),
        )
    ),
    figures={
        "fig1a": "similarity of positions, at the start and trained",
        "fig2": "a small error without association",
        "fig2-matrices": "what students of a convolution learn, beside the sets",
        "fig3": "localized and scattered sets, and one image",
        "fig4": "attention recovers the planted sets before the error falls",
        "fig5": "accuracy against the size of shuffled cells",
        "fig5-patch2": "shuffled cells with patches of 2 pixels and a ResNet",
        "fig5-long": "the ResNet on shuffled cells and plain images, trained longer",
        "fig5b": "an image with its cells shuffled",
        "fig5-exact": "shuffled images with positions shuffled alike, step by step",
        "fig7-cifar10": "positional against vanilla attention on CIFAR-10",
        "fig7-cifar100": "positional against vanilla attention on CIFAR-100",
        "fig7-wide": "positional against vanilla attention on CIFAR-100, at the paper's width",
        "fig7-long": "positional against vanilla attention at the paper's width, six times as long",
        "fig7-fashion-mnist": "positional against vanilla attention on Fashion-MNIST",
        "fig7-digits": "positional against vanilla attention on digits",
        "digits": "8 x 8 digits: shuffled pixels, positional attention, and a CNN",
        "phase": "association and test error over sample size and training time",
        "phase-16": "association and test error at 16 patches and 16 D^2 images, on more seeds",
        "erosion": "association lost again under long training on a finite sample",
        "erosion-seeds": "long training under curvature steps, on more seeds",
        "erosion-125": "long training on 125 D^2 samples, on four hundred seeds",
        "transfer": "transferred attention against training from scratch",
        "idealized": "population descent as three exact numbers",
        "single-rate": "population descent with the paper's single rate, followed to the end",
        "event3": "when does alpha rise again, as a function of beta?",
        "event3-64": "whether alpha rises again at 64 patches, on drawn populations",
        "linear": "linear rules against one eighth",
        "shift": "small error without association",
    },
)
figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
