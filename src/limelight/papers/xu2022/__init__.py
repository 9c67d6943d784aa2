"""xu2022: attention as noise removal, with the theorem repaired.

One module per figure; `ratios` holds what they share.
"""

from limelight.papers.contents import Paper, Statement

_THEORY = "limelight.theory.xu2022"
_MOST = {"clusters": 1_000, "steps": 10_000}

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
    statements=tuple(
        Statement(label, title, f"{_THEORY}.{function}", most=_MOST)
        for label, title, function in (
            (
                "calculator",
                "everything at once, for given clusters, noise and dim",
                "calculator:calculator",
            ),
            ("theorem1", "kNN averaging, as printed (unsound)", "printed:nearest_neighbours"),
            ("theorem2", "softmax attention, as printed (false)", "printed:softmax"),
            ("lemma1", "cosine of two centres, as printed (false)", "printed:centre_cosine"),
            ("lemma2", "products of noise, as printed (false for i = j)", "printed:noise_products"),
            ("band", "norms of noise, as printed (false)", "printed:norm_band"),
            ("limit", "the exact law for large dimension", "statements:limit_law"),
            ("window", "Theorem 2 repaired, limit form", "statements:window"),
            ("finite", "the finite-dimension prediction, flagged", "statements:finite"),
            ("exponent", "exponent of the best ratio in m_k", "statements:scaling"),
            ("knn", "T1', certificate for kNN", "statements:neighbours_certificate"),
            ("softmax", "T2' and T2'', certificates for softmax", "statements:softmax_certificate"),
            ("recursion", "many steps, exact recursion", "statements:depth"),
            ("crossing", "cross-attention, exact law", "statements:cross"),
            ("errata", "steps of the proofs, as printed and corrected", "errata:erratum"),
        )
    ),
    figures={
        "curves": "what one attention step leaves of the noise",
        "phase": "where attention removes noise, and what stops it elsewhere",
        "scaling": "the best ratio over cluster size, and its exponent",
        "autopsy": "the printed theorems at their own dimension and logit scale",
        "neighbours": "Theorem 1 against the number of neighbours over the size of a cluster",
        "products": "Lemma 2 against draws",
        "depth": "the ratio after many attention steps",
        "cross": "cross-attention between two domains, with wrong pairs",
        "domains": "what a classifier of patches loses from source to target",
        "patches": "attention against local averaging on patches, both populations",
        "trained": "trained CNNs against trained attention, both populations",
        "networks": "noise on patches after a trained ViT and after a trained CNN",
        "guarantees": "certificates against draws",
    },
)
figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
