"""tarzanagh2023: attention as a support vector machine.

One module is not a figure: `reading` holds what several figures read off their tables.
"""

from limelight.papers.contents import Paper, Statement

_THEORY = "limelight.theory.tarzanagh2023.statements"

paper = Paper(
    key="tarzanagh2023",
    title="Transformers as Support Vector Machines",
    authors="Davoud Ataee Tarzanagh, Yingcong Li, Christos Thrampoulidis, Samet Oymak",
    venue="arXiv 2308.16898, 2023; with Max-Margin Token Selection in Attention Mechanism,"
    " NeurIPS 2023, arXiv 2306.13596",
    symbols={
        "n": "samples",
        "T": "world.tokens, tokens per sample",
        "d": "world.dimension",
        "X_i, z_i, Y_i": "worlds.TokenChoice: tokens, query, label",
        "gamma_it": "scores of worlds.TokenChoice, Y_i <v, x_it>",
        "v, h": "the head: truth of worlds.Selections",
        "W; K, Q": "models.MergedSelector, models.SeparateSelector",
        "p": "W with one column, where the query is a single 1",
        "alpha": "chosen, one token per sample; opt is the best of each",
        "Wmm": "theory.tarzanagh2023.max_margin, Frobenius norm",
        "Wmm*": "theory.tarzanagh2023.nuclear_margin",
        "c": "radius, the norm of W in units of the margin",
        "rho": "rho, the margin of W over the largest one",
        "eta": "rate",
    },
    statements=tuple(
        Statement(label, title, f"{_THEORY}:{function}")
        for label, title, function in (
            ("infimum", "the loss has an infimum and no minimum", "infimum"),
            (
                "regularisation-path",
                "the regularisation path, and how fast (rate ours)",
                "regularisation_path",
            ),
            ("divergence", "no stationary point; direction for n = 1 (limits ours)", "divergence"),
            ("first-step", "global convergence after a good first step", "first_step"),
            ("local", "locally optimal tokens", "local_optimality"),
            ("feasible", "over-parameterisation separates every choice", "feasible"),
            ("line", "one dimension: how often the best tokens separate (ours)", "line"),
            ("prompt", "a prompt and W with one query", "prompt_and_weights"),
            ("clocks", "a head trained beside the prompt (clocks ours)", "joint"),
            ("pair", "two losses, two offsets (ours)", "pair"),
        )
    ),
    figures={
        "directions": "where descent sends W, and where keys and queries",
        "phase": "how often every sample selects its best token",
        "planar": "three tokens in the plane, and what the statements leave out",
        "equal": "equal scores: the best tokens, but not from every start",
        "equal-worlds": "equal scores from a moderate start, in more worlds",
        "basins": "starts near a choice of tokens: which choices are kept",
        "path": "the regularisation path and its rates",
        "path-keys": "the regularisation path of keys and queries",
        "joint": "head and prompt: tight and loose samples",
        "joint-random": "head and prompt in random worlds: the clocks decide",
        "losses": "two samples, three losses: what stays off the direction",
        "heads": "nonlinear heads that keep several tokens",
        "ranks": "ranks of both solutions, and what an infeasible draw counts as",
    },
)
figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
