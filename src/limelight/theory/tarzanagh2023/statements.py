r"""The statements of tarzanagh2023 with every condition, both sides.

Where a statement speaks of data, the data is a world drawn on the sphere from a seed. The papers'
texts were not at hand: statements carry our labels, and what was recalled and not derived or tested
is said in their notes.
"""

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.tarzanagh2023.drawn import drawn_world, loss_and_pull
from limelight.theory.tarzanagh2023.rates import LossName, pair_offset, path_limits
from limelight.theory.tarzanagh2023.svm import (
    SUPPORT,
    Constraints,
    Margin,
    constraints,
    interpolated,
    least_norm,
    locally_optimal,
)

RECALLED = "recalled, not read; derived and tested here as far as the conditions say"


def _solved(X: np.ndarray, Z: np.ndarray, chosen: np.ndarray) -> tuple[Constraints, Margin]:
    where = constraints(X, Z, chosen)
    return where, least_norm(where.rows)


def _unique(scores: np.ndarray) -> Condition:
    top = np.sort(scores, axis=1)
    return Condition(
        "smallest lead of a best token", float((top[:, -1] - top[:, -2]).min()), ">", 0
    )


def _separable(margin: Margin) -> Condition:
    return Condition("margin", 1 / margin.norm, ">", 0, "infeasible: 0")


def _independence(where: Constraints, near: np.ndarray) -> float:
    """The smallest eigenvalue of the support's Gram matrix; above 0 where it is independent."""
    rows = where.rows[near]
    return float(np.linalg.eigvalsh(rows @ rows.T).min()) if near.any() else np.nan


def infimum(samples: int = 6, tokens: int = 8, dimension: int = 10, seed: int = 0) -> Bound:
    r"""$L(W) > L_* = \frac1n\sum_i\ell(\gamma_{i,opt_i})$ for every finite $W$, and no more.

    The infimum is approached along every matrix that strictly separates the best tokens; where none
    does, $L_*$ is a lower bound only.

    Reference: tarzanagh2023 (S1).
    """
    X, Z, scores = drawn_world(samples, tokens, dimension, seed)
    best = scores.argmax(axis=1)
    _, margin = _solved(X, Z, best)
    least = float(np.log1p(np.exp(-scores.max(axis=1))).mean())
    W = (
        margin.weights.reshape(dimension, dimension)
        if margin.feasible
        else np.zeros((dimension,) * 2)
    )
    return Bound(
        name="infimum of the loss",
        value=least,
        kind="exact",
        conditions=(
            _separable(margin),
            Condition("spread of scores", float(np.ptp(scores, axis=1).max()), ">", 0),
        ),
        quantities={f"loss at c = {c}": loss_and_pull(X, Z, scores, c * W)[0] for c in (1, 10, 30)},
        reference="tarzanagh2023",
    )


def regularisation_path(
    samples: int = 6, tokens: int = 8, dimension: int = 10, seed: int = 0, radius: Real = 100.0
) -> Bound:
    r"""The constrained minimisers tend to $W_{mm}$ in direction; $1 - \rho$ is of order $1/c$.

    Departures: convergence is the paper's; the limits of $c(1-\rho)$ and $c^2(1-\cos)$ are
        derived here.

    Reference: tarzanagh2023 (S2); rates limelight (S13).
    """
    X, Z, scores = drawn_world(samples, tokens, dimension, seed)
    best = scores.argmax(axis=1)
    where, margin = _solved(X, Z, best)
    limits = path_limits(margin, where, scores, best)
    near = margin.gaps <= 1 + SUPPORT
    lam = float(margin.multipliers[near].min()) if near.any() else np.nan
    return Bound(
        name="1 - margin ratio",
        value=limits.margin / radius,
        kind="prediction",
        conditions=(
            _unique(scores),
            _separable(margin),
            Condition("smallest multiplier of a support token", lam, ">", 0, "for the rate"),
            Condition(
                "independence of the support",
                _independence(where, near),
                ">",
                1e-10,
                "for the rate",
            ),
            Condition("a large radius c", radius, ">", 10, "order-wise"),
        ),
        quantities={
            "norm of the solution": margin.norm,
            "limit of c (1 - rho)": limits.margin,
            "limit of c² (1 - cosine)": limits.cosine,
            "support tokens": int(near.sum()),
        },
        reference="tarzanagh2023, regularisation path; rates limelight",
    )


