r"""Beyond Figure 2: other sparsities, noisy labels, and no dropout of embeddings.

The protocol is that of Figure 2; what is compared is $m_{50}$, the number of examples at which half
of the trials succeed, by maximum likelihood. The claims are ours, with rules fixed before any run.
"""

import numpy as np

from limelight import fit
from limelight.claims import Above, Claim, Estimate, Inside, Rule
from limelight.papers.base import Figure, Setup
from limelight.papers.edelman2022.critical import CENSORED, LENGTH, MANY, SIZE
from limelight.papers.edelman2022.fig2 import experiment, facts
from limelight.plot import Panel, Series, caption, panels
from limelight.table import Table

SPARSITY, NOISE, EMBEDDING = "world.sparsity", "world.label_noise", "embedding_dropout"
WORDS = {SPARSITY: "s", NOISE: "label noise", EMBEDDING: "embedding dropout"}


# --- what is read off a table -------------------------------------------------------------------


def boundary(table: Table) -> fit.Edge:
    """m50 of every length and value."""
    return fit.threshold(table, along=SIZE, measure="success", level=0.5)


def steps(table: Table, axis: str) -> Estimate:
    """Smallest log ratio of m50 from one value to the next, over values and lengths.

    Its ends are the smallest of the pairs' ends, each at a level shared out over the pairs.
    """
    values = table.values(axis)
    value, drawn, note, lost = _log_ratios(table, axis, list(zip(values, values[1:], strict=False)))
    low, high = fit.percentile_interval(drawn, 1 - 0.05 / drawn.shape[1])
    return _estimate(value.min(), (low.min(), high.min()), table, note, lost)


def against(table: Table, axis: str, value: float, usual: float) -> Estimate:
    """m50 at a value over m50 at the usual one, geometric mean over lengths."""
    ratio, drawn, note, lost = _log_ratios(table, axis, [(usual, value)])
    low, high = fit.percentile_interval(np.exp(drawn.mean(axis=1)))
    return _estimate(np.exp(ratio.mean()), (low, high), table, note, lost)


def _estimate(value, ends, table: Table, note: str, lost: float) -> Estimate:
    if lost > CENSORED:
        note, ends = f"{note}; off the grid in {lost:.1%} of resamples", (np.nan, np.nan)
    return Estimate(float(value), (float(ends[0]), float(ends[1])), len(table), note)


def _log_ratios(table: Table, axis: str, pairs: list[tuple]):
    """Logs of m50 at the second value over the first: pairs, draws by pairs, words, share lost."""
    edge = boundary(table)
    lengths, values = edge.x(LENGTH), edge.x(axis)
    at = lambda T, v: int(np.flatnonzero((lengths == T) & (values == v))[0])
    wanted = np.array([(at(T, a), at(T, b)) for T in np.unique(lengths) for a, b in pairs])
    use = np.unique(wanted)
    drawn, known = edge.draws(MANY)
    found = edge.resolved[use].all()
    lost = 1.0 - known[:, use].all(axis=1).mean() if found else 1.0
    log_ratio = lambda m: np.log(m[..., wanted[:, 1]] / m[..., wanted[:, 0]])
    note = "m50 " + ", ".join(
        f"{edge.values[i]:.0f} at T = {lengths[i]}, {WORDS[axis]} = {values[i]:g}" for i in use
    )
    return log_ratio(edge.values), log_ratio(drawn), note, float(lost)


# --- words and pictures -------------------------------------------------------------------------


def summary(axis: str):
    """m50 by length and value."""

    def lines(table: Table) -> list[str]:
        edge = boundary(table)
        return [
            f"T = {at[LENGTH]}, {WORDS[axis]} = {at[axis]:g}: m50 {found}" for at, found in edge
        ]

    return lines


