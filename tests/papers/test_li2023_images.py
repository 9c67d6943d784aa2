"""Figure 6's decision rules on tables whose truth is known; nothing is trained here."""

import itertools

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.claims import Inside
from limelight.papers import load
from limelight.papers.li2023 import boundary, composites, fig6, fig6_starts, fig6c, reach
from limelight.plot import render
from limelight.table import Table

ALPHAS = (0.5, 0.7, 0.8, 0.9, 1.0)
SIZES = (500, 1000, 2000, 4000, 8000, 16_000)
FIGURES = ("fig6", "fig6-close", "fig6c", "fig6-starts")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Intervals from fewer draws: the rules are tested, not their third digit."""
    monkeypatch.setattr(boundary, "DRAWS", 150)


def removed(
    gain=6.0, growth=5.0, power=2.0, blind=-4.0, moved=0.05, trials=10, sizes=SIZES
) -> Table:
    """A made-up figure 6: 60 % is passed at 1,500 / alpha^power examples."""
    rng = np.random.default_rng(0)
    cuts = [(False, a) for a in ALPHAS] + [(True, 1.0)]
    rows = [(b, a, n, t) for (b, a), n, t in itertools.product(cuts, sizes, range(trials))]
    flag, alpha, size, trial = (np.array(column) for column in zip(*rows, strict=True))
    counted = np.where(flag | (alpha == 0.5), 0.66, alpha)
    need = 1500 * counted**-power
    accuracy = 60 + growth * np.log2(size / need) + gain * (counted - 0.66)
    accuracy += np.where(flag, blind, 0) + rng.normal(0, 0.7, len(rows))
    columns = {
        "world.blind": flag,
        "world.relevant": alpha,
        "course.examples": size,
        "trial": trial,
        "accuracy": accuracy / 100,
        "alpha": counted,
        "mass.start": np.full(len(rows), 0.66),
        "mass.end": 0.66 + moved + rng.normal(0, 0.01, len(rows)),
        "diverged": np.zeros(len(rows), bool),
    }
    return Table(columns, (*composites.CUT, composites.EXAMPLES), {"scale": "paper"})


def spurious(gain=8.0, clean=2.0, better=5.0, trials=10) -> Table:
    """A made-up figure 6(c)."""
    rng = np.random.default_rng(0)
    arms = [("wide", 0.9), ("narrow", 0.9), ("wide", 0.5)]
    rows = [(w, s, a, t) for (w, s), a, t in itertools.product(arms, ALPHAS, range(trials))]
    which, share, alpha, trial = (np.array(column) for column in zip(*rows, strict=True))
    rise = np.where(share > 0.5, gain, clean) * (alpha - 0.5) / 0.5
    accuracy = 80 + rise - better * (which == "narrow") + rng.normal(0, 0.5, len(rows))
    columns = {
        "starts.which": which,
        "world.spurious": share,
        "world.relevant": alpha,
        "trial": trial,
        "accuracy": accuracy / 100,
        "alpha": alpha,
    }
    return Table(columns, (*fig6c.ARM, composites.RELEVANT), {"scale": "paper"})


def verdicts(figure: str, table: Table) -> dict[str, str]:
    found = {v.claim: v.verdict for v in load("li2023").figure(figure).verdict(table)}
    # At these levels the made-up boundary is not in the grid.
    return {k: v for k, v in found.items() if not k.endswith((".70", "falls", "law"))}


@pytest.mark.parametrize(
    ("options", "fails"),
    [
        ({"gain": 0.0}, set()),
        ({"growth": -5.0, "power": 0.0, "gain": 20.0}, {"6a.samples"}),
        ({"blind": 30.0, "gain": 0.0}, {"6a.control"}),
        ({"moved": -0.05, "gain": 0.0}, {"6a.attention"}),
        ({"power": 4.0, "gain": 0.0}, {"6b.reach-law.60"}),
        ({"power": -2.0, "gain": 0.0}, {"6a.alpha", "6a.every", "6a.control", "6b.falls.60",
                                        "6b.reach.60", "6b.reach-law.60"}),
    ],
)  # fmt: skip
def test_the_claims_of_figures_6a_and_6b(options, fails):
    found = verdicts("fig6", removed(**options))
    assert {name for name, verdict in found.items() if verdict == "fails"} == fails
    if not fails:
        assert set(found.values()) == {"holds"}


@pytest.mark.parametrize(
    ("options", "fails"),
    [
        ({}, set()),
        ({"gain": -8.0, "clean": -20.0}, {"6c.rises"}),
        ({"better": -5.0}, {"6c.start"}),
        ({"clean": 16.0}, {"6c.cause"}),
    ],
)
def test_the_claims_of_figure_6c(options, fails):
    found = verdicts("fig6c", spurious(**options))
    assert found == {name: "fails" if name in fails else "holds" for name in found}
    notes = {v.claim: v.note for v in load("li2023").figure("fig6c").verdict(spurious(**options))}
    assert "one start of each kind" in notes["6c.start"]


def test_few_trials_decide_nothing_and_pictures_are_drawn():
    table = removed(trials=3)
    few = verdicts("fig6", table)
    assert {v for k, v in few.items() if k.startswith("6a")} == {"inconclusive"}
    for name, made in (("fig6", table), ("fig6c", spurious())):
        figure = load("li2023").figure(name)
        assert figure.summary(made)
        for picture in figure.plots(made).values():
            assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")


@pytest.mark.parametrize(("count", "lines"), [(3, 3), (4, 4), (6, 4), (9, 4)])
def test_colours_are_not_repeated_and_crosses_stay_inside(count, lines):
    sizes = [500 * 2**i for i in range(count)]
    picture = fig6.draw_accuracy(removed(blind=-40.0, trials=2, sizes=sizes))
    axes = picture.matplotlib().axes[0]
    drawn, crosses = axes.lines[:lines], axes.lines[lines:]
    labels = [line.get_label() for line in drawn]
    assert labels[0] == f"N = {sizes[0]:g}"
    assert labels[-1] == f"N = {sizes[-1]:g}"
    assert len({line.get_color() for line in drawn}) == lines == len(crosses)
    low, high = axes.get_ylim()
    assert all(low < cross.get_ydata()[0] < high for cross in crosses)
    assert (f"{lines} of {count} sizes" in picture.facts) == (lines < count)


def test_even_attention_is_in_the_picture():
    figure = fig6.draw_attention(removed(trials=2, moved=0.2)).matplotlib()
    low, high = figure.axes[0].get_ylim()
    assert low < 0.66 < high
    assert "even\nattention" in [text.get_text() for text in figure.axes[0].texts]


def test_the_level_that_is_drawn_is_one_that_shows_the_boundary():
    assert reach.shown(removed()) == 0.7
    assert reach.shown(removed(growth=2.0)) == 0.6


def test_starts_must_know_their_classes():
    columns = {
        "starts.which": np.array(["wide", "narrow"]),
        "accuracy": np.array([0.5, 0.45]),
        "chance": np.array([0.0118, 0.125]),
    }
    (claim,) = fig6_starts.figure.claims
    assert claim.decide(Table(columns), "made up").verdict == "holds"
    columns["accuracy"] = np.array([0.5, 0.2])
    assert claim.decide(Table(columns), "made up").verdict == "fails"


def with_power(figure, power: float, first: float, noise: float, seed: int) -> Table:
    """Made up with a power, over a figure's grid at paper scale: 60 % at first / alpha^power."""
    rng, axes = np.random.default_rng(seed), figure.setup("paper").axes
    alphas = [0.72, *(a for blind, a in axes[composites.CUT] if not blind and a > 0.72)]
    rows = list(itertools.product(alphas, axes[composites.EXAMPLES], range(10)))
    alpha, size, trial = (np.array(column) for column in zip(*rows, strict=True))
    accuracy = 60 + 4 * np.log2(size * alpha**power / first) + rng.normal(0, noise, len(rows))
    columns = {
        "world.blind": np.zeros(len(rows), bool),
        "world.relevant": alpha,
        "course.examples": size,
        "trial": trial,
        "accuracy": accuracy / 100,
        "alpha": alpha,
    }
    return Table(columns, (*composites.CUT, composites.EXAMPLES))


