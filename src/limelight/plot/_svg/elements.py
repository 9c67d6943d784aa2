"""What an SVG picture is made of: words, lines, markers, images; each a string."""

import base64
import html
import io
import math
import re
from collections.abc import Iterable

import numpy as np
from PIL import Image as Pixels

from limelight.plot._looks import Look
from limelight.plot._palette import INK
from limelight.plot.marks import Number

#: Units per point of a font.
POINT = 1.55


def words(
    text: str, x: Number, y: Number, size: Number, *, anchor: str = "middle", more: str = ""
) -> str:
    if not text:
        return ""
    return (
        f'<text x="{x:.5g}" y="{y:.5g}" font-size="{size * POINT:.4g}" text-anchor="{anchor}"'
        f"{more}>{formulas(text)}</text>"
    )


def formulas(text: str) -> str:
    """Words, escaped; what stands between dollars in italics, with its index lowered."""
    parts = re.split(r"\$([^$]*)\$", text)
    for i in range(1, len(parts), 2):
        plain = html.escape(parts[i].replace("^2", "²"))
        lowered = r'<tspan dy="3" font-size="75%">\1</tspan><tspan dy="-3">&#8203;</tspan>'
        indexed = re.sub(r"_(\w)", lowered, plain)
        parts[i] = f'<tspan font-style="italic">{indexed}</tspan>'
    return "".join(html.escape(p) if i % 2 == 0 else p for i, p in enumerate(parts))


def number(value: Number) -> str:
    if value and (abs(value) >= 1e4 or abs(value) < 1e-3):
        power = round(math.log10(abs(value)))
        return f"1e{power}" if math.isclose(abs(value), 10.0**power) else f"{value:.1e}"
    return f"{value:.4g}".replace("-", "−")


def line(x0, y0, x1, y1, colour: str, width: Number, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{colour}"'
        f' stroke-width="{width:g}"{dashed}/>'
    )


def box(x: Number, y: Number, wide: Number, high: Number) -> str:
    return (
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{wide:.5g}" height="{high:.5g}" fill="none"'
        f' stroke="{INK}" stroke-width="0.7"/>'
    )


def path(x: np.ndarray, y: np.ndarray) -> str:
    words, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if np.isnan(b):
            pen = "M"
        else:
            words.append(f"{pen}{a:.1f} {b:.1f}")
            pen = "L"
    return "".join(words)


def dash(look: Look) -> str:
    if isinstance(look.dash, str):
        return ""
    return f' stroke-dasharray="{" ".join(f"{1.8 * part:g}" for part in look.dash[1])}"'


#: Corners of markers, a circle where there is none.
CORNERS = {
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "^": ((0, -1.25), (1.15, 0.9), (-1.15, 0.9)),
    "v": ((0, 1.25), (1.15, -0.9), (-1.15, -0.9)),
    "D": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ">": ((1.25, 0), (-0.9, 1.15), (-0.9, -1.15)),
}


def signs(x: Iterable[Number], y: Iterable[Number], look: Look) -> str:
    """Markers; a white edge tells those apart that touch."""
    r = 0.72 * float(look.size)
    skin = f'fill="{look.colour}" stroke="#fff" stroke-width="0.6"'
    corners, parts = CORNERS.get(look.marker), []
    for a, b in zip(x, y, strict=True):
        if corners is None:
            parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{r:.3g}" {skin}/>')
        else:
            points = " ".join(f"{a + r * i:.1f},{b + r * j:.1f}" for i, j in corners)
            parts.append(f'<polygon points="{points}" {skin}/>')
    return "".join(parts)


def image(colours: np.ndarray, x, y, wide, high, *, photo: bool = False) -> str:
    """Pixels inside the page: cells stay sharp, photographs are small files."""
    buffer = io.BytesIO()
    if photo:
        Pixels.fromarray(colours).save(buffer, "JPEG", quality=90, subsampling=0)
    else:
        Pixels.fromarray(colours).save(buffer, "PNG", compress_level=6)
    kind, data = "jpeg" if photo else "png", base64.b64encode(buffer.getvalue()).decode()
    sharp = "" if photo else ' image-rendering="pixelated"'
    return (
        f'<image x="{x:.5g}" y="{y:.5g}" width="{wide:.5g}" height="{high:.5g}"'
        f' preserveAspectRatio="none"{sharp} href="data:image/{kind};base64,{data}"/>'
    )
