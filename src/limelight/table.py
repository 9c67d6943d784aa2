"""The table a study leaves behind: one row per trial, axes and measures as columns.

`fit`, `claims` and `plot` see tables only, so an old run is refitted and redrawn without
rebuilding a model.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from limelight._core import notebook
from limelight._core.errors import InputError, suggest
from limelight._core.files import atomic
from limelight._core.labels import label
from limelight._core.manifests import check_manifest, read_json
from limelight._core.maths import in_text
from limelight._core.sealed import read_sealed, sealed_bytes

META = b"limelight"
#: Columns of a table's head in a notebook at most.
MOST_SHOWN = 12
#: Stands for "no default": the setting must exist.
REQUIRED: Any = object()


@dataclass(frozen=True, repr=False)
class Table:
    """Columns by name, one row per trial.

    Args:
        columns: Name to values. A trace (a measure followed through training) is two-dimensional,
            trials by logged steps.
        axes: The columns that were swept.
        manifest: How the table was made: configuration, versions, device, command.

    Example:
        >>> columns = {"n": np.array([2, 2, 8, 8]), "accuracy": np.array([0.5, 0.75, 1.0, 0.75])}
        >>> table = Table(columns, axes=("n",))
        >>> [(at["n"], float(rows["accuracy"].mean())) for at, rows in table.cells()]
        [(2, 0.625), (8, 0.875)]
    """

    columns: Mapping[str, np.ndarray]
    axes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise InputError(f"the table has no column {name!r}", suggest(name, list(self.columns)))
        return self.columns[name]

    def rows(self, index: np.ndarray) -> "Table":
        """The rows that a mask or an index array picks (an index may repeat, as in a bootstrap)."""
        return Table({k: v[index] for k, v in self.columns.items()}, self.axes, self.manifest)

    def where(self, **equal: Any) -> "Table":
        """The rows whose columns equal the given values; dots in names are written `__`.

        Example:
            >>> Table({"a.b": np.array([1, 2, 2])}).where(a__b=2)["a.b"]
            array([2, 2])
        """
        mask = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            mask &= self[name.replace("__", ".")] == value
        return self.rows(mask)

    def values(self, axis: str) -> np.ndarray:
        """The distinct values of a column, sorted."""
        return np.unique(self[axis])

    def cells(self, *by: str) -> Iterator[tuple[dict[str, Any], "Table"]]:
        """Rows grouped by the given columns (all axes when none is given).

        Cells come in the order in which they first appear in the table: that of the axes.

        Example:
            >>> table = Table({"a": np.array(["x", "b", "x"]), "y": np.array([1, 2, 3])}, ("a",))
            >>> [(at["a"], rows["y"].tolist()) for at, rows in table.cells()]
            [('x', [1, 3]), ('b', [2])]
        """
        by = by or self.axes
        if not len(self):
            return
        group = np.zeros(len(self), dtype=int)
        for name in by:
            place = _places(self[name])
            _, group = np.unique(group * (place.max() + 1) + place, return_inverse=True)
        cells = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
        for rows in sorted(cells, key=lambda rows: rows[0]):
            yield {name: _plain(self[name][rows[0]]) for name in by}, self.rows(rows)

    def setting(
        self, path: str, at: Mapping[str, Any] | None = None, default: Any = REQUIRED
    ) -> Any:
        """What a dotted path of the experiment was set to.

        Args:
            path: Such as `train.steps`.
            at: Coordinates of a cell, where the path was swept.
            default: Returned where the experiment has no such setting; without it that is an error.

        Returns:
            The coordinate in `at`; else the one value that all rows share, where the path was
            swept; else what the manifest says of the experiment.

        Example:
            >>> about = {"configuration": {"experiment": {"train": {"steps": 60, "rate": 1.0}}}}
            >>> table = Table({"train.rate": np.array([1.0, 2.0])}, ("train.rate",), about)
            >>> table.setting("train.steps"), table.setting("train.rate", {"train.rate": 2.0})
            (60, 2.0)
        """
        if at is not None and path in at:
            return at[path]
        if path in self.axes:
            values = self.values(path)
            if len(values) != 1:
                raise InputError(f"{path} was swept: it has {len(values)} values in this table")
            return _plain(values[0])
        found: Any = self.manifest.get("configuration", {}).get("experiment", {})
        for name in path.split("."):
            if not isinstance(found, Mapping) or name not in found:
                if default is not REQUIRED:
                    return default
                known = list(found) if isinstance(found, Mapping) else []
                hint = suggest(name, known) if known else "nothing is set there"
                raise InputError(f"the experiment of this table has no setting {path!r}", hint)
            found = found[name]
        return found

    # --- trials that diverged -----------------------------------------------------------------

    @property
    def diverged(self) -> np.ndarray:
        """Which trials diverged, in any of their trainings; their weights are the last finite ones.

        Example:
            >>> Table({"y": np.array([0.9, 0.1]), "diverged": np.array([False, True])}).diverged
            array([False,  True])
        """
        found = np.zeros(len(self), dtype=bool)
        for column in self._divergences().values():
            found |= column
        return found

    def without_diverged_readings(self) -> "Table":
        """The same trials, with what was measured after a divergence set to NaN: it is not known.

        A trial with no number is a failure wherever successes are counted, and leaves a mean or a
        median without a value.

        Example:
            >>> table = Table({"y": np.array([0.9, 0.1]), "diverged": np.array([False, True])})
            >>> table.without_diverged_readings()["y"]
            array([0.9, nan])
        """
        columns = dict(self.columns)
        for name, rows in self._divergences().items():
            arm = name.removesuffix("diverged")
            for other, column in columns.items():
                if other.startswith(arm) and other not in self.axes and column.dtype.kind == "f":
                    columns[other] = column.copy()
                    columns[other][rows] = np.nan
        return Table(columns, self.axes, self.manifest)

    def _divergences(self) -> dict[str, np.ndarray]:
        """What says which trials diverged: one column for all, or one for each arm."""
        names = [n for n in self.columns if n == "diverged" or n.endswith(".diverged")]
        return {name: self.columns[name].astype(bool) for name in names}

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` makes from this table: made once, and kept for as long as the table is.

        For what several claims read. What is kept is handed out again as it is: do not change it.

        Example:
            >>> table = Table({"y": np.array([1.0, 3.0])})
            >>> table.cached("mean", lambda: float(table["y"].mean()))
            2.0
        """
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # --- for people ---------------------------------------------------------------------------

    @property
    def overview(self) -> dict[str, str]:
        """What the table holds, in a few words each: size, axes, measures, traces.

        Example:
            >>> table = Table({"n": np.array([2, 2, 8]), "loss": np.array([0.3, 0.2, 0.1])}, ("n",))
            >>> table.overview
            {'trials': '3', 'axes': 'n: 2, 8', 'measures': 'loss'}
        """
        return self._overview(in_words=False)

    def _overview(self, in_words: bool) -> dict[str, str]:
        called = lambda name: f"{in_text(label(name))} ({name})" if in_words else name
        cells = len(np.unique(self["cell"])) if "cell" in self.columns else 0
        known = {"cell", "trial", *self.axes}
        scalars = [n for n, v in self.columns.items() if v.ndim == 1 and n not in known]
        traces = {n: v.shape[1] for n, v in self.columns.items() if v.ndim > 1}
        parts = {
            "trials": f"{len(self):,}"
            + (f" in {cells:,} cell{'s' * (cells != 1)}" if cells else ""),
            "axes": "; ".join(f"{called(n)}: {_few(self._ordered(n))}" for n in self.axes),
            "measures": ", ".join(scalars),
            "traces": ", ".join(f"{name} ({steps} values)" for name, steps in traces.items()),
        }
        return {name: text for name, text in parts.items() if text}

    def __repr__(self) -> str:
        lines = (f"{name:9} {text}" for name, text in self.overview.items())
        return "\n".join(("Table", *(f"  {line}" for line in lines)))

    def _repr_html_(self) -> str:
        shown = [n for n, v in self.columns.items() if v.ndim == 1][:MOST_SHOWN]
        head = [[_text(self[name][row]) for name in shown] for row in range(min(5, len(self)))]
        rest = len(self) - len(head)
        more = notebook.line(f"and {rest:,} more rows") if rest else ""
        about = notebook.grid(["Table", ""], list(self._overview(in_words=True).items()))
        titles = [in_text(label(n)) if n in self.axes else n for n in shown]
        return about + notebook.grid(titles, head) + more

    def _ordered(self, name: str) -> list[Any]:
        return list(dict.fromkeys(_plain(value) for value in self[name]))

    # --- other people's formats -------------------------------------------------------------

    def to_numpy(self) -> dict[str, np.ndarray]:
        """The columns as a plain dictionary."""
        return dict(self.columns)

    def to_arrow(self) -> pa.Table:
        """The columns as an Arrow table, axes and manifest in its metadata."""
        arrays = {k: _to_arrow(v) for k, v in self.columns.items()}
        meta = json.dumps({"axes": list(self.axes), "manifest": dict(self.manifest)})
        return pa.table(arrays).replace_schema_metadata({META: meta.encode()})

    def to_pandas(self):
        """A pandas frame; traces become columns of lists. Needs pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError("pandas is not installed", "pip install 'limelight[frames]'") from None
        return pd.DataFrame({k: v if v.ndim == 1 else list(v) for k, v in self.columns.items()})

    def to_polars(self):
        """A polars frame; traces become columns of lists. Needs polars."""
        try:
            import polars as pl
        except ImportError:
            raise InputError("polars is not installed", "pip install 'limelight[frames]'") from None
        return pl.from_arrow(self.to_arrow())

    def to_xarray(self):
        """An xarray dataset over (cell, trial), axes as coordinates of cells; needs xarray."""
        try:
            import xarray as xr
        except ImportError:
            raise InputError("xarray is not installed", "pip install 'limelight[frames]'") from None
        by = ("cell", "trial")
        frame = {k: v for k, v in self.columns.items() if k not in by}
        cells, cell = np.unique(self["cell"], return_inverse=True)
        trials, trial = np.unique(self["trial"], return_inverse=True)
        if len(cells) * len(trials) != len(self):
            raise InputError(
                "not every cell has the same trials", "use to_pandas() for an unfinished study"
            )
        first = np.argsort(cell * len(trials) + trial)
        data = {}
        for name, column in frame.items():
            grid = column[first].reshape(len(cells), len(trials), *column.shape[1:])
            if name in self.axes:
                data[name] = (("cell",), grid[:, 0])
            else:
                extra = tuple(f"log_{name}" for _ in column.shape[1:])
                data[name] = (("cell", "trial", *extra), grid)
        coords = {"cell": cells, "trial": trials} | {a: data.pop(a) for a in self.axes}
        return xr.Dataset(data, coords=coords)

    def save(self, path: str | Path) -> None:
        """One Parquet file with everything in it, whole or not at all."""
        content = sealed_bytes(self.to_arrow())
        with atomic(Path(path)) as temporary:
            temporary.write_bytes(content)

    @classmethod
    def load(cls, path: str | Path) -> "Table":
        """Read what `save` wrote; a file that was damaged or edited is refused."""
        if Path(path).is_dir():
            raise InputError(f"{path} is a folder", "limelight.open reads run folders")
        try:
            table = cls.from_arrow(read_sealed(path))
            if {"hash", "configuration"} & set(table.manifest):
                check_manifest(table.manifest)
        except (OSError, pa.ArrowException, ValueError, MemoryError, OverflowError) as error:
            why = (str(getattr(error, "strerror", None) or error).splitlines() or [""])[0]
            raise InputError(
                f"cannot read the table {path}: {why or type(error).__name__}"
            ) from None
        return table

    @classmethod
    def from_arrow(cls, arrow: pa.Table) -> "Table":
        """The inverse of `to_arrow`.

        Raises:
            ValueError: When what it says of axes and origin is not what `to_arrow` writes.
        """
        meta = read_json((arrow.schema.metadata or {}).get(META, b"{}"))
        axes, manifest = (
            (meta.get("axes", []), meta.get("manifest", {})) if isinstance(meta, dict) else ((), ())
        )
        names = arrow.column_names
        if len(set(names)) < len(names):
            raise ValueError("a column occurs twice")
        if not isinstance(axes, list) or not {*map(str, axes)} <= {*names}:
            raise ValueError("its axes are not columns")
        if not isinstance(manifest, dict):
            raise ValueError("its manifest is not one")
        columns = {name: _from_arrow(arrow[name]) for name in names}
        return cls(columns, tuple(axes), manifest)


def _places(values: np.ndarray) -> np.ndarray:
    """A number for each distinct value; words are not sorted for it, which would be slow."""
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1]
    number: dict[Any, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values])


def _few(values: list[Any], most: int = 6) -> str:
    """A list in a few words.

    Example:
        >>> _few([1, 2, 3]), _few(list(range(10)), 4)
        ('1, 2, 3', '0, 1, 2, ..., 9 (10 values)')
    """
    if len(values) <= most:
        return ", ".join(map(_text, values))
    first = ", ".join(map(_text, values[: most - 1]))
    return f"{first}, ..., {_text(values[-1])} ({len(values)} values)"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _to_arrow(values: np.ndarray) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _from_arrow(column: pa.ChunkedArray) -> np.ndarray:
    kind = column.type
    if not pa.types.is_fixed_size_list(kind):
        return column.to_numpy()
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, kind.list_size)
