"""The explorer against counts and fits made the slow way."""

import re

import numpy as np
import pytest

from limelight import fit
from limelight.chart import Explorer
from limelight.fit import threshold
from limelight.plot import Guide
from limelight.table import Table

LEVELS = (0.01, 0.1, 0.5)


def table(seed=0, trials=8):
    """Losses that fall with examples, the later the larger `a`; one trial diverged, one NaN."""
    rng = np.random.default_rng(seed)
    rows = [(a, n) for a in (1.0, 2.0, 4.0) for n in (2, 4, 8, 16, 32) for _ in range(trials)]
    a, n = np.array(rows).T
    loss = np.exp(rng.normal(size=len(a)) - 1.2 * n / a)
    loss[3] = np.nan
    columns = {"a": a, "n": n, "loss": loss, "diverged": np.arange(len(a)) == 60}
    columns["trial"] = np.tile(np.arange(trials), len(a) // trials)
    return Table(columns, ("a", "n"))


def edge(rows, level):
    return threshold(rows, along="n", measure="loss", level=level, below=True)


def explorer(**more):
    parts = {"across": {"$a^{-2}$": lambda at: at["a"] ** -2.0, "$a$": lambda at: at["a"]}}
    return Explorer("n", "loss", edge, **(parts | {"levels": LEVELS, "start": 0.1} | more))


def test_cells_count_as_a_loop_does():
    rows = table()
    chart = explorer().chart(rows)
    assert len(chart.data["cells"]) == 15
    seen = 0
    for cell in chart.data["cells"]:
        a, n = (float(word) for word in re.findall(r"[ ,]([\d.]+)(?=,|$)", cell["where"])[1:])
        here = (rows["a"] == a) & (rows["n"] == n)
        for level, wins in zip(LEVELS, cell["wins"], strict=True):
            counted = 0
            for i in np.flatnonzero(here):
                counted += rows["loss"][i] < level and not rows["diverged"][i]
            assert wins == counted
        seen += here.sum()
    assert seen == len(rows)


def test_the_boundary_is_that_of_fit_at_every_criterion():
    rows = table()
    chart = explorer().chart(rows)
    for number, level in enumerate(LEVELS):
        found = edge(rows, level)
        drawn = [point["ys"][number][2] for point in chart.data["edge"]]
        known = np.where(found.resolved, found.values, np.nan)
        assert np.allclose([np.nan if v is None else v for v in drawn], known, equal_nan=True)
        for point, low, high in zip(chart.data["edge"], found.low, found.high, strict=True):
            linear = point["ys"][number][0]
            assert linear[1] <= max(low, 1.0) + 1e-4
            assert linear[2] >= min(high, 40.0) - 1e-4


def test_intervals_are_wilsons():
    chart = explorer().chart(table())
    low, high = fit.wilson(np.arange(9), np.full(9, 8))
    assert np.allclose(chart.constants["wilson"]["8"], np.stack([low, high], 1), atol=5e-4)


def test_cells_tile_the_plane():
    for cell_a, cell_b in zip(*[iter(explorer().chart(table()).data["cells"])] * 2, strict=False):
        assert cell_a["xs"][0][0] < cell_a["xs"][0][1]
        assert cell_a["ys"][0] != cell_b["ys"][0]
    across = sorted({tuple(c["xs"][0]) for c in explorer().chart(table()).data["cells"]})
    assert all(a[1] == pytest.approx(b[0]) for a, b in zip(across, across[1:], strict=False))


def test_tabs_lines_and_words():
    chart = explorer(
        parts={"small": lambda t: t["a"] < 3, "large": lambda t: t["a"] > 1.5},
        theory=lambda t, level: [Guide("law", [0.1, 1.0], [level * 100, 4.0])],
        fact=lambda t, level: f"{len(t)} at {level:g}",
        conditions=lambda t, at: ["too few"] if at["n"] < 4 else [],
    ).chart(table())
    assert [c.name for c in chart.controls] == ["part", "level", "across", "wide", "high", "shown"]
    assert chart.constants["facts"][1] == [f"80 at {level:g}" for level in LEVELS]
    assert {cell["conditions"] for cell in chart.data["cells"]} == {"too few fail", "applies"}
    heights = [row["ys"] for row in chart.data["theory"] if row["part"] == 0][0]
    assert [round(y[0], 6) for y in heights] == [1.0, 10.0, 50.0]


def test_what_grows_tenfold_is_logarithmic_at_first():
    start = lambda power: {
        control.name: control.start
        for control in explorer(across={"a": lambda at: at["a"] ** power}).chart(table()).controls
    }["wide"]
    assert (start(1.0), start(2.0), start(-2.0)) == (0, 1, 1)  # a goes from 1 to 4


def test_where_asked_for_an_axis_is_logarithmic_at_first_whatever_it_spans():
    start = lambda wide: {c.name: c.start for c in explorer(wide=wide).chart(table()).controls}
    assert (start(True)["wide"], start(False)["wide"], start(None)["wide"]) == (1, 0, 1)
    # What is not positive has no logarithm, asked for or not.
    chart = explorer(across={"shift": lambda at: at["a"] - 1.0}, wide=True).chart(table())
    assert chart.constants["wide"] == 0


def test_what_cannot_be_logarithmic_is_not_offered():
    chart = explorer(across={"shift": lambda at: at["a"] - 1.0}).chart(table())
    assert "wide" not in [c.name for c in chart.controls]
    assert chart.constants["wide"] == chart.constants["across"] == 0


def test_numbers_on_axes_are_written_as_a_reader_would():
    vl_convert = pytest.importorskip("vl_convert")
    rows = table()
    large = Table({**rows.columns, "n": 750 * rows["n"]}, rows.axes)
    drawn = vl_convert.vegalite_to_svg(explorer().chart(large).spec())
    assert ">24,000<" in drawn
    assert ">1,500<" in drawn
    assert not re.search(r">[\d.]+e\+", drawn)
