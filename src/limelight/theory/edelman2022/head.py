r"""The capacity of any attention head, of Transformer heads, and of a scalar read-out of them.

In every bound `tokens` is the number of attended tokens: count a [CLS] token. Only the number of
points, `examples * tokens`, sees it, so at fixed norms the capacity grows like its logarithm.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limelight._core.arrays import Real, Reals
from limelight._core.errors import InputError
from limelight.theory.covering import LinearMap, at_least_zero, linear_map, parameter_count, zhang

#: A log covering number as a function of resolution and number of points.
Cover = Callable[[Real, Real], Real]

#: Splits of the error budget that the explicit bounds try. The list is fixed: a split that follows
#: the norms can make the bound fall where a norm grows.
SPLITS = 1.0 / (1.0 + np.exp(-np.arange(-12.0, 12.01, 0.25)))


@dataclass(frozen=True)
class HeadNorms:
    r"""What the bounds need to know of one head $\sigma(W_V^\top X^\top \mathrm{softmax}(\cdot))$.

    Args:
        query_key: The map $x \mapsto W_{QK} x$, $W_{QK} = W_Q W_K^\top$: norms over its rows.
        value: The map $x \mapsto W_V^\top x$: norms over the columns of $W_V$.
        token_norm: $B_X$, the largest length of a token; fixed positions included.
        query_norm: $B_q$, the length of the token that asks; $B_X$ when not given.
        lipschitz: $L_\sigma$ of the activation.
        query_side: The map $x_\tau \mapsto W_{QK}^\top x_\tau$, for the tighter cover.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> HeadNorms(query_key=one, value=one).token_norm
        1.0
    """

    query_key: LinearMap
    value: LinearMap
    token_norm: Real = 1.0
    query_norm: Real | None = None
    lipschitz: Real = 1.0
    query_side: LinearMap | None = None

    def __post_init__(self):
        at_least_zero(
            token_norm=self.token_norm, query_norm=self.query_norm, lipschitz=self.lipschitz
        )

    @classmethod
    def of_report(cls, norms: Mapping[str, Any]) -> "HeadNorms":
        """What a report kept of a head: `norms` in `HeadReport.as_json`."""
        side = norms["query_side"]
        return cls(
            LinearMap(**norms["query_key"]),
            LinearMap(**norms["value"]),
            norms["token"],
            norms["query_token"],
            query_side=None if side is None else LinearMap(**side),
        )

    @classmethod
    def of_measures(cls, sizes: Mapping[str, Real], inputs: int, outputs: int) -> "HeadNorms":
        """What was measured of a head while it trained.

        Args:
            sizes: As `measures.norms.head_norms` names them, with the lengths `token` and
                `query_token`.
            inputs: Width of the tokens.
            outputs: Width of the values.
        """
        norms = lambda name, outputs, spectral: LinearMap(
            outputs, sizes[f"{name}.largest"], sizes[f"{name}.total"], spectral, None, inputs
        )
        product = sizes["query_key.spectral"]  # of the product and of its transpose
        return cls(
            norms("query_key", inputs, product),
            norms("value", outputs, sizes["value.spectral"]),
            sizes["token"],
            sizes["query_token"],
            query_side=norms("query_side", inputs, product),
        )

    @property
    def asking(self) -> float:
        """$B_q$."""
        return self.token_norm if self.query_norm is None else self.query_norm

    @property
    def output_norm(self) -> float:
        r"""Largest length of the head's output, $L_\sigma B_V B_X$."""
        return self.lipschitz * self.value.operator_norm * self.token_norm

    def placed(self, position_norm: Real) -> "HeadNorms":
        r"""With fixed positional embeddings of length at most $B_P$: $B_X \to B_X + B_P$.

        A trained table of positions is not covered: a term linear in the tokens would appear.

        Reference: edelman2022, Corollary A.11.
        """
        at_least_zero(position_norm=position_norm)
        asking = None if self.query_norm is None else self.query_norm + position_norm
        return replace(self, token_norm=self.token_norm + position_norm, query_norm=asking)


