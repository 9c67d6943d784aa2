"""edelman2022: what bounded-norm attention can represent, how much that is, and what it learns.

`learning` the protocol with a fixed sample, `looks` how it is followed, `critical` what is read off
its tables, `claims` how the paper's sentences are decided; `fig2` the sample complexity, `fig4` the
course of training, `wide` the sample complexity on a grid that holds all of it, `beyond` the same
with other sparsities, noise and dropout, `precision` in two precisions; `parity` the online
protocol, `fig3` its loss, `runs` the same with more runs; `capacity` the bound against the length
for constructed, trained and real heads.
"""

from limelight.papers.base import Paper, Statement
from limelight.papers.edelman2022 import beyond, capacity, fig2, fig3, fig4, precision, runs, wide
from limelight.theory.edelman2022 import consistent, errata, lipschitz, statements

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
        "m*": "papers.edelman2022.critical.Counts.critical",
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
    statements=(
        Statement("lemmaA.10", "covering of linear functionals", statements.linear_functionals),
        Statement("lemma4.5", "covering of linear maps, both norms", statements.linear_maps),
        Statement("theorem4.2", "covering of a general head", statements.any_head),
        Statement("corollary4.4", "capacity of Transformer heads", statements.head_capacity),
        Statement("theorem4.6", "capacity of stacked blocks", statements.deep_capacity),
        Statement("lemma2.2", "the generalisation gap", statements.gap),
        Statement("lemmaA.8", "the cheapest split of an error", statements.split),
        Statement("lipschitz", "Lipschitz lemmas on random instances", lipschitz.largest_ratio),
        Statement("errata", "printed statements against corrected ones", errata.erratum),
        Statement("lemmaB.2", "a construction and its norms", statements.construction),
        Statement("consistent", "examples for any consistent learner", consistent.consistent),
    ),
    figures=(
        fig2.figure,
        fig3.figure,
        runs.figure,
        fig4.figure,
        wide.figure,
        *beyond.figures,
        precision.figure,
        capacity.figure,
    ),
)

#: A figure by name, so that `papers.edelman2022.figure("capacity")` reads as one expects.
figure = paper.figure

__all__ = ["figure", "paper"]
