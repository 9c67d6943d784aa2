"""A claim as a rule strip: where it holds, shaded; what was measured, with its interval."""

import math

from limelight.claims import Verdict

WIDE, TALL, LEFT, RIGHT = 360.0, 46.0, 14.0, 346.0
LINE, TOP = 25.0, 15.0


def strip(verdict: Verdict) -> str:
    """The strip as an SVG element, which says itself in words; nothing without a number."""
    if not math.isfinite(verdict.value):
        return ""
    scale = _Ruler(verdict)
    low, high = verdict.region
    parts = [f'<line class="axis" x1="{LEFT:g}" x2="{RIGHT:g}" y1="{LINE:g}" y2="{LINE:g}"/>']
    a, b = scale(low), scale(high)
    parts.append(
        f'<rect class="region" x="{a:.1f}" y="{TOP:g}" width="{max(b - a, 1):.1f}" height="20"/>'
    )
    ticks = [end for end in (low, high) if math.isfinite(end)]
    for place, end in _apart([(scale(end), end) for end in ticks]):
        x = scale(end)
        parts.append(
            f'<line class="border" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{TOP + 20:g}"/>'
            f'<text x="{place:.1f}" y="{TALL - 1:g}" text-anchor="{_anchor(place)}">'
            f"{number(end)}</text>"
        )
    middle = scale(verdict.value)
    if verdict.interval is not None:
        a, b = (scale(end) for end in verdict.interval)
        parts.append(f'<line class="reach" x1="{a:.1f}" x2="{b:.1f}" y1="{LINE:g}" y2="{LINE:g}"/>')
    parts.append(f'<circle class="value" cx="{middle:.1f}" cy="{LINE:g}" r="5"/>')
    parts.append(
        f'<text class="told" x="{middle:.1f}" y="11" text-anchor="{_anchor(middle)}">'
        f"{number(verdict.value)}</text>"
    )
    kind = verdict.verdict.replace(" ", "-")
    return (
        f'<svg class="strip {kind}" viewBox="0 0 {WIDE:g} {TALL:g}" role="img" '
        f'aria-label="{in_words(verdict)}">{"".join(parts)}</svg>'
    )


def in_words(verdict: Verdict) -> str:
    """What the strip shows: the value, its interval, where the claim holds."""
    found = f"measured {number(verdict.value)}"
    if verdict.interval is not None:
        ends = " to ".join(number(end) for end in verdict.interval)
        level = "" if verdict.level is None else f"{verdict.level:.0%} "
        found += f" ({level}interval {ends})"
    return f"{found}; holds {where(verdict)}"


def where(verdict: Verdict) -> str:
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

    def __init__(self, verdict: Verdict):
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
