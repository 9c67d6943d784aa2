"""A run folder: one Parquet file per chunk, written whole or not at all, and a manifest.

    manifest.json              what the study is, once and for all
    chunks/000-00003.parquet   the rows of one chunk; the same bytes whenever it is computed
    chunks/000-00003.json      how that chunk was made: seconds, device, versions
    locks/000-00003            held while a process works on the chunk (`claims`)
    workers/                   logs, jobs and failures of workers, if there were any

No file has two writers and there is no server. A lock only saves work: two processes that compute
one chunk write the same rows. Whatever else lies in the folder is left alone and not read.
"""

import contextlib
import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from limelight._core.errors import StoreError
from limelight._core.files import (
    atomic,
    clear_leftovers,
    explained,
    write_once,
)
from limelight._core.sealed import sealed_bytes
from limelight._engine.claims import Claims
from limelight._engine.reading import (
    DAMAGE,
    STUDY,
    check_is_run,
    first_line,
    read_chunk,
    read_manifest,
    same,
)
from limelight._identity.description import changed_code, digest, has_code, modern, without_code
from limelight.table import Table


class Store:
    """A run folder opened for one study.

    Args:
        path: The folder; made when it does not exist.
        manifest: What the study is; `hash` and `configuration` must agree with what is there.
        same_code: Whether results of another version of the user's code may be continued.
        tidy: Whether to clear what killed processes left, for which every claim is opened: not for
            each of a thousand workers.
    """

    def __init__(
        self,
        path: str | Path,
        manifest: Mapping[str, Any],
        same_code: bool = False,
        tidy: bool = True,
    ):
        #: What the user should hear about, in order; the reader empties it.
        self.warnings: list[str] = []
        #: Whether the user said that a change of code does not matter; chunks then say so.
        self.other_code = False
        self.path = Path(path)
        check_is_run(path)
        self.chunks, self.locks = self.path / "chunks", self.path / "locks"
        for folder in (self.path, self.chunks, self.locks):
            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
        self.claims = Claims(self.locks)
        self.manifest = self._settle(manifest, same_code)
        if tidy:
            clear(self.path, self.claims)

    def _settle(self, manifest: Mapping[str, Any], same_code: bool) -> dict[str, Any]:
        path = self.path / "manifest.json"
        if not path.exists():
            text = json.dumps(manifest, indent=2) + "\n"
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

    def finished(self, chunk: str, known: Mapping[str, np.ndarray], repair: bool = False) -> bool:
        """Whether a chunk is there and whole; to `repair`, a damaged one is set aside and named.

        Only the holder of the claim repairs: another process may just be writing the chunk.

        Args:
            chunk: Its name.
            known: The columns that are known before it is computed: cells, trials, coordinates.
            repair: Whether to set a damaged one aside.
        """
        found = self._read(chunk, known)
        if repair and isinstance(found, str) and found:
            self.set_aside(chunk, found)
        return isinstance(found, dict)

    def read(self, chunk: str, known: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
        """The columns of a finished chunk; `None` where it is missing or damaged."""
        found = self._read(chunk, known)
        return found if isinstance(found, dict) else None

    def _read(self, chunk: str, known: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | str:
        """A chunk's columns, or what is wrong with it; nothing, when it is only missing."""
        path = self.file(chunk)
        if not path.exists():
            return ""
        try:
            columns = read_chunk(path, self.manifest)
        except DAMAGE as error:
            return first_line(error)
        if len(columns["cell"]) != len(known["cell"]):
            return f"{len(columns['cell'])} rows instead of {len(known['cell'])}"
        other = [name for name, column in known.items() if not same(columns[name], column)]
        return f"its column {other[0]!r} is not the planned one" if other else columns

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
        content = sealed_bytes(arrow, "zstd")
        other = {"other_code": True} if self.other_code else {}
        told = json.dumps({**facts, **other, "finished": now()}) + "\n"
        for last in (False, True):
            if not (self.path / "manifest.json").exists():
                raise StoreError(
                    f"{self.path} was removed while the run went on",
                    "the same command starts again",
                )
            try:
                with explained(self.chunks):
                    self.chunks.mkdir(exist_ok=True)
                with atomic(self.chunks / f"{chunk}.json") as temporary:
                    temporary.write_text(told, encoding="utf-8")
                with atomic(self.file(chunk)) as temporary:
                    temporary.write_bytes(content)
                return
            except (StoreError, FileNotFoundError):  # the folder may go in the middle of a file
                if last or self.chunks.exists():
                    raise

    # --- who works on what -------------------------------------------------------------------

    def claim(self, name: str) -> contextlib.AbstractContextManager[bool]:
        """Whether this process may compute a chunk now; the claim dies with the process."""
        return self.claims.hold(name)


def clear(path: Path, claims: Claims) -> None:
    """Clear what killed processes left in a run folder: temporary files, claims of nobody."""
    for folder in (path, path / "chunks", path / "locks", path / "workers"):
        clear_leftovers(folder, locks=not claims.leases)
    claims.tidy()


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


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", json.dumps(value))
    return text if len(text) <= 60 else text[:57] + "..."
