r"""What is stated of clusters and of rank collapse, with every condition evaluated.

`boolean_limit` to `mixed_spectrum` are geshkovski2023's, `one_cluster`, `half_sphere` and
`high_dimension` those of its authors' sequel (2024), `rank_collapse`, `skips_prevent` and
`path_count` Dong et al.'s (2021). None of these papers was at hand as a whole: their statements
were recalled, and tested where a run can test them. The rest is derived here.
"""

import math

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.geshkovski2023.angles import (
    MERGED,
    cosine_after,
    equal_time,
    hemisphere_probability,
    layers_until,
    merge_law,
    merge_time,
)
from limelight.theory.geshkovski2023.residuals import SMALL_RANGE, collapse_bound

RECALLED = ("recalled, not read: the paper was not at hand as a whole",)
SEQUEL = "Geshkovski, Letrouit, Polyanskiy and Rigollet (2024), arXiv 2312.10794"
RANK = "Dong, Cordonnier and Loukas (2021), arXiv 2103.03404"


def boolean_limit(tokens: int = 20, value: Real = 1.0, product: Real = 1.0) -> Bound:
    r"""In one dimension $P(t)$ tends to zeros and ones: the largest rank of its limit.

    Rows pick the largest or the smallest token, but for one row at most: that of a token that stays
    bounded, which rounding does not keep there.

    Reference: geshkovski2023, the theorem for $d = 1$.
    """
    _at_least("tokens", tokens, 2)
    return Bound(
        name="rank of attention in the limit, at most",
        value=3,
        kind="exact",
        conditions=(
            Condition("V", value, ">", 0),
            Condition("QK", product, ">", 0),
            Condition("tokens, pairwise distinct", tokens, ">=", 2),
        ),
        quantities={"generic rank, at most": 2, "rows that are not 0 and 1, at most": 1},
        notes=("a limit: it has no rate", *RECALLED),
        reference="geshkovski2023, the theorem for d = 1",
    )


def polytope(dimension: int = 2, lowest: Real = 1.0, asymmetry: Real = 0.0) -> Bound:
    r"""With $V = I$ every $z_i(t)$ converges, to 0 or to the boundary of a convex polytope.

    Their hull shrinks, so that its support cannot grow in any direction. `lowest` is the smallest
    eigenvalue of the symmetric part of $B = Q^\top K$, `asymmetry` the norm of the rest.

    Departures: outside, with $B = -I$, all tokens end at one point; with $B$ a rotation by 1.2,
        whose symmetric part is positive, they do from most starts and not from all.

    Reference: geshkovski2023, the theorem for $V = I$.
    """
    _at_least("dimension", dimension, 1)
    return Bound(
        name="growth of the hull's support",
        value=0,
        kind="exact",
        conditions=(
            Condition("smallest eigenvalue of B", lowest, ">", 0),
            Condition("B is symmetric", asymmetry, "==", 0),
        ),
        notes=("that all tokens end at vertices is observed, not proved", *RECALLED),
        reference="geshkovski2023, the theorem for V = I",
    )


def hyperplanes(largest: Real = 1.0, second: Real = 0.3, product: Real = 1.0) -> Bound:
    r"""With a simple largest eigenvalue $\langle\varphi_1, z_i(t)\rangle$ tends to three values.

    `largest` is $\lambda_1$, real; `second` the largest modulus of the others; `product` is
    $\langle Q\varphi_1, K\varphi_1\rangle$.

    Reference: geshkovski2023, the theorem for a simple largest eigenvalue.
    """
    return Bound(
        name="parallel hyperplanes, at most",
        value=3,
        kind="exact",
        conditions=(
            Condition("lambda_1", largest, ">", 0),
            Condition("lambda_1 over the other moduli", largest, ">", second),
            Condition("<Q phi_1, K phi_1>", product, ">", 0),
        ),
        quantities={"where all tokens start on one side": 1},
        notes=RECALLED,
        reference="geshkovski2023, the theorem for a simple largest eigenvalue",
    )


