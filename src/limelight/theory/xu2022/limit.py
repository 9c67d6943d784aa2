r"""The exact law of one attention step as $d \to \infty$, everything else fixed.

Inner products of noise vanish except with itself: $\langle h_i, h_j\rangle \to \sigma^2 [i=j]$ and
$\langle h_i, u_k\rangle \to 0$. So a token gives itself the weight $\alpha = e^{\lambda\sigma^2}$,
another token of its cluster 1, a token of cluster $b$ the weight $e^{-\lambda D_{kb}}$, all
relative to one another, and the error is a number. The printed theorem loses the term $\alpha$.
"""

from typing import NamedTuple

import numpy as np

from limelight._core.errors import InputError
from limelight.theory.xu2022.setting import Number, Setting, check_strength


class Parts(NamedTuple):
    """The squared error of each cluster's tokens, in three parts (last axis: clusters).

    Args:
        itself: The token's own noise, through its weight on itself.
        averaging: What is left of the noise of the other tokens of its cluster.
        leak: Noise and bias from other clusters.
    """

    itself: np.ndarray
    averaging: np.ndarray
    leak: np.ndarray

    @property
    def stacked(self) -> np.ndarray:
        """The three parts along a new last axis."""
        return np.stack(self, axis=-1)


#: What dominates the error where each part is the largest.
PART_NAMES = ("self-locked", "averaging", "leaking")


def softmax_parts(setting: Setting, strength, *, masked: bool = False) -> Parts:
    r"""Squared error of softmax attention in the limit, split by where it comes from.

    $$F_k^2 = \frac{\sigma^2\left[\alpha^2 + n + \sum_{b \ne k} m_b e^{-2\lambda D_{kb}}\right]
        + \left|\sum_b \beta_b (u_b - u_k)\right|^2}{Z^2}$$

    with $n = m_k - 1$, $\alpha = e^{\lambda\sigma^2}$, $\beta_b = m_b e^{-\lambda D_{kb}}$ and
    $Z = \alpha + n + \sum_b \beta_b$. The largest exponent is taken out first, so that no
    $\lambda\sigma^2$ overflows.

    Notation: `strength` is their $\lambda$.
    Departures: the paper has no such law; its Theorem 2 drops $\alpha$ and the floor
        $1/\sqrt{m_k}$.

    Args:
        setting: The cluster model; its dimension is not used.
        strength: One value or an array; its axes come first in the result.
        masked: Whether a token may not attend to itself.
    """
    lam = check_strength(strength)[..., None, None]
    setting.check_masked(masked)
    m, sigma2 = setting.sizes, setting.sigma**2
    n = m - 1
    cross = np.where(setting.others, -lam * setting.gaps, -np.inf)
    own = np.broadcast_to(-np.inf if masked else lam[..., 0] * sigma2, cross.shape[:-1])
    rest = np.where(n > 0, 0.0, -np.inf)
    top = np.maximum(np.maximum(cross.max(axis=-1), own), rest)
    alpha, inside = np.exp(own - top), np.exp(rest - top)
    outside = np.exp(cross - top[..., None])
    beta = m * outside
    Z = alpha + n * inside + beta.sum(axis=-1)
    noise = sigma2 * (m * outside**2).sum(axis=-1)
    leak = noise + _shift(setting.gram, beta)
    return Parts(sigma2 * alpha**2 / Z**2, sigma2 * n * inside**2 / Z**2, leak / Z**2)


def softmax_error(setting: Setting, strength, *, masked: bool = False) -> np.ndarray:
    r"""Error $F_k = |x' - u_k|$ of each cluster's tokens in the limit (last axis: clusters)."""
    return np.sqrt(sum(softmax_parts(setting, strength, masked=masked)))


def softmax_ratio(setting: Setting, strength, *, masked: bool = False) -> np.ndarray:
    r"""Root mean square error over all tokens, over $\sigma$: what one layer leaves of the noise.

    Example:
        >>> round(float(softmax_ratio(Setting.equal(10, 50, 0.5), 6.0)), 4)
        0.1582
    """
    total = sum(softmax_parts(setting, strength, masked=masked))
    return np.asarray(np.sqrt(setting.token_mean(np.asarray(total))) / setting.sigma)


