"""Reading a run folder without its study: manifest, chunks, how they were made.

Nothing in a folder is believed: the manifest must have the shape and the hash that it was written
with, and every chunk must hold trials of this study, each once, at the coordinates of its grid.
"""

import contextlib
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from limelight._core.errors import InputError, StoreError
from limelight._core.files import read_regular
from limelight._core.manifests import MOST_BYTES, Broken, check_manifest, planned_rows, read_json
from limelight._core.sealed import read_sealed
from limelight._engine.grid import typed
from limelight.table import Table

#: Where a chunk's file says which study it belongs to.
STUDY = b"limelight.study"
#: What a chunk is called; other files in the folder are nobody's business.
NAME = re.compile(r"(\d{3,})-(\d{5,})")
#: What reading a damaged chunk may end with.
DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, TypeError, MemoryError, OverflowError)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a run folder, checked."""
    file = Path(path) / "manifest.json"
    if not file.exists():
        raise StoreError(
            f"{path} is no run folder: it has no manifest.json",
            "limelight run KEY FIGURE makes one, and so does a sweep with a store",
        )
    try:
        return check_manifest(read_json(read_regular(file, MOST_BYTES)))
    except Broken as error:
        why = str(error)
    except OSError as error:
        why = str(error.strerror or error)
    raise StoreError(
        f"{file} is not a manifest as it was written: {why}", "restore it, or delete the folder"
    )


def check_is_run(path: str | Path) -> None:
    """Refuse a folder of results where a run is asked for: it has no chunks, and needs none."""
    if (Path(path) / "table.parquet").exists():
        raise InputError(
            f"{path} holds a published table, which is whole",
            "limelight plot, limelight report and limelight.open read it as it is",
        )


def read_table(path: str | Path) -> Table:
    """The table of a run folder as far as it is finished."""
    manifest = read_manifest(path)
    names = stored_chunks(path, manifest)
    if not names:
        raise StoreError(f"{path} has no finished chunk yet", "limelight resume goes on with it")
    parts = []
    for name in names:
        try:
            parts.append(read_chunk(Path(path) / "chunks" / f"{name}.parquet", manifest))
            if kinds(parts[-1]) != kinds(parts[0]):
                raise ValueError("its columns are not those of the others")
        except DAMAGE as error:
            raise StoreError(
                f"cannot read {name}.parquet of {path}: {first_line(error)}",
                "limelight resume sets a damaged chunk aside and computes it again",
            ) from None
    return assemble(parts, manifest)


def open_table(path: str | Path) -> Table:
    """The table of a run folder, of a published folder, or of a Parquet file.

    A run that is not finished gives the rows that are there.

    Example:
        >>> import limelight as ll, numpy as np, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.Table({"n": np.array([1, 2])}).save(f"{folder}/table.parquet")
        >>> ll.open(folder)["n"].tolist()
        [1, 2]
    """
    path = Path(path)
    if not path.exists():
        raise StoreError(f"{path} does not exist", "give a run folder or a table.parquet")
    if path.is_dir() and (path / "table.parquet").exists():
        return Table.load(path / "table.parquet")
    return read_table(path) if path.is_dir() else Table.load(path)


def stored_rows(path: str | Path) -> int:
    """Trials that a run folder holds, counted from its files."""
    rows = 0
    with contextlib.suppress(StoreError):
        manifest = read_manifest(path)
        for name in stored_chunks(path, manifest):
            with contextlib.suppress(*DAMAGE):  # from the footers alone: this must be quick
                file = Path(path) / "chunks" / f"{name}.parquet"
                rows += pq.read_metadata(file).num_rows if file.is_file() else 0
    return rows


def read_facts(path: str | Path) -> list[dict[str, Any]]:
    """How each finished chunk was made; facts that cannot be read are left out."""
    found = []
    for name in stored_chunks(path):
        file = Path(path) / "chunks" / f"{name}.json"
        with contextlib.suppress(OSError, Broken):
            found.append(read_json(read_regular(file, 2**20)))
    return [facts for facts in found if _are_facts(facts)]


def stored_chunks(path: str | Path, manifest: Mapping[str, Any] | None = None) -> list[str]:
    """Names of the chunks that are there and planned, in order.

    Copies, backups and whatever else a file system, an editor or a synchroniser may leave are not
    chunks. Earlier releases did not write down how many they planned.
    """
    planned = (manifest or {}).get("chunks")
    names = []
    for file in sorted(_listed(Path(path) / "chunks")):
        name, _, ending = file.partition(".")
        match = NAME.fullmatch(name)
        if match and ending == "parquet" and name == chunk_name(int(match[1]), int(match[2])):
            group, part = int(match[1]), int(match[2])
            if planned is None or group < len(planned) and part < planned[group]:
                names.append(name)
    return names


def _listed(folder: Path) -> list[str]:
    """Names in a folder, of which there may be very many; none where there is no folder."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def chunk_name(group: int, part: int) -> str:
    """What the chunk of a group is called."""
    return f"{group:03d}-{part:05d}"


