"""What a study reads from outside its description: data sets, checkpoints, by a digest of each.

A description names a data set or a path; what lies there can change. A part that reads files says
so in a method `files_read`, from names to digests, and the manifest keeps what it said.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from limelight._core.errors import StoreError


def files_read(part: Any) -> dict[str, str]:
    """Everything that a part and the parts inside it read, each with the digest of its content."""
    found: dict[str, str] = {}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        read: Any = getattr(part, "files_read", None)
        if read is not None:
            found |= read()
        for field in dataclasses.fields(part):
            found |= files_read(getattr(part, field.name))
    elif isinstance(part, tuple | list):
        for item in part:
            found |= files_read(item)
    return found


def check_inputs(there: Mapping[str, Any], here: Mapping[str, str], store: Any) -> None:
    """Refuse to go on with a run whose data or checkpoints are not those that it was begun with."""
    changed = sorted(name for name, digest in there.items() if here.get(name, digest) != digest)
    if changed:
        raise StoreError(
            f"{store} holds results of other files: {', '.join(changed)} changed since",
            "choose another store=FOLDER, or put the files back as they were",
        )
