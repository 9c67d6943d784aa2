"""Lanes: how trials that end at different times share a device.

The host keeps a fixed number of slots busy: it fills free slots with waiting trials, lets all of
them advance by one segment, reads those that have ended, and fills again. On a GPU it is one
segment behind, so that the device never waits for it.
"""

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from limelight._core.backend import on_gpu
from limelight._core.slots import Layout
from limelight._engine.batch import PRECISION, of_one_row
from limelight._engine.cost import Cost
from limelight._engine.device import LIBRARY, for_gpu
from limelight._engine.grid import Cell, assign

if TYPE_CHECKING:
    from limelight._engine.plan import Group

#: Trials that the filling program starts at a time.
FILL = 4
#: Segments that a device is ahead of the host, by kind of device.
AHEAD = {"cpu": 0, "gpu": 1}


def options() -> dict[str, str | bool] | None:
    """How these programs are compiled.

    Their time goes into a kernel of their own and into elementwise work, so a GPU's search for the
    fastest products costs more than it brings; and unless it is searched for, a product of the
    compiler's own is slower than the library's, to run and to compile.
    """
    return for_gpu({"xla_gpu_autotune_level": "0", **LIBRARY})


class Refilled:
    """Plans and compiles programs whose places are refilled: see `experiments.packed`."""

    #: The state of a trial is known to the byte, so one that a device cannot hold is refused.
    exact_memory = True

    def cost(self, group: "Group", cells: Sequence[Cell]) -> Cost:
        """The experiment's own count of FLOPs, the mean over cells, and the bytes of one trial."""
        experiment: Any = group.experiment
        flops = np.mean([assign(experiment, cell).flops() for cell in cells])
        begin = lambda key: assign(experiment, cells[0]).begin(key)
        state = jax.eval_shape(begin, jax.random.key(0))
        held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
        return Cost(float(flops), held, jax.eval_shape(experiment.result, state))

    def width(self, experiment: Any, cost: Cost, rows: int) -> int:
        """Trials in one chunk: what a crash can cost against places that run dry."""
        return min(experiment.rows, rows)

    def slots(self, experiment: Any, width: int) -> int:
        """Trials that a program holds at one time."""
        return experiment.room()[0]

    def place(self, arguments: tuple, width: int) -> tuple:
        """The arguments as they are: they are sent row by row, to one device."""
        return arguments

    def trace(self, group: "Group", arguments: tuple) -> "Lanes":
        """The programs of a group, ready to be compiled."""
        start = of_one_row(group, lambda experiment, key: experiment.begin(key))
        with jax.default_matmul_precision(PRECISION):
            return Lanes(group.experiment, start, arguments)

    def run(
        self, program: "Lanes", arguments: tuple, cells: Sequence[Any], tell: Callable
    ) -> dict[str, np.ndarray]:
        """The results of a chunk; `cells` are the experiments of its rows."""
        size = {id(cell): cell.parts() for cell in cells}
        return program(arguments, [size[id(cell)] for cell in cells], tell)


class Device:
    """The states of one set of lanes, and a thread that runs their programs in order.

    A program with a loop of unknown length holds whoever calls it until it is nearly done; with a
    thread for that the host can meanwhile read the last segment and prepare the next.
    """

    def __init__(self, lanes: "Lanes"):
        self.lanes = lanes
        self.double = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
        self.states = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), lanes.shapes)
        self.broken = jnp.zeros((), bool)
        self.thread = ThreadPoolExecutor(1, "device")

    def segment(self, new: tuple | None, layout: Layout) -> Future:
        """Trials filled in, all of them a segment further: whether it broke, and its outcome."""

        def run():
            if new is not None:
                self.states = self.lanes.fill(self.states, *new)
            self.states, self.broken, outcome = self.lanes.advance(self.states, self.broken, layout)
            return self.broken, outcome

        return self._submit(run)

    def repair(self, mine: Bool[np.ndarray, " slots"]) -> tuple:
        """The broken segment of these slots finished, and its outcome."""

        def run():
            self.states, outcome = self.lanes.repair(self.states, mine)
            self.broken = jnp.zeros((), bool)
            return outcome

        return self._submit(run).result()

    def _submit(self, run: Callable) -> Future:
        def task():
            with jax.enable_x64(self.double):  # a thread does not inherit the caller's choice
                return run()

        return self.thread.submit(task)


