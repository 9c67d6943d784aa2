r"""Laws of one variable: a line, a logarithm, a power.

Each law is a straight line after a change of variables, fitted by least squares:

| law | curve | line |
|---|---|---|
| `linear` | $y = a + b x$ | $y$ on $x$ |
| `logarithmic` | $y = a + b \ln x$ | $y$ on $\ln x$ |
| `power` | $y = e^a x^b$ | $\ln y$ on $\ln x$ |

Intervals come from a bootstrap. Give `samples` (the points recomputed in every bootstrap draw over
trials, such as `Edge.draws`) and they speak of the noise of the trials; without it residuals are
resampled and they speak of the scatter of the points about the line.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from limelight._core.errors import InputError, suggest
from limelight.fit._inputs import Numbers, check_level, numbers
from limelight.fit.intervals import student_stretch
from limelight.fit.resample import DRAWS, percentile_interval

LawName = Literal["linear", "logarithmic", "power"]
LAWS: tuple[LawName, ...] = ("linear", "logarithmic", "power")

Matrix = Float[np.ndarray, "draws points"]
Vector = Float[np.ndarray, " points"]


@dataclass(frozen=True)
class Law:
    r"""A fitted law of one variable.

    Args:
        name: Which law.
        intercept: $a$; for a power the logarithm of the factor.
        slope: $b$; for a power the exponent.
        r_squared: Share of the variance explained, on the scale of the fit (of $\ln y$ for a
            power); NaN when there is no variance.
        intercept_interval: Bootstrap interval of the intercept.
        slope_interval: Bootstrap interval of the slope.
        r_squared_interval: Bootstrap interval of the share.
        n: Points it rests on.
        level: Confidence of the intervals.

    Example:
        >>> law = fit_law("power", [1.0, 2.0, 4.0, 8.0], [3.0, 6.0, 12.0, 24.0])
        >>> round(law.slope, 6)
        1.0
    """

    name: LawName
    intercept: float
    slope: float
    r_squared: float
    intercept_interval: tuple[float, float]
    slope_interval: tuple[float, float]
    r_squared_interval: tuple[float, float]
    n: int
    level: float

    def predict(self, x: Numbers) -> Float[np.ndarray, "..."]:
        """The law at the given places."""
        line = self.intercept + self.slope * across(self.name, numbers(x, "x"))
        return np.asarray(np.exp(line) if self.name == "power" else line)

    def __str__(self) -> str:
        low, high = self.slope_interval
        fit = f"slope {self.slope:.3g} [{low:.3g}, {high:.3g}], R2 {self.r_squared:.3f}"
        return f"{self.name}: {fit}, n = {self.n}"


def fit_law(
    law: LawName,
    x: Numbers,
    y: Numbers,
    level: float = 0.95,
    samples: Numbers | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Law:
    r"""Least squares for one law, with bootstrap intervals.

    Without `samples` the residuals, divided by $\sqrt{1 - h_i}$ (leverage $h_i$), are resampled,
    and the coefficients' deviations are stretched by $t_{n-2}/z$, which for normal scatter makes
    the percentile interval as wide as Student's.

    Args:
        law: Which law.
        x: Places; points whose x or y is not finite are left out.
        y: Values there.
        level: Confidence of the intervals; 0.9 is the 5th to the 95th percentile.
        samples: Values in every bootstrap draw over trials, draws by points. A draw leaves out its
            own points that are NaN; draws with fewer than three points count for nothing.
        draws: Bootstrap draws, when `samples` is not given.
        seed: Fixes the draws.

    Returns:
        The law; intervals are NaN when there are only two points and no samples.

    Example:
        >>> law = fit_law("power", [1, 2, 4], [3, 12, 48])
        >>> round(law.slope, 6), round(law.r_squared, 6)
        (2.0, 1.0)
    """
    check_level(level)
    place, value, drawn = points(x, y, samples)
    g, f = across(law, place), upright(law, value)
    coefficients, explained = line_fits(g, f[None])
    a, b = coefficients[0]
    if drawn is not None:
        repeats, shares = line_fits(g, upright(law, drawn))
    else:
        repeats, shares = _residual_draws(g, f, coefficients[0], draws, seed, level)
    low, high = percentile_interval(repeats, level)
    r_low, r_high = percentile_interval(shares, level)
    return Law(
        name=law,
        intercept=float(a),
        slope=float(b),
        r_squared=float(explained[0]),
        intercept_interval=(float(low[0]), float(high[0])),
        slope_interval=(float(low[1]), float(high[1])),
        r_squared_interval=(float(r_low), float(r_high)),
        n=len(g),
        level=level,
    )


def line_fits(
    g: Vector, f: Matrix
) -> tuple[Float[np.ndarray, "draws 2"], Float[np.ndarray, " draws"]]:
    """Straight lines of every row of `f` on `g`, by least squares: coefficients and R squared.

    A row leaves out its NaN; a row with fewer than three finite points, or with all of them at one
    place, gives NaN (two points are enough when the row has no more).
    """
    known = np.isfinite(f)
    w, f = known.astype(float), np.where(known, f, 0.0)
    total = w.sum(1)
    enough = total >= min(3, len(g))
    total = np.where(enough, total, 1.0)
    mean_g, mean_f = (w @ g) / total, f.sum(1) / total
    dg, df = w * (g - mean_g[:, None]), w * (f - mean_f[:, None])
    spread = (dg**2).sum(1)
    enough &= spread > 1e-20 * (1 + mean_g**2)
    slope = (dg * df).sum(1) / np.where(enough, spread, 1.0)
    residual = df - slope[:, None] * dg
    variance = (df**2).sum(1)
    flat = variance <= 1e-28 * total * (1 + mean_f**2)
    share = 1 - (residual**2).sum(1) / np.where(flat, 1.0, variance)
    coefficients = np.stack([mean_f - slope * mean_g, slope], axis=1)
    return np.where(enough[:, None], coefficients, np.nan), np.where(enough & ~flat, share, np.nan)


def squares_left(x: Vector, y: Matrix) -> Float[np.ndarray, " draws"]:
    """Sum of the squares that a straight line in `x`, by least squares, leaves of every row of `y`.

    Example:
        >>> squares_left(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 3.0, 0.0]])).round(6)
        array([6.])
    """
    a, b = line_fits(x, y)[0].T
    return ((y - a[:, None] - b[:, None] * x) ** 2).sum(axis=1)


def across(law: LawName, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The variable a law is a straight line in: $x$ or its logarithm."""
    if law not in LAWS:
        raise InputError(f"there is no law {law!r}", suggest(law, list(LAWS)))
    if law == "linear":
        return x
    if (x <= 0).any():
        raise InputError(f"a {law} law needs positive x")
    return np.asarray(np.log(x))


