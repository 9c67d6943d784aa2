"""Optimizers: by name with the usual options, or any of Optax.

Made inside the traced program, so that rates and decays can be swept without compiling again.
"""

from collections.abc import Callable
from typing import Any

import optax

from limelight._core.errors import InputError, check_word
from limelight._core.types import Number

NAMES = ("sgd", "adam", "adamw")
#: A name, a finished optimizer, or a function that makes one from a rate.
Optimizer = str | optax.GradientTransformation | Callable[[Any], optax.GradientTransformation]
#: A rate, or the rate at every step.
Rate = Number | Callable[[Any], Any]
#: Named optimizers that do nothing where the gradient is zero, whatever came before.
MEMORYLESS = ("sgd",)


def make_optimizer(
    optimizer: Optimizer,
    rate: Rate,
    *,
    decay: Number | None = None,
    decays: Any = None,
    momentum: Number | None = None,
    clip: Number | None = None,
) -> optax.GradientTransformation:
    """An optimizer of Optax; the options are those of named ones.

    Args:
        optimizer: `sgd`, `adam` or `adamw`; an Optax optimizer, used as it is; or a function that
            makes one from the rate.
        rate: Step size.
        decay: Weight decay: past Adam for `adamw`, through the momentum for `sgd`.
        decays: Which weights decay, as a mask or a function to one; all when `None`.
        momentum: Nesterov momentum of `sgd`.
        clip: Largest norm of a gradient; longer ones are shortened.
    """
    if isinstance(optimizer, optax.GradientTransformation):
        return optimizer
    if not isinstance(optimizer, str):
        return optimizer(rate)
    parts = [] if clip is None else [optax.clip_by_global_norm(clip)]  # pyright: ignore[reportArgumentType]
    if optimizer in ("adam", "adamw"):
        parts += [optax.scale_by_adam()]
    if decay is not None and optimizer != "adam":
        parts += [optax.add_decayed_weights(decay, mask=decays)]  # pyright: ignore[reportArgumentType]
    if momentum is not None and optimizer == "sgd":
        parts += [optax.trace(momentum, nesterov=True)]  # pyright: ignore[reportArgumentType]
    return optax.chain(*parts, optax.scale_by_learning_rate(rate))  # pyright: ignore[reportArgumentType]


def check_optimizer(
    field: str, optimizer: Any, rate: Rate | None = None, names: tuple[str, ...] = NAMES
) -> None:
    """Refuse unknown names, what is no optimizer, and a rate that a finished one cannot heed.

    It stands in a `field` beside its `rate`, where 1 stands for none.
    """
    if isinstance(optimizer, str):
        check_word(field, optimizer, names)
    elif isinstance(optimizer, optax.GradientTransformation):
        if rate is not None and rate != 1.0:
            raise InputError(
                f"rate = {rate:g} beside a finished optimizer, which has its own",
                f"leave it at 1, or let {field} be a function of the rate",
            )
    elif not callable(optimizer):
        known = ", ".join(names)
        raise InputError(
            f"{field} = {optimizer!r}", f"{known}, an Optax optimizer, or a function of the rate"
        )
