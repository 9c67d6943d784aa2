"""Trials in refilled lanes: the same results in any room, in any order, and after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError, RunError
from limelight._core.keys import fingerprint, trial_key
from limelight._core.types import Number
from limelight._engine import device, lanes
from limelight._engine.plan import make_plan
from limelight.experiments.packed import Packed

ROOT = Path(__file__).parents[2]
KILLED = "import sys; from tests.engine.test_lanes import kill, sweep; sweep(sys.argv[1], kill)"
AXES = {"size": [1, 4, 2], "level": [0.5, 3.0]}


class Walk(Packed):
    """A walk that ends above a level; a step is a mean over the trial's own blocks."""

    size: Number = 1
    level: Number = 1.0
    slots: int = eqx.field(static=True, default=3)
    blocks: int = eqx.field(static=True, default=6)
    most: int = eqx.field(static=True, default=4)
    last: int = eqx.field(static=True, default=30)
    fragile: bool = eqx.field(static=True, default=False)

    @property
    def rows(self):
        return 12

    def flops(self):
        return 2.0 * self.last * self.size

    def begin(self, key):
        place = jnp.array(0.0)
        counted = jnp.array(0)
        level = jnp.asarray(self.level, float)
        return {
            "key": jr.key_data(key),
            "place": place,
            "ahead": place,
            "steps": counted,
            "size": jnp.asarray(self.size).astype(int),
            "level": level,
        }

    def advance(self, states, layout):
        def push(slot, part):
            key = jr.wrap_key_data(states["key"][slot])
            return jr.normal(jr.fold_in(jr.fold_in(key, states["steps"][slot]), part))

        pushes = jax.vmap(push)(layout.owner, layout.part)
        total = jnp.sum(jnp.where(layout.used, pushes[layout.members], 0.0), axis=1)
        going = ~jax.vmap(self.ended)(states)
        step = 0.2 + total / jnp.maximum(states["size"], 1)
        states = states | {"ahead": jnp.where(going, states["place"] + step, states["ahead"])}
        # A fragile walk now and then does not write down where it is, and leaves that to `repair`.
        forgets = jnp.any(going & layout.alive & (states["steps"] % 5 == 2)) & self.fragile
        return self._write(states, going & ~forgets), forgets

    def repair(self, states, mine):
        return self._write(states, mine & ~jax.vmap(self.ended)(states))

    def _write(self, states, which):
        place = jnp.where(which, states["ahead"], states["place"])
        return states | {"place": place, "steps": states["steps"] + which}

    def ended(self, state):
        return (state["place"] > state["level"]) | (state["steps"] >= self.last)

    def result(self, state):
        return {"place": state["place"], "steps": state["steps"]}

    def parts(self):
        return int(self.size)

    def most_parts(self):
        return self.most

    def room(self):
        return self.slots, self.blocks

    def check(self):
        pass


@pytest.fixture(scope="module")
def table():
    return Walk().sweep(AXES, trials=7, name="walk")


def test_trials_in_lanes_are_the_trials_by_themselves(table):
    """A plain loop over steps, in numpy, from each trial's own key."""
    assert len(np.unique(table["steps"])) > 4
    for at, rows in table.cells():
        words = jnp.array(fingerprint("walk", at), jnp.uint32)
        for trial in (0, 6):
            key = trial_key(jnp.uint32(0), words, jnp.uint32(trial))
            place, steps = 0.0, 0
            while place <= at["level"] and steps < 30:
                keys = [jr.fold_in(jr.fold_in(key, steps), part) for part in range(at["size"])]
                place += 0.2 + float(np.mean([float(jr.normal(k)) for k in keys]))
                steps += 1
            assert rows["steps"][trial] == steps
            assert rows["place"][trial] == pytest.approx(place, abs=1e-4)


def test_alone_is_the_same(table):
    words = jnp.array(fingerprint("walk", {"size": 4, "level": 3.0}), jnp.uint32)
    key = trial_key(jnp.uint32(0), words, jnp.uint32(3))
    alone = jax.jit(Walk(size=4, level=3.0).trial)(key)
    row = table.where(size=4, level=3.0, trial=3)
    assert int(alone["steps"]) == row["steps"][0]
    assert float(alone["place"]) == pytest.approx(float(row["place"][0]), abs=1e-5)


