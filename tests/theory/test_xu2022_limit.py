"""The limit law against an exact oracle: tokens whose noise vectors are exactly orthogonal."""

import numpy as np
import pytest

from limelight._core import gram as grams
from limelight._core.errors import InputError
from limelight.theory.xu2022 import limit, optimum
from limelight.theory.xu2022.setting import Setting

LAMBDAS = [0.5, 2, 4, 6, 8, 12, 20, 40]


def orthogonal_tokens(setting: Setting):
    """Noise of length sigma, orthogonal to everything else: there the limit is attained."""
    U = grams.coordinates(setting.gram)
    labels = np.repeat(np.arange(setting.clusters), setting.sizes.astype(int))
    m, p = len(labels), U.shape[1]
    centres = np.hstack([U, np.zeros((setting.clusters, m))])
    noise = np.hstack([np.zeros((m, p)), setting.sigma * np.eye(m)])
    return centres, labels, centres[labels] + noise


def attend(X, lam, masked=False, keys=None, normalise=False):
    """Softmax attention, written out."""
    Y = X if keys is None else keys
    Z = X / np.linalg.norm(X, axis=1, keepdims=True) if normalise else X
    logits = lam * Z @ (Z.T if normalise else Y.T)
    if masked:
        np.fill_diagonal(logits, -np.inf)
    w = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (w / w.sum(axis=1, keepdims=True)) @ Y


def models():
    """Equal and unequal sizes, orthonormal, tight, random and antipodal centres."""
    points = np.random.default_rng(0).standard_normal((4, 6))
    return [
        Setting.equal(3, 5, 0.5),
        Setting.equal(4, 7, 1.3, cosine=0.5),
        Setting.equal(2, 6, 0.8, cosine=-1.0),
        Setting.from_points(points, [1, 4, 9, 2], 0.6),
        Setting.equal(1, 8, 0.7),
    ]


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("masked", [False, True])
def test_limit_law_is_attained_by_orthogonal_noise(number, masked):
    setting = models()[number]
    centres, labels, X = orthogonal_tokens(setting)
    for lam in (0.0, 0.7, 3.0, 11.0):
        error = np.linalg.norm(attend(X, lam, masked) - centres[labels], axis=1)
        law = limit.softmax_error(setting, lam, masked=masked)[labels]
        np.testing.assert_allclose(error, law, rtol=1e-9, atol=1e-12)


def test_cosine_law_is_attained_by_orthogonal_noise():
    setting = models()[1]
    centres, labels, X = orthogonal_tokens(setting)
    error = np.linalg.norm(attend(X, 5.0, normalise=True) - centres[labels], axis=1)
    rms = np.sqrt((error**2).mean()) / setting.sigma
    # Normalised tokens have logits that are smaller by 1 + sigma^2.
    law = limit.softmax_ratio(setting, 5.0 / (1 + setting.sigma**2))
    assert law == pytest.approx(rms, rel=1e-9)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("gain", [1.0, 0.3])
def test_recursion_is_attained_by_orthogonal_noise(number, gain):
    setting = models()[number]
    centres, labels, X = orthogonal_tokens(setting)
    path = limit.iterate(setting, 3.0, 6, gain)
    for step in range(7):
        error = np.linalg.norm(X - centres[labels], axis=1)
        np.testing.assert_allclose(error, path[step][labels], rtol=1e-8, atol=1e-10)
        X = (1 - gain) * X + gain * attend(X, 3.0)


def test_cross_law_is_attained_by_orthogonal_noise():
    target = Setting.equal(3, 4, 0.9)
    centres, labels, keys = orthogonal_tokens(target)
    queries = 0.7 * centres  # their own noise is orthogonal to every key, so it drops out
    error, leaked = limit.cross_parts(0.7 * np.eye(3), target, 4.0)
    out = attend(queries, 4.0, keys=keys)
    np.testing.assert_allclose(np.linalg.norm(out - centres, axis=1) ** 2, error, rtol=1e-9)
    w = np.exp(4.0 * queries @ keys.T)
    w /= w.sum(axis=1, keepdims=True)
    away = [w[k, labels != k].sum() for k in range(3)]
    np.testing.assert_allclose(leaked, away, rtol=1e-9)


@pytest.mark.parametrize(
    ("setting", "want"),
    [
        (
            Setting.equal(10, 50, 0.5),
            [1.7816, 1.1531, 0.3158, 0.1582, 0.1801, 0.3079, 0.7526, 0.9978],
        ),
        (Setting.equal(10, 50, 1.0), [0.8903, 0.5547, 0.4983, 0.8896, 0.9838, 0.9997, 1, 1]),
        (
            Setting.equal(4, 100, 0.3, cosine=0.5),
            [1.9063, 1.4276, 0.7869, 0.3623, 0.1697, 0.1030, 0.1108, 0.2797],
        ),
    ],
)
def test_published_rows_of_the_limit_law(setting, want):
    np.testing.assert_allclose(limit.softmax_ratio(setting, LAMBDAS), want, atol=1e-4)


