"""Every picture of a published table: one message, at most four series, names beside lines."""

from pathlib import Path

import pytest

from limelight.papers.published import find_recipe, open_table, pictures_of
from limelight.plot import Map, Picture
from limelight.plot.marks import Bars, Bundle, Contour, Series

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = sorted(path.parent for path in RESULTS.glob("*/*/manifest.json"))

#: The one thing that a legend may explain: a texture, which can lie in many places of many maps.
KEYS = {"no data"}
#: Series of one panel at most.
MOST = 4


def pictures(folder: Path) -> dict[str, Picture]:
    table = open_table(folder)
    return pictures_of(table, find_recipe(table.manifest))


def listed(picture: Picture) -> set[str]:
    """What a legend explains, wherever it stands."""
    figure = picture.matplotlib()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return {text.get_text() for legend in legends if legend for text in legend.get_texts()}


def test_there_are_published_tables():
    assert len(FOLDERS) > 100


@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_a_published_picture_has_one_message_and_names_beside_lines(folder):
    for name, picture in pictures(folder).items():
        assert (folder / f"{name}.png").exists(), f"{name} is not drawn"
        assert ";" not in picture.title, f"{name}: two findings are no message"
        for panel in picture.panels:
            drawn = [m for m in panel.content if isinstance(m, Series | Bundle | Contour | Bars)]
            labels = {mark.label for mark in drawn if mark.label}
            assert len(labels) <= MOST, f"{name}: {sorted(labels)} in one panel"
            assert not any(
                isinstance(m, Map) and m.missing == "blank" and m.label for m in panel.content
            )
        assert listed(picture) <= KEYS, f"{name}: a legend where names fit"
