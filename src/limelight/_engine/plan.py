"""The plan of a study: what will be compiled and computed, known before anything starts."""

import dataclasses
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from limelight._core import notebook
from limelight._core.errors import InputError
from limelight._core.keys import fingerprint
from limelight._core.labels import label
from limelight._core.maths import in_text
from limelight._engine import device
from limelight._engine.batch import PRECISION
from limelight._engine.cost import Cost
from limelight._engine.grid import Axes, Cell, Grid, assign, fitting, is_static, leaves
from limelight._engine.reading import chunk_name, read_manifest
from limelight._engine.traced import FLAGS, Traced
from limelight._identity.description import describe, digest
from limelight._identity.inputs import files_read

#: Raised when the engine or a shelf changes so that stored numbers would come out otherwise.
REVISION = 2
#: Columns that the engine fills.
RESERVED = ("cell", "trial")


@dataclass(frozen=True)
class Group:
    """The cells that one compiled program serves.

    Args:
        experiment: With the group's static values set.
        cells: Indices of its cells in the grid.
        swept: The traced paths that differ between cells.
        flops: Of one trial in each cell, counted.
        trial: One trial, as it was traced to be counted.
    """

    experiment: Any
    cells: tuple[int, ...]
    swept: tuple[str, ...]
    flops: float = 0.0
    trial: Traced | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Chunk:
    """Rows computed together: the unit of storing and resuming."""

    name: str
    group: int
    cells: np.ndarray
    trials: np.ndarray


