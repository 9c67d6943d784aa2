"""edelman2022's decision rules on tables whose truth is known; no model is trained here."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from limelight.papers import load
from limelight.papers.edelman2022 import (
    critical,
    fig2,
    fig2_long,
    fig2_precision,
    fig2_wide,
    fig3,
    variants,
)
from limelight.plot import render
from limelight.table import Table
from limelight.theory.edelman2022.consistent import examples_needed

paper = load("edelman2022")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Intervals from fewer draws: the rules are tested, not their third digit."""
    for module in (critical, variants, fig2_long):
        monkeypatch.setattr(module, "MANY", 200)


def and_table(rate, lengths=fig2.LENGTHS, sizes=fig2.SIZES, trials=50, seed=0, **columns):
    """A grid whose trials succeed with probability `rate(T, m)`."""
    rng = np.random.default_rng(seed)
    cells = [(T, m) for T in lengths for m in sizes]
    T, m = (np.repeat([cell[i] for cell in cells], trials) for i in (0, 1))
    success = rng.random(len(T)) < np.array([rate(a, b) for a, b in zip(T, m, strict=True)])
    usual = {
        "cell": np.repeat(np.arange(len(cells)), trials),
        "trial": np.tile(np.arange(trials), len(cells)),
        critical.LENGTH: T,
        critical.SIZE: m,
        "success": success,
        "success_loose": success,
        "first_success": np.where(success, 200.0, np.inf),
        "fitted": np.full(len(T), 600.0),
        "lowest_training_loss": np.full(len(T), 5e-5),
        "to_the_end": rng.random(len(T)) < 1 / 16,
        "diverged": np.zeros(len(T), dtype=bool),
        "gap": np.ones(len(T)),
    }
    experiment = {"iterations": 1000, "every": 10, "world": {"sparsity": 3, "rule": "and"}}
    manifest = {"scale": "paper", "configuration": {"experiment": experiment}}
    return Table(usual | columns, (critical.LENGTH, critical.SIZE), manifest)


def logistic(middle, width):
    return lambda T, m: expit((m - middle(T)) * np.log(81) / width)


def verdicts(table, figure="fig2"):
    return {v.claim: v.verdict for v in paper.figure(figure).verdict(table)}


slowly = lambda T: 60 + 45 * np.log(T / 100)
GOOD = and_table(logistic(slowly, 40))


def test_what_the_paper_says_holds_where_it_is_true():
    assert {n for n, verdict in verdicts(GOOD).items() if verdict != "holds"} == set()
    lines = fig2.summary(GOOD)
    assert "A2, all parts: holds" in lines
    for picture in paper.figure("fig2").plots(GOOD).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("rate", "failing"),
    [
        (logistic(slowly, 3), {"A2b.gradual"}),
        (lambda T, m: 0.9 - 0.004 * (m - 50), {"A2a.rises", "A5.reference"}),
    ],
    ids=["a step", "falling"],
)
def test_what_is_false_fails(rate, failing):
    found = verdicts(and_table(rate, seed=1))
    assert {name for name, verdict in found.items() if verdict == "fails"} >= failing
    assert not failing & {name for name, verdict in found.items() if verdict == "holds"}


def test_beyond_the_grid_a_ratio_is_known_to_be_large_but_not_how_large():
    """The last size over the smallest m* in any draw is 4 at most, so more than 4 is not shown."""
    table = and_table(logistic(lambda T: 60 if T == 100 else 300, 40), seed=1)
    (found,) = (v for v in paper.figure("fig2-wide").verdict(table) if v.claim == "wide.ratio")
    assert found.verdict == "inconclusive"
    assert found.value == np.inf
    assert found.interval is not None
    assert 200 / 80 <= found.interval[0] <= 200 / 50
    assert found.interval[1] == np.inf


