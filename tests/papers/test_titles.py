"""What a published picture says over itself comes from the verdict on its own table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from limelight import plot
from limelight.claims import Above, Estimate
from limelight.papers import KEYS, load
from limelight.papers._titles import several
from limelight.papers.recipe import Finding, claim
from limelight.table import Table

RESULTS = Path(__file__).parents[2] / "results"


@claim("rises", "The mean of y is above 0.", Above(0.0))
def rises(table):
    """Mean of y."""
    value = float(table["y"].mean())
    return Estimate(value, (value - 0.1, value + 0.1), len(table))


def draw(table):
    """One point. And more words that nobody needs."""
    return plot.lines([("a", [1, 2], [1, 2])], x_label="x", y_label="y")


def figure(**options):
    given = {
        "claims": (rises,),
        "pictures": {"first": draw, "second": draw},
        "findings": {},
        "paper": "smith2026",
        "title": "loss over x",
        "reference": "Figure 1",
    }
    return replace(load("li2023").figure("fig2"), **(given | options))


def table(mean, **manifest):
    return Table({"y": np.full(4, mean)}, (), manifest)


WORDS = Finding(
    "rises", holds="up by {value:.0%}", fails="down: {value:.1f} ({low:.1f})", open="flat"
)


@pytest.mark.parametrize(
    ("mean", "plain", "own"),
    [
        (0.5, "The mean of y is above 0", "Up by 50 %"),
        (-0.5, "Fails: the mean of y is above 0", "Down: -0.5 (-0.6)"),
        (0.0, "Undecided: the mean of y is above 0", "Flat"),
    ],
)
def test_the_verdict_chooses_the_words(mean, plain, own):
    assert figure().plot(table(mean)).title == plain
    said = figure(findings={"first": WORDS, "second": "rises"})
    assert said.plot(table(mean)).title == own
    assert said.plot(table(mean), "second").title == plain
    assert said.plot(table(mean)).subtitle == "Loss over x; smith2026, Figure 1"


def test_what_decides_nothing_has_no_finding():
    for manifest in ({"scale": "smoke"}, {"configuration": {"axes": [], "trials": 9}}):
        picture = figure(findings={"first": WORDS}).plot(table(0.5, **manifest))
        assert (picture.title, picture.subtitle) == ("Loss over x", "smith2026, Figure 1")


def test_a_figure_made_of_another_does_not_inherit_its_findings():
    other = replace(figure(findings={"first": WORDS}), claims=(replace(rises, name="grows"),))
    assert other.plot(table(0.5)).title == "The mean of y is above 0"
    assert replace(other, claims=()).plot(table(0.5)).title == "Loss over x"


def test_a_picture_of_several_findings_joins_them_and_one_without_says_what_is_drawn():
    both = figure(findings={"first": (WORDS, Finding("rises", holds="and above 0"))})
    assert both.plot(table(0.5)).title == "Up by 50 %, and above 0"
    beside = figure(findings={"first": (WORDS, "rises")}).plot(table(0.5))
    assert beside.title == "Up by 50 %"  # one message
    assert beside.subtitle.startswith("The mean of y is above 0. Loss over x;")
    assert both.plot(table(0.5), "second").title == "One point. And more words that nobody needs"


def test_settings_come_from_the_run():
    told = {"configuration": {"experiment": {"world": {"tokens": 1000}}}}
    picture = figure(setting="{world.tokens} tokens").plot(table(0.5, **told))
    assert picture.subtitle == "Loss over x; smith2026, Figure 1, 1,000 tokens"


@pytest.mark.parametrize("key", KEYS)
def test_findings_name_pictures_and_claims_of_their_paper(key):
    paper = load(key)
    figures = [paper.figure(name) for name in paper.titles]
    claims = {claim.name for figure in figures for claim in figure.claims}
    drawn = {name for figure in figures for name in figure.pictures}
    for one in figures:
        assert {*one.findings} <= drawn
        named = {finding.claim for found in one.findings.values() for finding in several(found)}
        assert named <= claims


def test_a_published_picture_says_what_verify_says():
    paper = load("li2023")
    held = Table.load(RESULTS / "li2023" / "fig2" / "table.parquet")
    verdict = paper.figure("fig2").verdict(held, "2.line")[0]
    title = paper.figure("fig2").plot(held).title
    assert verdict.verdict == "holds"
    assert title.endswith(f"R^2 = {verdict.value:.3f}")
