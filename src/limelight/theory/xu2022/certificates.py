r"""Rigorous bounds at finite dimension, with no unknown constant.

Each is a number computed from (Gram matrix, sizes, $\sigma$, $d$, $\delta$) alone. Its event does
not mention $K$, $\lambda$ or the mask, so one event of probability at least $1-\delta$ serves all
of them: $\lambda$ or $K$ may be tuned on the data itself. Proofs: `docs/proofs/xu2022.md`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtri

from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.xu2022.setting import Number, Setting, check_delta, check_strength

Form = Literal["triangle", "quadrature", "best"]
FORMS = ("triangle", "quadrature", "best")


def chi2_upper(tail: Number, degrees: Number) -> float:
    """The value that a chi-square variable exceeds with the given probability."""
    return 2 * float(gammainccinv(degrees / 2, tail))


def chi2_lower(tail: Number, degrees: Number) -> float:
    """The value that a chi-square variable falls below with the given probability."""
    return 2 * float(gammaincinv(degrees / 2, tail))


def normal_upper(tail: Number) -> float:
    """The value that a standard normal variable exceeds with the given probability."""
    return -float(ndtri(tail))


# --- nearest neighbours -----------------------------------------------------------------------


@dataclass(frozen=True)
class NeighbourCertificate:
    """When averaging nearest neighbours provably improves every token at once.

    Args:
        within: Every in-cluster squared distance is below this (in units of 2 sigma^2/d) ...
        across: ... and every cross one above this; purity needs `within < across`.
        growth: Operator norm bound of a cluster's noise, over sigma.
        shortest: Every noise vector is at least this long, over sigma.
        fewest: Smallest certified K; infinite when there is none.
        most: Largest certified K.
        delta: Failure probability.
    """

    within: Number
    across: Number
    growth: Number
    shortest: Number
    fewest: Number
    most: int
    delta: Number

    @property
    def pure(self) -> bool:
        """Whether every neighbourhood of up to `most` tokens provably stays in its cluster."""
        return self.within < self.across

    @property
    def holds(self) -> bool:
        """Whether any K is certified."""
        return self.pure and self.fewest <= self.most

    def bound(self, neighbours: Number) -> float:
        """Certified ratio |x'-u|/sigma of all tokens; infinite where nothing is certified."""
        usable = self.pure and 1 <= neighbours <= self.most
        return self.growth / float(np.sqrt(neighbours)) if usable else float("inf")


def nearest_neighbours(
    setting: Setting, delta: Number = 0.05, *, itself: bool = True
) -> NeighbourCertificate:
    r"""T1': for all tokens and certified $K$ at once, $|x'_i-u| \le \sigma\,Op/\sqrt K < |h_i|$.

    Purity comes from the exact laws of pair distances (chi-square inside a cluster, non-central
    across), averaging from $\|H_k\| \le \sigma\,Op$, which holds for any selection of neighbours.

    Notation: `delta` their $\delta$; $Op = 1+\sqrt{m_{\max}/d}+\sqrt{2\log(3C/\delta)/d}$.
    Departures: replaces the printed Theorem 1, whose purity step, constant and missing upper limit
        on $K$ do not stand (`docs/errata.md`).

    Args:
        setting: The cluster model.
        delta: Failure probability.
        itself: Whether a token is one of its own neighbours.

    Reference: xu2022, Theorem 1, repaired.
    """
    d = setting.finite_dimension
    check_delta(delta)
    inside, outside = _pairs(setting)
    within = chi2_upper(delta / (6 * inside), d) if inside > 0 else 0.0
    across = np.inf
    if outside > 0:
        from scipy.stats import ncx2  # slow to import, needed here alone

        apart = d * setting.nearest**2 / (2 * setting.sigma**2)
        across = ncx2.ppf(delta / (6 * outside), d, apart)
    growth, shortest, fewest = averaging(setting, delta)
    most = int(setting.sizes.min()) - (0 if itself else 1)
    return NeighbourCertificate(within, float(across), growth, shortest, fewest, most, delta)


def averaging(setting: Setting, delta: Number = 0.05) -> tuple[float, float, float]:
    r"""The half of T1' that does not ask about purity: $Op$, $R_-$ and the smallest $K$.

    Averaging $K$ tokens of one cluster, however chosen, improves every token for $K > (Op/R_-)^2$.
    """
    d, C = setting.finite_dimension, setting.clusters
    growth = 1 + np.sqrt(setting.sizes.max() / d) + np.sqrt(2 * np.log(3 * C / delta) / d)
    shortest = np.sqrt(chi2_lower(check_delta(delta) / (3 * setting.tokens), d) / d)
    fewest = np.floor((growth / shortest) ** 2) + 1 if shortest > 0 else np.inf
    return float(growth), float(shortest), float(fewest)