def mixed_spectrum(largest: Real = 1.0, rest: Real = 0.5, lowest: Real = 1.0) -> Bound:
    r"""$V = \lambda$ on $F$, smaller on $G$: $z_i$ nears (a polytope's boundary or 0) $\times G$.

    `rest` is the spectral radius on $G$, `lowest` the smallest eigenvalue of $B$.

    Departures: a public formalisation shows one step of the proof, the bound on cross terms, to be
        false unless $F$ and $G$ are orthogonal in $B$. The statement held in every run here, where
        they are, and in tests where they are not or where $B$ is indefinite on $G$.

    Reference: geshkovski2023, the theorem for a mixed spectrum.
    """
    return Bound(
        name="distance from the limit set",
        value=0,
        kind="exact",
        conditions=(
            Condition("lambda", largest, ">", 0),
            Condition("spectral radius on G", rest, "<", largest),
            Condition("smallest eigenvalue of B, symmetric", lowest, ">", 0),
        ),
        notes=("a limit: it has no rate", *RECALLED),
        reference="geshkovski2023, the theorem for a mixed spectrum",
    )


def one_cluster(tokens: int = 32, dimension: int = 3, strength: Real = 1.0) -> Bound:
    r"""For almost every start all tokens converge to one point of the sphere.

    On the circle: $\beta = 0$; $\beta \le 1$ (Criscitiello et al., arXiv 2405.18273); $\beta$ of
    order $n^2$ or more; every $\beta \ge -.16$ (Polyanskiy et al., arXiv 2507.22857).

    Departures: versions of the paper differ in the range on the circle; the widest is taken.

    Reference: Geshkovski et al. (2024).
    """
    _at_least("tokens", tokens, 2)
    _at_least("dimension", dimension, 2)
    lowest = 0.0 if dimension >= 3 else -0.16
    waiting = merge_time(strength) if strength <= 500 else math.inf
    return Bound(
        name="clusters in the limit",
        value=1,
        kind="exact",
        conditions=(Condition("strength", strength, ">=", lowest),),
        quantities={"time that two clusters at right angles take": float(waiting)},
        notes=("a limit: for the time, limelight show geshkovski2023 metastable", *RECALLED),
        reference=SEQUEL,
    )


def half_sphere(tokens: int = 32, dimension: int = 64, strength: Real = 1.0) -> Bound:
    r"""Tokens in an open half-sphere converge to one point exponentially fast.

    The value is the probability that uniform tokens do (Wendel); 1 from $d \ge n$ on.

    Reference: Geshkovski et al. (2024), and Wendel (1962).
    """
    _at_least("tokens", tokens, 2)
    _at_least("dimension", dimension, 2)
    return Bound(
        name="probability of a half-sphere",
        value=hemisphere_probability(tokens, min(dimension, tokens)),
        kind="exact",
        conditions=(Condition("strength", strength, ">=", 0),),
        quantities={"late rate of 1 - cosine": 2},
        notes=RECALLED,
        reference=SEQUEL,
    )


def high_dimension(
    tokens: int = 32, dimension: int = 100_000, strength: Real = 1.0, time: Real = 1.0
) -> Bound:
    r"""Uniform tokens follow the flow of equal angles: how far a cosine may be off, at most.

    $$|\cos - \gamma(t)| \le \min\big(2c^{nt}\sqrt{\ln d/d},\; Ce^{-\lambda t}\big), \qquad
      c = e^{10\max(1, \beta)}$$

    with probability $1 - 2n^2d^{-1/64}$ at least, from the dimension on at which
    $d/\ln d \ge 16c^2/\gamma(1/n)^2$. The first part is evaluated, the constants of the second are
    not named. It is empty at every dimension that can be drawn.

    Departures: no bound of order $\sqrt{\ln d/d}$ at all times is stated. The distance that is
        measured falls as $1/\sqrt d$: `limelight show geshkovski2023 concentration`.

    Reference: Geshkovski et al. (2024), the theorem for high dimension.
    """
    _at_least("tokens", tokens, 2)
    _at_least("dimension", dimension, 2)
    log_c, log_d = 10 * max(1.0, strength), math.log(dimension)
    log_bound = math.log(2) + log_c * tokens * time + 0.5 * (math.log(log_d) - log_d)
    failure = 2 * tokens**2 * dimension ** (-1 / 64)
    early = cosine_after(1 / tokens, tokens, strength)
    log_least = math.log(16) + 2 * log_c - 2 * math.log(early) if early > 0 else math.inf
    return Bound(
        name="distance of a cosine from the law",
        value=math.exp(log_bound) if log_bound < 700 else math.inf,
        kind="certificate",
        conditions=(
            Condition("strength", strength, ">=", 0),
            Condition(
                "ln(d / ln d)",
                log_d - math.log(log_d),
                ">=",
                log_least,
                "ln(16 c^2 / gamma(1/n)^2)",
            ),
            Condition("probability that it fails", failure, "<", 1, "else it says nothing"),
            Condition("ln of the bound", log_bound, "<", math.log(2), "cosines differ by 2"),
        ),
        quantities={"root of ln(d)/d": math.sqrt(log_d / dimension), "ln c": log_c},
        notes=RECALLED,
        reference=SEQUEL,
    )


