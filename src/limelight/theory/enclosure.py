r"""Arithmetic that cannot be wrong by rounding: what attention and a ReLU network can output.

A matrix is kept as centre and radius; every product adds its own worst round-off. `head_range`
encloses a head's output over **all** inputs that agree on some positions, at the cost of one pass
over the positions; `network_range` carries affine forms through the layers, because intervals
alone forget that the four ReLUs of a bump cancel.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from limelight._core.arrays import Real

#: Unit round-off of float64, and a number that stands for what underflow may hide.
UNIT, TINY = 2.0**-53, 1e-290
BISECTIONS = 60


class Ball(NamedTuple):
    """A matrix known up to an entrywise radius."""

    centre: np.ndarray
    radius: np.ndarray

    @classmethod
    def exact(cls, centre: np.ndarray) -> "Ball":
        """A matrix that is what it says."""
        centre = np.asarray(centre, dtype=np.float64)
        return cls(centre, np.zeros_like(centre))


def plus(a: Ball, b: Ball) -> Ball:
    """Sum, with the round-off of the addition."""
    centre = a.centre + b.centre
    return Ball(centre, _up(a.radius + b.radius + UNIT * np.abs(centre), 4))


def times(a: Ball, b: Ball) -> Ball:
    """Matrix product; a product of length n is off by at most (n + 2) u |a| |b|."""
    n = a.centre.shape[-1]
    size_a, size_b = np.abs(a.centre), np.abs(b.centre)
    radius = size_a @ b.radius + a.radius @ (size_b + b.radius)
    return Ball(a.centre @ b.centre, _up(radius + (n + 2) * UNIT * (size_a @ size_b), 4 * n + 8))


def _up(radius: np.ndarray, operations: int) -> np.ndarray:
    """A radius made large enough for the round-off of computing it."""
    return radius * (1 + (operations + 4) * UNIT) + TINY


class HeadTable(NamedTuple):
    """Weights and values of one head, an interval each: T positions by 2 bits, and [CLS].

    Weights are up to a common factor, which a softmax does not see.
    """

    weight_low: Float[np.ndarray, "length 2"]
    weight_high: Float[np.ndarray, "length 2"]
    value_low: Float[np.ndarray, "length 2 outputs"]
    value_high: Float[np.ndarray, "length 2 outputs"]
    cls_weight: tuple[float, float]
    cls_value: tuple[np.ndarray, np.ndarray]


def head_table(
    tokens: Ball,
    cls: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    output: np.ndarray,
    outputs: int,
) -> HeadTable:
    """Everything a head can say of a token, for both bits of every position.

    Args:
        tokens: Positions by bits by coordinates.
        cls: The asking token, attended to as well.
        query: Query weights.
        key: Key weights.
        value: Value weights.
        output: Output weights.
        outputs: How many of the output's coordinates are read.
    """
    length = tokens.centre.shape[0]
    d = len(cls)
    rows = Ball(
        np.vstack([tokens.centre.reshape(2 * length, d), cls]),
        np.vstack([tokens.radius.reshape(2 * length, d), np.zeros(d)]),
    )
    asked = times(Ball.exact(cls[None]), Ball.exact(query))
    keys = times(rows, Ball.exact(key))
    scores = times(keys, Ball(asked.centre.T, asked.radius.T))
    values = times(times(rows, Ball.exact(value)), Ball.exact(output[:, :outputs]))
    score, radius = scores.centre[:, 0], scores.radius[:, 0]
    top = score.max()
    low, high = (_exponential(score, sign * radius, top, sign) for sign in (-1, 1))
    under, over = values.centre - values.radius, values.centre + values.radius
    under, over = np.nextafter(under, -np.inf), np.nextafter(over, np.inf)
    shape = (length, 2, outputs)
    return HeadTable(
        low[:-1].reshape(length, 2),
        high[:-1].reshape(length, 2),
        under[:-1].reshape(shape),
        over[:-1].reshape(shape),
        (float(low[-1]), float(high[-1])),
        (under[-1], over[-1]),
    )


def _exponential(score: np.ndarray, shift: np.ndarray, top: Real, sign: int) -> np.ndarray:
    """exp(score + shift - top), widened in the direction of `sign` by all round-off."""
    exponent = (score + shift) - top
    off = 4 * UNIT * (np.abs(score) + np.abs(shift) + abs(top) + np.abs(exponent))
    value = np.exp(exponent + sign * off) * (1 + sign * 8 * UNIT)
    return np.maximum(value + sign * TINY, 0.0)


def head_range(
    table: HeadTable,
    positions: Int[np.ndarray, " sparsity"],
    bits: Int[np.ndarray, "patterns sparsity"],
) -> tuple[Float[np.ndarray, "patterns outputs"], Float[np.ndarray, "patterns outputs"]]:
    r"""The range of a head over all inputs that carry given bits on given positions.

    The output is a weighted mean of values, so $y$ is an upper bound over all $2^{T-s}$ other bits
    if and only if

    $$\sum_{[CLS], I} w (U - y) + \sum_{t \notin I} \max_b w_{t,b} (U_{t,b} - y) \le 0.$$

    The left side decreases in $y$: it is bisected, with the worst end of every interval and all
    round-off added. The last $y$ that passed is a bound whatever the weights are.
    """
    upper = _upper(table, positions, bits)
    flipped = table._replace(
        value_low=-table.value_high,
        value_high=-table.value_low,
        cls_value=(-table.cls_value[1], -table.cls_value[0]),
    )
    return -_upper(flipped, positions, bits), upper


def _upper(table: HeadTable, positions: np.ndarray, bits: np.ndarray) -> np.ndarray:
    length, _, outputs = table.value_high.shape
    others = np.delete(np.arange(length), positions)
    # In the set: one row per pattern. [CLS] is appended, it belongs to every pattern.
    index = (positions[None, :], bits)
    count = len(bits)
    cls = lambda x: np.broadcast_to(x, (count, 1, *np.shape(x)))
    low = np.concatenate([table.weight_low[index], cls(table.cls_weight[0])], axis=1)
    high = np.concatenate([table.weight_high[index], cls(table.cls_weight[1])], axis=1)
    value = np.concatenate([table.value_high[index], cls(table.cls_value[1])], axis=1)
    tops = np.maximum(table.value_high.reshape(-1, outputs).max(axis=0), table.cls_value[1])
    ends = np.minimum(table.value_high.reshape(-1, outputs).min(axis=0), table.cls_value[1])
    best = np.broadcast_to(tops, (count, outputs)).copy()
    floor = np.broadcast_to(ends, (count, outputs)).copy()
    slack = (length + 5) * 4 * UNIT

    def passes(y: np.ndarray) -> np.ndarray:
        inside = value - y[:, None, :]
        terms = np.where(inside > 0, high[..., None], low[..., None]) * inside
        total, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
        if len(others):
            away = table.value_high[others][None] - y[:, None, None, :]
            weights = np.where(
                away > 0, table.weight_high[others][..., None], table.weight_low[others][..., None]
            )
            worst = (weights * away).max(axis=2)
            total, size = total + worst.sum(axis=1), size + np.abs(worst).sum(axis=1)
        return total + slack * size + TINY <= 0

    for _ in range(BISECTIONS):
        middle = (best + floor) / 2
        good = passes(middle)
        best, floor = np.where(good, middle, best), np.where(good, floor, middle)
        if np.all(best - floor <= 1e-13 * np.maximum(np.abs(best), 1e-3)):
            break
    return best


def network_range(
    low: Float[np.ndarray, "boxes inputs"],
    high: Float[np.ndarray, "boxes inputs"],
    first: np.ndarray,
    second: np.ndarray,
    readout: np.ndarray,
) -> tuple[Float[np.ndarray, " boxes"], Float[np.ndarray, " boxes"]]:
    """The range of a three-layer ReLU network over boxes.

    A unit whose range over the box lies on one side of 0 keeps or loses its affine form; one that
    straddles 0 becomes a line between its two pieces and a radius.
    """
    centre = (low + high) / 2
    reach = _up(np.maximum(high - centre, centre - low), 4)
    slopes = np.broadcast_to(np.eye(centre.shape[1]), (len(centre), *np.eye(centre.shape[1]).shape))
    form = (slopes, centre, np.zeros_like(centre))  # units by inputs, constant, radius
    for layer in (first, second):
        form = _relu(_affine(form, layer[:-1], layer[-1], reach), reach)
    slopes, constant, radius = _affine(form, readout[:, None], np.zeros(1), reach)
    half = _half(slopes, radius, reach)[:, 0]
    return (
        np.nextafter(constant[:, 0] - half, -np.inf),
        np.nextafter(constant[:, 0] + half, np.inf),
    )


def _half(slopes: np.ndarray, radius: np.ndarray, reach: np.ndarray) -> np.ndarray:
    inputs = slopes.shape[-1]
    return _up(np.einsum("bui,bi->bu", np.abs(slopes), reach) + radius, 2 * inputs + 8)


def _affine(form, weight: np.ndarray, bias: np.ndarray, reach: np.ndarray):
    slopes, constant, radius = form
    n = len(weight)
    size = np.abs(weight)
    turned = np.swapaxes(slopes, 1, 2)  # boxes by inputs by units
    out = np.swapaxes(turned @ weight, 1, 2)
    spread = np.einsum("biu,bi->bu", np.abs(turned), reach)
    middle = constant @ weight + bias
    round_off = (n + 3) * UNIT * ((spread + np.abs(constant)) @ size + np.abs(bias))
    return out, middle, _up(radius @ size + round_off, 4 * n + 16)


def _relu(form, reach: np.ndarray):
    slopes, constant, radius = form
    half = _half(slopes, radius, reach)
    low, high = constant - half, constant + half
    low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    straddles = (low < 0) & (high > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = np.where(straddles, high / (high - low), (low >= 0).astype(float))
    lean = np.clip(lean, 0.0, 1.0)
    # relu(x) - lean x lies between 0 and its larger end, for any lean in [0, 1].
    rise = np.where(straddles, _up(np.maximum(-lean * low, (1 - lean) * high), 8), 0.0)
    tilted = lean[..., None] * slopes
    middle = lean * constant + rise / 2
    spread = np.einsum("bui,bi->bu", np.abs(tilted), reach)
    round_off = 4 * UNIT * (spread + np.abs(lean * constant) + rise)
    exact = ~straddles & (lean == 1)
    grown = np.where(exact, radius, _up(lean * radius + rise / 2 + round_off, 8))
    return tilted, middle, grown
