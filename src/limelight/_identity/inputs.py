"""What a study reads from outside its description: data sets, checkpoints, by a digest of each.

A description names a data set or a path; what lies there can change. A part that reads files says
so in a method `files_read`, from names to digests, and the manifest keeps what it said. A part of
the user's without that method is taken to read every file that its code or its fields name.
"""

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

from limelight._core.errors import InputError, StoreError
from limelight._core.files import file_digest
from limelight._core.kinds import kind_of
from limelight._identity.code import files_named
from limelight._identity.objects import unwrapped
from limelight._identity.origin import is_foreign


def files_read(part: Any) -> dict[str, str]:
    """Everything that a part and the parts inside it read, each with the digest of its content."""
    found: dict[str, str] = {}
    if isinstance(part, functools.partial):
        return files_read([part.func, part.args, part.keywords])
    if isinstance(part, Mapping):
        return files_read(list(part.values()))
    if isinstance(part, tuple | list):
        for item in part:
            found |= files_read(item)
        return found
    part = unwrapped(part)
    plain = isinstance(part, type | types.FunctionType)
    made = dataclasses.is_dataclass(part) and not plain
    read: Any = getattr(part, "files_read", None) if made else None
    if read is not None:
        found |= read()
    elif kind_of(what := part if plain else type(part)) is None and is_foreign(what):
        found |= {name: file_digest(path) for name, path in files_named(part).items()}
    for field in dataclasses.fields(part) if made else ():
        found |= files_read(getattr(part, field.name))
    return found


def check_inputs(
    there: Mapping[str, Any], read: Callable[[], Mapping[str, str]], store: Any, needed: bool = True
) -> None:
    """Refuse to go on with a run whose data or checkpoints are not those that it was begun with.

    Args:
        there: Their digests when it was begun.
        read: Reads them as they are now.
        store: The run, for the message.
        needed: Whether they must be there; a finished run is read also where they are not.
    """
    try:
        here = read()
    except (InputError, OSError):
        if needed:
            raise
        return
    changed = sorted(name for name, digest in there.items() if here.get(name, digest) != digest)
    if changed:
        raise StoreError(
            f"{store} holds results of other files: {', '.join(changed)} changed since",
            "choose another store=FOLDER, or put the files back as they were",
        )
