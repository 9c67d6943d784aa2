"""What an object holds: its attributes, the function that it wraps, what its class adds."""

import copyreg
import dataclasses
import functools
import hashlib
import types
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from limelight._identity.origin import LIBRARIES, is_foreign, package


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds by name, in its dictionary and in the slots of its classes."""
    slots = [getattr(cls, "__slots__", ()) for cls in type(value).__mro__]
    names = [n for s in slots for n in ((s,) if isinstance(s, str) else s) if hasattr(value, n)]
    own = {name: getattr(value, name) for name in names if not name.startswith("__")}
    return own | (dict(vars(value)) if hasattr(value, "__dict__") else {})


def copied_from(value: Any) -> Any:
    """What a copy of an object would be made from.

    Example:
        >>> import operator
        >>> copied_from(operator.itemgetter(3))[0]
        (3,)
    """
    reduce = copyreg.dispatch_table.get(type(value), lambda value: value.__reduce_ex__(2))
    made = reduce(value)[1:]
    if isinstance(made, str):
        return made
    # what stands in a container comes as iterators
    return (*made[:2], *(one if one is None else list(one) for one in made[2:4]))


#: What stands behind a name in a class, and what `functools.update_wrapper` copies: only words.
_ONLY_WORDS = (
    "__annotations__",
    "__doc__",
    "__module__",
    "__name__",
    "__qualname__",
    "__type_params__",
)
#: Types whose values are what they look like.
_PLAIN = (bool, int, float, complex, str, bytes, PurePath, set, frozenset, tuple, list, Mapping)
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def inner(value: Any) -> Any:
    """The function that a library's object compiles or transforms, such as that of `jit`; or none.

    An object of the user's counts with all that it holds, of which a function is only a part.
    """
    if isinstance(value, type | types.FunctionType | types.MethodType) or is_foreign(type(value)):
        return None
    return getattr(value, "__wrapped__", None)


def unwrapped(value: Any) -> Any:
    """The innermost function of a library's objects that compile or transform one."""
    for _ in range(20):
        if (function := inner(value)) is None:
            break
        value = function
    return value


def transform(value: Any) -> dict[str, Any]:
    """What a library's object does with the function inside: axes, rules of derivatives, say.

    What is off or empty is left out, as are the object's bookkeeping and the function itself.

    Example:
        >>> import equinox, jax
        >>> transform(equinox.filter_vmap(abs, in_axes=(0, None)))["_in_axes"]
        (0, None)
        >>> transform(jax.jit(abs))
        {}
    """
    function = inner(value)
    top = package(type(value))
    # what `jit` itself keeps, in `jaxlib`, changes no number
    if function is None or top not in LIBRARIES or top == "jaxlib":
        return {}
    found = {}
    for name, held in attributes(value).items():
        off = held is None or held is False or (isinstance(held, tuple | Mapping) and not held)
        kept = isinstance(held, (*_PLAIN, *_FUNCTIONS)) or dataclasses.is_dataclass(held)
        if kept and not off and held is not function and not _silent(name):
            found[name] = held
    return found


def _silent(name: str) -> bool:
    # equinox's compiled functions hold the function once more, taken apart
    return name in ("fn", "_static_fun", "_dynamic_fun") or name.startswith("__")


def state(value: Any) -> dict[str, Any]:
    """What an object holds by name, less what only says how it is called."""
    return {name: held for name, held in attributes(value).items() if name not in _ONLY_WORDS}


def is_array(value: Any) -> bool:
    """Whether a value is an array or number of NumPy or JAX; any object may have an `item`."""
    return all(hasattr(type(value), name) for name in ("ndim", "dtype", "item"))


def is_users_container(value: Any) -> bool:
    """Whether a value is of a class of the user's that extends numbers, words or containers.

    Example:
        >>> is_users_container({}), is_users_container(type("Mine", (dict,), {"__module__": "a"})())
        (False, True)
    """
    plain = isinstance(value, (*_PLAIN, np.ndarray)) and not isinstance(
        value, types.MappingProxyType
    )
    return plain and is_foreign(type(value))


def plain_array(value: Any) -> np.ndarray:
    """An array of NumPy's; a key of JAX's as its words."""
    if str(getattr(value, "dtype", "")).startswith("key"):
        import jax.random as jr

        return np.asarray(jr.key_data(value))
    return np.asarray(value)


def array_words(value: Any) -> Any:
    """An array as its type, its shape and a digest of what it holds."""
    if isinstance(value, np.ma.MaskedArray):
        return ["masked", array_words(value.data), array_words(np.ma.getmaskarray(value))]
    array = plain_array(value)
    body = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
    return ["array", str(array.dtype), array.shape, body]
