"""zhang2024: linear attention learns linear regression in context.

One module is not a figure: `reading` holds what several figures read off their tables.
"""

from limelight.papers.contents import Paper, Statement

_THEORY = "limelight.theory.zhang2024.statements"

paper = Paper(
    key="zhang2024",
    title="Trained Transformers Learn Linear Models In-Context",
    authors="Ruiqi Zhang, Spencer Frei, Peter L. Bartlett",
    venue="JMLR 25(49), 2024, arXiv 2306.09927",
    symbols={
        "d": "world.dimension, length of a covariate",
        "N": "world.examples, examples of a training prompt; the query is not counted",
        "M": "lengths, examples of a test prompt",
        "Lambda": "world.spectrum, eigenvalues of the covariates' covariance",
        "Gamma": "theory.zhang2024.gamma, its eigenvalues",
        "w": "law(key).task",
        "E": "prompt.tokens, its transpose",
        "W_PV, W_KQ": "models.FullAttention",
        "A": "matrix of a layer: the prediction is x_q A beta",
        "beta": "prompt.statistic",
        "sigma": "model.scale with the start `theorem`, as a share of the largest",
        "v_h, U_h, K_h, Q_h": "models.MergedAttention, models.SeparateAttention",
        "H, R": "model.heads, model.rank",
        "L_m": "theory.zhang2024.PromptLoss.levels",
        "eta": "rate",
    },
    statements=tuple(
        Statement(label, title, f"{_THEORY}:{function}", most={"dimension": 10_000})
        for label, title, function in (
            ("global-minimum", "the least loss, in closed form", "global_minimum"),
            ("theorem4.1", "gradient flow finds it", "convergence"),
            ("theorem4.2", "prediction error at any length of the prompt", "prediction_error"),
            ("query-shift", "another law of queries and tasks", "query_shift"),
            ("covariate-shift", "another law of covariates", "covariate_shift"),
            ("theorem4.5", "random covariances", "random_covariances"),
            ("useless", "prompts that are worse than none (ours)", "useless_prompts"),
            ("merged", "one abrupt drop (Zhang et al. 2025)", "abrupt_drop"),
            ("separate", "the levels of separate keys (Zhang et al. 2025)", "plateau_levels"),
            ("low-rank", "which plateaus are long (ours for the law)", "long_plateaus"),
        )
    ),
    figures={
        "minimum": "the flow from the theorem's start ends at the global minimum",
        "prompt": "prediction error against the length of the prompt",
        "shift": "what survives which shift of the distribution",
        "shift-random": "random covariances, on more prompts",
        "drop": "merged keys and queries: one abrupt drop",
        "stairs": "separate keys and queries: from saddle to saddle",
        "ranks": "keys and queries of low rank: which plateaus are long",
        "phase": "plateaus over the spread of the spectrum and the scale of the start",
        "samples": "training on drawn prompts against the flow of the population",
    },
)
figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
