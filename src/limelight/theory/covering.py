r"""Counting functions at a resolution, and what the count says of generalisation.

$\ln \mathcal N(\mathcal F, \epsilon)$ is the logarithm of the smallest number of functions such
that every member of $\mathcal F$ is within $\epsilon$ of one of them at every given point. All
bounds here are explicit: true upper bounds with every constant. They take and return floats or
NumPy arrays, and are 0 for a class of one function.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from limelight._core import norms
from limelight._core.arrays import Real, Reals
from limelight._core.errors import InputError

#: The constant of Dudley's integral, and of its lower cut.
DUDLEY, CUT = 12.0, 4.0


def at_least_zero(**sizes: Real | None) -> None:
    """Refuse lengths, norms and constants that are negative, infinite or not numbers."""
    for name, size in sizes.items():
        if size is not None and not 0 <= size < math.inf:
            raise InputError(f"{name} = {size:g}", "a finite number, at least 0")


def zhang(norm: Reals, radius: Reals, resolution: Reals, points: Real) -> Reals:
    r"""Covering of linear functionals $x \mapsto v^\top x$, $\|v\| \le B_1$, $\|x\| \le B_2$.

    $$\ln \mathcal N \le 36 \Big(\frac{B_1 B_2}{\epsilon}\Big)^2
        \ln\Big(2 \Big\lceil \frac{4 B_1 B_2}{\epsilon} + 2 \Big\rceil N + 1\Big)$$

    Notation: `norm` is $B_1$, `radius` $B_2$, `resolution` $\epsilon$, `points` $N$.
    Departures: none; Zhang's statement has $\log_2$ on both sides, so natural logarithms keep
        the constant.

    Example:
        >>> round(float(zhang(1.0, 1.0, 0.5, 1000)), 2)
        1426.11

    Reference: edelman2022, Lemma A.10 (Zhang 2002, Theorem 4).
    """
    return _sparse(36.0, np.asarray(norm) * radius, np.asarray(norm) * radius, resolution, points)


def _sparse(factor: Real, scale, inner, resolution, points: Real) -> Reals:
    """The shape shared by all covers below: squared ratio times the logarithm of a grid."""
    resolution = np.asarray(resolution, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(np.asarray(scale) == 0, 0.0, scale / resolution)
        grid = np.where(np.asarray(inner) == 0, 0.0, 4.0 * inner / resolution)
        value = factor * ratio**2 * np.log(2.0 * np.ceil(grid + 2.0) * points + 1.0)
    return np.where(ratio == 0, 0.0, value)


@dataclass(frozen=True)
class LinearMap:
    r"""The norms of a linear map $x \mapsto (a_1^\top x, \dots, a_D^\top x)$ that bounds consume.

    The vectors are those of the **output coordinates**, so no transpose can be mistaken.

    Notation: `outputs` is $D$, `largest` $B_\infty = \max_j \|a_j\|$, `total`
        $B_{2,1} = \sum_j \|a_j\|$, `spectral` $\|A\|_2$, `frobenius` $\|A\|_F$, `inputs` the
        length of $x$.
    Departures: the paper writes these norms with transposes that disagree with each other; the
        norm needed is always the one over output coordinates.
    """

    outputs: int
    largest: Real
    total: Real | None = None
    spectral: Real | None = None
    frobenius: Real | None = None
    inputs: int | None = None

    def __post_init__(self):
        if self.outputs < 1 or (self.inputs is not None and self.inputs < 1):
            raise InputError(
                f"a linear map with {self.outputs} outputs and {self.inputs} inputs", "at least one"
            )
        at_least_zero(
            largest=self.largest,
            total=self.total,
            spectral=self.spectral,
            frobenius=self.frobenius,
        )

    @classmethod
    def of_columns(cls, matrix: np.ndarray) -> "LinearMap":
        """The map $x -> M^T x$: its output coordinates are the columns."""
        matrix = np.asarray(matrix, dtype=float)
        return cls(
            outputs=matrix.shape[1],
            largest=float(norms.colmax(matrix)),
            total=float(norms.colsum(matrix)),
            spectral=float(norms.spec(matrix)),
            frobenius=float(norms.frobenius(matrix)),
            inputs=matrix.shape[0],
        )

    @property
    def sum_norm(self) -> float:
        r"""$B_{2,1}$, or $D B_\infty$ where it is not known."""
        return self.outputs * self.largest if self.total is None else self.total

    @property
    def operator_norm(self) -> float:
        r"""$\|A\|_2$, or $\sqrt D B_\infty$ where it is not known."""
        return math.sqrt(self.outputs) * self.largest if self.spectral is None else self.spectral

    @property
    def square_norm(self) -> float:
        r"""$\|A\|_F$, or $\sqrt D B_\infty$ where it is not known."""
        return math.sqrt(self.outputs) * self.largest if self.frobenius is None else self.frobenius


def linear_map_inf(a: LinearMap, radius: Real, resolution: Reals, points: Real) -> Reals:
    r"""Covering of linear maps whose output coordinates have length at most $B_\infty$.

    $$\ln \mathcal N \le 36 \Big(\frac{D B_\infty B_X}{\epsilon}\Big)^2
        \ln\Big(2 \Big\lceil \frac{4 \sqrt D B_\infty B_X}{\epsilon} + 2 \Big\rceil N + 1\Big)$$

    Every output coordinate is covered to $\epsilon / \sqrt D$.

    Example:
        >>> float(linear_map_inf(LinearMap(4, 1.0, 4.0), 1.0, 0.5, 1000).round(2))
        24171.96

    Departures: the constants are ours; the paper states the order.
    Reference: edelman2022, Lemma 4.5.
    """
    scale = a.largest * radius
    return _sparse(36.0, a.outputs * scale, math.sqrt(a.outputs) * scale, resolution, points)


def linear_map_21(a: LinearMap, radius: Real, resolution: Reals, points: Real) -> Reals:
    r"""Covering of linear maps whose output coordinates have total length at most $B_{2,1}$.

    $$\ln \mathcal N \le 144 \Big(\frac{B_{2,1} B_X}{\epsilon}\Big)^2
        \ln\Big(2 \Big\lceil \frac{8 B_{2,1} B_X}{\epsilon} + 2 \Big\rceil N + 1\Big)
        + \ln \binom{2D}{D}$$

    Example:
        >>> float(linear_map_21(LinearMap(4, 1.0, 4.0), 1.0, 0.5, 1000).round(2))
        108666.09

    Departures: the printed proof rounds $\|a_j\|$ on a grid of $B_\infty / D$, whose steps can
        add up to $D^2$ where the argument needs $D$. With a grid of $B_{2,1} / D$ it holds.
    Reference: edelman2022, proof of Lemma 4.5.
    """
    scale = a.sum_norm * radius
    cover = _sparse(144.0, scale, 2.0 * scale, resolution, points)
    grids = gammaln(2 * a.outputs + 1) - 2 * gammaln(a.outputs + 1)
    return np.where(cover == 0, 0.0, cover + grids)


def linear_map(a: LinearMap, radius: Real, resolution: Reals, points: Real) -> Reals:
    """Covering of linear maps: the smaller of the two norms' bounds."""
    return np.minimum(
        linear_map_inf(a, radius, resolution, points), linear_map_21(a, radius, resolution, points)
    )


