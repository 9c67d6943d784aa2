r"""What is stated of linear attention on linear regression, with every condition evaluated.

The theorems are zhang2024's; `abrupt_drop`, `plateau_levels` and `long_plateaus` speak of its
sequel (Zhang et al. 2025), `useless_prompts` is ours. Neither paper was at hand as a whole: what is
stated was derived again here, and the tests compare it with draws and with trained layers.
"""

import math

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.zhang2024.dynamics import half_way, wait
from limelight.theory.zhang2024.population import (
    exponential_covariances,
    gamma,
    linear_spectrum,
    one_covariance,
    risk,
)
from limelight.theory.zhang2024.prediction import one_task, random_tasks, useless_length

DERIVED = "recalled, then derived again here: the paper was not at hand as a whole"


def global_minimum(dimension: int = 4, examples: int = 31, spread: Real = 0.6) -> Bound:
    r"""The least population loss, attained at $A = \Gamma^{-1}$ alone.

    $$\min_A L = \sum_i \lambda_i\Big(1 - \frac{\lambda_i}{\gamma_i}\Big)$$

    Reference: zhang2024, Section 5.1 and Theorem 4.1.
    """
    spectrum = _spectrum(dimension, spread)
    bend = gamma(spectrum, examples)
    return Bound(
        name="least loss",
        value=float(one_covariance(spectrum, examples).levels[-1]),
        kind="exact",
        conditions=(*_law(spectrum, examples), Condition("noise of the labels", 0, "==", 0)),
        quantities={
            "loss of predicting 0": float(spectrum.sum()),
            "largest eigenvalue of A": float(1 / bend.min()),
            "smallest eigenvalue of A": float(1 / bend.max()),
        },
        notes=(DERIVED,),
        reference="zhang2024, Section 5.1 and Theorem 4.1",
    )


def convergence(
    dimension: int = 4, examples: int = 31, spread: Real = 0.6, scale: Real = 0.5
) -> Bound:
    r"""Where gradient flow ends: $v \to \mathrm{tr}(\Gamma^{-2})^{1/4}$, $A \to \Gamma^{-1}$.

    The start is $v = \sigma$, $W_{KQ} = \sigma\Theta\Theta^\top$ with
    $\|\Theta\Theta^\top\|_F = 1$ and $\Theta\Lambda \ne 0$.

    Departures: the bound on $\sigma$ makes the first loss smaller than that of predicting 0, so
        that $v$ keeps its sign; this is all that it does. Starts six times as large end there too,
        and $v = -\sigma$ with a random $\Theta$ ends at the mirror image. Not every start does:
        $v = -\sigma$ with $\Theta\Theta^\top = I/\sqrt d$ on a white covariance ends at $A = 0$.

    Reference: zhang2024, Theorem 4.1.
    """
    spectrum = _spectrum(dimension, spread)
    bend = gamma(spectrum, examples)
    left = scale**2 * float(bend.max()) * math.sqrt(dimension)
    return Bound(
        name="v at the end",
        value=float((bend**-2.0).sum() ** 0.25),
        kind="exact",
        conditions=(
            *_law(spectrum, examples),
            Condition("a positive start", scale, ">", 0),
            Condition("sigma^2 |Gamma| sqrt(d)", left, "<", 2, "sufficient, not needed"),
        ),
        quantities={
            "largest admissible sigma": math.sqrt(2 / (float(bend.max()) * math.sqrt(dimension))),
            "least loss": float(one_covariance(spectrum, examples).levels[-1]),
        },
        notes=("limelight show zhang2024 minimum: the flow, below the bound and above it", DERIVED),
        reference="zhang2024, Theorem 4.1",
    )


