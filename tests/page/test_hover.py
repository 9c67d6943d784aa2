"""What a chart says under the pointer, and how it is laid out."""

import numpy as np
import pytest

from limelight import plot
from limelight._page.report import Illustration, Section, write_report
from limelight.chart import Film, of_picture, player
from tests.page.browser import MISSING, find_chromium
from tests.page.test_browser import PIXEL, Visit, browser

__all__ = ["browser"]  # a fixture

pytestmark = pytest.mark.skipif(find_chromium() is None, reason=MISSING)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    networks = plot.Axis("network", categories=("ViT", "CNN"))
    line = plot.Series("few images", [1e-9, 28_000], [0.25, 0.71852], [0.2, 0.7], [0.3, 0.75])
    marks = plot.Points("each", [0.5, 0.75], [0, 1])
    pictures = [
        plot.lines([line], x_label="examples $N$", y_label="accuracy"),
        plot.Picture(
            [plot.Panel("", [marks], networks, plot.Axis("accuracy"))], title="It differs"
        ),
    ]
    films = [Film(name, np.random.default_rng(0).random((3, 4, 4))) for name in "abcd"]
    charts = [*map(of_picture, pictures), player([0, 1, 2], films, start=1.5)]
    shown = [
        Illustration(PIXEL, "C", chart=chart, title=f"Found {i}") for i, chart in enumerate(charts)
    ]
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_report(path, "T", [Section("a", "A", figures=shown)])
    return path


def told(visit, number, mark):
    visit.chart(number).locator(".mark-symbol path").nth(mark).hover(force=True)
    box = visit.page.locator("#vg-tooltip-element.visible")
    box.wait_for()
    cells = box.locator("td").all_inner_texts()
    return dict(zip(cells[::2], cells[1::2], strict=True))


def test_a_mark_says_its_numbers_in_the_words_of_the_axes(browser, page):
    with Visit(browser, page) as visit:
        whole = {"": "few images", "examples N": "28,000", "accuracy": "0.7185"}
        assert told(visit, 0, 1) == whole | {"interval": "0.7 to 0.75"}
        assert told(visit, 0, 0)["examples N"] == "0.000000001"
        assert told(visit, 1, 1) == {"": "each", "accuracy": "0.75", "network": "CNN"}
        assert not visit.said


@pytest.mark.parametrize("width", [420, 1000, 1400])
def test_square_maps_stay_square(browser, page, width):
    with Visit(browser, page, width=width) as visit:
        visit.chart(2)
        cells = visit.page.locator(".live").nth(2).locator(".mark-rect path").all()
        boxes = [cell.bounding_box() for cell in cells]
        assert len(boxes) == 4 * 16
        for box in boxes:
            assert box is not None
            assert box["width"] == pytest.approx(box["height"], rel=0.02)


def test_a_chart_stands_under_what_it_found_and_the_first_under_the_page(browser, page):
    with Visit(browser, page) as visit:
        for number in range(3):
            visit.chart(number)
        assert visit.page.locator("h2").inner_text() == "Found 0"
        assert visit.page.locator(".finding:visible").all_inner_texts() == ["Found 1", "Found 2"]
        assert visit.page.locator(".player output").inner_text() == "1"  # the last before 1.5
