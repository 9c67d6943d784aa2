r"""The attention heads that capacity bounds speak of, as pure functions of NumPy or JAX arrays.

$$y = \phi_{out}\big( \phi_{in}(X)^\top\, \mathrm{Norm}(\mathrm{Score}(x_1, z), \dots,
    \mathrm{Score}(x_T, z)) \big)$$

The four pieces are callables. A Transformer head fills them with linear maps and a softmax; there
is no $1/\sqrt k$ in the theory, real models put it into $W_Q W_K^\top$.

Reference: edelman2022, Sections 2 and 3.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from limelight._core.arrays import namespace

Map = Callable[[Any], Any]


class HeadWeights(NamedTuple):
    """The maps of one head.

    Args:
        query: $W_Q$, [d, k].
        key: $W_K$, [d, k].
        value: $W_V$, [d, k].
        output: $W_C$, [k, d].

    Example:
        >>> import limelight as ll, jax.numpy as jnp
        >>> ll.models.HeadWeights(jnp.eye(2), jnp.eye(2), jnp.ones((2, 1)), jnp.ones((1,
        ...     2))).value.shape
        (2, 1)
    """

    query: Any
    key: Any
    value: Any
    output: Any


def softmax(scores: Any) -> Any:
    """Softmax over the last axis; the largest score is taken off first."""
    xp = namespace(scores)
    grown = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return grown / xp.sum(grown, axis=-1, keepdims=True)


def project(rows: Any) -> Any:
    r"""Every row on the unit ball: $z / \max(1, \|z\|)$.

    A row inside the ball stays as it is; its length need not become 1.
    """
    xp = namespace(rows)
    length = xp.sqrt(xp.sum(rows * rows, axis=-1, keepdims=True))
    return rows / xp.maximum(length, 1.0)


def general_head(
    tokens: Any,
    context: Any,
    score: Callable[[Any, Any], Any],
    inner: Map,
    outer: Map = lambda mixed: mixed,
    normalise: Map = softmax,
) -> Any:
    r"""One head in its most general form.

    Notation: `tokens` is $X$ with rows $x_t$, `context` $z$, `score` maps $(X, z)$ to $T$ scores,
        `inner` is $\phi_{in}$ on rows, `outer` $\phi_{out}$, `normalise` $\mathrm{Norm}$.
    Departures: none.

    Reference: edelman2022, Section 3.
    """
    return outer(inner(tokens).T @ normalise(score(tokens, context)))


def attention(tokens: Any, query: Any, key: Any, value: Any) -> Any:
    r"""Every position at once, $\mathrm{rowsoftmax}(Z W_Q (Z W_K)^\top) Z W_V$."""
    return softmax((tokens @ query) @ (tokens @ key).T) @ (tokens @ value)


def block(tokens: Any, weights: HeadWeights, activation: Map) -> Any:
    r"""One layer of the deep network, $\Pi(\sigma(\Pi(A(Z; W))) W_C)$.

    No residual branch and no hidden layer: the network that the depth bound covers.
    """
    mixed = project(attention(tokens, weights.query, weights.key, weights.value))
    return project(activation(mixed) @ weights.output)


def deep(tokens: Any, layers: Sequence[HeadWeights], readout: Any, activation: Map) -> Any:
    r"""The deep network read at its last token, $w^\top [g^{(L+1)}]_{CLS}$.

    Reference: edelman2022, Section 4.3.
    """
    for weights in layers:
        tokens = block(tokens, weights, activation)
    return tokens[-1] @ readout
