"""Tensors from files: safetensors only, nothing is ever unpickled."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from limelight._core.errors import InputError
from limelight._core.files import read_regular
from limelight._core.manifests import MOST_BYTES, read_json

#: How the list of a divided checkpoint's files is called.
INDEX = ".safetensors.index.json"
#: What a checkpoint is called in its folder, and what its pickled kin end in.
USUAL = ("model.safetensors", "open_clip_model.safetensors", f"model{INDEX}")
PICKLED = (".bin", ".pt", ".pth", ".ckpt")


class Tensors:
    """Named tensors, each read when it is asked for, as float64.

    Args:
        path: Where they come from; a file's path, or a name.
        shapes: Of the tensors, by name.
        metadata: What the file says beside them.
        fetch: A tensor by its name, as stored.
        labels: What the file itself calls them, where that is something else.
        files: All that they are read from: a file, or an index and its parts.
    """

    def __init__(
        self,
        path: Path,
        shapes: Mapping[str, tuple[int, ...]],
        metadata: Mapping[str, str],
        fetch: Callable[[str], np.ndarray],
        labels: Mapping[str, str] | None = None,
        files: tuple[Path, ...] = (),
    ):
        self.path, self.shapes, self.metadata, self.fetch = path, shapes, metadata, fetch
        self.names, self.labels, self.files = sorted(shapes), labels or {}, files

    @classmethod
    def of(cls, name: str, tensors: Mapping[str, Any]) -> "Tensors":
        """Tensors that are at hand, such as a PyTorch module's `state_dict()`."""
        shapes = {key: tuple(getattr(value, "shape", ())) for key, value in tensors.items()}
        _printable(Path(name), shapes)
        return cls(Path(name), shapes, {}, lambda key: _plain(name, key, tensors[key]))

    def called(self, names: Mapping[str, str]) -> "Tensors":
        """The same tensors under other names: new name to the present one."""
        shapes = {new: self.shapes[old] for new, old in names.items()}
        fetch = lambda key: self.fetch(names[key])
        return Tensors(self.path, shapes, self.metadata, fetch, names, self.files)

    def label(self, name: str) -> str:
        """What the file itself calls a tensor."""
        return self.labels.get(name, name)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor; empty where there is none."""
        return self.shapes.get(name, ())

    def __getitem__(self, name: str) -> np.ndarray:
        raw = self.raw(name)
        if not np.issubdtype(raw.dtype, np.floating):
            raise InputError(
                f"{self.path.name}: {self.label(name)} is {raw.dtype}, not floating point",
                "weights in float16, bfloat16, float32 or float64 are read",
            )
        value = raw.astype(np.float64)
        if not np.isfinite(value).all():
            raise InputError(
                f"{self.path.name}: {self.label(name)} holds NaN or infinite numbers",
                "the file is damaged, or training diverged",
            )
        return value

    def need(self, name: str, *shape: int | None) -> np.ndarray:
        """A tensor that the layout cannot do without; `None` is any length above 0."""
        if name not in self.shapes:
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
        has_bias = f"{stem}.bias" in self.shapes
        return weight.T, self.need(f"{stem}.bias", len(weight)) if has_bias else None

    def unfit(self, name: str, found: np.ndarray, expected: str) -> InputError:
        """What to say of a tensor of another shape."""
        return InputError(
            f"{self.path.name}: {self.label(name)} has shape {list(found.shape)}",
            f"expected {expected}",
        )

    def raw(self, name: str) -> np.ndarray:
        """A tensor as stored."""
        return self.fetch(name)

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self):
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def read(path: str | Path) -> Tensors:
    """Open a safetensors file, its parts, or the folder that holds it; or say in one line why not.

    Args:
        path: A `.safetensors` file; a `.safetensors.index.json`, which lists the files that a large
            checkpoint is divided into; or a folder with one of either.

    Raises:
        InputError: For files that are missing, empty, cut short, pickled or of another kind.
    """
    path = Path(path)
    if path.is_dir():
        path = inside(path)
    if path.name.endswith(INDEX):
        return _parts(path)
    shapes, metadata = _header(path)
    return Tensors(path, shapes, metadata, lambda name: _stored(path, name), files=(path,))


def files_of(path: str | Path) -> tuple[Path, ...]:
    """All files that a checkpoint is read from: itself, or its index and all parts."""
    path = Path(path)
    plain = path.is_file() and not path.name.endswith(INDEX)
    return (path,) if plain else read(path).files


def inside(folder: Path) -> Path:
    """The checkpoint in a folder: its one safetensors file, or the index of its parts."""
    indices = sorted(folder.glob(f"*{INDEX}"))
    files = sorted(folder.glob("*.safetensors"))
    for name in USUAL:
        if (folder / name).is_file():
            return folder / name
    if len(indices) == 1 or len(files) == 1:
        return (indices or files)[0]
    if files or indices:
        raise InputError(f"{folder} holds {len(files)} safetensors files", "name one of them")
    pickled = [f.name for kind in PICKLED for f in sorted(folder.glob(f"*{kind}"))]
    if pickled:
        raise _unpicklable(folder / pickled[0])
    raise InputError(f"{folder} holds no safetensors file", "name the folder of a checkpoint")


def _parts(path: Path) -> Tensors:
    """The files of a divided checkpoint as one."""
    try:
        places = read_json(read_regular(path, MOST_BYTES))["weight_map"]
        if not isinstance(places, dict) or not all(isinstance(f, str) for f in places.values()):
            raise TypeError
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check the name") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is no index of safetensors files", "it has a weight_map"
        ) from None
    metadata: dict[str, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    parts = sorted(set(places.values()))
    for file in parts:
        if Path(file).name != file:
            raise InputError(f"{path.name} names {file!r}", "its parts lie beside it")
        held, found = _header(path.parent / file)
        metadata |= found
        mine = [name for name, at in places.items() if at == file]
        missing = [name for name in mine if name not in held]
        if missing:
            raise InputError(f"{file} does not hold {missing[0]!r}", f"{path.name} says it does")
        shapes |= {name: held[name] for name in mine}
    fetch = lambda name: _stored(path.parent / places[name], name)
    files = (path, *(path.parent / part for part in parts))
    return Tensors(path, shapes, metadata, fetch, files=files)


def _header(path: Path) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Shapes by name, and metadata, of one file."""
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
        raise _unpicklable(path)
    try:
        with safe_open(path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            metadata = dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} is not a readable safetensors file: {reason}",
            "it may be cut short, or of another format",
        ) from None
    _printable(path, shapes)
    return shapes, metadata


