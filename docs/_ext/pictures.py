"""A picture much wider than high scrolls in a narrow window, so that its words can be read."""

from pathlib import Path

from docutils import nodes
from PIL import Image

#: From this ratio of width to height on a picture has several panels side by side.
WIDE = 1.7


def mark(app, doctree, docname: str) -> None:
    """Give wide pictures a class; the style sheet does the rest."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir) / image["uri"]
        if path.suffix == ".png" and path.exists():
            with Image.open(path) as opened:
                width, height = opened.size
            if width > WIDE * height:
                image["classes"].append("wide")


def setup(app):
    """Register it."""
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