def neighbours_closed_form(setting: Setting, delta: Number = 0.05) -> Condition:
    r"""Purity in closed form, implied by nothing but (F1); weaker than the exact quantiles.

    $$r_\ell^2 > 4\sigma^2\left[\sqrt{s/d} + s/d + \sqrt{(1+r_\ell^2/\sigma^2)s/d}\right],\quad
      s = \log\frac{6\max(P_{in},P_{out})}{\delta}$$
    """
    d, sigma2 = setting.finite_dimension, setting.sigma**2
    s = np.log(6 * max(_pairs(setting)) / check_delta(delta))
    r2 = setting.nearest**2
    right = 4 * sigma2 * (np.sqrt(s / d) + s / d + np.sqrt((1 + r2 / sigma2) * s / d))
    return Condition("clusters separated", float(r2), ">", float(right))


def _pairs(setting: Setting) -> tuple[float, float]:
    """Pairs of tokens in one cluster, and in two."""
    m, sizes = setting.tokens, setting.sizes
    inside = float((sizes * (sizes - 1) / 2).sum())
    return inside, m * (m - 1) / 2 - inside


# --- softmax ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constants:
    """The probabilistic numbers that the softmax certificates are made of.

    Args:
        shortest: Every noise vector is at least this long, over sigma.
        longest: And at most this.
        pair: Normal quantile for inner products of two noise vectors.
        direction: Normal quantile for inner products with centres.
        growth_in: Operator norm bound of each cluster's noise, over sigma.
        growth_out: The same for all tokens outside the cluster.
        growth_all: The same for all tokens.
    """

    shortest: Number
    longest: Number
    pair: Number
    direction: Number
    growth_in: np.ndarray
    growth_out: np.ndarray
    growth_all: Number


def constants(setting: Setting, delta: Number) -> Constants:
    r"""The constants at confidence $1-\delta$, a quarter of $\delta$ for each event."""
    d, m, C = setting.finite_dimension, setting.tokens, setting.clusters
    q = check_delta(delta) / 4

    def growth(rows, tail):
        return 1 + np.sqrt(rows / d) + np.sqrt(2 * np.log(tail / q) / d)

    return Constants(
        shortest=float(np.sqrt(chi2_lower(q / (2 * m), d) / d)),
        longest=float(np.sqrt(chi2_upper(q / (2 * m), d) / d)),
        pair=normal_upper(q / (m * (m - 1))) if m > 1 else 0.0,
        direction=normal_upper(q / (4 * m * C)),
        growth_in=growth(setting.sizes, 2 * C),
        growth_out=growth(m - setting.sizes, 2 * C),
        growth_all=float(growth(m, 1.0)),
    )


@dataclass(frozen=True)
class SoftmaxCertificate:
    """Certified errors of every cluster's tokens (last axis: clusters), absolute.

    Args:
        triangle: T2'.
        quadrature: T2''.
        cap: What holds for any convex combination of the tokens.
        delta: Failure probability of each.
    """

    triangle: np.ndarray
    quadrature: np.ndarray
    cap: np.ndarray
    delta: Number

    def error(self, form: Form = "best") -> np.ndarray:
        """The bound of one form, or the smaller of the two for each cluster (1 - 1.25 delta)."""
        if form not in FORMS:
            raise InputError(f"no form {form!r}", "known: " + ", ".join(FORMS))
        if form == "best":
            return np.minimum(self.triangle, self.quadrature)
        return self.triangle if form == "triangle" else self.quadrature


def softmax(
    setting: Setting,
    strength,
    delta: Number = 0.05,
    *,
    masked: bool = False,
    given: Constants | None = None,
    clusters: np.ndarray | None = None,
) -> SoftmaxCertificate:
    r"""T2' and T2'': with probability $1-\delta$, $|x'_i-u_k| \le$ this for all tokens of $k$.

    T2' adds noise and bias (triangle inequality); T2'' adds their squares and a cross term, and
    tends to the exact limit law as $d \to \infty$. Neither is ever below the limit law. The smaller
    of the two holds with probability $1-\delta$ for one $(k,\lambda)$ fixed in advance, and
    $1-1.25\,\delta$ for all of them at once.

    Notation: `strength` is their $\lambda$. $\epsilon$, $\epsilon_b$, $A_\pm$ as in the proof.
    Departures: replaces the printed Theorem 2, which is false (`docs/errata.md`).

    Args:
        setting: The cluster model.
        strength: Logit scale, one value or an array.
        delta: Failure probability.
        masked: Whether a token may not attend to itself.
        given: Constants to use instead of those for `delta` (realised ones, in tests).
        clusters: Clusters to certify; all by default.

    Reference: xu2022, Theorem 2, repaired.
    """
    d, sigma = setting.finite_dimension, setting.sigma
    lam = check_strength(strength)[..., None]  # a last axis for the clusters k
    setting.check_masked(masked)
    c = constants(setting, delta) if given is None else given
    ks = np.arange(setting.clusters) if clusters is None else np.asarray(clusters)
    root, n = np.sqrt(d), setting.sizes[ks] - 1
    gap, far = setting.gaps[ks], setting.distances[ks]
    eps = lam * (sigma**2 * c.longest * c.pair + sigma * c.direction) / root
    eps_b = eps[..., None] + lam[..., None] * sigma * c.direction * far / root
    other = setting.others[ks]
    log_hi = np.where(other, -lam[..., None] * gap + eps_b, -np.inf)
    log_lo = np.where(other, -lam[..., None] * gap - eps_b, -np.inf)
    bounds = []
    for length, sign in ((c.longest, 1), (c.shortest, -1)):
        log_A = lam * (sigma**2 * length**2 + sign * sigma * c.direction / root)
        log_A = np.full_like(log_A, -np.inf) if masked else log_A
        bounds.append(_endpoint(setting, c, ks, n, far, eps, log_hi, log_lo, log_A))
    cap = sigma * c.longest + far.max(axis=-1)
    triangle, quadrature = (np.maximum(*pair) for pair in zip(*bounds, strict=True))
    # A denominator that underflows leaves inf or nan: the cap takes over.
    return SoftmaxCertificate(
        np.fmin(triangle, cap),
        np.fmin(quadrature, cap),
        np.broadcast_to(cap, triangle.shape),
        delta,
    )


