r"""The loss of linear attention on linear regression, exactly, as a quadratic form.

A layer of linear attention predicts $\hat y = x_q^\top A \beta$ with
$\beta = \frac1N\sum_i y_i x_i$: the matrix $A$ is the whole trained function. For
$x \sim N(0, \Lambda)$ and $w \sim N(0, I)$

$$L(A) = \mathrm{tr}\Lambda - 2\,\mathrm{tr}(A\Lambda^2)
  + \mathrm{tr}(\Lambda A\Lambda\Gamma A^\top),
  \qquad \Gamma = (1 + \tfrac1N)\Lambda + \tfrac{\mathrm{tr}\Lambda}{N} I.$$

Everything here works on arrays of NumPy and of JAX.

Reference: zhang2024, Section 5.1 and Theorem 4.1; the levels are those of Zhang et al. (2025).
"""

from typing import Any, NamedTuple

import numpy as np

#: A spectrum with large gaps, for tests of convergence; repeated in larger dimensions.
UNEVEN = (1.5, 1.0, 0.7, 0.4, 0.2)


def linear_spectrum(dimension: int, spread: Any) -> Any:
    r"""Eigenvalues $\frac1d(1 + g\frac{d+1-2i}{d-1})$: evenly spaced, trace 1, white at $g = 0$.

    Example:
        >>> linear_spectrum(4, 0.6)
        array([0.4, 0.3, 0.2, 0.1])
    """
    return (1 + spread * np.linspace(1, -1, dimension)) / dimension


def uneven_spectrum(dimension: int) -> np.ndarray:
    """`UNEVEN`, repeated, falling."""
    return np.sort(np.resize(UNEVEN, dimension))[::-1].copy()


def gamma(spectrum: Any, examples: Any) -> Any:
    r"""Eigenvalues of $\Gamma = (1 + \frac1N)\Lambda + \frac{\mathrm{tr}\Lambda}{N} I$.

    Example:
        >>> gamma(np.array([0.5, 0.5]), 2)
        array([1.25, 1.25])
    """
    return (1 + 1 / examples) * spectrum + spectrum.sum() / examples


class PromptLoss(NamedTuple):
    r"""$L(A) = c - 2\sum_i b_i A_{ii} + \sum_{ij} K_{ij} A_{ij}^2$, in the eigenbasis of $\Lambda$.

    Args:
        constant: $c$, the loss of predicting 0.
        slope: $b$.
        curvature: $K$.

    Example:
        >>> loss = one_covariance(np.array([1.0]), 2)  # gamma = 1 + 1/2 + 1/2
        >>> loss.minimum, loss.levels
        (array([0.5]), array([1. , 0.5]))
        >>> loss.loss(np.array([[0.5]])), loss.excess(np.array([[0.5]]))
        (np.float64(0.5), np.float64(0.0))
    """

    constant: Any
    slope: Any
    curvature: Any

    def loss(self, matrix: Any) -> Any:
        """The loss."""
        linear = (self.slope * matrix.diagonal()).sum()
        return self.constant - 2 * linear + (self.curvature * matrix**2).sum()

    def pull(self, matrix: Any) -> Any:
        r"""$G = -\frac12 \partial L/\partial A$, which moves every parametrization."""
        return np.eye(len(self.slope)) * self.slope[:, None] - self.curvature * matrix

    @property
    def minimum(self) -> Any:
        r"""The diagonal of the best $A$: $\Gamma^{-1}$ for one covariance."""
        return self.slope / self.curvature.diagonal()

    @property
    def levels(self) -> Any:
        """The loss with the $m$ leading eigenvectors learned, $m = 0, …, d$."""
        gains = self.slope * self.minimum
        return self.constant - np.tri(len(gains) + 1, len(gains), -1) @ gains

    def excess(self, matrix: Any) -> Any:
        """Loss above the least one, without the cancellation of a difference."""
        off = matrix - np.eye(len(self.slope)) * self.minimum[:, None]
        return (self.curvature * off**2).sum()


def one_covariance(spectrum: Any, examples: Any) -> PromptLoss:
    r"""Prompts of one covariance: $b_i = \lambda_i^2$, $K_{ij} = \lambda_i \lambda_j \gamma_j$.

    Example:
        >>> one_covariance(np.ones(5), 10).levels[-1]  # d (d + 1) / (N + d + 1)
        np.float64(1.875)
    """
    weighed = spectrum * gamma(spectrum, examples)
    return PromptLoss(spectrum.sum(), spectrum**2, spectrum[:, None] * weighed[None, :])


def exponential_covariances(dimension: int, examples: Any) -> PromptLoss:
    r"""A fresh diagonal covariance per prompt, eigenvalues Exponential(1): moments by hand.

    $E\lambda_i^2 = 2$, $E\lambda_i^2\gamma_i = 6 + (2d + 10)/N$,
    $E\lambda_i\lambda_j\gamma_j = 2 + (d + 4)/N$.

    Example:
        >>> exponential_covariances(2, 14).curvature  # 6 + 14/14, 2 + 6/14
        array([[7.        , 2.42857143],
               [2.42857143, 7.        ]])
    """
    d, same = dimension, np.eye(dimension)
    inside, across = 6 + (2 * d + 10) / examples, 2 + (d + 4) / examples
    return PromptLoss(float(d), 2 * np.ones(d), same * inside + (1 - same) * across)


# --- any covariance ---------------------------------------------------------------------------


def loss(matrix: Any, covariance: Any, examples: Any) -> Any:
    """The loss of $A$ for a covariance that need not be diagonal."""
    return risk(matrix, covariance, covariance, np.eye(len(covariance)), examples)


def pull(matrix: Any, covariance: Any, examples: Any) -> Any:
    r"""$\Lambda^2 - \Lambda A\Lambda\Gamma$ for a covariance that need not be diagonal."""
    trace = covariance.trace() / examples
    big = (1 + 1 / examples) * covariance + trace * np.eye(len(covariance))
    return covariance @ covariance - covariance @ matrix @ covariance @ big


def risk(matrix: Any, context: Any, query: Any, task: Any, length: Any) -> Any:
    r"""The error of $A$ on other prompts than those of its training.

    $$\mathrm{tr}(S_qW) - 2\,\mathrm{tr}(S_qASW)
      + \mathrm{tr}\big(S_qA[SWS + \tfrac1M(\mathrm{tr}(WS)S + SWS)]A^\top\big)$$

    Args:
        matrix: $A$.
        context: $S$, covariance of the covariates of the prompt.
        query: $S_q$, covariance of the query.
        task: $W = E ww^\top$.
        length: $M$, examples of the prompt.

    Example:
        >>> one = np.eye(1)
        >>> risk(0.5 * one, one, one, one, 2)  # 1 - 2/2 + (1 + 2/2)/4
        np.float64(0.5)
        >>> risk(one, one, one, one, 1e9) < 1e-8  # a long prompt, and the inverse of the covariance
        np.True_
    """
    seen = context @ task @ context
    seen = seen + ((task @ context).trace() * context + seen) / length
    read = query @ matrix
    wanted = (query @ task).trace() - 2 * (read @ context @ task).trace()
    return wanted + (read @ seen @ matrix.T).trace()
