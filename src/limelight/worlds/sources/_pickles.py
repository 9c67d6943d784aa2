"""Plain data out of pickles without unpickling: dicts, lists, bytes, numbers and arrays.

A pickle is a program, and running it may do anything. This is an interpreter of its own for the few
instructions that plain data needs. It looks nothing up and calls nothing: the three functions that
a pickled array names are recognised by name and their effect is built here.
"""

import math
import pickletools
from typing import Any

import numpy as np

from limelight._core.errors import InputError

#: Instructions that a file may have at most; the largest official batch has under a million.
MOST = 5_000_000
#: Kinds of numbers that an array may hold, by numpy's names.
KINDS = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8", "b1")

_ARRAYS = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_PUSHED = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT",
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
}  # fmt: skip
_STRINGS = {"BINSTRING", "SHORT_BINSTRING"}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_GET, _PUT = {"BINGET", "LONG_BINGET"}, {"BINPUT", "LONG_BINPUT"}
_IGNORED = {"PROTO", "FRAME", "STOP"}


class _Name(str):
    """A global that the pickle asks for; it stays a name."""


class _Mark:
    """Where a run of items begins."""


class _Kind:
    """A pickled dtype."""

    def __init__(self, code: str):
        self.code, self.order = code, "|"


class _Shell:
    """A pickled array on its way to become one."""

    value: np.ndarray | None = None


class _Refused(Exception):
    pass


def read_plain(content: bytes, name: str) -> dict[str, Any]:
    """The dict that a pickle of plain data describes, its keys as text.

    Byte strings of Python 2 stay bytes. Errors call the file by its `name`.

    Raises:
        InputError: For anything else: other instructions, other globals, damaged data.
    """
    try:
        value = _interpret(content)
        if not isinstance(value, dict):
            raise _Refused("it is not a dict")
        return {_text(key): _arrived(item) for key, item in value.items()}
    except _Refused as refusal:
        reason = str(refusal)
    except Exception as error:  # whatever hostile bytes lead to
        reason = f"damaged ({type(error).__name__})"
    raise InputError(
        f"{name} is not a pickle of plain arrays: {reason}",
        "only the official CIFAR batches are read from pickles; nothing is ever run",
    )


def _text(key: bytes | str) -> str:
    return key.decode("ascii") if isinstance(key, bytes) else key


def _arrived(item: Any) -> Any:
    if isinstance(item, _Shell):
        if item.value is None:
            raise _Refused("an array without content")
        return item.value
    return item


def _interpret(content: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    argument: Any
    for count, (code, argument, _) in enumerate(pickletools.genops(content)):
        if count > MOST:
            raise _Refused(f"more than {MOST:,} instructions")
        name = code.name
        if name in _PUSHED:
            stack.append(argument)
        elif name in _STRINGS:
            stack.append(argument.encode("latin-1"))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            size = _TUPLES[name]
            items = tuple(stack[len(stack) - size :])
            if len(items) != size:
                raise _Refused("a tuple of nothing")
            del stack[len(stack) - size :]
            stack.append(items)
        elif name in _GET:
            stack.append(memo[argument])
        elif name in _PUT:
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name == "GLOBAL":
            stack.append(_Name(argument))
        elif name in _STEPS:
            _STEPS[name](stack)
        elif name not in _IGNORED:
            raise _Refused(f"it uses {name}")
    (value,) = stack
    return value


def _since_mark(stack: list[Any]) -> list[Any]:
    at = next(i for i in range(len(stack) - 1, -1, -1) if type(stack[i]) is _Mark)
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _global(stack: list[Any]) -> None:
    name, module = stack.pop(), stack.pop()
    if type(name) is not str or type(module) is not str:
        raise _Refused("a global without a name")
    stack.append(_Name(f"{module} {name}"))


def _append(stack: list[Any], items: list[Any]) -> None:
    if type(stack[-1]) is not list:
        raise _Refused("items for something that is not a list")
    stack[-1].extend(items)


def _set(stack: list[Any], items: list[Any]) -> None:
    if type(stack[-1]) is not dict:
        raise _Refused("items for something that is not a dict")
    # Anything else could take forever to hash: a tuple of a pair of pairs of pairs of ...
    if not all(type(key) in (bytes, str) for key in items[::2]):
        raise _Refused("a key is not text")
    stack[-1].update(zip(items[::2], items[1::2], strict=True))


def _call(stack: list[Any]) -> None:
    arguments, function = stack.pop(), stack.pop()
    if type(function) is not _Name or type(arguments) is not tuple:
        raise _Refused("a call of something that is not a name")
    if function in _ARRAYS:
        if type(arguments[0]) is not _Name or arguments[0] != "numpy ndarray":
            raise _Refused("an array of another class")
        stack.append(_Shell())
    elif function == "numpy dtype":
        code = arguments[0].decode("ascii") if type(arguments[0]) is bytes else arguments[0]
        if type(code) is not str or code not in KINDS:
            raise _Refused("an array of something that is not plain numbers")
        stack.append(_Kind(code))
    elif function == "_codecs encode" and type(arguments[0]) is str:
        stack.append(arguments[0].encode("latin-1"))  # bytes, as protocol 2 spells them
    else:
        raise _Refused(f"it wants to call {function.replace(' ', '.')}")


def _build(stack: list[Any]) -> None:
    state, made = stack.pop(), stack[-1]
    if type(made) is _Kind:
        order = state[1].decode("ascii") if type(state[1]) is bytes else state[1]
        if order not in ("<", ">", "|", "="):
            raise _Refused("an unknown byte order")
        made.order = order
    elif type(made) is _Shell:
        _, shape, kind, fortran, raw = state
        if type(kind) is not _Kind or type(raw) is not bytes or type(shape) is not tuple:
            raise _Refused("an array of something that is not plain numbers")
        if not all(type(n) is int and n >= 0 for n in shape):
            raise _Refused("an array of impossible shape")
        dtype = np.dtype(kind.order + kind.code)
        if len(raw) != math.prod(shape) * dtype.itemsize:
            raise _Refused("an array whose content does not fit its shape")
        flat = np.frombuffer(raw, dtype=dtype)
        made.value = flat.reshape(shape, order="F" if fortran is True else "C")
    else:
        raise _Refused("a state for something that is not an array")


_STEPS = {
    "MARK": lambda stack: stack.append(_Mark()),
    "EMPTY_DICT": lambda stack: stack.append({}),
    "EMPTY_LIST": lambda stack: stack.append([]),
    "TUPLE": lambda stack: stack.append(tuple(_since_mark(stack))),
    "APPEND": lambda stack: _append(stack, [stack.pop()]),
    "APPENDS": lambda stack: _append(stack, _since_mark(stack)),
    "SETITEM": lambda stack: _set(stack, [stack.pop(-2), stack.pop()]),
    "SETITEMS": lambda stack: _set(stack, _since_mark(stack)),
    "STACK_GLOBAL": _global,
    "REDUCE": _call,
    "BUILD": _build,
}