def test_ends_of_the_logit_scale():
    setting = Setting.equal(5, 20, 0.7)
    mean = np.sqrt((1 - 1 / 5) + 0.49 / 100) / 0.7  # distance to the global mean, plus its noise
    assert limit.softmax_ratio(setting, 0.0) == pytest.approx(mean, rel=1e-12)
    assert limit.softmax_ratio(setting, 1e4) == pytest.approx(1.0, abs=1e-12)
    alone = Setting.equal(1, 20, 0.7)
    assert limit.softmax_ratio(alone, 0.0) == pytest.approx(20**-0.5, rel=1e-12)


def test_no_exponent_overflows():
    setting = Setting.equal(10, 50, 2.0)
    with np.errstate(all="raise", under="ignore"):
        assert limit.softmax_ratio(setting, 400.0) == 1.0
        assert limit.softmax_ratio(setting, 1e7) == 1.0
        masked = limit.softmax_ratio(setting, 1e7, masked=True)
        np.testing.assert_array_equal(limit.iterate_ratio(setting, 400.0, 3), np.ones(4))
    assert masked == pytest.approx(49**-0.5)


TABLE = {
    (2, 10): [(7.471, 0.3162), (3.331, 0.3358), (1.406, 0.3983), (0.317, 0.3686)],
    (2, 1000): [(11.997, 0.0316), (6.936, 0.0320), (3.635, 0.0582), (1.187, 0.1739)],
    (10, 100): [(11.389, 0.1000), (6.599, 0.1093), (3.434, 0.2810), (1.101, 0.3713)],
}


@pytest.mark.parametrize("key", TABLE)
def test_table_of_best_logit_scales(key):
    for sigma, (lam, ratio) in zip((0.1, 0.5, 1.0, 2.0), TABLE[key], strict=True):
        found = optimum.optimal_strength(Setting.equal(*key, sigma))
        assert found[0] == pytest.approx(lam, abs=1e-3)
        assert found[1] == pytest.approx(ratio, abs=1e-4)


@pytest.mark.parametrize(("clusters", "size"), [(2, 100), (10, 1000)])
@pytest.mark.parametrize("sigma", [0.3, 0.7, 1.0])
def test_closed_form_logit_scale_costs_nothing(clusters, size, sigma):
    setting = Setting.equal(clusters, size, sigma)
    best = optimum.optimal_strength(setting)
    near = optimum.balanced_strength(setting)
    assert abs(near - best[0]) < 0.11
    assert limit.softmax_ratio(setting, near) - best[1] < 6.5e-5


@pytest.mark.parametrize("sigma", [0.5, 0.9, 1.0, 1.2, 1.5, 2.0])
def test_scaling_exponent(sigma):
    law = optimum.scaling_exponent(sigma)
    assert optimum.local_exponent(10, sigma, 1e20) == pytest.approx(law, abs=0.006)


def test_unimodal_in_fresh_equiangular_cases():
    """The search assumes little, but the text says one valley: look again, elsewhere."""
    generator = np.random.default_rng(11)
    grid = np.geomspace(1e-2, 200, 600)
    for _ in range(200):
        C = int(generator.integers(2, 16))
        rho = generator.uniform(-0.9 / (C - 1), 0.6)
        size, sigma = generator.integers(3, 3000), generator.uniform(0.1, 2)
        ratio = limit.softmax_ratio(Setting.equal(C, int(size), sigma, cosine=rho), grid)
        turns = np.diff(np.sign(np.diff(ratio[ratio < 1 - 1e-9])))
        # The ratio may rise first (before the valley) when the noise hides the centres.
        assert np.sum(turns > 0) <= 1


def test_corollary_never_violated_in_the_limit():
    generator = np.random.default_rng(5)
    seen = 0
    while seen < 1500:
        C = int(generator.integers(2, 8))
        points = generator.standard_normal((C, 8)) + generator.uniform(0, 2)
        sizes = generator.integers(60, 2000, C)
        setting = Setting.from_points(points, sizes, float(generator.uniform(0.05, 1.2)))
        found = optimum.window(setting, 0)
        if not found.applies:
            continue
        seen += 1
        ends = [found.quantities["lambda from"], found.quantities["lambda to"]]
        assert (limit.softmax_error(setting, ends)[:, 0] <= 0.48 * setting.sigma).all()


