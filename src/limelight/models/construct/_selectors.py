r"""The attention heads of the constructions: which positions they pick, and what they say.

Every function takes the basis and the relevant positions and returns the token vectors and the
heads. They work on NumPy arrays and on traced JAX positions, so that a study can draw the
positions of each trial.

Coordinates: the basis first, then $E_0$, $E_1$ and $v_{cls}$ (for bags $v_{cls}$ alone).
"""

from typing import Any, NamedTuple

import numpy as np

from limelight._core.arrays import Real, namespace
from limelight.models.heads import HeadWeights

MAPPINGS = ("deterministic", "trainable", "bag")


class Selector(NamedTuple):
    """Tokens and heads. `symbols` is None for bags, whose tokens are `bit * position`."""

    cls: Any
    symbols: Any
    positions: Any
    heads: tuple[HeadWeights, ...]


def dual(vectors: Any) -> Any:
    r"""Dual vectors $v^*_j$ with $v_i^\top v^*_j = 1[i = j]$: $G^{-1} V$ with $G = V V^\top$.

    For orthonormal vectors they are the vectors themselves.

    Departures: not in the paper, which uses the vectors themselves. Their scores inside the
        relevant set then differ by up to $2 R (s - 1) \Delta$, and attention is not uniform there.
    """
    xp = namespace(vectors)
    return xp.linalg.solve(vectors @ vectors.T, vectors)


def key_sum(vectors: Any) -> Any:
    r"""$u_I = \sum_j v^*_j$: relevant positions score exactly 1, all others at most $\rho$."""
    return namespace(vectors).sum(dual(vectors), axis=0)


def deterministic(vectors: Any, positions: Any, temperature: Any, many: bool) -> Selector:
    r"""Tokens $v_t + E_b$: one head averages $\chi_i = \pm 1$ over $I$, or one head per position.

    $$W_Q = R\, v_{cls} e_1^\top, \quad W_K = u_I e_1^\top, \quad W_V = (E_0 - E_1) e_1^\top,
        \quad W_C = e_1 e_1^\top$$

    With one head per position, head $h$ has $W_K = v_{i_h} e_1^\top$ and $W_C = e_1 e_h^\top$.

    Departures: dual keys $u_I$ where $\sum_i v_i$ is printed; with several heads the printed
        $W_V$ and $W_C$ use different inner coordinates and multiply to zero.

    Reference: edelman2022, Lemma B.2.
    """
    xp = namespace(vectors, positions, temperature)
    (length, size), d = vectors.shape, vectors.shape[1] + 3
    axes = xp.eye(d)
    marked = xp.concatenate([xp.asarray(vectors), xp.zeros((length, 3))], axis=1)
    symbols, cls = axes[size : size + 2], axes[size + 2]
    chosen = marked[positions]
    keys = chosen if many else key_sum(chosen)[None]
    heads = tuple(
        _reader(xp, temperature, cls, keys[h], symbols, axes[h]) for h in range(len(keys))
    )
    return Selector(cls, symbols, marked, heads)


def trainable(length: int, positions: Any, sparsity: int, temperature: Any, many: bool) -> Selector:
    r"""Trained positions: $p_i = v$ on $I$ and 0 elsewhere, or $p_{i_h} = e_h$ for head $h$.

    Scores are exactly $R$ or 0, and $\|P^\top\|_{2,1} = s$.

    Reference: edelman2022, Lemma B.3.
    """
    xp = namespace(positions, temperature)
    marks = sparsity if many else 1
    axes = xp.eye(marks + 3)
    symbols, cls = axes[marks : marks + 2], axes[marks + 2]
    hit = xp.arange(length)[:, None] == xp.asarray(positions)[None, :]
    rows = axes[xp.arange(sparsity) if many else xp.zeros(sparsity, dtype=int)]
    table = hit.astype(rows.dtype) @ rows
    heads = tuple(_reader(xp, temperature, cls, axes[h], symbols, axes[h]) for h in range(marks))
    return Selector(cls, symbols, table, heads)


def bag(vectors: Any, positions: Any, temperature: Any, many: bool) -> Selector:
    r"""Tokens $b_t v_t$: attention on [CLS] and the ones of $I$.

    $$W_K = (u_I + v_{cls}) e_1^\top, \quad
        W_V = \sum_j v^*_{i_j} e_j^\top - v_{cls} \sum_j e_j^\top, \quad
        W_C = \sum_j e_j e_1^\top \text{ or } \sum_j e_j e_j^\top$$

    The first output is $(r - s) / (r + 1)$ for $r$ ones in $I$, the second has the entries
    $(b_{i_j} - 1) / (r + 1)$.

    Departures: dual keys and values; the printed input $V + diag(b)$ is read as $diag(b) V$.

    Reference: edelman2022, Lemma B.4.
    """
    xp = namespace(vectors, positions, temperature)
    length, size = vectors.shape
    axes = xp.eye(size + 1)
    cls = axes[size]
    marked = xp.concatenate([xp.asarray(vectors), xp.zeros((length, 1))], axis=1)
    values = dual(marked[positions])
    return Selector(
        cls, None, marked, (_bag_head(xp, temperature, cls, values.sum(axis=0), values, many),)
    )


def _reader(
    xp: Any, temperature: Any, cls: Any, key: Any, symbols: Any, target: Any
) -> HeadWeights:
    return HeadWeights(
        query=temperature * cls[:, None],
        key=key[:, None],
        value=(symbols[0] - symbols[1])[:, None],
        output=target[None, :],
    )


def _bag_head(
    xp: Any, temperature: Any, cls: Any, key: Any, values: Any, many: bool
) -> HeadWeights:
    s, d = values.shape
    inner = xp.eye(s)[0]
    output = xp.eye(s, d) if many else xp.zeros((s, d)) + xp.eye(d)[0][None, :]
    return HeadWeights(
        query=temperature * cls[:, None] * inner[None, :],
        key=(key + cls)[:, None] * inner[None, :],
        value=values.T - cls[:, None] * xp.ones(s)[None, :],
        output=output,
    )


def printed_deterministic(
    vectors: np.ndarray, positions: Any, temperature: Real, many: bool
) -> Selector:
    r"""As printed: keys $\sum_i v_i$; several heads read inner coordinate 1 and write 2.

    Kept to show how it fails.

    Reference: edelman2022, proof of Lemma B.2.
    """
    good = deterministic(vectors, positions, temperature, many)
    chosen = good.positions[positions]
    if not many:
        head = good.heads[0]._replace(key=chosen.sum(axis=0)[:, None])
        return good._replace(heads=(head,))
    first, second = np.eye(2)
    widened = [
        HeadWeights(
            query=h.query * first,
            key=h.key * first,
            value=h.value * second,
            output=first[:, None] * h.output,
        )
        for h in good.heads
    ]
    return good._replace(heads=tuple(widened))


def printed_bag(vectors: np.ndarray, positions: Any, temperature: Real, many: bool) -> Selector:
    """As printed: the vectors themselves as keys and values. Kept to show how it fails.

    Reference: edelman2022, proof of Lemma B.4.
    """
    good = bag(vectors, positions, temperature, many)
    chosen = good.positions[positions]
    head = _bag_head(np, temperature, good.cls, chosen.sum(axis=0), chosen, many)
    return good._replace(heads=(head,))
