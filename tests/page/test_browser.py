"""Every kind of page in a real browser, opened from disk."""

import json
import re
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from limelight._page.report import Illustration, Section, write_report
from limelight._page.site import Chapter, write_site
from limelight.chart import of_picture
from limelight.claims import Verdict
from limelight.papers import load
from limelight.papers.li2023.boundary import n50
from limelight.papers.pages import section, write_page
from limelight.plot import lines
from limelight.table import Table
from tests.chart.test_explorer import explorer as small_explorer
from tests.chart.test_explorer import table as small_table
from tests.page.browser import MISSING, find_chromium
from tests.page.test_report import HOSTILE, PIXEL

pytestmark = pytest.mark.skipif(find_chromium() is None, reason=MISSING)

RUNS = ["results/li2023/fig1a", "results/li2023/fig4"]
WIDTHS = (420, 1000, 1400)


@pytest.fixture(scope="module")
def sections():
    return [section(run) for run in RUNS]


@pytest.fixture(scope="module")
def pages(tmp_path_factory, sections):
    """A report, the pages of a site, and a page of hostile names, each by its kind."""
    folder = tmp_path_factory.mktemp("pages")
    write_report(folder / "report.html", "A report", sections)
    paper = load("li2023")
    files = [f"{one.name.partition('.')[2]}.html" for one in sections]
    chapter = Chapter("li2023", paper.title, paper.authors, sections, files)
    first, contents, explorer, player = write_site(folder / "site", "A site", [chapter])
    picture = lines([(HOSTILE, [0, 1], [0, 1])], x_label=HOSTILE, y_label="javascript:alert(1)")
    claimed = Verdict(HOSTILE, HOSTILE, "fails", 1.0, (0.5, 2.0), 3, HOSTILE, HOSTILE, HOSTILE)
    seen = Illustration(PIXEL, HOSTILE, HOSTILE, of_picture(picture))
    named = Section(HOSTILE, HOSTILE, HOSTILE, [claimed], [seen], rerun=["javascript:alert(1)"])
    write_report(folder / "hostile.html", HOSTILE, [named, named])
    return {
        "report": folder / "report.html",
        "dashboard": first,
        "paper": contents,
        "explorer": explorer,
        "player": player,
        "hostile": folder / "hostile.html",
    }


KINDS = ["report", "dashboard", "paper", "explorer", "player", "hostile"]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield found
        found.close()


