"""Certificates: published tables, proof steps with realised constants, attack by simulation."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from limelight._core import gram as grams
from limelight._core.errors import InputError
from limelight.theory.xu2022 import certificates, inverses, limit
from limelight.theory.xu2022.certificates import Constants
from limelight.theory.xu2022.setting import Setting


def draw(generator, setting: Setting):
    """Tokens of one draw, in all coordinates."""
    d = int(setting.dimension)
    U = grams.coordinates(setting.gram)
    centres = np.hstack([U, np.zeros((setting.clusters, d - U.shape[1]))])
    labels = np.repeat(np.arange(setting.clusters), setting.sizes.astype(int))
    H = generator.standard_normal((len(labels), d)) * setting.sigma / np.sqrt(d)
    return centres, labels, H


def attended(X, lam, masked):
    logits = lam * X @ X.T
    if masked:
        np.fill_diagonal(logits, -np.inf)
    w = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (w / w.sum(axis=1, keepdims=True)) @ X


def realised(setting: Setting, centres, labels, H) -> Constants:
    """What the probabilistic constants turned out to be, so that the event holds with equality."""
    s, root = setting.sigma, np.sqrt(setting.dimension)
    length = np.linalg.norm(H, axis=1) / s
    inner = H @ H.T
    np.fill_diagonal(inner, 0)
    along = H @ centres.T
    apart = along - along[np.arange(len(H)), labels][:, None]
    far = setting.distances[labels]
    with np.errstate(invalid="ignore", divide="ignore"):
        turned = np.nan_to_num(np.abs(apart) / far)
    top = max(np.abs(along).max(), turned.max()) * root / s
    growth = lambda rows: np.linalg.norm(rows, 2) / s if len(rows) else 1.0
    return Constants(
        shortest=length.min(),
        longest=length.max(),
        pair=np.abs(inner).max() * root / (s**2 * length.max()),
        direction=top,
        growth_in=np.array([growth(H[labels == k]) for k in range(setting.clusters)]),
        growth_out=np.array([growth(H[labels != k]) for k in range(setting.clusters)]),
        growth_all=growth(H),
    )


def random_setting(generator) -> tuple[Setting, float, bool]:
    C = int(generator.integers(1, 5))
    points = generator.standard_normal((C, C + 1)) + generator.uniform(-1, 3)
    if generator.random() < 0.1 and C == 2:
        points = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    sizes = generator.integers(1, 25, C)
    sizes[0] = max(sizes[0], 2)
    d = int(np.exp(generator.uniform(np.log(C + 1), np.log(300))))
    sigma = float(np.exp(generator.uniform(np.log(0.05), np.log(2))))
    lam = float(np.exp(generator.uniform(np.log(0.05), np.log(80))))
    return Setting.from_points(points, sizes, sigma, max(d, C + 1)), lam, generator.random() < 0.4


def test_proof_holds_with_realised_constants():
    """The deterministic half of the proofs: on the event, no error exceeds its bound."""
    generator = np.random.default_rng(1)
    worst = {"triangle": 0.0, "quadrature": 0.0}
    for _ in range(400):
        setting, lam, masked = random_setting(generator)
        centres, labels, H = draw(generator, setting)
        X = centres[labels] + H
        error = np.linalg.norm(attended(X, lam, masked) - centres[labels], axis=1)
        found = certificates.softmax(
            setting, lam, masked=masked, given=realised(setting, centres, labels, H)
        )
        for form in worst:
            worst[form] = max(worst[form], (error / found.error(form)[labels]).max())
    assert worst["triangle"] <= 1 + 1e-9
    assert worst["quadrature"] <= 1 + 1e-9
    assert worst["triangle"] > 0.99  # and it is tight somewhere


def test_bad_events_are_as_rare_as_claimed():
    """The probabilistic half: each event's failure rate against its share of delta."""
    generator = np.random.default_rng(2)
    delta, trials = 0.8, 200
    bad = np.zeros(5)
    for _ in range(trials):
        setting, _, _ = random_setting(generator)
        centres, labels, H = draw(generator, setting)
        have, need = realised(setting, centres, labels, H), certificates.constants(setting, delta)
        bad += [
            have.shortest < need.shortest or have.longest > need.longest,
            have.pair * have.longest > need.pair * need.longest,
            have.direction > need.direction,
            (have.growth_in > need.growth_in).any() or (have.growth_out > need.growth_out).any(),
            have.growth_all > need.growth_all,
        ]
    allowed = trials * delta / 4
    assert (bad <= allowed + 4 * np.sqrt(allowed)).all()


