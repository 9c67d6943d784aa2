"""What `limelight status` and the line before a run say, whatever lies in the folder."""

import json
import math
import os
import sys
import threading
import types
from argparse import Namespace
from pathlib import Path

import pytest

import limelight as ll
from limelight._cli.crew import announced, print_cost
from limelight._cli.status import status as show
from limelight._core.errors import InputError
from limelight._engine import claims
from limelight._engine.device import describe_machine
from limelight._engine.run import Engine, lay_out
from limelight._workers import jobs, layout, share, work
from limelight._workers.launcher import launcher
from limelight._workers.layout import estimate, fitted
from limelight._workers.share import Bell, Share
from limelight._workers.status import ago, status
from tests.cluster.folder import AXES, NAMES, TRIALS, WIDTH, begun
from tests.torture.study import Walk


@pytest.fixture
def store(whole, tmp_path) -> Path:
    """A run with one of its four chunks finished."""
    return begun(whole, tmp_path / "run", 1)


@pytest.fixture(scope="module")
def plan():
    return Walk().plan(AXES, trials=TRIALS, width=WIDTH)


# --- workers that are not at work yet -----------------------------------------------------------


def squeue(tmp_path, monkeypatch, script: str) -> None:
    """A program that stands for SLURM's."""
    (tmp_path / "squeue").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_jobs_in_a_queue_are_somebody(store, tmp_path, monkeypatch, capsys):
    for number in range(3):
        jobs.write_down(store, number, "slurm", f"7_{number}")
    squeue(tmp_path, monkeypatch, "echo 7_0 PENDING Resources; echo 7_1 PENDING Priority")
    show(store, json=False)
    said = capsys.readouterr().out
    assert "held      none\nworkers   2 waiting for room\n" in said
    assert "nobody" not in said
    show(store, json=True)
    assert json.loads(capsys.readouterr().out)["workers"] == {"waiting": 2}


def test_jobs_of_another_user_are_asked_for_under_that_user(store, tmp_path, monkeypatch):
    """Whoever looks may be somebody else than whoever submitted."""
    monkeypatch.setattr(jobs.os, "getuid", lambda: 4711)
    jobs.write_down(store, 0, "slurm", "7_0")
    monkeypatch.undo()
    squeue(tmp_path, monkeypatch, 'case "$*" in *"--user 4711 "*) echo 7_0 RUNNING None;; esac')
    assert status(store).workers == {"running": 1}


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 0", "held      none: nobody works on it\n"), ("exit 1", "cannot be seen from here")],
)
def test_no_answer_is_not_nobody(store, tmp_path, monkeypatch, capsys, script, said):
    jobs.write_down(store, 0, "slurm", "7_0")
    squeue(tmp_path, monkeypatch, script)
    show(store, json=False)
    assert " ".join(said.split()) in " ".join(capsys.readouterr().out.split())


def test_many_failures_are_not_all_shown(store, capsys):
    (store / "workers" / "failures").mkdir()
    for number in range(11):
        facts = {"chunk": NAMES[1], "error": "no die", "host": "a", "job": "", "worker": "0"}
        (store / "workers" / "failures" / f"{number:02d}.json").write_text(json.dumps(facts))
    show(store, json=False)
    said = capsys.readouterr().out
    assert said.count("no die") == 8
    assert "and 3 more" in said


def test_what_failed_and_was_then_computed_is_no_failure(store):
    (store / "workers" / "failures").mkdir()
    for number, name in enumerate(NAMES[:2]):  # the first is there
        facts = {"chunk": name, "error": "no die", "host": "a", "job": "", "worker": "0"}
        (store / "workers" / "failures" / f"{number}.json").write_text(json.dumps(facts))
    assert [failure.chunk for failure in status(store).failures] == [NAMES[1]]


def test_the_last_chunk_may_hold_fewer_trials(tmp_path):
    Walk().sweep({"drift": [0.0]}, trials=3, width=2, store=tmp_path)
    seen = status(tmp_path)
    assert (seen.done, seen.trials, seen.missing) == (3, 3, ())


# --- what nobody would write ----------------------------------------------------------------------


def test_a_pipe_in_the_place_of_a_chunk_is_not_waited_for(store):
    os.mkfifo(store / "chunks" / f"{NAMES[-1]}.parquet")
    seen: list[int] = []
    look = threading.Thread(target=lambda: seen.append(status(store).done), daemon=True)
    look.start()
    look.join(20)
    assert seen == [WIDTH]


def test_facts_and_failures_that_are_none_are_passed_over(store):
    facts = store / "chunks" / f"{NAMES[0]}.json"
    facts.write_text('{"seconds": 1' + "0" * 400 + "}")
    (store / "workers" / "failures").mkdir()
    (store / "workers" / "failures" / "0.json").write_text("[" * 60_000)
    seen = status(store)
    assert (seen.done, seen.failures) == (WIDTH, ())


@pytest.mark.parametrize("since", [-1e300, 1e300, "today", None])
def test_a_moment_that_is_none_is_not_counted_from(since):
    assert math.isnan(ago(since))


