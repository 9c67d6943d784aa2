r"""Lemma 2 through training, drawn: measured beside what the lemma predicts.

The printed bounds of Claim 1 are orders, so its growth is drawn as a shape.
"""

import numpy as np

from limelight.papers.li2023.envelope import envelopes
from limelight.papers.li2023.lemma2 import SCALE, least_pull, most_pull
from limelight.papers.li2023.lucky import slack_of
from limelight.papers.li2023.traces import over_steps, rows_of, steps_of, trace
from limelight.plot import Guide, Picture, Reference
from limelight.table import Table


def draw_features(table: Table) -> Picture:
    """Lengths of key, query and value features of patterns 1 and 2 and of the others."""
    rows = rows_of(table)
    logs = {}
    for word in ("key", "query", "value"):
        both = trace(rows, f"norm.{word}.1") + trace(rows, f"norm.{word}.2")
        logs |= {f"{word}, discriminative": both / 2, f"{word}, others": f"norm.{word}.idle"}
    return over_steps(table, logs, "length of the feature")


def draw_rows(table: Table) -> Picture:
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
        guides=[Guide("Claim 1, shape of the growth", steps, predicted)],
        references=[Reference(r"$\xi$", SCALE)],
        log_y=True,
    )


def draw_pull(table: Table) -> Picture:
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
        r"$-a V_i(t)$; others $|a V_i(t)|$",
        guides=[Guide("Lemma 2, lucky neurons, at least", steps, bound)],
        references=[Reference("others,\nat most", most_pull(table))],
    )


def draw_value(table: Table) -> Picture:
    """The value that a pattern-1 query reads, by what it has learned and what it began with."""
    return over_steps(
        table,
        {
            "learned, own feature": "value.learned.own",
            "learned, confusion feature": "value.learned.confusing",
            "learned, idle features": "value.learned.idle",
            "from the start, mass on pattern 1": "own.mass",
            "from the start, error $z$": "value.error",
        },
        "part of the value",
        references=[Reference(r"$\sigma+\tau$", slack_of(table))],
    )


def draw_margin(table: Table) -> Picture:
    """Margins on fresh examples; linear and quadratic growth through the last look below 1/2."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    mean = trace(rows, "margin.mean").mean(axis=0)[: len(steps)]
    last = max(int(np.searchsorted(mean, 0.5)) - 1, 1)
    rise = steps[: last + 1] / steps[last]
    return over_steps(
        table,
        {"mean": "margin.mean", "least of 100": "margin.least"},
        r"margin $y F(X)$",
        guides=[
            Guide(f"growth as {name}", steps[: last + 1], mean[last] * rise**power)
            for power, name in ((1, "$t$"), (2, "$t^2$"))
        ],
        references=[Reference("no loss", 1.0)],
    )


def draw_drift(table: Table) -> Picture:
    """What gradient flow conserves drifts a little under steps of finite size."""
    return over_steps(
        table,
        {
            r"$W_Q W_Q^\top - W_K W_K^\top$": "drift.attention",
            r"$W_V W_V^\top - W_O^\top W_O$": "drift.value",
        },
        "relative change since the start",
    )
