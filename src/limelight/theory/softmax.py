r"""How far attention moves when its scores, weights or inputs move.

Every lemma is a function of one instance that evaluates both sides and returns them as a
`Condition`; `ratio` is how much of the bound was used. `constant` is $c$ in
$\|\mathrm{softmax}(a) - \mathrm{softmax}(b)\|_1 \le c \|a - b\|_\infty$: the paper takes 2, and 1
is valid and tight.

Reference: edelman2022, Section 4 and Appendix A.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight.models.heads import HeadWeights, Map, attention, block, general_head, project
from limelight.models.heads import softmax as softmax_of
from limelight.theory.base import Condition

Vector = Float[np.ndarray, " n"]
Matrix = Float[np.ndarray, "rows columns"]


def ratio(condition: Condition) -> float:
    """Left side over right side; 0 where both vanish."""
    return condition.left / condition.right if condition.right else float(condition.left > 0)


def _furthest(rows: np.ndarray) -> float:
    return float(np.linalg.norm(rows, axis=-1).max())


def softmax_moves(a: Vector, b: Vector, constant: Real = 2.0) -> Condition:
    r"""$\|\mathrm{softmax}(a) - \mathrm{softmax}(b)\|_1 \le c\,\|a - b\|_\infty$.

    Departures: the paper has $c = 2$. $c = 1$ holds: $J h = p (h - p^\top h)$, whose 1-norm is
        convex in $h$, so largest at signs, where it is $4 q (1 - q) \le 1$.

    Reference: edelman2022, Lemma A.7.
    """
    moved = np.abs(softmax_of(a) - softmax_of(b)).sum()
    return Condition("softmax", float(moved), "<=", constant * float(np.abs(a - b).max()))


def softmax_saturates(a: Vector, b: Vector) -> Condition:
    r"""$\|\mathrm{softmax}(a) - \mathrm{softmax}(b)\|_1 \le 2 \tanh(\|a - b\|_\infty / 2)$; tight.

    Departures: not in the paper. No set's log-odds move by more than $2D$, so the total variation
        is at most $\tanh(D / 2)$.
    """
    moved = np.abs(softmax_of(a) - softmax_of(b)).sum()
    far = float(np.abs(a - b).max())
    return Condition("softmax, saturating", float(moved), "<=", float(2 * np.tanh(far / 2)))


def softmax_truncates(scores: Vector, favoured: int) -> Condition:
    r"""Mass that leaves the first $s$ entries when they score $\ge R$ and the rest $\le 0$.

    $$\|\mathrm{softmax}(z) - \mathrm{softmax}(z_{1..s})\|_1 \le \frac{2 (T - s)}{s\, e^R}$$

    It says nothing of how even the weights are **inside** the $s$ entries.

    Reference: edelman2022, Lemma B.7.
    """
    threshold = float(scores[:favoured].min())
    alone = np.where(np.arange(len(scores)) < favoured, scores, -np.inf)
    moved = np.abs(softmax_of(scores) - softmax_of(alone)).sum()
    others = len(scores) - favoured
    return Condition(
        "softmax truncation",
        float(moved),
        "<=",
        float(2 * others / favoured * np.exp(-threshold)),
    )


def projection_contracts(u: Vector, v: Vector) -> Condition:
    r"""$\|\Pi(u) - \Pi(v)\| \le \|u - v\|$. Reference: edelman2022, Lemma A.9."""
    moved = np.linalg.norm(project(u) - project(v))
    return Condition("projection", float(moved), "<=", float(np.linalg.norm(u - v)))


def head_moves(
    tokens: Float[np.ndarray, "tokens dimension"],
    scores: tuple[Float[np.ndarray, " tokens"], Float[np.ndarray, " tokens"]],
    inner: tuple[Float[np.ndarray, "tokens inner"], Float[np.ndarray, "tokens inner"]],
    outer: Map,
    lipschitz: Real,
    gain: Real,
    constant: Real = 2.0,
) -> Condition:
    r"""A general head, its scores and inner map both changed.

    $$\|y - y'\| \le C L_{out} B_{in} B_X \max_t |\Delta \mathrm{Score}_t|
        + L_{out} \max_t \|\Delta \phi_{in}(x_t)\|$$

    Notation: `scores` and `inner` are the scores and the rows $\phi_{in}(x_t)$ of both heads,
        `lipschitz` is $L_{out}$, `gain` $B_{in}$ of the first head.
    Departures: none beyond the choice of `constant`.

    Reference: edelman2022, Lemma 4.3.
    """
    ys = [
        general_head(tokens, None, lambda X, z, s=s: s, lambda X, v=v: v, outer)
        for s, v in zip(scores, inner, strict=True)
    ]
    size = lipschitz * gain * _furthest(tokens)
    right = constant * size * np.abs(scores[0] - scores[1]).max()
    right += lipschitz * _furthest(inner[0] - inner[1])
    moved = np.linalg.norm(ys[0] - ys[1])
    return Condition("head", float(moved), "<=", float(right))


def weights_move(
    tokens: Matrix, old: HeadWeights, new: HeadWeights, constant: Real = 2.0
) -> Condition:
    r"""Attention with changed weights, tokens of length at most 1.

    $$\max_\tau \|A(Z; W) - A(Z; W')\| \le c \|W_V\|_2 \max_t \|(W_Q W_K^\top - W_Q' W_K'^\top)
        z_t\| + \max_t \|(W_V - W_V')^\top z_t\|$$

    Reference: edelman2022, Lemma A.13.
    """
    moved = _furthest(attention(tokens, *old[:3]) - attention(tokens, *new[:3]))
    change = old.query @ old.key.T - new.query @ new.key.T
    right = constant * np.linalg.norm(old.value, 2) * _furthest(tokens @ change.T)
    right += _furthest(tokens @ (old.value - new.value))
    return Condition("attention, weights moved", moved, "<=", float(right))


def amplification(weights: HeadWeights, constant: Real = 2.0) -> float:
    r"""$\|W_V\|_2 (1 + 2 c \|W_K W_Q^\top\|_2)$: how much attention stretches its inputs."""
    product = np.linalg.norm(weights.query @ weights.key.T, 2)
    return float(np.linalg.norm(weights.value, 2) * (1 + 2 * constant * product))


def inputs_move(old: Matrix, new: Matrix, weights: HeadWeights, constant: Real = 2.0) -> Condition:
    r"""Attention with changed tokens, all of length at most 1.

    $$\max_\tau \|A(Z) - A(Z')\| \le \|W_V\|_2 (1 + 2 c \|W_K W_Q^\top\|_2) \max_t \|z_t - z_t'\|$$

    Reference: edelman2022, Lemma A.14 ($c = 2$ gives the printed 4).
    """
    moved = _furthest(attention(old, *weights[:3]) - attention(new, *weights[:3]))
    right = amplification(weights, constant) * _furthest(old - new)
    return Condition("attention, inputs moved", moved, "<=", float(right))


def block_moves(
    tokens: tuple[Matrix, Matrix],
    weights: tuple[HeadWeights, HeadWeights],
    activation: Callable[[np.ndarray], np.ndarray],
    lipschitz: Real,
    constant: Real = 2.0,
) -> Condition:
    r"""One block, weights and inputs both changed, all tokens of length at most 1.

    The sum of what the output map, the inputs, the query-key map and the value map move, with
    coefficients $1$; $L_\sigma B_C B_V (1 + 2 c B_{QK})$; $c L_\sigma B_C B_V$; $L_\sigma B_C$.

    Reference: edelman2022, Lemma A.15.
    """
    (Z, Zn), (old, new) = tokens, weights
    moved = _furthest(block(Z, old, activation) - block(Zn, new, activation))
    hidden = activation(project(attention(Zn, *new[:3])))
    change = old.query @ old.key.T - new.query @ new.key.T
    carry = lipschitz * np.linalg.norm(old.output, 2)
    right = _furthest(hidden @ (old.output - new.output))
    right += carry * amplification(old, constant) * _furthest(Z - Zn)
    right += carry * constant * np.linalg.norm(old.value, 2) * _furthest(Zn @ change.T)
    right += carry * _furthest(Zn @ (old.value - new.value))
    return Condition("block", moved, "<=", float(right))


def readout_moves(w: Vector, w_new: Vector, a: Vector, b: Vector) -> Condition:
    r"""$|w^\top a - w'^\top b| \le \|w\| \|a - b\| + |(w - w')^\top b|$.

    Reference: edelman2022, Lemma A.16.
    """
    right = np.linalg.norm(w) * np.linalg.norm(a - b) + abs((w - w_new) @ b)
    return Condition("read-out", float(abs(w @ a - w_new @ b)), "<=", float(right))
