r"""Lemma 2 and its claims through training: output rows, features, values, margins.

What has a number in the paper is judged by it; what has none (grows, does not grow, does not turn)
by a level of ours. The printed bounds of Claim 1 are orders, so its growth is drawn as a shape.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, AtMost, Claim, Estimate, Fixed, Inside, Rule, Undecided
from limelight.papers.li2023.concentration import average, logged_steps
from limelight.papers.li2023.envelope import envelopes
from limelight.papers.li2023.lucky import slack_of
from limelight.papers.li2023.traces import (
    in_panels,
    over_steps,
    rows_of,
    share_of_looks,
    steps_of,
    trace,
)
from limelight.table import Table

#: The scale of the output layer at the start, the paper's $\xi$.
SCALE = 0.01


def growth(table: Table, name: str) -> Estimate:
    """A trace at the end over itself at the start."""
    log = trace(rows_of(table), name)
    return average(log[:, -1] / log[:, 0])


def at_the_end(table: Table, name: str, over: str = "") -> Estimate:
    """A trace at the end, over another one if named."""
    rows = rows_of(table)
    last = trace(rows, name)[:, -1]
    return average(last / trace(rows, over)[:, -1] if over else last)


def pulling(table: Table, rows: Table) -> np.ndarray:
    """Looks at which some example still pulls."""
    return trace(rows, "pull.active") > 0


def least_pull(table: Table, rows: Table) -> np.ndarray:
    r"""Lemma 2's bound on $-a V_i$ of lucky neurons, $\frac{1}{2B} \sum_n \frac{|S_1|}{|S|} p_n$.

    Over the examples of the right label that still pull, half of the active ones.
    """
    found, own = envelopes(table, rows)
    active = trace(rows, "pull.active") / 2
    return 0.5 * active * own["tokens"] / table.setting("world.tokens") * found.low


def lucky_pull(table: Table, rows: Table) -> np.ndarray:
    """Where 95 % of the lucky neurons pull at least that hard."""
    return trace(rows, "pull.lucky.low") >= least_pull(table, rows)


def most_pull(table: Table) -> float:
    r"""Lemma 2's bound on $|a V_i|$ of the other neurons, $1/\sqrt B$."""
    return float(table.setting("train.batch")) ** -0.5


def other_pull(table: Table, rows: Table) -> np.ndarray:
    """Where 95 % of the neurons that are not lucky pull no harder than that."""
    return trace(rows, "pull.other.high") <= most_pull(table)


def margin_power(table: Table) -> Estimate:
    """Log-log slope of the mean margin in steps, from the first look to the last at most 1/2."""
    rows = rows_of(table)
    steps, margin = logged_steps(table, rows), trace(rows, "margin.mean")
    slopes = []
    for log in margin:
        use = (steps > 0) & (log > 0) & (np.maximum.accumulate(log) <= 0.5)
        if use.sum() >= 3:
            slopes.append(fit.fit_law("power", steps[use].astype(float), log[use]).slope)
    if len(slopes) < len(rows):
        lost = len(rows) - len(slopes)
        raise Undecided(f"{lost} of {len(rows)} trials have too few looks", n=len(rows))
    return average(np.array(slopes))


def steepest(table: Table) -> Estimate:
    """Largest log-log slope of the mean margin between looks two apart, up to a margin of 1/2."""
    rows = rows_of(table)
    steps, margin = logged_steps(table, rows), trace(rows, "margin.mean")
    found = []
    for log in margin:
        use = np.flatnonzero((steps > 0) & (log > 0) & (np.maximum.accumulate(log) <= 0.5))
        if len(use) < 3:
            raise Undecided("a trial has too few looks", n=len(rows))
        rise, run = np.log(log[use[2:]] / log[use[:-2]]), np.log(steps[use[2:]] / steps[use[:-2]])
        found.append(float((rise / run).max()))
    return average(np.array(found))


def squared_over_log(table: Table) -> Estimate:
    """Squared length of W_K mu_1 at the end over log T, T the step at which training settles."""
    rows = rows_of(table)
    return average(trace(rows, "norm.key.1")[:, -1] ** 2 / np.log(rows["steps"].astype(float)))


def over_bound(table: Table) -> Estimate:
    r"""Mean squared length of the other rows at the end, in the span of P, over M xi^2."""
    bound = float(table.setting("world.patterns")) * SCALE**2
    return average(trace(rows_of(table), "rows.other.norm")[:, -1] / bound)