def upright(law: LawName, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The scale a law is fitted on: $y$, or its logarithm for a power; NaN stays NaN."""
    if law != "power":
        return y
    if (y <= 0).any():
        raise InputError("a power law needs positive y")
    return np.asarray(np.log(y))


def points(x: Numbers, y: Numbers, samples: Numbers | None):
    """Finite points, and the samples at them; refuses shapes that do not match."""
    place, value = numbers(x, "x"), numbers(y, "y")
    if place.ndim != 1 or place.shape != value.shape:
        raise InputError(f"x {place.shape} and y {value.shape} must be two lists of one length")
    known = np.isfinite(place) & np.isfinite(value)
    if len(np.unique(place[known])) < 2:
        raise InputError("a law needs at least two different x with a finite y")
    if samples is None:
        return place[known], value[known], None
    drawn = numbers(samples, "samples")
    if drawn.ndim != 2 or drawn.shape[1] != place.size or not len(drawn):
        raise InputError(f"samples {drawn.shape} must be draws by {place.size} points")
    drawn = np.where(np.isfinite(drawn), drawn, np.nan)
    return place[known], value[known], drawn[:, known]


def _residual_draws(g: Vector, f: Vector, coefficients, draws: int, seed: int, level: float):
    n, (a, b) = len(g), coefficients
    if n < 3:
        return np.full((1, 2), np.nan), np.full(1, np.nan)
    line = a + b * g
    leverage = 1 / n + (g - g.mean()) ** 2 / ((g - g.mean()) ** 2).sum()
    residual = (f - line) / np.sqrt(np.maximum(1 - leverage, 1e-12))
    residual = residual - residual.mean()
    picked = np.random.default_rng(seed).integers(n, size=(draws, n))
    found, shares = line_fits(g, line + residual[picked])
    return coefficients + student_stretch(n - 2, level) * (found - coefficients), shares
