"""geshkovski2023: clusters in self-attention dynamics; with it, rank collapse (Dong et al. 2021).

One module is not a figure: `reading` holds what several figures read off their tables.
"""

from limelight.papers.contents import Paper, Statement

_THEORY = "limelight.theory.geshkovski2023.statements"
_MOST = {"tokens": 10_000, "dimension": 10_000_000, "layers": 400}

paper = Paper(
    key="geshkovski2023",
    title="The emergence of clusters in self-attention dynamics",
    authors="Borjan Geshkovski, Cyril Letrouit, Yury Polyanskiy, Philippe Rigollet",
    venue="NeurIPS 2023, arXiv 2305.05465",
    symbols={
        "n, d": "world.tokens, world.dimension",
        "beta": "model.strength, the inverse temperature",
        "x_i, z_i": "tokens; rescaled tokens e^(-tV) x_i",
        "V": "model.value; Q and K are the identity",
        "P": "weights of a model",
        "SA, USA": "model.normalise = softmax, sum",
        "gamma": "the common cosine, theory.geshkovski2023.equal_rate",
        "eta": "model.step, with model.skip = 1",
        "res(X)": "theory.geshkovski2023.residuals.log_residual",
        "b": "theory.geshkovski2023.residuals.weight_size; Dong et al. write beta",
        "H, L": "model.heads, model.layers",
    },
    statements=tuple(
        Statement(label, title, f"{_THEORY}:{function}", most=_MOST)
        for label, title, function in (
            ("boolean", "one dimension: attention becomes zeros and ones", "boolean_limit"),
            ("polytope", "V = I: tokens end on a polytope", "polytope"),
            ("hyperplanes", "a simple largest eigenvalue: three hyperplanes", "hyperplanes"),
            ("mixed", "a mixed spectrum: both", "mixed_spectrum"),
            ("one-cluster", "on the sphere all tokens become one (2024)", "one_cluster"),
            ("hemisphere", "exponentially fast from a half-sphere (2024)", "half_sphere"),
            ("high-dimension", "the flow of equal angles (2024)", "high_dimension"),
            ("equal-angles", "its time, exactly (ours)", "equal_angles"),
            ("metastable", "two clusters wait, exactly (ours)", "metastable"),
            ("layers", "layers to a similarity, with and without skips (ours)", "layer_count"),
            ("rank-collapse", "pure attention (Dong et al. 2021)", "rank_collapse"),
            ("skips", "skips can prevent it (Dong et al. 2021)", "skips_prevent"),
            ("paths", "the output as a sum over paths (Dong et al. 2021)", "path_count"),
        )
    ),
    figures={
        "geometry": "where rescaled tokens go",
        "reduction": "equal angles and two clusters as one number",
        "reduction-1024": "1,024 tokens as one number",
        "concentration": "uniform tokens in high dimension beside the flow of equal angles",
        "concentration-128": "128 uniform tokens beside the flow of equal angles",
        "phase": "close pairs over time and strength",
        "phase-dimensions": "close pairs in 32, 128 and 1,024 dimensions",
        "circle": "metastable clusters on the circle",
        "single": "one cluster by t = 30?",
        "collapse": "rank collapse with depth, and what skips do",
        "collapse-196": "rank collapse of 196 tokens",
        "ascent": "how tight the bound of rank collapse is",
        "oversmoothing": "similarity by block in small ViTs, parts left out",
        "deit-tiny": "similarity by block in DeiT-tiny, parts left out",
    },
)
figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