def equal_angles(
    tokens: int = 32, strength: Real = 1.0, cosine: Real = 0.0, level: Real = MERGED,
    weights: str = "softmax",
) -> Bound:  # fmt: skip
    r"""The time that tokens at equal angles take from one cosine to another.

    Reference: limelight, from the flow of equal angles in Geshkovski et al. (2024).
    """
    _at_least("tokens", tokens, 2)
    if weights not in ("softmax", "sum"):
        raise InputError(f"weights cannot be {weights!r}", "softmax or sum")
    lowest = -1 / (tokens - 1)
    inside = lowest < cosine < level < 1
    time = equal_time(tokens, strength, cosine, level, weights == "softmax") if inside else math.nan
    fast = 2.0 if weights == "softmax" else 2 * math.exp(min(strength, 700))
    return Bound(
        name="time",
        value=float(time),
        kind="exact",
        conditions=(
            Condition("cosine at the start", cosine, ">", lowest, "the simplex is at rest"),
            Condition("cosine at the start", cosine, "<", level),
            Condition("cosine at the end", level, "<", 1),
        ),
        quantities={"late rate of 1 - cosine": fast},
        reference="limelight, derived",
    )


def metastable(strength: Real = 9.0, cosine: Real = 0.0, share: Real = 0.5) -> Bound:
    r"""The time that two clusters take to merge, to a cosine of .999.

    For equal shares and large $\beta$ it is $e^{\beta(1-\gamma_0)}/(2\beta(1-\gamma_0^2))$.

    Reference: limelight, derived; that it is exponential is Geshkovski et al.'s (2024).
    """
    inside = -1 < cosine < MERGED and 0 < share < 1
    return Bound(
        name="time to merge",
        value=float(merge_time(strength, cosine, share)) if inside else math.nan,
        kind="exact",
        conditions=(
            Condition("cosine at the start", cosine, ">", -1),
            Condition("cosine at the start", cosine, "<", MERGED),
            Condition("share of the first cluster", share, ">", 0),
            Condition("share of the first cluster", share, "<", 1),
            Condition("strength", strength, ">", 0),
        ),
        quantities={"Laplace's law for equal shares": float(merge_law(strength, cosine))}
        if inside and strength > 0
        else {},
        reference="limelight, derived",
    )


def layer_count(
    tokens: int = 196, strength: Real = 8.0, skip: Real = 0.0, level: Real = 0.5
) -> Bound:
    r"""Layers from orthonormal tokens to a common cosine: collapse may be far away.

    Near the end a layer without skips cubes what is left, $u' \approx (\beta/n)^2u^3$; with them it
    divides it by 4.

    Reference: limelight, derived.
    """
    _at_least("tokens", tokens, 2)
    most = 5_000
    layers, away = layers_until(tokens, strength, skip, level, most=most)
    return Bound(
        name="layers",
        value=layers if 1 - away >= level else math.inf,
        kind="exact",
        conditions=(
            Condition("strength", strength, ">=", 0),
            Condition("level", level, "<", 1),
            Condition("layers that were tried", layers, "<", most),
        ),
        quantities={"cosine there": 1 - away, "(strength / tokens)^2": (strength / tokens) ** 2},
        reference="limelight, derived",
    )


