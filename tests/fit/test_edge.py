import time

import numpy as np
import pytest

from limelight import fit
from limelight._core.errors import InputError
from limelight.fit import Edge, fit_threshold, successes, threshold
from limelight.fit.edge import group_rows
from limelight.fit.resample import trial_weights
from limelight.table import Table

SIZES = np.array([2, 4, 8, 16, 32, 64])
RELEVANT = np.array([0.3, 0.4, 0.5])


def study(trials=20, shared=False, seed=0) -> Table:
    """Accuracy over two axes that move together and one along; threshold 2.4 / relevant^2."""
    rng = np.random.default_rng(seed)
    shape = (len(RELEVANT), len(SIZES), trials)
    a, n, trial = (
        v.ravel() for v in np.meshgrid(RELEVANT, SIZES, np.arange(trials), indexing="ij")
    )
    noise = rng.logistic(size=(1, 1, trials) if shared else shape)
    noise = np.broadcast_to(noise, shape).ravel()
    accuracy = 0.95 + 0.01 * (2 * np.log(n * a**2 / 2.4) + noise)
    columns = {
        "world.relevant": a,
        "world.confusing": 0.5 - a,
        "train.examples": n,
        "trial": trial,
        "accuracy": accuracy,
    }
    return Table(columns, ("world.relevant", "world.confusing", "train.examples"))


def edge_of(table: Table, **options) -> Edge:
    return threshold(table, along="train.examples", measure="accuracy", level=0.95, **options)


def test_one_threshold_for_every_combination():
    table = study()
    edge = edge_of(table)
    assert len(edge) == 3
    np.testing.assert_array_equal(edge.x("world.relevant"), RELEVANT)
    np.testing.assert_allclose(edge.x("world.confusing"), 0.5 - RELEVANT)
    assert edge.resolved.all()
    truth = 2.4 / RELEVANT**2
    assert ((edge.low <= truth) & (truth <= edge.high)).all()
    for where, found in edge:
        part = table.where(world__relevant=where["world.relevant"])
        wins = [(p["accuracy"] >= 0.95).sum() for _, p in part.cells("train.examples")]
        alone = fit_threshold(SIZES, wins, np.full(6, 20))
        assert found.value == alone.value
        assert found.interval == alone.interval


def test_rows_in_any_order():
    table = study()
    mixed = table.rows(np.random.default_rng(1).permutation(len(table)))
    np.testing.assert_array_equal(edge_of(table).values, edge_of(mixed).values)


def test_no_other_axis_and_chosen_columns():
    table = study()
    one = table.where(world__relevant=0.4)
    flat = threshold(Table(one.columns, ("train.examples",)), "train.examples", "accuracy", 0.95)
    assert len(flat) == 1
    assert flat.coordinates == {}
    by = edge_of(table, by=["world.relevant"])
    assert list(by.coordinates) == ["world.relevant"]
    np.testing.assert_array_equal(by.values, edge_of(table).values)
    pooled = edge_of(table, by=[])
    assert len(pooled) == 1
    assert pooled.thresholds[0].n == 360
    values, flags = pooled.draws(50, common=True)
    assert values.shape == flags.shape == (50, 1)


def test_below_counts_the_other_side():
    table = study()
    columns = {**table.columns, "loss": 1 - table["accuracy"]}
    loss = Table(columns, table.axes)
    edge = threshold(loss, "train.examples", "loss", 0.05, below=True)
    np.testing.assert_allclose(edge.values, edge_of(table).values)
    assert edge.below


def test_diverged_and_nan_have_failed():
    table = study()
    broken = table["trial"] == 0
    accuracy = np.where(broken, np.nan, table["accuracy"])
    by_nan = edge_of(Table({**table.columns, "accuracy": accuracy}, table.axes))
    by_flag = edge_of(Table({**table.columns, "diverged": broken}, table.axes))
    np.testing.assert_array_equal(by_nan.values, by_flag.values)
    assert (by_nan.values > edge_of(table).values).all()
    nan_below = successes(Table({"y": np.array([np.nan])}), "y", 1.0, below=True)
    assert not nan_below[0]


def test_confidence_and_rate_are_passed_on():
    table = study()
    wide, narrow = edge_of(table, confidence=0.99), edge_of(table, confidence=0.8)
    assert (wide.high - wide.low > narrow.high - narrow.low).all()
    assert (edge_of(table, rate=0.9).values > edge_of(table).values).all()