def test_a_fall_at_few_lengths_fails_and_a_rise_there_does_not_hold():
    """Half of the lengths must show both outcomes before a rise is one at every length."""
    share = {-1: lambda m: 0.9 - 0.05 * (m - 50), 1: lambda m: 0.1 + 0.05 * (m - 50)}
    for sign, verdict in ((-1, "fails"), (1, "inconclusive")):
        rate = lambda T, m, sign=sign: share[sign](m) if T == 100 else 1.0
        table = and_table(rate, (100, 200, 300), (50, 55, 60, 65), 30)
        assert verdicts(table)["A2a.rises"] == verdict


def test_the_reference_line_is_that_of_the_rule():
    def line(**world):
        experiment = {"world": {"sparsity": 3, "rule": "and"} | world}
        manifest = {"configuration": {"experiment": experiment}}
        return critical.reference(Table(GOOD.columns, GOOD.axes, manifest))[0]

    assert line() == line(rule="or") == 56
    assert line(sparsity=2) == examples_needed(100, 2) != 56
    assert np.isnan(line(rule="xor"))


def test_growth_faster_than_the_length_is_not_sublinear():
    """On a grid of our own, because the paper's cannot show an exponent above 1."""
    sizes = [int(m) for m in np.geomspace(20, 2000, 15)]
    table = and_table(lambda T, m: float(m > 0.02 * T**1.5), (100, 200, 400, 800), sizes, 20)
    assert verdicts(table, "fig2-wide")["wide.sublinear"] == "fails"


def test_a_small_grid_decides_what_its_needs_allow():
    table = and_table(logistic(lambda T: 70, 30), (50, 100, 200), (40, 70, 100), 10)
    found = verdicts(table)
    for name in ("A2b.gradual", "A6.examples"):
        assert found[name] == "inconclusive"
    assert found["A2a.rises"] == "holds"


@pytest.mark.parametrize(("wrong", "verdict"), [(0, "holds"), (30, "fails"), (2, "inconclusive")])
def test_only_trials_that_run_to_the_end_say_whether_samples_are_fitted(wrong, verdict):
    rng = np.random.default_rng(0)
    n = len(GOOD)
    ends = np.zeros(n, dtype=bool)
    ends[rng.choice(n, 400, replace=False)] = True
    fitted = np.where(ends, 600.0, np.inf)  # the others stopped early, unfitted
    fitted[np.flatnonzero(ends)[:wrong]] = np.inf
    table = Table({**GOOD.columns, "to_the_end": ends, "fitted": fitted}, GOOD.axes, GOOD.manifest)
    found = fig2.fitted.estimate(table)
    assert found.n == 400
    assert f"{wrong} exceptions of 400" in found.note
    assert verdicts(table)["A1.fitted"] == verdict


def test_half_time_is_read_at_iteration_500():
    rate = lambda T, m: 0.1 if m < 150 else 0.9
    late = and_table(rate, (400,), (100, 200))
    assert verdicts(late)["A6.examples"] == "holds"
    when = np.where(late["success"], 510.0, np.inf)
    late = Table({**late.columns, "first_success": when}, late.axes, late.manifest)
    assert verdicts(late)["A6.examples"] == "fails"


def test_critical_sizes_off_the_grid_are_said_to_be():
    table = and_table(lambda T, m: 0.0, (100, 200), (50, 60, 70), 10)
    success = np.zeros(60, dtype=bool)
    success[[*range(15, 20), *range(20, 26), *range(30, 36)]] = True  # 0, 5, 6 and 6, 0, 0 of 10
    known = Table({**table.columns, "success": success}, table.axes, table.manifest)
    assert "<=50" in critical.critical_lines(known, "success", ".99")[3]
    assert ">70" in critical.critical_lines(table, "success", ".99")[2]


# --- parity -------------------------------------------------------------------------------------


def loss_of(leaves, learns, length=1000):
    """A plateau, a straight fall, and a floor; in spans of 10 iterations."""
    t = (np.arange(length) + 1) * 10.0
    if not np.isfinite(learns):
        return np.full(length, 0.69)
    fall = 0.65 - 0.6 * (t - leaves) / (learns - leaves)
    return np.where(t <= leaves, 0.69, np.where(t >= learns, 0.02, np.clip(fall, 0.11, 0.59)))