@pytest.mark.parametrize(("power", "law"), [(2.0, "holds"), (1.0, "fails")])
def test_the_sizes_at_paper_scale_can_tell_a_law(power, law):
    """By interpolation; N50 often cannot tell a power to a half from sizes this far apart."""
    figure = load("li2023").figure("fig6")
    for seed in range(3):
        table = with_power(figure, power, 2000 * 2**seed, 0.6, seed)
        claims = [c for c in figure.claims if c.name in ("6b.reach.60", "6b.reach-law.60")]
        by_trial = [claim.decide(table, "made up").verdict for claim in claims]
        by_n50 = Inside(1.5, 2.5)(*reach.power(table, 0.6).interval)
        assert by_n50 in ("inconclusive", law)
        assert by_trial == ["holds", law]


@pytest.mark.parametrize(("power", "law"), [(2.0, "holds"), (1.0, "fails")])
def test_sizes_that_lie_closer_can_tell_it_by_n50_too(power, law):
    figure = load("li2023").figure("fig6-close")
    for seed in range(3):
        table = with_power(figure, power, 4000, 0.5, seed)
        found = {claim.name: claim.decide(table, "made up").verdict for claim in figure.claims}
        assert [found["close.falls"], found["close.reach"]] == ["holds", "holds"]
        assert [found["close.law"], found["close.reach-law"]] == [law, law]
        assert "N₅₀" in figure.summary(table)[0]


@pytest.mark.parametrize("name", FIGURES)
def test_the_paper_scale_says_what_is_missing(name, monkeypatch):
    monkeypatch.delenv("LIMELIGHT_DATA", raising=False)
    with pytest.raises(InputError, match="LIMELIGHT_DATA") as error:
        load("li2023").figure(name).plan("paper")
    assert "\n" not in str(error.value)
