"""The printed statements evaluated as printed, the prediction, and the calculator."""

import numpy as np
import pytest
from scipy.stats import chi2

from limelight._core.errors import InputError
from limelight.theory.xu2022 import calculator, errata, limit, prediction, printed, regime
from limelight.theory.xu2022.setting import Setting


def test_printed_theorem2_window_and_dimension():
    low, _, smallest = printed.softmax_window(100, 50, 1.0, 1e6)
    assert low == pytest.approx(7.742, abs=1e-3)
    assert np.ceil(smallest) == 3_181_985
    found = printed.softmax(100, 50, 1.0, 3_182_480, 7.743)
    assert found.applies
    assert found.kind == "printed"
    assert found.value == 0.5
    assert limit.softmax_ratio(Setting.equal(2, 50, 1.0), 7.743) > 0.97
    assert not printed.softmax(100, 50, 1.0, 3_182_480 // 2, 7.743).applies


def test_printed_theorem1_lacks_the_sign_and_the_upper_limit():
    far = printed.nearest_neighbours(0.5, 1.0, 68, 83, 240)  # r < 2 sigma and K > m_k
    assert far.applies
    overflow = printed.nearest_neighbours(np.sqrt(2), 0.3, 74, 83, 500)
    assert overflow.applies
    on_the_edge = printed.nearest_neighbours(0.6, 0.3, 74, 83, 500)
    assert not on_the_edge.applies  # r = 2 sigma: an infinite dimension


@pytest.mark.parametrize(
    ("gamma", "holds"), [(0.3, True), (0.5, True), (1.0, False), (1.2, False), (2.0, False)]
)
def test_printed_lemma1(gamma, holds):
    found = printed.centre_cosine(gamma)
    assert found.applies == holds
    assert found.quantities["exact cosine"] == pytest.approx(1 - gamma**2 / 2)
    assert printed.centre_cosine(float(np.sqrt(2))).applies


def test_printed_band_escapes_by_simulation():
    found = printed.norm_band(1000, 80)
    norms = np.sqrt(chi2.rvs(80, size=(4000, 1000), random_state=0) / 80)
    half = found.quantities["half width"]
    escaped = (np.abs(norms - 1) > half).any(axis=1).mean()
    assert found.value == pytest.approx(escaped, abs=0.03)
    assert not found.applies


def test_printed_lemma2_fails_on_the_diagonal_only():
    generator = np.random.default_rng(0)
    m, d, sigma, delta = 100, 60, 1.0, 0.2
    claimed = printed.noise_products(m, sigma, d, delta)
    pair, centre = claimed.value, claimed.quantities["|<h_i, u_k>|"]
    failures = 0
    for _ in range(100):
        H = generator.standard_normal((m, d)) * sigma / np.sqrt(d)
        inner = np.abs(H @ H.T)
        assert np.diag(inner).max() > pair
        np.fill_diagonal(inner, 0)
        failures += inner.max() > pair or np.abs(H[:, 0]).max() > centre
    assert failures / 100 <= 3 * delta


@pytest.mark.parametrize(
    ("d", "want"), [(64, [0.1829, 0.2346, 0.3817]), (1024, [0.1593, 0.1832, 0.3133])]
)
def test_published_rows_of_the_prediction(d, want):
    found = prediction.softmax(Setting.equal(10, 50, 0.5, d), [6, 8, 12])
    np.testing.assert_allclose(found.ratio, want, atol=6e-5)
    assert found.valid.all()


def test_prediction_tends_to_the_limit_law():
    for masked in (False, True):
        setting = Setting.equal(4, 20, 0.7, 1e9, cosine=0.2)
        found = prediction.softmax(setting, [1.0, 4.0, 9.0], masked=masked)
        law = limit.softmax_ratio(setting, [1.0, 4.0, 9.0], masked=masked)
        np.testing.assert_allclose(found.ratio, law, rtol=1e-5)


def test_prediction_with_unequal_clusters_is_the_mean_over_tokens():
    points = np.eye(3)
    setting = Setting.from_points(points, [2, 20, 20], 0.5, 200)
    general = setting.at(gram=setting.gram + 1e-9 * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    assert len(setting.representatives) == 2
    assert len(general.representatives) == 3
    one, two = prediction.softmax(setting, 5.0).ratio, prediction.softmax(general, 5.0).ratio
    assert one == pytest.approx(float(two), rel=1e-6)


def test_prediction_is_flagged_and_log_safe():
    setting = Setting.equal(10, 50, 2.0, 384)
    with np.errstate(all="raise", under="ignore"):
        found = prediction.softmax(setting, [1.0, 20.0, 400.0])
    assert found.valid.tolist() == [True, False, False]
    assert np.isnan(found.ratio[2])
    assert np.isfinite(found.ratio[:2]).all()
    with pytest.raises(InputError, match="finite dimension"):
        prediction.softmax(Setting.equal(3, 5, 0.5), 1.0)


def test_published_rows_of_nearest_neighbours():
    found = prediction.nearest_neighbours(100, [2, 5, 10, 25, 50, 75, 100], 64)
    want = [0.7536, 0.5082, 0.3753, 0.2457, 0.1673, 0.1254, 0.1000]
    np.testing.assert_allclose(found, want, atol=6e-5)
    assert prediction.nearest_neighbours(100, 1, 64) == 1.0
    with pytest.raises(InputError, match="cluster size"):
        prediction.nearest_neighbours(100, 101, 64)


def test_calculator_says_everything_with_its_kind():
    found = calculator(clusters=10, size=50, sigma=0.5, dim=384)
    assert found.kind == "prediction"
    assert found.applies
    assert found.value == pytest.approx(0.1613, abs=1e-3)
    text = str(found)
    for word in ("best lambda", "exact limit", "certificate", "regime: averaging", "printed"):
        assert word in text
    assert found.quantities["best lambda [exact limit]"] == pytest.approx(6.046, abs=1e-3)
    assert "so the claim is false there" in str(calculator(sigma=1.0))
    assert "provably keeps" in str(calculator(dim=10_000))
    assert "claims nothing at any dim" in str(calculator(sigma=1.5))


def test_calculator_at_the_edges():
    extreme = calculator(sigma=2.0, lam=400.0)
    assert not extreme.applies
    assert "frozen" in str(extreme)
    assert calculator(clusters=1, size=20).value < 0.25
    assert calculator(masked=True).applies
    for bad in ({"size": 1}, {"sigma": -1.0}, {"dim": 5}, {"cosine": -0.5}, {"lam": -2.0}):
        with pytest.raises(InputError):
            calculator(**bad)


def test_regimes():
    setting = Setting.equal(10, 50, 0.5, 1024)
    assert regime(setting, 1.0) == "leaking"
    assert regime(setting, 6.0) == "averaging"
    assert regime(setting, 30.0) == "self-locked"
    assert regime(setting.at(dimension=64), 60.0) == "frozen"


@pytest.mark.parametrize("number", errata.EVIDENCE)
def test_printed_steps_fail_and_corrected_ones_hold(number):
    printed_step, corrected = errata.erratum(number).conditions
    assert not printed_step.holds
    assert corrected.holds


def test_the_largest_weight_is_a_token_s_own():
    """E12: about lambda (1 + sigma^2), whatever the bound says."""
    own, other = (condition.left for condition in errata.erratum(12).conditions)
    assert own == pytest.approx(10 * 1.09, rel=0.04)
    assert abs(other) < 1
    with pytest.raises(InputError, match="no number for erratum 3"):
        errata.erratum(3)
