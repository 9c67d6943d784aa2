r"""A head whose table of positions is trained: what it costs to cover the table too.

The paper covers fixed positions, and says that for trained ones the dependence on $T$ could become
linear. This is the bound with that term. Change every position by at most $e$, where no token is
longer than $B = B_X + B_P$: a score moves by at most $2 B B_{QK} e$, so the head moves by at most

$$L_\sigma B_V (1 + 2 c\, B_{QK} B^2)\, e.$$

A ball of radius $B_P$ in $d$ dimensions has a cover of $(1 + 2 B_P / e)^d$ points inside it, the
table $T$ times as many in the logarithm, and for every such table the head is covered as before.
"""

import numpy as np

from limelight._core.arrays import Real
from limelight.theory.base import Bound, Condition
from limelight.theory.covering import LinearMap, at_least_zero
from limelight.theory.edelman2022.head import SPLITS, HeadNorms, head_explicit


def table_cost(
    norm: Real, dimension: int, tokens: Real, resolution: np.ndarray | Real
) -> np.ndarray | float:
    r"""Log size of a cover of the table, $T d \ln(1 + 2 B_P / e)$; fixed positions cost nothing."""
    return tokens * dimension * np.log1p(2 * norm / np.asarray(resolution, dtype=float))


def sensitivity(head: HeadNorms, softmax_constant: Real = 1.0) -> float:
    r"""How much a head moves at most when every token does: $L_\sigma B_V (1 + 2 c B_{QK} B^2)$."""
    scores = 2 * softmax_constant * head.query_key.operator_norm * head.token_norm**2
    return float(head.lipschitz * head.value.operator_norm * (1 + scores))


def trained_positions(
    head: HeadNorms,
    position_norm: Real,
    resolution: Real,
    *,
    examples: Real,
    tokens: Real,
    softmax_constant: Real = 1.0,
) -> float:
    """Explicit log covering number of a head with a trained table of positions, best fixed split.

    Args:
        head: Norms of the head, `token_norm` without positions.
        position_norm: Largest length of a position, $B_P$.
        resolution: Of the head's output.
        examples: Size of the sample.
        tokens: Attended tokens, [CLS] included.
        softmax_constant: 2 in the paper, 1 is valid.
    """
    placed, width = head.placed(position_norm), head.query_key.outputs
    given = {"examples": examples, "tokens": tokens, "softmax_constant": softmax_constant}
    if position_norm == 0:
        return float(head_explicit(head, resolution, **given))
    moves = sensitivity(placed, softmax_constant)
    costs = [
        float(head_explicit(placed, share * resolution, **given))
        + float(
            table_cost(position_norm, width, tokens, (1 - share) * resolution / moves)
            if moves
            else 0.0
        )
        for share in SPLITS
    ]
    return min(costs)


def positions(
    dimension: int = 64,
    inner: int = 64,
    query_key: Real = 1.0,
    value_largest: Real = 1.0,
    value_spectral: Real = 1.0,
    token_norm: Real = 1.0,
    position_norm: Real = 1.0,
    resolution: Real = 1.0,
    examples: int = 1000,
    tokens: int = 100,
) -> Bound:
    r"""A head with trained positions: its capacity, and the part of it that is linear in $T$.

    Departures: derived here; the paper says that the dependence could become linear.

    Reference: edelman2022, Section 4.2 (positional embeddings) and Lemma A.11.
    """
    at_least_zero(position_norm=position_norm)
    head = HeadNorms(
        LinearMap(dimension, query_key, inputs=dimension),
        LinearMap(inner, value_largest, spectral=value_spectral, inputs=dimension),
        token_norm,
    )
    given = {"examples": examples, "tokens": tokens}
    fixed = float(head_explicit(head.placed(position_norm), resolution, **given))
    trained = trained_positions(head, position_norm, resolution, **given)
    return Bound(
        "log covering number of a head with trained positions",
        trained,
        "certificate",
        (
            Condition("resolution", resolution, ">", 0.0),
            Condition("examples", examples, ">=", 1),
            Condition("tokens", tokens, ">=", 1),
        ),
        quantities={
            "with fixed positions": fixed,
            "the table alone": trained - fixed,
            "twice the tokens over these": trained_positions(
                head, position_norm, resolution, examples=examples, tokens=2 * tokens
            )
            / trained,
        },
        notes=("derived here; the paper says that the dependence on T could become linear",),
        reference="edelman2022, Section 4.2 and Lemma A.11",
    )
