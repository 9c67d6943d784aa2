r"""Which logit scale is best, and how the best ratio scales with the cluster size."""

from collections.abc import Callable

import numpy as np

from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.xu2022 import limit
from limelight.theory.xu2022.setting import ORTHONORMAL, Number, Setting

#: Between which ends the best logit scale is sought, and on how many points first.
LOWEST, HIGHEST, POINTS = 1e-3, 400.0, 400
#: By default the search ends when it has the best logit scale to this relative accuracy.
CLOSE = 1e-8


def minimise(
    function: Callable[[np.ndarray], np.ndarray],
    low: Number = LOWEST,
    high: Number = HIGHEST,
    points: int = POINTS,
    close: Number = CLOSE,
) -> tuple[float, float]:
    """Smallest value over a logarithmic grid, refined around its best point; NaN is skipped.

    Returns:
        Where, and the value; `(nan, inf)` when the function is nowhere finite.
    """
    grid = np.geomspace(low, high, points)
    values = _values(function, grid)
    while True:
        best = int(np.argmin(values))
        if not np.isfinite(values[best]):
            return float("nan"), float("inf")
        known = slice(max(best - 1, 0), best + 2)  # the best point so far and its neighbours
        below, above = grid[known][[0, -1]]
        if above / below - 1 < close:
            return float(grid[best]), float(values[best])
        fine = np.setdiff1d(np.geomspace(below, above, 17), grid[known])
        values = np.append(values[known], _values(function, fine))
        grid, first = np.unique(np.append(grid[known], fine), return_index=True)
        values = values[first]


def _values(function: Callable[[np.ndarray], np.ndarray], grid: np.ndarray) -> np.ndarray:
    values = np.asarray(function(grid), dtype=float)
    return np.where(np.isnan(values), np.inf, values)


def optimal_strength(
    setting: Setting, cluster: int | None = None, *, masked: bool = False
) -> tuple[float, float]:
    r"""The logit scale with the smallest limit ratio, and that ratio.

    The ratio was unimodal in $\lambda$ in every equiangular case examined; that is not proved, so
    a grid is searched first.

    Args:
        setting: The cluster model.
        cluster: Optimise for one cluster's tokens; for the mean over all when `None`.
        masked: Whether a token may not attend to itself.

    Returns:
        $\lambda^*$ and the ratio there. With the diagonal masked and one cluster every $\lambda$ is
        as good.

    Example:
        >>> [round(v, 3) for v in optimal_strength(Setting.equal(10, 100, 0.5))]
        [6.599, 0.109]
    """
    if cluster is None:
        return minimise(lambda lam: limit.softmax_ratio(setting, lam, masked=masked))
    if not 0 <= cluster < setting.clusters:
        raise InputError(f"cluster = {cluster}", f"0 to {setting.clusters - 1}")
    return minimise(
        lambda lam: limit.softmax_error(setting, lam, masked=masked)[..., cluster] / setting.sigma
    )


def balanced_strength(setting: Setting) -> float:
    r"""A closed form close to the optimum: the self part equals the leak.

    $$\tilde\lambda = \frac{\log(J D/\sigma^4)}{2(D+\sigma^2)},\quad
      J = \left|\sum_b m_b (u_b - u_k)\right|^2$$

    for equal gaps $D$ and equal sizes; the normaliser and the averaging floor are ignored.
    """
    if setting.clusters < 2 or len(setting.representatives) > 1:
        raise InputError("the closed form needs equal gaps and equal sizes", "use optimal_strength")
    D, sigma2 = setting.nearest**2 / 2, setting.sigma**2
    J = float(limit._shift(setting.gram, setting.sizes * setting.others)[0])
    return float(np.log(J * D / sigma2**2) / (2 * (D + sigma2)))


def scaling_exponent(sigma: Number, distance: Number = ORTHONORMAL) -> float:
    r"""Best ratio $\sim m_k^{-\min(1/2,\; D/(D+\sigma^2))}$, $D = r^2/2$, for fixed $C$.

    Plain averaging's $1/\sqrt{m_k}$ is reached only while $\sigma^2 \le D$; beyond, the weight that
    a token gives itself costs more than the clusters' separation buys.

    Example:
        >>> scaling_exponent(0.5), round(scaling_exponent(1.2), 4)
        (0.5, 0.4098)
    """
    if not (sigma > 0 and 0 < distance <= 2):
        raise InputError(f"sigma = {sigma}, distance = {distance}", "positive, distance at most 2")
    D = distance**2 / 2
    return float(min(0.5, D / (D + sigma**2)))


def local_exponent(clusters: int, sigma: Number, size: Number, cosine: Number = 0.0) -> float:
    """Minus the log-log slope of the limit law's best ratio from `size` to ten times `size`."""
    best = [
        optimal_strength(Setting.equal(clusters, m, sigma, cosine=cosine))[1]
        for m in (size, 10 * size)
    ]
    return float(-np.log10(best[1] / best[0]))


def window(setting: Setting, cluster: int = 0) -> Bound:
    r"""A clean replacement of the printed Theorem 2 in the limit: $|x'_i - u| \le 0.48\,\sigma$.

    If $n = m_k - 1 \ge 64$, $\lambda\sigma^2 \le \log(n/8)$ and
    $\lambda D \ge \log\frac{(m-m_k)(r_u+\sigma)}{0.3\,\sigma n}$ with $D = r_\ell^2/2$.

    Returns:
        The bound on the ratio; `quantities` hold both ends of the window of $\lambda$.

    Reference: xu2022, Theorem 2, repaired; proof in `docs/proofs/xu2022.md`, section 2.
    """
    m, n, sigma = setting.tokens, setting.sizes[cluster] - 1, setting.sigma
    most = np.log(n / 8) / sigma**2 if n > 0 else -np.inf
    least = 0.0
    if setting.clusters > 1 and n > 0:
        D = setting.nearest**2 / 2
        excess = (m - setting.sizes[cluster]) * (setting.farthest + sigma) / (0.3 * sigma * n)
        least = max(0.0, float(np.log(excess)) / D)
    conditions = (
        Condition("other tokens of the cluster", float(n), ">=", 64.0),
        Condition("window of lambda is not empty", float(least), "<=", float(most)),
    )
    holds = all(condition.holds for condition in conditions)
    return Bound(
        name="ratio |x'-u|/sigma for lambda in the window",
        value=0.48 if holds else float("inf"),
        kind="exact",
        conditions=conditions,
        quantities={"lambda from": float(least), "lambda to": float(most)},
        notes=("exact in the limit of large dimension; says nothing at a finite one",),
        reference="xu2022, Theorem 2, repaired",
    )
