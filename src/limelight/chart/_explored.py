"""The numbers of a phase explorer: cells, boundary and lines of one tab, all positions computed."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight._core.maths import in_text
from limelight.chart.chart import finite, plain
from limelight.fit import Edge, wilson
from limelight.plot.marks import as_series
from limelight.table import Table

if TYPE_CHECKING:
    from limelight.chart.explorer import Explorer

Cell = Mapping[str, Any]
#: A step away from a line, the room that a name needs above and below its middle, and how wide it
#: may be, as shares of the frame; and how many steps from its line a name may stand.
NEAR, CLEAR, WORDS = 0.045, 0.04, 0.2
STEPS = (1, -1, 2, -2, 3, -3, 4, -4)


class Part:
    """One tab: its cells, boundary and lines, all positions computed."""

    def __init__(self, made: "Explorer", number: int, table: Table, names: list[str]):
        self.number, self.made = number, made
        columns = [at for at, _ in table.cells(*names)]
        values = np.array([[f(at) for f in made.across.values()] for at in columns], dtype=float)
        self.side = {tuple(at.values()): i for i, at in enumerate(columns)}
        self.positive = bool((values > 0).all())
        pairs = [(k, log) for k in range(values.shape[1]) for log in (0, int(self.positive))]
        spans = [_edges(values[:, k], log) for k, log in pairs]
        self.domains = [reach([span]) for span in spans]
        self.ticks = [ticks_of(values[:, k], log) for k, log in pairs]
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
            where = ", ".join(f"{in_text(k)} {plain(v)}" for k, v in _words(made, at).items())
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
        ends = [reach([edge]) for edge in self.up_edges]
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

    def name(self, wide: int) -> None:
        """Find places for the names of lines, with a logarithmic variable if `wide`."""
        for number in range(len(self.made.levels)):
            self._name(self.theory, number, wide)

    def _name(self, rows: list[dict], level: int, wide: int) -> None:
        """Where the name of each line stands at a criterion: at which point, how far from it."""
        up = int(self.made.log)
        (left, right), (low, high) = self.domains[wide], reach([self.up_edges[up]])
        scaled = lambda x, y: ((x - left) / (right - left), (y - low) / (high - low))
        lines: dict[str, list[tuple[float, float, dict]]] = {}
        for row in rows:
            row.setdefault("name", []).append(0)
            y = row["ys"][level] and row["ys"][level][up]
            if y is not None and low <= y <= high:
                lines.setdefault(row["label"], []).append((*scaled(row["at"][wide], y), row))
        drawn = [np.array(sorted(point[:2] for point in line)) for line in lines.values()]
        seen = [(row["at"][wide], row["ys"][level][up][0]) for row in self.edge]
        drawn.append(np.array(sorted(scaled(x, y) for x, y in seen if y is not None)))
        taken: list[tuple[float, float]] = []
        for line in lines.values():
            tried = [(x, y, row, steps) for x, y, row in line for steps in STEPS]
            # As near as it can be while it is clear of everything, and on its side of other lines.
            cost = lambda x, y, row, steps: (
                _crossed(x, y, y + NEAR * steps, drawn)
                + 0.01 * abs(steps)
                - min(_free(x, y + NEAR * steps, drawn, taken), CLEAR)
            )
            x, y, row, steps = min(tried, key=lambda one: cost(*one))
            row["name"][-1] = steps
            taken.append((x, y + NEAR * steps))


def _crossed(x: float, y: float, end: float, lines: list[np.ndarray]) -> int:
    """How many lines pass between a place on a line and the middle of its name."""
    low, high = sorted((y, end))
    at = [np.interp(x, *line.T, left=np.nan, right=np.nan) for line in lines if len(line)]
    return sum(bool(low + 1e-9 < other < high - 1e-9) for other in at)


def _free(x: float, y: float, lines: list[np.ndarray], names: list[tuple[float, float]]) -> float:
    """How far words at a place, in shares of the frame, are from lines, the frame and names."""
    across = x + np.linspace(-WORDS, WORDS, 9) / 2
    away = [min(y, 1 - y, *(across[0] + 0.02, 1.02 - across[-1]))]
    away += [abs(y - b) if abs(x - a) < WORDS else 1.0 for a, b in names]
    for line in lines:
        if len(line):
            at = np.interp(across, *line.T, left=np.nan, right=np.nan)
            away.append(float(np.nanmin(np.append(np.abs(at - y), 1.0))))
    return min(away)


def divided(cells: list[dict], level: int) -> int:
    """The cell of the first tab whose trials are most divided."""
    first = [cell for cell in cells if cell["part"] == 0]
    return min(first, key=lambda cell: abs(cell["wins"][level] / cell["n"] - 0.5))["id"]


def wilson_of(n: int) -> list[list[float]]:
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


def reach(edges: list[np.ndarray]) -> list[float]:
    whole = np.concatenate([np.asarray(edge).ravel() for edge in edges])
    return [float(f"{whole.min():.6g}"), float(f"{whole.max():.6g}")]


def ticks_of(values: np.ndarray, log: int) -> list[float]:
    """The values of the grid, those that would crowd left out."""
    places = np.unique(_position(np.asarray(values, float), log))
    least, chosen = np.ptp(places) / 12, [places[0]]
    for place in places[1:]:
        if place - chosen[-1] >= least:
            chosen.append(place)
    return finite(chosen)  # pyright: ignore[reportReturnType]


def _words(made: "Explorer", at: Cell) -> dict[str, float]:
    first = {name: f(at) for name, f in made.across.items()}
    return first | {made.label: float(at[made.upwards])}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
