r"""Rank collapse: how far rows are from being equal, and the bound on it (Dong et al. 2021).

$\mathrm{res}(X) = X - 1x^\top$ in the norm $\|R\|_{1,\infty} = (\|R\|_1\|R\|_\infty)^{1/2}$. The
best $x$ is not known; rows centred by their mean or by their median are within $k = 2 - 2/n$ of it.
Sizes are logarithms, since $3^L$ leaves the range of numbers. Everything here works on
arrays of NumPy and of JAX.
"""

from typing import Any

import numpy as np

from limelight._core.arrays import namespace

#: Ranges of the logits above this are outside the published proof.
SMALL_RANGE = 1.256


def log_norm(rows: Any) -> Any:
    r"""$\ln\|R\|_{1,\infty}$.

    Example:
        >>> round(float(np.exp(log_norm(np.array([[1.0, -1.0], [0.0, 8.0]])))), 4)
        8.4853
    """
    xp = namespace(rows)
    size = xp.abs(rows)
    return 0.5 * (xp.log(size.sum(axis=0).max()) + xp.log(size.sum(axis=1).max()))


def log_residual(rows: Any) -> Any:
    r"""$\ln\|\mathrm{res}(X)\|_{1,\infty}$, centred by mean or median, whichever is less."""
    xp = namespace(rows)
    centred = rows - rows.mean(axis=0, keepdims=True)
    middle = centred - xp.median(centred, axis=0, keepdims=True)
    return xp.minimum(log_norm(centred), log_norm(middle))


def known_up_to(tokens: int) -> float:
    """$k$: the least residual lies between that of the mean over $k$ and that of the mean."""
    return 2 - 2 / tokens


def weight_size(query_key: Any, value: Any) -> Any:
    r"""$b = \|W_{QK}\|_1\|W_V\|_{1,\infty}$ of one head; the paper writes $\beta$."""
    xp = namespace(query_key)
    return xp.abs(query_key).sum(axis=0).max() * xp.exp(log_norm(value))


def collapse_bound(
    log_size: Any, weights: Any, width: Any, layers: int = 1, heads: int = 1,
    lipschitz: Any = 1.0,
) -> Any:  # fmt: skip
    r"""$\ln$ of $(4bH\lambda/\sqrt{d_{qk}})^{(3^L-1)/2}\|\mathrm{res}(X)\|^{3^L}$.

    Example:
        >>> round(float(collapse_bound(np.log(0.1), 1.0, 16, layers=2)), 4)
        -20.7233
    """
    xp = namespace(log_size, weights)
    base = xp.log(4 * weights * heads * lipschitz) - 0.5 * np.log(width)
    return (3**layers - 1) / 2 * base + 3**layers * log_size


def residual_range(scores: Any) -> Any:
    r"""$\max|E_{ij} - E_{ij'}|$: the published proof wants it at most 1.256.

    Example:
        >>> float(residual_range(np.array([[0.0, 1.0], [0.5, 0.25]])))
        1.0
    """
    return (scores.max(axis=1) - scores.min(axis=1)).max()


def spread_factor(scores: Any) -> Any:
    r"""$\Gamma = \sum_i\max_{jj'}|E_{ij}-E_{ij'}| \,/\, \max_{jj'}\sum_i|E_{ij}-E_{ij'}| \ge 1$.

    Example:
        >>> float(spread_factor(np.array([[1.0, 0.0], [0.0, 1.0]])))
        1.0
    """
    xp = namespace(scores)
    columns = scores.T
    apart = lambda column: xp.abs(columns - column[None, :]).sum(axis=1).max()
    if xp is np:
        most = max(map(apart, columns))
    else:  # column after column: all pairs at once would be n^3 numbers
        import jax

        most = jax.lax.map(apart, columns).max()
    return (scores.max(axis=1) - scores.min(axis=1)).sum() / most
