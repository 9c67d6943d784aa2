"""The paper's door: statements evaluate, the figure runs at smoke scale and draws."""

import numpy as np
import pytest

from limelight.core.errors import InputError
from limelight.papers import load
from limelight.papers.edelman2022.capacity import growth, real_heads
from limelight.plot import render
from limelight.theory.base import Bound
from limelight.theory.edelman2022 import head_explicit
from limelight.theory.edelman2022.errata import EVIDENCE, erratum

paper = load("edelman2022")


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
    corrected, printed = erratum(number).conditions
    assert corrected.holds, str(corrected)
    assert not printed.holds, str(printed)


def test_errata_without_numbers():
    with pytest.raises(InputError, match="no numeric evidence"):
        erratum(2)
