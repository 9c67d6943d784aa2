"""What every fit refuses, said once: levels, numbers and counts that cannot be meant."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from limelight._core.errors import InputError

Numbers = ArrayLike | float | int


def check_level(level: float) -> None:
    """Refuse a confidence level that is not strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"a confidence level lies between 0 and 1, not {level}", "such as 0.95")


def numbers(values: Numbers, name: str) -> Float[np.ndarray, "..."]:
    """The values as floats, or an error that names them.

    Example:
        >>> numbers([1, True], "x")
        array([1., 1.])
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, all rows of one length") from None


def counts(
    successes: Numbers, trials: Numbers
) -> tuple[Float[np.ndarray, "*cells"], Float[np.ndarray, "*cells"]]:
    """Successes and trials in one shape, or an error when they are not counts.

    Example:
        >>> counts([0, 3], 4)
        (array([0., 3.]), array([4., 4.]))
    """
    s, n = numbers(successes, "successes"), numbers(trials, "trials")
    try:
        shape = np.broadcast_shapes(s.shape, n.shape)
    except ValueError:
        raise InputError(f"successes {s.shape} and trials {n.shape} do not match") from None
    s, n = np.broadcast_to(s, shape), np.broadcast_to(n, shape)
    whole = np.isfinite(n).all() and (s == np.floor(s)).all() and (n == np.floor(n)).all()
    if not (whole and (s >= 0).all() and (s <= n).all()):
        raise InputError("successes and trials must be whole numbers with 0 <= successes <= trials")
    return s, n