def parity_table(times, iterations=10_000):
    """Runs by length; a run is (leaves, learns), or infinite for one that never does."""
    rows = [(T, *run) for T, runs in times.items() for run in runs]
    loss = np.stack([loss_of(a, b) for _, a, b in rows])
    right = np.array([1.0 if np.isfinite(b) else 0.5 for *_, b in rows])
    columns = {
        "cell": np.zeros(len(rows), int),
        "trial": np.arange(len(rows)),
        critical.LENGTH: np.array([T for T, *_ in rows]),
        "trace.loss": loss,
        "trace.clean": loss,
        "last_clean": loss[:, -1],
        "accuracy": right,
        "iterations_run": np.full(len(rows), iterations),
        "diverged": np.zeros(len(rows), bool),
    }
    experiment = {"iterations": iterations, "every": 10, "world": {"sparsity": 3}}
    manifest = {"scale": "paper", "configuration": {"experiment": experiment}}
    return Table(columns, (critical.LENGTH,), manifest)


NEVER = (np.inf, np.inf)
sharp = lambda start: [(start + 20 * i, start + 20 * i + 40) for i in range(10)]
LEARNED = {10: sharp(200), 15: sharp(900), 20: sharp(3000), 60: [NEVER] * 10, 100: [NEVER] * 10}
SHORT = {T: LEARNED[T] for T in fig3.SHORT}


def test_parity_as_the_paper_has_it():
    table = parity_table(LEARNED)
    assert set(verdicts(table, "fig3").values()) == {"holds"}
    found = fig3.transitions(table)
    assert found.leaves[:2].tolist() == [200, 220]
    assert found.reaches[:2].tolist() == [240, 260]
    assert not found.done[30:].any()
    for picture in paper.figure("fig3").plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        ({T: [(200, 2000)] * 10 for T in (10, 15, 20)}, "B1.abrupt"),
        ({15: [NEVER] + sharp(900)[:9]}, "B2a.learned"),
        ({10: sharp(4000), 15: sharp(900)}, "B3.slower"),
        ({60: [NEVER] * 9 + [(8000, 8100)]}, "B4.not_beyond"),
    ],
)
def test_parity_otherwise(change, claim):
    assert verdicts(parity_table(LEARNED | change), "fig3")[claim] == "fails"


def test_one_run_that_does_not_learn_refutes_every_run_and_its_share_stands_beside():
    half = sharp(3000)[:5] + [NEVER] * 5
    forty = {T: 4 * runs for T, runs in SHORT.items()}
    found = {
        v.claim: v for v in paper.figure("fig3-runs").verdict(parity_table(forty | {20: 4 * half}))
    }
    learned = found.pop("runs.learned")
    assert (learned.verdict, learned.value, learned.interval) == ("fails", 0.5, None)
    low, high = binomtest(20, 40).proportion_ci(method="exact")
    assert f"T = 20: 20 of 40 [{low:.2f}, {high:.2f}]" in learned.note
    assert {v.verdict for v in found.values()} == {"holds"}


@pytest.mark.parametrize("change", [{10: sharp(600)}, {15: [NEVER] * 10}])
def test_the_plotted_ranges_are_exceeded_by_runs_that_take_longer(change):
    forty = {T: 4 * runs for T, runs in (SHORT | change).items()}
    assert verdicts(parity_table(forty), "fig3-runs")["runs.panels"] == "fails"


def noisy_table(right):
    """Runs by label noise, so many of twenty right."""
    noise = np.repeat([0.0, 0.05, 0.1], 20)
    columns = {
        critical.LENGTH: np.full(60, 10),
        "world.label_noise": noise,
        "accuracy": np.concatenate([np.arange(20) < n for n in right]).astype(float),
        "last_clean": np.full(60, 0.1),
        "trace.loss": np.full((60, 5), 0.3),
    }
    experiment = {"iterations": 50, "every": 10, "world": {"sparsity": 3}}
    manifest = {"scale": "paper", "configuration": {"experiment": experiment}}
    return Table(columns, (critical.LENGTH, "world.label_noise"), manifest)


