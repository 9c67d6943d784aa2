"""Draw the pictures of published tables anew, beside their tables.

    python benchmarks/redraw.py results            every paper
    python benchmarks/redraw.py results li2023     one, or several
    python benchmarks/redraw.py results li2023/fig1a

Tables and manifests are left alone. A picture that no recipe draws any more is named, not removed.
"""

import sys
from pathlib import Path

from limelight._engine.reading import open_table
from limelight.papers import KEYS, load
from limelight.plot import save


def redraw(results: Path, paper: str, only: str = "") -> None:
    """Every picture of the published tables of a paper, or of one figure."""
    for name in load(paper).titles:
        folder = results / paper / name
        if not (folder / "table.parquet").exists() or only not in ("", name):
            continue
        pictures = load(paper).figure(name).plots(open_table(folder))
        for picture, drawn in pictures.items():
            save(drawn, folder / f"{picture}.png")
        old = sorted({path.stem for path in folder.glob("*.png")} - {*pictures})
        print(f"{paper} {name}: {', '.join(pictures)}" + (f"; not drawn: {old}" if old else ""))


if __name__ == "__main__":
    place, *asked = sys.argv[1:] or ["results"]
    for word in asked or KEYS:
        key, _, figure = word.partition("/")
        redraw(Path(place), key, figure)
