"""A run folder: one Parquet file per chunk, written whole or not at all, and a manifest.

    manifest.json              what the study is, once and for all
    chunks/000-00003.parquet   the rows of one chunk; the same bytes whenever it is computed
    chunks/000-00003.json      how that chunk was made: seconds, device, versions
    locks/000-00003            held while a process works on the chunk

No file has two writers and there is no server. A lock only saves work: two processes that compute
one chunk write the same rows.
"""

import contextlib
import datetime
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from limelight.core.errors import StoreError
from limelight.core.files import atomic, explained, write_once
from limelight.engine.identity import changed_code, digest, has_code, modern, without_code
from limelight.table import Table

try:
    import fcntl
except ImportError:  # not on every system; locks only save work
    fcntl = None

#: Format 1 named the parts of a study by import path; both are read.
FORMAT, READ = 2, (1, 2)
#: Where a chunk's file says which study it belongs to.
STUDY = b"limelight.study"


class Store:
    """A run folder opened for one study.

    Args:
        path: The folder; made when it does not exist.
        manifest: What the study is; `hash` and `configuration` must agree with what is there.
    """

    def __init__(self, path: str | Path, manifest: Mapping[str, Any], same_code: bool = False):
        #: What the user should hear about, in order; the reader empties it.
        self.warnings: list[str] = []
        #: Whether the user said that a change of code does not matter; chunks then say so.
        self.other_code = False
        self.path = Path(path)
        self.chunks, self.locks = self.path / "chunks", self.path / "locks"
        for folder in (self.path, self.chunks, self.locks):
            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
        self.manifest = self._settle(manifest, same_code)

    def _settle(self, manifest: Mapping[str, Any], same_code: bool) -> dict[str, Any]:
        path = self.path / "manifest.json"
        if not path.exists():
            text = json.dumps({"format": FORMAT, **manifest}, indent=2) + "\n"
            # Two processes may both have found none: the first to arrive stays, both read it.
            write_once(path, text.encode())
        there = read_manifest(self.path)
        self._compare(modern(there["configuration"]), manifest["configuration"], same_code)
        return there

    def _compare(self, there: Any, here: Any, same_code: bool) -> None:
        """Refuse a folder of another study, or of other code, and say what differs."""
        if digest(there) == digest(here):
            return
        if digest(without_code(there)) != digest(without_code(here)):
            raise StoreError(
                f"{self.path} holds another study: "
                + difference(without_code(there), without_code(here)),
                "choose another store=FOLDER, or delete that one",
            )
        self.other_code = same_code
        if not same_code:
            names = changed_code(there, here)
            what = ", ".join(names) if names else "the version of Python"
            known = has_code(there)
            raise StoreError(
                f"{self.path} holds results of other code: {what} changed since"
                if known
                else f"{self.path} does not say by which code of yours its results were made",
                "choose another store=FOLDER; if the change does not matter, say same_code=True",
            )

    # --- chunks ------------------------------------------------------------------------------

    def file(self, chunk: str) -> Path:
        """Where a chunk's rows are."""
        return self.chunks / f"{chunk}.parquet"

    def finished(self, chunk: str, rows: int, repair: bool = False) -> bool:
        """Whether a chunk is there and whole; to `repair`, a damaged one is set aside and named.

        Only the holder of the claim repairs: another process may just be writing the chunk.
        """
        path = self.file(chunk)
        if not path.exists():
            return False
        why = self._damage(path, rows)
        if why is not None and repair:
            self.set_aside(chunk, why)
        return why is None

    def _damage(self, path: Path, rows: int) -> str | None:
        try:
            arrow = _read_chunk(path, self.manifest["hash"])
        except (OSError, pa.ArrowException, ValueError) as error:
            return str(error).splitlines()[0]
        return None if arrow.num_rows == rows else f"{arrow.num_rows} rows instead of {rows}"

    def set_aside(self, chunk: str, why: str) -> Path:
        """Rename a damaged chunk, so that nothing is lost and it is computed again."""
        path = self.file(chunk)
        place = next(
            p for i in range(10_000) if not (p := path.with_suffix(f".damaged{i}")).exists()
        )
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            path.replace(place)
        self.warnings.append(f"{path.name} is damaged ({why}); set aside as {place.name}")
        return place

    def write(
        self, chunk: str, columns: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> None:
        """Keep a chunk's rows and how they were made."""
        arrow = Table(columns).to_arrow()
        arrow = arrow.replace_schema_metadata({STUDY: self.manifest["hash"]})
        with atomic(self.chunks / f"{chunk}.json") as temporary:
            other = {"other_code": True} if self.other_code else {}
            temporary.write_text(json.dumps({**facts, **other, "finished": now()}) + "\n")
        with atomic(self.file(chunk)) as temporary:
            pq.write_table(arrow, temporary, write_page_checksum=True, compression="zstd")

    @contextlib.contextmanager
    def claim(self, chunk: str) -> Iterator[bool]:
        """Whether this process may compute the chunk now; the claim dies with the process."""
        if fcntl is None:
            yield True
            return
        with explained(self.locks / chunk):
            handle = os.open(self.locks / chunk, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            except OSError:  # a file system without locks
                yield True
                return
            yield True
        finally:
            os.close(handle)

    # --- reading -----------------------------------------------------------------------------

    def table(self) -> Table:
        """Every finished row, in order of cell and trial."""
        return read_table(self.path)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a run folder."""
    file = Path(path) / "manifest.json"
    if not file.exists():
        raise StoreError(
            f"{path} is no run folder: it has no manifest.json",
            "limelight run KEY FIGURE makes one, and so does a sweep with a store",
        )
    manifest: Any = None
    with contextlib.suppress(OSError, ValueError):
        manifest = json.loads(file.read_text())
    if not _is_manifest(manifest):
        raise StoreError(f"{file} is not a manifest", "it may be damaged; restore or delete it")
    if manifest.get("format") not in READ:
        raise StoreError(f"{file} has format {manifest.get('format')}, this version reads {READ}")
    return manifest


def read_table(path: str | Path) -> Table:
    """The table of a run folder as far as it is finished."""
    manifest = read_manifest(path)
    files = sorted((Path(path) / "chunks").glob("*.parquet"))
    if not files:
        raise StoreError(f"{path} has no finished chunk yet", "limelight resume goes on with it")
    try:
        arrow = pa.concat_tables([_read_chunk(file, manifest["hash"]) for file in files])
    except (OSError, pa.ArrowException, ValueError) as error:
        raise StoreError(
            f"cannot read the chunks of {path}: {str(error).splitlines()[0]}",
            "limelight resume sets a damaged chunk aside and computes it again",
        ) from None
    columns = Table.from_arrow(arrow).columns
    order = np.lexsort([columns["trial"], columns["cell"]])
    axes = tuple(name for paths, _ in manifest["configuration"]["axes"] for name in paths)
    return Table({k: v[order] for k, v in columns.items()}, axes, manifest)


def open_table(path: str | Path) -> Table:
    """The table of a run folder, of a published folder, or of a Parquet file.

    A run that is not finished gives the rows that are there.
    """
    path = Path(path)
    if not path.exists():
        raise StoreError(f"there is no {path}", "give a run folder or a table.parquet")
    if path.is_dir() and (path / "table.parquet").exists():
        return Table.load(path / "table.parquet")
    return read_table(path) if path.is_dir() else Table.load(path)


def stored_rows(path: str | Path) -> int:
    """Trials that a run folder holds, counted from its files."""
    rows = 0
    for file in (Path(path) / "chunks").glob("*.parquet"):
        with contextlib.suppress(OSError, pa.ArrowException):
            rows += pq.read_metadata(file).num_rows
    return rows


def read_facts(path: str | Path) -> list[dict[str, Any]]:
    """How each finished chunk was made; facts that cannot be read are left out."""
    facts = []
    for file in sorted((Path(path) / "chunks").glob("*.json")):
        if file.with_suffix(".parquet").exists():
            with contextlib.suppress(OSError, ValueError):
                facts.append(json.loads(file.read_text()))
    return [f for f in facts if isinstance(f, dict) and {"seconds", "compile_seconds"} <= set(f)]


def difference(there: Any, here: Any, path: str = "") -> str:
    """The first place where two configurations differ, in words."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in sorted(set(there) | set(here)):
            if there.get(name) != here.get(name):
                return difference(there.get(name), here.get(name), f"{path}.{name}".strip("."))
    return f"they differ in {path or 'kind'}: {_short(there)} there, {_short(here)} here"


def now() -> str:
    """This moment, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _is_manifest(value: Any) -> bool:
    configuration = value.get("configuration") if isinstance(value, dict) else None
    return (
        isinstance(configuration, dict)
        and isinstance(value.get("hash"), str)
        and isinstance(configuration.get("axes"), list)
        and {"trials", "width"} <= set(configuration)
    )


def _read_chunk(path: Path, study: str) -> pa.Table:
    arrow = pq.read_table(path, page_checksum_verification=True)
    if (arrow.schema.metadata or {}).get(STUDY, b"").decode() != study:
        raise ValueError(f"{path.name} belongs to another study")
    return arrow


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", json.dumps(value))
    return text if len(text) <= 60 else text[:57] + "..."
