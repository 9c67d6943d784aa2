import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.fit import compare_predictors
from limelight.fit.comparison import _score

X = np.geomspace(1, 32, 10)


def named(ranked):
    return {candidate.name: candidate for candidate in ranked}


def test_leave_one_out_by_leaving_one_out():
    y = 4 * X**0.7 + np.sin(5 * X)
    predictors = {"x": X, "both": np.stack([X, np.log(X)], axis=1)}
    found = named(compare_predictors(predictors, y, samples=[y]))
    for name, columns in predictors.items():
        design = np.column_stack([np.ones(10), columns])
        wrong = []
        for i in range(10):
            keep = np.arange(10) != i
            beta = np.linalg.lstsq(design[keep], y[keep], rcond=None)[0]
            wrong.append(y[i] - design[i] @ beta)
        assert found[name].error == pytest.approx(np.sqrt(np.mean(np.square(wrong))))
        left = np.linalg.lstsq(design, y, rcond=None)[1][0]
        assert found[name].r_squared == pytest.approx(1 - left / (10 * y.var()))


def test_best_first_and_shares_add_up():
    rng = np.random.default_rng(2)
    y = 5 + 2 * X + np.sin(X)
    noisy = y + 3 * rng.normal(size=(200, 10))
    ranked = compare_predictors({"log": np.log(X), "x": X, "root": np.sqrt(X)}, y, samples=noisy)
    errors = [c.error for c in ranked]
    assert errors == sorted(errors)
    assert ranked[0].name == "x"
    assert sum(c.share for c in ranked) == pytest.approx(1)


def test_samples_over_trials():
    """Of a power law, in logarithms: the more noise, the less sure the best candidate."""
    rng = np.random.default_rng(2)
    y = np.log(3 * X**1.5)
    samples = y + 0.05 * rng.normal(size=(300, 10))
    samples[:50, 4] = np.nan
    sets = {"power": np.log(X), "line": X}
    ranked = compare_predictors(sets, y, samples=samples)
    assert ranked[0].name == "power"
    assert ranked[0].share > 0.95
    noisy = compare_predictors(sets, y, samples=y + 0.8 * rng.normal(size=(300, 10)))
    assert named(noisy)["power"].share < ranked[0].share


def test_predictors_of_several_columns():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 30))
    y = 2 * a - 3 * b + 0.3 * rng.normal(size=30)
    sets = {"a": a, "b": b, "both": np.stack([a, b], axis=1)}
    ranked = compare_predictors(sets, y, samples=y + 0.1 * rng.normal(size=(200, 30)))
    assert [c.name for c in ranked] == ["both", "b", "a"]
    assert ranked[0].share == 1.0
    y[4], a[7] = np.nan, np.inf
    again = compare_predictors(sets | {"a": a}, y, samples=np.tile(y, (20, 1)))
    assert again[0].name == "both"


def test_noise_does_not_earn_a_column():
    """An idle column lowers the residuals but not, on the whole, the leave-one-out error."""
    rng = np.random.default_rng(4)
    wins = []
    for _ in range(60):
        a, idle = rng.normal(size=(2, 12))
        sets = {"a": a, "idle too": np.stack([a, idle], axis=1)}
        y = a + rng.normal(size=12)
        wins.append(compare_predictors(sets, y, samples=[y])[0].name == "a")
    assert np.mean(wins) > 0.6


@pytest.mark.parametrize(
    ("predictors", "y"),
    [
        ({"a": [1, 2, 3]}, [1, 2, 3]),
        ({}, X),
        ({"a": X[:4]}, X),
        ({"a": X}, X[None]),
    ],
)
def test_refusals(predictors, y):
    with pytest.raises(InputError):
        compare_predictors(predictors, y, samples=[y])


def test_the_share_explained_has_no_scale():
    """R squared of a small signal, against NumPy's correlation."""
    rng = np.random.default_rng(0)
    x = np.arange(8.0)
    y = 1e-3 * (x + rng.normal(size=8))
    design = np.stack([np.ones(8), x], axis=1)
    _, share = _score(design, y[None], np.ones((1, 8)))
    np.testing.assert_allclose(share, [np.corrcoef(x, y)[0, 1] ** 2], rtol=1e-9)


def test_a_point_that_alone_decides_a_coefficient_cannot_be_left_out():
    design = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    y, weights = np.array([[1.0, 2.0, 4.0, 3.0]] * 2), np.ones((2, 4))
    weights[1, 3] = 0.0  # not in the second draw
    error, _ = _score(design, y, weights)
    assert np.isnan(error[0])
    alone = [1.0 - 3.0, 2.0 - 2.5, 4.0 - 1.5]  # each less the mean of the other two
    np.testing.assert_allclose(error[1], np.sqrt(np.mean(np.square(alone))))
