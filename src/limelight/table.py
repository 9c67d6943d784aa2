"""The table a study leaves behind: one row a trial, axes and measures as columns.

`fit`, `claims` and `plot` see tables only, so an old run is refitted and redrawn without
rebuilding a model.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from limelight.core.errors import InputError, suggest

META = b"limelight"


@dataclass(frozen=True)
class Table:
    """Columns by name, one row a trial.

    Args:
        columns: Name to values. A trace (a measure followed through training) is two-dimensional,
            trials by logged steps.
        axes: The columns that were swept.
        manifest: How the table was made: configuration, versions, device, command.
    """

    columns: Mapping[str, np.ndarray]
    axes: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)

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
        """Rows grouped by the given columns (all axes when none is given), in sorted order."""
        by = by or self.axes
        order = np.lexsort([self[name] for name in reversed(by)]) if by else np.arange(len(self))
        if not len(order):
            return
        columns = [self[name][order] for name in by]
        change = np.zeros(len(order), dtype=bool)
        for column in columns:
            change[1:] |= column[1:] != column[:-1]
        for rows in np.split(order, np.flatnonzero(change)):
            yield {name: _plain(self[name][rows[0]]) for name in by}, self.rows(rows)

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

    def to_xarray(self):
        """An xarray dataset over (axes, trial); needs xarray and a full grid."""
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
        """One Parquet file with everything in it."""
        pq.write_table(self.to_arrow(), path, write_page_checksum=True)

    @classmethod
    def load(cls, path: str | Path) -> "Table":
        """Read what `save` wrote."""
        try:
            arrow = pq.read_table(path, page_checksum_verification=True)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"cannot read the table {path}: {str(error).splitlines()[0]}"
            ) from None
        return cls.from_arrow(arrow)

    @classmethod
    def from_arrow(cls, arrow: pa.Table) -> "Table":
        """The inverse of `to_arrow`."""
        meta = json.loads((arrow.schema.metadata or {}).get(META, b"{}"))
        columns = {name: _from_arrow(arrow[name]) for name in arrow.column_names}
        return cls(columns, tuple(meta.get("axes", ())), meta.get("manifest", {}))


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