def prediction_error(
    dimension: int = 4,
    examples: int = 31,
    spread: Real = 0.6,
    length: int = 50,
    noise: Real = 0.0,
    response: str = "linear",
) -> Bound:
    r"""The error of the trained layer on a prompt of any length, an equality.

    The error of the best linear predictor, plus a term of order $1/M$ for a short prompt, plus a
    bias of order $1/N^2$ that a longer prompt does not remove.

    Departures: for `sign` and `cube` the task is $w \propto (1, …, 1)$ with $w^\top\Lambda w = 1$.

    Reference: zhang2024, Theorem 4.2.
    """
    if response not in ("linear", "sign", "cube"):
        raise InputError(f"response cannot be {response!r}", "linear, sign or cube")
    spectrum = _spectrum(dimension, spread)
    task = np.ones(dimension) / math.sqrt(float(spectrum.sum()))
    parts = (
        random_tasks(spectrum, examples, noise)
        if response == "linear"
        else one_task(spectrum, examples, task, noise, response)
    )
    return Bound(
        name="prediction error",
        value=parts.at(length),
        kind="exact",
        conditions=(
            *_law(spectrum, examples),
            Condition("examples of the prompt", length, ">=", 1),
            Condition("noise", noise, ">=", 0),
        ),
        quantities={
            "error of the best linear predictor": float(parts.best),
            "added by a short prompt": parts.short / length,
            "bias of training at a finite length": parts.bias,
        },
        notes=(
            "covariates must have the covariance of the training: covariate-shift has others",
            "least squares errs 0 without noise from M = d on; the layer does not",
            DERIVED,
        ),
        reference="zhang2024, Theorem 4.2",
    )


def query_shift(
    dimension: int = 4, examples: int = 1000, spread: Real = 0.6, length: int = 1000
) -> Bound:
    r"""The error with queries of the spectrum (.1, .2, .3, .9), repeated, or tasks (4, 0, 1, .1).

    A query that is independent of the prompt may have any covariance, a task any law: both excess
    terms vanish with $M$ and $N$. A query that depends on the prompt is not covered: orthogonal to
    its span on a white covariance the prediction is 0.

    Reference: zhang2024, Section 4.2.
    """
    spectrum = _spectrum(dimension, spread)
    layer, cov = np.diag(1 / gamma(spectrum, examples)), np.diag(spectrum)
    query = np.diag(np.resize((0.1, 0.2, 0.3, 0.9), dimension))
    task = np.diag(np.resize((4.0, 0.0, 1.0, 0.1), dimension))
    found = float(risk(layer, cov, query, np.eye(dimension), length) / np.trace(query))
    return Bound(
        name="error over the mean square asked for, other queries",
        value=found,
        kind="exact",
        conditions=(*_law(spectrum, examples), Condition("length", length, ">=", 1)),
        quantities={
            "the same for other tasks": float(
                risk(layer, cov, cov, task, length) / np.trace(cov @ task)
            ),
        },
        notes=("the query must be independent of the prompt", DERIVED),
        reference="zhang2024, Section 4.2",
    )


def covariate_shift(
    dimension: int = 4,
    examples: int = 1000,
    spread: Real = 0.6,
    length: int = 1000,
    factor: Real = 2.0,
) -> Bound:
    r"""The relative error where all covariates have covariance $c\Lambda$: it tends to $(1 - c)^2$.

    It is the squared error over the mean square of what is asked for.

    In the limit $\hat y = x_q^\top\Lambda^{-1}\Lambda_x w$, which is $c$ times the target.

    Departures: the paper says that the layer fails; the limit and its speed are derived here.

    Reference: zhang2024, Section 4.2.
    """
    spectrum = _spectrum(dimension, spread)
    layer, cov = np.diag(1 / gamma(spectrum, examples)), factor * np.diag(spectrum)
    back = np.diag(spectrum[::-1])
    found = float(risk(layer, cov, cov, np.eye(dimension), length) / np.trace(cov))
    return Bound(
        name="error over the mean square asked for",
        value=found,
        kind="exact",
        conditions=(
            *_law(spectrum, examples),
            Condition("length", length, ">=", 1),
            Condition("c", factor, ">", 0),
        ),
        quantities={
            "its limit, (1 - c)^2": (1 - factor) ** 2,
            "with the spectrum backwards": float(
                risk(layer, back, back, np.eye(dimension), length) / np.trace(back)
            ),
            "least squares": max(1 - length / dimension, 0.0),
        },
        notes=("least squares from M = d on is exact whatever the covariance", DERIVED),
        reference="zhang2024, Section 4.2",
    )


