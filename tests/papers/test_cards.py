"""Cards are what the recipes say, and showing one loads none of what a recipe needs."""

import json
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import pytest

from limelight.papers import KEYS, load
from limelight.papers._cards import card_of, gather, make_card
from limelight.papers._costs import cost_of


def test_the_cards_in_the_package_are_those_of_the_recipes():
    """To renew them: `python -m limelight.papers._cards`."""
    kept = json.loads((files("limelight.papers") / "cards.json").read_text())
    assert kept == json.loads(json.dumps(gather()))  # tuples are lists there
    assert list(kept["cards"]) == [f"{key}/{name}" for key in KEYS for name in load(key).titles]


@pytest.mark.parametrize("key", KEYS)
def test_no_two_claims_of_a_paper_read_the_same(key):
    """One sentence with two verdicts would contradict itself."""
    said = [claim.statement for name in load(key).titles for claim in load(key).figure(name).claims]
    assert len(said) > 20
    assert [sentence for sentence, times in Counter(said).items() if times > 1] == []


def test_a_card_says_what_the_recipe_says_and_what_the_published_run_took():
    figure = load("li2023").figure("fig1a")
    card = card_of(load("li2023"), "fig1a")
    assert [entry["claim"] for entry in card["claims"]] == [claim.name for claim in figure.claims]
    for scale, said in card["scales"].items():
        setup = figure.setup(scale)
        assert said["trials"] == setup.trials
        assert [len(values) for values in said["axes"].values()] == [
            len(values) for values in setup.axes.values()
        ]
        assert said["cost"] == cost_of("li2023", "fig1a").get(scale)


def test_a_figure_without_a_card_is_described_by_its_recipe(monkeypatch):
    """So are those of a paper whose files were changed since the cards were made."""
    monkeypatch.setattr("limelight.papers._cards.digest", lambda key: "another")
    paper = load("li2023")
    card = card_of(paper, "fig4")
    assert card["title"] == paper.titles["fig4"]
    assert card["claims"] == make_card(paper.figure("fig4"))["claims"]


@pytest.mark.parametrize("label", ["", "fig1a"])
def test_showing_a_paper_or_a_figure_loads_nothing_heavy(label):
    words = ["limelight", "show", "li2023", *filter(None, [label])]
    code = f"""
import sys
from limelight._cli import main
sys.argv = {words}
try:
    main()
except SystemExit as end:
    assert not end.code
heavy = {{"jax", "equinox", "optax", "scipy", "pyarrow", "matplotlib"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
