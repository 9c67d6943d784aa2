"""Examples needed by interpolation, on tables whose accuracy is a straight line in log N."""

import itertools

import numpy as np
import pytest

from limelight.fit.curves import crossing
from limelight.papers import load
from limelight.papers.li2023 import composites, fig6, reach
from limelight.table import Table

ALPHAS = (0.5, 0.7, 0.85, 1.0)  # nothing is removed at the first, of which 0.6 are relevant
SIZES = (500, 1000, 3000, 4000, 16_000)
TRIALS = 6
#: Trial t needs this many times as many examples as the others, at every fraction.
LUCK = 1.1 ** np.arange(TRIALS)


def straight(power=2.0, first=1000.0, **changes) -> Table:
    """Trial t is at 60 % with LUCK[t] * first / alpha^power examples, 5 points a doubling."""
    cuts = [(False, a) for a in ALPHAS] + [(True, 1.0)]
    rows = list(itertools.product(cuts, SIZES, range(TRIALS)))
    blind = np.array([cut[0] for cut, _, _ in rows])
    relevant = np.array([cut[1] for cut, _, _ in rows])
    size, trial = (np.array([row[i] for row in rows]) for i in (1, 2))
    alpha = np.where(blind | (relevant == 0.5), 0.6, relevant)
    need = LUCK[trial] * first * alpha**-power
    columns = {
        "world.blind": blind,
        "world.relevant": relevant,
        "course.examples": size,
        "trial": trial,
        "alpha": alpha,
        "accuracy": 0.6 + 0.05 * np.log2(size / need) - 0.3 * blind,
        "diverged": np.zeros(len(rows), bool),
    }
    return Table({**columns, **changes}, (*composites.CUT, composites.EXAMPLES))


def mixed(table: Table) -> Table:
    return table.rows(np.random.default_rng(0).permutation(len(table)))


def verdicts(table: Table) -> dict[str, str]:
    return {c.name: c.decide(table, "made up").verdict for c in fig6.by_interpolation}


@pytest.mark.parametrize("level", [0.6, 0.65])
def test_straight_lines_are_read_exactly(level):
    table = mixed(straight())
    for fraction, alpha in ((0.5, 0.6), (0.7, 0.7), (1.0, 1.0)):
        need = LUCK * 1000 / alpha**2 * 2 ** ((level - 0.6) / 0.05)
        np.testing.assert_allclose(np.exp(reach.reached(table, fraction, level)), need)
    np.testing.assert_allclose(reach.reach_saving(table, level).value, 0.6**2)
    np.testing.assert_allclose(reach.reach_power(table, level).value, 2.0)


def test_the_saving_is_a_geometric_mean():
    """Half of the trials need half as much without background, half of them an eighth."""
    table = straight(power=0.0, first=4000.0)
    bare = (table["world.relevant"] == 1.0) & ~table["world.blind"]
    gained = np.where(table["trial"] % 2, 0.15, 0.05)
    table = Table({**table.columns, "accuracy": table["accuracy"] + bare * gained}, table.axes)
    found = reach.reach_saving(table, 0.6)
    assert found.value == pytest.approx(0.25)
    low, high = found.interval
    assert 0.125 < low < 0.25 < high < 0.5
    assert low * high == pytest.approx(0.25**2, rel=0.05)


@pytest.mark.parametrize(
    ("power", "found"),
    [(2.0, ["holds", "holds"]), (1.0, ["holds", "fails"]), (-2.0, ["fails"] * 2)],
)
def test_the_rules(power, found):
    assert list(verdicts(straight(power, first=2500.0)).values()) == found


def test_the_first_of_several_crossings():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([[0.0, 4.0, 0.0, 4.0], [0.0, 2.0, 2.0, 4.0]])
    np.testing.assert_allclose(crossing(x, y, 2.0), [0.5, 1.0])


def test_what_is_not_seen_to_cross():
    x, nan = np.arange(3.0), np.nan
    above, never, hole = [2.0, 3.0, 4.0], [0.0, 1.0, 1.9], [0.0, nan, 4.0]
    later, unknown = [nan, 0.0, 4.0], [nan, nan, nan]
    found = crossing(x, np.array([above, never, hole, later, unknown]), 2.0)
    np.testing.assert_allclose(found, [nan, nan, nan, 1.5, nan])


def lacking(what: str) -> Table:
    """One trial whose crossing cannot be seen at one fraction."""
    table = straight()
    cell = (table["world.relevant"] == 0.7) & (table["trial"] == 2)
    if what == "missing":
        return table.rows(~(cell & (table["course.examples"] == 1000)))
    if what == "diverged":
        return straight(diverged=cell & (table["course.examples"] == 1000))
    shift = {"above": 0.3, "never": -0.5}[what]
    return straight(accuracy=table["accuracy"] + shift * cell)


@pytest.mark.parametrize("what", ["missing", "diverged", "above", "never"])
def test_one_trial_outside_the_grid_leaves_the_law_open(what):
    table = lacking(what)
    found = reach.reach_power(table, 0.6)
    assert np.isnan(found.value)
    assert found.note == "5 of 6 trials pass the level in the grid"
    # The saving rests on the ends alone, and they are seen.
    assert verdicts(table) == {"6b.reach.60": "holds", "6b.reach-law.60": "inconclusive"}
    assert reach.interpolated(table)[3].split()[:4] == ["0.7", "not", "in", "the"]


def test_few_trials_decide_nothing():
    table = straight()
    assert set(verdicts(table.rows(table["trial"] < 4)).values()) == {"inconclusive"}


def test_a_summary_tells_the_numbers():
    lines = reach.interpolated(straight(first=1000.0 / LUCK.prod() ** (1 / TRIALS)))
    assert lines[1].split("  ")[-2] == "accuracy 60%"
    needed = {line.split()[0]: line.split()[-2] for line in lines[2:-4]}
    assert (needed["0.6"], needed["0.7"], needed["1"]) == ("2778", "2041", "1000")
    accuracy, slope, *_ = lines[-2].split()
    assert (accuracy, slope) == ("60%", "2")


def test_claims_say_that_they_came_later():
    for claim in fig6.by_interpolation:
        assert claim.fixed == "after"
    assert {claim.fixed for claim in load("li2023").figure("fig6-close").claims} == {"before"}
