import numpy as np
import pytest
from matplotlib.axes._base import _AxesBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from limelight.plot import Picture

ALPHA = np.array([0.32, 0.34, 0.36, 0.39, 0.43, 0.50])
EXAMPLES = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32, 48])
RATE = np.array(
    [
        [0, 0, 0, 0, 0, 0, 0, 0.30, 0.65, 0.60],
        [0, 0, 0, 0, 0.05, 0.15, 0.45, 0.75, 0.65, 0.90],
        [0, 0, 0, 0, 0.20, 0.20, 0.45, 0.85, 0.80, 1],
        [0, 0, 0, 0.15, 0.15, 0.50, 0.70, 0.75, 0.80, 0.90],
        [0.05, 0.15, 0.10, 0.45, 0.65, 0.90, 0.80, 0.95, 0.95, 1],
        [0.30, 0.35, 0.75, 0.90, 0.90, 1, 1, 1, 1, 1],
    ]
).T
HALF = np.array([34.0, 20.3, 16.6, 14.3, 6.8, 3.0])


class Page:
    """A figure after its layout, with what a reader would notice."""

    def __init__(self, figure: Figure | Picture):
        figure = figure.matplotlib() if isinstance(figure, Picture) else figure
        FigureCanvasAgg(figure).draw()
        self.figure = figure

    def boxes(self) -> list[tuple[str, Bbox]]:
        """Every text that is drawn, and where."""
        hidden = {id(label) for axes in self.figure.findobj(_has_axis) for label in _outside(axes)}
        texts = [text for text in self.figure.findobj(_shown) if id(text) not in hidden]
        return [(text.get_text(), Text.get_window_extent(text)) for text in texts]

    def cut_off(self) -> list[str]:
        """Texts that leave the page."""
        page = self.figure.bbox.padded(1)
        corners = [(text, box.min, box.max) for text, box in self.boxes()]
        return [t for t, a, b in corners if not (page.contains(*a) and page.contains(*b))]

    def crowded(self) -> list[tuple[str, str]]:
        """Pairs of texts that touch, in axes, legends, titles and margins."""
        boxes = self.boxes()
        return [
            (a, b)
            for i, (a, one) in enumerate(boxes)
            for b, other in boxes[i + 1 :]
            if one.overlaps(other.padded(-1))
        ]

    def names_clear(self) -> bool:
        """Whether names in the margin are there, and cover no axes."""
        frames = [axes.get_window_extent() for axes in self.figure.axes]
        names = [text for axes in self.figure.axes for text in axes.texts]
        # The words alone: the thin line to its own line lies inside the axes.
        boxes = [Text.get_window_extent(name) for name in names]
        return bool(boxes) and not any(box.overlaps(frame) for box in boxes for frame in frames)

    def named(self) -> set[str]:
        """Labels that stand inside a panel, beside what they name."""
        texts = [text for axes in self.figure.axes for text in axes.texts]
        return {str(t.get_gid()).removeprefix("name: ") for t in texts if t.get_gid()}

    def names_on_nothing(self) -> bool:
        """Whether no name inside a panel covers a point of a line or a mark there."""
        for axes in self.figure.axes:
            names = [text for text in axes.texts if text.get_gid()]
            # Less the white around the letters.
            boxes = [Text.get_window_extent(name).padded(-2.5) for name in names]
            for line in axes.lines:
                if line.get_transform() is not axes.transData:
                    continue
                places = axes.transData.transform(line.get_xydata())
                places = places[np.isfinite(places).all(axis=1)]
                if any(box.contains(*place) for box in boxes for place in places):
                    return False
        return True

    def legend_clear(self) -> bool:
        """Whether no legend covers any axes."""
        frames = [axes.get_window_extent() for axes in self.figure.axes]
        legends = [axes.get_legend() for axes in self.figure.axes]
        boxes = [legend.get_window_extent() for legend in legends if legend]
        return bool(boxes) and not any(box.overlaps(frame) for box in boxes for frame in frames)


def _shown(artist) -> bool:
    return isinstance(artist, Text) and artist.get_visible() and bool(artist.get_text().strip())


def _has_axis(artist) -> bool:
    return isinstance(artist, _AxesBase)


def _outside(axes) -> list[Text]:
    """Labels of ticks beyond the range, which matplotlib keeps but does not draw."""
    out = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for minor in (False, True):
            places = axis.get_ticklocs(minor=minor)
            labels = axis.get_ticklabels(minor=minor)
            out += [
                label for at, label in zip(places, labels, strict=False) if not low <= at <= high
            ]
    return out


@pytest.fixture
def page():
    return Page


@pytest.fixture
def sweep():
    """The success rates of a known sweep, and the threshold with its interval."""
    return ALPHA, EXAMPLES, RATE, HALF