def test_never_violated_and_never_below_the_limit_law():
    generator = np.random.default_rng(3)
    violations = 0
    for _ in range(1000):
        setting, lam, masked = random_setting(generator)
        centres, labels, H = draw(generator, setting)
        error = np.linalg.norm(attended(centres[labels] + H, lam, masked) - centres[labels], axis=1)
        found = certificates.softmax(setting, lam, 0.05, masked=masked)
        best = found.error("best")
        violations += bool((error > best[labels]).any())
        law = limit.softmax_error(setting, lam, masked=masked)
        assert (best >= law * (1 - 1e-12)).all()
    assert violations == 0  # far below the 50 allowed: the union bounds are generous


def test_nearest_neighbour_certificate_never_violated():
    generator = np.random.default_rng(4)
    applied = violations = 0
    while applied < 150:
        C, size = int(generator.integers(1, 5)), int(generator.integers(3, 30))
        sigma = float(np.exp(generator.uniform(np.log(0.05), np.log(1.0))))
        d = int(np.exp(generator.uniform(np.log(10), np.log(1000))))
        setting = Setting.equal(C, size, sigma, max(d, C))
        found = certificates.nearest_neighbours(setting, 0.3)
        if not found.holds:
            continue
        applied += 1
        centres, labels, H = draw(generator, setting)
        X = centres[labels] + H
        order = np.argsort(((X[:, None] - X[None]) ** 2).sum(-1), axis=1)
        sums = np.cumsum(X[order] - centres[labels][:, None], axis=1)
        K = np.arange(1, size + 1)
        error = np.linalg.norm(sums[:, :size], axis=2) / K
        bad = (error > sigma * found.growth / np.sqrt(K)).any()
        improved = error < np.linalg.norm(H, axis=1)[:, None]
        bad |= not improved[:, found.fewest <= K].all()
        violations += bool(bad)
    assert violations <= 45  # 0.3 of 150; measured far below


def test_endpoints_of_the_self_weight_are_the_worst():
    """Step 4 of the proof of T2'': a convex function of 1/(A + c) is largest at an end."""
    generator = np.random.default_rng(6)
    for _ in range(300):
        setting, lam, _ = random_setting(generator)
        c = certificates.constants(setting, 0.05)
        root, s = np.sqrt(setting.dimension), setting.sigma
        eps = lam * (s**2 * c.longest * c.pair + s * c.direction) / root
        low = lam * (s**2 * c.shortest**2 - s * c.direction / root)
        high = lam * (s**2 * c.longest**2 + s * c.direction / root)
        if high > 300 or eps > 300:
            continue
        far, gap, m = setting.distances[0], setting.gaps[0], setting.sizes
        e_b = eps + lam * s * c.direction * far / root
        off = setting.others[0]
        hi, lo = (np.where(off, np.exp(-lam * gap + e), 0) for e in (e_b, -e_b))
        n = m[0] - 1
        P, Q = n * np.exp(2 * eps) + (m * hi**2).sum(), n * np.exp(eps)
        S, S_r = (m * hi).sum(), (m * hi * far).sum()
        B2 = (m * hi * far).sum() ** 2
        den = n * np.exp(-eps) + (m * lo).sum()
        A = np.exp(np.linspace(low, high, 50))
        N = s**2 * c.growth_all**2 * (A**2 + P) + B2
        N = N + 2 * s * c.direction / root * ((A + Q) * S_r + 2 * S**2)
        value = N / (A + den) ** 2
        assert value.max() <= max(value[0], value[-1]) * (1 + 1e-9)


def test_quadrature_form_tends_to_the_limit_law():
    setting = Setting.equal(6, 40, 0.8, 1e12, cosine=0.2)
    found = certificates.softmax(setting, 4.0)
    law = limit.softmax_error(setting, 4.0)
    np.testing.assert_allclose(found.quadrature, law, rtol=1e-3)
    assert (found.triangle <= np.sqrt(3) * law * (1 + 1e-3)).all()
    want = {1e4: (0.6092, 0.4843), 1e6: (0.3542, 0.2527), 1e10: (0.33207, 0.23322)}
    for d, (triangle, quadrature) in want.items():
        at = certificates.softmax(setting.at(dimension=d), 4.0)
        assert at.triangle[0] == pytest.approx(triangle, abs=6e-5)
        assert at.quadrature[0] == pytest.approx(quadrature, abs=6e-5)


@pytest.mark.parametrize(
    ("clusters", "size", "sigma", "triangle", "quadrature"),
    [
        (2, 50, 0.1, 138, 169),
        (10, 100, 0.3, 884, 1348),
        pytest.param(2, 50, 1.0, 9814, 4271, marks=pytest.mark.slow),
        pytest.param(10, 20, 0.7, 158265, 22935, marks=pytest.mark.slow),
        pytest.param(10, 20, 1.0, np.inf, 283800, marks=pytest.mark.slow),
        pytest.param(50, 100, 0.5, 4158, 7269, marks=pytest.mark.slow),
    ],
)
def test_table_of_smallest_dimensions(clusters, size, sigma, triangle, quadrature):
    setting = Setting.equal(clusters, size, sigma, 1e3)
    for form, want in (("triangle", triangle), ("quadrature", quadrature)):
        d, _ = inverses.smallest_dimension(setting, 0.5, form=form)
        assert d == pytest.approx(want, rel=0.005)