def _printable(path: Path, names: Iterable[str]) -> None:
    strange = [name for name in names if not name.isprintable()]
    if strange:  # names are printed, and a file must not write to the terminal
        raise InputError(f"{path}: a tensor is called {strange[0]!r}", "printable names only")


def _unpicklable(path: Path) -> InputError:
    return InputError(
        f"{path} is a pickled (PyTorch) archive, and nothing is ever unpickled here",
        "convert it once, where you trust it: safetensors.torch.save_file("
        "torch.load(FILE, weights_only=True), 'model.safetensors')",
    )


def _stored(path: Path, name: str) -> np.ndarray:
    """A tensor of a file as stored; bfloat16 widened to float32, which is exact."""
    with safe_open(path, framework="numpy") as file:
        part = file.get_slice(name)
        if part.get_dtype() != "BF16":
            try:
                return file.get_tensor(name)
            except (TypeError, AttributeError, SafetensorError) as error:
                raise InputError(
                    f"{path.name}: cannot read {name} of type {part.get_dtype()}",
                    "store it as float16, bfloat16, float32 or float64",
                ) from error
        shape = part.get_shape()
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin, end = json.loads(file.read(size))[name]["data_offsets"]
        file.seek(8 + size + begin)
        halves = np.frombuffer(file.read(end - begin), dtype="<u2")
    return (halves.astype("<u4") << 16).view("<f4").reshape(shape)


def _plain(source: str, name: str, value: Any) -> np.ndarray:
    """A tensor of PyTorch's as an array, without importing PyTorch; arrays as they are."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if "bfloat16" in str(value.dtype):  # NumPy has none; float32 holds it exactly
            value = value.float()
    found = np.asarray(value)
    if found.dtype == object:
        raise InputError(f"{source}: {name} is no tensor", "a state_dict holds tensors alone")
    return found
