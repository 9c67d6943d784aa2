"""Which tokens leave a ViT, and where: as plain values, and in a safetensors file's metadata."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limelight._core.arrays import Real
from limelight._core.errors import InputError, check_word
from limelight._core.files import atomic
from limelight.models.weights import Tensors, read

#: By what the class token attends to; by merging like ones; by length; by chance; by what is known.
POLICIES = ATTENTION, SIMILARITY, NORM, RANDOM, TRUTH = (
    "attention",
    "similarity",
    "norm",
    "random",
    "truth",
)
#: The entry of a file's metadata.
ENTRY = "limelight.prune"


@dataclass(frozen=True)
class Schedule:
    """After block `at`, counted from 1, a share `keep` of the patches goes on, by a policy."""

    policy: str
    at: int
    keep: Real

    def __post_init__(self) -> None:
        check_word("policy", self.policy, POLICIES)
        kept_patches(self.keep, 1)
        if self.at < 1:
            raise InputError(f"at = {self.at}", "a block, counted from 1")

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def usual_cut(depth: int) -> int:
    """The block after which to prune by default: a quarter of the way, at least one.

    Earlier saves more; but the first blocks have not yet found what matters.

    Example:
        >>> usual_cut(12), usual_cut(2)
        (3, 1)
    """
    return max(1, round(depth / 4))


def kept_patches(keep: Real, patches: int) -> int:
    """Patches that a share stands for, at least one.

    Example:
        >>> [kept_patches(r, 196) for r in (1, 0.9, 0.7, 0.5, 0.001)]
        [196, 176, 137, 98, 1]
    """
    if not 0 < keep <= 1:
        raise InputError(f"keep = {keep:g}", "above 0, at most 1")
    return max(1, round(keep * patches))


def write_schedule(source: Sequence[str | Path], path: str | Path, schedule: Schedule) -> None:
    """Copy a safetensors file, every tensor to the byte, with the schedule in its metadata.

    Args:
        source: What a network was read from, see `Pretrained.files`: one file.
        path: Where to write.
        schedule: What to write beside the tensors.

    Raises:
        InputError: For a checkpoint that is divided into several files.

    Readers that do not know the entry see the whole network; `load_vit` follows it, and so does
    `limelight.torch.prune(model, schedule=path)`.
    """
    if len(source) != 1:
        raise InputError(
            "its weights are not in one safetensors file, so no schedule can be put beside them",
            "save them as one",
        )
    tensors = read(source[0])
    with tensors.path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header["__metadata__"] = {**tensors.metadata, ENTRY: json.dumps(schedule.as_json())}
        words = json.dumps(header, separators=(",", ":")).encode()
        words += b" " * (-len(words) % 8)  # tensors begin at a multiple of eight bytes
        with atomic(Path(path)) as temporary, temporary.open("wb") as copy:
            copy.write(len(words).to_bytes(8, "little") + words)
            shutil.copyfileobj(file, copy)


def read_schedule(path: str | Path) -> Schedule:
    """The schedule in a file's metadata.

    Raises:
        InputError: For a file without one, or with one that makes no sense.
    """
    tensors = read(path)
    found = schedule_in(tensors)
    if found is None:
        raise InputError(
            f"{tensors.path.name} says nothing about pruning", "limelight prune -o writes that"
        )
    return found


def schedule_in(tensors: Tensors) -> Schedule | None:
    """The schedule in the metadata of tensors that are read already; `None` without one."""
    if ENTRY not in tensors.metadata:
        return None
    try:
        found = json.loads(tensors.metadata[ENTRY])
        whole = isinstance(found, dict) and type(found["at"]) is int
        keep = float(found["keep"]) if whole else 0.0
        return Schedule(str(found["policy"]), found["at"] if whole else 0, keep)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{tensors.path.name}: its schedule of pruning cannot be read", "write it again"
        ) from None