def read_chunk(file: Path, manifest: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The columns of a chunk, each row a trial of this study.

    Raises:
        ValueError: Or another of `DAMAGE`, when it is not such a chunk.
    """
    known = manifest["configuration"]
    arrow = read_sealed(file, most_rows=known["width"])
    if (arrow.schema.metadata or {}).get(STUDY, b"") != manifest["hash"].encode():
        raise ValueError("it belongs to another study")
    columns = dict(Table.from_arrow(arrow).columns)
    cell, trial = columns["cell"], columns["trial"]
    for name, column in (("cell", cell), ("trial", trial)):
        if column.dtype != np.int32 or not len(column):
            raise ValueError(f"its column {name!r} does not hold numbers of trials")
    if trial.min() < 0 or trial.max() >= known["trials"]:
        raise ValueError("it holds trials that were not planned")
    for name, column in coordinates(known["axes"], cell).items():
        if not same(columns[name], column):
            raise ValueError(f"its column {name!r} is not that of its cells")
    return columns


def coordinates(axes: list[Any], cell: np.ndarray) -> dict[str, np.ndarray]:
    """The value of every swept path in some cells, from a manifest's axes, the last the fastest."""
    found: dict[str, np.ndarray] = {}
    rest = cell
    for paths, values in reversed(axes):
        rest, place = np.divmod(rest, len(values))
        points = [value if isinstance(value, list) else [value] for value in values]
        for number, path in enumerate(paths):
            found[path] = typed([point[number] for point in points])[place]
    if len(cell) and (cell.min() < 0 or rest.max() > 0):
        raise ValueError("it holds cells that were not planned")
    return found


def kinds(columns: Mapping[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """What each column holds: a type, and the shape of one row."""
    return {name: (str(column.dtype), column.shape[1:]) for name, column in columns.items()}


def same(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two columns hold the same values; what is no number equals itself."""
    if one.shape != two.shape:
        return False
    numbers = one.dtype.kind == two.dtype.kind == "f"
    return bool(np.array_equal(one, two, equal_nan=numbers))


def assemble(parts: Iterable[Mapping[str, np.ndarray]], manifest: Mapping[str, Any]) -> Table:
    """Chunks as one table, in order of cell and trial, no trial twice."""
    parts = list(parts)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort([columns["trial"], columns["cell"]])
    columns = {name: column[order] for name, column in columns.items()}
    again = (np.diff(columns["cell"]) == 0) & (np.diff(columns["trial"]) == 0)
    if again.any():
        at = columns["cell"][:-1][again][0], columns["trial"][:-1][again][0]
        raise StoreError(
            f"trial {at[1]} of cell {at[0]} is stored twice",
            "one of the chunks is a copy of another: remove it",
        )
    axes = tuple(name for paths, _ in manifest["configuration"]["axes"] for name in paths)
    return Table(columns, axes, manifest)


def covered(table: Table) -> bool:
    """Whether a table, in order, holds every trial of every planned cell exactly once."""
    known = table.manifest["configuration"]
    trials, rows = known["trials"], planned_rows(known)
    want = {
        "cell": np.repeat(np.arange(rows // trials), trials),
        "trial": np.tile(np.arange(trials), rows // trials),
    }
    return all(np.array_equal(table[name], column) for name, column in want.items())


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    text = str(error.strerror) if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [""])[0][:200] or type(error).__name__


def _are_facts(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    numbers = [value.get(name, 0) for name in ("seconds", "compile_seconds", "compilations")]
    known = {"seconds", "compile_seconds"} <= set(value)
    return known and all(type(n) in (int, float) and 0 <= n < math.inf for n in numbers)
