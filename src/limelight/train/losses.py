r"""Losses of one example: an output and a label, which is +1 or -1 or several such bits."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight._core.errors import InputError, check_word
from limelight._core.types import Number

#: A loss by name, or any function of an output and its example.
Loss = str | Callable[[Any, Any], Float[Array, ""]]


def hinge(output: Float[Array, "*bits"], label: Float[Array, "*bits"]) -> Float[Array, ""]:
    r"""$\max(1 - y^\top F, 0)$; its gradient at the kink is 0: zero loss means no gradient."""
    return jax.nn.relu(1.0 - jnp.sum(label * output))


def per_bit(output: Float[Array, "*bits"], label: Float[Array, "*bits"]) -> Float[Array, ""]:
    r"""$\sum_u \max(1 - y_u F_u, 0)$: unlike `hinge` it asks every label bit to be right."""
    return jnp.sum(jax.nn.relu(1.0 - label * output))


def logistic(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    r"""$\log(1 + e^{-y F})$."""
    return jax.nn.softplus(-label * output)


def cross_entropy(
    output: Float[Array, " classes"], label: Float[Array, " classes"], smoothing: Number = 0.0
) -> Float[Array, ""]:
    """Cross-entropy of a softmax with a label that is +1 at its class and -1 elsewhere.

    `smoothing` is the share of the label that is spread evenly over all classes.
    """
    target = (1.0 - smoothing) * (1.0 + label) / 2.0 + smoothing / len(label)
    return -jnp.sum(target * jax.nn.log_softmax(output))


def two_way_entropy(logits: Float[Array, "n 2"], labels: Bool[Array, " n"]) -> Float[Array, " n"]:
    """Cross-entropy of a softmax over no and yes, for many examples at once."""
    right = jnp.where(labels, logits[:, 1] - logits[:, 0], logits[:, 0] - logits[:, 1])
    return jax.nn.softplus(-right)


LOSSES: dict[str, Callable] = {
    "hinge": hinge,
    "per_bit": per_bit,
    "logistic": logistic,
    "cross_entropy": cross_entropy,
}
#: Losses whose gradient vanishes where they are zero.
FLAT_AT_ZERO = ("hinge", "per_bit")


def loss_of(loss: Loss) -> Callable[[Any, Any], Float[Array, ""]]:
    """A loss as a function of an output and what `target` keeps of the example."""
    return LOSSES[loss] if isinstance(loss, str) else loss


def target(loss: Loss, example: Any) -> Any:
    """What a loss compares an output with: the label for one of ours, else the whole example."""
    return example.label if isinstance(loss, str) else example


def check_loss(field: str, loss: Any) -> None:
    """Refuse unknown names, and what is no function."""
    if isinstance(loss, str):
        check_word(field, loss, tuple(LOSSES))
    elif not callable(loss):
        known = ", ".join(LOSSES)
        raise InputError(f"{field} = {loss!r}", f"a function of (output, example), or {known}")
    elif loss in LOSSES.values():  # these compare with labels
        raise InputError(f"{field} = {loss.__name__}, a function", f"name it: {loss.__name__!r}")
