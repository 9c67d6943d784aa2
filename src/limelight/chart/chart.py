"""A chart as plain values: views in the words of Vega-Lite, the data under them, the controls."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from limelight._core.maths import in_text
from limelight.chart.notebook import framed
from limelight.plot.marks import Number

View = Mapping[str, Any]
"""A view of Vega-Lite without its width; with one, it is a small view that stands beside others."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH = 620
"""Pixels across where nobody says otherwise, such as in a notebook."""
INK, MUTED, FAINT = "#1a1a1a", "#595959", "#d9d9d9"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#56b4e9", "#7a7a7a")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2])
#: Dark to light, even in lightness: the scale of the printed maps.
SHADES = (
    *("#192531", "#1b3d56", "#1d5779", "#277199", "#408db4"),
    *("#62a9cc", "#8bc4df", "#badfef", "#f0f8fb"),
)
CONFIG: dict[str, Any] = {
    "font": "system-ui, sans-serif",
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": INK, "titleFontWeight": "normal", "labelFontSize": 11,
        "titleFontSize": 12, "domainColor": MUTED, "tickColor": MUTED, "gridColor": FAINT,
        "gridOpacity": 0.6, "labelOverlap": "greedy", "titlePadding": 8,
    },
    "legend": {
        "labelColor": INK, "titleColor": INK, "titleFontWeight": "normal", "labelFontSize": 11,
        "titleFontSize": 12, "orient": "top", "labelLimit": 320, "titleLimit": 320,
    },
    "title": {"color": INK, "anchor": "start", "fontSize": 13, "fontWeight": 600, "offset": 8},
    "text": {"color": INK, "fontSize": 11},
    "rule": {"color": MUTED},
}  # fmt: skip


@dataclass(frozen=True)
class Control:
    """Something a reader moves: one of several values, by its place.

    Args:
        name: The parameter that it sets, to 0, 1, 2, ...
        label: What it is.
        options: What each place means.
        start: The place at the beginning.
        form: A slider; a slider that plays; buttons of which one is pressed; or on and off.

    Example:
        >>> Control("level", "loss below", ["0.1", "0.01"], start=1).options[1]
        '0.01'
    """

    name: str
    label: str
    options: Sequence[str]
    start: int = 0
    form: Literal["slider", "player", "choice", "switch"] = "slider"


@dataclass(frozen=True, repr=False)
class Chart:
    """Views over each other, each row one wide view or several small ones beside each other.

    Args:
        rows: The views.
        data: Named data, which views refer to.
        controls: What a reader can move.
        constants: Named values that expressions of the views use.
        title: What it is, in a few words.
        caption: How to read it.
        margin: Pixels beside the wide views: axes, and names of lines.
        renderer: `canvas` where there are thousands of marks.

    Example:
        >>> points = {"data": {"name": "points"}, "mark": "point"}
        >>> moved = Control("level", "loss below", ["0.1", "0.01"])
        >>> chart = Chart([points], {"points": [{"n": 8}]}, [moved], title="Examples needed")
        >>> chart
        Chart: Examples needed (controls: loss below)
        >>> chart.spec()["datasets"]
        {'points': [{'n': 8}]}
    """

    rows: Sequence[View | Sequence[View]]
    data: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    controls: Sequence[Control] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    caption: str = ""
    margin: int = 70
    renderer: Literal["svg", "canvas"] = "svg"

    def __repr__(self) -> str:
        moved = ", ".join(control.label for control in self.controls)
        return f"Chart: {self.title or 'untitled'}" + (f" (controls: {moved})" if moved else "")

    def captioned(self, caption: str) -> "Chart":
        """The same chart with another caption."""
        return replace(self, caption=caption)

    def spec(self, width: int = WIDTH, bound: bool = False) -> dict[str, Any]:
        """The whole in Vega-Lite, as plain JSON values.

        Args:
            width: Pixels across.
            bound: Whether Vega makes the controls itself, as it does in a notebook.
        """
        params: list[dict[str, Any]] = [
            {"name": c.name, "value": c.start} | ({"bind": _bind(c)} if bound else {})
            for c in self.controls
        ]
        params.append({"name": "beside", "value": 1})  # whether names stand beside their lines
        params += [{"name": name, "value": value} for name, value in self.constants.items()]
        found = {
            "$schema": SCHEMA,
            "params": params,
            "datasets": dict(self.data),
            "vconcat": [_row(row, width - self.margin) for row in self.rows],
            "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
            "config": CONFIG,
            "usermeta": {
                "margin": self.margin,
                "places": {c.name: c.options for c in self.controls},
            },
        }
        return json.loads(json.dumps(found, default=_plain, allow_nan=False))

    def altair(self) -> Any:
        """The same as a chart of Altair, with its controls under it."""
        import altair

        return altair.VConcatChart.from_dict(self.spec(bound=True))

    def _repr_html_(self) -> str:
        return framed(self.spec(bound=True), self.title, self.caption, self.renderer)


def finite(values: Any) -> list[float | None]:
    """Numbers for JSON, to six digits; what is not finite is `None`."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in np.asarray(values, float)]


def plain(value: Number) -> str:
    """A number as a reader would write it, to four digits.

    Example:
        >>> plain(28000), plain(0.71852), plain(2e-9)
        ('28,000', '0.7185', '2×10⁻⁹')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else in_text(f"{value:.4g}")


def number(value: str) -> str:
    """The expression that writes a number as a reader would: 5,750, not 5.75e+3."""
    grouped = f"abs({value}) >= 1000 && abs({value}) < 1e7"  # whole, and to the last digit
    return f"{grouped} ? format({value}, ',.0f') : format({value}, '.3~g')"


def scale_of(log: bool, low: float, high: float) -> dict[str, Any]:
    """A scale from one end to the other."""
    found = {"type": "log"} if log else {"type": "linear", "zero": False}
    return found | {"domain": [low, high], "nice": False}


def _row(row: View | Sequence[View], width: int) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {"width": width} | dict(row)
    widest = max(int(view["width"]) for view in row)
    return {
        "concat": [dict(view) for view in row],
        "columns": max(1, width // (widest + 50)),
        "resolve": {"scale": {"color": "independent"}},
    }


def _bind(control: Control) -> dict[str, Any]:
    places = list(range(len(control.options)))
    if control.form in ("slider", "player"):
        return {"input": "range", "min": 0, "max": places[-1], "step": 1, "name": control.label}
    return {
        "input": "radio", "options": places, "labels": list(control.options), "name": control.label
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")
