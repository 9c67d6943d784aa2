"""Every picture of a published table: one message, at most four series, names beside lines."""

from pathlib import Path

import pytest

from limelight.papers.published import find_recipe, open_table, pictures_of
from limelight.plot import Picture
from limelight.plot.marks import Bars, Bundle, Contour, Series

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = sorted(path.parent for path in RESULTS.glob("*/*/manifest.json"))
#: Several panels, lines over maps, marks that lie on each other, no data: drawn every time.
SOME = ("fig1a", "curves", "transfer", "circle", "ranks", "drop", "fig2-sparsity")

#: The one thing that a legend may explain: a texture, which can lie in many places of many maps.
KEYS = {"no data"}
#: Series of one panel at most; straight lines to read against and strips are parts of the frame.
MOST = 4


def pictures(folder: Path) -> dict[str, Picture]:
    table = open_table(folder)
    return pictures_of(table, find_recipe(table.manifest))


def listed(picture: Picture) -> set[str]:
    """What a legend explains, wherever it stands."""
    figure = picture.matplotlib()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return {text.get_text() for legend in legends if legend for text in legend.get_texts()}


def test_every_published_picture_has_one_message_and_at_most_four_series():
    assert len(FOLDERS) > 100
    for folder in FOLDERS:
        for name, picture in pictures(folder).items():
            where = f"{folder.parent.name} {folder.name} {name}"
            assert (folder / f"{name}.png").exists(), f"{where} is not drawn"
            assert ";" not in picture.title, f"{where}: two findings are no message"
            for panel in picture.panels:
                drawn = [
                    m for m in panel.content if isinstance(m, Series | Bundle | Contour | Bars)
                ]
                labels = {mark.label for mark in drawn if mark.label}
                assert len(labels) <= MOST, f"{where}: {sorted(labels)} in one panel"


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(
            folder,
            id=f"{folder.parent.name}-{folder.name}",
            marks=() if folder.name in SOME else pytest.mark.slow,
        )
        for folder in FOLDERS
    ],
)
def test_names_stand_beside_lines_and_in_no_legend(folder):
    for name, picture in pictures(folder).items():
        assert listed(picture) <= KEYS, f"{name}: a legend where names fit"