def test_independent_draws_spread_like_the_interval():
    edge = edge_of(study(trials=40))
    values, flags = edge.draws(400)
    assert values.shape == flags.shape == (400, 3)
    assert flags.mean() > 0.99
    low, high = np.quantile(np.log(values), [0.025, 0.975], axis=0)
    np.testing.assert_allclose(high - low, np.log(edge.high / edge.low), rtol=0.25)
    np.testing.assert_array_equal(values, edge.draws(400)[0])
    assert (values != edge.draws(400, seed=1)[0]).any()


def test_common_draws_pair_the_curves():
    """The same noise in all cells: the ratio of two thresholds is far firmer than either."""
    edge = edge_of(study(trials=40, shared=True))
    common, _ = edge.draws(300, common=True)
    alone, _ = edge.draws(300)
    spread = [np.log(v[:, 0] / v[:, 2]).std() for v in (common, alone)]
    assert spread[0] < 0.6 * spread[1]


def test_draws_agree_with_resampled_tables():
    table = study(trials=10)
    edge = edge_of(table)

    def values(drawn: Table) -> np.ndarray:
        at, won = drawn["train.examples"], drawn["accuracy"] >= 0.95
        parts = [drawn["world.relevant"] == a for a in RELEVANT]
        counts = [[won[p & (at == n)].sum() for n in SIZES] for p in parts]
        trials = [[(p & (at == n)).sum() for n in SIZES] for p in parts]
        pairs = zip(counts, trials, strict=True)
        return np.array([fit.threshold_values(SIZES, [s], n)[0] for s, n in pairs])

    luck = np.random.default_rng(0)

    def resampled(common: bool) -> Table:
        """Whole trials in all cells, or trials of every cell by itself; row by row."""
        names = ("trial",) if common else table.axes
        group = group_rows(table, names)[0]
        groups = [np.flatnonzero(group == i) for i in range(group.max() + 1)]
        if common:
            picked = [groups[i] for i in luck.integers(len(groups), size=len(groups))]
        else:
            picked = [luck.choice(rows, len(rows)) for rows in groups]
        return table.rows(np.concatenate(picked))

    for common in (False, True):
        slow = np.log([values(resampled(common)) for _ in range(80)])
        fast = np.log(edge.draws(1000, common=common)[0])
        np.testing.assert_allclose(slow.mean(0), fast.mean(0), atol=0.08)
        np.testing.assert_allclose(slow.std(0), fast.std(0), rtol=0.35)


def steps(sizes, above, trials=8) -> Table:
    """One curve for each size in `above`: every trial fails below it and succeeds from it on."""
    rows = [(a, n, t) for a in above for n in sizes for t in range(trials)]
    a, n, trial = (np.array(column) for column in zip(*rows, strict=True))
    columns = {"above": a, "n": n, "trial": trial, "accuracy": np.where(n >= a, 1.0, 0.0)}
    return Table(columns, ("above", "n"))


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("increasing", [True, False])
def test_a_step_may_lie_anywhere_in_its_gap(common, increasing):
    """Trials that agree tell the gap and nothing more, so draws are even in it, in logs."""
    sizes, above = np.array([2, 4, 32, 64]), np.array([4, 32, 64])
    edge = threshold(
        steps(sizes, above), "n", "accuracy", 0.5, below=not increasing, increasing=increasing
    )
    values, flags = edge.draws(2000, common=common)
    assert flags.all()
    for drawn, high in zip(values.T, above, strict=True):
        low = sizes[np.searchsorted(sizes, high) - 1]
        place = np.sort(np.log(drawn / low) / np.log(high / low))
        assert place[0] >= 0
        assert place[-1] <= 1
        even = (np.arange(len(place)) + 0.5) / len(place)
        assert np.abs(place - even).max() < 0.05  # Kolmogorov's distance; 0.04 has p = 0.003
    assert abs(np.corrcoef(np.log(values).T)[0, 1]) < 0.1  # each curve has its own luck
    np.testing.assert_array_equal(values, edge.draws(2000, common=common)[0])


@pytest.mark.parametrize("increasing", [True, False])
def test_a_curve_that_is_no_step_keeps_its_most_likely_threshold(increasing):
    """A draw with a mixed cell, in whatever direction, is left alone; so is one without a gap."""
    sizes = np.array([2, 4, 8, 16])
    table = steps(sizes, np.array([8]), trials=6)
    lucky = (table["n"] == 4) & (table["trial"] < 3)  # half of the trials succeed early
    table = Table({**table.columns, "accuracy": table["accuracy"] + lucky}, table.axes)
    edge = threshold(table, "n", "accuracy", 0.5, below=not increasing, increasing=increasing)
    values = edge.draws(400, common=True)[0][:, 0]
    early = (trial_weights(6, 400, 0) @ (np.arange(6) < 3)).round()
    ends = {0: (4, 8), 6: (2, 4)}  # no draw of the early trials, or none of the others
    assert set(ends) < set(early.astype(int))
    for k in range(7):
        drawn = values[early == k]
        if k in ends:
            low, high = ends[k]
            assert len(np.unique(drawn)) == len(drawn)
            assert ((drawn >= low) & (drawn <= high)).all()
        else:
            wins = np.array([[0, k, 6, 6]])
            options = {"increasing": increasing}
            likely = fit.threshold_values(
                sizes, wins if increasing else 6 - wins, np.full(4, 6), **options
            )
            np.testing.assert_allclose(drawn, likely[0], rtol=1e-6)


