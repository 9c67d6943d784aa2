"""A function of arrays that was run through once: to be counted, and called without its Python.

Running through a trial in Python takes longer than anything else in planning it. What was written
down in planning is therefore called again in the program of the trials.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

#: Flags of JAX that change random numbers, types or arithmetic, and their usual values; another
#: value is part of a study's identity.
FLAGS = {
    "jax_threefry_partitionable": True,
    "jax_random_seed_offset": 0,
    "jax_numpy_dtype_promotion": "standard",
    "jax_disable_jit": False,
}


@dataclass(frozen=True)
class Traced:
    """What a function does to arrays of certain shapes and types.

    Args:
        closed: The operations.
        takes: The shapes and types of its arguments, and how JAX was set.
        leaves: Those of what it returns.

    Example:
        >>> import jax.numpy as jnp
        >>> double = Traced.of(lambda x: {"twice": 2 * x}, (jnp.ones(3),))
        >>> double.fits((jnp.zeros(3),)), double.fits((jnp.zeros(4),))
        (True, False)
        >>> double(jnp.arange(3.0))["twice"].tolist()
        [0.0, 2.0, 4.0]
    """

    closed: ClosedJaxpr
    takes: Any
    leaves: Any

    @classmethod
    def of(cls, function: Callable, arguments: tuple) -> "Traced":
        """Run through a function once."""
        closed, leaves = jax.make_jaxpr(function, return_shape=True)(*arguments)
        return cls(closed, _kinds(arguments), leaves)

    def fits(self, arguments: tuple) -> bool:
        """Whether these are arguments of the shapes and types that it was run through with."""
        return _kinds(arguments) == self.takes

    def __call__(self, *arguments: Any) -> Any:
        """The same operations on other numbers."""
        found = jaxpr_as_fun(self.closed)(*jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(self.leaves), found)


def _kinds(arguments: tuple) -> tuple:
    """Where every array stands in the arguments, with its shape and type; and the flags."""
    leaves, tree = jax.tree.flatten(arguments)
    kinds = [jax.typeof(leaf) for leaf in leaves]
    names = ("jax_enable_x64", "jax_default_prng_impl", *FLAGS)
    flags = [getattr(jax.config, name, None) for name in names]
    return tree, [(kind.shape, kind.dtype, kind.weak_type) for kind in kinds], flags
