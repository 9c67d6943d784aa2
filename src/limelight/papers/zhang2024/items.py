"""Every numbered item of zhang2024 that its table of contents names, and where it lives here.

The last four are of its sequel, Zhang, Singh, Latham and Saxe (2025), arXiv 2501.16265.
"""

from limelight.papers.coverage import Item

PROOF = "a step of a proof; what it leads to is tested by itself"

ITEMS = (
    Item(
        "Section 3.1",
        "prompts: labelled examples of a new linear task, then a query",
        "world:Prompts",
        "erratum:E2",
    ),
    Item(
        "Section 3.2",
        "a layer of linear self-attention, read at the query's label",
        "model:FullAttention",
        "model:LinearAttention",
        "test:tests/models/test_linear_attention.py::test_the_reduced_layer_is_the_layer_as_written",
    ),
    Item(
        "Section 3.3",
        "gradient flow on the population loss, from a start with one scale",
        "experiment:PromptFlow",
        "erratum:E3",
    ),
    Item(
        "Theorem 4.1",
        "the flow converges to a global minimum, named",
        "statement:theorem4.1",
        "statement:global-minimum",
        "claim:minimum.value",
        "claim:minimum.matrix",
        "claim:minimum.beyond",
        "erratum:E15",
    ),
    Item(
        "Theorem 4.2",
        "prediction error for new tasks, at any length of the prompt",
        "statement:theorem4.2",
        "claim:prompt.formula",
        "claim:prompt.floor",
        "claim:prompt.learner",
        "statement:useless",
        "claim:prompt.useless",
        "erratum:E10",
        "erratum:E11",
    ),
    Item(
        "Section 4.2, task shifts",
        "another law of tasks is survived",
        "statement:query-shift",
        "claim:shift.task",
    ),
    Item(
        "Section 4.2, query shifts",
        "another law of queries is survived, unless they depend on the prompt",
        "statement:query-shift",
        "claim:shift.query",
        "test:tests/worlds/test_prompts.py::test_an_orthogonal_query_is_told_nothing",
    ),
    Item(
        "Section 4.2, covariate shifts",
        "another law of covariates is not survived",
        "statement:covariate-shift",
        "claim:shift.covariate",
        "claim:shift.limit",
    ),
    Item(
        "Theorem 4.5",
        "random covariances: convergence, and to what",
        "statement:theorem4.5",
        "claim:minimum.random",
        "claim:shift.random",
        "erratum:E13",
    ),
    Item(
        "Section 4.3, experiments",
        "large nonlinear transformers on random covariances",
        why="GPT-2-sized networks trained for days; out of scope",
    ),
    Item(
        "Lemma 5.1",
        "the prediction is a quadratic function of the prompt",
        "theory:zhang2024.PromptLoss",
        "test:tests/theory/test_zhang2024.py::test_loss_gradient_and_risk_for_a_covariance_that_is_not_diagonal",
    ),
    Item(
        "Lemma 5.2",
        "the dynamical system of the flow; blocks that start at 0 stay there",
        "experiment:PromptFlow",
        "test:tests/experiments/test_prompt_flow.py::test_descent_by_hand_and_through_the_layer",
    ),
    Item("Lemma 5.3", "towards global convergence", why=PROOF),
    Item("Lemma 5.4", "towards global convergence", why=PROOF),
    Item("Appendix D", "technical lemmas", why=PROOF),
    Item(
        "Sequel: merged keys and queries",
        "two fixed points, one abrupt drop, a closed form",
        "statement:merged",
        "claim:drop.slope",
        "claim:drop.closed",
        "claim:drop.single",
        "claim:drop.abrupt",
        "claim:drop.abrupt-wide",
        "erratum:E6",
        "erratum:E9",
    ),
    Item(
        "Sequel: separate keys and queries",
        "from saddle to saddle; principal component regression on the way",
        "statement:separate",
        "claim:stairs.levels",
        "claim:stairs.all",
        "claim:stairs.pcr",
        "claim:stairs.power",
        "claim:phase.white",
        "claim:phase.gap",
        "erratum:E7",
        "erratum:E8",
    ),
    Item(
        "Sequel: low rank",
        "conspicuous plateaus at multiples of the rank",
        "statement:low-rank",
        "claim:ranks.long",
        "claim:ranks.short",
    ),
    Item(
        "Sequel: in-weight learning",
        "some prompts with one fixed task",
        why="another question than learning in context; out of scope",
    ),
)
