"""The engine: one compilation, alone and in company, keys, failures, stalls, devices."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError, RunError, StallError
from limelight._engine import device, make_plan
from limelight._engine.batch import over_rows, program
from limelight._engine.run import Engine, Memory, describe_run, patiently, run
from limelight.experiments import Experiment, Study
from limelight.measures import FreshLoss, accuracy
from limelight.models import Shallow
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

SMALL = Study(
    world=Patterns(tokens=20, relevant=0.4, confusing=0.1),
    model=Shallow(width=6, groups=True),
    train=Train(steps=40, batch=4, rate=1.0, every=20),
    measures=(FreshLoss(10), accuracy),
)


class Dice(Experiment):
    """A cheap trial that shows its key and its settings."""

    sides: int | float | jax.Array = 6.0
    kind: str = eqx.field(static=True, default="plain")

    def trial(self, key):
        if self.kind == "broken":
            raise RuntimeError("no such dice")
        value = jr.uniform(key) * self.sides
        return {"value": value, "log": jnp.stack([value, 2 * value])}

    def check(self):
        if not isinstance(self.sides, jax.Array) and self.sides <= 0:
            raise InputError("dice have sides", "sides > 0")


def test_a_grid_of_traced_axes_compiles_once():
    """Six fractions by ten sizes by four trials, one program."""
    axes = {
        "world.relevant": [0.3, 0.35, 0.4, 0.45, 0.5, 0.55],
        "train.examples": [2, 3, 4, 6, 8, 12, 16, 24, 32, 48],
    }
    plan = make_plan(SMALL, axes, trials=4, width=120)
    assert (plan.rows, plan.compilations, len(plan.chunks)) == (240, 1, 2)
    function = jax.jit(program(plan.groups[0]))
    results = [function(*plan.arguments(chunk)) for chunk in plan.chunks]
    assert function._cache_size() == 1
    seen = []
    table = run(plan, progress=lambda p: seen.append(p.compilations))
    assert seen[-1] == 1
    np.testing.assert_array_equal(
        np.concatenate([r["test_loss"] for r in results]), table["test_loss"]
    )
    # The axis is really swept: more relevant tokens and more examples are easier.
    loss = table["test_loss"].reshape(6, 10, 4).mean(axis=2)
    assert loss[0, 0] > loss[-1, -1]


def test_a_trial_is_run_through_once_to_plan_and_to_compute():
    """What was counted is what is computed; kinds that planning did not see are traced anew."""
    calls = []

    class Counted(Dice):
        def trial(self, key):
            calls.append(1)
            return super().trial(key)

    plan = make_plan(Counted(), {"sides": [3.0, 40.0]}, trials=5, width=4)
    table = run(plan)
    assert len(calls) == 1
    anew = dataclasses.replace(plan.groups[0], trial=None)
    chunk = plan.chunks[0]
    expected = jax.jit(program(anew))(*plan.arguments(chunk))
    assert len(calls) == 2
    np.testing.assert_array_equal(expected["value"], table["value"][: plan.width])
    seed, words, trials, swept, still = plan.arguments(chunk)
    whole = {name: values.astype(int) for name, values in swept.items()}
    found = jax.jit(program(plan.groups[0]))(seed, words, trials, whole, still)
    assert len(calls) == 3
    np.testing.assert_array_equal(found["value"], expected["value"])


def test_a_plan_from_before_a_flag_was_set_is_traced_anew():
    """Else float32 would stand under the name of float64."""

    class Fifth(Experiment):
        def trial(self, key):
            return {"value": jr.uniform(key) / 5}

    plan = make_plan(Fifth(), {}, trials=2)
    assert str(plan).count("lambda") == 0  # no operations in what is printed
    with jax.enable_x64(True):
        assert plan.double
        assert run(plan)["value"].dtype == np.float64


class Patient(Dice):
    """Dice thrown until they show little enough: trials end at different times."""

    def trial(self, key):
        throw = lambda state: (state[0] + 1, jr.uniform(jr.fold_in(key, state[0])) * self.sides)
        throws, value = jax.lax.while_loop(lambda s: s[1] > 1, throw, (0, jnp.array(2.0)))
        return {"throws": throws, "value": value}


def test_trials_in_turn_are_the_trials_side_by_side(monkeypatch):
    """The same numbers, in one program, from a loop on one CPU and from a batch elsewhere."""

    class InTurn(Patient):
        in_turn = True

    def sweep(dice):
        plan = make_plan(dice(), {"sides": [3.0, 40.0]}, trials=5, width=4)
        text = str(jax.make_jaxpr(program(plan.groups[0]))(*plan.arguments(plan.chunks[0])))
        table = run(plan)
        return "scan[" in text, {name: table[name].tolist() for name in ("throws", "value")}

    looped, found = sweep(InTurn)
    batched, expected = sweep(Patient)
    assert (looped, batched) == (True, False)
    assert found == expected
    assert len(set(found["throws"])) > 2
    for name, answer in (("on_gpu", True), ("jax.local_device_count", 2)):
        with monkeypatch.context() as patched:
            patched.setattr(f"limelight._engine.batch.{name}", lambda answer=answer: answer)
            one = lambda x: 2 * x
            assert "scan[" not in str(jax.make_jaxpr(over_rows(one, True))(jnp.zeros(3)))


def test_a_trial_alone_agrees_with_itself_in_company():
    axes = {"train.examples": [4, 9]}
    table = SMALL.sweep(axes, trials=3, width=4, seed=5)
    alone = SMALL.sweep(axes, trials=3, width=1, seed=5)
    np.testing.assert_allclose(alone["test_loss"], table["test_loss"], rtol=1e-4, atol=1e-5)


def test_randomness_comes_from_seed_cell_and_trial_alone():
    first = Dice().sweep({"sides": [6.0, 8.0]}, trials=4)
    # Another order, another width, more cells: the same dice for the same cell and trial.
    second = Dice().sweep({"sides": [8.0, 10.0, 6.0]}, trials=5, width=7)
    for sides in (6.0, 8.0):
        a, b = (t.where(sides=sides) for t in (first, second))
        np.testing.assert_array_equal(a["value"], b["value"][:4])
    assert len(np.unique(second["value"])) == 15
    other = Dice().sweep({"sides": [6.0, 8.0]}, trials=4, seed=1)
    assert not np.isin(other["value"], first["value"]).any()
    named = Dice().sweep({"sides": [6.0, 8.0]}, trials=4, name="another")
    assert not np.isin(named["value"], first["value"]).any()


def test_shared_axes_share_their_dice():
    table = Dice().sweep({"sides": [6.0, 12.0]}, trials=5, shared=("sides",))
    a, b = (table.where(sides=s)["value"] for s in (6.0, 12.0))
    np.testing.assert_allclose(2 * a, b, rtol=1e-6)
    with pytest.raises(InputError, match="not swept"):
        Dice().sweep({"sides": [6.0]}, trials=1, shared=("kind",))


def test_one_axis_has_one_type_whatever_its_chunks_hold(tmp_path):
    table = Dice().sweep({"sides": [1, 2, 0.5]}, trials=2, width=2, store=tmp_path)
    assert table["sides"].dtype == float
    same = Dice().sweep({"sides": [1.0, 2.0]}, trials=2)
    np.testing.assert_array_equal(same["value"], table["value"][:4])  # 1 and 1.0 are one cell


def test_sizes_from_a_geometric_grid_are_whole_numbers():
    table = SMALL.sweep({"train.examples": np.geomspace(2, 8, 3)}, trials=1)
    assert table["train.examples"].tolist() == [2, 4, 8]
    with pytest.raises(InputError, match="whole number"):
        SMALL.sweep({"train.examples": [2.5]}, trials=1)


def test_no_noise_beside_noise_makes_one_readable_table(tmp_path):
    study = Study(Patterns(tokens=12), Shallow(width=3), None, (accuracy,))
    table = study.sweep({"world.noise": [None, 0.1]}, trials=2, width=2, store=tmp_path)
    assert np.isnan(table["world.noise"][:2]).all()
    assert table["world.noise"][2] == 0.1


def test_one_failing_chunk_leaves_the_others_alone(tmp_path, monkeypatch):
    compute = Engine._compute

    def sometimes(self, chunk):
        if chunk.name == "000-00001":
            raise MemoryError("too much")
        return compute(self, chunk)

    monkeypatch.setattr(Engine, "_compute", sometimes)
    with pytest.raises(RunError, match="2 of 8 trials failed"):
        Dice().sweep({"sides": [6.0, 7.0]}, trials=4, width=2, store=tmp_path)
    assert len(list((tmp_path / "chunks").glob("*.parquet"))) == 3
    monkeypatch.undo()
    assert len(Dice().sweep({"sides": [6.0, 7.0]}, trials=4, width=2, store=tmp_path)) == 8


def test_the_hash_knows_what_a_measure_does():
    def scaled(key, world, truth, model, scale=1.0):
        return jnp.array(scale)

    def plan(*measures):
        study = Study(SMALL.world, SMALL.model, None, measures)
        return make_plan(study, {"world.relevant": [0.4]}, trials=1, width=1).hash

    factor = 3.0
    hashes = [
        plan(partial(scaled, scale=1.0)),
        plan(partial(scaled, scale=2.0)),
        plan(lambda key, world, truth, model: jnp.array(1.0)),
        plan(lambda key, world, truth, model: jnp.array(2.0)),
        plan(lambda key, world, truth, model: jnp.array(factor)),
        plan(accuracy),
    ]
    assert len(set(hashes)) == 6
    with jax.enable_x64(True):
        assert plan(accuracy) != hashes[-1]


def test_what_would_not_make_one_table_is_refused():
    class Odd(Dice):
        def trial(self, key):
            return {"a": {"cell": jnp.zeros(()), "matrix": jnp.zeros((2, 2))}[self.kind]} | (
                {"cell": jnp.zeros(())} if self.kind == "cell" else {}
            )

    for kind, word in (("cell", "taken"), ("matrix", "matrix")):
        with pytest.raises(InputError, match=word):
            Odd(kind=kind).sweep({"sides": [6.0]}, trials=1)
    twice = Study(SMALL.world, SMALL.model, None, (FreshLoss(4), FreshLoss(8)))
    with pytest.raises(InputError, match="two measures"):
        twice.sweep({"world.relevant": [0.4]}, trials=1)


def test_double_precision_reaches_the_trials():
    with jax.enable_x64(True):
        table = Dice().sweep({"sides": [6.0]}, trials=2)
    assert table["value"].dtype == np.float64


def test_padding_never_reaches_the_table():
    table = Dice().sweep({"sides": [6.0, 8.0, 9.0]}, trials=3, width=4)
    assert len(table) == 9
    np.testing.assert_array_equal(table["cell"], np.repeat([0, 1, 2], 3))
    assert table["log"].shape == (9, 2)


def test_a_failing_group_is_reported_and_the_rest_is_kept(tmp_path):
    messages = []
    # What breaks only in one static group, and only when it runs.
    plan = make_plan(Dice(), {"kind": ["plain", "other"], "sides": [6.0, 7.0]}, trials=2, width=4)
    broken = dataclasses.replace(plan.groups[1], experiment=Dice(kind="broken"), trial=None)
    object.__setattr__(plan, "groups", (plan.groups[0], broken))
    with pytest.raises(RunError, match="no such dice"):
        run(plan, store=tmp_path, progress=lambda p: messages.extend(p.messages))
    assert any("failed" in message for message in messages)
    assert len(list((tmp_path / "chunks").glob("*.parquet"))) == 1


def test_a_trial_that_cannot_be_built_is_an_input_error():
    with pytest.raises(InputError, match="cannot be built"):
        Dice(kind="broken").sweep({"sides": [6.0]}, trials=1)


def test_a_stuck_chunk_is_given_up():
    began = time.monotonic()
    with pytest.raises(StallError, match="no progress for 0.3 seconds"):
        patiently(lambda: time.sleep(30), 0.3, "000-00000")
    assert time.monotonic() - began < 10


def test_nothing_is_under_way_once_a_chunk_has_ended():
    seen = []
    see = lambda p: seen.append((p.done, p.under_way))
    Dice().sweep({"sides": [6.0, 8.0]}, trials=3, width=2, progress=see)
    assert {done for done, _ in seen} >= {2, 4, 6}
    assert not any(under_way for _, under_way in seen)


def test_progress_counts_trials():
    seen = []
    see = lambda p: seen.append((p.done, p.computed))
    Dice().sweep({"sides": [6.0, 8.0]}, trials=3, width=2, progress=see)
    assert seen[-1] == (6, 6)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_measures_share_a_test_set_and_an_untrained_model_can_be_measured():
    still = Study(SMALL.world, SMALL.model, None, SMALL.measures)
    table = still.sweep({"world.relevant": [0.4]}, trials=3)
    assert set(table.columns) == {"cell", "trial", "world.relevant", "test_loss", "accuracy"}
    with pytest.raises(InputError, match="traces need training"):
        Study(SMALL.world, SMALL.model, None, (), (accuracy,)).sweep({"world.relevant": [0.4]})


DEVICES = """
import os, json
count = " --xla_force_host_platform_device_count=" + os.sys.argv[1]
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + count
from tests.engine.test_engine import SMALL
import jax
seen = []
table = SMALL.sweep({"train.examples": [4, 9]}, trials=4, width=8, progress=seen.append)
print(json.dumps([jax.local_device_count(), table["test_loss"].tolist()]))
"""


def test_all_local_devices_share_the_trials():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", DEVICES, count], capture_output=True, text=True, check=True
        ).stdout
        for count in ("1", "2")
    ]
    (one, alone), (two, together) = (json.loads(o.splitlines()[-1]) for o in outputs)
    assert (one, two) == (1, 2)
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)


def test_a_chunk_holds_a_whole_group_or_a_power_of_two_that_fits(monkeypatch):
    monkeypatch.setattr(device, "memory", lambda: 10 * 2**30)
    monkeypatch.setattr(device, "ROOM", {"cpu": 100 * 1000})
    assert device.chunk_width(1000, rows=10_000) == 64  # 100 fit
    assert device.chunk_width(1000, rows=101) == 64
    for rows in (100, 40, 32, 3):
        assert device.chunk_width(1000, rows=rows) == rows  # one chunk, no padding
    assert device.chunk_width(10**9, rows=50) == 1  # never none
    assert device.chunk_width(1, rows=10**6) == 128  # never more than the widest


def test_an_experiment_can_ask_for_double_precision():
    class Fine(Dice):
        double = True

    assert not jax.config.jax_enable_x64
    fine = Fine().sweep({"sides": [6.0]}, trials=2)
    assert fine["value"].dtype == np.float64
    assert fine.manifest["configuration"]["numerics"]["x64"] is True
    assert Dice().sweep({"sides": [6.0]}, trials=2)["value"].dtype == np.float32
    assert not jax.config.jax_enable_x64


class DoubleDice(Dice):
    """Dice whose trials are computed in float64."""

    double = True

    def trial(self, key):
        value = jnp.float64(1) / 3 * self.sides
        return {"value": value, "log": jnp.stack([value, jr.uniform(key)])}


@pytest.mark.parametrize("cores", [2, 8])
def test_a_machine_with_cores_to_spare_gives_the_same_table(monkeypatch, cores):
    """There, programs are compiled ahead in threads: in float64 too."""
    monkeypatch.setattr("limelight._engine.run.os.cpu_count", lambda: cores)
    axes = {"kind": ["plain", "odd", "even"], "sides": [2.0, 6.0]}
    table = run(make_plan(DoubleDice(), axes, trials=2))
    np.testing.assert_array_equal(table["value"], table["sides"] * (1 / 3))


def test_a_worker_with_one_core_of_many_computes_one_chunk_at_a_time(monkeypatch):
    for given, hands in (({0}, 1), ({0, 3}, 2)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, given=given: given)
        assert device.hands(1000) == hands


@pytest.mark.parametrize("hands", [1, 2])
def test_chunks_computed_side_by_side_are_the_same(hands, monkeypatch):
    """The same table, every chunk counted once, and seconds that add up to those of the run."""
    monkeypatch.setattr("limelight._engine.run.device.hands", lambda _: hands)
    axes = {"kind": ["plain", "odd"], "sides": [2.0, 6.0]}
    plan, seen = make_plan(Dice(), axes, trials=6, width=2), []
    keep = Memory(describe_run(plan, None, {}))
    facts, write = [], keep.write
    keep.write = lambda name, rows, told: (facts.append(told), write(name, rows, told))
    engine = Engine(plan, keep, lambda p: seen.append((p.done, p.computed)), 60.0, {})
    table, alone = engine.work(), run(plan)
    assert all(np.array_equal(table[name], alone[name]) for name in alone.columns)
    assert engine.hands == hands
    assert seen[-1] == (24, 24)
    assert sum(fact["compilations"] for fact in facts) == 2
    spent = engine.progress
    assert sum(fact["seconds"] for fact in facts) <= spent.seconds + 0.01
    assert sum(f["compile_seconds"] for f in facts) == pytest.approx(spent.compile_seconds, abs=0.1)
