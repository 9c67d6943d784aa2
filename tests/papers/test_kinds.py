"""What a verdict is said to rest on is what it rests on."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jax
import numpy as np

from limelight.claims import AtMost, Claim, Estimate
from limelight.experiments.idealized import Idealized
from limelight.table import Table

RESULTS = Path(__file__).parents[2] / "results"
CARDS = json.loads((files("limelight.papers") / "cards.json").read_text(encoding="utf-8"))["cards"]
#: Statistical with one trial per cell: what is drawn inside that trial.
INSIDE = {
    "li2023/fig6-starts": "images, batches and the first weights of each start",
    "jelassi2022/fig1a": "200 fresh positions beside a checkpoint",
    "geshkovski2023/deit-tiny": "1,000 images beside a checkpoint",
    "zhang2024/prompt": "a million prompts",
    "zhang2024/shift": "a hundred thousand prompts",
    "zhang2024/shift-random": "four hundred thousand prompts",
}


def published(kind: str) -> dict[str, int]:
    """Tables that a claim of this kind is read from, and their trials per cell."""
    found = {}
    for name, card in CARDS.items():
        manifest = RESULTS / name / "manifest.json"
        if any(claim["kind"] == kind for claim in card["claims"]) and manifest.exists():
            found[name] = json.loads(manifest.read_text())["configuration"]["trials"]
    return found


def test_what_is_not_drawn_is_not_called_statistical():
    runs = ("jelassi2022/idealized", "jelassi2022/single-rate", "jelassi2022/event3")
    assert published("deterministic") == dict.fromkeys((*runs, "tarzanagh2023/losses"), 1)
    assert {name for name, trials in published("statistical").items() if trials == 1} == {*INSIDE}


def test_idealized_descent_does_not_depend_on_its_key_unless_it_draws():
    run, keys = Idealized(tokens=8, size=2, density=0.4, steps=4), [*map(jax.random.key, (0, 1))]
    one, two = map(jax.jit(run.trial), keys)
    assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in one)
    first, second = (replace(run, draws=50).population(key) for key in keys)
    assert not np.array_equal(first.monomials, second.monomials)


def test_an_interval_without_draws_has_no_confidence():
    given = Estimate(0.5, (0.4, 0.6), 4)
    for kind, level in (("statistical", 0.95), ("deterministic", None)):
        claim = Claim("x", "x", "x", lambda _: given, AtMost(1.0), "limelight", kind)
        assert claim.decide(Table({}), "here").level == level
    sure = replace(given, level=None)  # it encloses: a centre that is known only so far
    claim = Claim("x", "x", "x", lambda _: sure, AtMost(1.0), "limelight")
    assert claim.decide(Table({}), "here").level is None
