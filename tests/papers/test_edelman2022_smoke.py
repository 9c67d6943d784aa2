"""edelman2022's experiments at smoke scale: they run, decide nothing, draw everything."""

import numpy as np
import pytest

from limelight.core.errors import InputError
from limelight.engine.grid import assign
from limelight.engine.plan import make_plan
from limelight.experiments.parity import Parity
from limelight.papers import load
from limelight.papers.edelman2022 import fig3
from limelight.plot import render
from limelight.worlds import SparseBoolean

paper = load("edelman2022")
ALONE = ("fig2", "fig3")
OTHERS = (
    "fig4",
    "fig3-runs",
    "fig2-wide",
    "fig2-sparsity",
    "fig2-noise",
    "fig2-dropout",
    "fig2-precision",
)


def checked(name):
    figure = paper.figure(name)
    table = figure.run("smoke")
    found = figure.verdict(table)
    assert len(found) == len(figure.claims)
    assert {v.verdict for v in found} == {"inconclusive"}
    assert not table["diverged"].any()
    for picture in figure.plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")
    assert figure.summary(table)
    return table


def test_every_figure_is_run_somewhere():
    assert {figure.name for figure in paper.figures} == {*ALONE, *OTHERS, "capacity"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_the_others(name):
    checked(name)


@pytest.mark.slow
def test_more_examples_succeed_more_often_and_every_sample_is_memorised():
    table = checked("fig2")
    few, many = (table.where(examples=m) for m in (20, 120))
    assert few["success"].sum() < many["success"].sum()
    assert np.isfinite(table["memorised"]).all()
    assert (table["gap"] < 70).all()


@pytest.mark.slow
def test_a_parity_of_two_is_learned_after_a_plateau():
    table = checked("fig3")
    found = fig3.transitions(table)
    assert found.passed.all()
    assert (found.leaves >= 20).all()
    assert (table["accuracy"] > 0.999).all()
    # Dropout leaves a floor that is gone when it is off.
    assert (table["trace.clean"][:, -1] < table["trace.loss"][:, -1]).all()
    assert (np.abs(table["trace.loss"][:, 0] - np.log(2)) < 0.1).all()


@pytest.mark.slow
def test_patience_ends_a_run_and_changes_nothing_before():
    """Stopped some iterations after the fall, a run has the same course up to there."""
    setup = paper.figure("fig3").setups["smoke"]
    whole = setup.experiment.sweep(setup.axes, trials=2, name="parity")
    patient = assign(setup.experiment, {"patience": 20})
    some = patient.sweep(setup.axes, trials=2, name="parity")
    learns = fig3.transitions(whole).learns
    assert np.isfinite(learns).all()
    np.testing.assert_array_equal(some["iterations_run"], learns + 20)
    ran = np.isfinite(some["trace.loss"])
    np.testing.assert_array_equal(ran.sum(axis=1), some["iterations_run"] / 10)
    np.testing.assert_allclose(some["trace.loss"][ran], whole["trace.loss"][ran], rtol=1e-3)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"iterations": 15}, "every must divide iterations"),
        ({"batch": 100}, "blocks must divide"),
        ({"batch": 32_768}, "at most 16384"),
        ({"block": 0}, "blocks must divide"),
        ({"heads": 0}, "heads"),
        ({"patience": -1}, "patience"),
        ({"dropout": 1.0}, "^dropout = 1.0"),
        ({"dropout": -1.0}, "^dropout = -1.0"),
        ({"dropout": 0.9999999}, "^dropout = 0.9999999"),
        ({"test": 0}, r"^test = 0 \("),
        ({"heads": 5}, "heads"),
        ({"world.length": 5000}, "4000"),
    ],
)
def test_nonsense_is_refused(setting, word):
    with pytest.raises(InputError, match=word):
        assign(Parity(), setting).check()


def test_the_plan_of_a_parity_counts_every_iteration():
    """Three times the products of the [CLS] row by absorption, and elementwise work beside them."""
    one = Parity(world=SparseBoolean(length=20, sparsity=3, rule="xor"), batch=64, test=32)
    flops = lambda n: make_plan(assign(one, {"iterations": n}), {}, trials=1).cost.flops
    products = 3 * 64 * (4 * 21 * 64 * 16 + 24 * 64**2)
    assert 1 < (flops(500) - flops(20)) / (480 * products) < 3
