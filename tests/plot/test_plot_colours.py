"""A file has few colours, and every colour that means something is among them."""

import io

import numpy as np
import pytest
from PIL import Image

from limelight import plot
from limelight.plot._indexed import indexed
from limelight.plot._palette import readable
from limelight.plot.style import DOTS_PER_INCH

#: The palette of the lines (Okabe and Ito, 2008).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def picture():
    """Six lines with bands and short names, over a map that has every shade."""
    x = np.linspace(0, 1, 60)
    lines = [plot.Series(f"{i}", x, x / 3 + i, x / 3 + i - 0.4, x / 3 + i + 0.4) for i in range(6)]
    shades = plot.Map(np.outer(x, x) ** 0.7, "share", low=0, high=1)
    return plot.Picture([plot.Panel("six lines", lines), plot.Panel("a map", [shades])])


def drawn_by_matplotlib():
    buffer = io.BytesIO()
    picture().matplotlib().savefig(buffer, dpi=DOTS_PER_INCH, facecolor="white")
    return np.asarray(Image.open(buffer).convert("RGB")).astype(int)


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def test_a_name_keeps_the_colour_of_its_line():
    before = drawn_by_matplotlib()
    after = np.asarray(Image.open(io.BytesIO(plot.render(picture()))).convert("RGB")).astype(int)
    assert after.shape == before.shape
    for colour in COLOURS:
        words = (before == rgb(readable(colour))).all(axis=2)
        assert words.sum() > 5
        assert np.abs(after - before)[words].max() <= 12


@pytest.mark.parametrize("many", [1, 5, 256, 3000])
def test_no_colour_goes_far_and_the_commonest_stay(many):
    rng = np.random.default_rng(many)
    colours = rng.integers(0, 256, (many, 3))
    dots = colours[np.minimum(rng.geometric(0.02, (60, 80)) - 1, many - 1)].astype(np.uint8)
    found = indexed(Image.fromarray(dots))
    assert found.mode == "P"
    after = np.asarray(found.convert("RGB")).astype(int)
    seen, counts = np.unique(dots.reshape(-1, 3), axis=0, return_counts=True)
    assert len(np.unique(after.reshape(-1, 3), axis=0)) <= 256
    for colour in seen[np.argsort(-counts, kind="stable")][:50]:
        assert (after[(dots == colour).all(axis=2)] == colour).all()
    if len(seen) <= 256:
        assert np.abs(after - dots).max() <= 2
