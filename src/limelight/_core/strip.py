"""A claim as a rule strip: where it holds, shaded; what was measured, with its interval.

The same drawing stands in pages and in notebooks. Its colours are attributes, which the style of a
page overrules by the classes beside them.
"""

import html
import math
from typing import Protocol, runtime_checkable

WIDE, TALL, LEFT, RIGHT = 360.0, 46.0, 14.0, 346.0
LINE, TOP = 25.0, 15.0
GREEN = "#1a7f4b"
COLOURS = {"holds": GREEN, "fails": "#b3261e"}
#: Of whatever is open.
AMBER = "#8a6d00"


@runtime_checkable
class Decided(Protocol):
    """What a strip shows of a verdict."""

    @property
    def value(self) -> float: ...
    @property
    def interval(self) -> tuple[float, float] | None: ...
    @property
    def region(self) -> tuple[float, float]: ...
    @property
    def level(self) -> float | None: ...
    @property
    def verdict(self) -> str: ...


def strip(verdict: Decided) -> str:
    """The strip as an SVG element, which says itself in words; nothing without a number.

    The shaded part is where the claim holds, the dot is the estimate, the bar its interval; an
    open end is an arrow.
    """
    if not math.isfinite(verdict.value):
        return ""
    scale, (low, high) = _Ruler(verdict), verdict.region
    colour = COLOURS.get(verdict.verdict, AMBER)
    a, b, middle = scale(low), scale(high), scale(verdict.value)
    ticks = [(scale(end), end) for end in (low, high) if math.isfinite(end)]
    parts = [
        f'<line class="axis" x1="{LEFT:g}" x2="{RIGHT:g}" y1="{LINE:g}" y2="{LINE:g}"'
        ' stroke="currentColor" stroke-opacity="0.4"/>',
        f'<rect class="region" x="{a:.1f}" y="{TOP:g}" width="{max(b - a, 1):.1f}" height="20"'
        f' fill="{GREEN}" opacity="0.18"/>',
        *(_tick(scale(end), place, end) for place, end in _apart(ticks)),
        *_reach(verdict.interval, scale, colour),
        f'<circle class="value" cx="{middle:.1f}" cy="{LINE:g}" r="5" fill="{colour}"/>',
        f'<text class="told" x="{middle:.1f}" y="11" text-anchor="{_anchor(middle)}"'
        f' fill="currentColor">{number(verdict.value)}</text>',
    ]
    kind = html.escape(verdict.verdict.replace(" ", "-"))
    return (
        f'<svg class="strip {kind}" width="{WIDE:g}" height="{TALL:g}" viewBox="0 0 {WIDE:g}'
        f' {TALL:g}" role="img" aria-label="{in_words(verdict)}" font-family="sans-serif"'
        f' font-size="11">{"".join(parts)}</svg>'
    )


def _tick(x: float, place: float, end: float) -> str:
    """An end of the region, with its number at a place beside or below it."""
    return (
        f'<line class="border" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{TOP + 20:g}"'
        f' stroke="{GREEN}"/><text x="{place:.1f}" y="{TALL - 1:g}"'
        f' text-anchor="{_anchor(place)}" fill="currentColor">{number(end)}</text>'
    )


def _reach(interval: tuple[float, float] | None, scale: "_Ruler", colour: str) -> list[str]:
    """The interval as a bar; an open end is an arrow at the rim."""
    if interval is None:
        return []
    a, b = (scale(end) for end in interval)
    bar = (
        f'<line class="reach" x1="{a:.1f}" x2="{b:.1f}" y1="{LINE:g}" y2="{LINE:g}"'
        f' stroke="{colour}" stroke-width="3"/>'
    )
    arrows = [
        f'<path class="value" d="M{x:.1f} {LINE:g} l{6 * way} -5 v10 z" fill="{colour}"/>'
        for x, way, end in ((a, 1, interval[0]), (b, -1, interval[1]))
        if math.isinf(end)
    ]
    return [bar, *arrows]


def in_words(verdict: Decided) -> str:
    """What the strip shows: the value, its interval, where the claim holds."""
    found = f"measured {number(verdict.value)}"
    if verdict.interval is not None:
        ends = " to ".join(number(end) for end in verdict.interval)
        level = "" if verdict.level is None else f"{verdict.level:.0%} "
        found += f" ({level}interval {ends})"
    return f"{found}; holds {where(verdict)}"


def where(verdict: Decided) -> str:
    """The region of a claim in words."""
    low, high = verdict.region
    if math.isfinite(low) and math.isfinite(high):
        return f"from {number(low)} to {number(high)}"
    if math.isfinite(low):
        return f"above {number(low)}"
    return f"below {number(high)}" if math.isfinite(high) else "anywhere"


def number(value: float) -> str:
    """A number as short as a reader wants it, with a true minus.

    Example:
        >>> number(-0.51234), number(0.00001), number(float("inf"))
        ('−0.512', '10⁻⁵', '∞')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if "e" in text:
        digits, _, power = text.partition("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text = f"10{raised}" if digits == "1" else f"{digits}×10{raised}"
    return text.replace("-", "−")


class _Ruler:
    """From a number to its place on the strip; logarithmic where everything is far apart."""

    def __init__(self, verdict: Decided):
        ends = verdict.interval or ()
        seen = [v for v in (*ends, *verdict.region, verdict.value) if math.isfinite(v)]
        low, high = min(seen), max(seen)
        self.log = low > 0 and high / low > 50
        if self.log:
            low, high = math.log(low), math.log(high)
        room = 0.14 * (high - low) or abs(low) * 0.2 or 1.0
        self.low, self.high = low - room, high + room

    def __call__(self, value: float) -> float:
        if math.isnan(value):
            return LEFT
        if math.isinf(value):
            return RIGHT if value > 0 else LEFT
        value = math.log(value) if self.log else value
        return LEFT + (RIGHT - LEFT) * (value - self.low) / (self.high - self.low)


def _anchor(place: float) -> str:
    return "start" if place < 40 else "end" if place > WIDE - 40 else "middle"


def _apart(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Words of two ends that are close, moved apart."""
    if len(places) == 2 and places[1][0] - places[0][0] < 44:
        (a, first), (b, second) = places
        return [(a - 16, first), (b + 16, second)]
    return places
