r"""Which of several laws, or of several predictors, describes the data best.

Candidates are ranked by their leave-one-out error, which needs no formula for the number of
parameters; Akaike's criterion stands beside it. How firm the ranking is, the bootstrap says: the
share of draws in which each candidate comes first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from limelight.core.errors import InputError
from limelight.fit.inputs import Numbers, numbers
from limelight.fit.laws import LAWS, LawName, Matrix, across, points, upright
from limelight.fit.resample import DRAWS, trial_weights

Design = Float[np.ndarray, "points coefficients"]


@dataclass(frozen=True)
class Candidate:
    """One candidate of a comparison.

    Args:
        name: Which.
        error: Leave-one-out root mean squared error.
        aic: Akaike's criterion; smaller is better.
        r_squared: Share of the variance explained, on the scale of the errors.
        share: Share of bootstrap draws in which it has the smallest error.
    """

    name: str
    error: float
    aic: float
    r_squared: float
    share: float


@dataclass(frozen=True)
class Comparison:
    """Candidates, best first."""

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The candidate with the smallest leave-one-out error."""
        return self.candidates[0]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __getitem__(self, name: str) -> Candidate:
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise InputError(f"there is no candidate {name!r}")

    def __str__(self) -> str:
        rows = (
            f"{c.name}: error {c.error:.3g}, AIC {c.aic:.4g}, R2 {c.r_squared:.3f}, "
            f"best in {c.share:.0%}"
            for c in self.candidates
        )
        return "\n".join(rows)


def compare(
    x: Numbers,
    y: Numbers,
    laws: Sequence[LawName] = LAWS,
    samples: Numbers | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    r"""Rank laws of one variable by how well they foretell a point they have not seen.

    Errors are on the scale of $y$ for all laws. A power is fitted on logarithms and its prediction
    taken back; its AIC is that of log-normal scatter, with the change of variables counted.

    Args:
        x: Places.
        y: Values there.
        laws: Which laws.
        samples: Values in every bootstrap draw over trials, draws by points. Without it points are
            resampled, and a point is left out with all its copies.
        draws: Bootstrap draws, when `samples` is not given.
        seed: Fixes the draws.

    Returns:
        The candidates, best first.

    Example:
        >>> x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
        >>> compare(x, 3 * x**2, draws=50).best.name
        'power'
    """
    place, value, drawn = points(x, y, samples)
    if "power" in laws and (value <= 0).any():
        raise InputError("a power law needs positive y", 'laws=("linear", "logarithmic")')
    fits = {law: (_design(across(law, place)[:, None]), law == "power") for law in laws}
    return _rank(fits, value, drawn, draws, seed)


def compare_predictors(
    predictors: Mapping[str, Numbers],
    y: Numbers,
    samples: Numbers | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """Rank sets of predictors of `y`, each by least squares with an intercept.

    For power laws of several variables give logarithms of both sides.

    Args:
        predictors: Name to one column (points) or several (points by columns).
        y: Values.
        samples: Values in every bootstrap draw over trials, draws by points.
        draws: Bootstrap draws, when `samples` is not given.
        seed: Fixes the draws.

    Returns:
        The candidates, best first.

    Example:
        >>> a, b = np.arange(8.0), np.array([0.0, 1, 0, 1, 0, 1, 0, 1])
        >>> ranked = compare_predictors({"a": a, "b": b}, 2 * a + 0.1 * b, draws=50)
        >>> ranked.best.name, ranked.best.share
        ('a', 1.0)
    """
    values = numbers(y, "y")
    if values.ndim != 1:
        raise InputError("y must be one list of numbers")
    columns = {}
    for name, given in predictors.items():
        column = numbers(given, name)
        if column.ndim not in (1, 2) or len(column) != len(values):
            raise InputError(f"predictor {name!r} has not one row a point")
        columns[name] = column.reshape(len(values), -1)
    known = np.isfinite(values)
    for column in columns.values():
        known &= np.isfinite(column).all(axis=1)
    _, _, drawn = points(np.arange(len(values), dtype=float), values, samples)
    drawn = None if drawn is None else drawn[:, known[np.isfinite(values)]]
    fits = {name: (_design(column[known]), False) for name, column in columns.items()}
    return _rank(fits, values[known], drawn, draws, seed)


def _design(columns: Float[np.ndarray, "points columns"]) -> Design:
    return np.concatenate([np.ones((len(columns), 1)), columns], axis=1)


def _rank(
    fits: Mapping[str, tuple[Design, bool]],
    y: Float[np.ndarray, " points"],
    samples: Matrix | None,
    draws: int,
    seed: int,
) -> Comparison:
    if not fits:
        raise InputError("there is nothing to compare", "name at least one candidate")
    largest = max(design.shape[1] for design, _ in fits.values())
    if len(y) < largest + 2:
        raise InputError(f"{len(y)} points are too few to compare {largest} coefficients")
    once = np.ones((1, len(y)))
    if samples is None:
        many_y, many_w = np.broadcast_to(y, (draws, len(y))), trial_weights(len(y), draws, seed)
    else:
        many_w = np.isfinite(samples).astype(float)
        many_y = np.where(many_w > 0, samples, y)
    found, errors = [], []
    for name, (design, logs) in fits.items():
        error, aic, share = _score(design, y[None], once, logs)
        found.append((name, float(error[0]), float(aic[0]), float(share[0])))
        errors.append(_score(design, many_y, many_w, logs)[0])
    wins = _wins(np.stack(errors))
    rows = [Candidate(*row, share=float(win)) for row, win in zip(found, wins, strict=True)]
    return Comparison(tuple(sorted(rows, key=lambda row: row.error)))


def _wins(errors: Float[np.ndarray, "candidates draws"]) -> Float[np.ndarray, " candidates"]:
    """Share of draws each candidate wins, among the draws that can be scored for all."""
    scored = np.isfinite(errors).all(axis=0)
    if not scored.any():
        return np.full(len(errors), np.nan)
    first = errors[:, scored].argmin(axis=0)
    return np.bincount(first, minlength=len(errors)) / scored.sum()


def _score(a: Design, y: Matrix, w: Matrix, logs: bool):
    r"""Leave-one-out error, AIC and R squared of every draw, by weighted least squares.

    Leaving out point $i$ with all its weight turns its residual $e_i$ into
    $e_i/(1 - w_i a_i^\top (A^\top W A)^{-1} a_i)$.
    """
    f = upright("power", y) if logs else y
    gram = np.einsum("pi,dp,pj->dij", a, w, a)
    inverse = np.linalg.pinv(gram, hermitian=True)
    beta = np.einsum("dij,pj,dp->di", inverse, a, w * f)
    left = 1 - w * np.einsum("pi,dij,pj->dp", a, inverse, a)
    residual = f - beta @ a.T
    alone = (w > 0) & (left < 1e-9)
    unseen = residual / np.where(alone | (w == 0), 1.0, left)
    wrong = y - np.exp(f - unseen) if logs else unseen
    total = w.sum(1)
    error = np.sqrt((w * wrong**2).sum(1) / total)
    fitted = (w * residual**2).sum(1)
    jacobian = 2 * (w * f).sum(1) if logs else 0.0
    with np.errstate(divide="ignore"):
        aic = total * np.log(fitted / total) + 2 * (a.shape[1] + 1) + jacobian
    shown = y - np.exp(beta @ a.T) if logs else residual
    mean = (w * y).sum(1) / total
    spread = (w * (y - mean[:, None]) ** 2).sum(1)
    share = 1 - (w * shown**2).sum(1) / np.where(spread > 0, spread, np.nan)
    return np.where(alone.any(1), np.nan, error), aic, share
