r"""Figure 2 with one more axis: other sparsities, noisy labels, no dropout of embeddings.

The protocol is that of Figure 2; what is compared is $m_{50}$, the number of examples at which half
of the trials succeed, by maximum likelihood. The claims are ours, with rules fixed before any run.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from limelight import fit, plot
from limelight._engine.grid import assign
from limelight.claims import Claim, Estimate
from limelight.papers.edelman2022 import fig2
from limelight.papers.edelman2022.critical import (
    BANDS,
    LENGTH,
    MANY,
    QUICK,
    SIZE,
    boundary,
    iterations,
    smaller,
)
from limelight.papers.recipe import Figure, scales
from limelight.table import Table

LENGTHS, SIZES = [100, 400], list(range(25, 401, 25))
WORDS = {
    "world.sparsity": "s",
    "world.label_noise": "label noise",
    "embedding_dropout": "embedding dropout",
}
#: A trial as in Figure 2, but every one ends at its first success.
trial = assign(fig2.trial, {"share": 0.0})
REFERENCE = "limelight; the protocol of Figure 2"
DEPARTURES = "not in the paper; otherwise as fig2, every trial ending at its first success"


def variant(
    axis: str,
    values: list,
    *,
    statement: str,
    claim: Claim,
    sizes: list[int] = SIZES,
    label: str = "",
) -> Figure:
    """A figure of ours: the protocol of Figure 2 with one more axis, its values in the legend."""
    label = label or f"{WORDS[axis]} = {{:g}}"
    return Figure(
        statement=statement,
        trial=trial,
        grid={LENGTH: LENGTHS, axis: values, SIZE: sizes},
        trials=20,
        scales=scales(
            smoke=smaller(2, [16], [20, 60], {axis: [values[0], values[-1]]}, **QUICK),
            small=smaller(10, [50], [25, 50, 100, 200], iterations=200),
        ),
        claims=(claim,),
        pictures={"success": partial(draw, axis=axis, name=label)},
        summary=partial(lines, axis=axis),
        reference=REFERENCE,
        departures=DEPARTURES,
    )


def steps(table: Table, axis: str) -> Estimate:
    """Smallest log ratio of m50 from one value to the next, over values and lengths."""
    values = table.values(axis)
    return _ratios(table, axis, list(zip(values, values[1:], strict=False)), lambda logs: logs)


def against(table: Table, axis: str, value: float, usual: float) -> Estimate:
    """m50 at a value over m50 at the usual one, geometric mean over lengths."""
    mean = lambda logs: np.exp(logs.mean(axis=1, keepdims=True))
    return _ratios(table, axis, [(usual, value)], mean)


def _ratios(table: Table, axis: str, pairs: list[tuple[Any, Any]], statistic: Callable) -> Estimate:
    """A statistic of the log ratios of m50 at the second value over the first, at every length."""
    edge = boundary(table)
    lengths, values = edge.x(LENGTH), edge.x(axis)
    at = lambda T, v: int(np.flatnonzero((lengths == T) & (values == v))[0])
    places = np.array([(at(T, a), at(T, b)) for T in np.unique(lengths) for a, b in pairs])
    used = np.unique(places)
    note = "m50 " + ", ".join(
        f"{edge.values[i]:.0f} at T = {lengths[i]}, {WORDS[axis]} = {values[i]:g}" for i in used
    )
    logs = lambda m: np.log(m[:, places[:, 1]] / m[:, places[:, 0]])
    return edge.smallest(lambda m: statistic(logs(m)), used=used, draws=MANY, note=note)


def lines(table: Table, axis: str) -> list[str]:
    """m50 by length and value."""
    return fit.tabulate(boundary(table), {LENGTH: "T", axis: WORDS[axis]}, {"m50": str})


def draw(table: Table, axis: str, name: str = "{}", note: str = BANDS) -> plot.Picture:
    """Success against examples, one panel per length, one line per value of an axis."""
    parts = [
        plot.Panel(
            f"$T$ = {at[LENGTH]}",
            plot.over_cells(rows, SIZE, "success", by=axis, name=name),
            plot.Axis("share of trials above 99 %", limits=(-0.03, 1.03)),
        )
        for at, rows in table.cells(LENGTH)
    ]
    return plot.panels(
        parts,
        x_label="training examples $m$",
        columns=2,
        share=True,
        height=2.2,
        note=(iterations(table), note),
    )