@pytest.mark.parametrize(
    ("right", "verdict"),
    [((20, 20, 18), "holds"), ((20, 20, 10), "inconclusive"), ((20, 3, 20), "fails")],
)
def test_parities_with_noise_are_learned_where_most_runs_say_so(right, verdict):
    table = noisy_table(right)
    assert verdicts(table, "fig3-noise") == {"parity-noise.learned": verdict}
    assert len(paper.figure("fig3-noise").lines(table)) == 4
    assert render(paper.figure("fig3-noise").plot(table), "png", 40).startswith(b"\x89PNG")


def test_a_run_that_ends_wrong_keeps_abruptness_open():
    table = parity_table(LEARNED)
    accuracy = np.where(np.arange(len(table)) == 3, 0.998, table["accuracy"])
    table = Table({**table.columns, "accuracy": accuracy}, table.axes, table.manifest)
    assert verdicts(table, "fig3")["B1.abrupt"] == "inconclusive"


@pytest.mark.parametrize("iterations", [5000, 20_000])
def test_another_budget_says_nothing_of_the_paper(iterations):
    found = verdicts(parity_table(LEARNED, iterations=iterations), "fig3")
    assert {name for name, v in found.items() if v != "inconclusive"} == {"B1.abrupt"}


# --- beyond -------------------------------------------------------------------------------------


def beyond_table(axis, middle):
    """Success passes one half at `middle(T, value)` examples."""
    parts = []
    for value in paper.figure(NAMES[axis]).setup("paper").axes[axis]:
        rate = lambda T, m, value=value: 1 / (1 + (middle(T, value) / m) ** 6)
        part = and_table(rate, variants.LENGTHS, variants.SIZES, 20, seed=round(100 * value))
        parts.append({**part.columns, axis: np.full(len(part), value)})
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Table(columns, (critical.LENGTH, axis, critical.SIZE), GOOD.manifest)


SPARSITY, NOISE, EMBEDDING = variants.WORDS
NAMES = {SPARSITY: "fig2-sparsity", NOISE: "fig2-noise", EMBEDDING: "fig2-dropout"}


@pytest.mark.parametrize(
    ("axis", "middle", "verdict"),
    [
        (SPARSITY, lambda T, s: 20 * 2**s, "holds"),
        (SPARSITY, lambda T, s: 640 / 2**s, "fails"),
        (SPARSITY, lambda T, s: 60 * 2**s, "inconclusive"),  # 4 bits are beyond the grid
        (NOISE, lambda T, p: 80 * (1 + 10 * p), "holds"),
        (NOISE, lambda T, p: 80, "inconclusive"),
        (EMBEDDING, lambda T, p: 100, "holds"),
        (EMBEDDING, lambda T, p: 100 if p else 200, "fails"),
    ],
)
def test_beyond_the_paper(axis, middle, verdict):
    name = NAMES[axis]
    table = beyond_table(axis, middle)
    assert set(verdicts(table, name).values()) == {verdict}
    assert len(paper.figure(name).lines(table)) == 1 + 2 * len(table.values(axis))
    assert render(paper.figure(name).plot(table), "png", 40).startswith(b"\x89PNG")


# --- wider grids --------------------------------------------------------------------------------


def wide_table(middle, recipe=fig2_wide, lengths=None, trials=400):
    """Success passes one half at `middle(T)` examples; many trials, so that laws come out."""
    rate = lambda T, m: 1 / (1 + (middle(T) / m) ** 5)
    return and_table(rate, lengths or tuple(recipe.LENGTHS), recipe.SIZES, trials)


