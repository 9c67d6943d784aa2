"""The paper's door: statements evaluate, the figure runs at smoke scale and draws."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.papers import load
from limelight.papers.edelman2022.capacity import growth, real_heads
from limelight.papers.published import decide_published, open_manifest, recipe_of
from limelight.plot import render
from limelight.theory.base import Bound
from limelight.theory.edelman2022 import head_explicit
from limelight.theory.edelman2022.consistent import least_examples
from limelight.theory.edelman2022.errata import EVIDENCE, erratum

paper = load("edelman2022")
RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("statement", paper.statements, ids=lambda s: s.label)
def test_statements_evaluate_at_their_defaults(statement):
    bound = statement.evaluate({"instances": "50"} if statement.label == "lipschitz" else {})
    assert isinstance(bound, Bound)
    assert np.isfinite(bound.value)
    assert bound.reference.startswith("edelman2022")
    assert bound.as_json()["name"] in str(bound)


def test_statements_take_settings():
    bound = paper.find("corollary4.4").evaluate({"tokens": "1000", "heads": "2"})
    assert bound.value > paper.find("corollary4.4").evaluate({}).value
    with pytest.raises(InputError):
        paper.find("lemma4.5").evaluate({"nothing": "1"})
    assert paper.find("lemma2.2").evaluate({"examples": "10"}).notes == ("vacuous here",)


@pytest.mark.parametrize("statement", paper.statements, ids=lambda s: s.label)
def test_numbers_below_their_range_are_refused_or_do_not_apply(statement):
    small = {"instances": "5"} if statement.label == "lipschitz" else {}
    for name, default in statement.settings.items():
        if isinstance(default, str):
            continue
        for value in ("-1", "nan"):
            try:
                bound = statement.evaluate(small | {name: value})
            except InputError:
                continue
            assert not bound.applies, (name, value, str(bound))


def test_norms_below_zero_get_a_clear_line():
    for name in ("query_key", "value_spectral", "token_norm", "position_norm", "lipschitz"):
        with pytest.raises(InputError, match="= -1"):
            paper.find("corollary4.4").evaluate({name: "-1"})
    weak = paper.find("corollary4.4").evaluate({"softmax_constant": "0.5"})
    assert not weak.applies  # the softmax moves by up to 1 times its scores


def test_a_figure_answers_to_the_name_it_had(tmp_path):
    """The study keeps that name, from which its random numbers come, and so do old tables."""
    figure = paper.figure("fig2-curves")
    assert paper.figure("fig4") is figure
    assert paper.find("fig4") is figure
    assert "fig4" not in paper.titles
    assert figure.plan("smoke").name == "edelman2022/fig4"
    published = RESULTS / "edelman2022" / "fig2-curves"
    assert recipe_of(open_manifest(published), published) is figure
    shutil.copytree(published, tmp_path / "edelman2022" / "fig4")
    assert decide_published(figure, tmp_path) == decide_published(figure, RESULTS)
    assert {v.verdict for v in decide_published(figure, tmp_path)} == {"holds"}


def test_no_learner_beats_the_number_of_label_words():
    """Three bits, one hidden: after m labels the best learner is right for 2^m of the subsets."""
    rng = np.random.default_rng(0)
    length, examples, draws = 64, 3, 4000
    bits = rng.random((draws, examples, length)) < 0.5
    hidden = rng.integers(length, size=draws)
    labels = np.take_along_axis(bits, hidden[:, None, None], axis=2)
    fits = (bits == labels).all(axis=1)  # the subsets of one bit that the sample allows
    guess = np.array([rng.choice(np.flatnonzero(row)) for row in fits])
    chance = (guess == hidden).mean()
    assert chance < 2.0**examples / length + 4 * np.sqrt(0.25 / draws)
    assert least_examples(length, 1, chance) < examples + 0.5
    assert least_examples(100, 3) == pytest.approx(np.log2(161_700 / 2))
    assert paper.find("section5").evaluate({"examples": "16"}).applies is False
    with pytest.raises(InputError, match="chance"):
        least_examples(10, 3, 0.0)


def test_real_heads_are_those_of_a_vision_transformer():
    heads = real_heads()
    assert len(heads) == 36
    assert {h.query_key.outputs for h in heads} == {193}
    assert all(h.query_key.largest <= h.query_key.spectral * (1 + 1e-9) for h in heads)
    assert all(float(head_explicit(h, 1.0, examples=10, tokens=9)) > 0 for h in heads)


def test_the_figure_at_smoke_scale(tmp_path):
    figure = paper.figure("capacity")
    table = figure.run("smoke", tmp_path / "run")
    assert (table["built.accuracy"] == 1.0).all()
    assert np.isfinite(table["learned.gap"]).all()
    assert len(render(figure.plot(table), "png")) > 10_000
    *_, heads, line = figure.summary(table)
    assert heads.split()[0] == "T"
    assert line.split()[0] == "8"
    assert all(v.verdict == "inconclusive" for v in figure.verdict(table))
    assert growth.estimate(table).value <= 1
    decided = {claim.name: claim.decide(table, "test").verdict for claim in figure.claims}
    assert decided == {"capacity.exact": "holds", "capacity.log": "holds"}


@pytest.mark.parametrize("number", sorted(EVIDENCE))
def test_errata_are_what_the_numbers_say(number):
    corrected, *printed = erratum(number).conditions
    assert corrected.holds, str(corrected)
    assert len(printed) == (number != 18)  # which cannot be read
    assert not any(condition.holds for condition in printed)


def test_errata_without_numbers():
    with pytest.raises(InputError, match="no numeric evidence"):
        erratum(2)
