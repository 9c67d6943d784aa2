r"""Lemma 2 through training, drawn: measured beside what the lemma predicts.

The printed bounds of Claim 1 are orders, so its growth is drawn as a shape.
"""

import numpy as np

from limelight.papers.li2023.envelope import envelopes
from limelight.papers.li2023.fig1a import facts
from limelight.papers.li2023.lemma2 import least_pull, most_pull
from limelight.papers.li2023.traces import SCALE, band, rows_of, slack_of, steps_of, trace
from limelight.plot import Reference, Series, caption, curves
from limelight.table import Table


def draw_features(table: Table):
    """Lengths of key, query and value features of patterns 1 and 2 and of the others."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    series = []
    for word in ("key", "query", "value"):
        both = (trace(rows, f"norm.{word}.1") + trace(rows, f"norm.{word}.2")) / 2
        series.append(band(f"{word}, discriminative", steps, both))
        series.append(band(f"{word}, others", steps, trace(rows, f"norm.{word}.idle")))
    figure = curves(series, x_label="training step", y_label="length of the feature", width=4.6)
    caption(figure, *facts(table))
    return figure


def draw_rows(table: Table):
    r"""Projections of output rows on value features: lucky ones grow along their own.

    Claim 1 says how, as an order: by $\sum_{b<t} b\, p_n(b)$. It is drawn through the end points.
    """
    rows = rows_of(table)
    steps = steps_of(table, rows)
    size = lambda name: np.abs(trace(rows, f"rows.{name}"))
    own = band("lucky rows, on their own feature", steps, size("lucky.own"))
    p = envelopes(table, rows)[0].low.mean(axis=0)[: len(steps)]
    shape = np.cumsum(np.where(steps <= np.median(rows["steps"]), steps * p, 0.0))
    _, middle, _, _ = own.arrays()
    predicted = middle[0] + (middle[-1] - middle[0]) * shape / shape.max()
    figure = curves(
        [
            own,
            band("lucky rows, on idle features", steps, size("lucky.idle")),
            band("other rows, on idle features", steps, size("other.idle")),
        ],
        guides=[Series("Claim 1, shape of the growth", steps, predicted)],
        x_label="training step",
        y_label="mean projection",
        references=[Reference(r"$\xi$", SCALE)],
        log_y=True,
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_pull(table: Table):
    """How hard neurons pull the value of their pattern, with Lemma 2's two bounds."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    bound = least_pull(table, rows).mean(axis=0)[: len(steps)]
    figure = curves(
        [
            band("lucky neurons, mean", steps, trace(rows, "pull.lucky.mean")),
            band("lucky neurons, 5th percentile", steps, trace(rows, "pull.lucky.low")),
            band("other neurons, 95th percentile", steps, trace(rows, "pull.other.high")),
        ],
        guides=[Series("Lemma 2, lucky neurons, at least", steps, bound)],
        x_label="training step",
        y_label=r"$-a V_i(t)$; others $|a V_i(t)|$",
        references=[Reference("others,\nat most", most_pull(table))],
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_value(table: Table):
    """The value that a pattern-1 query reads, by what it has learned and what it began with."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    figure = curves(
        [
            band("learned, own feature", steps, trace(rows, "value.learned.own")),
            band("learned, confusion feature", steps, trace(rows, "value.learned.confusing")),
            band("learned, idle features", steps, trace(rows, "value.learned.idle")),
            band("from the start, mass on pattern 1", steps, trace(rows, "own.mass")),
            band("from the start, error $z$", steps, trace(rows, "value.error")),
        ],
        x_label="training step",
        y_label="part of the value",
        references=[Reference(r"$\sigma+\tau$", slack_of(table))],
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_margin(table: Table):
    """Margins on fresh examples; linear and quadratic growth through the last look below 1/2."""
    rows = rows_of(table)
    steps = steps_of(table, rows)[1:]
    cut = lambda name: trace(rows, f"margin.{name}")[:, 1:]
    mean = cut("mean").mean(axis=0)[: len(steps)]
    last = max(int(np.searchsorted(mean, 0.5)) - 1, 0)
    rise = steps[: last + 1] / steps[last]
    figure = curves(
        [band("mean", steps, cut("mean")), band("least of 100", steps, cut("least"))],
        guides=[
            Series(f"growth as {name}", steps[: last + 1], mean[last] * rise**power)
            for power, name in ((1, "$t$"), (2, "$t^2$"))
        ],
        x_label="training step",
        y_label=r"margin $y F(X)$",
        references=[Reference("no loss", 1.0)],
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_drift(table: Table):
    """What gradient flow conserves drifts a little under steps of finite size."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    figure = curves(
        [
            band(r"$W_Q W_Q^\top - W_K W_K^\top$", steps, trace(rows, "drift.attention")),
            band(r"$W_V W_V^\top - W_O^\top W_O$", steps, trace(rows, "drift.value")),
        ],
        x_label="training step",
        y_label="relative change since the start",
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure
