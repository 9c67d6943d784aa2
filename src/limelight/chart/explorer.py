"""The phase explorer: the criterion moves, and the boundary between failure and success with it.

Every number is computed here, by `fit`, over a ladder of criteria; the chart only chooses.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limelight._core.maths import in_text
from limelight.chart._explored import NEAR, Part, divided, reach, ticks_of, wilson_of
from limelight.chart.chart import COLOURS, DASHES, SHADES, Chart, Control, number
from limelight.fit import Edge
from limelight.plot.marks import Line
from limelight.table import Table

#: Ten to the power -4 to -1 in steps of a third: 0.0001, 0.0002, 0.0005, 0.001, ...
LOSSES = tuple(round(10.0**n * m, 9) for n in (-4, -3, -2) for m in (1, 2, 5)) + (0.1,)
Cell = Mapping[str, Any]
HEIGHT = 330


@dataclass(frozen=True)
class Explorer:
    """What a phase explorer is made of; `chart` makes it.

    Args:
        upwards: The axis along which trials begin to succeed.
        measure: The column that decides success.
        edge: The boundary of a table at a criterion.
        across: What may run across, label to a value of each cell; the first is shown at first.
        levels: The ladder of criteria; one, where there is nothing to move.
        start: The criterion at first.
        below: Whether success is a measure below the criterion.
        label: The axis upwards in words.
        measured: The measure in words.
        found: What the boundary is, in words.
        parts: Tabs: the rows of each; one without a name where there are none.
        theory: Lines to compare with, over the first variable across, at a criterion.
        fact: A line of text on the boundary at a criterion.
        conditions: The hypotheses of a theorem that fail in a cell, in words.
        marked: What is said of cells to be marked, and which rows are of such cells.
        log: Whether the axis upwards is logarithmic at first.
        wide: Whether the axis across is; where the variable grows tenfold, if it is not said.
        ends: The axis of the trials of one cell, from and to; around the ladder when not given.

    Example:
        >>> from limelight import fit
        >>> explorer = Explorer(
        ...     upwards="train.examples",
        ...     measure="accuracy",
        ...     edge=lambda table, level: fit.threshold(
        ...         table, along="train.examples", measure="accuracy", level=level
        ...     ),
        ...     across={"label noise": lambda cell: cell["world.label_noise"]},
        ...     levels=(0.8, 0.9),
        ...     below=False,
        ... )  # then explorer.chart(table)
        >>> explorer.label
        'training examples'
    """

    upwards: str
    measure: str
    edge: Callable[[Table, float], Edge]
    across: Mapping[str, Callable[[Cell], float]]
    levels: Sequence[float] = LOSSES
    start: float = 1e-3
    below: bool = True
    label: str = "training examples"
    measured: str = "test loss"
    found: str = "half of the trials succeed, 95 % interval"
    parts: Mapping[str, Callable[[Table], np.ndarray]] = field(default_factory=dict)
    theory: Callable[[Table, float], Sequence[Line]] | None = None
    fact: Callable[[Table, float], str] | None = None
    conditions: Callable[[Table, Cell], Sequence[str]] | None = None
    marked: tuple[str, Callable[[Table], np.ndarray]] | None = None
    log: bool = True
    wide: bool | None = None
    ends: tuple[float, float] | None = None

    def chart(self, table: Table) -> Chart:
        """The explorer of a table."""
        names = [name for name in table.axes if name != self.upwards]
        made = [
            Part(self, number, part, names)
            for number, part in enumerate(
                [table.rows(rows(table)) for rows in self.parts.values()] if self.parts else [table]
            )
        ]
        positive = all(part.positive for part in made)
        # What grows tenfold would lie crushed at one end.
        grows = positive and any(np.ptp(part.places[1]) > 1 for part in made)
        wide = positive and (grows if self.wide is None else self.wide)
        for part in made:
            part.name(int(wide))
        cells = [row for part in made for row in part.cells]
        theory = [row for part in made for row in part.theory]
        named = list(dict.fromkeys(row["label"] for row in theory))
        return Chart(
            rows=[self._map(named, divided(cells, self._start)), self._strip()],
            data={
                "cells": cells,
                "edge": [row for part in made for row in part.edge],
                "theory": theory,
            },
            controls=self._controls(bool(theory), positive, wide),
            constants=({} if self.parts else {"part": 0})
            | ({} if positive else {"wide": 0})
            | ({} if len(self.across) > 1 else {"across": 0})
            | ({} if len(self.levels) > 1 else {"level": 0})
            | {
                "levels": list(self.levels),
                "wilson": {str(n): wilson_of(n) for n in {cell["n"] for cell in cells}},
                "facts": [part.facts for part in made],
                "across_domain": [part.domains for part in made],
                "across_ticks": [part.ticks for part in made],
                "across_names": [in_text(name) for name in self.across],
                "up_domain": [reach([p.up_edges[log] for p in made]) for log in (0, 1)],
                "up_ticks": [ticks_of(np.unique(table[self.upwards]), log) for log in (0, 1)],
            },
            title="Where trials succeed, and the boundary at any criterion",
            caption=self._caption(),
        )

    # --- the views ----------------------------------------------------------------------------

    @property
    def _start(self) -> int:
        return int(np.argmin([abs(math.log(level / self.start)) for level in self.levels]))

    def _map(self, named: list[str], first: int) -> dict[str, Any]:
        side, up = "2 * across + wide", "high"
        x = {"field": "x1", "type": "quantitative", "scale": _moving("across_domain[part][k]")}
        x["axis"] = _axis("across_ticks[part][k]", "wide", None)
        y = {"field": "y1", "type": "quantitative", "scale": _moving("up_domain[high]")}
        y["axis"] = _axis("up_ticks[high]", "high", in_text(self.label))
        sign = "<" if self.below else "≥"
        picked = {
            "name": "cell",
            "select": {"type": "point", "on": "pointerover", "fields": ["id"], "clear": False},
            "value": [{"id": first}],
        }
        words = [
            ("where", "cell"), ("told", f"{in_text(self.measured)} {sign} criterion"),
            ("interval", "95 % interval (Wilson)"),
            *([("conditions", "theorem")] if self.conditions else []),
        ]  # fmt: skip
        squares = {
            "data": {"name": "cells"},
            "params": [picked],
            "transform": [
                {"filter": "datum.part == part"},
                {"calculate": f"datum.xs[{side}][0]", "as": "x1"},
                {"calculate": f"datum.xs[{side}][1]", "as": "x2"},
                {"calculate": f"datum.ys[{up}][0]", "as": "y1"},
                {"calculate": f"datum.ys[{up}][1]", "as": "y2"},
                {"calculate": "datum.wins[level] / datum.n", "as": "rate"},
                {"calculate": "datum.wins[level] + ' of ' + datum.n + ' trials'", "as": "told"},
                {
                    "calculate": "format(wilson[datum.n][datum.wins[level]][0], '.0%') + ' to ' + "
                    "format(wilson[datum.n][datum.wins[level]][1], '.0%')",
                    "as": "interval",
                },
            ],
            "mark": {"type": "rect", "stroke": "#8884", "strokeWidth": 0.5},
            "encoding": {
                "x": x,
                "x2": {"field": "x2"},
                "y": y,
                "y2": {"field": "y2"},
                "color": {
                    "field": "rate",
                    "type": "quantitative",
                    "scale": {"domain": [0, 1], "range": list(SHADES)},
                    "legend": {
                        "title": "share of trials that succeed",
                        "format": "%",
                        "gradientLength": 160,
                        "gradientThickness": 10,
                        "direction": "horizontal",
                        "tickCount": 3,
                    },
                },
                "tooltip": [{"field": name, "title": title} for name, title in words],
            },
        }
        layers: list[dict[str, Any]] = [squares]
        if self.marked is not None:
            layers.append(_crosses(self.marked[0]))
        layers += _lines(named) if named else []
        layers += [*_edge(), _title()]
        title = {"text": {"expr": "facts[part][level]"}, "fontSize": 16} if self.fact else ""
        return {"height": HEIGHT, "layer": layers, **({"title": title} if title else {})}

    def _strip(self) -> dict[str, Any]:
        """The trials of the cell under the pointer, one tick each, and the criterion."""
        low, high = min(self.levels), max(self.levels)
        log = self.below and low > 0
        ends = [low / 10, max(1.0, high)] if log else [min(0.0, low), max(1.0, high)]
        ends = list(self.ends or ends)
        scale = {"type": "log" if log else "linear", "domain": ends, "clamp": True, "nice": False}
        axis = {"title": in_text(self.measured), "format": "~g", "tickCount": 5, "grid": False}
        return {
            "height": 26,
            "title": {"text": "The trials of the cell under the pointer", "fontWeight": "normal",
                      "fontSize": 12},
            "layer": [
                {
                    "data": {"name": "cells"},
                    "transform": [
                        {"filter": {"param": "cell", "empty": False}},
                        {"flatten": ["trials"], "as": ["value"]},
                    ],
                    "mark": {"type": "tick", "thickness": 1.5, "opacity": 0.6, "size": 20},
                    "encoding": {
                        "x": {"field": "value", "type": "quantitative", "scale": scale,
                              "axis": axis},
                        "color": {"value": COLOURS[0]},
                    },
                },
                {
                    "data": {"values": [{}]},
                    "transform": [{"calculate": "levels[level]", "as": "value"}],
                    "mark": {"type": "rule", "strokeWidth": 2},
                    "encoding": {
                        "x": {"field": "value", "type": "quantitative", "scale": scale},
                        "color": {"value": COLOURS[1]},
                    },
                },
            ],
        }  # fmt: skip

    def _controls(self, theory: bool, positive: bool, wide: bool) -> list[Control]:
        found = []
        if self.parts:
            names = [in_text(name) for name in self.parts]
            found.append(Control("part", "protocol", names, form="choice"))
        sign = "below" if self.below else "at least"
        label = f"a trial succeeds if its {in_text(self.measured)} is {sign}"
        found.append(Control("level", label, [f"{v:g}" for v in self.levels], self._start))
        names = [in_text(name) for name in self.across]
        found.append(Control("across", "horizontal axis", names, form="choice"))
        if positive:
            found.append(
                Control("wide", "log scale across", ("off", "on"), int(wide), form="switch")
            )
        found.append(
            Control("high", "log scale upwards", ("off", "on"), int(self.log), form="switch")
        )
        if theory:
            found.append(Control("shown", "lines to compare with", ("off", "on"), 1, form="switch"))
        return [control for control in found if len(control.options) > 1]

    def _caption(self) -> str:
        return (
            "Each cell is a share of trials, light where all succeed. "
            f"Circles: {in_text(self.found)}; a bar is the interval, and reaches the end of the"
            " grid where it is open." + (f" Crosses: {self.marked[0]}." if self.marked else "")
        )


# --- layers -----------------------------------------------------------------------------------


def _crosses(label: str) -> dict[str, Any]:
    middle = "(datum.{0}s[{1}][0] + datum.{0}s[{1}][1]) / 2"
    return {
        "data": {"name": "cells"},
        "transform": [
            {"filter": "datum.part == part && datum.crossed"},
            {"calculate": middle.format("x", "2 * across + wide"), "as": "x"},
            {"calculate": middle.format("y", "high"), "as": "y"},
        ],
        "mark": {"type": "text", "text": "×", "color": "#e69f00", "tooltip": label},
        "encoding": {"x": _q("x"), "y": _q("y")},
    }


def _title() -> dict[str, Any]:
    """What runs across: a title that changes, which an axis of Vega-Lite has not."""
    words = {"type": "text", "text": {"expr": "across_names[across]"}, "fontSize": 12}
    place = {"x": {"value": {"expr": "width / 2"}}, "y": {"value": HEIGHT + 34}}
    return {"data": {"values": [{}]}, "mark": words, "encoding": place}


def _edge() -> list[dict[str, Any]]:
    chosen = [
        {"filter": "datum.part == part"},
        {"calculate": "datum.at[2 * across + wide]", "as": "x"},
        {"calculate": "datum.ys[level][high][0]", "as": "y"},
        {"calculate": "datum.ys[level][high][1]", "as": "low"},
        {"calculate": "datum.ys[level][high][2]", "as": "top"},
        {"calculate": "datum.ys[level][2]", "as": "value"},
    ]
    known = [*chosen, {"filter": "isValid(datum.y)"}]
    base = {"data": {"name": "edge"}}
    x, colour = _q("x"), {"value": COLOURS[1]}
    return [
        {
            **base,
            "transform": [*chosen, {"filter": "isValid(datum.low) && isValid(datum.top)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": x, "y": _q("low"), "y2": {"field": "top"}, "color": colour},
        },
        {
            **base,
            "transform": known,
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": _q("y"), "color": colour},
        },
        {
            **base,
            "name": "boundary",
            "transform": known,
            "mark": {"type": "point", "filled": True, "size": 70, "stroke": "white", "opacity": 1},
            "encoding": {
                "x": x,
                "y": _q("y"),
                "color": colour,
                "tooltip": [{"field": "value", "title": "boundary", "format": ",.3~r"}],
            },
        },
    ]


def _lines(named: list[str]) -> list[dict[str, Any]]:
    chosen = [
        {"filter": "datum.part == part && shown && isValid(datum.ys[level])"},
        {"calculate": "datum.at[2 * across + wide]", "as": "x"},
        {"calculate": "datum.ys[level][high]", "as": "y"},
        {"filter": "datum.y >= up_domain[high][0] && datum.y <= up_domain[high][1]"},
    ]
    dashes = {"domain": named, "range": [DASHES[1 + i % 4] for i in range(len(named))]}
    told = [*chosen, {"filter": "datum.name[level] != 0"}]
    beside = {"expr": f"-{NEAR * HEIGHT:.0f} * datum.name[level]"}
    words: dict[str, Any] = {"type": "text", "dy": beside, "fontWeight": 600, "clip": True}
    name = {"x": _q("x"), "y": _q("y"), "text": {"field": "label"}}
    halo = {"stroke": "white", "strokeWidth": 3, "strokeJoin": "round", "color": "white"}
    return [
        {
            "data": {"name": "theory"},
            "transform": chosen,
            "mark": {"type": "line", "strokeWidth": 1.8, "clip": True},
            "encoding": {
                "x": _q("x"),
                "y": _q("y"),
                "stroke": {"value": "#e6a100"},
                "strokeDash": {
                    "field": "label",
                    "scale": dashes,
                    "legend": None,
                },
            },
        },
        *(
            {"data": {"name": "theory"}, "transform": told, "mark": words | look, "encoding": name}
            for look in (halo, {"color": "#805a00"})
        ),
    ]


def _q(name: str) -> dict[str, Any]:
    return {"field": name, "type": "quantitative"}


def _moving(domain: str) -> dict[str, Any]:
    domain = domain.replace("[k]", "[2 * across + wide]")
    return {"domain": {"expr": domain}, "nice": False, "zero": False}


def _axis(ticks: str, log: str, title: str | None) -> dict[str, Any]:
    ticks = ticks.replace("[k]", "[2 * across + wide]")
    return {
        "values": {"expr": ticks},
        "labelExpr": number(f"({log} ? pow(10, datum.value) : datum.value)"),
        "title": title,
        "grid": False,
    }
