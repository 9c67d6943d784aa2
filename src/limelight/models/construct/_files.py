"""Constructions on disk: safetensors, with the certificate in the metadata and beside it."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from limelight._core.errors import InputError
from limelight._core.files import atomic
from limelight._core.manifests import read_json
from limelight.models.weights import read

FORMAT = "limelight.construction/1"
METADATA = "certificate"


def digest(tensor: np.ndarray) -> str:
    """SHA-256 of a tensor's bytes."""
    return hashlib.sha256(np.ascontiguousarray(tensor).tobytes()).hexdigest()


def beside(path: Path) -> Path:
    """Where the certificate lies: `and.safetensors` has `and.certificate.json`."""
    return path.with_name(path.name.removesuffix(".safetensors") + ".certificate.json")


def write(path: str | Path, tensors: dict[str, np.ndarray], certificate: dict[str, Any]) -> None:
    """Write weights and certificate; each file is whole or not there."""
    path = Path(path)
    text = json.dumps(finite(certificate), indent=1, allow_nan=False)
    kept = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    with atomic(path) as temporary:
        save_file(kept, temporary, metadata={METADATA: json.dumps(finite(certificate))})
    with atomic(beside(path)) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def load(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors as stored, and the certificate from the file's own metadata.

    Raises:
        InputError: For files that are not constructions.
    """
    tensors = read(path)
    try:
        certificate = read_json(tensors.metadata[METADATA])
        known = certificate["format"] == FORMAT
    except (KeyError, ValueError, TypeError):
        known, certificate = False, {}
    if not known:
        raise InputError(
            f"{tensors.path.name} is not a construction: no {FORMAT} certificate in its metadata",
            "make one with limelight.construct",
        )
    return {name: tensors.raw(name) for name in tensors}, certificate


def finite(value: Any) -> Any:
    """Plain JSON values: numbers that are not finite become `None`."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
