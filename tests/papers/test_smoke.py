"""Every figure of three papers at smoke scale: it runs, decides nothing, sums up and draws."""

import pytest

from limelight.papers import load
from limelight.plot import render
from limelight.table import Table

#: Those that the quick suite runs too.
QUICK = {("zhang2024", "drop"), ("tarzanagh2023", "losses"), ("geshkovski2023", "phase-dimensions")}
FIGURES = [
    (key, name)
    for key in ("tarzanagh2023", "zhang2024", "geshkovski2023")
    for name in load(key).titles
    if name != "deit-tiny"  # reads a checkpoint
]


@pytest.mark.parametrize(
    ("key", "name"),
    [pytest.param(*one, marks=[] if one in QUICK else pytest.mark.slow) for one in FIGURES],
)
def test_a_figure_at_smoke_scale(key, name, tmp_path):
    figure = load(key).figure(name)
    table = figure.run("smoke")
    assert len(table)
    assert {v.verdict for v in figure.verdict(table)} == {"inconclusive"}
    assert figure.lines(table)
    table.save(tmp_path / "table.parquet")
    for drawn in figure.plots(Table.load(tmp_path / "table.parquet")).values():
        assert len(render(drawn, "png", 60)) > 2000
