"""Tensors from files: safetensors only, nothing is ever unpickled."""

import json
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from limelight.core.errors import InputError


class Tensors:
    """The tensors of a safetensors file, each read when it is asked for, as float64."""

    def __init__(self, path: Path, names: list[str], metadata: dict[str, str]):
        self.path, self.names, self.metadata = path, names, metadata

    def __getitem__(self, name: str) -> np.ndarray:
        raw = self.raw(name)
        if not np.issubdtype(raw.dtype, np.floating):
            raise InputError(
                f"{self.path.name}: {name} is {raw.dtype}, not floating point",
                "weights in float16, bfloat16, float32 or float64 are read",
            )
        value = raw.astype(np.float64)
        if not np.isfinite(value).all():
            raise InputError(
                f"{self.path.name}: {name} holds NaN or infinite numbers",
                "the file is damaged, or training diverged",
            )
        return value

    def need(self, name: str, *shape: int | None) -> np.ndarray:
        """A tensor that the layout cannot do without; `None` is any length above 0."""
        if name not in self.names:
            raise InputError(f"{self.path.name}: {name} is missing", "the layout expects it")
        found = self[name]
        fits = found.ndim == len(shape) and all(
            size > 0 and size == (size if wanted is None else wanted)
            for size, wanted in zip(found.shape, shape, strict=True)
        )
        if not fits:
            words = " x ".join("n" if size is None else str(size) for size in shape)
            raise self.unfit(name, found, words)
        return found

    def linear(
        self, stem: str, inputs: int, outputs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """A stored [out, in] map as [in, out], and its bias where it has one."""
        weight = self.need(f"{stem}.weight", outputs, inputs)
        has_bias = f"{stem}.bias" in self.names
        return weight.T, self.need(f"{stem}.bias", len(weight)) if has_bias else None

    def unfit(self, name: str, found: np.ndarray, expected: str) -> InputError:
        """What to say of a tensor of another shape."""
        return InputError(
            f"{self.path.name}: {name} has shape {list(found.shape)}", f"expected {expected}"
        )

    def raw(self, name: str) -> np.ndarray:
        """A tensor as stored; bfloat16 widened to float32, which is exact."""
        with safe_open(self.path, framework="numpy") as file:
            part = file.get_slice(name)
            if part.get_dtype() != "BF16":
                try:
                    return file.get_tensor(name)
                except (TypeError, AttributeError, SafetensorError) as error:
                    raise InputError(
                        f"{self.path.name}: cannot read {name} of type {part.get_dtype()}",
                        "store it as float16, bfloat16, float32 or float64",
                    ) from error
            shape = part.get_shape()
        with self.path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            begin, end = json.loads(file.read(size))[name]["data_offsets"]
            file.seek(8 + size + begin)
            halves = np.frombuffer(file.read(end - begin), dtype="<u2")
        return (halves.astype("<u4") << 16).view("<f4").reshape(shape)

    def __iter__(self):
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def read(path: str | Path) -> Tensors:
    """Open a safetensors file, or say in one line why not.

    Raises:
        InputError: For files that are missing, empty, cut short, pickled or of another kind.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder", "name the .safetensors file in it")
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device is endless
        raise InputError(f"{path} is no plain file", "expected a safetensors file")
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check the name") from None
    if not start:
        raise InputError(f"{path} is empty", "expected a safetensors file")
    # A safetensors header opens with its length in eight bytes, then a brace.
    if start[8:9] != b"{" and start.startswith((b"PK\x03\x04", b"\x80")):
        raise InputError(
            f"{path} is a pickled (PyTorch) archive, and nothing is ever unpickled here",
            "convert it once with safetensors.torch.save_file",
        )
    try:
        with safe_open(path, framework="numpy") as file:
            names, metadata = sorted(file.keys()), dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} is not a readable safetensors file: {reason}",
            "it may be cut short, or of another format",
        ) from None
    strange = [name for name in names if not name.isprintable()]
    if strange:  # names are printed, and a file must not write to the terminal
        raise InputError(f"{path}: a tensor is called {strange[0]!r}", "printable names only")
    return Tensors(path, names, metadata)
