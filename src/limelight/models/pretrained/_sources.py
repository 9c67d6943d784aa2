"""Where weights come from: a file, a folder, a Hugging Face id, a PyTorch module."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._core.files import from_home
from limelight.models.pretrained._configs import FILES, Configs
from limelight.models.pretrained._modules import is_module
from limelight.models.pretrained.pixels import read_json
from limelight.models.weights import INDEX, Tensors, read

#: What a Hugging Face id begins with.
HUB = "hf:"
#: Its library's errors in plain words.
_REASONS = {
    "LocalEntryNotFoundError": "it is not in the cache, and the network cannot be reached",
    "OfflineModeIsEnabled": "it is not in the cache, and HF_HUB_OFFLINE forbids the network",
    "RepositoryNotFoundError": "there is no such repository, or it is private",
    "GatedRepoError": "its owner asks for a login",
    "RevisionNotFoundError": "there is no such revision",
    "HFValidationError": "this is no id, which is OWNER/NAME",
}


@dataclass(frozen=True)
class Source:
    """Tensors, and what lies beside them.

    Args:
        name: What to call it in messages.
        tensors: By their own names.
        configs: Configurations beside them, by file name.
        module: The PyTorch module they come from, if they do.
    """

    name: str
    tensors: Tensors
    configs: Configs
    module: Any = None


def find(source: Any) -> Source:
    """Open a source.

    Args:
        source: A `.safetensors` file, the index of a divided one, the folder of either; `hf:` and
            an id of Hugging Face's; a PyTorch module; or a dictionary of tensors.

    Raises:
        InputError: In one line, for anything else.
    """
    if is_module(source):
        name = type(source).__name__
        return Source(name, Tensors.of(name, source.state_dict()), {}, source)
    if isinstance(source, Mapping):
        return Source("tensors", Tensors.of("tensors", source), {})
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"cannot load a {type(source).__name__}", "a path, hf:ID, a PyTorch module or a dict"
        )
    if str(source).startswith(HUB):
        return _from_folder(_download(str(source).removeprefix(HUB)), str(source))
    return _from_folder(from_home(os.fspath(source)))


def _from_folder(path: Path, name: str = "") -> Source:
    try:
        tensors = read(path)
    except InputError as error:  # a folder of the hub's cache is called by its id
        raise InputError(error.message.replace(str(path), name or str(path)), error.hint) from None
    beside = {file: read_json(tensors.path.parent / file) for file in FILES}
    configs = {file: found for file, found in beside.items() if found is not None}
    return Source(name or tensors.path.name, tensors, configs)


def _download(name: str) -> Path:
    """The folder of a repository in Hugging Face's cache, filled where the network allows it."""
    try:
        from huggingface_hub import snapshot_download  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError(
            f"{HUB}{name} needs huggingface_hub, which is not installed",
            "pip install 'limelight[hub]'",
        ) from None
    name, _, revision = name.partition("@")
    patterns = [*FILES, "*.safetensors", f"*{INDEX}"]
    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=patterns))
    except Exception as error:  # its errors are of many kinds: offline, unknown, gated
        reason = str(error).strip().splitlines()[0] if str(error).strip() else ""
        kind = type(error).__name__
        raise InputError(
            f"cannot get {HUB}{name}: {_REASONS.get(kind) or f'{kind}, {reason}'.strip(', ')}",
            "without network it must be in the cache; check the id, and HF_HUB_OFFLINE",
        ) from None
