"""How a figure reaches the disk: whole, and the same bytes for the same figure."""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from limelight._core.errors import InputError
from limelight._core.files import write_whole
from limelight.plot._indexed import indexed
from limelight.plot.picture import Picture
from limelight.plot.style import DOTS_PER_INCH

Kind = Literal["png", "svg", "pdf"]

# Only these settings are read while a file is written; they are put back one by one.
_WRITING: dict[str, Any] = {
    "svg.hashsalt": "limelight",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.bbox": None,
}
_WRITER = threading.Lock()
#: Colours in a quarter of the dots along each side, above which a picture holds a photograph.
PHOTOGRAPH = 6_000
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save(figure: Picture | Figure, path: str | Path) -> None:
    """Write a figure as `.png`, `.svg` or `.pdf`: the same figure always gives the same bytes.

    The file appears whole or not at all. A movie is put beside its picture, as `.gif`.

    Raises:
        InputError: For another suffix, or a place that cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from limelight import plot
        >>> folder = tempfile.mkdtemp()
        >>> picture = plot.lines([("loss", [1, 10], [0.5, 0.1])], x_label="n", y_label="loss")
        >>> plot.save(picture, f"{folder}/loss.svg")
        >>> pathlib.Path(folder, "loss.svg").exists()
        True
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        given = f"{kind!r}" if kind else "a name without a suffix"
        raise InputError(f"cannot write a figure as {given}: {path}", "use .png, .svg or .pdf")
    write_whole(path, render(figure, kind))  # pyright: ignore[reportArgumentType]
    if isinstance(figure, Picture) and figure.frames:
        write_whole(Path(path).with_suffix(".gif"), animate(figure))


def animate(movie: Picture) -> bytes:
    """The bytes of a GIF that shows every frame for a while, the last one longer, for ever.

    Example:
        >>> from limelight import plot
        >>> frame = plot.lines([("loss", [1, 10], [0.5, 0.1])], x_label="n", y_label="loss")
        >>> movie = plot.Picture(frame.panels, frames=[frame, frame])
        >>> plot.animate(movie)[:3]
        b'GIF'
    """
    pictures = [
        Image.open(io.BytesIO(render(frame, dots_per_inch=100))).convert("RGB")
        for frame in movie.frames
    ]
    # One palette for all frames, so that a colour means one thing and nothing flickers.
    palette = pictures[-1].quantize(colors=255)
    first, *rest = [
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures
    ]
    show = [500] * len(rest) + [2000]  # milliseconds
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=rest, duration=show, loop=0)
    return buffer.getvalue()


def render(
    figure: Picture | Figure, kind: Kind = "png", dots_per_inch: int = DOTS_PER_INCH
) -> bytes:
    """The bytes of a picture's file: no date, no random identifier, fonts inside.

    Args:
        figure: A picture or a Matplotlib figure.
        kind: The kind of file.
        dots_per_inch: How fine.

    Example:
        >>> from limelight import plot
        >>> picture = plot.lines([("loss", [1, 10], [0.5, 0.1])], x_label="n", y_label="loss")
        >>> plot.render(picture, "svg")[:5]
        b'<?xml'
    """
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a box stands there
        drawn = figure.matplotlib() if isinstance(figure, Picture) else figure
        with _WRITER, _settings(_WRITING), _settled(drawn):
            drawn.savefig(
                buffer,
                format=kind,
                dpi=dots_per_inch,
                facecolor="white",
                metadata=_METADATA[kind],  # pyright: ignore[reportArgumentType]
            )
    return _fewer_colours(buffer, dots_per_inch) if kind == "png" else buffer.getvalue()


def _fewer_colours(buffer: io.BytesIO, dots_per_inch: int) -> bytes:
    """A PNG with a palette of 256 colours: a third of the size, and a reader sees the same.

    One with photographs in it keeps all of its colours.
    """
    picture = Image.open(buffer).convert("RGB")
    small = picture.resize((max(1, picture.width // 4), max(1, picture.height // 4)))
    if small.getcolors(PHOTOGRAPH) is None:
        return buffer.getvalue()
    out = io.BytesIO()
    indexed(picture).save(out, "PNG", optimize=True, dpi=(dots_per_inch, dots_per_inch))
    return min(out.getvalue(), buffer.getvalue(), key=len)


@contextmanager
def _settings(values: dict[str, Any]) -> Iterator[None]:
    shared: dict[str, Any] = mpl.rcParams  # pyright: ignore[reportAssignmentType]
    before = {name: shared[name] for name in values}
    shared.update(values)
    try:
        yield
    finally:
        shared.update(before)


@contextmanager
def _settled(figure: Figure) -> Iterator[None]:
    """Lay out until nothing moves any more, and hold that while the file is written.

    Each pass of matplotlib's layout starts from the last one, so without this a second file of
    the same figure would differ from the first by a hair.
    """
    engine = figure.get_layout_engine()
    for _ in range(10 if engine is not None else 0):
        before = [axes.get_position(original=True) for axes in figure.axes]
        engine.execute(figure)  # pyright: ignore[reportOptionalMemberAccess]
        after = [axes.get_position(original=True) for axes in figure.axes]
        moved = [
            np.abs(a.get_points() - b.get_points()).max()
            for a, b in zip(before, after, strict=True)
        ]
        if max(moved, default=0.0) < 1e-4:
            for axes, place in zip(figure.axes, before, strict=True):
                included = axes.get_in_layout()
                axes.set_position(place)
                axes.set_in_layout(included)
            break
    figure.set_layout_engine("none")
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
