"""The phase explorer: the criterion moves, and the boundary between failure and success with it.

Every number is computed here, by `fit`, over a ladder of criteria; the chart only chooses.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limelight._core.maths import in_text
from limelight.chart.chart import COLOURS, DASHES, SHADES, Chart, Control, finite
from limelight.fit import Edge, wilson
from limelight.plot.marks import Line, as_series
from limelight.table import Table

#: Ten to the power -4 to -1 in steps of a third: 0.0001, 0.0002, 0.0005, 0.001, ...
LOSSES = tuple(round(10.0**n * m, 9) for n in (-4, -3, -2) for m in (1, 2, 5)) + (0.1,)
Cell = Mapping[str, Any]


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
        ends: The axis of the trials of one cell, from and to; around the ladder when not given.
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
    ends: tuple[float, float] | None = None

    def chart(self, table: Table) -> Chart:
        """The explorer of a table."""
        names = [name for name in table.axes if name != self.upwards]
        made = [
            _Part(self, number, part, names)
            for number, part in enumerate(
                [table.rows(rows(table)) for rows in self.parts.values()] if self.parts else [table]
            )
        ]
        positive = all(part.positive for part in made)
        cells = [row for part in made for row in part.cells]
        theory = [row for part in made for row in part.theory]
        named = list(dict.fromkeys(row["label"] for row in theory))
        return Chart(
            rows=[self._map(named, _divided(cells, self._start)), self._strip()],
            data={
                "cells": cells,
                "edge": [row for part in made for row in part.edge],
                "theory": theory,
            },
            controls=self._controls(bool(theory), positive),
            constants=({} if self.parts else {"part": 0})
            | ({} if positive else {"wide": 0})
            | ({} if len(self.across) > 1 else {"across": 0})
            | ({} if len(self.levels) > 1 else {"level": 0})
            | {
                "levels": list(self.levels),
                "wilson": {str(n): _wilson(n) for n in {cell["n"] for cell in cells}},
                "facts": [part.facts for part in made],
                "across_domain": [part.domains for part in made],
                "across_ticks": [part.ticks for part in made],
                "across_names": [in_text(name) for name in self.across],
                "up_domain": [_span([p.up_edges[log] for p in made]) for log in (0, 1)],
                "up_ticks": [_ticks(np.unique(table[self.upwards]), log) for log in (0, 1)],
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
        title = {"text": {"expr": "facts[part][level]"}} if self.fact else ""
        return {"height": 330, "layer": layers, **({"title": title} if title else {})}

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

    def _controls(self, theory: bool, positive: bool) -> list[Control]:
        found = []
        if self.parts:
            names = [in_text(name) for name in self.parts]
            found.append(Control("part", "protocol", names, form="choice"))
        sign = "below" if self.below else "at least"
        label = f"a trial succeeds if its {in_text(self.measured)} is {sign}"
        found.append(Control("level", label, [f"{v:g}" for v in self.levels], self._start))
        names = [in_text(name) for name in self.across]
        found.append(Control("across", "across", names, form="choice"))
        if positive:
            found.append(Control("wide", "logarithmic across", ("off", "on"), form="switch"))
        found.append(
            Control("high", "logarithmic upwards", ("off", "on"), int(self.log), form="switch")
        )
        if theory:
            found.append(Control("shown", "lines", ("off", "on"), 1, form="switch"))
        return [control for control in found if len(control.options) > 1]

    def _caption(self) -> str:
        return (
            "Each cell is a share of trials, light where all succeed. "
            f"Circles: {in_text(self.found)}; a bar is the interval, and reaches the end of the"
            " grid where it is open." + (f" Crosses: {self.marked[0]}." if self.marked else "")
        )


class _Part:
    """One tab: its cells, boundary and lines, all positions computed."""

    def __init__(self, made: Explorer, number: int, table: Table, names: list[str]):
        self.number, self.made = number, made
        columns = [at for at, _ in table.cells(*names)]
        values = np.array([[f(at) for f in made.across.values()] for at in columns], dtype=float)
        self.side = {tuple(at.values()): i for i, at in enumerate(columns)}
        self.positive = bool((values > 0).all())
        pairs = [(k, log) for k in range(values.shape[1]) for log in (0, int(self.positive))]
        spans = [_edges(values[:, k], log) for k, log in pairs]
        self.domains = [_span([span]) for span in spans]
        self.ticks = [_ticks(values[:, k], log) for k, log in pairs]
        self.places = [_position(values[:, k], log) for k, log in pairs]
        rows = np.unique(table[made.upwards]).astype(float)
        self.up_edges = [_edges(rows, log) for log in (0, 1)]
        edges = [made.edge(table, level) for level in made.levels]
        self.facts = [made.fact(table, level) if made.fact else "" for level in made.levels]
        self.cells = self._cells(table, names, rows, spans)
        self.edge = self._edge(edges)
        self.theory = self._theory(table)

    def _cells(self, table: Table, names: list[str], rows: np.ndarray, spans: list) -> list[dict]:
        made, found = self.made, []
        crossed = made.marked[1](table) if made.marked else np.zeros(len(table), bool)
        table = Table({**table.columns, "_crossed": crossed}, table.axes, table.manifest)
        for at, part in table.cells(*names, made.upwards):
            column = self.side[tuple(at[name] for name in names)]
            row = int(np.searchsorted(rows, float(at[made.upwards])))
            values = part[made.measure].astype(float)
            values = values if values.ndim == 1 else values[:, -1]
            lost = part.diverged | np.isnan(values)
            wins = [
                int((((values < level) if made.below else (values >= level)) & ~lost).sum())
                for level in made.levels
            ]
            failing = made.conditions(table, at) if made.conditions else ()
            where = ", ".join(f"{in_text(k)} {v:.4g}" for k, v in _words(made, at).items())
            found.append(
                {
                    "id": 1000 * self.number + len(found),
                    "part": self.number,
                    "where": where,
                    "xs": [finite(span[column]) for span in spans],
                    "ys": [finite(edges[row]) for edges in self.up_edges],
                    "n": len(part),
                    "wins": wins,
                    "trials": finite([float(f"{v:.2g}") for v in np.sort(values)]),
                    "crossed": bool(part["_crossed"].any()),
                    "conditions": "; ".join(failing) + " fail" * bool(failing) or "applies",
                }
            )
        return found

    def _edge(self, edges: list[Edge]) -> list[dict]:
        found: dict[int, dict] = {}
        ends = [_span([edge]) for edge in self.up_edges]
        for number, edge in enumerate(edges):
            for at, threshold in edge:
                column = self.side[tuple(_plain(v) for v in at.values())]
                row = found.setdefault(
                    column,
                    {
                        "part": self.number,
                        "at": [finite(place[[column]])[0] for place in self.places],
                        "ys": [[None, None, None, None]] * len(edges),
                    },
                )
                low, high = threshold.open_ends
                y = threshold.value if threshold.resolved else math.nan
                # Linear and logarithmic place of the value, and of both ends, kept in the frame.
                row["ys"] = list(row["ys"])
                row["ys"][number] = [
                    [_place(y, log), _clip(low, log, ends, 0), _clip(high, log, ends, 1)]
                    for log in (0, 1)
                ] + [None if math.isnan(y) else float(f"{y:.6g}")]
        return list(found.values())

    def _theory(self, table: Table) -> list[dict]:
        """Lines to compare with: a row per point, its height at every criterion."""
        found: dict[tuple[str, float], dict] = {}
        if self.made.theory is None:
            return []
        order = np.argsort(self.places[0])
        for number, level in enumerate(self.made.levels):
            for line in self.made.theory(table, level):
                series = as_series(line)
                label = in_text(series.label).split(": R")[0]
                for a, b in zip(*series.arrays()[:2], strict=True):
                    # The other variables across run along with the first.
                    places = (np.interp(a, self.places[0][order], p[order]) for p in self.places)
                    row = found.setdefault(
                        (label, float(a)),
                        {
                            "part": self.number,
                            "label": label,
                            "at": finite(list(places)),
                            "ys": [None for _ in self.made.levels],
                        },
                    )
                    row["ys"][number] = [_place(b, 0), _place(b, 1)] if b > 0 else None
        return list(found.values())


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
    place = {"x": {"value": {"expr": "width / 2"}}, "y": {"value": {"expr": "height + 34"}}}
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
                "tooltip": [{"field": "value", "title": "boundary", "format": ".3~g"}],
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
                    "legend": {"title": None, "symbolStrokeColor": "#b07d00", "columns": 1},
                },
            },
        }
    ]


# --- positions --------------------------------------------------------------------------------


def _q(name: str) -> dict[str, Any]:
    return {"field": name, "type": "quantitative"}


def _moving(domain: str) -> dict[str, Any]:
    domain = domain.replace("[k]", "[2 * across + wide]")
    return {"domain": {"expr": domain}, "nice": False, "zero": False}


def _axis(ticks: str, log: str, title: str | None) -> dict[str, Any]:
    ticks = ticks.replace("[k]", "[2 * across + wide]")
    return {
        "values": {"expr": ticks},
        "labelExpr": f"format({log} ? pow(10, datum.value) : datum.value, '.3~g')",
        "title": title,
        "grid": False,
    }


def _divided(cells: list[dict], level: int) -> int:
    """The cell of the first tab whose trials are most divided."""
    first = [cell for cell in cells if cell["part"] == 0]
    return min(first, key=lambda cell: abs(cell["wins"][level] / cell["n"] - 0.5))["id"]


def _wilson(n: int) -> list[list[float]]:
    """The interval of every number of successes."""
    ends = np.stack(wilson(np.arange(n + 1), np.full(n + 1, n)), axis=1)
    return [[round(float(low), 3), round(float(high), 3)] for low, high in ends]


def _position(values: np.ndarray, log: int) -> np.ndarray:
    return np.log10(values) if log else np.asarray(values, float)


def _place(value: float, log: int) -> float | None:
    if not math.isfinite(value) or (log and value <= 0):
        return None
    return float(f"{math.log10(value) if log else value:.6g}")


def _clip(value: float, log: int, ends: list[list[float]], side: int) -> float:
    """An end of an interval in the frame: where it is open, the end of the frame."""
    low, high = ends[log]
    if math.isnan(value) or not math.isfinite(value) or value <= 0:
        return (low, high)[side]
    return float(f"{min(max(math.log10(value) if log else value, low), high):.6g}")


def _edges(values: np.ndarray, log: int) -> np.ndarray:
    """Both sides of the cell of every value: half-way to its neighbours."""
    places = _position(np.asarray(values, float), log)
    known, back = np.unique(places, return_inverse=True)
    if len(known) == 1:
        known_edges = np.array([known[0] - 0.5, known[0] + 0.5])
    else:
        middle = (known[1:] + known[:-1]) / 2
        first, last = known[0] - (middle[0] - known[0]), known[-1] + (known[-1] - middle[-1])
        known_edges = np.concatenate([[first], middle, [last]])
    return np.stack([known_edges[back], known_edges[back + 1]], axis=1)


def _span(edges: list[np.ndarray]) -> list[float]:
    whole = np.concatenate([np.asarray(edge).ravel() for edge in edges])
    return [float(f"{whole.min():.6g}"), float(f"{whole.max():.6g}")]


def _ticks(values: np.ndarray, log: int) -> list[float]:
    """The values of the grid, those that would crowd left out."""
    places = np.unique(_position(np.asarray(values, float), log))
    least, chosen = np.ptp(places) / 12, [places[0]]
    for place in places[1:]:
        if place - chosen[-1] >= least:
            chosen.append(place)
    return finite(chosen)  # pyright: ignore[reportReturnType]


def _words(made: Explorer, at: Cell) -> dict[str, float]:
    first = {name: f(at) for name, f in made.across.items()}
    return first | {made.label: float(at[made.upwards])}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