@pytest.mark.parametrize("name", ["fig2-wide", "fig2-long"])
def test_the_wider_grids_where_the_logarithm_is_true(name):
    recipe = {"fig2-wide": fig2_wide, "fig2-long": fig2_long}[name]
    table = wide_table(lambda T: 60 + 50 * np.log(T / 100), recipe)
    assert set(verdicts(table, name).values()) == {"holds"}
    lines = paper.figure(name).lines(table)
    assert sum("slope" in line for line in lines) == 3
    for picture in paper.figure(name).plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "middle", "failing"),
    [
        ("fig2-long", lambda T: 60 + 0.15 * (T - 100), {"long.line", "long.root"}),
        ("fig2-long", lambda T: 50 + 9 * (np.sqrt(T) - 10), {"long.root"}),
        ("fig2-wide", lambda T: 50 * (T / 100) ** 0.95, {"wide.ratio"}),
    ],
    ids=["a line", "a square root", "nearly proportional"],
)
def test_the_wider_grids_where_it_is_not(name, middle, failing):
    recipe = {"fig2-wide": fig2_wide, "fig2-long": fig2_long}[name]
    found = verdicts(wide_table(middle, recipe), name)
    assert {claim for claim, verdict in found.items() if verdict == "fails"} >= failing


def test_the_difference_of_squares_is_that_of_two_straight_lines():
    """Against numpy's polynomials, on the values of m50 that the note gives."""
    table = wide_table(lambda T: 50 + 9 * (np.sqrt(T) - 10), fig2_long)
    half = critical.boundary(table).values
    T = np.array(fig2_long.LENGTHS, dtype=float)
    left = [np.polyfit(x, half, 1, full=True)[1][0] for x in (np.sqrt(T), np.log(T))]
    assert fig2_long.better[1].estimate(table).value == pytest.approx(left[0] - left[1])


def test_the_wider_grids_say_nothing_of_what_they_do_not_hold():
    few = wide_table(lambda T: 100, lengths=(100, 200), trials=20)
    assert set(verdicts(few, "fig2-wide").values()) == {"inconclusive"}
    assert set(verdicts(few, "fig2-long").values()) == {"inconclusive"}
    # At T = 3200 half of the trials succeed only near the last size: off the grid too often.
    edge = wide_table(lambda T: T / 5.2, fig2_long, trials=20)
    found = {v.claim: v for v in paper.figure("fig2-long").verdict(edge)}
    assert found["long.line"].verdict == "inconclusive"


@pytest.mark.parametrize(
    ("won", "verdict"), [(1100, "holds"), (900, "fails"), (1010, "inconclusive")]
)
def test_the_far_corner_is_a_share_against_one_half(won, verdict):
    table = and_table(lambda T, m: 0.0, (800,), (200,), 2000)
    table = Table({**table.columns, "success": np.arange(2000) < won}, table.axes, table.manifest)
    (found,) = paper.figure("fig2-edge").verdict(table)
    assert found.verdict == verdict
    assert found.interval == pytest.approx(binomtest(won, 2000).proportion_ci(method="exact"))


# --- two precisions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "lost", "gained", "verdict"),
    [
        (30, 0, 0, "inconclusive"),  # thirty that agree do not show that all but a twentieth do
        (560, 0, 0, "holds"),
        (560, 20, 13, "holds"),
        (560, 60, 0, "fails"),
    ],
)
def test_two_precisions_agree_only_where_enough_pairs_say_so(pairs, lost, gained, verdict):
    plain = np.arange(pairs) % 2 == 0
    rounded = plain.copy()
    rounded[np.flatnonzero(plain)[:lost]] = False
    rounded[np.flatnonzero(~plain)[:gained]] = True
    columns = {
        "numbers": np.repeat(fig2_precision.KINDS, pairs),
        "success": np.concatenate([plain, rounded]),
    }
    (claim,) = fig2_precision.figure.claims
    found = claim.decide(Table(columns, ("numbers",), {}), "made up")
    assert found.verdict == verdict
    assert found.value == pytest.approx((gained - lost) / pairs)
    assert found.interval is not None
    assert found.interval[0] < found.interval[1]