class Visit:
    """A page that is open, and everything that it said or asked for."""

    def __init__(self, browser, path, anchor="", width=1000, **options):
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, **options)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"file://{path}{anchor}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def chart(self, number=0):
        """The chart of that number, drawn."""
        found = self.page.locator(".live").nth(number)
        found.scroll_into_view_if_needed()
        found.and_(self.page.locator("[data-ready]")).wait_for(timeout=30_000)  # not any chart
        return found

    def settled(self):
        """After what was moved has been drawn."""
        self.page.evaluate("() => document.querySelector('.live').view.runAsync().then(() => 0)")

    def boundary(self):
        """Places of the boundary as they are drawn, in the values of its axis upwards."""
        self.settled()
        return self.page.evaluate(
            """() => {
              const live = document.querySelector(".live"), y = live.view.scale("concat_0_y");
              return [...live.querySelectorAll(".boundary_marks path")].map((mark) =>
                y.invert(mark.transform.baseVal.consolidate().matrix.f));
            }"""
        )

    def state(self):
        return json.loads(self.page.locator(".live").first.get_attribute("data-state"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_from_disk_and_asks_for_nothing(browser, pages, kind):
    with Visit(browser, pages[kind]) as visit:
        if visit.page.locator(".live").count():
            visit.chart()
        assert visit.said == []
        assert all(re.match("file:|data:|blob:", url) for url in visit.asked)
        shared = [url for url in visit.asked if url.startswith("file:")]
        assert len(shared) == (1 if kind in ("report", "hostile") else len(shared))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overflows(browser, pages, kind, width):
    with Visit(browser, pages[kind], width=width) as visit:
        if visit.page.locator(".live").count():
            visit.chart()
        wide = visit.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        inside = visit.page.evaluate(
            "[...document.querySelectorAll('.plot')].map((p) => p.scrollWidth - p.clientWidth)"
        )
        assert all(over <= 1 for over in inside), inside


def test_the_slider_moves_the_boundary_to_what_fit_gives(browser, pages):
    table = Table.load("results/li2023/fig1a/table.parquet")
    with Visit(browser, pages["explorer"]) as visit:
        slider = visit.chart().locator("input[type=range]")
        ladder = [float(level) for level in (1e-4, 1e-3, 1e-2, 0.1)]
        for place, level in zip((0, 3, 6, 9), ladder, strict=True):
            slider.focus()
            visit.page.keyboard.press("Home")
            for _ in range(place):
                visit.page.keyboard.press("ArrowRight")
            assert visit.page.locator(".slider output").inner_text() == f"{level:g}"
            edge = n50(table, level)
            known = sorted(edge.values[edge.resolved])
            drawn = sorted(10**y for y in visit.boundary())
            assert np.allclose(drawn, known, rtol=5e-3), (level, drawn, known)
        assert visit.said == []


def test_axes_change_and_the_numbers_stay(browser, pages):
    with Visit(browser, pages["explorer"]) as visit:
        visit.chart()
        before = sorted(10**y for y in visit.boundary())
        visit.page.get_by_label("log scale upwards").uncheck()
        assert np.allclose(sorted(visit.boundary()), before, rtol=5e-3)
        title = lambda: visit.page.locator(".live svg text").all_text_contents()
        assert "α∗⁻²" in title()
        visit.page.get_by_text("1/(α∗−α#)").click()
        visit.settled()
        assert "1/(α∗−α#)" in title()
        lines_shown = visit.page.locator(".live .mark-line path").count()
        visit.page.get_by_label("lines to compare with").uncheck()
        visit.settled()
        assert visit.page.locator(".live .mark-line path").count() < lines_shown


def test_a_cell_says_what_it_is_under_the_pointer(browser, pages):
    with Visit(browser, pages["explorer"]) as visit:
        cell = visit.chart().locator(".mark-rect path").first
        cell.hover(force=True)
        told = visit.page.locator("#vg-tooltip-element.visible")
        told.wait_for()
        words = told.inner_text()
        assert re.search(r"\d+ of 50 trials", words)
        assert re.search(r"\d+% to \d+%", words)
        assert "theorem" in words
        assert visit.page.locator(".live .mark-rect path").count() > 50


def test_the_player_plays_pauses_and_answers_to_keys(browser, pages):
    with Visit(browser, pages["player"]) as visit:
        visit.chart()
        frame = lambda: visit.state()["frame"]
        last = frame()
        values = lambda: visit.page.locator(".live .mark-text text").all_text_contents()
        trained = values()
        slider = visit.page.locator(".player input")
        slider.focus()
        visit.page.keyboard.press("ArrowLeft")
        assert frame() == last - 1
        visit.page.keyboard.press("Home")
        visit.settled()
        assert values() != trained
        visit.page.keyboard.press(" ")
        for _ in range(100):  # the policy of the page lets nothing wait for us inside it
            if frame() > 2:
                break
            visit.page.wait_for_timeout(100)
        assert frame() > 2
        button = visit.page.get_by_role("button", name="Pause")
        button.click()
        here = frame()
        visit.page.wait_for_timeout(400)
        assert frame() == here
        assert (
            visit.page.get_by_role("button", name="Play").get_attribute("aria-pressed") == "false"
        )
        assert visit.said == []


def test_a_player_is_slow_where_motion_is_unwelcome(browser, pages):
    with Visit(browser, pages["player"], reduced_motion="reduce") as visit:
        visit.chart()
        visit.page.get_by_role("button", name="Play").click()
        visit.page.wait_for_timeout(600)
        assert visit.state()["frame"] == 0


def test_claims_are_filtered_and_searched(browser, pages, sections):
    every = [v for one in sections for v in one.verdicts]
    with Visit(browser, pages["dashboard"]) as visit:
        shown = lambda: visit.page.locator(".filtered > article:visible").count()
        assert shown() == len(every)
        visit.page.get_by_label("Verdict").select_option("fails")
        failing = [v for v in every if v.verdict == "fails"]
        assert shown() == len(failing)
        told = visit.page.locator(".filters output").inner_text()
        assert told == f"{len(failing)} of {len(every)} claims"
        visit.page.get_by_label("Claimed by").select_option("ours")
        assert shown() == sum(v.ours for v in failing)
        visit.page.get_by_label("Claimed by").select_option("")
        visit.page.get_by_label("Search").fill("POWER -2 loose")
        assert 0 < shown() == sum("power -2" in v.statement and "loose" in v.claim for v in failing)
        visit.page.get_by_label("Search").fill("α∗⁻²")
        assert shown() == 1


@pytest.mark.parametrize("kind", ["report", "dashboard", "explorer"])
def test_a_link_to_a_claim_leads_there(browser, pages, kind):
    with Visit(browser, pages[kind], "#li2023.1a.law", reduced_motion="reduce") as visit:
        visit.page.wait_for_timeout(300)
        claim = visit.page.locator("[id='li2023.1a.law']")
        assert "to the power −2" in claim.inner_text()
        place = claim.bounding_box()
        assert place is not None
        assert 0 <= place["y"] < 900


def test_dark_pages_are_dark_and_their_words_light(browser, pages):
    def lightness(colour):
        return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3

    for scheme, dark in (("light", False), ("dark", True)):
        with Visit(browser, pages["explorer"], color_scheme=scheme) as visit:
            visit.chart()
            style = "(e, name) => getComputedStyle(e)[name]"
            page = visit.page.locator("body").evaluate(style, "backgroundColor")
            words = visit.page.locator(".live svg text").first.evaluate(style, "fill")
            assert (lightness(page) < 60) is dark
            assert (lightness(words) > 180) is dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_beside_lines_stand_out_from_the_page(browser, pages, scheme):
    def luminance(colour):
        parts = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    with Visit(browser, pages["player"], color_scheme=scheme) as visit:
        visit.chart()
        fill = "(words) => words.map((one) => getComputedStyle(one).fill)"
        names = visit.page.locator(".live text", has_text=" queries").filter(has_not_text="(")
        found = [*map(luminance, names.evaluate_all(fill))]
        ground = visit.page.locator("body").evaluate("(b) => getComputedStyle(b).backgroundColor")
        assert len(found) == 4
        for one in found:
            low, high = sorted((one, luminance(ground)))
            assert (high + 0.05) / (low + 0.05) > 4.4  # 4.5, less what colours are rounded by


@pytest.mark.parametrize("kind", ["report", "explorer", "dashboard"])
def test_without_scripts_the_figures_and_claims_are_there(browser, pages, kind):
    with Visit(browser, pages[kind], java_script_enabled=False) as visit:
        assert visit.page.locator(".claim:visible").count() > 5
        assert visit.page.locator(".live:visible, .filters:visible").count() == 0
        stills = visit.page.locator(".still img:visible").count()
        assert (stills > 0) is (kind != "dashboard")
        if stills:
            assert visit.page.locator("figcaption:visible").first.inner_text()


def test_print_shows_the_still_figure(browser, pages):
    with Visit(browser, pages["explorer"]) as visit:
        visit.chart()
        assert not visit.page.locator(".still").first.is_visible()
        visit.page.emulate_media(media="print")
        assert visit.page.locator(".still").first.is_visible()
        assert not visit.page.locator(".live").first.is_visible()


def test_hostile_names_are_shown_and_not_run(browser, pages):
    with Visit(browser, pages["hostile"]) as visit:
        visit.chart()
        assert visit.page.locator("h1").inner_text() == HOSTILE
        assert visit.page.locator("script[src], img[onerror], a[href^=javascript]").count() == 0
        assert visit.said == []


def test_a_page_can_be_read_without_seeing_it(browser, pages):
    with Visit(browser, pages["report"]) as visit:
        page = visit.page
        assert page.get_by_role("navigation", name="Contents").count() == 1
        assert page.get_by_role("main").count() == 1
        strips = page.locator("svg.strip")
        told = strips.first.get_attribute("aria-label") or ""
        assert re.match(r"measured .* \(95% interval .*\); holds ", told)
        assert page.locator("img:not([alt]), img[alt='']").count() == 0
        page.locator(".live[data-ready]").first.wait_for()
        drawn = page.locator("figure.alive:has(.still img)").first
        label = drawn.locator("[role='graphics-document']").first.get_attribute("aria-label")
        assert label == drawn.locator(".still img").get_attribute("alt")
        assert page.evaluate(
            "[...document.querySelectorAll('table')].every((t) => t.querySelector('caption'))"
        )


def test_a_paper_is_one_page_in_its_own_order(tmp_path):
    write_page(tmp_path / "page.html", [RUNS[1], RUNS[0]])
    text = (tmp_path / "page.html").read_text()
    assert text.index('id="li2023.fig1a"') < text.index('id="li2023.fig4"')
    shown = re.sub(r"<(script|style|code|pre)[ >].*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r"alpha_|\^-?\d|>=|&lt;=", shown)
    stills = re.findall(r'src="data:image/webp;base64,([^"]+)"', text)
    assert text.count("The world: one example") == 1  # both runs study the same
    assert len(stills) == 2 + 4  # the world, the model, two pictures of each run
    # A page of 56 such stills, as li2023 has them, and all else on it stays under 3 MB.
    assert sum(map(len, stills)) < 2 * 20_000 + 4 * 32_000
    assert len(text) < 0.75e6


@pytest.mark.slow
def test_all_of_a_paper_is_a_page_of_at_most_three_megabytes(tmp_path):
    write_page(tmp_path / "page.html", sorted(Path("results/li2023").glob("*/")))
    assert (tmp_path / "page.html").stat().st_size < 3e6


def test_a_page_of_the_docs_that_is_too_wide_is_named(tmp_path):
    narrow = runpy.run_path("docs/narrow.py")
    start = '<meta name="viewport" content="width=device-width"><body>'
    (tmp_path / "wide.html").write_text(f'{start}<p style="width:600px">too wide</p>')
    scrolls = '<div style="overflow-x:auto"><p style="width:600px">scrolls by itself</p></div>'
    (tmp_path / "fine.html").write_text(start + scrolls)
    with ThreadPoolExecutor(1) as apart:  # a thread has one Playwright, and the browser's is open
        wrong, pages = apart.submit(narrow["wide"], tmp_path, [420]).result()
    assert pages == 2
    assert wrong == ["wide.html at 420: p: too wide"]


def test_a_chart_in_a_notebook_draws_itself_without_a_network(browser, tmp_path):
    notebook = tmp_path / "notebook.html"
    shown = small_explorer().chart(small_table())._repr_html_()
    notebook.write_text(f'<!DOCTYPE html><meta charset="utf-8">{shown}', encoding="utf-8")
    with Visit(browser, notebook) as visit:
        frame = visit.page.frame_locator("iframe")
        frame.locator("svg").wait_for(timeout=30_000)
        slider = frame.locator("input[type=range]")
        slider.focus()
        visit.page.keyboard.press("ArrowRight")
        frame.locator("output", has_text="0.5").wait_for(timeout=5_000)
        assert visit.said == []
        assert [url for url in visit.asked if not url.startswith("file:")] == []
