r"""The statements as the paper prints them, made callable. They are not sound: use them to compare.

Every bound here has kind `printed` and a note that says which step fails; the repaired statements
are in `certificates`, `limit` and `optimum`.
"""

import numpy as np
from scipy.special import gammainc, gammaincc

from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.xu2022.setting import ORTHONORMAL, Number, check_delta

UNSOUND = "as printed, not sound"


def nearest_neighbours(
    separation: Number = 1.4142,
    sigma: Number = 0.3,
    dim: Number = 1024,
    neighbours: Number = 100,
    tokens: Number = 1000,
    delta: Number = 0.05,
    c: Number = 1.0,
) -> Bound:
    r"""Theorem 1: with probability $1-3\delta$, averaging $K$ neighbours improves every token.

    $$d \ge \max\left(8, \frac{2\sigma^2}{(r_\ell-2\sigma)^2}\right)\log\frac m\delta,\qquad
      K \ge \max\left(c, 9\log\frac m\delta\right)$$

    Notation: `separation` is their $r_\ell$, `neighbours` their $K$, `tokens` their $m$; their
        universal constant $C$ is `c` here, since $C$ also counts clusters.
    Departures: none; the condition on $d$ is met when $r_\ell < 2\sigma$ because its sign is lost,
        and nothing keeps $K$ below the cluster size.

    Reference: xu2022, Theorem 1.
    """
    _positive(separation=separation, sigma=sigma, dim=dim, neighbours=neighbours)
    L = float(np.log(_tokens(tokens) / check_delta(delta)))
    with np.errstate(divide="ignore"):
        factor = float(max(8.0, np.divide(2 * sigma**2, (separation - 2 * sigma) ** 2)))
    return Bound(
        name="ratio |x'-u|/|x-u| of every token, below",
        value=1.0,
        kind="printed",
        conditions=(
            Condition("dimension", float(dim), ">=", factor * L),
            Condition("neighbours", float(neighbours), ">=", float(max(c, 9 * L))),
        ),
        quantities={
            "delta": delta,
            "smallest dimension": float(np.ceil(factor * L)),
            "smallest K": float(np.ceil(max(c, 9 * L))),
        },
        constants={"c": c},
        notes=(
            f"{UNSOUND}: K <= m_k is missing, the sign of r_l - 2 sigma is lost,"
            " neighbours are treated as independent",
        ),
        reference="xu2022, Theorem 1",
    )


def softmax(
    tokens: Number = 100,
    size: Number = 50,
    sigma: Number = 1.0,
    dim: Number = 3182480,
    lam: Number = 7.743,
    delta: Number = 0.05,
    separation: Number = ORTHONORMAL,
) -> Bound:
    r"""Theorem 2: with probability $1-4\delta$, $|x'_i - u| \le \sigma/2$ for every token.

    Notation: `tokens` is their $m$, `size` their $m_i$, `lam` their $\lambda$, `separation` their
        $\gamma_\ell$ (also $r_\ell$).
    Departures: none. False as printed: at its own $d$ and $\lambda$ the ratio can be 1.000
        (`limelight verify xu2022`, claim `autopsy.theorem2`).

    Returns:
        The claimed ratio 1/2 with every printed condition; `quantities` hold the window of
        $\lambda$ and the dimension from which it is not empty.

    Reference: xu2022, Theorem 2.
    """
    _positive(size=size, sigma=sigma, dim=dim)
    m = _tokens(tokens)
    check_delta(delta)
    log_d = np.log(2 * m / (delta * sigma))
    low, high, smallest = softmax_window(m, size, sigma, dim, delta)
    left = 20 * lam * np.sqrt(log_d / dim)
    leak = np.exp(np.log(6 * m / size) - lam / 2)
    return Bound(
        name="ratio |x'-u|/sigma of every token",
        value=0.5,
        kind="printed",
        conditions=(
            Condition("noise at most the signal: sigma", float(sigma), "<=", 1.0),
            Condition("lambda not too large: 20 lambda sqrt(log/d)", float(left), "<=", 0.25),
            Condition(
                "lambda not too small: 6m/m_i e^(-lambda/2)", float(leak), "<=", float(sigma) / 4
            ),
            Condition("separation: |sqrt2 - r_l|", float(abs(ORTHONORMAL - separation)), "<=", 0.5),
            Condition(
                "dimension: log(m/(2 delta sigma^2))",
                float(np.log(m / (2 * delta * sigma**2))),
                "<=",
                float(dim),
            ),
        ),
        quantities={
            "delta": delta,
            "lambda from": low,
            "lambda to": high,
            "smallest dimension": smallest,
        },
        notes=(f"{UNSOUND}: the weight of a token on itself, exp(lambda sigma^2), is lost",),
        reference="xu2022, Theorem 2",
    )