def divergence(
    samples: int = 1, tokens: int = 8, dimension: int = 10, low: Real = 0.5, seed: int = 0,
    spread: Real = 0.0,
) -> Bound:  # fmt: skip
    r"""$\langle\nabla L(W), W_{mm}\rangle < 0$ everywhere: no finite stationary point.

    For one token of score 1 and all others of score `low`, or for tokens that all support the
    margin. With a `spread` the others' scores go evenly from `low` down to `low - spread`. The
    value is the largest product among 200 random $W$ of norms from .1 to 20.

    Departures: the direction tends to $W_{mm}$ from any start only with equal scores and one
        sample; the arrangements x1 and x2 break it otherwise.

    Reference: tarzanagh2023 (S3); its limits are limelight's.
    """
    X, Z, scores = drawn_world(samples, tokens, dimension, seed)
    best = scores.argmax(axis=1)
    others = low - spread * np.linspace(0.0, 1.0, tokens)
    table = np.where(np.arange(tokens)[None] == best[:, None], 1.0, others[None])
    _, margin = _solved(X, Z, best)
    random, found = np.random.default_rng(seed + 1), []
    Wmm = margin.weights.reshape(dimension, dimension)
    for size in np.geomspace(0.1, 20, 200):
        W = random.normal(size=(dimension, dimension))
        pull = loss_and_pull(X, Z, table, size * W / np.linalg.norm(W))[1]
        found.append(-float((pull * Wmm).sum()))
    off = int((margin.gaps > 1 + SUPPORT).sum())
    uneven = max(float(np.ptp(np.delete(row, at))) for row, at in zip(table, best, strict=True))
    return Bound(
        name="largest product of gradient and solution",
        value=max(found),
        kind="exact",
        conditions=(
            _separable(margin),
            Condition("lead of the best token", 1 - low, ">", 0),
            Condition(
                "spread of the other scores, where a token is off the margin",
                uneven if off else 0.0,
                "==",
                0,
                "without such a token they may differ",
            ),
            Condition(
                "samples", samples, "==", 1, "for the direction from any start, not for divergence"
            ),
        ),
        quantities={"tokens off the margin": off, "spread of the other scores": uneven},
        notes=(RECALLED,),
        reference="tarzanagh2023, global convergence",
    )


def first_step(
    samples: int = 2, tokens: int = 8, dimension: int = 10, seed: int = 4, length: Real = 100.0
) -> Bound:
    r"""Start at 0; the first gradient raises every gap of the best tokens; the first step is long.

    Then iterates stay in a cone around $W_{mm}$ and tend to its direction.

    Departures: that the paper asks for a long first step is recollection. With a short one the
        statement is false (arrangement x3), though it holds in 99 of 100 random worlds.

    Reference: tarzanagh2023 (S4); corrected by limelight.
    """
    X, Z, scores = drawn_world(samples, tokens, dimension, seed)
    best = scores.argmax(axis=1)
    where, margin = _solved(X, Z, best)
    pull = loss_and_pull(X, Z, scores, np.zeros((dimension, dimension)))[1].ravel()
    least = float((where.rows @ pull).min() / np.linalg.norm(pull))
    return Bound(
        name="smallest gap after a first step of length 1",
        value=least,
        kind="sufficient",
        conditions=(
            _unique(scores),
            _separable(margin),
            Condition("the first gradient raises every gap", least, ">", 0),
            Condition("a long first step", length, ">=", 1, "R0 is not named; order-wise"),
        ),
        constants={"R0": 1},
        notes=(RECALLED,),
        reference="tarzanagh2023, global convergence",
    )


