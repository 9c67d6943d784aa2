"""Maths in the terminal as one reads it, names that one types as they are typed."""

import re
from types import SimpleNamespace

import pytest

from limelight._cli import show, text
from limelight.claims import Verdict
from limelight.papers import KEYS, load
from limelight.papers._cards import card_of

#: Maths as it is written in recipes, or in TeX.
RAW = re.compile(
    r"(?<![\w.`:-])(alpha|beta|gamma|delta|epsilon|lambda|sigma|rho|tau)\b(?![=-])"
    r"|\w\^(-?\d|{)|\$|\\[a-z]|[<>]=|\w_\*",
    re.I,
)


@pytest.mark.parametrize("key", KEYS)
def test_no_page_of_a_paper_shows_raw_maths(key, capsys):
    paper = load(key)
    show.print_paper(paper, key, everything=True)
    for name in paper.titles:
        show.print_figure(paper, card_of(paper, name), key)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 100
    assert [line for line in lines if RAW.search(line)] == []


def test_a_verdict_is_typeset_and_its_name_is_not(capsys):
    about = {"statement": "It grows as alpha_*^-2.", "rule": "N50 <= 8", "note": "at sigma 0.1"}
    one = Verdict("1a.alpha_2", "", "holds", 2.0, (1.8, 2.2), 9, "", "results")
    one = Verdict(**(vars(one) | about))
    text.print_verdicts([one])
    shown = capsys.readouterr().out
    assert "It grows as α∗⁻²." in shown
    assert "Rule: N₅₀ ≤ 8." in shown
    assert "Note: at σ 0.1." in shown
    assert "1a.alpha_2" in shown
    assert str(one).endswith("n = 9; N₅₀ ≤ 8; at σ 0.1")


def test_fields_keep_the_names_by_which_they_are_asked_for(monkeypatch):
    assert text.typeset("world.sigma, their sigma") == "world.sigma, their σ"
    assert text.typeset("say beta=0.9") == "say beta=0.9"
    plain = SimpleNamespace(encoding="ascii")
    monkeypatch.setattr(text.sys, "stdout", plain)
    assert text.typeset("alpha_*^-2") == "alpha_*^-2"
