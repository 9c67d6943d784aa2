"""The first page of a gallery in a real browser: filters, address, keys, where it leads."""

from urllib.parse import parse_qs

import pytest

from limelight._page.site import Chapter, write_site
from limelight.papers import load
from limelight.papers.gallery import waiting
from limelight.papers.pages import section
from tests.page.browser import MISSING, find_chromium
from tests.page.test_browser import Visit, browser

__all__ = ["browser"]  # a fixture

pytestmark = pytest.mark.skipif(find_chromium() is None, reason=MISSING)

ERRATUM = ("how often it fails", "as printed: 1 <= 0.5 fails", "limelight show xu2022 errata")


@pytest.fixture(scope="module")
def chapters():
    """Two papers; a figure of the second has no table."""
    xu2022 = load("xu2022")
    found = {
        "li2023": [section("results/li2023/fig1a")],
        "xu2022": [section("results/xu2022/curves"), waiting(xu2022.figure("phase"))],
    }
    files = {"li2023": ["fig1a.html"], "xu2022": ["curves.html", "phase.html"]}
    return [
        Chapter(key, load(key).title, "", parts, files[key], [ERRATUM] if key == "xu2022" else [])
        for key, parts in found.items()
    ]


@pytest.fixture(scope="module")
def first(tmp_path_factory, chapters):
    return write_site(tmp_path_factory.mktemp("site"), "A site", chapters)[0]


@pytest.fixture(scope="module")
def every(chapters):
    return [v for chapter in chapters for part in chapter.sections for v in part.verdicts]


def shown(visit):
    return visit.page.locator(".filtered > article:visible").count()


def asked(visit):
    """What the address asks for."""
    return {
        name: words[0]
        for name, words in parse_qs(visit.page.evaluate("location.search.slice(1)")).items()
    }


def reads(verdict, name):
    """What a filter compares."""
    return ("ours" if verdict.ours else "theirs") if name == "by" else getattr(verdict, name)


@pytest.mark.parametrize("name", ["paper", "verdict", "kind", "by"])
def test_a_filter_offers_what_there_is_and_shows_just_that(browser, first, every, name):
    with Visit(browser, first) as visit:
        select = visit.page.locator(f"select[name={name}]")
        options = [one.get_attribute("value") for one in select.locator("option").all()]
        assert {*options} == {""} | {reads(v, name) for v in every}
        for value in filter(None, options):
            select.select_option(value)
            assert shown(visit) == sum(reads(v, name) == value for v in every) > 0
            assert asked(visit) == {name: value}
        assert not visit.said


def test_what_is_chosen_stands_in_the_address_and_can_be_sent(browser, first, every):
    wanted = [v for v in every if v.paper == "li2023" and v.verdict == "fails"]
    with Visit(browser, first, "?paper=li2023&verdict=fails&kind=<b>") as visit:
        assert shown(visit) == len(wanted) > 0
        assert visit.page.get_by_label("Kind").input_value() == ""  # nothing is called so
        visit.page.get_by_label("Search").fill("gap")
        assert asked(visit) == {"paper": "li2023", "verdict": "fails", "words": "gap"}
        visit.page.reload()
        assert visit.page.get_by_label("Search").input_value() == "gap"
        visit.page.get_by_role("button", name="Show all").click()
        assert (shown(visit), asked(visit)) == (len(every), {})
        assert visit.page.get_by_role("button", name="Show all").count() == 0  # hidden
        assert not visit.said


def test_a_count_leads_to_its_claims(browser, first, every):
    with Visit(browser, first, reduced_motion="reduce") as visit:
        visit.page.locator("header .counts a", has_text="not run").click()
        unrun = [v for v in every if v.verdict == "not run"]
        assert shown(visit) == len(unrun) > 0
        assert (
            "no published table"
            in visit.page.locator(".filtered article:visible").first.inner_text()
        )
        box = visit.page.locator(".filters").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 900
        visit.page.locator(".papers li", has_text="Shallow Vision").locator(
            "a", has_text="fail"
        ).click()
        assert asked(visit) == {"paper": "li2023", "verdict": "fails"}
        assert shown(visit) == sum(v.paper == "li2023" and v.verdict == "fails" for v in every)


