"""What tarzanagh2023 states, by our labels, and where it lives here.

The papers' texts were not at hand, so that items carry the labels S1 to S13 of this reproduction
instead of theorem numbers. S1 to S12 are the papers', S13 is ours.
"""

from limelight.papers.coverage import Item

_TEST = "test:tests/experiments/test_token_selection.py::"

ITEMS = (
    Item("S1", "the loss has an infimum that no finite W reaches", "statement:infimum"),
    Item(
        "S2, W",
        "the regularisation path tends to the Frobenius-norm SVM of the best tokens",
        "statement:regularisation-path",
        "claim:path.rate",
        "claim:path.rate-cosine",
    ),
    Item(
        "S2, (K, Q)",
        "the path of keys and queries tends to the set of nuclear-norm solutions",
        "claim:path-keys.nuclear",
        "claim:path-keys.rate",
    ),
    Item(
        "S3",
        "no stationary point; direction for one sample with equal scores",
        "statement:divergence",
        "claim:equal.global",
        "claim:equal.not-any-start",
        "claim:planar.beyond",
        "erratum:E10",
    ),
    Item(
        "S4",
        "global convergence after a good first step",
        "statement:first-step",
        "claim:phase.first-step",
        "claim:phase.first-step.long",
        "erratum:E12",
    ),
    Item("S5", "locally optimal tokens", "statement:local", "claim:directions.local", "erratum:E7"),
    Item(
        "S6",
        "descent near a locally optimal choice keeps it",
        "claim:basins.best",
        "claim:basins.found",
        "claim:basins.radius",
        "claim:planar.starts",
        "erratum:E8",
    ),
    Item(
        "S7",
        "a choice that is not locally optimal is left",
        "claim:basins.converse",
        f"{_TEST}test_what_the_statements_leave_out",
        "erratum:E13",
    ),
    Item(
        "S8",
        "over-parameterisation separates every choice, and makes the best one likely",
        "statement:feasible",
        "claim:phase.feasible",
        "claim:phase.overparameterised",
        "claim:phase.d",
        "claim:phase.n",
        "claim:phase.T",
        "claim:phase.monotone",
    ),
    Item(
        "S9",
        "a prompt is W with one query",
        "statement:prompt",
        f"{_TEST}test_trajectories_in_the_plane",
    ),
    Item(
        "S10",
        "head and prompt together",
        "statement:clocks",
        "claim:joint.tight",
        "claim:joint.loose",
        "claim:joint-random.interpolated",
        "claim:joint-random.relaxed",
        "erratum:E11",
    ),
    Item(
        "S11",
        "a nonlinear head that prefers one token",
        why="its assumption on mixtures cannot be evaluated without the paper's text",
    ),
    Item(
        "S12",
        "a nonlinear head that keeps several tokens",
        "claim:heads.orthogonal",
        "claim:heads.kept",
        "erratum:E3",
        "erratum:E4",
    ),
    Item(
        "S13",
        "rates, derived here",
        "statement:regularisation-path",
        "statement:pair",
        "claim:losses.offset",
    ),
    Item(
        "Descent on W and (K, Q)",
        "Frobenius norm for W, nuclear norm for keys and queries",
        "claim:directions.frobenius",
        "claim:directions.cosine",
        "claim:directions.nuclear",
        "claim:directions.not-frobenius",
        "claim:directions.nuclear-cosine",
        "erratum:E1",
        "erratum:E6",
    ),
    Item(
        "Notebook on ranks",
        "the nuclear solution has the lower rank",
        "claim:ranks.nuclear",
        "claim:ranks.dropped",
        "erratum:E2",
    ),
)
