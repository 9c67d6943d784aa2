"""One function for NumPy and JAX: which of the two an array belongs to."""

from types import ModuleType
from typing import Any

import numpy as np

#: A number as people write it: beartype does not take 1 for a float.
Real = float | int
#: A number, or an array of them.
Reals = Real | np.ndarray


def namespace(*arrays: Any) -> ModuleType:
    """`numpy`, or `jax.numpy` as soon as one array is JAX's (a traced one included).

    Example:
        >>> namespace(np.ones(2), 3.0).__name__
        'numpy'
    """
    plain = np.ndarray | np.generic | list | tuple | float | int | None
    if all(isinstance(array, plain) for array in arrays):
        return np
    import jax.numpy as jnp

    return jnp