def test_a_curve_that_never_fails_is_no_step():
    table = steps(np.array([2, 4, 8]), np.array([2]))
    edge = threshold(table, "n", "accuracy", 0.5)
    values, flags = edge.draws(50)
    assert not flags.any()
    np.testing.assert_array_equal(values, edge.values[0])


def test_a_thousand_draws_of_a_full_diagram_take_seconds():
    edge = edge_of(study(trials=60))
    start = time.perf_counter()
    edge.draws()
    edge.draws(common=True)
    assert time.perf_counter() - start < 10


def test_unfinished_tables():
    table = study()
    part = table.rows(np.random.default_rng(2).permutation(len(table))[:150])
    edge = edge_of(part)
    assert sum(found.n for found in edge.thresholds) == 150
    values, _ = edge.draws(20, common=True)
    assert np.isfinite(values).all()


def test_groups_of_words_and_numbers():
    table = Table({"a": np.array(["b", "a", "b"]), "n": np.array([1, 1, 2])})
    group, where = group_rows(table, ["a", "n"])
    assert group.tolist() == [1, 0, 2]
    assert where["a"].tolist() == ["a", "b", "b"]
    group, where = group_rows(table, [])
    assert group.tolist() == [0, 0, 0]
    assert where == {}


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({}, {"along": "train.example"}),
        ({}, {"measure": "acc"}),
        ({}, {"by": ["nothing"]}),
        ({"accuracy": np.zeros((360, 2))}, {}),
        ({"accuracy": np.full(360, "high")}, {}),
        ({"train.examples": np.zeros(360)}, {}),
        ({}, {"confidence": 1.0}),
    ],
)
def test_refusals(change, options):
    table = study()
    table = Table({**table.columns, **change}, table.axes)
    options = {"along": "train.examples", "measure": "accuracy", "level": 0.95, **options}
    with pytest.raises(InputError):
        threshold(table, **options)


def test_refusals_of_an_edge():
    table = study()
    with pytest.raises(InputError, match=r"world\.relevant"):
        edge_of(table).x("world.relevan")
    with pytest.raises(InputError):
        edge_of(table.rows(np.zeros(0, int)))
    columns = {name: column for name, column in table.columns.items() if name != "trial"}
    with pytest.raises(InputError):
        edge_of(Table(columns, table.axes)).draws(common=True)


def steps_table():
    """Two curves that pass one half at 20 and at 40, one more that never does."""
    x = np.array([10, 20, 40, 80, 160])
    chance = {1: 1 / (1 + (20 / x) ** 4), 2: 1 / (1 + (40 / x) ** 4), 3: np.zeros(5)}
    rng = np.random.default_rng(0)
    g, n = np.repeat([*chance], 40 * len(x)), np.tile(np.repeat(x, 40), len(chance))
    success = rng.random(len(g)) < np.repeat(np.concatenate([*chance.values()]), 40)
    return Table({"g": g, "n": n, "y": success.astype(float)}, ("g", "n"))


def test_the_smallest_statistic_is_that_of_values_and_draws():
    edge = threshold(steps_table(), along="n", measure="y", level=0.5)
    logs = lambda m: np.log(np.stack([m[:, 1] / m[:, 0], m[:, 1]], axis=1))
    found = edge.smallest(logs, used=np.array([0, 1]), draws=500, note="two")
    assert found.value == pytest.approx(np.log(edge.values[1] / edge.values[0]))
    drawn = logs(edge.draws(500)[0])
    ends = np.quantile(drawn, [0.0125, 0.9875], axis=0).min(axis=1)  # 95 % over two statistics
    assert found.interval == pytest.approx(tuple(ends))
    assert found.note == "two"
    open_ended = edge.smallest(logs, draws=500, note="two")  # the third curve is not on the grid
    assert open_ended.interval is not None
    assert np.isnan(open_ended.interval).all()
    assert open_ended.note == "two; off the grid in 100.0% of resamples"