def _claim(
    name: str,
    words: str,
    statistic: str,
    estimate: Callable[[Table], Estimate],
    rule: Rule,
    part: str = "",
    fixed: Fixed = "before",
) -> Claim:
    where = f"Lemma 2, {part}" if part else "Lemma 2"
    return Claim(
        f"L2.{name}",
        f"{words} ({where}).",
        statistic,
        estimate,
        rule,
        f"li2023, {where}",
        fixed=fixed,
    )


PULL = "share of looks with margins below 1 at which 95 % of lucky neurons have -V_i at the bound"
CLAIMS = (
    _claim(
        "pull",
        "95 % of lucky neurons pull the value of their pattern at least as printed, at 95 % of the"
        " looks",
        PULL,
        partial(share_of_looks, holds=lucky_pull, counts=pulling),
        AtLeast(0.95),
    ),
    _claim(
        "pull.shared",
        "With one sign per neuron, as in the proofs, 95 % of lucky neurons pull at least as"
        " printed, at 95 % of the looks",
        PULL + ", shared_scaled readout",
        partial(share_of_looks, holds=lucky_pull, counts=pulling, readout="shared_scaled"),
        AtLeast(0.95),
    ),
    _claim(
        "pull.others",
        "95 % of the other neurons pull no harder than 1/(a sqrt B), at 95 % of the looks",
        "share of looks with margins below 1 at which 95 % of others have |V_i| at most that",
        partial(share_of_looks, holds=other_pull, counts=pulling),
        AtLeast(0.95),
    ),
    _claim(
        "rows",
        "Lucky output rows at least double along their own feature",
        "mean projection of lucky rows on their own value feature at the end over the start",
        partial(growth, name="rows.lucky.own"),
        AtLeast(2.0),
        "claim 1",
        fixed="after",
    ),
    _claim(
        "rows.idle",
        "Lucky output rows stay below xi along idle features, on average",
        "mean size of the projections of lucky rows on idle value features at the end",
        partial(at_the_end, name="rows.lucky.idle"),
        AtMost(SCALE),
        "claim 1",
        fixed="after",
    ),
    _claim(
        "keys",
        "Key features of the discriminative patterns grow by a tenth or more",
        "length of W_K mu_1 at the end over the start",
        partial(growth, name="norm.key.1"),
        AtLeast(1.1),
        "claim 2",
    ),
    _claim(
        "queries",
        "Query features of the discriminative patterns grow by a tenth or more",
        "length of W_Q mu_1 at the end over the start",
        partial(growth, name="norm.query.1"),
        AtLeast(1.1),
        "claim 2",
        fixed="after",
    ),
    _claim(
        "idle",
        "Key features of the other patterns grow by a tenth at most",
        "mean length of W_K mu_k, k >= 3, at the end over the start",
        partial(growth, name="norm.key.idle"),
        AtMost(1.1),
        "claim 2",
    ),
    _claim(
        "turn",
        "Key features of the discriminative patterns grow without turning: a cosine of 0.9 or more",
        "cosine of W_K mu_k at the end with itself at the start, mean of k = 1, 2",
        partial(at_the_end, name="turn.key"),
        AtLeast(0.9),
        "claim 2",
    ),
    _claim(
        "values",
        "Value features of the other patterns move at most half as far as those of 1 and 2",
        "mean distance that W_V mu_k, k >= 3, has moved over that of k = 1, 2",
        partial(at_the_end, name="value.moved.idle", over="value.moved.own"),
        AtMost(0.5),
        "claim 3",
    ),
    _claim(
        "values.along",
        "Value features of patterns 1 and 2 move along the sum of the lucky rows: a cosine of 0.9"
        " or more",
        "cosine of the distance moved with the sum of the rows that were lucky at the start",
        partial(at_the_end, name="value.aligned"),
        AtLeast(0.9),
        "claim 3",
    ),
    _claim(
        "keys.log",
        "Squared key features of the discriminative patterns end of order log T",
        "squared length of W_K mu_1 at the end over log T, T the step at which training settles",
        squared_over_log,
        Inside(0.5, 2.0),
        "claim 2; the factor of 2 is ours",
        fixed="after",
    ),
    _claim(
        "others.idle",
        "Other output rows stay below xi along idle features, on average",
        "mean size of the projections of the other rows on idle value features at the end",
        partial(at_the_end, name="rows.other.idle"),
        AtMost(SCALE),
        "claim 1",
        fixed="after",
    ),
    _claim(
        "others.norm",
        "Other output rows keep a squared length of at most M xi^2, on average",
        "mean squared length of the other rows at the end, in the span of P, over M xi^2",
        over_bound,
        AtMost(1.0),
        "claim 1",
        fixed="after",
    ),
    _claim(
        "margin",
        "On average over its rise to 1/2 the margin grows with a power of the steps from 1 to 2",
        "log-log slope of the mean margin in steps, up to a margin of 1/2",
        margin_power,
        Inside(1.0, 2.0),
    ),
    _claim(
        "margin.local",
        "At no stage does the margin grow faster than quadratically (the proof's condition is fifth"
        " order)",
        "largest log-log slope of the mean margin between looks two apart, up to a margin of 1/2",
        steepest,
        AtMost(2.0),
        fixed="after",
    ),
)


