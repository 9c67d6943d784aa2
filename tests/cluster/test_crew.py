"""Whoever watches workers: what is found, replaced, refused and told, with workers not there."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from limelight._core.errors import InputError, RunError, StoreError
from limelight._engine.claims import Claims
from limelight._engine.run import ROUNDS
from limelight._workers import crew as module
from limelight._workers import jobs as records
from limelight._workers.crew import Crew
from limelight._workers.local import Local
from limelight._workers.status import status
from limelight._workers.work import command
from tests.cluster.folder import NAMES, Fake, begun, crew, finish, recorded


@pytest.fixture
def store(whole, tmp_path) -> Path:
    """A run with three of its four chunks to be computed."""
    return begun(whole, tmp_path / "run", 1)


def test_a_scheduler_that_says_nothing_is_not_one_without_workers(store):
    recorded(store, "job-8", "job-9")
    launcher = Fake(store)
    launcher.there = None
    with pytest.raises(RunError, match="fake does not say which workers are there"):
        Crew(store, launcher, [["work"]] * 2)
    assert not launcher.started


def test_workers_of_an_earlier_and_larger_crew_are_found_and_cancelled(store):
    recorded(store, "a", "b", "c", "d")
    launcher = Fake(store)
    launcher.there = dict.fromkeys("bcd", "running")
    found = Crew(store, launcher, [["work"]] * 2)
    assert launcher.started == [0]
    assert found.jobs == ["job-0", "b", "c", "d"]
    found.cancel()
    assert launcher.cancelled == {"job-0", "b", "c", "d"}
    assert found.status().workers == {"ended": 4}


@pytest.mark.parametrize("text", ["[" * 60_000, "{}", '{"on": 1}', "3", "\xff", ""])
def test_a_record_that_is_none_is_passed_over(store, text):
    recorded(store, "a")
    (store / "workers" / "1.json").write_text(text, encoding="latin-1")
    assert [told["number"] for told in records.written_down(store)] == [0]
    launcher = Fake(store)
    launcher.there = {"a": "running"}
    assert Crew(store, launcher, [["work"]] * 2).jobs == ["a", "job-0"]


def test_a_worker_that_is_given_up_does_not_stand_in_the_way_of_another(whole, store):
    finish(whole, store, *NAMES[:3])  # one is left: room for one replacement
    team, launcher = crew(store)
    team._start([1])
    launcher.there = {}
    team.posts[0].fruitless = 99
    team._poll()
    team._tend(team.status())
    assert launcher.started == [0, 1, 1]
    assert team.posts[1].state == "waiting"


def test_chunks_finished_since_the_last_look_are_not_missing(whole, store):
    team, launcher = crew(store)
    launcher.there = {}
    before = team.status()
    for post in team.posts.values():
        post.fruitless = 99
    finish(whole, store, *NAMES)
    team._tend(before)  # raises if it believes the look before
    assert len(team.wait()) == 8


def test_a_worker_that_finishes_nothing_is_replaced_as_often_as_was_said(store):
    team, launcher = crew(store, 1, retries=2)
    (store / "workers" / "0.log").write_text("Killed\n")
    ends = launcher.start

    def start(commands):
        found = ends(commands)
        launcher.there = {}  # it ends at once
        return found

    launcher.start, launcher.there = start, {}
    with pytest.raises(RunError, match=r"3 of 4 chunks are missing .* no worker is left: Killed"):
        team.wait()
    assert launcher.started == [0, 0, 0]


def test_a_worker_that_gets_on_is_replaced_for_ever(whole, store):
    """Preempted after every chunk, it ends more often than it may without having finished any."""
    team, launcher = crew(store, 1, retries=0)
    finishing(whole, store, launcher, NAMES[1:])
    assert len(team.wait()) == 8
    assert launcher.started == [0] * 4


def test_a_worker_that_got_on_once_is_not_replaced_for_ever(whole, store):
    team, launcher = crew(store, 1, retries=2)
    finishing(whole, store, launcher, NAMES[1:2])
    with pytest.raises(RunError, match="2 of 4 chunks are missing"):
        team.wait()
    assert launcher.started == [0] * 5  # two above, one as it had got on, two in vain


def finishing(whole, store, launcher, names) -> None:
    """Workers that finish one chunk each and end, and then such as finish none."""
    starts, left = launcher.start, list(names)

    def start(commands):
        assert len(launcher.started) < 9, "replaced for ever"
        found, launcher.there = starts(commands), {}
        for name in left[:1]:
            finish(whole, store, name)
            facts = store / "chunks" / f"{name}.json"
            facts.write_text(json.dumps(json.loads(facts.read_text()) | {"by": {"worker": "0"}}))
            left.pop(0)
        return found

    launcher.start = start
    start({0: ["work"]})  # what the first one did before it ended


def test_a_worker_beyond_the_crew_is_not_replaced(whole, store):
    recorded(store, "a", "b", "c")
    launcher = Fake(store)
    launcher.there = dict.fromkeys("abc", "running")
    team = Crew(store, launcher, [["work"]])
    launcher.there = {}
    team._tend(team.status())
    assert launcher.started == [0]


def test_what_others_hold_is_no_reason_to_replace_a_worker(store):
    team, launcher = crew(store, 1)
    launcher.there = {}
    claims = Claims(store / "locks")
    with claims.hold(NAMES[1]), claims.hold(NAMES[2]), claims.hold(NAMES[3]):
        team._tend(team.status())
    assert launcher.started == [0]
    team._tend(team.status())
    assert launcher.started == [0, 0]


def test_failures_are_forgotten_by_a_new_crew_alone(store):
    (store / "workers" / "failures").mkdir()
    facts = dict.fromkeys(("error", "host", "job", "worker"), "") | {"chunk": NAMES[1]}
    (store / "workers" / "failures" / "0.json").write_text(json.dumps(facts))
    recorded(store, "a")
    launcher = Fake(store)
    launcher.there = {"a": "running"}
    assert len(Crew(store, launcher, [["work"]]).status().failures) == 1
    launcher.there = {}
    assert not Crew(store, launcher, [["work"]]).status().failures


def test_a_refused_replacement_is_told_once_and_asked_for_again(whole, store, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.0)
    team, launcher = crew(store)
    launcher.there = {"job-1": "running"}
    launcher.refusal = "SLURM does not take the jobs: QOSMaxSubmitJobPerUserLimit"
    for _ in range(9):  # another works: it may last
        team._tend(team.status())
    assert team.messages == [f"{launcher.refusal}; asked again every 0 s"]
    assert launcher.started == [0, 1]
    launcher.refusal = ""
    team._tend(team.status())
    assert launcher.started == [0, 1, 0]
    assert "worker 0 (job job-0) ended with work left and is replaced" in team.messages[1]
    assert team.posts[0].fruitless == 1
    finish(whole, store, *NAMES)
    assert len(team.wait()) == 8


def test_refusals_are_why_a_run_without_workers_fails(store, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.0)
    team, launcher = crew(store, 1, retries=2)
    launcher.there, launcher.refusal = {}, "SLURM does not take the jobs: no more today"
    with pytest.raises(RunError, match="no worker is left: .*: no more today"):
        team.wait()
    assert team.refusals == 3


def test_between_two_refusals_nobody_is_asked(store):
    team, launcher = crew(store)
    launcher.there, launcher.refusal = {"job-1": "running"}, "no"
    team._tend(team.status())
    launcher.start = lambda commands: pytest.fail("asked again at once")
    team._tend(team.status())


def test_the_very_first_refusal_is_the_users_to_mend(store):
    launcher = Fake(store)
    launcher.refusal = "SLURM does not take the jobs: invalid partition"
    with pytest.raises(InputError, match="invalid partition"):
        Crew(store, launcher, [["work"]])


def test_a_long_silence_is_told_once_each_time(store, monkeypatch):
    monkeypatch.setattr(module, "SILENCE", 0.0)
    team, launcher = crew(store)
    there, launcher.there = launcher.there, None
    for _ in range(3):
        assert team.status().workers == {"waiting": 2}  # as before: nobody said otherwise
    silent = [m for m in team.messages if "fake has not said for 0 s which workers" in m]
    assert len(silent) == 1
    launcher.there = there
    team.status()
    launcher.there = None
    team.status()
    assert len([m for m in team.messages if "has not said" in m]) == 2


def test_workers_that_find_no_room_are_told_of_with_the_reason(store, monkeypatch):
    monkeypatch.setattr(module, "SILENCE", 0.0)
    team, launcher = crew(store)
    launcher.there = dict.fromkeys(launcher.there or {}, "waiting")
    team.status(), team.status()
    assert team.messages == ["no worker has run for 0 s: they wait for room on fake (Resources)"]
    launcher.there["job-0"] = "running"
    team.messages.clear()
    team.status()
    assert team.messages == []


def test_a_cancel_that_nobody_heard_is_told(store):
    team, launcher = crew(store, grace=0.0)
    launcher.there = None
    team._dismiss = lambda patience: None
    with pytest.raises(RunError, match="fake does not answer: workers may still be there"):
        team.cancel()


def test_a_disk_that_spoils_every_chunk_ends_the_run(whole, store, monkeypatch):
    """Set aside and computed again, but not for ever."""
    team, launcher = crew(store, 1)
    finish(whole, store, *NAMES)
    look = team.watch.look

    def spoiled(*given):
        finish(whole, store, *NAMES)  # somebody computed it again, in vain
        (store / "chunks" / f"{NAMES[2]}.parquet").write_bytes(b"PAR1")
        return look(*given)

    monkeypatch.setattr(team.watch, "look", spoiled)
    with pytest.raises(StoreError, match=NAMES[2]):
        team.wait()
    assert len(list((store / "chunks").glob(f"{NAMES[2]}.damaged*"))) == ROUNDS


def test_workers_without_a_log_may_not_see_the_folder(store):
    team, launcher = crew(store, 1, retries=0)
    launcher.there = {}
    with pytest.raises(RunError, match="do their machines see this folder"):
        team.wait()
    assert not [message for message in team.messages if "last lines" in message]


def test_a_worker_makes_no_folder_on_a_machine_that_does_not_see_the_run(tmp_path):
    words = command(tmp_path / "run", 0, 1, grace=0.0, stall=1.0)
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "FileNotFoundError" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_claims_and_files_that_killed_workers_left_are_cleared_at_the_end(whole, store):
    team, launcher = crew(store)
    (store / "locks" / "000-00001").write_text("{}")
    (store / "chunks" / ".000-00001.parquet.xyz.tmp").touch()
    finish(whole, store, *NAMES)
    team.wait()
    assert launcher.cancelled == {"job-0", "job-1"}  # those that linger are not needed any more
    assert not list((store / "locks").iterdir())
    assert not list((store / "chunks").glob(".*"))


def test_a_folder_that_cannot_be_written_is_one_line(store, monkeypatch):
    (store / "workers").rmdir()
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13)))
    with pytest.raises(StoreError, match="cannot write"):
        crew(store)


#: A worker that leaves when asked to, and one that does not hear.
POLITE = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(75)); "
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
WAITS = "open({!r}, 'w').close(); time.sleep(60)"


def test_cancel_lets_local_workers_leave_and_ends_those_that_do_not(store, tmp_path):
    marks = [str(tmp_path / name) for name in "ab"]
    script = [first + WAITS.format(mark) for first, mark in zip((POLITE, DEAF), marks, strict=True)]
    launcher = Local(store, {"grace": 0.2})
    team = Crew(store, launcher, [[sys.executable, "-c", words] for words in script])
    while not all(Path(mark).exists() for mark in marks):
        time.sleep(0.02)
    assert status(store).workers == {"running": 2}
    processes = [launcher.processes[job] for job in team.jobs]
    team._dismiss(0.5)
    assert [process.returncode for process in processes] == [75, -signal.SIGKILL]
    assert team.status().workers == {"ended": 2}
    assert status(store).workers == {}


def test_a_run_that_goes_on_elsewhere_keeps_the_jobs_of_its_cluster(store):
    recorded(store, "a", "b")  # they wait on a cluster
    records.write_down(store, 0, "local", "1")
    launcher = Fake(store)
    launcher.there = {"a": "waiting", "b": "waiting"}
    assert Crew(store, launcher, [["work"]] * 2).jobs == ["a", "b"]
    assert not launcher.started


def test_workers_of_code_that_cannot_be_found_are_refused_before_any_starts(store, monkeypatch):
    """The run's experiment is a class of these tests, which no worker could import."""
    monkeypatch.setattr(module, "Crew", lambda *_: pytest.fail("started"))
    with pytest.raises(InputError, match="Walk"):
        module.workers(store, count=2)


def test_who_is_there_is_known_on_this_machine_alone(store, monkeypatch):
    assert status(store).workers == {}  # nobody was started
    records.write_down(store, 0, "local", str(os.getpid()))
    records.write_down(store, 1, "ray", "actor-0")
    assert status(store).workers == {"running": 1, "waiting": 1}
    monkeypatch.setattr("limelight._engine.claims.socket.gethostname", lambda: "elsewhere")
    assert status(store).workers is None


def test_a_chunk_that_is_finished_while_one_looks_is_not_free(whole, store, monkeypatch):
    """It is held when claims are read, and there when chunks are: never neither."""
    held = Claims.held

    def slowly(self):
        found = held(self)
        finish(whole, store, "000-00001")
        return found

    monkeypatch.setattr(Claims, "held", slowly)
    assert "000-00001" not in status(store).missing
