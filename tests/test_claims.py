"""Rules decide from the ends of an interval, and say what they do."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight.claims import (
    Above,
    AtLeast,
    AtMost,
    Bands,
    Below,
    Claim,
    Estimate,
    Finding,
    Inside,
    NotApplicable,
    Undecided,
    Verdict,
    all_parts,
    check_unique,
    claims,
    most_surprising,
)
from limelight.table import Table

NUMBERS = st.floats(-100, 100)


def one_of_many(**words):
    """Two claims of one statistic, the second with another level."""
    cases = ({"level": 0.1}, {"level": 0.5, "also": ", at 0.5", "kind": "identity", "more": ".x"})
    cases = tuple({"more": "", **case} for case in cases)
    return claims("c{more}", "It learns.", AtLeast(0.5), at="Figure {level}", cases=cases, **words)


def test_many_claims_share_a_statistic_and_its_words():
    def share(table, level):
        """Share of trials
        below {level}.

        And no more of this.
        """
        return Estimate(float((table["loss"] < level).mean()), None, len(table))

    first, second = one_of_many()(share)
    assert [first.name, second.name] == ["c", "c.x"]
    assert first.statistic == "share of trials below 0.1"
    assert (first.statement, second.statement) == ("It learns.", "It learns, at 0.5.")
    assert (first.kind, second.kind) == ("statistical", "identity")
    table = Table({"loss": np.array([0.0, 0.2, 0.4, 0.9])})
    assert [one.decide(table, "a run").value for one in (first, second)] == [0.25, 0.75]
    (named, _) = one_of_many(statistic="a share")(share)
    assert named.statistic == "a share"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Mean loss.", "mean loss"),
        ("A mean.", "a mean"),
        ("AUC or not.", "AUC or not"),
        ("R squared.", "R squared"),
    ],
)
def test_a_docstring_is_a_phrase_without_a_capital_that_it_does_not_need(said, words):
    def estimate(table, level):
        return Estimate(0.0, None, len(table))

    estimate.__doc__ = said
    assert one_of_many()(estimate)[0].statistic == words
    estimate.__doc__ = None
    with pytest.raises(InputError, match="has no docstring"):
        one_of_many()(estimate)


def verdict_of(statement, decided="fails", **other):
    words = {
        "claim": "c",
        "statement": statement,
        "verdict": decided,
        "value": 1.0,
        "n": 5,
        "rule": "r",
    }
    return Verdict(**words, interval=(0.9, 1.1), source="a", **other)


def test_the_most_surprising_are_the_papers_own_that_fail_most_clearly():
    def failing(name, value, source, **other):
        words = {"claim": name, "statement": "s", "value": value, "n": 5, "rule": "r"}
        words |= {"interval": (value - 1, value + 1), "region": (10.0, math.inf)}
        words |= {"verdict": "fails", "reference": "Figure 1"}
        return Verdict(**{**words, "source": source, **other})

    far, near = failing("far", 0.0, "a"), failing("near", 5.0, "b")
    again = failing("again", 2.0, "a")  # of a table that is named already
    left_out = [
        failing("holds", 20.0, "c", verdict="holds"),
        failing("identity", 1.0, "d", kind="identity"),
        failing("ours", 1.0, "e", reference="limelight"),
    ]
    assert most_surprising([near, again, *left_out, far]) == [far, near]
    assert most_surprising([near, far], most=1) == [far]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("Most learn.", "most learn"),
        ("A token stays.", "a token stays"),
        ("AUC grows.", "AUC grows"),
        ("N grows.", "N grows"),
        ("Lemma 2 holds.", "Lemma 2 holds"),
        ("Theorem 1 holds. (Here)", "Theorem 1 holds (Here)"),
    ],
)
def test_a_sentence_after_a_colon(statement, said):
    words = Finding("c")
    assert words.of(verdict_of(statement)) == f"Fails: {said}"
    assert words.of(verdict_of(statement, "inconclusive")) == f"Undecided: {said}"
    assert words.of(verdict_of(statement, "not run")) == ""


@pytest.mark.parametrize(
    ("rule", "interval", "decision"),
    [
        (AtLeast(0.8), (0.8, 0.9), "holds"),
        (AtLeast(0.8), (0.5, 0.79), "fails"),
        (AtLeast(0.8), (0.5, 0.8), "inconclusive"),
        (AtMost(0.0), (-1.0, 0.0), "holds"),
        (AtMost(0.0), (0.1, 0.2), "fails"),
        (AtMost(0.0), (-0.1, 0.2), "inconclusive"),
        (Above(0.0), (0.1, 0.2), "holds"),
        (Above(0.0), (0.0, 0.2), "inconclusive"),
        (Above(0.0), (-0.2, 0.0), "inconclusive"),
        (Above(0.0), (-0.2, -0.1), "fails"),
        (Below(1.0), (0.1, 0.9), "holds"),
        (Below(1.0), (0.1, 1.0), "inconclusive"),
        (Below(1.0), (1.0, 1.5), "inconclusive"),
        (Below(1.0), (1.1, 1.5), "fails"),
        (Inside(1.5, 2.5), (1.5, 2.5), "holds"),
        (Inside(1.5, 2.5), (2.6, 3.0), "fails"),
        (Inside(1.5, 2.5), (0.0, 1.4), "fails"),
        (Inside(1.5, 2.5), (2.0, 3.0), "inconclusive"),
        (Inside(1.5, 2.5), (1.0, 1.5), "inconclusive"),
        (Inside(1.5, 2.5), (2.5, 3.0), "inconclusive"),
        (Bands(0.2, 0.8), (0.8, 0.8), "holds"),
        (Bands(0.2, 0.8), (0.2, 0.2), "fails"),
        (Bands(0.2, 0.8), (0.5, 0.5), "inconclusive"),
    ],
)
def test_rules_at_their_edges(rule, interval, decision):
    assert rule(*interval) == decision


@given(NUMBERS, NUMBERS, NUMBERS, st.floats(0, 10))
def test_a_wider_interval_never_reverses_a_decision(level, low, width, more):
    low, high = low, low + abs(width)
    rules = AtLeast(level), AtMost(level), Above(level), Below(level), Inside(level, level + 5)
    for rule in rules:
        narrow, wide = rule(low, high), rule(low - more, high + more)
        assert wide in (narrow, "inconclusive")


def claim(estimate: Estimate) -> Claim:
    return Claim("x.y", "It is.", "a number", lambda table: estimate, AtLeast(1.0), "here")


def test_what_is_not_a_number_decides_nothing():
    for estimate in (
        Estimate(math.nan, None, 3),
        Estimate(2.0, (math.nan, math.nan), 3),
        Estimate(math.inf, None, 3),
        Estimate(math.inf, (math.inf, math.inf), 3),
        Estimate(2.0, (-math.inf, math.inf), 3),
        Estimate(2.0, (0.5, math.inf), 3),
    ):
        verdict = claim(estimate).decide(Table({}), "test")
        assert verdict.verdict == "inconclusive"
        json.dumps(verdict.as_json(), allow_nan=False)


def test_one_end_decides_where_the_other_is_open():
    for ends, verdict in (((1.5, math.inf), "holds"), ((-math.inf, 0.5), "fails")):
        found = claim(Estimate(2.0, ends, 3)).decide(Table({}), "test")
        assert found.verdict == verdict
        json.dumps(found.as_json(), allow_nan=False)


def test_a_verdict_carries_what_decided_it():
    verdict = claim(Estimate(2.0, (1.5, 2.5), 7, "a note")).decide(Table({}), "a table")
    assert verdict.verdict == "holds"
    assert "lower end >= 1" in verdict.rule
    assert "a number" in verdict.rule
    for word in ("x.y", "holds", "n = 7", "a note"):
        assert word in str(verdict)
    assert (verdict.level, verdict.family, verdict.kind, verdict.ours) == (
        0.95,
        1,
        "statistical",
        False,
    )
    assert verdict.as_json()["region"] == [1.0, None]


def test_a_miss_is_counted_in_half_widths_of_the_interval():
    low = claim(Estimate(0.5, (0.25, 0.75), 7)).decide(Table({}), "a table")
    assert low.miss == 1.0  # 0.25 below the region, and half of the interval is 0.25
    for ends in ((0.9, 1.1), (1.5, 2.5), None):
        assert claim(Estimate(1.0, ends, 7)).decide(Table({}), "a table").miss == 0.0


def test_a_claim_about_nothing_is_not_inconclusive():
    def empty(table):
        raise NotApplicable("the set is empty", n=4)

    given = Claim("x", "All of them rise.", "a share", empty, AtLeast(0.5), "limelight; a check")
    verdict = given.decide(Table({}), "here", "toy2000")
    assert (verdict.verdict, verdict.note, verdict.n) == ("not applicable", "the set is empty", 4)
    assert (verdict.paper, verdict.ours, verdict.level) == ("toy2000", True, None)


def test_a_table_that_cannot_decide_leaves_its_claim_open_and_says_why():
    def estimate(table):
        raise Undecided("10 runs are needed", n=len(table))

    claim = Claim("x", "It rises.", "a slope", estimate, AtLeast(0.0), "somewhere")
    verdict = claim.decide(Table({"y": np.zeros(3)}), "here")
    assert verdict.verdict == "inconclusive"
    assert (verdict.interval, verdict.n, verdict.note) == (None, 3, "10 runs are needed")
    assert np.isnan(verdict.value)


def test_two_claims_of_one_name_are_refused_and_others_are_not():
    one, two = (Claim(name, "s", "t", lambda table: None, AtLeast(0.0), "here") for name in "ab")
    check_unique((one, two))
    with pytest.raises(InputError, match="'a'"):
        check_unique((one, two, one))


def test_a_verdict_in_a_line_has_its_interval_where_there_is_one():
    claim = lambda interval: Claim(
        "c", "s", "t", lambda table: Estimate(0.5, interval, 3), AtLeast(0.0), "here"
    )
    table = Table({"y": np.arange(3)})
    assert "0.5 [0.25, 0.75], n = 3" in str(claim((0.25, 0.75)).decide(table, "x"))
    assert "0.5, n = 3" in str(claim(None).decide(table, "x"))


@pytest.mark.parametrize(
    ("rule", "region"),
    [
        (AtLeast(0.8), (0.8, math.inf)),
        (AtMost(0.8), (-math.inf, 0.8)),
        (Above(0.8), (0.8, math.inf)),
        (Below(0.8), (-math.inf, 0.8)),
        (Inside(1.0, 2.0), (1.0, 2.0)),
    ],
)
def test_where_a_rule_holds(rule, region):
    assert rule.region == region
    inside = [x for x in (-50.0, 1.5, 50.0) if region[0] < x < region[1]]
    assert all(rule(x, x) == "holds" for x in inside)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "fails"], "fails"),
        (["inconclusive", "fails"], "fails"),
        (["holds", "not applicable"], "inconclusive"),
        ([], "inconclusive"),
    ],
)
def test_a_sentence_of_several_parts(parts, whole):
    assert all_parts(parts) == whole


def test_a_verdict_in_a_notebook_says_what_it_has():
    claim = Claim("c", "it <learns>", "a mean", constant(0.5), AtLeast(0.5), "l", fixed="after")
    whole = claim._verdict("holds", Estimate(0.75, (0.5, 1.0), 8, "a note"), "a run", "p")
    page = whole._repr_html_()
    assert page.startswith("<p><strong>c: holds</strong></p>")
    for said in ("0.75 (0.5 to 1)", "statistical, rule: after", "a note", "it &lt;learns&gt;"):
        assert said in page
    bare = dataclasses.replace(whole, interval=None, note="", fixed="before")._repr_html_()
    assert "<td>value</td><td>0.75</td>" in bare
    assert "<td>kind</td><td>statistical</td>" in bare
    assert "note" not in bare


def test_nothing_is_warned_of_what_diverged(recwarn):
    """A mean of no reading is looked at on the way to a verdict, and nobody's concern."""
    claim = Claim("c", "s", "a mean", lambda t: Estimate(*_share(t), 2), AtLeast(0.5), "limelight")
    diverged = Table(
        {"x": np.array([1.0, 0.9, 0.8]), "diverged": np.array([True, True, False])}, ()
    )
    assert claim.decide(diverged, "a run").verdict == "inconclusive"
    assert not recwarn.list


def _share(table):
    value = float(np.nanmean(table["x"][:2]))
    return value, (value, value)


def constant(value, note=""):
    return lambda table: Estimate(value, (value, value), 2, note)


@pytest.mark.parametrize(
    ("note", "said"),
    [("", "1 of 2 trials diverged"), ("mind", "1 of 2 trials diverged; mind")],
)
def test_the_diverged_are_counted_before_any_note(note, said):
    claim = Claim("c", "s", "a number", constant(0.75, note), AtLeast(0.5), "limelight")
    table = Table({"x": np.array([1.0, 0.9]), "diverged": np.array([True, False])}, ())
    verdict = claim.decide(table, "a run")
    assert (verdict.verdict, verdict.note) == ("holds", said)
