"""Finite-dimension predictions: derived, not proved, never given without a validity flag."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from limelight._core.errors import InputError
from limelight.theory.xu2022 import optimum
from limelight.theory.xu2022.setting import Number, Setting, check_strength

#: Nodes of the Gauss-Hermite rule in each of the two directions averaged over.
NODES = 16
#: Beyond this spread of the logits even the moments overflow: no number is given.
HOPELESS = 50.0
#: Logit scales that are computed at a time.
BATCH = 16


@dataclass(frozen=True)
class Prediction:
    """Predicted ratios and where they may be used.

    Args:
        ratio: Root mean square error over sigma; NaN where it is hopeless.
        valid: Whether the prediction's assumptions hold there.
        spread: The logit variance $s^2$ that decides it.
        limit: What the spread may be at most.
    """

    ratio: np.ndarray
    valid: np.ndarray
    spread: np.ndarray
    limit: Number


def logit_spread(setting: Setting, strength) -> np.ndarray:
    r"""Variance of the logits of one query over tokens of a cluster.

    $$s^2 = \lambda^2\sigma^2(1+\sigma^2)/d$$
    """
    lam = check_strength(strength)
    spread = lam**2 * setting.sigma**2 * (1 + setting.sigma**2) / setting.finite_dimension
    return np.asarray(spread)


def spread_limit(setting: Setting, *, masked: bool = False) -> float:
    r"""The prediction is valid while $s^2 \le \frac12\log n$ (masked: $0.1\log n$)."""
    n = max(float(setting.sizes.min()) - 1, 1.0)
    return (0.1 if masked else 0.5) * float(np.log(n))


def frozen_strength(setting: Setting, *, masked: bool = False) -> float:
    r"""Beyond this $\lambda$ a few extreme weights dominate: $s^2$ is at `spread_limit`."""
    unit = float(logit_spread(setting, 1.0))
    return float(np.sqrt(spread_limit(setting, masked=masked) / unit))


def softmax(setting: Setting, strength, *, masked: bool = False) -> Prediction:
    r"""Ratio of softmax attention at finite $d$, by Gaussian tilting of every other token.

    Given the query $x = u_k + h$ with $t = |h|^2$ and $v = \langle h, u_k\rangle$, a token of
    cluster $b$ has mean weight $e^{\lambda\langle u_b,x\rangle + s^2/2}$ and, under that weight,
    mean $u_b + (\lambda\sigma^2/d)x$. The moments are put together inside the average over $(t,
    v)$, which is a $16 \times 16$ Gauss-Hermite rule (Wilson-Hilferty for $t$).

    Departures: none in the paper to depart from. Dropped as small while valid: the tilt of
        $\langle h,u_b\rangle$ in the cross term, the dependence of $t$ and $v$, fluctuations of
        the normaliser.

    Args:
        setting: The cluster model, dimension included.
        strength: Logit scale $\lambda$, one value or an array.
        masked: Whether a token may not attend to itself.

    Example:
        >>> p = softmax(Setting.equal(10, 50, 0.5, dimension=64), 6.0)
        >>> round(float(p.ratio), 4), bool(p.valid)
        (0.1829, True)
    """
    lam = check_strength(strength)
    spread = logit_spread(setting, lam)
    most = spread_limit(setting, masked=masked)
    kinds = setting.representatives
    if len(kinds) < setting.clusters and len(kinds) == len(np.unique(setting.sizes)):
        weight = np.array([setting.sizes[setting.sizes == setting.sizes[k]].sum() for k in kinds])
    else:
        kinds, weight = np.arange(setting.clusters), setting.sizes
    ratio = np.full(lam.size, np.nan)
    known = np.flatnonzero(~(spread.ravel() > HOPELESS))
    for some in np.split(known, range(BATCH, len(known), BATCH)):
        value = lam.ravel()[some]
        squares = np.stack([_square_errors(setting, int(k), value, masked) for k in kinds], axis=1)
        ratio[some] = np.sqrt((squares * weight).sum(axis=1) / weight.sum()) / setting.sigma
    ratio = ratio.reshape(lam.shape)
    valid = np.asarray((spread <= most) & np.isfinite(ratio))
    return Prediction(ratio, valid, spread, most)


def optimal_strength(
    setting: Setting, *, masked: bool = False, close: Number = optimum.CLOSE
) -> tuple[float, float]:
    """The best logit scale at this dimension among those where the prediction is valid.

    The search ends when it has it to `close`, a share of itself.
    """
    most = frozen_strength(setting, masked=masked)
    if not most > 0:
        return float("nan"), float("nan")

    def valid_ratio(lam: np.ndarray) -> np.ndarray:
        found = softmax(setting, lam, masked=masked)
        return np.where(found.valid, found.ratio, np.nan)

    high = min(most, optimum.HIGHEST)
    return optimum.minimise(valid_ratio, min(1e-2, high / 10), high * (1 - 1e-12), 40, close)


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the Gauss-Hermite rule and their weights, which sum to 1."""
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    return z, weight / weight.sum()


