"""li2023's figures at smoke scale: they run, decide nothing, draw everything."""

import numpy as np
import pytest

from limelight.papers import load
from limelight.plot import render

QUICK = ("fig2", "fig5")
LONG = (
    "fig1a-ratio",
    "fig1a-gap",
    "fig1a-pool",
    "fig1a-tokens",
    "fig1b-sigma",
    "fig1b-point",
    "fig1b-noise",
    "fig3",
    "fig3-ratio",
    "fig5-long",
    "fig5-samples",
    "fig5-trials",
    "fig6",
    "fig6-close",
    "fig6c",
    "fig6-starts",
    "fig7",
    "fig8",
    "classes",
    "heads",
    "skip",
    "hypotheses",
    "lemmas",
    "sets",
)


def checked(name):
    figure = load("li2023").figure(name)
    table = figure.run("smoke")
    found = figure.verdict(table)
    assert len(found) == len(figure.claims)
    assert {v.verdict for v in found} == {"inconclusive"}
    assert not table["diverged"].any()
    for picture in figure.plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")
    assert figure.summary(table)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_ones(name):
    checked(name)


def test_every_figure_is_run_somewhere():
    known = {figure.name for figure in load("li2023").figures}
    assert known == {*QUICK, *LONG, "fig1a", "fig4"}


def test_iterations():
    table = checked("fig2")
    passage = table["passage.test_loss"]
    fractions = table["world.relevant"]
    mean = [np.nanmean(passage[fractions == a]) for a in np.unique(fractions)]
    assert mean[0] > mean[-1]


@pytest.mark.slow
def test_removing_tokens():
    table = checked("fig5")
    whole = table.where(world__kept=50)
    assert (whole["tokens.kept"] == 50).all()
    np.testing.assert_allclose(whole["tokens.relevant"], 0.4, rtol=1e-5)
    few = table.where(world__kept=35, world__policy=1)
    np.testing.assert_allclose(few["tokens.relevant"], 20 / 35, rtol=1e-5)
    assert (few["test_loss"] < whole["test_loss"]).all()
