"""edelman2022's experiments at smoke scale: they run, decide nothing, draw everything."""

import numpy as np
import pytest

from limelight.papers import load
from limelight.papers.edelman2022 import fig3
from limelight.plot import render

paper = load("edelman2022")
ALONE = ("fig2", "fig3")
OTHERS = (
    "fig2-curves",
    "fig3-runs",
    "fig3-noise",
    "fig2-wide",
    "fig2-edge",
    "fig2-long",
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
    assert found.done.all()
    assert (found.leaves >= 20).all()
    assert (table["accuracy"] > 0.999).all()
    # Dropout leaves a floor that is gone when it is off.
    assert (table["trace.clean"][:, -1] < table["trace.loss"][:, -1]).all()
    assert (np.abs(table["trace.loss"][:, 0] - np.log(2)) < 0.1).all()
