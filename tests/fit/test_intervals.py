import numpy as np
import pytest
from scipy.stats import beta, binom, multinomial

from limelight._core.errors import InputError
from limelight.fit import exact, mean_interval, newcombe, paired_interval, wilson


def test_wilson_by_hand():
    # (0.5 + z2/20 -+ z sqrt(0.25/10 + z2/400)) / (1 + z2/10), z2 = 3.8415
    low, high = wilson([5, 10, 0], [10, 10, 10])
    np.testing.assert_allclose(low, [0.23659, 0.72247, 0.0], atol=1e-5)
    np.testing.assert_allclose(high, [0.76341, 1.0, 0.27753], atol=1e-5)


def test_exact_is_the_beta_quantile():
    n = 12
    s = np.arange(n + 1)
    low, high = exact(s, n, level=0.9)
    np.testing.assert_allclose(low[1:], beta.ppf(0.05, s[1:], n - s[1:] + 1), rtol=1e-6)
    np.testing.assert_allclose(high[:-1], beta.ppf(0.95, s[:-1] + 1, n - s[:-1]), rtol=1e-6)
    assert low[0] == 0.0
    assert high[-1] == 1.0


@pytest.mark.parametrize(("method", "least", "worst"), [(wilson, 0.95, 0.85), (exact, 0.95, 0.95)])
@pytest.mark.parametrize("n", [10, 50])
def test_coverage_by_enumeration(method, least, worst, n):
    s = np.arange(n + 1)
    low, high = method(s, n)
    p = np.linspace(0.01, 0.99, 99)[:, None]
    covered = (binom.pmf(s, n, p) * ((low <= p) & (p <= high))).sum(1)
    assert covered.mean() >= least
    assert covered.min() >= worst


def test_shapes_and_no_trials():
    low, high = wilson([[0, 1], [2, 0]], [[4, 4], [4, 0]])
    assert low.shape == high.shape == (2, 2)
    assert (low[1, 1], high[1, 1]) == (0.0, 1.0)
    low, high = exact(3, 5)
    assert low.shape == ()
    assert wilson([], [])[0].shape == (0,)


@pytest.mark.parametrize(
    ("s", "n", "level"),
    [
        (5, 4, 0.95),
        (-1, 4, 0.95),
        (1.5, 4, 0.95),
        (np.nan, 4, 0.95),
        (1, np.inf, 0.95),
        (1, 4, 1.0),
        ([1, 2], [1, 2, 3], 0.95),
        ("a", 4, 0.95),
    ],
)
def test_refusals(s, n, level):
    with pytest.raises(InputError):
        wilson(s, n, level)


def test_mean_interval_covers_with_few_trials():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=(12, 400)) + rng.normal(size=(12, 400))
    low, high = mean_interval(values, draws=500)
    assert 0.92 <= ((low <= 1) & (high >= 1)).mean() <= 0.98


def test_mean_interval_without_information():
    low, high = mean_interval([3.0])
    assert np.isnan(low)
    assert np.isnan(high)
    low, high = mean_interval([2.0, 2.0, 2.0])
    assert (low, high) == (2.0, 2.0)
    low, high = mean_interval([[1.0, np.nan], [2.0, 1.0]])
    assert np.isfinite(low[0])
    assert np.isnan(low[1])
    with pytest.raises(InputError):
        mean_interval([])


def test_paired_by_hand():
    # (10.5 - 30.5)/1002 -+ 1.96/1002 sqrt(41 - 20^2/1002)
    value, low, high = paired_interval([30, 0], [10, 0], 1000)
    np.testing.assert_allclose(value, [-0.02, 0.0])
    np.testing.assert_allclose([low[0], high[0]], [-0.0324242, -0.0074960], atol=1e-6)
    assert low[1] < 0 < high[1]  # no trial differs, and yet the difference may
    mirrored = paired_interval([10, 0], [30, 0], 1000)
    np.testing.assert_allclose(mirrored[1], -high)


@pytest.mark.parametrize("loss", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("gain", [0.02, 0.1])
def test_paired_covers_by_enumeration(loss, gain):
    n = 60
    b, c = np.divmod(np.arange((n + 1) ** 2), n + 1)
    b, c = b[b + c <= n], c[b + c <= n]
    chance = multinomial.pmf(np.stack([b, c, n - b - c], 1), n, [loss, gain, 1 - loss - gain])
    _, low, high = paired_interval(b, c, n)
    assert chance.sum() == pytest.approx(1)
    assert chance[(low <= gain - loss) & (gain - loss <= high)].sum() > 0.93


def test_paired_refuses_more_changes_than_trials():
    with pytest.raises(InputError):
        paired_interval(6, 6, 10)


def test_newcombe_as_printed():
    # Newcombe (1998), Table II, method 10: 56/70 less 48/80, 9/10 less 3/10, 10/10 less 0/20.
    for counts, ends in (
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
    ):
        np.testing.assert_allclose(newcombe(*counts), ends, atol=5e-5)
    low, high = newcombe(56, 70, 48, 80)
    np.testing.assert_allclose(newcombe(48, 80, 56, 70), (-high, -low))


@pytest.mark.parametrize(("p", "q"), [(0.95, 0.9), (0.5, 0.45), (0.3, 0.05)])
def test_newcombe_covers_by_enumeration(p, q):
    n, m = 30, 40
    inside = 0.0
    for a in range(n + 1):
        for b in range(m + 1):
            low, high = newcombe(a, n, b, m)
            inside += (low <= p - q <= high) * binom.pmf(a, n, p) * binom.pmf(b, m, q)
    assert inside > 0.93