def general_head(
    score: Cover,
    inner: Cover,
    *,
    resolution: Real,
    examples: Real,
    tokens: Real,
    token_norm: Real,
    inner_gain: Real = 1.0,
    outer_lipschitz: Real = 1.0,
    softmax_constant: Real = 2.0,
    readout: Real = 1.0,
) -> float:
    r"""Any head from the covers of its two parts, the error split between them at best.

    $$\ln \mathcal N(\epsilon) \le \min_a\; \ln \mathcal N_{Score}\Big(
        \frac{a\,\epsilon}{C L_{out} B_{in} B_X}; mT\Big)
        + \ln \mathcal N_{in}\Big(\frac{(1 - a)\, \epsilon}{L_{out}}; mT\Big)$$

    Notation: `score` and `inner` are the two covers as functions of (resolution, points),
        `inner_gain` is $B_{in}$, `softmax_constant` $C$, `readout` $B_w$ of a fixed read-out.
    Departures: $a$ runs over a fixed list (`SPLITS`), which is a valid choice of it.

    Example:
        >>> cover = lambda resolution, examples: 10.0 / resolution**2
        >>> 0 < general_head(cover, cover, resolution=1.0, examples=1e4, tokens=100, token_norm=1.0)
        True

    Reference: edelman2022, Theorem 4.2.
    """
    at_least_zero(
        token_norm=token_norm,
        inner_gain=inner_gain,
        outer_lipschitz=outer_lipschitz,
        softmax_constant=softmax_constant,
    )
    if outer_lipschitz == 0 or readout == 0:
        return 0.0  # one function
    e = resolution / readout
    points = examples * tokens
    reach = softmax_constant * outer_lipschitz * inner_gain * token_norm
    costs = [
        score(a * e / reach if reach else math.inf, points)
        + inner((1 - a) * e / outer_lipschitz, points)
        for a in SPLITS
    ]
    return float(min(costs))


def bracket(head: HeadNorms, softmax_constant: Real) -> float:
    r"""$(k B_{V,\infty})^{2/3} + (c\, d B_{QK,\infty} B_V B_X B_q)^{2/3}$, to be cubed."""
    qk, v = head.query_key, head.value
    scores = softmax_constant * qk.outputs * qk.largest * v.operator_norm
    scores *= head.token_norm * head.asking
    return (v.outputs * v.largest) ** (2 / 3) + scores ** (2 / 3)


def _share(head: HeadNorms, softmax_constant: Real) -> float:
    scale = head.lipschitz * head.token_norm
    return scale ** (2 / 3) * bracket(head, softmax_constant)


def head_order(head: HeadNorms, **given: Real) -> float:
    r"""One Transformer head, to order.

    $$\ln \mathcal N(\epsilon) \lesssim \frac{(L_\sigma B_X)^2}{\epsilon^2}
        \Big[ (k B_{V,\infty})^{2/3} + (c\, d\, B_{QK,\infty} B_V B_X B_q)^{2/3} \Big]^3 \ln(mT)$$

    Departures: the printed corollary drops the 2, $B_X$ and $\|x_\tau\|$ (they are 1 there, or
        appear in the proof alone) and has $k = d$.

    Args:
        head: Its norms.
        given: As for `heads_order`, of which this is the case of one head.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> 0 < head_order(HeadNorms(query_key=one, value=one), resolution=1.0, examples=1e4,
        ...     tokens=100)
        True

    Reference: edelman2022, Corollary 4.4.
    """
    return heads_order([head], **given)


def heads_order(
    heads: Sequence[HeadNorms],
    *,
    resolution: Real,
    examples: Real,
    tokens: Real,
    softmax_constant: Real = 2.0,
    constant: Real = 1.0,
) -> float:
    """The sum of several heads, to order: the bracket is summed before it is cubed.

    So $H$ equal heads have $H^3$ times the capacity of one.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> heads = [HeadNorms(query_key=one, value=one)] * 2
        >>> bool(0 < heads_order(heads, resolution=1.0, examples=1e4, tokens=100))
        True

    Reference: edelman2022, Corollary A.12.
    """
    _check(resolution, examples, tokens)
    inside = sum(_share(head, softmax_constant) for head in heads)
    return constant * inside**3 / resolution / resolution * math.log(examples * tokens)


def head_explicit(
    head: HeadNorms,
    resolution: Reals,
    *,
    examples: Real,
    tokens: Real,
    softmax_constant: Real = 1.0,
) -> Reals:
    r"""One Transformer head, a true upper bound with all constants.

    The smallest over a fixed list of splits of the cover of the query-key map plus that of the
    value map. The query-key map is covered on the side of the keys ($mT$ points) or of the asking
    token ($m$ points, where `query_side` is known), whichever is smaller.

    Departures: ours; the paper states the order. With `softmax_constant=1`, which is valid.

    Returns:
        The bound at every resolution.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> head = HeadNorms(query_key=one, value=one)
        >>> short, long = (head_explicit(head, 1.0, examples=1e4, tokens=n) for n in (100, 1000))
        >>> bool(short <= long)  # it grows with the length, slowly
        True

    Reference: edelman2022, Corollary 4.4.
    """
    e = np.asarray(resolution, dtype=float)
    points = examples * tokens
    th = SPLITS.reshape(-1, *[1] * e.ndim)
    qk, v, X = head.query_key, head.value, head.token_norm
    carry = softmax_constant * head.lipschitz * v.operator_norm * X
    with np.errstate(divide="ignore"):
        scores = linear_map(qk, X, np.divide(th * e, carry * head.asking), points)
        if head.query_side is not None:
            asking = linear_map(
                head.query_side, head.asking, np.divide(th * e, carry * X), examples
            )
            scores = np.minimum(scores, asking)
    values = linear_map(v, X, (1 - th) * e / head.lipschitz, points)
    return np.min(scores + values, axis=0)