def picture(axis: str):
    """Success against examples, a panel a length, a line a value."""

    def draw(table: Table):
        parts = []
        for at, rows in table.cells(LENGTH):
            lines = []
            for value, cell in rows.cells(axis):
                sizes, place = np.unique(cell[SIZE], return_inverse=True)
                s, n = np.bincount(place, cell["success"]), np.bincount(place)
                named = f"{WORDS[axis]} = {value[axis]:g}"
                lines.append(Series(named, sizes, s / n, *fit.exact(s, n)))
            parts.append(Panel(f"T = {at[LENGTH]}", lines, "share above 99 %"))
        figure = panels(parts, x_label="training examples $m$", columns=2, share=True, height=2.2)
        caption(figure, *facts(table), "bands: exact 95 % intervals")
        return figure

    return draw


# --- recipes ------------------------------------------------------------------------------------

LENGTHS, SIZES = [100, 400], list(range(25, 401, 25))


def setups(axis: str, values: list, sizes: list = SIZES) -> dict[str, Setup]:
    """The three scales, with one more axis."""
    quick = {"iterations": 60, "holdout": 1000, "first": 250}
    few = [values[0], values[-1]]
    return {
        "smoke": Setup(
            experiment(16, share=0.0, **quick), {LENGTH: [16], axis: few, SIZE: [20, 60]}, 2
        ),
        "small": Setup(
            experiment(50, share=0.0, iterations=200),
            {LENGTH: [50], axis: values, SIZE: [25, 50, 100, 200]},
            10,
        ),
        "paper": Setup(
            experiment(share=0.0, numbers="bfloat16"),
            {LENGTH: LENGTHS, axis: values, SIZE: sizes},
            20,
        ),
    }


def made(
    name: str,
    axis: str,
    values: list,
    title: str,
    statement: str,
    claim: Claim,
    cost: str,
    sizes=SIZES,
) -> Figure:
    """A figure of ours."""
    return Figure(
        name=name,
        title=title,
        statement=statement,
        setups=setups(axis, values, sizes),
        claims=(claim,),
        draws={"success": picture(axis)},
        summary=summary(axis),
        reference="limelight; the protocol of Figure 2",
        cost={"paper": f"{cost} on one H200 that another figure shared"},
        departures="not in the paper; otherwise as fig2, every trial ending at its first success",
    )


def ours(name: str, statement: str, statistic: str, estimate, rule: Rule) -> Claim:
    """A claim of ours."""
    return Claim(name, statement, statistic, estimate, rule, "limelight")


figures = (
    made(
        "fig2-sparsity",
        SPARSITY,
        [2, 3, 4],
        "examples needed to learn an AND of 2, 3 and 4 bits",
        "does every further bit raise the number of examples needed?",
        ours(
            "sparsity.grows",
            "Each further bit of the AND raises the number of examples needed.",
            "smallest log ratio of m50 from s to s + 1, over s and T, ends shared out over them",
            lambda table: steps(table, SPARSITY),
            Above(0.0),
        ),
        "133 s",
    ),
    made(
        "fig2-noise",
        NOISE,
        [0.0, 0.05, 0.1],
        "examples needed when some training labels are wrong",
        "do wrong labels raise the number of examples needed?",
        ours(
            "noise.grows",
            "Each step of label noise (0, .05, .1) raises the number of examples needed.",
            "smallest log ratio of m50 from one noise to the next, over noise and T,"
            " ends shared out over them",
            lambda table: steps(table, NOISE),
            Above(0.0),
        ),
        "175 s",
        [*SIZES, 500, 600, 800],  # a tenth of the labels wrong needs more than 400 examples
    ),
    made(
        "fig2-dropout",
        EMBEDDING,
        [0.0, 0.1],
        "the same figure without dropout of embeddings: another protocol",
        "without dropout of embeddings training is a table computation; is it the same experiment?",
        ours(
            "dropout.same",
            "Dropping no embeddings changes the number of examples needed by less than a quarter.",
            "m50 without over m50 with embedding dropout, geometric mean over T",
            lambda table: against(table, EMBEDDING, 0.0, 0.1),
            Inside(0.8, 1.25),
        ),
        "63 s",
    ),
)