class Lanes:
    """The two programs of a group of cells, and the loop that feeds them.

    Traced when it is made, compiled by `compile`.

    Args:
        experiment: With the group's static values set.
        start: From a row's arguments to a trial's start, on one trial.
        arguments: Seed, words, trials, swept and still values of some chunk, for their shapes.
    """

    def __init__(self, experiment: Any, start: Callable, arguments: tuple):
        self.experiment = experiment
        self.slots, self.blocks = experiment.room()
        self.most = experiment.most_parts()
        seed, words, trials, swept, still = arguments
        kind = lambda leaf: jax.dtypes.canonicalize_dtype(leaf.dtype)
        self.groups = -(-self.slots // FILL)
        group = lambda leaf: jax.ShapeDtypeStruct((FILL, *np.shape(leaf)[1:]), kind(leaf))
        rows = jax.tree.map(group, (words, trials, swept))
        starts = jax.vmap(start, in_axes=(None, 0, 0, 0, None))
        one = jax.eval_shape(starts, seed, *rows, still)
        states = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct((self.slots, *leaf.shape[1:]), leaf.dtype), one
        )

        def fill(states, count, slots, seed, rows, still):
            def group(i, states):
                here, some = jax.tree.map(lambda leaf: leaf[i], (slots, rows))
                put = lambda old, fresh: old.at[here].set(fresh, mode="drop")
                return jax.tree.map(put, states, starts(seed, *some, still))

            return jax.lax.fori_loop(0, count, group, states)

        def outcome(states):
            return jax.vmap(experiment.ended)(states), jax.vmap(experiment.result)(states)

        def advance(states, broken, layout):
            moved, breaks = experiment.advance(states, layout)
            # What broke waits as it is, until the host has seen it and repairs it.
            states = jax.tree.map(lambda old, new: jnp.where(broken, old, new), states, moved)
            return states, broken | breaks, outcome(states)

        precision: Any = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]

        def repair(states, mine):  # traced when first needed, as precisely as the others are now
            with jax.default_matmul_precision(precision):
                states = experiment.repair(states, mine)
            return states, outcome(states)

        whole = lambda leaf: jax.ShapeDtypeStruct((self.groups, *leaf.shape), leaf.dtype)
        slots = jax.ShapeDtypeStruct((FILL,), jnp.int32)
        filled = jax.ShapeDtypeStruct((), jnp.int32), whole(slots), seed
        layout = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), self._layout([])
        )
        in_place = lambda f: jax.jit(f, donate_argnums=0)
        self.traced = (
            in_place(advance).lower(states, jax.ShapeDtypeStruct((), bool), layout),
            in_place(fill).lower(states, *filled, jax.tree.map(whole, rows), still),
        )
        self.repair = in_place(repair)
        self.shapes = states

    def compile(self, more: Mapping[str, Any] | None = None) -> "Lanes":
        """Compile the two side by side, with `more` told to the compiler."""
        told = {**(options() or {}), **(more or {})} or None
        with ThreadPoolExecutor(len(self.traced), "compiler") as pool:
            self.advance, self.fill = pool.map(lambda one: one.compile(told), self.traced)
        return self

    def __call__(
        self, arguments: tuple, parts: list[int], tell: Callable[[int], None] = lambda done: None
    ) -> dict[str, np.ndarray]:
        """Every row's results; `parts` are the blocks that each row needs.

        On a CPU a small program fills one core, so there are as many sets of lanes as cores.
        """
        lines = 1 if on_gpu() else max(1, min(os.cpu_count() or 1, len(parts)))
        # Large and small trials mixed, always alike, so that slots and blocks run out together.
        order = np.random.default_rng(0).permutation(len(parts)).tolist()
        counts, results = [0] * lines, {}
        double = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]

        def work(line: int) -> None:
            def count(done: int) -> None:
                counts[line] = done
                tell(sum(counts))

            with jax.enable_x64(double):  # a thread does not inherit the caller's choice
                self._feed(arguments, parts, order[line::lines], results, count)

        with ThreadPoolExecutor(lines, "lanes") as pool:
            for done in [pool.submit(work, line) for line in range(lines)]:
                done.result()
        return results

    def _feed(
        self, arguments: tuple, parts: list[int], rows: list[int], results: dict, tell: Callable
    ) -> None:
        """Some rows through one set of lanes; what they leave goes into `results`.

        Where a device is ahead, a trial that has ended is carried along until the host sees it.
        """
        device, ahead = Device(self), AHEAD.get(jax.default_backend(), 0)
        waiting, at = rows, dict[int, int]()  # slot to row
        free = list(range(self.slots))[::-1]
        under_way: deque[tuple[dict[int, int], Future]] = deque()
        with device.thread:
            while waiting or at:
                left = self.blocks - sum(parts[row] for row in at.values())
                new, later = {}, []
                for row in waiting:  # whatever fits, the first in line first
                    if free and parts[row] <= left:
                        new[free.pop()], left = row, left - parts[row]
                    else:
                        later.append(row)
                waiting, at = later, at | new
                layout = self._layout([(slot, parts[row]) for slot, row in at.items()])
                # Sent from here: sent by the device's thread, they would keep the device waiting.
                sent = jax.device_put((self._fill(arguments, new), layout))
                under_way.append((at, device.segment(*sent)))
                if len(under_way) <= ahead:
                    continue
                then, segment = under_way.popleft()
                # A slot that was filled anew since then has nothing to do with that segment.
                then = {slot: row for slot, row in then.items() if at.get(slot) == row}
                broken, outcome = segment.result()
                if broken:
                    under_way.clear()  # in these nothing moved
                    outcome = device.repair(np.isin(np.arange(self.slots), list(then)))
                ended = np.asarray(outcome[0])
                done = {slot: row for slot, row in then.items() if ended[slot]}
                if done:
                    for name, values in jax.device_get(outcome[1]).items():
                        shape = (len(parts), *values.shape[1:])
                        column = results.setdefault(name, np.zeros(shape, values.dtype))
                        column[list(done.values())] = values[list(done)]
                    free += done
                    at = {slot: row for slot, row in at.items() if slot not in done}
                tell(len(rows) - len(waiting) - len(at))

    def _fill(self, arguments: tuple, new: dict[int, int]) -> tuple | None:
        """What the filling program needs to start these rows in these slots; nothing for none."""
        if not new:
            return None
        seed, words, trials, swept, still = arguments
        # Groups are whole; a trial beyond the last slot is dropped.
        slots = np.full(self.groups * FILL, self.slots, np.int32)
        rows = np.zeros(self.groups * FILL, int)
        slots[: len(new)], rows[: len(new)] = list(new), list(new.values())
        grouped = lambda leaf: leaf.reshape(self.groups, FILL, *leaf.shape[1:])
        some = jax.tree.map(lambda leaf: grouped(leaf[rows]), (words, trials, swept))
        return np.int32(-(-len(new) // FILL)), grouped(slots), seed, some, still

    def _layout(self, taken: list[tuple[int, int]]) -> Layout:
        owner, part = np.zeros(self.blocks, np.int32), np.zeros(self.blocks, np.int32)
        members = np.zeros((self.slots, self.most), np.int32)
        used = np.zeros((self.slots, self.most), bool)
        alive = np.zeros(self.slots, bool)
        start = 0
        for slot, size in taken:
            owner[start : start + size] = slot
            part[start : start + size] = np.arange(size)
            members[slot, :size] = np.arange(start, start + size)
            used[slot, :size] = alive[slot] = True
            start += size
        return Layout(owner, part, members, used, np.array(start, np.int32), alive)