def head_parameters(head: HeadNorms, resolution: Reals, *, softmax_constant: Real = 1.0) -> Reals:
    """One head by counting parameters: blind to the number of tokens and of examples."""
    e = np.asarray(resolution, dtype=float)
    th = SPLITS.reshape(-1, *[1] * e.ndim)
    v, X = head.value, head.token_norm
    carry = softmax_constant * head.lipschitz * v.operator_norm * X * head.asking
    with np.errstate(divide="ignore"):
        scores = parameter_count(head.query_key, X, np.divide(th * e, carry))
    return np.min(scores + parameter_count(v, X, (1 - th) * e / head.lipschitz), axis=0)


def heads_explicit(
    heads: Sequence[HeadNorms],
    resolution: Reals,
    *,
    examples: Real,
    tokens: Real,
    softmax_constant: Real = 1.0,
    split: str = "even",
) -> Reals:
    """Several heads, a true upper bound: each head is covered to its share of the resolution.

    The `split` is `even` (monotone in every norm), or `tight`: in proportion to each head's
    bracket, also valid and usually smaller.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> heads = [HeadNorms(query_key=one, value=one)] * 2
        >>> bool(0 < heads_explicit(heads, 1.0, examples=1e4, tokens=100))
        True

    Reference: edelman2022, Corollary A.12.
    """
    e = np.asarray(resolution, dtype=float)
    total = np.zeros(e.shape)
    for head, share in zip(heads, shares(heads, softmax_constant, split), strict=True):
        total = total + head_explicit(
            head, e * share, examples=examples, tokens=tokens, softmax_constant=softmax_constant
        )
    return total


def heads_parameters(
    heads: Sequence[HeadNorms], resolution: Reals, *, softmax_constant: Real = 1.0
) -> Reals:
    """Several heads by counting parameters, even shares.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> bool(0 < heads_parameters([HeadNorms(query_key=one, value=one)], 1.0))
        True
    """
    e = np.asarray(resolution, dtype=float) / len(heads)
    parts = [head_parameters(h, e, softmax_constant=softmax_constant) for h in heads]
    return np.sum(np.array(parts), axis=0)


def shares(heads: Sequence[HeadNorms], softmax_constant: Real, split: str) -> np.ndarray:
    """The part of the resolution that every head gets."""
    if split == "even":
        return np.full(len(heads), 1.0 / len(heads))
    if split != "tight":
        raise InputError(f"unknown split {split!r}", "even or tight")
    weight = np.array([_share(head, softmax_constant) for head in heads], dtype=float)
    live = weight > 0
    if not live.any():
        return np.full(len(heads), 1.0 / len(heads))
    weight = np.where(live, weight, weight[live].min())  # a dead head costs nothing at any share
    return weight / weight.sum()


def scalar_head(
    heads: Sequence[HeadNorms],
    resolution: Reals,
    *,
    readout: Real,
    examples: Real,
    tokens: Real,
    softmax_constant: Real = 1.0,
    trained: bool = False,
) -> Reals:
    r"""A scalar output $w^\top y$ with $\|w\| \le B_w$.

    A fixed $w$ rescales the resolution, $\epsilon \to \epsilon / B_w$. A trained one is covered as
    well: $\epsilon = B_w e_{head} + e_w$, at the cost of the heads at $e_{head}$ plus linear
    functionals on vectors of length $\sum_h L_\sigma B_V B_X + e_{head}$ at $e_w$.

    Departures: the cover's heads may lie outside the class, so the functionals see vectors longer
        by $e_{head}$; the paper does not say so.

    Example:
        >>> from limelight.theory.covering import LinearMap
        >>> one = LinearMap(largest=1.0, total=4.0, spectral=1.0, inputs=8, outputs=8)
        >>> heads = [HeadNorms(query_key=one, value=one)]
        >>> bool(0 < scalar_head(heads, 1.0, readout=1.0, examples=1e4, tokens=100))
        True

    Reference: edelman2022, Section 4.2.
    """
    e = np.asarray(resolution, dtype=float)
    if readout == 0:
        return np.zeros(e.shape)

    def covered(at: Reals) -> Reals:
        return heads_explicit(
            heads, at, examples=examples, tokens=tokens, softmax_constant=softmax_constant
        )

    if not trained:
        return covered(e / readout)
    reach = sum(head.output_norm for head in heads)
    th = SPLITS.reshape(-1, *[1] * e.ndim)
    inner = th * e / readout
    functionals = zhang(readout, reach + inner, (1 - th) * e, examples)
    return np.min(covered(inner) + functionals, axis=0)


def _check(resolution: Real, examples: Real, tokens: Real) -> None:
    if not (resolution > 0 and examples >= 1 and tokens >= 1):
        raise InputError(
            f"resolution = {resolution}, examples = {examples}, tokens = {tokens}",
            "a positive resolution, and at least one example and one token",
        )
