"""The plan of a study: what will be compiled and computed, known before anything starts."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from limelight.core.errors import InputError, LimelightError
from limelight.core.keys import fingerprint, trial_key
from limelight.store import read_manifest
from limelight.study import device
from limelight.study.base import Experiment
from limelight.study.cost import Cost, trial_cost
from limelight.study.grid import Axes, Cell, Grid, assign, fitting, is_static, leaves
from limelight.study.lanes import Lanes
from limelight.study.packed import Packed

#: Raised when the engine or a shelf changes so that stored numbers would come out otherwise.
REVISION = 2
#: Matrix products in full float32, on every device.
PRECISION = "highest"
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
    """

    experiment: Experiment
    cells: tuple[int, ...]
    swept: tuple[str, ...]
    flops: float = 0.0


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

    experiment: Experiment
    grid: Grid
    trials: int
    seed: int
    shared: tuple[str, ...]
    name: str
    width: int
    groups: tuple[Group, ...]
    cost: Cost

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
        lanes = self.experiment.room()[0] if isinstance(self.experiment, Packed) else self.width
        return self.cost.bytes * lanes

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
                chunks.append(Chunk(f"{number:03d}-{part:05d}", number, cells[rows], trials[rows]))
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
    def hash(self) -> str:
        """The identity of the study."""
        return digest(self.configuration)

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

    def parts(self, chunk: Chunk) -> list[int]:
        """Blocks that each row of a packed experiment needs."""
        base = self.groups[chunk.group].experiment
        assert isinstance(base, Packed)
        size = {cell: assign(base, self.grid.cells[cell]).parts() for cell in set(chunk.cells)}
        return [size[cell] for cell in chunk.cells]

    @cached_property
    def _words(self) -> list[tuple[int, int]]:
        return [
            fingerprint(self.name, {k: v for k, v in cell.items() if k not in self.shared})
            for cell in self.grid.cells
        ]


def program(group: Group, counter: Callable[[], None] = lambda: None) -> Callable:
    """Many trials as one function; `counter` runs once whenever it is traced."""
    one = _of_one_row(group, lambda experiment, key: experiment.trial(key), counter)
    return jax.vmap(one, in_axes=(None, 0, 0, 0, None))


def compiled(group: Group, arguments: tuple) -> Callable:
    """The program of a group, ready to be called; for a packed experiment, its lanes."""
    return traced(group, arguments).compile()


def traced(group: Group, arguments: tuple) -> Any:
    """The program of a group, ready to be compiled."""
    if isinstance(group.experiment, Packed):
        start = _of_one_row(group, lambda experiment, key: experiment.begin(key))
        with jax.default_matmul_precision(PRECISION):
            return Lanes(group.experiment, start, arguments)
    options = device.for_gpu(group.experiment.compiler)
    return jax.jit(program(group), compiler_options=options).lower(*arguments)


def _of_one_row(group: Group, read: Callable, counter: Callable[[], None] = lambda: None):
    def one(seed, words, trial, swept, still):
        counter()
        experiment = assign(group.experiment, swept | still)
        # Some devices would round float32 products to ten bits; a criterion of 1e-3 sees that.
        with jax.default_matmul_precision(PRECISION):
            return read(experiment, trial_key(seed, words, trial))

    return one