def _square_errors(setting: Setting, k: int, strengths: np.ndarray, masked: bool) -> np.ndarray:
    """Expected squared error of a token of cluster k, at every logit scale."""
    d, sigma2 = setting.dimension, setting.sigma**2
    z, weight = _nodes()
    # One axis for the logit scales, one for each node of t and v, then the clusters b (and c).
    t = sigma2 * (1 - 2 / (9 * d) + z * np.sqrt(2 / (9 * d))) ** 3
    t, v = np.meshgrid(np.clip(t, 0, None), setting.sigma * z / np.sqrt(d), indexing="ij")
    lam = strengths[:, None, None]
    other = setting.others[k]
    m_b, D, rho = setting.sizes[other], setting.gaps[k][other], setting.gram[k][other]
    G = setting.gram[np.ix_(other, other)]
    n = setting.sizes[k] - 1
    c = lam**2 * sigma2 / d
    s2 = c * np.clip(1 + 2 * v + t, 0, None)
    log_alpha = lam * (t + v) - s2 / 2
    at_b, at_bc = c[..., None], c  # the same with axes for b, and for b and c in place of t and v
    # No t in it: one row of v serves them all.
    log_e = -lam[..., None] * D * (1 + v[:1, :, None]) + at_b * (1 - rho**2) / 2
    top = np.full(log_alpha.shape, 0.0 if n > 0 else -np.inf)
    if not masked:
        top = np.maximum(top, log_alpha)
    if len(D):
        top = np.maximum(top, log_e.max(axis=-1))
    alpha = 0.0 if masked else np.exp(log_alpha - top)
    one = np.exp(-top)  # the mean in-cluster weight on the common scale
    e = np.exp(log_e - top[..., None])
    beta = m_b * e
    others = beta.sum(axis=-1)
    Z = alpha + n * one + others
    g = (n * one + others) * lam * sigma2 / d
    pull = (beta * D).sum(axis=-1)
    bent = np.exp(at_bc * (G - np.outer(rho, rho))) * (G - rho[:, None] - rho[None, :] + 1)
    shift = ((beta @ bent[:, None]) * beta).sum(axis=-1)
    grown = np.exp(s2)
    q = sigma2 * (grown * (1 + 4 * s2 / d) - s2 / d)
    noise = n * one**2 * q + (
        m_b * e**2 * np.exp(at_b * (1 - rho**2)) * (q[..., None] + 2 * D * (grown - 1)[..., None])
    ).sum(axis=-1)
    own = (alpha + g) ** 2 * t + g**2 + 2 * (alpha + g) * g * v
    own = own - 2 * g * pull - 2 * (alpha + g) * v * pull
    return np.array([weight @ part @ weight for part in (own + shift + noise) / Z**2])


def nearest_neighbours(size: Number, neighbours, dimension: Number) -> np.ndarray:
    r"""Ratio of averaging the $K \le m_k$ nearest tokens (itself included), clusters pure.

    The neighbours are selected by the query: their noise is tilted toward $h_i$. With $q = K-1$,
    $f = q/(m_k-1)$, $\tau = \varphi(z_f)/f$ and $c = \tau\sqrt{2/(3d)}$,
    $$E e^2 \approx \sigma^2\,[1 + 2qc + q(1-c) + q(q-1)c^2]/K^2.$$

    Departures: the paper treats the neighbours as independent and centred, which gives
        $1/\sqrt K$.

    Args:
        size: Tokens in the cluster, $m_k$.
        neighbours: $K$, one value or an array, from 1 to `size`.
        dimension: $d$.
    """
    K = np.asarray(neighbours, dtype=float)
    if (K < 1).any() or (size < K).any():
        raise InputError(f"neighbours = {neighbours}", f"from 1 to the cluster size {size:g}")
    q = K - 1
    f = np.where(q > 0, q / max(size - 1, 1), 1.0)
    z = ndtri(1 - np.clip(f, None, 1 - 1e-16))
    tilt = np.where(f < 1, np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / f, 0.0)
    c = tilt * np.sqrt(2 / (3 * dimension))
    return np.asarray(np.sqrt(1 + 2 * q * c + q * (1 - c) + q * (q - 1) * c**2) / K)
