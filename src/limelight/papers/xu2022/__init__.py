"""xu2022: attention as noise removal, with the theorem repaired.

One module a figure: `curves`, `phase`, `scaling`, `autopsy`, `depth`, `cross`, `patches`,
`trained`, `networks`, `guarantees`; `statements` by label; `reading` what the figures share.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from limelight.papers.contents import Paper, Statement
from limelight.papers.xu2022 import statements
from limelight.theory.xu2022.calculator import calculator

if TYPE_CHECKING:
    from limelight.papers.base import Figure


#: Measured: seconds at small scale on 2 CPU cores; at paper scale on one H200 beside other runs,
#: in all and compiling, or in words.
SMALL = {
    "curves": 160,
    "phase": 400,
    "scaling": 190,
    "autopsy": 50,
    "depth": 690,
    "cross": 50,
    "patches": 10,
    "trained": 520,
    "networks": 240,
    "guarantees": 40,
}
PAPER: dict[str, tuple[int, int] | str] = {
    "curves": (369, 226),
    "phase": (261, 160),
    "scaling": (369, 317),
    "depth": (106, 27),
    "cross": (27, 19),
    "networks": (69, 63),
    "trained": "376 s by two processes on one H200 beside other runs, five sixths of it compiling",
    "autopsy": "9 minutes on 2 busy CPU cores",
    "patches": "4 minutes on 2 busy CPU cores",
    "guarantees": "24 minutes on 2 busy CPU cores",
}


def figures() -> "tuple[Figure, ...]":
    """Every figure; loaded late, so that the calculator answers at once."""
    from limelight.papers.xu2022 import (
        autopsy,
        cross,
        curves,
        depth,
        guarantees,
        networks,
        patches,
        phase,
        scaling,
        trained,
    )

    modules = (
        curves, phase, scaling, autopsy, depth, cross, patches, trained, networks, guarantees
    )  # fmt: skip
    return tuple(_costed(module.figure) for module in modules)


def _costed(figure: "Figure") -> "Figure":
    cost = {"smoke": "seconds, nearly all compiling", "small": f"{SMALL[figure.name]} s on 2 cores"}
    took = PAPER.get(figure.name)  # nothing where it was not measured
    if isinstance(took, tuple):
        took = f"{took[0]} s on one H200 beside other runs, {took[1]} s of it compiling"
    return replace(figure, cost=cost | ({"paper": took} if took else {}))


paper = Paper(
    key="xu2022",
    title=(
        "CDTrans: Cross-domain Transformer for Unsupervised Domain Adaptation (theory supplement)"
    ),
    authors="Tongkun Xu, Weihua Chen, Pichao Wang, Fan Wang, Hao Li, Rong Jin",
    venue="ICLR 2022, arXiv 2109.06165",
    symbols={
        "C": "world.clusters",
        "m_k": "world.size (world.sizes where they differ)",
        "m": "tokens, all clusters together",
        "sigma": "world.sigma, noise over signal in norm",
        "d": "world.dimension",
        "u_k": "truth.centres",
        "h_i": "noise of a token",
        "r_l, gamma_l": "Setting.nearest, smallest distance of two centres",
        "r_u": "Setting.farthest",
        "lambda": "model.strength, the logit scale",
        "K": "model.neighbours",
        "delta": "delta, failure probability",
    },
    statements=(
        Statement(
            "calculator", "everything at once, for given clusters, noise and dim", calculator
        ),
        Statement("theorem1", "kNN averaging, as printed (unsound)", statements.theorem1),
        Statement("theorem2", "softmax attention, as printed (false)", statements.theorem2),
        Statement("lemma1", "cosine of two centres, as printed (false)", statements.lemma1),
        Statement("lemma2", "products of noise, as printed (false for i = j)", statements.lemma2),
        Statement("band", "norms of noise, as printed (false)", statements.norm_band),
        Statement("limit", "the exact law for large dimension", statements.limit_law),
        Statement("window", "Theorem 2 repaired, limit form", statements.window),
        Statement("finite", "the finite-dimension prediction, flagged", statements.finite),
        Statement("exponent", "exponent of the best ratio in m_k", statements.scaling),
        Statement("knn", "T1', certificate for kNN", statements.neighbours_certificate),
        Statement(
            "softmax", "T2' and T2'', certificates for softmax", statements.softmax_certificate
        ),
        Statement("recursion", "many steps, exact recursion", statements.depth),
        Statement("crossing", "cross-attention, exact law", statements.cross),
    ),
    figures=figures,
)

__all__ = ["paper"]