def softmax_window(
    tokens: Number, size: Number, sigma: Number, dimension: Number, delta: Number = 0.05
) -> tuple[float, float, float]:
    r"""The printed window of $\lambda$ and the dimension from which it is not empty.

    $\lambda \ge 2\log\frac{24m}{m_i\sigma}$, $\lambda \le \frac1{80}\sqrt{d/\log\frac{2m}{\delta
    \sigma}}$, $d \ge 25600\log^2\frac{24m}{m_i\sigma}\,\log\frac{2m}{\delta\sigma}$.

    Example:
        >>> low, _, smallest = softmax_window(100, 50, 1.0, 1e6)
        >>> round(low, 3), int(np.ceil(smallest))
        (7.742, 3181985)
    """
    least = np.log(24 * tokens / (size * sigma))
    log_d = np.log(2 * tokens / (delta * sigma))
    return float(2 * least), float(np.sqrt(dimension / log_d) / 80), float(25600 * least**2 * log_d)


def softmax_point(
    tokens: Number, size: Number, sigma: Number, delta: Number = 0.05
) -> tuple[float, int]:
    r"""The smallest printed $\lambda$, rounded up to 1/1000, and the dimension it then asks for.

    Example:
        >>> softmax_point(100, 50, 1.0)
        (7.743, 3182480)
    """
    low, _, _ = softmax_window(tokens, size, sigma, np.inf, delta)
    lam = float(np.ceil(low * 1e3) / 1e3)
    least = (80 * lam) ** 2 * np.log(2 * tokens / (delta * sigma))
    return lam, int(np.ceil(least * (1 + 1e-6)))  # strictly inside, whatever the rounding


def centre_cosine(separation: Number = 1.0) -> Bound:
    r"""Lemma 1: $|\langle u_a,u_b\rangle| \le |\sqrt2 - \gamma|$ for centres at distance $\gamma$.

    Departures: none. False for most $\gamma$: the exact cosine is $1-\gamma^2/2$, and the printed
        form holds only for $\gamma \le 2-\sqrt2$ or $\gamma = \sqrt2$.

    Returns:
        The printed bound, with the exact $|\rho|$ as its one condition.

    Example:
        >>> b = centre_cosine(1.0)
        >>> b.applies, b.quantities["exact cosine"]
        (False, 0.5)

    Reference: xu2022, Lemma 1.
    """
    if not 0 < separation <= 2:
        raise InputError(f"separation = {separation}", "unit vectors are at most 2 apart")
    cosine = 1 - separation**2 / 2
    value = abs(np.sqrt(2) - separation)
    # At sqrt 2 both sides are 0; rounding must not decide.
    exact = 0.0 if abs(cosine) < 1e-12 else cosine
    return Bound(
        name="|cosine| of two centres",
        value=float(value),
        kind="printed",
        conditions=(Condition("the exact |cosine|", float(abs(exact)), "<=", float(value)),),
        quantities={"exact cosine": float(exact)},
        notes=(f"{UNSOUND}: a square is lost in the first line; corrected: 1 - r^2/2",),
        reference="xu2022, Lemma 1",
    )


def noise_products(
    tokens: Number = 200, sigma: Number = 1.0, dim: Number = 200, delta: Number = 0.05
) -> Bound:
    r"""Lemma 2: bounds on $|\langle h_i,h_j\rangle|$ and $|\langle h_i,u_k\rangle|$ as printed.

    False on the diagonal $i = j$; off it the printed numbers were never contradicted.

    Reference: xu2022, Lemma 2.
    """
    pair = float(2 * sigma**2 * np.sqrt(np.log(tokens / (2 * delta * sigma**2)) / dim))
    centre = float(2 * sigma * np.sqrt(np.log(tokens / (2 * delta * sigma)) / dim))
    return Bound(
        name="|<h_i, h_j>| for all i, j",
        value=pair,
        kind="printed",
        conditions=(Condition("the diagonal, about sigma^2", float(sigma) ** 2, "<=", pair),),
        quantities={"delta": delta, "|<h_i, u_k>|": centre},
        notes=(f"{UNSOUND}: false for i = j; never contradicted off the diagonal",),
        reference="xu2022, Lemma 2",
    )


def norm_band(tokens: Number = 1000, dim: Number = 80, delta: Number = 0.05) -> Bound:
    r"""The printed band $|h_i| \in \sigma(1 \pm \frac12\sqrt{2\log(m/\delta)/d})$ for all tokens.

    Claimed with probability $1-\delta$; the exact probability that some token escapes is computed
    here from the chi-square law.

    Example:
        >>> band = norm_band(1000, 80)
        >>> round(band.value, 2), band.applies
        (0.8, False)

    Reference: xu2022, proof of Theorem 1, first display.
    """
    half = 0.5 * np.sqrt(2 * np.log(_tokens(tokens) / check_delta(delta)) / dim)
    above = gammaincc(dim / 2, dim * (1 + half) ** 2 / 2)
    below = gammainc(dim / 2, dim * max(1 - half, 0.0) ** 2 / 2)
    escape = float(-np.expm1(tokens * np.log1p(-(above + below))))
    return Bound(
        name="exact probability that some token leaves the printed band",
        value=escape,
        kind="printed",
        conditions=(Condition("escape probability", escape, "<=", float(delta)),),
        quantities={"delta": delta, "half width": float(half)},
        notes=(f"{UNSOUND}: the variance of a chi-square variable is 2d, not d",),
        reference="xu2022, proof of Theorem 1",
    )


def _tokens(tokens: Number) -> float:
    if not tokens >= 1:
        raise InputError(f"tokens = {tokens}", "at least one")
    return float(tokens)


def _positive(**values: Number) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} = {value}", "a positive number")
