"""The prediction's flag on settings drawn afresh: wherever it says valid, 3 % must hold."""

import numpy as np
import pytest

from limelight._core import gram as grams
from limelight.theory.xu2022 import prediction
from limelight.theory.xu2022.setting import Setting


def measured(generator, setting: Setting, lam: float, draws: int, masked: bool):
    """Ratio and its standard error, by plain NumPy in all coordinates."""
    m, d = int(setting.tokens), int(setting.dimension)
    U = grams.coordinates(setting.gram)
    labels = np.repeat(np.arange(setting.clusters), setting.sizes.astype(int))
    centres = np.zeros((setting.clusters, d), np.float32)
    centres[:, : U.shape[1]] = U
    squares = []
    for _ in range(draws):
        noise = generator.standard_normal((m, d), dtype=np.float32)
        X = centres[labels] + noise * np.float32(setting.sigma / np.sqrt(d))
        logits = lam * (X @ X.T)
        if masked:
            np.fill_diagonal(logits, -np.inf)
        w = np.exp(logits - logits.max(axis=1, keepdims=True))
        out = (w / w.sum(axis=1, keepdims=True)) @ X
        squares.append(((out - centres[labels]) ** 2).sum(axis=1).mean())
    squares = np.array(squares) / setting.sigma**2
    ratio = np.sqrt(squares.mean())
    return ratio, squares.std(ddof=1) / np.sqrt(draws) / (2 * ratio)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "settings", "masked"), [(1, 80, False), (2, 50, True)])
def test_prediction_within_three_percent_on_fresh_settings(seed, settings, masked):
    generator = np.random.default_rng(seed)
    seen = 0
    while seen < settings:
        C, size = int(generator.integers(2, 9)), int(generator.integers(4, 50))
        sigma = float(np.exp(generator.uniform(np.log(0.1), np.log(1.6))))
        d = int(np.exp(generator.uniform(np.log(64), np.log(1500))))
        lam = float(np.exp(generator.uniform(np.log(0.3), np.log(50))))
        setting = Setting.equal(C, size, sigma, d, float(generator.uniform(-0.9 / (C - 1), 0.6)))
        found = prediction.softmax(setting, lam, masked=masked)
        if not found.valid:
            continue
        seen += 1
        ratio, error = measured(generator, setting, lam, 60, masked)
        if error / ratio > 0.008:
            ratio, error = measured(generator, setting, lam, 500, masked)
        assert abs(ratio / found.ratio - 1) < 0.03, (C, size, sigma, d, lam)
