r"""The SVMs of `svm` and `nuclear` inside a compiled program, with their certificates.

The Frobenius problem is non-negative least squares, $\min_{u\ge0}\|Eu - f\|^2$, which is solved by
an interior-point method with predictor and corrector, and once more as equations on its active set.
It needs inner products alone: $\langle A_c, A_{c'}\rangle = \langle x_c, x_{c'}\rangle\langle z_c,
z_{c'}\rangle$. The nuclear problem is solved by splitting, as in `nuclear`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.types import Number, Scalar
from limelight.theory.tarzanagh2023.svm import SUPPORT

#: A margin below the root of this counts as none.
NOTHING = 1e-11
#: A solution that falls short of its bounds by more than this separates nothing: where a constraint
#: is 0, as that of a token and its copy, the iterations end before the margin does.
SHORT = 0.01
ITERATIONS = 40


class Choice(NamedTuple):
    r"""A choice of tokens and its max-margin solution.

    Args:
        weights: $W_{mm}$; not numbers where nothing separates.
        norm: Its norm.
        feasible: Whether something separates, by a margin of at least 3e-6; the solution shows it.
        local: Whether the choice is locally optimal (S5).
        error: The largest violation of the optimality conditions, relative; 0 where infeasible.
        rows: The differences $x_{i\alpha_i} - x_{it}$, and the queries beside them.
        there: Which constraints exist.
    """

    weights: Float[Array, "rows columns"]
    norm: Scalar
    feasible: Bool[Array, ""]
    local: Bool[Array, ""]
    error: Scalar
    rows: tuple[Float[Array, "constraints rows"], Float[Array, "constraints columns"]]
    there: Bool[Array, " constraints"]

    def gaps(self, W: Float[Array, "rows columns"]) -> Float[Array, " constraints"]:
        r"""$\langle A_c, W\rangle$; infinite where there is no constraint."""
        away, queries = self.rows
        return jnp.where(self.there, jnp.sum((away @ W) * queries, axis=1), jnp.inf)


def nonnegative_least_squares(
    gram: Float[Array, "c c"], b: Float[Array, " c"], there: Bool[Array, " c"]
) -> Float[Array, " c"]:
    r"""$\arg\min_{u\ge0}\frac12u^\top(G + bb^\top)u - b^\top u$, 0 where nothing is."""
    H = jnp.where(there[:, None] & there[None, :], gram + b[:, None] * b[None, :], 0.0)
    H = H + jnp.diag(jnp.where(there, 0.0, 1.0))
    b = jnp.where(there, b, 0.0)
    n = len(b)
    eye = jnp.eye(n)
    longest = lambda v, dv: jnp.min(jnp.where(dv < 0, -v / jnp.where(dv < 0, dv, 1.0), jnp.inf))

    def iterate(state, _):
        u, z = state
        mu = u @ z / n
        root = jnp.sqrt(u / z)
        factor = jax.scipy.linalg.cho_factor(eye + root[:, None] * H * root[None, :])
        off = H @ u - b - z

        def solve(target: Array) -> tuple[Array, Array]:
            du = root * jax.scipy.linalg.cho_solve(factor, root * (target / u - z - off))
            return du, (target - z * du) / u - z

        du, dz = solve(jnp.zeros(n))
        step = jnp.minimum(1.0, jnp.minimum(longest(u, du), longest(z, dz)))
        ahead = (u + step * du) @ (z + step * dz) / n
        du, dz = solve((ahead / mu) ** 3 * mu - du * dz)
        step = jnp.minimum(1.0, 0.995 * jnp.minimum(longest(u, du), longest(z, dz)))
        new = u + step * du, z + step * dz
        fine = jnp.isfinite(new[0]).all() & jnp.isfinite(new[1]).all() & (mu > 1e-26)
        fine &= (new[0] > 0).all() & (new[1] > 0).all()
        return jax.tree.map(lambda a, o: jnp.where(fine, a, o), new, (u, z)), None

    start = jnp.full(n, 1.0 / n), jnp.ones(n)
    (u, z), _ = jax.lax.scan(iterate, start, None, length=ITERATIONS)
    return jnp.where(there & (u > z), u, 0.0)


class Weights(NamedTuple):
    """Multipliers of a least-norm problem, whether it has a solution, and how exact it is."""

    multipliers: Float[Array, " constraints"]
    feasible: Bool[Array, ""]
    error: Scalar


def least_norm_weights(
    gram: Float[Array, "c c"], b: Float[Array, " c"], there: Bool[Array, " c"]
) -> Weights:
    r"""$\lambda$ of the least $w = \sum_c\lambda_ca_c$ with $\langle a_c, w\rangle \ge b_c$."""
    b = jnp.where(there, b, 0.0)
    u = nonnegative_least_squares(gram, b, there)
    left = 1 - b @ u
    separates = left > NOTHING
    active = u > 0
    square = jnp.where(active[:, None] & active[None, :], gram, 0.0)
    square = square + jnp.diag(jnp.where(active, 0.0, 1.0))
    both = jnp.stack(
        [
            u / jnp.where(separates, left, 1.0),
            jnp.linalg.solve(square, jnp.where(active, b, 0.0)),
        ]
    )

    def shortfall(lam: Array) -> Scalar:
        return jnp.max(jnp.where(there, b - gram @ lam, 0.0), initial=0.0)

    def wrong(lam: Array) -> Scalar:
        gaps, size = gram @ lam, lam @ gram @ lam
        slack = jnp.max(jnp.abs(jnp.where(there, lam * (gaps - b), 0.0))) / jnp.maximum(1.0, size)
        gap = jnp.abs(size - b @ lam) / jnp.where(size > 0, size, 1.0)
        found = jnp.maximum(jnp.maximum(shortfall(lam), slack), jnp.maximum(gap, -jnp.min(lam)))
        return jnp.where(jnp.isfinite(found), found, jnp.inf)

    errors = jax.vmap(wrong)(both)
    best = jnp.argmin(errors)
    lam = jnp.where(there & jnp.isfinite(both[best]), both[best], 0.0)
    feasible = separates & (shortfall(lam) <= SHORT)
    return Weights(lam, feasible, jnp.where(feasible, errors[best], 0.0))


def solve_choice(
    tokens: Float[Array, "samples tokens dimension"],
    queries: Float[Array, "samples width"],
    scores: Float[Array, "samples tokens"],
    kept: Bool[Array, "samples tokens"],
    chosen: Int[Array, " samples"],
    bounds: Float[Array, " samples"] | None = None,
) -> Choice:
    r"""The SVM of a choice of tokens, gaps at least 1, or at least `bounds` sample by sample."""
    n, T, d = tokens.shape
    own = jnp.take_along_axis(tokens, chosen[:, None, None], axis=1)
    away = (own - tokens).reshape(n * T, d)
    z = jnp.repeat(queries, T, axis=0)
    there = (kept & (jnp.arange(T)[None, :] != chosen[:, None])).ravel()
    b = jnp.repeat(jnp.ones(n) if bounds is None else bounds, T)
    gram = (away @ away.T) * (z @ z.T)
    lam, feasible, error = least_norm_weights(gram, b, there)
    near = there & ((gram @ lam) <= b + SUPPORT)
    level = jnp.take_along_axis(scores, chosen[:, None], axis=1)
    W = (away * lam[:, None]).T @ z
    return Choice(
        weights=jnp.where(feasible, W, jnp.nan),
        norm=jnp.where(feasible, jnp.linalg.norm(W), jnp.inf),
        feasible=feasible,
        local=feasible & ~jnp.any(near & (scores >= level).ravel()),
        error=error,
        rows=(away, z),
        there=there,
    )


class NuclearChoice(NamedTuple):
    """A feasible $W$ of nearly least nuclear norm, the norm, and the relative duality gap."""

    weights: Float[Array, "rows columns"]
    norm: Scalar
    gap: Scalar


def solve_nuclear(choice: Choice, tolerance: Number = 1e-8, most: int = 1500) -> NuclearChoice:
    """Splitting, from the Frobenius solution; not numbers where nothing separates."""
    away, z = choice.rows
    shape = choice.weights.shape
    start = jnp.where(choice.feasible, choice.weights, 0.0)
    scale = jnp.where(choice.feasible, choice.norm, 1.0)
    flat = (away[:, :, None] * z[:, None, :]).reshape(len(away), -1) * scale
    flat = jnp.where(choice.there[:, None], flat, 0.0)
    inverse = jnp.linalg.inv(jnp.eye(len(flat)) + flat @ flat.T)
    Z = start.ravel() / scale
    # A constraint that does not exist has no gap to fall short of: it would hold the residuals up,
    # and with them the penalty.
    above = lambda gaps: jnp.where(choice.there, jnp.maximum(1.0, gaps), 0.0)
    s = above(flat @ Z)

    def iterate(state, _):
        Z, s, U, u, rho, _, _, _, _ = state
        b = Z - U + (s - u) @ flat
        W = b - (inverse @ (flat @ b)) @ flat
        a = 1.6 * (flat @ W) - 0.6 * s
        W = 1.6 * W - 0.6 * Z
        left, sizes, right = jnp.linalg.svd((W + U).reshape(shape), full_matrices=False)
        new = ((left * jnp.maximum(sizes - 1 / rho, 0)[None, :]) @ right).ravel()
        bound = above(a + u)
        return (new, bound, U + W - new, u + a - bound, rho, W - new, a - bound, new - Z,
                bound - s), None  # fmt: skip

    def round(state):
        kept, best, count = state
        kept, _ = jax.lax.scan(iterate, kept, None, length=25)
        Z, _, U, u, rho, *moved = kept
        lam = jnp.where(choice.there, jnp.maximum(-rho * u, 0.0), 0.0)
        least = jnp.min(jnp.where(choice.there, flat @ Z, jnp.inf))
        size = jnp.linalg.norm((lam @ flat).reshape(shape), 2)
        norm = jnp.linalg.norm(Z.reshape(shape), "nuc") / least
        gap = (norm - jnp.sum(lam) / size) / norm
        gap = jnp.where((least > 0) & (size > 0), gap, jnp.inf)
        found = NuclearChoice(Z.reshape(shape) / least, norm, gap)
        best = jax.tree.map(lambda new, old: jnp.where(gap < best.gap, new, old), found, best)
        primal, dual = (jnp.hypot(*map(jnp.linalg.norm, moved[i : i + 2])) for i in (0, 2))
        dual = rho * dual
        factor = jnp.where(primal > 5 * dual, 2.0, jnp.where(dual > 5 * primal, 0.5, 1.0))
        kept = (*kept[:2], U / factor, u / factor, rho * factor, *moved)
        return kept, best, count + 25

    blank = (jnp.zeros_like(Z), jnp.zeros_like(s), jnp.zeros_like(Z), jnp.zeros_like(s))
    kept = (Z, s, jnp.zeros_like(Z), jnp.zeros_like(s), jnp.ones_like(scale), *blank)
    best = NuclearChoice(start / scale, jnp.ones_like(scale), jnp.full_like(scale, jnp.inf))
    going = lambda state: (state[1].gap > tolerance) & (state[2] < most) & choice.feasible
    _, best, _ = jax.lax.while_loop(going, round, (kept, best, jnp.array(0)))
    nothing = lambda value: jnp.where(choice.feasible, value, jnp.nan)
    return NuclearChoice(
        nothing(best.weights * scale), nothing(best.norm * scale), nothing(best.gap)
    )