def random_covariances(dimension: int = 4, examples: int = 1000, scale: Real = 0.1) -> Bound:
    r"""The least loss where every prompt has a fresh covariance, eigenvalues Exponential(1).

    The flow ends at $A = (E\,\Gamma_\tau\Lambda_\tau^2)^{-1} E\Lambda_\tau^2$, here $2/(6 + (2d +
    10)/N)$ times the identity: a third of the signal is lost however long the prompts.

    Departures: the start $v = \sigma$, $U = \sigma I/\sqrt d$ and the printed bound on $\sigma$
        were recalled, not read. What is needed for the first loss to lie below that of predicting
        0 is derived here, $\sigma^2 < 2\sqrt d\,\mathrm{tr}E\Lambda^2/\mathrm{tr}E\Gamma\Lambda^2$;
        the recalled bound is smaller by a factor of $d$ or more, so it suffices.

    Reference: zhang2024, Theorem 4.5.
    """
    law = exponential_covariances(dimension, examples)
    needed = 2 * math.sqrt(dimension) * float(law.slope.sum() / law.curvature.trace())
    return Bound(
        name="least loss",
        value=float(law.levels[-1]),
        kind="exact",
        conditions=(
            Condition("examples", examples, ">=", 1),
            Condition("a positive start", scale, ">", 0),
            Condition(
                "sigma^2", scale**2, "<", needed, "derived; the printed bound was not at hand"
            ),
        ),
        quantities={
            "loss of predicting 0": float(dimension),
            "A, times the identity": float(law.minimum[0]),
            "share of the signal that is lost": float(law.levels[-1]) / dimension,
            "that share in the limit": 1 / 3,
        },
        notes=(DERIVED,),
        reference="zhang2024, Theorem 4.5",
    )


def useless_prompts(dimension: int = 4, examples: int = 31, spread: Real = 0.6) -> Bound:
    r"""$M_0$: with fewer examples the layer's prediction is worse than 0.

    $M_0 = V/(\mathrm{tr}\Lambda - b)$ with $V/M$ and $b$ the two excess terms of Theorem 4.2; as
    $N \to \infty$ it tends to $d + 1$ for every covariance.

    Reference: limelight, from zhang2024, Theorem 4.2.
    """
    spectrum = _spectrum(dimension, spread)
    return Bound(
        name="examples below which a prompt is worse than none",
        value=useless_length(spectrum, examples),
        kind="exact",
        conditions=_law(spectrum, examples),
        quantities={
            "its limit for long training prompts": dimension + 1,
            "bias": random_tasks(spectrum, examples).bias,
        },
        reference="limelight, from zhang2024, Theorem 4.2",
    )


def abrupt_drop(
    dimension: int = 4, examples: int = 31, spread: Real = 0.0, scale: Real = 1e-3
) -> Bound:
    r"""Merged keys and queries: when the drop is half-way, $\ln(1/s)/\|\Lambda^2\|_F + O(1)$.

    On a white covariance, from $v = s$, $U = sI/\sqrt d$, it is exact.

    Departures: the two fixed points are two sets: $v_h = 0$ leaves $U_h$ free on a hyperplane. The
        drop is abrupt on a white covariance; a wide spectrum has a long smooth tail after it.

    Reference: Zhang et al. (2025), merged key and query.
    """
    spectrum = _spectrum(dimension, spread)
    strength = float(np.linalg.norm(spectrum**2))
    white = float(np.ptp(spectrum)) == 0
    exact = half_way(dimension, 1 / dimension, examples, scale)
    return Bound(
        name="time of the drop",
        value=exact if white else -math.log(scale) / strength,
        kind="exact" if white else "prediction",
        conditions=(
            *_law(spectrum, examples),
            Condition("a small start", scale, "<", 1, "order-wise"),
        ),
        quantities={"ln(1/s) over the norm of Lambda squared": -math.log(scale) / strength},
        notes=(DERIVED,),
        reference="Zhang et al. (2025), arXiv 2501.16265",
    )