@pytest.mark.parametrize(
    ("clusters", "size", "sigma", "distance", "d", "fewest"),
    [
        (10, 100, 0.3, np.sqrt(2), 20, 93),
        (10, 100, 1.0, np.sqrt(2), 411, 4),
        (10, 100, 0.3, 1.0, 35, 37),
        (4, 60, 1.0, 0.5, 13392, 2),
    ],
)
def test_table_of_smallest_dimensions_for_neighbours(clusters, size, sigma, distance, d, fewest):
    setting = Setting.equal(clusters, size, sigma, 1e3, 1 - distance**2 / 2)
    assert inverses.smallest_dimension_neighbours(setting) == d
    found = certificates.nearest_neighbours(setting.at(dimension=d))
    assert (found.fewest, found.most) == (fewest, size)
    assert not certificates.nearest_neighbours(setting.at(dimension=d - 1)).holds


def test_quantiles_agree_with_scipy_stats():
    for d in (2, 60, 1e4, 1e7):
        assert certificates.chi2_upper(1e-6, d) == pytest.approx(chi2.isf(1e-6, d), rel=1e-9)
        assert certificates.chi2_lower(1e-6, d) == pytest.approx(chi2.ppf(1e-6, d), rel=1e-9)
    assert certificates.normal_upper(1e-9) == pytest.approx(norm.isf(1e-9))


def test_closed_form_purity_implies_the_exact_one():
    generator = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        C, size = int(generator.integers(2, 8)), int(generator.integers(2, 200))
        sigma = float(np.exp(generator.uniform(np.log(0.05), 0)))
        d = float(np.round(np.exp(generator.uniform(np.log(20), np.log(1e5)))))
        setting = Setting.equal(C, size, sigma, d)
        if certificates.neighbours_closed_form(setting).holds:
            held += 1
            assert certificates.nearest_neighbours(setting).pure
    assert held > 100


def test_noncentral_quantile_is_monotone_in_separation():
    values = [ncx2.ppf(1e-8, 200, 200 * r**2 / 2) for r in (0.5, 1.0, 1.4)]
    assert np.all(np.diff(values) > 0)


def test_no_exponent_overflows_and_the_cap_takes_over():
    setting = Setting.equal(10, 50, 2.0, 384)
    for masked in (False, True):
        found = certificates.softmax(setting, [0.0, 400.0, 1e6], masked=masked)
        assert np.isfinite(found.triangle).all()
        assert np.isfinite(found.quadrature).all()
        assert (found.error("best") <= found.cap).all()


def test_inverses_agree_with_the_certificate():
    setting = Setting.equal(10, 100, 0.3, 5000)
    found = inverses.certified_interval(setting, 0.5)
    assert found.pieces == 1
    ratio = lambda lam: float(certificates.softmax_ratio(setting, lam))
    assert ratio(found.low) <= 0.5 < ratio(found.low * 0.999)
    assert ratio(found.high) <= 0.5 < ratio(found.high * 1.001)
    assert inverses.certified_interval(setting.at(dimension=200.0), 0.5).empty
    assert certificates.nearest_neighbours(Setting.equal(10, 100, 0.3, 1024)).fewest == 3
    assert not certificates.nearest_neighbours(Setting.equal(10, 100, 0.3, 12)).holds


def test_one_form_serves_all_clusters():
    """A different form for each cluster would need the events of both, not 1 - delta."""
    setting = Setting.from_points(np.eye(3), [2, 5, 40], 1.0, 1000)
    found = certificates.softmax(setting, 6.0)
    one = min(found.triangle.max(), found.quadrature.max()) / setting.sigma
    assert certificates.softmax_ratio(setting, 6.0) == pytest.approx(one, rel=1e-12)
    assert certificates.softmax_bound(setting, 6.0).value == pytest.approx(one, rel=1e-12)
    assert found.error("best").max() / setting.sigma < 0.999 * one  # the mixture would be smaller


def test_noise_norms_reach_both_sides_of_one():
    """R- < 1 < R+ at every confidence: what keeps the certificates above the limit law."""
    for d in (1.0, 2.0, 3.0, 10.0, 1e3, 1e8):
        assert certificates.chi2_lower(1 / 8, d) < d < certificates.chi2_upper(1 / 8, d)


def test_bad_input_is_refused():
    setting = Setting.equal(3, 5, 0.5, 100)
    with pytest.raises(InputError, match="delta"):
        certificates.softmax(setting, 1.0, 1.5)
    with pytest.raises(InputError, match="finite dimension"):
        certificates.softmax(Setting.equal(3, 5, 0.5), 1.0)
    with pytest.raises(InputError, match="target"):
        inverses.smallest_dimension(setting, -1.0)