def local_optimality(
    samples: int = 6, tokens: int = 8, dimension: int = 10, seed: int = 0, rank: int = 0
) -> Bound:
    r"""A choice is locally optimal if every support token scores strictly less than the chosen one.

    The choice is the token of the given rank in every sample; 0 is the best. Descent that starts
    close and far out keeps a locally optimal choice; how far is not named. A choice with a better
    token on its margin is left, if the support is independent: `independence of the support` is
    above 0 then.

    Departures: without that, the choice can be kept (arrangement x4).

    Reference: tarzanagh2023 (S5, S6, S7).
    """
    X, Z, scores = drawn_world(samples, tokens, dimension, seed)
    if not 0 <= rank < tokens:
        raise InputError(f"rank = {rank}", f"0 to {tokens - 1}")
    chosen = np.argsort(-scores, axis=1)[:, rank]
    where, margin = _solved(X, Z, chosen)
    near = margin.gaps <= 1 + SUPPORT
    lead = scores[where.sample, chosen[where.sample]] - scores[where.sample, where.token]
    return Bound(
        name="margin",
        value=1 / margin.norm,
        kind="exact",
        conditions=(
            _separable(margin),
            Condition(
                "smallest lead over a support token",
                float(lead[near].min()) if near.any() else np.nan,
                ">",
                0,
            ),
        ),
        quantities={
            "support tokens": int(near.sum()),
            "locally optimal": int(locally_optimal(margin, where, scores, chosen)),
            "independence of the support": _independence(where, near),
            "error of the solve": margin.error,
        },
        notes=("how far out a start must be is not named by the paper: `basins` sweeps it",),
        reference="tarzanagh2023, local convergence",
    )


def feasible(samples: int = 6, tokens: int = 8, dimension: int = 10) -> Bound:
    r"""Generic data with $d \ge \max(n, T - 1)$: every choice of tokens can be separated.

    Departures: on the sphere $n \le d$ is enough, whatever $T$: queries are independent, so that
        $Wz_i$ is free, and every unit vector is exposed among others.

    Reference: tarzanagh2023 (S8).
    """
    if min(samples, tokens - 1, dimension) < 1:
        raise InputError("samples, tokens, dimension", "at least 1, 2 and 1")
    return Bound(
        name="share of choices that can be separated, at least",
        value=1.0 if dimension >= samples else 0.0,
        kind="sufficient",
        conditions=(
            Condition("dimension", dimension, ">=", samples),
            Condition(
                "dimension", dimension, ">=", tokens - 1, "printed; not needed on the sphere"
            ),
        ),
        reference="tarzanagh2023, over-parameterisation",
    )


def line(samples: int = 2, tokens: int = 3) -> Bound:
    r"""One dimension: the best tokens can be separated with probability $(T/2^T)^n2^{1-n}$.

    Tokens are 1 or -1; a best token that occurs twice is not separable from its copy.

    Reference: limelight.
    """
    if samples < 1 or tokens < 2:
        raise InputError(f"samples = {samples}, tokens = {tokens}", "at least 1 and 2")
    return Bound(
        name="probability that the best tokens can be separated",
        value=(tokens / 2.0**tokens) ** samples * 2.0 ** (1 - samples),
        kind="exact",
        conditions=(Condition("tokens", tokens, ">=", 2), Condition("samples", samples, ">=", 1)),
        reference="limelight",
    )