def make_plan(
    experiment: Experiment,
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
        raise InputError(f"trials = {trials}", "at least one a cell")
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
        costs = [_cost(group, grid) for group in groups]
    _check_leaves(grid, groups, costs)
    groups = tuple(
        dataclasses.replace(group, flops=one.flops * len(group.cells))
        for group, one in zip(groups, costs, strict=True)
    )
    cost = Cost(
        sum(c.flops * len(g.cells) for c, g in zip(costs, groups, strict=True)) / len(cells),
        max(c.bytes for c in costs),
    )
    if width is None:
        most = trials * max(len(group.cells) for group in groups)
        packed = min(experiment.rows, most) if isinstance(experiment, Packed) else None
        width = _stored_width(store) or packed or device.chunk_width(cost.bytes, most)
    if width < 1:
        raise InputError(f"width = {width}", "at least one trial in a program")
    return Plan(experiment, grid, trials, seed, tuple(shared), name, width, groups, cost)


def describe(value: Any) -> Any:
    """A configuration as plain JSON: what each part is, and its fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"is": f"{type(value).__module__}.{type(value).__qualname__}", **fields}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(k): describe(v) for k, v in value.items()}
    if isinstance(value, functools.partial):
        return {"is": "partial", "of": describe([value.func, value.args, value.keywords])}
    if callable(value):
        return _describe_function(value)
    if getattr(value, "ndim", 0):
        array = np.asarray(value)
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return {"is": "array", "shape": list(array.shape), "type": str(array.dtype), "sha": digest}
    return value.item() if hasattr(value, "item") else value


def _describe_function(function: Any) -> Any:
    """A function by name; one from outside the library also by what it does and holds."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '?')}"
    code = getattr(function, "__code__", None)
    if code is None or name.startswith("limelight."):
        return name
    cells = [describe(cell.cell_contents) for cell in function.__closure__ or ()]
    body = repr((code.co_code, code.co_names, [c for c in code.co_consts if not _is_code(c)]))
    return {"is": name, "code": hashlib.sha256(body.encode()).hexdigest()[:16], "holds": cells}


def _is_code(value: Any) -> bool:
    return hasattr(value, "co_code")


def is_double(experiment: Experiment) -> bool:
    """Whether an experiment is computed in float64 here."""
    config: Any = jax.config
    return experiment.double or bool(config.jax_enable_x64)


def numerics(double: bool) -> dict[str, Any]:
    """What else the bits depend on: the width of numbers, of products, and the generator."""
    config: Any = jax.config
    return {
        "x64": double,
        "matmul": PRECISION,
        "generator": str(config.jax_default_prng_impl),
    }


def digest(configuration: Mapping[str, Any]) -> str:
    """The hash of a configuration, whatever the order of its entries."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _checked(experiment: Experiment, cell: Cell) -> Experiment:
    at = assign(experiment, cell)
    try:
        at.check()
    except InputError as error:
        where = ", ".join(f"{k} = {v}" for k, v in cell.items())
        raise InputError(f"{error.message} (at {where})", error.hint) from None
    return at


def _group(experiment: Experiment, grid: Grid, cells: list[Experiment]) -> tuple[Group, ...]:
    static = [name for name in grid.names if is_static(experiment, name, grid.values(name))]
    swept = tuple(name for name in grid.names if name not in static)
    members: dict[tuple, list[int]] = {}
    for index, cell in enumerate(grid.cells):
        members.setdefault(tuple(cell[name] for name in static), []).append(index)
    groups = []
    for values, indices in members.items():
        base = assign(experiment, dict(zip(static, values, strict=True)))
        fitted = base.fitted([cells[index] for index in indices])
        groups.append(Group(fitted, tuple(indices), swept))
    return tuple(groups)


def _cost(group: Group, grid: Grid) -> Cost:
    cell = grid.cells[group.cells[0]]
    if isinstance(group.experiment, Packed):
        return _packed_cost(group.experiment, [grid.cells[index] for index in group.cells])
    swept = {name: jnp.asarray(cell[name]) for name in group.swept}
    still = {k: jnp.asarray(v) for k, v in leaves(group.experiment).items() if k not in swept}
    loops = [getattr(group.experiment, name, None) for name in ("train", "descent")]
    loop = next(filter(None, loops), group.experiment)

    def one(seed, words, trial):
        return assign(group.experiment, swept | still).trial(trial_key(seed, words, trial))

    zero = jnp.uint32(0)
    try:
        return trial_cost(one, (zero, jnp.zeros(2, jnp.uint32), zero), getattr(loop, "blocks", 1))
    except LimelightError:
        raise
    except Exception as error:  # a measure or a model that does not fit its world
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"a trial cannot be built: {type(error).__name__}: {reason}",
            "do the world, the model and the measures fit together?",
        ) from error


def _packed_cost(experiment: Packed, cells: list[Cell]) -> Cost:
    """Its own count of FLOPs, the mean over the cells, and the bytes of a trial under way."""
    flops = np.mean([assign(experiment, cell).flops() for cell in cells])
    begin = lambda key: assign(experiment, cells[0]).begin(key)
    state = jax.eval_shape(begin, jax.random.key(0))
    held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return Cost(float(flops), held, jax.eval_shape(experiment.result, state))


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