def plateau_levels(
    dimension: int = 4, examples: int = 31, spread: Real = 0.6, heads: int = 5, scale: Real = 0.01
) -> Bound:
    r"""Separate keys and queries of rank 1: the levels $L_m$ that the loss visits.

    $$L_m = \mathrm{tr}\Lambda - \sum_{i \le m} \frac{\lambda_i^2}{\gamma_i}$$

    At level $m$ the layer is principal component regression with $m$ components. A balanced,
    aligned head obeys $r' = \lambda^2r^2(1 - \gamma r^3)$: it waits about $1/(\lambda^2r_0)$, a
    power of the start.

    Departures: derived for balanced and aligned heads and distinct eigenvalues. A Gaussian start is
        neither; equal eigenvalues show plateaus too, once the start is small enough.

    Reference: Zhang et al. (2025), separate key and query.
    """
    spectrum = _spectrum(dimension, spread)
    levels = one_covariance(spectrum, examples).levels
    gap = float(np.min(-np.diff(spectrum)))
    bend = float(gamma(spectrum, examples)[0])
    return Bound(
        name="the last level",
        value=float(levels[-1]),
        kind="exact",
        conditions=(
            *_law(spectrum, examples),
            Condition("heads", heads, ">=", dimension),
            Condition("smallest gap of eigenvalues", gap, ">", 0, "not needed for small starts"),
            Condition("a small start", scale, "<", 1, "order-wise"),
        ),
        quantities={f"L_{m}": float(level) for m, level in enumerate(levels[:12])}
        | {"wait of one balanced head": wait(float(spectrum[0]), bend, scale)},
        notes=(DERIVED,),
        reference="Zhang et al. (2025), arXiv 2501.16265",
    )


def long_plateaus(dimension: int = 8, rank: int = 2, scale: Real = 0.01) -> Bound:
    r"""Keys and queries of rank $R$: the plateaus that last $1/s$ are those with $R \mid m < d$.

    A head with a value of order 1 recruits its next row at an exponential rate, a wait of order
    $\ln(1/s)$; when its rows are used up a new head must leave a cubic saddle, a wait of order
    $1/s$.

    Departures: the paper says which plateaus are conspicuous; the law is derived here.

    Reference: Zhang et al. (2025), low rank; the law is limelight's.
    """
    if min(dimension, rank) < 1:
        raise InputError(f"dimension = {dimension}, rank = {rank}", "at least 1")
    return Bound(
        name="plateaus that last 1/s",
        value=(dimension - 1) // rank,
        kind="prediction",
        conditions=(
            Condition("low rank", rank, "<", dimension, "else only the first wait is long"),
            Condition("a small start", scale, "<", 1, "order-wise"),
        ),
        quantities={
            "plateaus that last ln(1/s)": dimension - 1 - (dimension - 1) // rank,
            "1/s": 1 / scale,
            "ln(1/s)": -math.log(scale),
        },
        reference="limelight, from Zhang et al. (2025)",
    )


def _spectrum(dimension: int, spread: Real) -> np.ndarray:
    if dimension < 2 or not 0 <= spread <= 1:
        raise InputError(
            f"dimension = {dimension}, spread = {spread:g}", "at least 2; between 0 and 1"
        )
    return linear_spectrum(dimension, spread)


def _law(spectrum: np.ndarray, examples: int) -> tuple[Condition, ...]:
    """Gaussian covariates of full rank, at least one example."""
    return (
        Condition("smallest eigenvalue", float(spectrum.min()), ">", 0),
        Condition("examples of a training prompt", examples, ">=", 1),
    )
