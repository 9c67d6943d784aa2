"""The paper can be shown, run and drawn, and its theorem agrees with its formula."""

from mypaper2026 import paper


def test_the_theorem_is_its_formula():
    """At sigma = 0.5, width 8 and 32 examples: 0.5 sqrt(8 / 32) = 0.25."""
    bound = paper.statement("theorem1").evaluate({"noise": "0.5", "examples": "32"})
    assert bound.value == 0.25


def test_the_figure_runs_and_is_drawn(tmp_path):
    """A smoke run decides nothing; it shows that everything works."""
    figure = paper.figure("fig1")
    table = figure.run("smoke")
    assert len(table) == 2 * 2 * 3
    assert {verdict.verdict for verdict in figure.verdict(table)} == {"inconclusive"}
    figure.plot(table).save(tmp_path / "fig1.png")
    assert (tmp_path / "fig1.png").stat().st_size > 1000
