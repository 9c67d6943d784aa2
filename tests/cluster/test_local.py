"""Workers on this machine: the same bytes as one process, whatever happens to a worker."""

import json

import pytest

import limelight as ll
from limelight._cli.publish import publish
from limelight._core.errors import InputError, RunError
from limelight._engine.run import lay_out
from limelight.papers._outside import from_path
from tests.cluster.scene import CHUNKS, PAPER, TRIALS, WIDTH, finish, kill

#: A module that Python imports when it starts: there, no lock can be had.
NO_LOCKS = """
import errno, fcntl

def flock(*_):
    raise OSError(errno.ENOLCK, "No locks available")

fcntl.flock = flock
"""


def test_a_killed_worker_is_replaced_and_the_bytes_are_those_of_one_process(scene, reference):
    submitter = scene.start("local")
    who = scene.until_at_work()
    kill(who)
    code, out, err = finish(submitter)
    assert code == 0, err
    assert f"worker {who['worker']} (job {who['pid']}) ended with work left and is replaced" in err
    assert "16 of 16 trials computed in" in out
    assert "by 2 workers on local" in out
    scene.assert_same(reference, died=1)


def test_without_locks_leases_share_the_work_and_outlive_a_kill(scene, reference, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NO_LOCKS)
    scene.environment["PYTHONPATH"] += f":{tmp_path}"
    submitter = scene.start("local")
    scene.until(lambda seen: list(scene.store.glob("locks/000-*.lease")), "a lease")
    who = scene.until_at_work()
    kill(who)
    code, _, err = finish(submitter)
    assert code == 0, err
    scene.assert_same(reference, died=1)


def test_a_failing_measure_is_named_with_its_log_and_the_rest_is_kept(
    scene, reference, monkeypatch, tmp_path, capsys
):
    for name in ("DICE_FAULTS", "DICE_SECONDS", "PYTHONPATH"):
        monkeypatch.setenv(name, scene.environment[name])
    monkeypatch.setenv("DICE_SECONDS", "0")
    (scene.faults / "fail-8").touch()
    figure = from_path(str(PAPER)).figure("dice")
    plan = figure.plan("small", width=WIDTH)
    lay_out(plan, scene.store, figure.about("small", 0, {}))
    crew = ll.workers(scene.store, count=1, paper=str(PAPER))
    with pytest.raises(RunError, match=r"2 of 8 chunks are missing \(000-00004, 000-00005\)") as no:
        crew.wait()
    assert "no die has 8 sides" in no.value.message
    seen = crew.status()
    assert [failure.chunk for failure in seen.failures] == ["000-00004"] * 2 + ["000-00005"] * 2
    assert any("no die has 8 sides" in line for line in seen.failures[0].lines)
    assert seen.done == TRIALS - 2 * WIDTH
    assert seen.workers == {"ended": 1}
    results = tmp_path / "results"
    with pytest.raises(InputError, match="only 12 of 16 trials are there"):
        publish([scene.store], results, str(PAPER), json=True)
    (scene.faults / "fail-8").unlink()
    table = ll.workers(scene.store, count=1, paper=str(PAPER)).wait()
    assert len(table) == TRIALS
    scene.assert_same(reference, died=4)
    publish([scene.store], results, str(PAPER), json=True)
    (told,) = json.loads(capsys.readouterr().out)
    place = results / "dice2000" / "dice"
    assert told == {"store": str(scene.store), "published": str(place)}
    assert {"table.parquet", "manifest.json", "means.png"} == {f.name for f in place.iterdir()}
    assert (ll.open(place)["mean"] == table["mean"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "lsf"}, "on cannot be 'lsf'"),
        ({"count": 0}, "count = 0"),
        ({"on": "local", "partition": "gpu"}, "on=local knows no partition"),
        ({"grace": "long"}, "grace = long"),
    ],
)
def test_what_workers_cannot_be_is_one_line(scene, options, message):
    figure = from_path(str(PAPER)).figure("dice")
    lay_out(figure.plan("small", width=WIDTH), scene.store)
    with pytest.raises(InputError, match=message):
        ll.workers(scene.store, **options)


def test_a_damaged_chunk_is_found_by_whoever_waits(scene, reference, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", scene.environment["PYTHONPATH"])
    figure = from_path(str(PAPER)).figure("dice")
    figure.run("small", scene.store, width=WIDTH)
    (scene.store / "chunks" / "000-00003.parquet").write_bytes(b"PAR1 and nothing else")
    table = ll.workers(scene.store, count=1, paper=str(PAPER)).wait()
    assert len(table) == TRIALS
    assert (scene.store / "chunks" / "000-00003.damaged0").exists()
    assert json.loads((scene.store / "workers" / "0.local.json").read_text())["on"] == "local"
    assert len(list((scene.store / "chunks").glob("*.parquet"))) == CHUNKS
