"""Types and shapes checked at run time, at a third of the cost of jaxtyping's own decorator.

jaxtyping's hook wraps every function of the library: it binds the arguments of each call and checks
them twice, also where no axis has a name. The checks here are the same ones, made once: a function
without annotations has nothing to check, one that names no axis needs the type checker alone, and
one that names axes needs besides a scope in which a name has one size.
"""

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

import jaxtyping

FULL = jaxtyping.jaxtyped


def checked(thing: Any = None, *, typechecker: Callable) -> Any:
    """What stands for `jaxtyping.jaxtyped` while the tests run."""
    if thing is None:
        return functools.partial(checked, typechecker=typechecker)
    if not inspect.isfunction(thing) or inspect.isgeneratorfunction(thing):
        return FULL(thing, typechecker=typechecker)
    if not thing.__annotations__:
        return thing
    named = [axes(hint) for hint in thing.__annotations__.values()]
    if None in named:
        return FULL(thing, typechecker=typechecker)
    function = typechecker(thing)
    return scoped(function) if any(named) else function


def scoped(function: Callable) -> Callable:
    """The function, in each of whose calls the name of an axis has one size."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        with FULL("context"):
            return function(*arguments, **options)

    return call


def axes(hint: Any) -> bool | None:
    """Whether an annotation names axes; `None` where that cannot be said here."""
    if isinstance(hint, str):
        return None
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return None if "{" in hint.dim_str else bool(re.search(r"[a-zA-Z]", hint.dim_str))
    if isinstance(hint, type) and hint.__module__.startswith("jaxtyping"):
        return None
    if get_origin(hint) in (Callable, Literal):  # neither holds annotations that are checked
        return False
    inner = [axes(one) for one in get_args(hint)]
    return None if None in inner else any(inner)