def test_published_paths_of_the_recursion():
    path = limit.iterate_ratio(Setting.equal(10, 50, 0.5), 6.0, 9)
    want = [1, 0.158, 0.168, 0.219, 0.315, 0.494, 0.861, 1.544, 1.890, 1.898]
    np.testing.assert_allclose(path, want, atol=6e-4)
    one = limit.softmax_ratio(Setting.equal(10, 50, 0.5), 6.0)
    assert path[1] == pytest.approx(float(one), abs=1e-12)
    lives = [
        limit.lifetime(limit.iterate_ratio(Setting.equal(10, 50, 0.5), lam, 140))
        for lam in (2, 2.5, 3, 4, 5, 6, 8, 10)
    ]
    assert lives == [1, 2, 2, 3, 4, 7, 26, 134]


def drawn_path(setting: Setting, lam, steps, generator):
    """Ratios of one exact draw at a finite dimension, in float64: Gaussian and Bartlett factors."""
    C, m, d = setting.clusters, int(setting.tokens), setting.dimension
    rest = np.tril(generator.standard_normal((m, m)), -1)
    np.fill_diagonal(rest, np.sqrt(generator.chisquare(d - C - np.arange(m))))
    noise = np.hstack([generator.standard_normal((m, C)), rest]) * setting.sigma / np.sqrt(d)
    centres = np.repeat(np.eye(C, C + m), setting.sizes.astype(int), axis=0)
    X, ratios = centres + noise, []
    for _ in range(steps + 1):
        ratios.append(np.sqrt(((X - centres) ** 2).sum(axis=1).mean()) / setting.sigma)
        X = attend(X, lam)
    return np.array(ratios)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_limit_law_in_a_million_dimensions(sigma):
    generator = np.random.default_rng(7)
    setting = Setting.equal(10, 50, sigma, dimension=1e6)
    for lam in (2.0, 4.0, 6.0, 8.0):
        measured = drawn_path(setting, lam, 1, generator)[1]
        assert measured == pytest.approx(float(limit.softmax_ratio(setting, lam)), rel=1e-2)


def test_recursion_is_the_limit_and_a_million_dimensions_are_not_yet():
    """Where a path lies close to the frozen state and then leaves it, terms in 1/d grow."""
    generator = np.random.default_rng(2022)
    off = {}
    for d in (1e6, 1e10):
        setting = Setting.equal(10, 50, 1.0, dimension=d)
        law = limit.iterate_ratio(setting, 10.0, 30)
        off[d] = drawn_path(setting, 10.0, 30, generator) / law - 1
    assert np.abs(off[1e10]).max() < 1e-3
    assert np.abs(off[1e6][:15]).max() < 2e-3  # it does hold while the path is frozen
    assert off[1e6][29] > 0.1


def test_infeasible_settings_are_refused_with_a_reason():
    with pytest.raises(InputError, match="cannot all have cosine"):
        Setting.equal(5, 10, 0.5, cosine=-0.5)
    gram = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.raises(InputError, match="lowest eigenvalue"):
        Setting(gram, np.ones(3), 0.5)
    with pytest.raises(InputError, match="diagonal other than 1"):
        Setting(2 * np.eye(3), np.ones(3), 0.5)
    with pytest.raises(InputError, match="share a centre"):
        Setting(np.ones((2, 2)), np.ones(2), 0.5)
    with pytest.raises(InputError, match="too small for centres"):
        Setting.equal(10, 5, 0.5, dimension=9)
    with pytest.raises(InputError, match="sigma"):
        Setting.equal(3, 5, 0.0)
    with pytest.raises(InputError, match="lambda"):
        limit.softmax_ratio(Setting.equal(3, 5, 0.5), -1.0)
    with pytest.raises(InputError, match="gain"):
        limit.iterate(Setting.equal(3, 5, 0.5), 1.0, 2, gain=0.0)
    with pytest.raises(InputError, match="attends to nothing"):
        limit.softmax_ratio(Setting.equal(1, 1, 0.5), 1.0, masked=True)


@pytest.mark.parametrize("masked", [False, True])
def test_many_strengths_at_once_are_each_alone(masked):
    """Clusters of unequal sizes at unequal angles: axes that are mixed up would show."""
    points = np.random.default_rng(4).normal(size=(4, 6)) + 0.5
    setting = Setting.from_points(points, [3.0, 11.0, 2.0, 30.0], 0.6)
    together = limit.softmax_parts(setting, np.array(LAMBDAS, float), masked=masked).stacked
    alone = [limit.softmax_parts(setting, lam, masked=masked).stacked for lam in LAMBDAS]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    cosines = setting.gram * 0.9
    for one, many in zip(
        zip(*(limit.cross_parts(cosines, setting, lam) for lam in LAMBDAS), strict=True),
        limit.cross_parts(cosines, setting, np.array(LAMBDAS, float)),
        strict=True,
    ):
        np.testing.assert_allclose(many, one, rtol=1e-12)
