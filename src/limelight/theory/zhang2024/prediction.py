r"""How far a trained layer's prediction is off, at any length of the prompt.

With $A = \Gamma^{-1}$ and test pairs of the training covariance, $a = \Lambda^{-1}E[xy]$ and
$\Sigma = \mathrm{Cov}(xy)$:

$$E(\hat y - y_q)^2 = \min_u E(u^\top x - y)^2 + \frac1M\mathrm{tr}(\Sigma\Gamma^{-2}\Lambda)
  + \frac1{N^2} a^\top\Gamma^{-2}\Lambda(\Lambda + \mathrm{tr}\Lambda\, I)^2 a.$$

Reference: zhang2024, Theorem 4.2.
"""

from typing import NamedTuple

import numpy as np

from limelight._core.arrays import Real
from limelight.theory.zhang2024.population import gamma


class ErrorParts(NamedTuple):
    """The three parts of a prediction error.

    Args:
        best: Error of the best linear predictor.
        short: What a prompt of one example adds; it falls as 1 / length.
        bias: What training at a finite length leaves, however long the prompt.

    Example:
        >>> ErrorParts(best=0.1, short=2.0, bias=0.05).at(length=20)
        0.25
    """

    best: float
    short: float
    bias: float

    def at(self, length: Real) -> float:
        """The error at a length."""
        return float(self.best + self.short / length + self.bias)


def error_of(
    spectrum: np.ndarray,
    examples: Real,
    best: Real,
    second: np.ndarray,
    coefficients: np.ndarray,
) -> ErrorParts:
    r"""The three parts for any law of $y$ given $x$.

    Args:
        spectrum: Eigenvalues of $\Lambda$.
        examples: $N$ of the training.
        best: $\min_u E(u^\top x - y)^2$.
        second: The diagonal of $\Sigma$.
        coefficients: The diagonal of $E aa^\top$.
    """
    weight = spectrum / gamma(spectrum, examples) ** 2
    left = weight * (spectrum + spectrum.sum()) ** 2 / examples**2
    return ErrorParts(best, float((second * weight).sum()), float((left * coefficients).sum()))


def random_tasks(spectrum: np.ndarray, examples: Real, noise: Real = 0.0) -> ErrorParts:
    r"""$y = w^\top x + \sigma\epsilon$ with $w \sim N(0, I)$.

    Example:
        >>> random_tasks(np.array([1.0]), 2)  # gamma = 2: (1 + 1)/4, and (1 + 1)^2/(4 * 2^2)
        ErrorParts(best=0.0, short=0.5, bias=0.25)
    """
    second = (spectrum.sum() + noise**2) * spectrum + spectrum**2
    return error_of(spectrum, examples, noise**2, second, np.ones_like(spectrum))


def one_task(
    spectrum: np.ndarray,
    examples: Real,
    task: np.ndarray,
    noise: Real = 0.0,
    response: str = "linear",
) -> ErrorParts:
    r"""$y = f(w^\top x) + \sigma\epsilon$ for one $w$, with $f$ linear, the sign or the cube.

    Example:
        >>> one_task(np.array([1.0]), 2, np.array([3.0]))  # nine times that of a unit task
        ErrorParts(best=0.0, short=4.5, bias=2.25)
        >>> signs = one_task(np.array([1.0]), 2, np.array([3.0]), response="sign")
        >>> round(signs.best, 4)  # 1 - 2/pi
        0.3634
    """
    q = float((spectrum * task**2).sum())
    along = (spectrum * task) ** 2  # the diagonal of $\Lambda ww^\top\Lambda$
    best, first, second = {
        "linear": (0.0, 1.0, q * spectrum + along),
        "sign": (1 - 2 / np.pi, np.sqrt(2 / (np.pi * q)), spectrum - 2 / np.pi * along / q),
        "cube": (6 * q**3, 3 * q, 15 * q**3 * spectrum + 81 * q**2 * along),
    }[response]
    second = second + noise**2 * spectrum
    return error_of(spectrum, examples, best + noise**2, second, (first * task) ** 2)


def useless_length(spectrum: np.ndarray, examples: Real) -> float:
    r"""$M_0$: a shorter prompt is worse than none, its prediction worse than 0.

    Example:
        >>> round(useless_length(np.array([0.4, 0.3, 0.2, 0.1]), 31), 6)
        3.648361
    """
    error = random_tasks(spectrum, examples)
    return error.short / (float(spectrum.sum()) - error.bias)