def cross_parts(
    cosines: np.ndarray, target: Setting, strength, sizes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Cross-attention in the limit: squared error and the mass that leaves the right cluster.

    $P_b \propto m_b e^{\lambda\langle u_k, u'_b\rangle}$ and, with $c = P - 1_k$,
    $|x' - u'_k|^2 = c^\top G' c + \sigma_t^2 \sum_b P_b^2/m_b$: no self term, and the noise of the
    query vanishes.

    Args:
        cosines: $\langle u_k, u'_b \rangle$, queries by target clusters, as many of each.
        target: The target's cluster model.
        strength: Logit scale, one value or an array.
        sizes: Target cluster sizes seen by each query cluster (queries by targets), where they
            differ from query to query; zero where the target lacks the cluster.

    Returns:
        Squared error to the centre $u'_k$ and leaked mass $1 - P_k$, last axis: query clusters.
    """
    lam = check_strength(strength)[..., None, None]
    cosines = np.asarray(cosines, dtype=float)
    m = np.broadcast_to(target.sizes if sizes is None else sizes, cosines.shape)
    with np.errstate(divide="ignore"):
        logits = np.log(m) + lam * cosines
    P = np.exp(logits - logits.max(axis=-1, keepdims=True))
    P = P / P.sum(axis=-1, keepdims=True)
    c = P - np.eye(len(cosines), target.clusters)
    bias = np.einsum("...kb,bc,...kc->...k", c, target.gram, c)
    share = np.divide(P**2, m, out=np.zeros_like(P), where=m > 0)
    error = np.clip(bias, 0, None) + target.sigma**2 * share.sum(axis=-1)
    return error, 1 - np.diagonal(P, axis1=-2, axis2=-1)


def iterate(setting: Setting, strength: Number, steps: int, gain: Number = 1.0) -> np.ndarray:
    r"""Errors of each cluster's tokens after 0, 1, .., `steps` attention steps, in the limit.

    Every iterate has the form $x_i = \sum_b M_{kb} v_b + \nu_k (h_i - \bar h_k)$ with the sample
    means $v_b = u_b + \bar h_b$. With $V = G + \mathrm{diag}(\sigma^2/m_b)$, $S = \lambda M V
    M^\top$ and $\tau_k = \lambda \nu_k^2 \sigma^2$, cluster $k$ weighs itself
    $e^{S_{kk}}(e^{\tau(1-1/m_k)} + (m_k-1)e^{-\tau/m_k})$ and $b$ by $m_b e^{S_{kb}}$. With a
    residual stream $x \leftarrow (1-g)x + g\,A(x)$, $M$ and $\nu$ take the same mean.

    It is the law of $d \to \infty$ at a fixed number of steps and no prediction at finite $d$:
    where the path is unstable a finite-$d$ path leaves it (see `docs/papers/xu2022/details.md`).

    Args:
        setting: The cluster model; its dimension is not used.
        strength: Logit scale.
        steps: How many.
        gain: $g$, the share of the new value in each step; 1 is plain iteration.

    Returns:
        Steps + 1 by clusters.
    """
    lam = float(check_strength(strength))
    if not 0 < gain <= 1:
        raise InputError(f"gain = {gain}", "above 0 and at most 1")
    m, sigma2, C = setting.sizes, setting.sigma**2, setting.clusters
    V = setting.gram + np.diag(sigma2 / m)
    M, nu = np.eye(C), np.ones(C)
    path = [(M, nu)]
    for _ in range(steps):
        S = lam * M @ V @ M.T
        tau = lam * nu**2 * sigma2
        own = np.diag(S) + tau * (1 - 1 / m)
        rest = np.diag(S) - tau / m
        logs = S + np.log(m)
        np.fill_diagonal(logs, -np.inf)
        top = np.maximum(np.maximum(own, rest), logs.max(axis=1))
        own, rest = np.exp(own - top), np.exp(rest - top)
        P = np.exp(logs - top[:, None])
        np.fill_diagonal(P, own + (m - 1) * rest)
        Z = P.sum(axis=1)
        M = (1 - gain) * M + gain * (P / Z[:, None]) @ M
        nu = (1 - gain) * nu + gain * nu * (own - rest) / Z
        path.append((M, nu))
    return np.sqrt(_iterate_errors(setting, *map(np.array, zip(*path, strict=True))))


def iterate_ratio(setting: Setting, strength: Number, steps: int, gain: Number = 1.0) -> np.ndarray:
    r"""Root mean square over tokens of `iterate`, over $\sigma$, for 0, 1, .., `steps` steps."""
    errors = iterate(setting, strength, steps, gain)
    return np.sqrt(setting.token_mean(errors**2)) / setting.sigma


def lifetime(ratios: np.ndarray) -> int:
    r"""First step $t \ge 1$ whose ratio exceeds 1; the number of steps + 1 when there is none.

    Example:
        >>> lifetime(np.array([1.0, 0.5, 0.9, 1.2]))
        3
    """
    beyond = np.flatnonzero(np.asarray(ratios)[1:] > 1)
    return int(beyond[0]) + 1 if len(beyond) else len(ratios)


def _shift(gram: np.ndarray, beta: np.ndarray) -> np.ndarray:
    r"""$|\sum_b \beta_b (u_b - u_k)|^2$ for each $k$, from inner products."""
    w = beta - np.eye(len(gram)) * beta.sum(axis=-1)[..., None]
    return np.clip(np.einsum("...kb,bc,...kc->...k", w, gram, w), 0, None)


def _iterate_errors(setting: Setting, M: np.ndarray, nu: np.ndarray) -> np.ndarray:
    c = M - np.eye(setting.clusters)
    mean = np.einsum("tkb,bc,tkc->tk", c, setting.gram, c) + setting.sigma**2 * (
        M**2 / setting.sizes
    ).sum(axis=-1)
    return np.clip(mean, 0, None) + nu**2 * setting.sigma**2 * (1 - 1 / setting.sizes)
