import numpy as np
import pytest

from limelight.core.errors import InputError
from limelight.fit import LAWS, compare, compare_predictors, fit_law

X = np.geomspace(1, 32, 10)
CURVES = {
    "linear": lambda x: 5 + 2 * x,
    "logarithmic": lambda x: 20 + 10 * np.log(x),
    "power": lambda x: 3 * x**1.5,
}


@pytest.mark.parametrize("law", LAWS)
def test_the_true_law_comes_first(law):
    rng = np.random.default_rng(0)
    first = []
    for seed in range(40):
        y = CURVES[law](X) * np.exp(0.03 * rng.normal(size=10))
        ranked = compare(X, y, draws=100, seed=seed)
        first.append(ranked.best.name == law)
    assert np.mean(first) >= 0.9
    assert ranked.best.name == law
    assert ranked[law].share > 0.8


@pytest.mark.parametrize("law", LAWS)
def test_leave_one_out_by_leaving_one_out(law):
    y = 4 * X**0.7 + np.sin(5 * X)
    wrong = []
    for i in range(10):
        keep = np.arange(10) != i
        wrong.append(y[i] - fit_law(law, X[keep], y[keep], draws=1).predict(X[i]))
    error = compare(X, y, draws=10)[law].error
    assert error == pytest.approx(np.sqrt(np.mean(np.square(wrong))))


def test_aic_is_the_gaussian_one():
    y = 2 * X + np.sin(5 * X)
    a = np.stack([np.ones(10), X], axis=1)
    rss = np.linalg.lstsq(a, y, rcond=None)[1][0]
    ranked = compare(X, y, draws=10)
    assert ranked["linear"].aic == pytest.approx(10 * np.log(rss / 10) + 6)
    f = np.log(y)
    rss = np.linalg.lstsq(np.stack([np.ones(10), np.log(X)], axis=1), f, rcond=None)[1][0]
    expected = 10 * np.log(rss / 10) + 6 + 2 * f.sum()  # the density of y = exp(f), not of f
    assert ranked["power"].aic == pytest.approx(expected)


def test_best_first_and_shares_add_up():
    ranked = compare(X, 5 + 2 * X + np.sin(X), draws=200)
    errors = [c.error for c in ranked]
    assert errors == sorted(errors)
    assert sum(c.share for c in ranked) == pytest.approx(1)
    assert str(ranked).startswith("linear: error")


def test_samples_over_trials():
    rng = np.random.default_rng(2)
    y = 3 * X**1.5
    samples = y * np.exp(0.05 * rng.normal(size=(300, 10)))
    samples[:50, 4] = np.nan
    ranked = compare(X, y, samples=samples)
    assert ranked.best.name == "power"
    assert ranked["power"].share > 0.95
    noisy = compare(X, y, samples=y * np.exp(0.8 * rng.normal(size=(300, 10))))
    assert noisy["power"].share < ranked["power"].share


def test_predictors_of_several_columns():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 30))
    y = 2 * a - 3 * b + 0.3 * rng.normal(size=30)
    sets = {"a": a, "b": b, "both": np.stack([a, b], axis=1)}
    ranked = compare_predictors(sets, y, draws=200)
    assert [c.name for c in ranked] == ["both", "b", "a"]
    assert ranked.best.share == 1.0
    y[4], a[7] = np.nan, np.inf
    again = compare_predictors(sets | {"a": a}, y, draws=50, samples=np.tile(y, (20, 1)))
    assert again.best.name == "both"


def test_noise_does_not_earn_a_column():
    """An idle column lowers the residuals but not, on the whole, the leave-one-out error."""
    rng = np.random.default_rng(4)
    wins = []
    for seed in range(60):
        a, idle = rng.normal(size=(2, 12))
        sets = {"a": a, "idle too": np.stack([a, idle], axis=1)}
        ranked = compare_predictors(sets, a + rng.normal(size=12), draws=2, seed=seed)
        wins.append(ranked.best.name == "a")
    assert np.mean(wins) > 0.6


@pytest.mark.parametrize(
    "call",
    [
        lambda: compare([1, 2, 3], [1, 2, 3]),
        lambda: compare(X, -X),
        lambda: compare(X, X, laws=()),
        lambda: compare_predictors({}, X),
        lambda: compare_predictors({"a": X[:4]}, X),
        lambda: compare_predictors({"a": X}, X[None]),
        lambda: compare(X, X)["cubic"],
    ],
)
def test_refusals(call):
    with pytest.raises(InputError):
        call()


def test_negative_values_without_a_power():
    assert compare(X, -X, laws=("linear", "logarithmic"), draws=20).best.name == "linear"