def prompt_and_weights(
    steps: int = 100, rate: Real = 1.0, first: Real = 0.6, second: Real = -0.3
) -> Bound:
    r"""One query $a$: descent on $W$ with step $\eta/\|a\|^2$ has $W(t)a = p(t)$ for all $t$.

    The value is the largest difference on three tokens in the plane, scores (1, .9, 0).

    Reference: tarzanagh2023 (S9).
    """
    if not 1 <= steps <= 100_000:
        raise InputError(f"steps = {steps}", "1 to 100,000")
    X = np.array([[[-0.1, 1.0], [1.0, 0.0], [0.0, 0.0]]])
    scores, a = np.array([[1.0, 0.9, 0.0]]), np.array([first, second], float)
    square = float(a @ a)
    p, W, worst = np.zeros((2, 1)), np.zeros((2, 2)), 0.0
    for _ in range(steps if square else 0):
        p = p + rate * loss_and_pull(X, np.ones((1, 1)), scores, p)[1]
        W = W + rate / square * loss_and_pull(X, a[None], scores, W)[1]
        worst = max(worst, float(np.abs(W @ a - p[:, 0]).max()))
    return Bound(
        name="largest difference of W a and p",
        value=worst,
        kind="exact",
        conditions=(
            Condition("norm of the query", square**0.5, ">", 0),
            Condition("|W(0) a - p(0)|", 0.0, "==", 0),
        ),
        quantities={"p1": float(p[0, 0]), "p2": float(p[1, 0])},
        reference="tarzanagh2023, equivalence of prompt and weights",
    )


def joint(third: Real = 1.5, kappa: Real = 1.0) -> Bound:
    r"""Head and prompt together: the prompt follows the SVM with gaps $1 - (m_i - 1)\kappa$.

    Tokens 0 and (1, 1), (1, -1), (.5, `third`), labels 1, -1, 1. If every sample supports the
    head's SVM ($m_i = 1$) it is that of all samples; for a large ratio of clocks $\kappa$ it is the
    relaxed one, which asks nothing but order of the others.

    Departures: the paper's statement is on paths with bounds on both norms, recalled; the
        interpolated SVM is derived here.

    Reference: tarzanagh2023 (S10); limelight.
    """
    chosen = np.array([[1.0, 1.0], [1.0, -1.0], [0.5, third]])
    X = np.stack([np.zeros_like(chosen), chosen], axis=1)
    Y, ones, ids = np.array([1.0, -1.0, 1.0]), np.ones((3, 1)), np.ones(3, int)
    head = least_norm(Y[:, None] * chosen)
    if not head.feasible:
        raise InputError(f"third = {third:g} leaves no head that separates", "above 0")
    margin = least_norm(chosen)
    bounds = np.maximum(0.0, 1 - (head.gaps - 1) * kappa)
    mixed = least_norm(chosen, bounds)
    again = interpolated(X, ones, ids, head.gaps, kappa, max(mixed.norm, 1e-12))
    cosine = lambda a, b: float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    relaxed = least_norm(chosen, (head.gaps <= 1 + SUPPORT).astype(float))
    return Bound(
        name="cosine of the prompt's SVM to that of all samples",
        value=cosine(mixed.weights, margin.weights),
        kind="prediction",
        conditions=(
            Condition(
                "largest margin of the head's SVM",
                float(head.gaps.max()),
                "<=",
                1 + SUPPORT,
                "then the SVM of all samples",
            ),
            Condition("ratio of clocks", kappa, ">", 0),
        ),
        quantities={
            "cosine to the relaxed SVM": cosine(mixed.weights, relaxed.weights),
            "norm of the prompt's SVM": mixed.norm,
            "the same as a fixed point": again.norm,
        },
        notes=(RECALLED,),
        reference="tarzanagh2023, joint optimisation; limelight",
    )


def pair(level: Real = 100.0, loss: LossName = "logistic") -> Bound:
    r"""What stays off the direction: $p_2 \to \frac12\ln(C|\ell'(C)|/|\ell'(1)|)$.

    Reference: limelight (S13), on the world of the released notebook with two samples.
    """
    if not level > 0:
        raise InputError(f"level = {level:g}", "a positive number")
    return Bound(
        name="limit of p2",
        value=pair_offset(level, loss),
        kind="exact",
        conditions=(Condition("score C", level, ">", 0),),
        quantities={"p1 beyond which the cosine is .999": 22.3 * abs(pair_offset(level, loss))},
        reference="limelight",
    )
