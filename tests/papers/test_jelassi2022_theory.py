"""The figures of jelassi2022 that train nothing, at smoke scale, and what their claims read."""

import numpy as np
import pytest

from limelight.experiments.idealized import LATE
from limelight.papers.jelassi2022 import event3, idealized, linear, paper, single_rate
from limelight.plot import render
from limelight.table import Table


def checked(figure, expected: dict[str, str]) -> Table:
    table = figure.run("smoke")
    assert {v.verdict for v in figure.verdict(table)} == {"inconclusive"}
    found = {c.name: c.decide(table, "smoke").verdict for c in figure.claims}
    assert found == expected
    assert figure.summary(table)
    for picture in figure.plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")
    return table


def test_idealized_runs():
    expected = {
        "lem4.1-2": "holds",
        "lem4.3-weak": "holds",
        "thm4.1": "fails",  # 60 steps are too few
        "thm4.1-assoc": "holds",
    }
    table = checked(paper.figure("idealized"), expected)
    assert table["trace.error"].dtype == np.float64
    assert table.manifest["configuration"]["numerics"]["x64"]
    run = table.where(part="theorem")
    assert run["trace.step"][0, -LATE - 1] == run["steps"][0] == run["step"][0]
    # A violated manifold, a lost association, large steps and a long run are seen by the claims.
    broken = Table({**table.columns, "residual": table["residual"] + 1e-11}, table.axes)
    assert idealized.manifold.decide(broken, "").verdict == "fails"
    negative = Table({**table.columns, "gap": -table["gap"]}, table.axes)
    assert idealized.weak.decide(negative, "").verdict == "fails"
    wild = {**table.columns, "trace.stiffness": 3 + 0 * table["trace.stiffness"]}
    verdict = idealized.weak.decide(Table(wild, table.axes), "")
    assert verdict.verdict == "inconclusive"
    assert "no stable run" in verdict.note


def test_the_single_rate_at_smoke_scale():
    expected = {
        "lem4.3-strong": "holds",  # the time 100 is before gamma turns
        "lem4.3-weak.flow": "holds",
        "lem4.3-rho": "inconclusive",  # one size
        "event1": "holds",
        "thm4.1-fstar": "fails",  # and long before the error has fallen
    }
    table = checked(paper.figure("single-rate"), expected)
    assert table["trace.gamma"].dtype == np.float64
    velocity = table["trace.gamma_velocity"].copy()
    velocity[0, 30:] = -1e-9  # gamma turns
    turned = Table({**table.columns, "trace.gamma_velocity": velocity}, table.axes, table.manifest)
    found = single_rate.strong.decide(turned, "")
    assert (found.verdict, found.value) == ("fails", 0.0)
    assert f"gamma turns at {table['trace.time'][0, 30]:.2g}" in found.note
    below = {**table.columns, "trace.rho": table["trace.gamma"] + 1}
    assert single_rate.weak.decide(Table(below, table.axes, table.manifest), "").verdict == "fails"
    late = {**table.columns, "trace.rho": table["trace.gamma"] - 0.2}
    late = single_rate.value_first.decide(Table(late, table.axes, table.manifest), "")
    assert (late.verdict, late.value) == ("fails", pytest.approx(0.2))
    fallen = {**table.columns, "error": np.zeros(len(table))}
    fallen = Table(fallen, table.axes, table.manifest)
    assert single_rate.reaches_fstar.decide(fallen, "").verdict == "holds"
    unfinished = {**table.columns, "reached": np.full(len(table), 50.0)}
    unfinished = Table(unfinished, table.axes, table.manifest)
    assert single_rate.strong.decide(unfinished, "").verdict == "inconclusive"


def test_the_constant_of_rho_falls_with_the_number_of_patches_by_the_lemma():
    axes = single_rate.AXIS
    worlds = {
        name: np.array(column)
        for name, column in zip(axes, zip(*single_rate.GROWING, strict=True), strict=True)
    }
    for power, verdict in ((-1.0, "holds"), (-0.5, "fails")):
        table = Table({**worlds, "rho_constant": 3.0 * worlds["tokens"] ** power}, axes)
        found = single_rate.slow_rho.decide(table, "")
        assert (found.verdict, found.value) == (verdict, pytest.approx(power))


@pytest.mark.slow
def test_a_network_without_association():
    checked(
        paper.figure("shift"),
        {
            "thm3.2-free": "holds",
            "thm3.2-overlap": "holds",
            "thm3.2-error": "holds",
            "thm3.2-gram": "fails",
        },
    )


def test_a_second_rise():
    table = checked(paper.figure("event3"), {"event3-beta1": "fails", "event3-large": "fails"})
    assert not table["passed"].any()
    higher = Table({**table.columns, "top": 1.3 * table["top"]}, table.axes)
    assert event3.least_rise[1].decide(higher, "").verdict == "holds"
    # Where steps are too large alpha oscillates, and nothing is decided.
    stiff = {**table.columns, "trace.stiffness": 1.1 + 0 * table["trace.stiffness"]}
    assert event3.least_rise[1].decide(Table(stiff, table.axes), "").verdict == "inconclusive"


@pytest.mark.slow
def test_a_second_rise_on_drawn_populations():
    checked(
        paper.figure("event3-64"),
        {"event3-64-beta1": "inconclusive", "event3-64-large": "inconclusive"},
    )


@pytest.mark.slow
def test_linear_rules():
    expected = {
        "thm3.1-as-written": "fails",
        "thm3.1-monotone": "inconclusive",
        "thm3.1-condition": "inconclusive",
    }
    table = checked(paper.figure("linear"), expected)
    assert (table["wrong.searched"] < 0.3 * 2000).all()
    wrong = {f"wrong.{rule}": np.full(4, 300) for rule in linear.RULES}
    cells = {"tokens": np.array([36, 64, 36, 16]), "density": np.array([0.4, 0.22, 0.25, 0.5])}
    made = Table({**cells, **wrong, "trial": np.zeros(4, int)}, linear.AXIS, table.manifest)
    found = [claim.decide(made, "").verdict for claim in linear.figure.claims]
    assert found == ["fails", "holds", "fails"]  # 15 % wrong everywhere


def test_the_crossing_of_a_level():
    assert event3.onset(np.arange(3.0), np.array([0.9, 1.1, 1.2])) == pytest.approx(0.6)
    assert np.isnan(event3.onset(np.arange(2.0), np.array([0.9, 1.0])))
    columns = {"trial": np.zeros(2, int), "density": np.array([0.4, 0.2])}
    about = {"configuration": {"experiment": {"draws": 100}}}
    for wrong, edge in (([15, 10], 0.3), ([10, 5], np.nan)):  # 1/8 half-way, and not reached
        rows = Table({**columns, "wrong.natural": np.array(wrong)}, linear.AXIS, about)
        assert linear.edge(rows, "natural").value == pytest.approx(edge, nan_ok=True)


def test_statements_say_which_condition_fails():
    small = paper.find("theorem3.1").evaluate({"density": "0.2"})
    failing = {c.name for c in small.conditions if not c.holds}
    assert "the natural rule misses f* as often" in failing
    large = paper.find("theorem3.1").evaluate({"density": "0.5"})
    assert {c.name for c in large.conditions if not c.holds} == {"so does the base-3 code"}
    assert paper.find("theorem3.2").evaluate({}).value == pytest.approx(0.0044, abs=2e-4)