def draw_features(table: Table) -> plot.Picture:
    """Lengths of key, query and value features of patterns 1 and 2 and of the others."""
    rows = rows_of(table)
    groups: dict[str, dict] = {"discriminative patterns": {}, "the other patterns": {}}
    for word, name in (("key", "keys"), ("query", "queries"), ("value", "values")):
        both = trace(rows, f"norm.{word}.1") + trace(rows, f"norm.{word}.2")
        groups["discriminative patterns"][name] = both / 2
        groups["the other patterns"][name] = f"norm.{word}.idle"
    return in_panels(table, groups, "length of the feature")


def draw_rows(table: Table) -> plot.Picture:
    r"""Projections of output rows on value features: lucky ones grow along their own.

    Claim 1 says how, as an order: by $\sum_{b<t} b\, p_n(b)$. It is drawn through the end points.
    """
    rows = rows_of(table)
    steps = steps_of(table, rows)
    sizes = {
        "lucky rows, on their own feature": np.abs(trace(rows, "rows.lucky.own")),
        "lucky rows, on idle features": np.abs(trace(rows, "rows.lucky.idle")),
        "other rows, on idle features": np.abs(trace(rows, "rows.other.idle")),
    }
    own = sizes["lucky rows, on their own feature"].mean(axis=0)[: len(steps)]
    p = envelopes(table, rows)[0].low.mean(axis=0)[: len(steps)]
    shape = np.cumsum(np.where(steps <= np.median(rows["steps"]), steps * p, 0.0))
    predicted = own[0] + (own[-1] - own[0]) * shape / shape.max()
    return over_steps(
        table,
        sizes,
        "mean projection",
        guides=[plot.Guide("Claim 1, shape of the growth", steps, predicted)],
        references=[plot.Reference(r"size at the start, $\xi$", SCALE)],
        log_y=True,
    )


def draw_pull(table: Table) -> plot.Picture:
    """How hard neurons pull the value of their pattern, with Lemma 2's two bounds."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    bound = least_pull(table, rows).mean(axis=0)[: len(steps)]
    return over_steps(
        table,
        {
            "lucky neurons, mean": "pull.lucky.mean",
            "lucky neurons, 5th percentile": "pull.lucky.low",
            "other neurons, 95th percentile": "pull.other.high",
        },
        "pull on the value of the own pattern",
        guides=[plot.Guide("lucky neurons at least, by Lemma 2", steps, bound)],
        references=[plot.Reference("other neurons\nat most, by Lemma 2", most_pull(table))],
    )


def draw_value(table: Table) -> plot.Picture:
    """The value that a pattern-1 query reads, by what it has learned and what it began with."""
    return in_panels(
        table,
        {
            "learned": {
                "along its own feature": "value.learned.own",
                "along the confusion feature": "value.learned.confusing",
                "along idle features": "value.learned.idle",
            },
            "from the start": {
                "mass on pattern 1": "own.mass",
                "error of the value map": "value.error",
            },
        },
        "part of the value",
        references=[plot.Reference(r"most error of a feature, $\sigma+\tau$", slack_of(table))],
    )


def draw_margin(table: Table) -> plot.Picture:
    """Margins on fresh examples; linear and quadratic growth through the last look below 1/2."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    mean = trace(rows, "margin.mean").mean(axis=0)[: len(steps)]
    last = max(int(np.searchsorted(mean, 0.5)) - 1, 1)
    rise = steps[: last + 1] / steps[last]
    return over_steps(
        table,
        {"mean margin": "margin.mean", "least margin of 100": "margin.least"},
        "margin on fresh examples",
        guides=[
            plot.Guide(f"growth as {name}", steps[: last + 1], mean[last] * rise**power)
            for power, name in ((1, "$t$"), (2, "$t^2$"))
        ],
        references=[plot.Reference("no loss", 1.0)],
    )


def draw_drift(table: Table) -> plot.Picture:
    """What gradient flow conserves drifts a little under steps of finite size."""
    return over_steps(
        table,
        {
            "queries against keys": "drift.attention",
            "values against outputs": "drift.value",
        },
        "relative change since the start",
    )
