"""The drawings of the concepts: boxes and arrows as SVG, written beside the pages that show them.

Run as it is, this writes every drawing anew; with `--check` it leaves with 1 and says which drawing
is out of date.
"""

import html
import sys
from pathlib import Path

HERE = Path(__file__).parent / "concepts"
INK, SOFT, LINE, PAPER = "#1a1a1a", "#eaf3ef", "#1b6e53", "#ffffff"
FONT = "system-ui, 'Segoe UI', 'Noto Sans', sans-serif"


def text(x: float, y: float, words: str, size: int = 13, anchor: str = "middle", **look) -> str:
    """One line of text."""
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in look.items())
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{INK}"{more}>'
        f"{html.escape(words)}</text>"
    )


def box(x: float, y: float, wide: float, high: float, name: str, *below: str) -> str:
    """A box with a name in bold and words below it."""
    middle, first = x + wide / 2, y + high / 2 + 4.5 - 8 * len(below)
    parts = [
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="6" fill="{SOFT}"'
        f' stroke="{LINE}"/>',
        text(middle, first, name, 14, font_weight=600),
    ]
    parts += [text(middle, first + 17 * (i + 1), line, 12) for i, line in enumerate(below)]
    return "\n".join(parts)


def arrow(x: float, y: float, to_x: float, to_y: float, words: str = "") -> str:
    """An arrow from one place to another, with a word over it."""
    line = (
        f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{INK}"'
        ' stroke-width="1.3" marker-end="url(#tip)"/>'
    )
    return line + (text((x + to_x) / 2, min(y, to_y) - 6, words, 12, font_style="italic"))


def brace(x: float, to_x: float, y: float, words: str) -> str:
    """A bracket under several boxes, and what they are together."""
    path = f"M{x:g} {y:g} v7 H{to_x:g} v-7"
    middle = text((x + to_x) / 2, y + 24, words, 13)
    return f'<path d="{path}" fill="none" stroke="{LINE}"/>\n{middle}'


def drawing(wide: int, high: int, title: str, *parts: str) -> str:
    """The whole, on white, so that it reads on a dark page too."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}"'
            f' height="{high}" role="img" font-family="{FONT}">',
            f"<title>{html.escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8"'
            ' markerHeight="8" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs>',
            f'<rect width="{wide}" height="{high}" rx="8" fill="{PAPER}"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def trial() -> str:
    """One trial: from a world to one row."""
    names = [
        ("world", "a law of data"),
        ("truth", "fixed for a trial"),
        ("examples", "tokens, label"),
        ("model", "weights, trained"),
        ("one row", "what was read"),
    ]
    wide, gap, top = 112, 52, 26
    at = [12 + i * (wide + gap) for i in range(len(names))]
    boxes = [box(x, top, wide, 54, name, below) for x, (name, below) in zip(at, names, strict=True)]
    words = ("draw", "sample", "train", "read")
    arrows = [
        arrow(x + wide + 3, top + 27, x + wide + gap - 3, top + 27, word)
        for x, word in zip(at, words, strict=False)
    ]
    last = at[-1] + wide
    under = brace(12, last, top + 62, "one trial: a function of one random key")
    return drawing(last + 12, 122, "One trial, from a world to a row", *boxes, *arrows, under)


def sweep() -> str:
    """A study: a grid of cells, trials in each, one table."""
    parts, size = [], 26
    parts.append(text(14, 22, "a grid: every combination of the axes is a cell", 13, "start"))
    for row in range(4):
        for column in range(6):
            x, y = 52 + column * size, 34 + row * size
            filled = row < column  # more examples upwards
            parts.append(
                f'<rect x="{x}" y="{y}" width="{size - 3}" height="{size - 3}" rx="2"'
                f' fill="{LINE if filled else SOFT}" stroke="{LINE}"/>'
            )
    parts.append(text(130, 158, "relevant fraction", 12))
    parts.append(text(40, 90, "examples", 12, "middle", transform="rotate(-90 40 90)"))
    parts.append(arrow(222, 84, 268, 84))
    parts.append(box(274, 50, 150, 68, "one program", "many trials side", "by side in it"))
    parts.append(arrow(428, 84, 474, 84))
    parts.append(box(480, 50, 128, 68, "table", "one row per trial", "one file"))
    parts.append(arrow(612, 84, 658, 84))
    parts.append(box(664, 50, 128, 68, "verdicts", "claims decided", "from the table"))
    return drawing(806, 172, "A study: a grid of cells, one program, one table", *parts)


def rules() -> str:
    """Where an interval may lie, and what is then decided."""
    parts = [
        text(20, 22, "the claim holds for values in the shaded part", 13, "start"),
        f'<rect x="250" y="34" width="200" height="126" fill="{SOFT}" stroke="{LINE}"/>',
    ]
    rows = [("holds", 290, 390), ("fails", 500, 610), ("inconclusive", 400, 540)]
    for i, (word, low, high) in enumerate(rows):
        y = 56 + 41 * i
        parts.append(text(20, y + 4, word, 14, "start", font_weight=600))
        parts.append(f'<line x1="150" y1="{y}" x2="640" y2="{y}" stroke="#b8b8b8"/>')
        parts.append(
            f'<line x1="{low}" y1="{y}" x2="{high}" y2="{y}" stroke="{INK}" stroke-width="4"/>'
        )
        parts.append(f'<circle cx="{(low + high) / 2:g}" cy="{y}" r="6" fill="{INK}"/>')
    parts.append(text(20, 186, "dot: what was measured; bar: its 95 % interval", 12, "start"))
    return drawing(660, 200, "Three rule strips: holds, fails, inconclusive", *parts)


def groups() -> str:
    """From a grid to files: groups, programs, chunks."""
    parts = []
    for i, (shade, words) in enumerate(((SOFT, "16 tokens"), ("#cfe4db", "32 tokens"))):
        y = 40 + 76 * i
        for column in range(5):
            for row in range(2):
                parts.append(
                    f'<rect x="{16 + 24 * column}" y="{y + 24 * row}" width="21" height="21" rx="2"'
                    f' fill="{shade}" stroke="{LINE}"/>'
                )
        parts.append(text(76, y + 62, f"group: {words}", 12))
        parts.append(arrow(142, y + 23, 178, y + 23))
        parts.append(box(184, y - 4, 160, 54, "one program", "compiled once"))
        parts.append(arrow(348, y + 23, 384, y + 23))
        for chunk in range(3):
            parts.append(box(390 + 92 * chunk, y - 4, 84, 54, "chunk", "one file"))
    parts.append(text(16, 24, "cells of a grid", 13, "start"))
    parts.append(text(390, 24, "trials, computed and stored together", 13, "start"))
    return drawing(676, 192, "A grid, its groups, their programs, their chunks", *parts)


DRAWINGS = {"trial.svg": trial, "sweep.svg": sweep, "rules.svg": rules, "groups.svg": groups}


def main(words: list[str]) -> int:
    """Write or compare."""
    stale = []
    for name, draw in DRAWINGS.items():
        path = HERE / name
        if not path.exists() or path.read_text() != draw():
            stale.append(name)
            if "--check" not in words:
                path.write_text(draw())
    for name in stale:
        print(f"{name} {'is out of date' if '--check' in words else 'written'}")
    return int("--check" in words and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
