"""edelman2022: what bounded-norm attention can represent, how much that is, and what it learns.

One module per figure. `critical` is what the variants of Figure 2 have in common, `variants` what
those with one more axis do.
"""

from limelight.papers.contents import Paper, Statement

THEORY = "limelight.theory.edelman2022"
_MOST = {"heads": 10_000, "depth": 1_000, "instances": 10_000}

paper = Paper(
    key="edelman2022",
    title="Inductive Biases and Variable Creation in Self-Attention Mechanisms",
    authors="Benjamin L. Edelman, Surbhi Goel, Sham Kakade, Cyril Zhang",
    venue="ICML 2022, arXiv 2110.10090",
    symbols={
        "T": "world.length, or tokens in a bound: there a [CLS] token counts",
        "s": "world.sparsity",
        "I": "world.positions, or the truth that a trial draws",
        "d, k": "inputs and outputs of a theory.covering.LinearMap",
        "H": "heads",
        "m": "examples",
        "m*": "fit.CriticalSizes.values",
        "epsilon": "resolution",
        "||.||_{2,inf}": "LinearMap.largest: longest vector of an output coordinate",
        "||.||_{2,1}": "LinearMap.total",
        "B_X, B_q": "HeadNorms.token_norm, HeadNorms.query_norm",
        "L_sigma": "lipschitz",
        "C_Norm": "softmax_constant: 2 in the paper, 1 is valid",
        "alpha_i": "theory.edelman2022.depth.amplifications",
        "gamma": "construct(gamma=...)",
        "Delta": "models.construct.bases.Basis.measured",
        "R": "models.construct.lemmas.temperature",
    },
    statements=tuple(
        Statement(label, title, f"{THEORY}.{function}", most=_MOST)
        for label, title, function in (
            ("lemmaA.10", "covering of linear functionals", "statements:linear_functionals"),
            ("lemma4.5", "covering of linear maps, both norms", "statements:linear_maps"),
            ("theorem4.2", "covering of a general head", "statements:any_head"),
            ("corollary4.4", "capacity of Transformer heads", "statements:head_capacity"),
            ("theorem4.6", "capacity of stacked blocks", "statements:deep_capacity"),
            ("lemma2.2", "the generalisation gap", "statements:gap"),
            ("lemmaA.8", "the cheapest split of an error", "statements:split"),
            ("lipschitz", "Lipschitz lemmas on random instances", "lipschitz:largest_ratio"),
            ("errata", "printed statements against corrected ones", "errata:erratum"),
            ("lemmaB.2", "a construction and its norms", "statements:construction"),
            ("consistent", "examples for any consistent learner", "consistent:consistent"),
            ("positions", "a head with trained positions", "positions:positions"),
            ("definitionA.1", "Rademacher complexity, drawn", "rademacher:complexity"),
            ("section5", "examples that no learner can do without", "consistent:lower"),
        )
    ),
    figures={
        "fig2": "examples needed to learn a 3-bit AND, against the context length",
        "fig2-curves": "holdout accuracy and training loss through training, few and many examples",
        "fig3": "loss of a network that learns a sparse parity online",
        "fig3-runs": "loss of a network that learns a sparse parity online, forty runs per length",
        "fig3-noise": "online learning of a sparse parity with some labels wrong",
        "fig2-wide": "examples needed to learn a 3-bit AND, on a grid up to 400 examples",
        "fig2-edge": "success with 200 examples at 800 bits, the far corner of the paper's grid",
        "fig2-long": "examples needed to learn a 3-bit AND, on contexts up to 3,200 bits",
        "fig2-sparsity": "examples needed to learn an AND of 2, 3 and 4 bits",
        "fig2-noise": "examples needed when some training labels are wrong",
        "fig2-dropout": "examples needed with and without dropout of embeddings",
        "fig2-precision": "success with token vectors in float32 and in bfloat16",
        "capacity": "capacity against length, for constructed, trained and real heads",
    },
    # The paper's Figure 4 is its Figure 2 enlarged; the curves stand on the right of Figure 2.
    renamed={"fig4": "fig2-curves"},
)

figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
