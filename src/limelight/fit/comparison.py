r"""Which of several sets of predictors describes the data best.

Candidates are ranked by their leave-one-out error, which needs no formula for the number of
parameters. How firm the ranking is, the bootstrap says: the share of draws in which each candidate
comes first.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from limelight._core.errors import InputError
from limelight.fit._inputs import Numbers, numbers
from limelight.fit.laws import Matrix

Design = Float[np.ndarray, "points coefficients"]


@dataclass(frozen=True)
class Candidate:
    """One candidate of a comparison.

    Args:
        name: Which.
        error: Leave-one-out root mean squared error.
        r_squared: Share of the variance explained.
        share: Share of bootstrap draws in which it has the smallest error.

    Example:
        >>> import limelight as ll
        >>> ll.fit.Candidate("alpha", error=0.1, r_squared=0.9, share=0.8).name
        'alpha'
    """

    name: str
    error: float
    r_squared: float
    share: float


def compare_predictors(
    predictors: Mapping[str, Numbers], y: Numbers, samples: Numbers
) -> list[Candidate]:
    """Rank sets of predictors of `y`, each by least squares with an intercept; best first.

    For power laws of several variables give logarithms of both sides.

    Args:
        predictors: Name to one column (points) or several (points by columns).
        y: Values.
        samples: Values in every bootstrap draw over trials, draws by points.

    Example:
        >>> a, b = np.arange(8.0), np.array([0.0, 1, 0, 1, 0, 1, 0, 1])
        >>> y = 2 * a + 0.1 * b
        >>> best, _ = compare_predictors({"a": a, "b": b}, y, samples=[y, y])
        >>> best.name, best.share
        ('a', 1.0)
    """
    values = numbers(y, "y")
    if values.ndim != 1:
        raise InputError("y must be one list of numbers")
    if not predictors:
        raise InputError("there is nothing to compare", "name at least one candidate")
    columns = {}
    for name, given in predictors.items():
        column = numbers(given, name)
        if column.ndim not in (1, 2) or len(column) != len(values):
            raise InputError(f"predictor {name!r} has not one row per point")
        columns[name] = column.reshape(len(values), -1)
    known = np.isfinite(values)
    for column in columns.values():
        known &= np.isfinite(column).all(axis=1)
    drawn = numbers(samples, "samples")
    if drawn.ndim != 2 or drawn.shape[1] != len(values) or not len(drawn):
        raise InputError(f"samples {drawn.shape} must be draws by {len(values)} points")
    ones = np.ones((known.sum(), 1))
    designs = {name: np.hstack([ones, column[known]]) for name, column in columns.items()}
    return _rank(designs, values[known], drawn[:, known])


def _rank(designs: Mapping[str, Design], y: np.ndarray, samples: Matrix) -> list[Candidate]:
    largest = max(design.shape[1] for design in designs.values())
    if len(y) < largest + 2:
        raise InputError(f"{len(y)} points are too few to compare {largest} coefficients")
    weights = np.isfinite(samples).astype(float)
    drawn = np.where(weights > 0, samples, y)
    seen = [_score(design, y[None], np.ones((1, len(y)))) for design in designs.values()]
    wins = _wins(np.stack([_score(design, drawn, weights)[0] for design in designs.values()]))
    found = [
        Candidate(name, float(error[0]), float(explained[0]), float(win))
        for name, (error, explained), win in zip(designs, seen, wins, strict=True)
    ]
    return sorted(found, key=lambda candidate: candidate.error)


def _wins(errors: Float[np.ndarray, "candidates draws"]) -> Float[np.ndarray, " candidates"]:
    """Share of draws each candidate wins, among the draws that can be scored for all."""
    scored = np.isfinite(errors).all(axis=0)
    if not scored.any():
        return np.full(len(errors), np.nan)
    first = errors[:, scored].argmin(axis=0)
    return np.bincount(first, minlength=len(errors)) / scored.sum()


def _score(a: Design, y: Matrix, w: Matrix):
    r"""Leave-one-out error and R squared of every draw, by weighted least squares.

    Leaving out point $i$ with all its weight turns its residual $e_i$ into
    $e_i/(1 - w_i a_i^\top (A^\top W A)^{-1} a_i)$.
    """
    gram = np.einsum("pi,dp,pj->dij", a, w, a)
    inverse = np.linalg.pinv(gram, hermitian=True)
    beta = np.einsum("dij,pj,dp->di", inverse, a, w * y)
    left = 1 - w * np.einsum("pi,dij,pj->dp", a, inverse, a)
    residual = y - beta @ a.T
    alone = (w > 0) & (left < 1e-9)
    unseen = residual / np.where(alone | (w == 0), 1.0, left)
    total = w.sum(1)
    error = np.sqrt((w * unseen**2).sum(1) / total)
    mean = (w * y).sum(1) / total
    spread = (w * (y - mean[:, None]) ** 2).sum(1)
    share = 1 - (w * residual**2).sum(1) / np.where(spread > 0, spread, np.nan)
    return np.where(alone.any(1), np.nan, error), share