def test_a_folder_of_results_is_no_run(whole, tmp_path):
    """It has no chunks, so it would seem that nothing of it was there."""
    store = begun(whole, tmp_path / "results", 0)
    ll.open(whole).save(store / "table.parquet")
    for ask in (status, ll.workers, lambda s: Walk().sweep(AXES, trials=TRIALS, store=s)):
        with pytest.raises(InputError, match="holds a published table, which is whole"):
            ask(store)


# --- what is announced ----------------------------------------------------------------------------


def test_only_what_is_left_is_announced(plan, capsys):
    assert announced(plan, estimate(plan, 2, False), "slurm").startswith(
        "2 workers on slurm: 1 program, 4 chunks of 2 trials (2 per worker,"
    )
    rest = estimate(plan, 2, False, there=set(NAMES[:3]))
    whole = estimate(plan, 2, False)
    assert rest.device_hours == pytest.approx(whole.device_hours / 4)
    assert announced(plan, rest, "slurm").startswith(
        "1 worker on slurm: 1 program, 1 more of 4 chunks of 2 trials (1 per worker,"
    )
    nothing = estimate(plan, 2, False, there=set(NAMES))
    assert nothing.programs == 0
    assert announced(plan, nothing, "ray") == "all 4 chunks are there; no worker is needed"
    print_cost(plan, rest, "slurm", json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["chunks"], told["chunks_there"], told["trials"]) == (1, 3, 2)
    assert (told["workers"], told["chunks_per_worker"]) == (1, 1.0)  # two were asked for


@pytest.mark.parametrize("count", [1, 3, 16])
def test_every_worker_has_several_chunks_and_none_is_long(monkeypatch, count):
    make = lambda width: Walk().plan(AXES, trials=1024, width=width)
    plan = fitted(make, count, gpus=False)
    assert len(plan.chunks) >= layout.EACH * count
    assert plan.width & (plan.width - 1) == 0
    monkeypatch.setattr(layout, "pace_of", lambda plan, gpus: plan.cost.flops / 40)  # 40 s a trial
    assert fitted(make, count, gpus=False).width == 4  # 300 s hold seven


def test_the_width_is_found_for_the_device_of_the_workers():
    make = lambda width: Walk().plan(AXES, trials=1024, width=width or 4)  # four fit in here
    assert fitted(make, 2, gpus=False).width == 4
    assert fitted(make, 2, gpus=True).width == 2 * 1024 // 8


# --- one of a thousand ---------------------------------------------------------------------------


def test_a_worker_opens_no_claim_of_others_when_it_starts(plan, store, monkeypatch):
    """A thousand workers would open a thousand claims each."""
    (store / "locks" / NAMES[2]).touch()
    monkeypatch.setattr(work, "share_programs", lambda store: None)
    monkeypatch.setattr("limelight.papers.published.plan_of", lambda store, paper: plan)
    opened = []
    monkeypatch.setattr(claims, "remove_unheld", lambda path: opened.append(path.name))
    told = Namespace(store=store, paper=None, same_code=False, stall=60.0, number=0, count=1)
    work._share(told, Bell())
    assert not opened
    lay_out(plan, store)  # whoever starts workers does it for all
    assert opened == [NAMES[2]]


def test_files_of_machines_that_cannot_be_seen_are_left_alone(plan, store, monkeypatch):
    """Where locks hold on one machine only, a file without one may be written elsewhere."""
    draft = store / "chunks" / f".{NAMES[2]}.parquet.xyz.tmp"
    draft.touch()
    monkeypatch.setenv("LIMELIGHT_LOCKS", "off")
    lay_out(plan, store)
    assert draft.exists()
    monkeypatch.delenv("LIMELIGHT_LOCKS")
    lay_out(plan, store)
    assert not draft.exists()


def test_the_last_lease_of_a_lost_machine_is_inherited(plan, store, whole, monkeypatch):
    """A worker that lingers less than a lease lives would leave the last chunk to nobody."""
    for name, seconds in (("LINGER", 0.05), ("POLL", 0.02), ("SLOWEST", 0.02), ("LEASE", 0.3)):
        monkeypatch.setattr(share, name, seconds)
    monkeypatch.setattr(claims, "LEASE", 0.3)
    monkeypatch.setenv("LIMELIGHT_LOCKS", "off")
    begun(whole, store.parent / "most", 3)
    store = store.parent / "most"
    lost = {"host": "elsewhere", "pid": 1}
    (store / "locks" / f"{NAMES[3]}.lease").write_text(json.dumps(lost))
    keep = lay_out(plan, store)
    worker = Share(Engine(plan, keep, lambda _: None, 60.0, describe_machine()), keep)
    computed = []
    monkeypatch.setattr(worker.engine, "attempt", lambda chunk: computed.append(chunk.name) or "")
    worker.work()
    assert computed == [NAMES[3]]


# --- the command's own errors ---------------------------------------------------------------------


def test_a_missing_extra_is_one_line_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="on=ray needs ray, which is not installed"):
        launcher("ray", tmp_path, {})
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace())
    launcher("ray", tmp_path, {})
    assert not list(tmp_path.iterdir())