def test_all_of_it_is_reached_by_keys(browser, first, every):
    with Visit(browser, first) as visit:
        visit.page.get_by_label("Search").focus()
        visit.page.keyboard.type("line")
        matching = shown(visit)
        assert 0 < matching < len(every)
        visit.page.keyboard.press("Tab")  # the paper
        visit.page.keyboard.press("ArrowDown")
        assert asked(visit) == {"words": "line", "paper": "li2023"}
        for _ in range(4):  # verdict, kind, claimed by, the button
            visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("document.activeElement.textContent") == "Show all"
        visit.page.keyboard.press("Enter")
        assert shown(visit) == len(every)
        assert visit.page.evaluate("document.activeElement.name") == "words"
        for _ in range(5):
            visit.page.keyboard.press("Tab")
        summary = "document.activeElement.tagName"
        assert visit.page.evaluate(summary) == "SUMMARY"
        visit.page.keyboard.press("Enter")
        assert visit.page.locator(".filtered article").first.locator("details[open]").count() == 1


def test_surprises_and_errata_come_first_and_lead_on(browser, first, every):
    with Visit(browser, first, reduced_motion="reduce") as visit:
        heads = visit.page.locator("h2").all_inner_texts()
        assert heads == ["Papers", "Most surprising", "Errata", "Every claim"]
        jumps = visit.page.get_by_role("navigation", name="On this page").get_by_role("link")
        assert jumps.all_inner_texts() == heads
        jumps.last.click()
        top = visit.page.locator("#claims").bounding_box()
        assert top is not None
        assert 0 <= top["y"] < 450
        visit.page.get_by_text("What the papers print").click()
        assert visit.page.get_by_text(ERRATUM[2]).is_visible()
        card = visit.page.locator("section[aria-labelledby=surprising] li").first
        name = card.locator("code").inner_text()
        (surprise,) = [v for v in every if v.claim == name]
        assert surprise.verdict == "fails"
        assert not surprise.ours
        card.locator("a").click()
        assert visit.page.url.endswith(f"#{surprise.paper}.{surprise.claim}")
        visit.page.wait_for_timeout(300)
        place = visit.page.locator(f"[id='{surprise.paper}.{surprise.claim}']").bounding_box()
        assert place is not None
        assert 0 <= place["y"] < 900


def test_a_claim_leads_to_its_figure_and_the_figure_back(browser, first):
    with Visit(browser, first, "#li2023.1a.law", reduced_motion="reduce") as visit:
        tile = visit.page.locator("[id='li2023.1a.law']")
        tile.locator("summary").click()
        assert "limelight run li2023 fig1a" in tile.inner_text()
        tile.locator("details a").first.click()
        assert visit.page.url.endswith("li2023/fig1a.html#li2023.1a.law")
        visit.chart()
        assert visit.page.locator(".live input[type=range]").first.is_visible()
        visit.page.locator("header a").first.click()
        assert visit.page.url.endswith("index.html")
        assert not visit.said


def test_every_claim_is_a_square_that_leads_to_it(browser, first, every):
    with Visit(browser, first, reduced_motion="reduce") as visit:
        squares = visit.page.locator(".papers .mosaic a")
        assert squares.count() == len(every)
        told = squares.evaluate_all("(all) => all.map((one) => [one.className, one.title])")
        for (kind, title), verdict in zip(told, every, strict=True):
            assert kind == verdict.verdict.replace(" ", "-")
            assert title.endswith(f"({verdict.verdict})")
        number = next(i for i, v in enumerate(every) if v.claim == "1a.law")
        squares.nth(number).click()
        place = visit.page.locator("[id='li2023.1a.law']").bounding_box()
        assert place is not None
        assert 0 <= place["y"] < 900


def test_the_page_of_a_paper_shows_its_figures_under_what_they_found(browser, first, chapters):
    (part,) = chapters[0].sections
    with Visit(browser, first.parent / "li2023" / "index.html") as visit:
        card = visit.page.locator("[id='li2023.fig1a']")
        assert (
            card.get_by_role("heading").inner_text()
            == "Examples needed grow as α∗−7.3, not as α∗−2"
        )
        assert part.title in card.inner_text()
        shown = card.locator("img").bounding_box()
        assert shown is not None
        assert shown["width"] > 300
        card.locator("a").first.click()
        assert visit.page.url.endswith("li2023/fig1a.html")
        assert visit.page.locator("h1").inner_text().startswith("Examples needed grow as")
        visit.page.go_back()
        visit.page.locator("header .counts a", has_text="fail").click()
        assert asked(visit) == {"paper": "li2023", "verdict": "fails"}
        fails = [v for v in part.verdicts if v.verdict == "fails"]
        assert visit.page.locator(".filtered > article:visible").count() == len(fails) > 0
        assert not visit.said