def rank_collapse(
    size: Real = 0.1, weights: Real = 1.0, width: int = 64, layers: int = 3, heads: int = 1,
    lipschitz: Real = 1.0, spread: Real = 0.1, factor: Real = 1.0,
) -> Bound:  # fmt: skip
    r"""The residual after $L$ layers of pure attention, at most.

    $$\|\mathrm{res}(X_L)\| \le \Big(\frac{4bH\lambda\Gamma}{\sqrt{d_{qk}}}\Big)^{(3^L-1)/2}
      \|\mathrm{res}(X)\|^{3^L}$$

    in the norm $(\|\cdot\|_1\|\cdot\|_\infty)^{1/2}$. `size` is $\|\mathrm{res}(X)\|$, `weights`
    $b$, `spread` the largest $|E_{ij} - E_{ij'}|$, `factor` $\Gamma$, the largest over layers and
    heads.

    Departures: the published proof exchanges a sum and a maximum the wrong way round; $\Gamma$, the
        ratio of the two, repairs it, and is 1 in what is printed. The bound without it was never
        seen to break, nor was that with a large `spread`.

    Reference: Dong et al. (2021), the theorems on pure attention.
    """
    if min(size, weights, width, layers, heads) <= 0:
        raise InputError(f"size = {size:g}, weights = {weights:g}, width = {width}", "above 0")
    bound = lambda slack: float(
        collapse_bound(math.log(size), weights * slack, width, layers, heads, float(lipschitz))
    )
    log = bound(factor) if factor > 0 else math.nan
    grip = 4 * weights * heads * lipschitz * factor * size**2 / math.sqrt(width)
    return Bound(
        name="residual",
        value=math.exp(log) if log < 700 else math.inf,
        kind="certificate",
        conditions=(
            Condition("4bH Gamma res^2 / sqrt(d_qk)", grip, "<", 1, "else it says nothing"),
            Condition("largest |E_ij - E_ij'|", spread, "<=", SMALL_RANGE, "of the proof"),
            Condition("Gamma", factor, ">=", 1, "a sum of maxima over a maximum of sums"),
        ),
        quantities={
            "log10 of the bound": log / math.log(10),
            "as printed, without Gamma": bound(1.0) / math.log(10),
            "power": 3**layers,
        },
        notes=("no skip connections", *RECALLED),
        reference=RANK,
    )


def skips_prevent(value: Real = 0.0, layers: int = 24) -> Bound:
    r"""With skip connections some weights keep the residual at any depth: $W_V = 0$ does.

    It is existence only; Gaussian weights with skips do lose rank, exponentially.

    Reference: Dong et al. (2021), the statement on skip connections.
    """
    return Bound(
        name="residual over that at the start",
        value=1,
        kind="exact",
        conditions=(
            Condition("W_V", value, "==", 0, "an example; others may do"),
            Condition("layers", layers, ">=", 0),
        ),
        notes=RECALLED,
        reference=RANK,
    )


def path_count(layers: int = 12, heads: int = 3, length: int = 6, skip: int = 1) -> Bound:
    r"""The output is a sum over paths, one head or the skip per layer: how many there are.

    $H^L$ without skips, $(H+1)^L$ with them, $\binom LkH^k$ of length $k$; attention matrices are
    those of the whole pass.

    Reference: Dong et al. (2021), the decomposition into paths.
    """
    if min(layers, heads, length) < 0 or layers > 1000:
        raise InputError(f"layers = {layers}, heads = {heads}", "at least 0, 1,000 layers at most")
    log = layers * math.log(max(heads + bool(skip), 1))
    chosen = math.comb(layers, length)  # 0 where a path would be longer than the network
    return Bound(
        name="paths",
        value=(heads + bool(skip)) ** layers if log < 700 else math.inf,
        kind="exact",
        conditions=(Condition("length", length, "<=", layers),),
        quantities={"of this length": float(chosen and chosen * heads**length)}
        if skip and log < 700
        else {},
        notes=RECALLED,
        reference=RANK,
    )


def _at_least(name: str, value: Real, least: int) -> None:
    if not value >= least:
        raise InputError(f"{name} = {value:g}", f"at least {least}")
