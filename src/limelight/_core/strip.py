"""A rule strip: where a claim holds, what was measured, and its interval, as a line of SVG."""

import html
import math

#: Size of a strip in pixels; the drawing keeps this far from the left and right ends.
WIDTH, HEIGHT, PAD = 360, 46, 18
COLOURS = {"holds": "#1a7f4b", "fails": "#b3261e"}
OPEN = "#8a6d00"


def strip(
    value: float,
    interval: tuple[float, float] | None,
    region: tuple[float, float],
    verdict: str,
) -> str:
    """The strip of a verdict; nothing where there is no number to show.

    The shaded part is where the claim holds, the dot is the estimate, the bar its interval; an
    open end is an arrow.

    Args:
        value: The estimate.
        interval: Its two ends; `None` when there is none.
        region: Values for which the claim holds; an end may be infinite.
        verdict: `holds`, `fails` or another word.

    Example:
        >>> strip(2.0, (1.8, 2.2), (1.5, 2.5), "holds").startswith("<svg")
        True
        >>> strip(float("nan"), None, (0.0, 1.0), "inconclusive")
        ''
    """
    low, high = interval or (value, value)
    known = [v for v in (value, low, high, *region) if math.isfinite(v)]
    if not math.isfinite(value) or not known:
        return ""
    left, right = min(known), max(known)
    room = 0.12 * (right - left) or 0.5 * abs(left) or 0.5
    left, right = left - room, right + room

    def at(place: float) -> float:
        share = min(1.0, max(0.0, (place - left) / (right - left)))
        return round(PAD + share * (WIDTH - 2 * PAD), 1)

    colour = COLOURS.get(verdict, OPEN)
    start, end = at(region[0]), at(region[1])
    said = f"{verdict}: {value:.3g}" + (f", interval {low:.3g} to {high:.3g}" if interval else "")
    parts = [
        f'<rect x="{start}" y="8" width="{max(0.0, round(end - start, 1))}" height="16"'
        ' fill="#1a7f4b" fill-opacity="0.18"/>',
        f'<line x1="{PAD}" y1="24" x2="{WIDTH - PAD}" y2="24" stroke="currentColor"'
        ' stroke-opacity="0.4"/>',
        f'<line x1="{at(low)}" y1="16" x2="{at(high)}" y2="16" stroke="{colour}"'
        ' stroke-width="3"/>',
        *(_arrow(PAD, 1, colour) for _ in range(low < left)),
        *(_arrow(WIDTH - PAD, -1, colour) for _ in range(high > right)),
        f'<circle cx="{at(value)}" cy="16" r="4.5" fill="{colour}"/>',
        *(_tick(at(end), f"{end:.3g}") for end in region if math.isfinite(end)),
    ]
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{html.escape(said)}" font-family="sans-serif" font-size="11">'
        f"<title>{html.escape(said)}</title>{''.join(parts)}</svg>"
    )


def _arrow(x: float, way: int, colour: str) -> str:
    return f'<path d="M{x} 16 l{9 * way} -5 v10 z" fill="{colour}"/>'


def _tick(x: float, text: str) -> str:
    return (
        f'<line x1="{x}" y1="6" x2="{x}" y2="28" stroke="currentColor" stroke-opacity="0.6"/>'
        f'<text x="{x}" y="41" text-anchor="middle" fill="currentColor">{text}</text>'
    )
