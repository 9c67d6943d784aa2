"""li2023's figures at smoke scale, and its estimators on tables whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from limelight.papers import load
from limelight.papers.li2023 import boundary, concentration
from limelight.plot import render
from limelight.table import Table


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Every figure of the first slice, run once."""
    paper = load("li2023")
    folder = tmp_path_factory.mktemp("smoke")
    return {
        name: (paper.figure(name), paper.figure(name).run("smoke", folder / name))
        for name in ("fig1a", "fig4")
    }


def test_smoke_runs_decide_nothing_and_say_so(smoke):
    for figure, table in smoke.values():
        verdicts = figure.verdict(table)
        assert len(verdicts) == len(figure.claims)
        assert {v.verdict for v in verdicts} == {"inconclusive"}
        assert all("smoke scale decides nothing" in v.note for v in verdicts)


def test_every_picture_draws(smoke):
    for figure, table in smoke.values():
        for picture in figure.plots(table).values():
            assert render(picture, "png", dots_per_inch=50).startswith(b"\x89PNG")
        assert figure.summary(table)


def test_attention_rises_and_respects_its_ceiling(smoke):
    _, table = smoke["fig4"]
    assert concentration.rise(table).value > 0.1
    assert concentration.excess(table).value <= 1e-5
    assert not table["diverged"].any()


def synthetic(exponent, trials=200, criterion=boundary.STRICT, seed=0, confusing=lambda a: 0.5 - a):
    """A table whose boundary is a known power of the relevant fraction."""
    rng = np.random.default_rng(seed)
    alphas, sizes = np.array([0.30, 0.33, 0.36, 0.40, 0.44, 0.48]), 2 ** np.arange(1, 9)
    rows = [(a, n) for a in alphas for n in sizes for _ in range(trials)]
    alpha, size = np.array(rows).T
    middle = 20 * (alpha / 0.36) ** -exponent
    success = rng.random(len(rows)) < 1 / (1 + (middle / size) ** 3)
    cell = np.repeat(np.arange(len(rows) // trials), trials)
    return Table(
        {
            "cell": cell,
            "trial": np.tile(np.arange(trials), len(rows) // trials),
            "world.relevant": alpha,
            "world.confusing": np.array([confusing(a) for a in alpha]),
            "train.examples": size,
            "test_loss": np.where(success, criterion / 2, 1.0),
            "training_loss": np.zeros(len(rows)),
            "diverged": np.zeros(len(rows), dtype=bool),
        },
        ("world.relevant", "world.confusing", "train.examples"),
        {"scale": "paper"},
    )


@pytest.mark.parametrize(("exponent", "verdict"), [(2.0, "holds"), (4.0, "fails")])
def test_the_exponent_of_a_known_law_is_found_and_judged(exponent, verdict):
    table = synthetic(exponent)
    found = boundary.exponent(table, boundary.STRICT, boundary.relevant)
    low, high = found.interval
    assert low < exponent < high
    assert high - low < 0.8
    law = next(c for c in load("li2023").figure("fig1a").claims if c.name == "1a.law")
    assert law.decide(table, "synthetic").verdict == verdict


def test_the_explorer_begins_with_the_printed_power_as_a_straight_line_through_every_column():
    rows = synthetic(4.0)
    chart = replace(boundary.EXPLORER, conditions=None).chart(rows)
    start = {control.name: control.start for control in chart.controls}
    assert (start["wide"], start["high"]) == (1, 1)
    columns = len(rows.values("world.relevant"))
    for number, level in enumerate(boundary.EXPLORER.levels):
        edge = boundary.n50(rows, level)
        if not boundary.usable(edge).any():
            continue
        line = [row for row in chart.data["theory"] if row["label"].startswith("N ∝ α∗⁻²")]
        points = np.array([(row["at"][1], row["ys"][number][1]) for row in line])
        assert len(points) == columns  # a power is positive everywhere: nothing is cut off
        slopes = np.diff(points[:, 1]) / np.diff(points[:, 0])
        assert np.allclose(slopes, 1.0, atol=1e-3)  # of log N over log of alpha_*^-2
        middle = np.log10(edge.values).mean() - points[:, 1].mean()
        assert abs(middle) < 1e-3 or not boundary.usable(edge).all()


def test_unconverged_cells_are_left_out():
    table = synthetic(2.0, trials=20)
    spoiled = table["cell"] == 5
    columns = dict(table.columns) | {
        "training_loss": np.where(spoiled, 0.5, 0.0),
        "test_loss": np.where(spoiled, 1.0, table["test_loss"]),
    }
    out = boundary.unconverged(Table(columns, table.axes))
    assert out[table["cell"] == 5].all()
    assert out.sum() == 20


def test_too_few_points_decide_nothing():
    table = synthetic(2.0, trials=20)
    few = table.rows(table["world.relevant"] < 0.37)
    estimate = boundary.exponent(few, boundary.STRICT, boundary.relevant)
    assert np.isnan(estimate.value)
    assert "3 usable points" in estimate.note
    law = next(c for c in load("li2023").figure("fig1a").claims if c.name == "1a.law")
    assert law.decide(few, "synthetic").verdict == "inconclusive"
    flat = synthetic(2.0, trials=50, confusing=lambda a: a - 0.24)
    assert "do not differ" in boundary.exponent(flat, boundary.STRICT, boundary.gap).note


def test_overrides_are_typed_and_unknown_names_are_errors():
    from limelight._core.errors import InputError

    figure = load("li2023").figure("fig1a")
    setup = figure.setup("smoke", {"train.steps": "40", "trials": "2", "train.examples": "4,8"})
    assert setup.experiment.train.steps == 40
    assert setup.trials == 2
    assert setup.axes["train.examples"] == [4, 8]
    for settings, word in (
        ({"world.relevant": "0.3"}, "moves together"),
        ({"train.stepz": "3"}, "nothing is called"),
        ({"train.steps": "3.5"}, "whole number"),
        ({"train.steps": ""}, "no value"),
    ):
        with pytest.raises(InputError, match=word):
            figure.setup("smoke", settings)