@dataclass(frozen=True)
class Plan:
    """A study laid out: groups to compile, chunks to compute."""

    experiment: Any
    grid: Grid
    trials: int
    seed: int
    shared: tuple[str, ...]
    name: str
    width: int
    groups: tuple[Group, ...]
    cost: Cost

    def _repr_html_(self) -> str:
        axes = {
            ", ".join(map(_called, (p,) if isinstance(p, str) else p)): f"{len(values)} values"
            for p, values in self.grid.axes.items()
        }
        rows = {
            **axes,
            "trials": f"{self.rows:,}: {self.trials} per cell, {len(self.grid.cells)} cells",
            "programs to compile": str(self.compilations),
            "trials in one program": str(self.width),
            "memory": f"at most {self.memory / 2**20:,.1f} MiB per chunk",
            "time": f"very roughly {max(1, round(self.seconds)):,} s, plus the compilations",
        }
        return notebook.line(f"Plan of {self.name}", strong=True) + notebook.grid(
            ("", ""), rows.items()
        )

    @property
    def double(self) -> bool:
        """Whether it is computed in float64: the experiment asks for it, or the process uses it."""
        return is_double(self.experiment)

    @property
    def compilations(self) -> int:
        """Programs to compile: one a combination of static values."""
        return len(self.groups)

    @property
    def rows(self) -> int:
        """Trials in all."""
        return len(self.grid.cells) * self.trials

    @property
    def memory(self) -> int:
        """Bytes that one chunk may take, all devices together."""
        return self.cost.bytes * self.experiment.executor.slots(self.experiment, self.width)

    @property
    def fits(self) -> bool:
        """Whether a device of this machine has the memory for one trial."""
        return self.cost.bytes <= device.memory()

    @property
    def seconds(self) -> float:
        """A rough estimate of the running time without compilation."""
        pace = (device.PACE | dict(self.experiment.pace)).get(jax.default_backend(), 5e9)
        return self.cost.flops * self.rows / (jax.local_device_count() * pace)

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Every chunk, in order; the last of a group may be short and is padded when computed."""
        chunks = []
        for number, group in enumerate(self.groups):
            cells = np.repeat(np.array(group.cells, dtype=np.int32), self.trials)
            trials = np.tile(np.arange(self.trials, dtype=np.int32), len(group.cells))
            for part, start in enumerate(range(0, len(cells), self.width)):
                rows = slice(start, start + self.width)
                chunks.append(Chunk(chunk_name(number, part), number, cells[rows], trials[rows]))
        return tuple(chunks)

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """Everything the numbers depend on, as plain JSON."""
        axes = [
            [list(p) if isinstance(p, tuple) else [p], [_listed(v) for v in values]]
            for p, values in self.grid.axes.items()
        ]
        return json.loads(
            json.dumps(
                {
                    "experiment": describe(self.experiment),
                    "axes": axes,
                    "trials": self.trials,
                    "seed": self.seed,
                    "shared": list(self.shared),
                    "name": self.name,
                    "width": self.width,
                    "revision": REVISION,
                    "numerics": numerics(self.double),
                }
            )
        )

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Files that the study reads, each with a digest of its content; they are read for it."""
        found: dict[str, str] = {}
        for group in self.groups:
            found |= files_read(assign(self.experiment, self.grid.cells[group.cells[0]]))
        return found

    @cached_property
    def hash(self) -> str:
        """The identity of the study."""
        return digest(self.configuration)

    @property
    def counts(self) -> list[int]:
        """Chunks of every group, in order."""
        return [-(-len(group.cells) * self.trials // self.width) for group in self.groups]

    def known(self, chunk: Chunk) -> dict[str, np.ndarray]:
        """The columns of a chunk that are known before it is computed."""
        axes = {name: column[chunk.cells] for name, column in self.grid.columns.items()}
        return {"cell": chunk.cells, "trial": chunk.trials, **axes}

    def arguments(self, chunk: Chunk) -> tuple[Any, ...]:
        """What the program of a chunk is called with, padded to the width."""
        pad = self.width - len(chunk.cells)
        cells = np.concatenate([chunk.cells, np.repeat(chunk.cells[-1:], pad)])
        trials = np.concatenate([chunk.trials, np.repeat(chunk.trials[-1:], pad)])
        words = np.array([self._words[cell] for cell in cells], dtype=np.uint32)
        group = self.groups[chunk.group]
        swept = {name: self.grid.columns[name][cells] for name in group.swept}
        still = {
            name: np.asarray(value)
            for name, value in leaves(group.experiment).items()
            if name not in swept
        }
        return np.uint32(self.seed), words, trials.astype(np.uint32), swept, still

    def settings(self, chunk: Chunk) -> list[Any]:
        """The experiment of every row, on concrete numbers."""
        base = self.groups[chunk.group].experiment
        at = {cell: assign(base, self.grid.cells[cell]) for cell in set(chunk.cells)}
        return [at[cell] for cell in chunk.cells]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        return [
            fingerprint(self.name, {k: v for k, v in cell.items() if k not in self.shared})
            for cell in self.grid.cells
        ]


def make_plan(
    experiment: Any,
    axes: Axes,
    *,
    trials: int,
    seed: int = 0,
    shared: tuple[str, ...] = (),
    width: int | None = None,
    name: str = "study",
    store: str | Path | None = None,
) -> Plan:
    """Check every cell and lay the study out; a store that exists keeps its chunk width."""
    grid = Grid(axes)
    grid.check(experiment)
    grid = Grid(fitting(experiment, axes))
    if trials < 1:
        raise InputError(f"trials = {trials}", "at least one per cell")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed = {seed}", "between 0 and 2^32 - 1")
    for path in shared:
        if path not in grid.names:
            raise InputError(
                f"shared axis {path!r} is not swept", "swept: " + ", ".join(grid.names)
            )
    cells = [_checked(experiment, cell) for cell in grid.cells]
    groups = _group(experiment, grid, cells)
    with jax.enable_x64(is_double(experiment)):
        costs = [
            experiment.executor.cost(group, [grid.cells[index] for index in group.cells])
            for group in groups
        ]
    _check_leaves(grid, groups, costs)
    groups = tuple(
        dataclasses.replace(group, flops=one.flops * len(group.cells), trial=one.trial)
        for group, one in zip(groups, costs, strict=True)
    )
    cost = Cost(
        sum(c.flops * len(g.cells) for c, g in zip(costs, groups, strict=True)) / len(cells),
        max(c.bytes for c in costs),
        free=all(c.free for c in costs),
    )
    most = trials * max(len(group.cells) for group in groups)
    if width is not None and width < 1:
        raise InputError(f"width = {width}", "at least one trial in a program")
    width = width or _stored_width(store)
    wide: int = width or experiment.executor.width(experiment, cost, most)
    return Plan(experiment, grid, trials, seed, tuple(shared), name, wide, groups, cost)


def is_double(experiment: Any) -> bool:
    """Whether an experiment is computed in float64 here."""
    config: Any = jax.config
    return experiment.double or bool(config.jax_enable_x64)


def numerics(double: bool) -> dict[str, Any]:
    """What else the bits depend on: the width of numbers, of products, and the generator."""
    config: Any = jax.config
    unusual = {
        name.removeprefix("jax_"): getattr(config, name)
        for name, usual in FLAGS.items()
        if getattr(config, name, usual) != usual
    }
    return {
        "x64": double,
        "matmul": PRECISION,
        "generator": str(config.jax_default_prng_impl),
        **unusual,
    }


def _checked(experiment: Any, cell: Cell) -> Any:
    at = assign(experiment, cell)
    try:
        at.check()
    except InputError as error:
        where = ", ".join(f"{k} = {v}" for k, v in cell.items())
        raise InputError(f"{error.message} (at {where})", error.hint) from None
    return at


def _group(experiment: Any, grid: Grid, cells: list[Any]) -> tuple[Group, ...]:
    static = [name for name in grid.names if is_static(experiment, name, grid.values(name))]
    swept = tuple(name for name in grid.names if name not in static)
    members: dict[tuple, list[int]] = {}
    for index, cell in enumerate(grid.cells):
        members.setdefault(tuple(cell[name] for name in static), []).append(index)
    groups = []
    for values, indices in members.items():
        base = assign(experiment, dict(zip(static, values, strict=True)))
        roomy = base.with_room([cells[index] for index in indices])
        groups.append(Group(roomy, tuple(indices), swept))
    return tuple(groups)


def _check_leaves(grid: Grid, groups: tuple[Group, ...], costs: list[Cost]) -> None:
    """Refuse what would not make one table: matrices, taken names, groups that differ."""
    first = {name: (leaf.shape, leaf.dtype) for name, leaf in costs[0].leaves.items()}
    for name, (shape, _) in first.items():
        if name in RESERVED or name in grid.names:
            raise InputError(f"a trial leaves a column {name!r}, which is taken", "rename it")
        if len(shape) > 1:
            raise InputError(
                f"{name} is a matrix of shape {shape}", "a trial leaves scalars and traces"
            )
    for group, cost in zip(groups, costs, strict=True):
        left = {name: (leaf.shape, leaf.dtype) for name, leaf in cost.leaves.items()}
        for name in sorted(left.keys() | first.keys()):
            if left.get(name) != first.get(name):
                cell = grid.cells[group.cells[0]]
                where = ", ".join(f"{path} = {value}" for path, value in cell.items())
                raise InputError(
                    f"{name} is of another length or kind at {where} than elsewhere",
                    "run such settings one by one, each in a folder of its own",
                )


def _stored_width(store: str | Path | None) -> int | None:
    if store is None or not (Path(store) / "manifest.json").exists():
        return None
    return read_manifest(store)["configuration"]["width"]


def _listed(value: Any) -> Any:
    return [describe(v) for v in value] if isinstance(value, tuple | list) else describe(value)


def _called(path: str) -> str:
    return in_text(label(path))
