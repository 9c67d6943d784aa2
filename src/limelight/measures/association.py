r"""Patch association: whether the strongest entries of a row point to the row's own set.

Works on any matrix of pairwise scores over patches: logits $A$, attention weights (a softmax is
monotone in a row), or the Gram matrix of positional encodings.

A frozen or dominant diagonal wins its row for free. With `offdiag` the diagonal is left out, and
what is left is the honest score; report both.

Departures: the paper defines $\mathrm{Top}_C$ as a set of values and compares it with a set of
    indices; here it is a set of indices, ties to the lowest one.

Reference: jelassi2022, Definition 2.2.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.errors import InputError
from limelight._core.numerics import ranks

Scores = Float[Array, "tokens tokens"]
Sets = Int[Array, " tokens"]


def association(scores: Scores, sets: Sets) -> dict[str, Float[Array, ""]]:
    """Exact, overlap and margin, with the diagonal and without it."""
    found = {}
    for suffix, offdiag in (("", False), ("_offdiag", True)):
        found[f"exact{suffix}"] = association_exact(scores, sets, offdiag=offdiag)
        found[f"overlap{suffix}"] = association_overlap(scores, sets, offdiag=offdiag)
        found[f"margin{suffix}"] = association_margin(scores, sets, offdiag=offdiag)
    return found


def association_exact(scores: Scores, sets: Sets, *, offdiag: bool = False) -> Float[Array, ""]:
    r"""Share of rows whose top entries are the row's own set; the predicate is that it is 1."""
    own, top = _own_and_top(scores, sets, offdiag)
    return jnp.mean(jnp.all(own == top, axis=1), dtype=float)


def association_overlap(scores: Scores, sets: Sets, *, offdiag: bool = False) -> Float[Array, ""]:
    r"""Mean share of a row's own set that is among its top entries; NaN for sets of one."""
    own, top = _own_and_top(scores, sets, offdiag)
    return jnp.mean(jnp.sum(own & top, axis=1) / jnp.sum(own, axis=1), dtype=float)


def association_margin(scores: Scores, sets: Sets, *, offdiag: bool = False) -> Float[Array, ""]:
    r"""$\min_i (\min_{j \in S(i)} G_{ij} - \max_{j \notin S(i)} G_{ij})$.

    Positive exactly when the predicate holds without ties.
    """
    same = sets[:, None] == sets[None, :]
    own = same & ~jnp.eye(len(sets), dtype=bool) if offdiag else same
    inside = jnp.min(jnp.where(own, scores, jnp.inf), axis=1)
    outside = jnp.max(jnp.where(same, -jnp.inf, scores), axis=1)
    return jnp.min(inside - outside)


def chance_overlap(tokens: int, size: int, *, offdiag: bool = True) -> float:
    r"""The overlap of scores without structure: $(C-1)/(D-1)$ without the diagonal.

    With it, where the diagonal always wins its row: $(1 + (C-1)^2/(D-1))/C$.

    Example:
        >>> chance_overlap(16, 4), chance_overlap(16, 4, offdiag=False)
        (0.2, 0.4)
    """
    if not 1 < size < tokens:
        raise InputError(f"sets of {size} among {tokens} patches", "two or more, fewer than all")
    beyond = (size - 1) / (tokens - 1)
    return beyond if offdiag else (1 + (size - 1) * beyond) / size


def _own_and_top(
    scores: Scores, sets: Sets, offdiag: bool
) -> tuple[Bool[Array, "tokens tokens"], Bool[Array, "tokens tokens"]]:
    """Who shares the row's set, and who is among its as many largest entries."""
    own = sets[:, None] == sets[None, :]
    if offdiag:
        diagonal = jnp.eye(len(sets), dtype=bool)
        own, scores = own & ~diagonal, jnp.where(diagonal, -jnp.inf, scores)
    # What is not a number is nobody's strongest entry.
    return own, (ranks(-scores) < jnp.sum(own, axis=1, keepdims=True)) & ~jnp.isnan(scores)