def parameter_count(a: LinearMap, radius: Real, resolution: Reals) -> Reals:
    r"""Covering by counting parameters, $d_{in} D \ln(1 + 2 \|A\|_F B_X / \epsilon)$.

    It does not see the number of points, and is often the smaller one for real networks.

    Departures: not in the paper; a volume argument in the Frobenius norm.
    """
    resolution = np.asarray(resolution, dtype=float)
    if a.inputs is None:
        return np.full(resolution.shape, np.inf)
    with np.errstate(divide="ignore"):
        return a.inputs * a.outputs * np.log1p(2.0 * a.square_norm * radius / resolution)


def allocate(
    costs: Sequence[Real] | np.ndarray, weights: Sequence[Real] | np.ndarray, budget: Real
) -> tuple[float, np.ndarray]:
    r"""The cheapest split: minimise $\sum a_i / x_i^2$ subject to $\sum b_i x_i = C$.

    $$g = \sum_i a_i^{1/3} b_i^{2/3}, \qquad \text{optimum } g^3 / C^2, \qquad
        x_i = \frac{C}{g} \Big(\frac{a_i}{b_i}\Big)^{1/3}$$

    A term that costs nothing gets $x_i = 0$ and one that weighs nothing $x_i = \infty$; both leave
    the sum.

    Notation: `costs` is $a$, `weights` $b$, `budget` $C$.
    Departures: the optimum is unreadable in our copy of the paper; derived again.

    Example:
        >>> value, shares = allocate([1.0, 8.0], [1.0, 1.0], 3.0)
        >>> float(value), shares.tolist()
        (3.0, [1.0, 2.0])

    Returns:
        The optimum, and the shares that reach it.

    Reference: edelman2022, Lemma A.8.
    """
    a, b = np.asarray(costs, dtype=float), np.asarray(weights, dtype=float)
    if a.shape != b.shape or (a < 0).any() or (b < 0).any() or not budget > 0:
        raise InputError("a split needs costs and weights of at least 0 and a positive budget")
    live = (a > 0) & (b > 0)
    g = float(np.sum(np.cbrt(a[live]) * np.cbrt(b[live]) ** 2))
    shares = np.where(a > 0, np.inf, 0.0)
    if g > 0:
        shares[live] = budget / g * np.cbrt(a[live] / b[live])
    return g**3 / budget**2, shares