@pytest.mark.parametrize(("slots", "blocks", "width"), [(1, 4, None), (40, 90, None), (2, 5, 5)])
def test_neither_room_nor_order_matters(table, slots, blocks, width):
    other = Walk(slots=slots, blocks=blocks).sweep(AXES, trials=7, name="walk", width=width)
    for name in ("cell", "trial", "steps"):
        np.testing.assert_array_equal(other[name], table[name])
    np.testing.assert_allclose(other["place"], table["place"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("ahead", "fragile"), [(0, True), (1, False), (1, True), (3, True)])
def test_a_device_may_be_ahead_of_the_host(table, monkeypatch, ahead, fragile):
    """Also where segments break and have to be repaired before the next."""
    monkeypatch.setitem(lanes.AHEAD, "cpu", ahead)
    calls = []
    segment, repair = lanes.Device.segment, lanes.Device.repair
    monkeypatch.setattr(lanes.Device, "segment", lambda *a: calls.append("s") or segment(*a))
    monkeypatch.setattr(lanes.Device, "repair", lambda *a: calls.append("r") or repair(*a))
    other = Walk(fragile=fragile).sweep(AXES, trials=7, name="walk")
    assert ("r" in calls) == fragile
    for name in ("cell", "trial", "steps"):
        np.testing.assert_array_equal(other[name], table[name])
    np.testing.assert_allclose(other["place"], table["place"], rtol=1e-5, atol=1e-6)


def test_what_goes_wrong_on_the_device_is_told(monkeypatch):
    """A failing filling program, for one, is not waited for."""

    def broken(self, more=None):
        self.fill = lambda *a: 1 / 0
        self.advance = None
        return self

    monkeypatch.setattr(lanes.Lanes, "compile", broken)
    with pytest.raises(RunError, match="division by zero"):
        Walk().sweep(AXES, trials=7, name="walk")


def test_a_trial_larger_than_the_memory_is_refused(monkeypatch):
    plan = make_plan(Walk(), AXES, trials=7, name="walk")
    monkeypatch.setattr(device, "memory", lambda: plan.cost.bytes)
    assert plan.fits
    monkeypatch.setattr(device, "memory", lambda: plan.cost.bytes - 1)
    assert not plan.fits
    with pytest.raises(InputError, match="one trial takes"):
        Walk().sweep(AXES, trials=7, name="walk")


def test_lanes_in_float64(double):
    """The threads that feed lanes compute as their caller does."""
    wide = Walk().sweep(AXES, trials=7, name="walk")
    assert wide["place"].dtype == np.float64
    # Normal draws of another width are other draws; sizes and ends are still those of a walk.
    assert wide["steps"].max() <= 30
    assert (wide["place"] > wide["level"])[wide["steps"] < 30].all()


def sweep(store, progress=None):
    """What is run here and in a process that is killed."""
    return Walk().sweep(AXES, trials=7, name="walk", store=store, progress=progress)


def test_what_a_gpu_compiler_is_told_is_in_words_that_it_knows(monkeypatch):
    """XLA refuses unknown options and values of the wrong kind, whatever device is there."""
    program = jax.jit(lambda x: x @ x).lower(jnp.ones((4, 4)))
    program.compile(dict(device.LIBRARY))
    monkeypatch.setattr(device, "on_gpu", lambda: True)
    program.compile(device.for_gpu(device.FIRST))
    with pytest.raises(Exception, match="xla_gpu_enable_triton_gemm"):
        program.compile({"xla_gpu_enable_triton_gemm": "false"})


def test_a_kill_in_the_middle_of_a_chunk_costs_that_chunk_alone(table, tmp_path):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "run")],
        cwd=ROOT,
        env=os.environ | {"LIMELIGHT_CACHE": "off"},
        capture_output=True,
        timeout=300,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    kept = sorted((tmp_path / "run" / "chunks").glob("*.parquet"))
    assert len(kept) == 1
    before = kept[0].read_bytes()
    seen = []
    resumed = sweep(tmp_path / "run", lambda p: seen.append(p.computed))
    assert seen[-1] == len(table) - 12
    assert kept[0].read_bytes() == before
    for name, column in table.columns.items():
        np.testing.assert_array_equal(resumed[name], column)


def kill(progress):
    """In the second chunk, when some of its trials have ended and others are under way."""
    if progress.done == 12 and 3 <= progress.under_way < 12:
        os.kill(os.getpid(), signal.SIGKILL)