def softmax_ratio(
    setting: Setting, strength, delta: Number = 0.05, *, masked: bool = False, form: Form = "best"
) -> np.ndarray:
    r"""Certified $\max_i |x'_i - u_{k_i}|/\sigma$ over all tokens."""
    kinds = setting.representatives
    found = softmax(setting, strength, delta, masked=masked, clusters=kinds)
    # One form for all clusters: a mixture would need the events of both, 1 - 1.25 delta.
    forms = ("triangle", "quadrature") if form == "best" else (form,)
    worst = [found.error(name).max(axis=-1) for name in forms]
    return np.asarray(np.min(worst, axis=0) / setting.sigma)


def softmax_bound(
    setting: Setting, strength: Number, delta: Number = 0.05, *, masked: bool = False
) -> Bound:
    """The softmax certificate as a statement: the better form, and both."""
    kinds = setting.representatives
    found = softmax(setting, float(strength), delta, masked=masked, clusters=kinds)
    ratios = {f: float(found.error(f).max() / setting.sigma) for f in ("triangle", "quadrature")}
    winner = min(ratios, key=lambda name: ratios[name])
    capped = bool((found.error("best") >= found.cap).any())
    return Bound(
        name="certified |x'-u|/sigma of every token",
        value=ratios[winner],
        kind="certificate",
        quantities={
            "delta": delta,
            "T2' (triangle)": ratios["triangle"],
            "T2'' (quadrature)": ratios["quadrature"],
        },
        notes=(
            f"with probability at least {1 - delta:g}; form {winner}",
            *(("the cap of a convex combination decides: nothing is learned",) if capped else ()),
        ),
        reference="xu2022, Theorem 2, repaired",
    )


def _endpoint(setting, c: Constants, ks, n, far, eps, log_hi, log_lo, log_A):
    """Both forms at one end of the interval of the self weight, the largest exponent taken out."""
    sigma, root, m = setting.sigma, np.sqrt(setting.dimension), setting.sizes
    rest = np.where(n > 0, eps, -np.inf)
    top = np.maximum(np.maximum(log_A, rest), log_hi.max(axis=-1))
    A, e_hi, e_lo = (np.exp(v - top) for v in (log_A, rest, np.where(n > 0, -eps, -np.inf)))
    hi, lo = np.exp(log_hi - top[..., None]), np.exp(log_lo - top[..., None])
    middle, half = m * (hi + lo) / 2, m * (hi - lo) / 2
    w = middle - np.eye(setting.clusters)[ks] * middle.sum(axis=-1)[..., None]
    shift = np.einsum("...kb,bc,...kc->...k", w, setting.gram, w)
    B = np.sqrt(np.clip(shift, 0, None)) + (half * far).sum(axis=-1)
    den = A + n * e_lo + (m * lo).sum(axis=-1)
    squares = (m * hi**2).sum(axis=-1)
    inside = A**2 + n * e_hi**2
    S, S_r = (m * hi).sum(axis=-1), (m * hi * far).sum(axis=-1)
    triangle = sigma * c.growth_in[ks] * np.sqrt(inside) + sigma * c.growth_out[ks] * np.sqrt(
        squares
    )
    cross = (2 * sigma * c.direction / root) * ((A + n * e_hi) * S_r + 2 * S**2)
    quadrature = sigma**2 * c.growth_all**2 * (inside + squares) + B**2 + cross
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return (triangle + B) / den, np.sqrt(quadrature) / den