Covering = Callable[[np.ndarray], Reals]


def dudley(
    log_covering: Covering, bound: Real, examples: Real, *, steps: int = 240, depth: Real = 12.0
) -> tuple[float, float]:
    r"""Rademacher complexity by a sum that is never below Dudley's integral.

    $$\mathrm{Rad} \le \min_t \Big( 4 t + \frac{12}{\sqrt m}
        \int_t^A \sqrt{\ln \mathcal N(\epsilon)}\, d\epsilon \Big)$$

    The integrand does not increase, so its value at the left end of each step of a geometric grid
    is too large, never too small; $t$ runs over the grid. The complexity is never above $A$.

    Notation: `bound` is $A \ge |f|$, `examples` $m$.
    Departures: the paper's closed form needs $\ln \mathcal N = C_F / \epsilon^2$ with constant
        $C_F$; here the logarithm may contain $\epsilon$.

    Args:
        log_covering: $\ln \mathcal N$ at an array of resolutions, not increasing.
        bound: Largest absolute value of a function of the class.
        examples: Size of the training set.
        steps: Points of the grid.
        depth: The grid goes down to $A e^{-depth}$.

    Returns:
        The bound on the complexity, and the $t$ that gives it ($A$ where it is trivial).
    """
    if not (bound >= 0 and examples >= 1):
        raise InputError(f"bound = {bound}, examples = {examples}", "at least 0 and 1")
    if bound == 0:
        return 0.0, 0.0
    grid = bound * np.exp(np.linspace(-depth, 0.0, steps))
    height = np.sqrt(np.maximum(log_covering(grid[:-1]), 0.0))
    above = np.concatenate([np.cumsum((height * np.diff(grid))[::-1])[::-1], [0.0]])
    total = CUT * grid + DUDLEY / math.sqrt(examples) * above
    best = int(np.nanargmin(total))
    if total[best] >= bound:
        return bound, bound
    return float(total[best]), float(grid[best])
