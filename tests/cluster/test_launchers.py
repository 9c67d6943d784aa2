"""What SLURM is asked for, with programs and a module that only stand for it."""

import os
import signal
import sys
import threading
import time
import types

import pytest

from limelight._core.errors import InputError
from limelight._workers import slurm
from limelight._workers.crew import workers
from limelight._workers.launcher import launcher, needed
from limelight._workers.slurm import Job
from tests.cluster.folder import begun

#: Options of submitit that matter here, as it lists them itself.
KNOWN = {"array_parallelism", "gres", "mem", "nodes", "partition", "setup", "signal_delay_s"}


class Executor:
    """Submitit's, as far as it is used: it writes down what it is asked for."""

    parameters: dict
    refuses: Exception | None = None
    arrays: list[tuple[int, dict]] = []

    def __init__(self, folder, max_num_timeout):
        if self.refuses is not None and len(self.arrays) >= 1:
            raise self.refuses

    @staticmethod
    def _valid_parameters():
        return KNOWN

    def update_parameters(self, **parameters):
        self.parameters = parameters

    def submit_array(self, jobs):
        self.arrays.append((len(jobs), self.parameters))
        number = len(self.arrays)
        return [types.SimpleNamespace(job_id=f"{number}_{n}") for n in range(len(jobs))]


@pytest.fixture
def submitit(monkeypatch):
    """A module that stands for submitit."""
    delayed = types.SimpleNamespace(DelayedSubmission=lambda job: job)
    module = types.SimpleNamespace(SlurmExecutor=Executor, helpers=delayed)
    monkeypatch.setitem(sys.modules, "submitit", module)
    monkeypatch.setattr(Executor, "arrays", [])
    return Executor


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Programs that stand for SLURM's: `programs(squeue="echo ...")`; every call is kept."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    calls.touch()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(**scripts):
        for name, script in scripts.items():
            (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {calls}\n{script}\n')
            (folder / name).chmod(0o755)
        return lambda: calls.read_text().splitlines()

    make(squeue="exit 1", scancel="exit 0")
    return make


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "", None])
@pytest.mark.parametrize("name", ["grace", "retries", "stall"])
def test_what_is_no_number_of_seconds_or_times_is_refused(tmp_path, name, value):
    with pytest.raises(InputError, match=f"{name} = "):
        launcher("local", tmp_path, {name: value})


def test_a_chunk_needs_some_time(tmp_path):
    with pytest.raises(InputError, match="stall = 0"):
        launcher("local", tmp_path, {"stall": "0"})


@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        ({"gpus_per_node": "1"}, True),
        ({"gpus_per_node": 0}, False),
        ({"gpus_per_node": "0"}, False),
        ({"gpus": "a100:2"}, True),
        ({"gres": "gpu:1"}, True),
        ({"gres": "gpu"}, True),
        ({"gres": "gpu:a100:2,nvme:1"}, True),
        ({"gres": "gpu:0"}, False),
        ({"gres": "nvme:1"}, False),
        ({"tres_per_task": "cpu:4,gres/gpu:1"}, True),
        ({"partition": "gpu"}, False),  # a name; what it holds nobody knows here
        ({"cpus_per_gpu": "8"}, False),
        ({}, False),
    ],
)
def test_workers_are_planned_for_a_gpu_where_one_is_asked_for(submitit, tmp_path, options, gpus):
    assert launcher("slurm", tmp_path, options).gpus is gpus


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"array": "0-3"}, "array = 0-3 is not an option here"),
        ({"output": "log"}, "output = log"),
        ({"nodes": "2"}, "nodes = 2: a job is one worker"),
        ({"ntasks_per_node": 8}, "ntasks_per_node = 8"),
        ({"time": "0"}, "time = 0"),
        ({"time": "long"}, "time = long"),
        ({"time": "2", "grace": "100"}, "leaves no time to be queued again"),
        ({"signal_delay_s": "soon"}, "warned soon s before its end"),
    ],
)
def test_options_that_a_worker_cannot_have_are_one_line(submitit, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        launcher("slurm", tmp_path, options)


def test_words_become_what_submitit_takes(submitit, tmp_path):
    given = {"setup": "module load cuda", "mem": "8G", "nodes": "1", "exclusive": "true"}
    given |= {"time": "1-0", "nice": "10", "account": "007"}
    told = launcher("slurm", tmp_path, given).parameters
    assert told["setup"] == ["module load cuda"]
    assert (told["mem"], told["nodes"], told["time"]) == ("8G", 1, 1440)
    rest = {"requeue": True, "exclusive": True, "nice": 10, "account": "007"}
    assert told["additional_parameters"] == rest


def test_an_extra_that_is_missing_says_what_to_install():
    with pytest.raises(InputError) as no:
        needed("no_such_package", "slurm")
    assert no.value.hint == "pip install 'limelight[slurm]'"


# --- SLURM ---------------------------------------------------------------------------------------


def test_all_jobs_of_an_array_may_run_and_more_than_one_holds_are_several(submitit, tmp_path):
    jobs = launcher("slurm", tmp_path, {}).start({n: ["work"] for n in range(2300)})
    assert [count for count, _ in submitit.arrays] == [1000, 1000, 300]
    assert [told["array_parallelism"] for _, told in submitit.arrays] == [1000, 1000, 300]
    assert (jobs[0], jobs[2299]) == ("1_0", "3_299")
    launcher("slurm", tmp_path, {"array_parallelism": "5"}).start({n: ["work"] for n in range(9)})
    assert submitit.arrays[-1][1]["array_parallelism"] == 5


def test_an_array_nobody_would_find_is_cancelled(submitit, programs, tmp_path, monkeypatch):
    calls = programs()
    monkeypatch.setattr(submitit, "refuses", RuntimeError("sbatch: error: no more today\nbye"))
    with pytest.raises(InputError, match="SLURM does not take the jobs: no more today"):
        launcher("slurm", tmp_path, {}).start({n: ["work"] for n in range(1001)})
    assert any(line.startswith("scancel --quiet 1_0 1_1 ") for line in calls())


@pytest.mark.parametrize("error", [TypeError("not a list"), ValueError("unknown"), OSError("no")])
def test_whatever_submitit_refuses_is_one_line(submitit, tmp_path, monkeypatch, error):
    slurms = launcher("slurm", tmp_path, {})
    submitit.arrays.append((0, {}))
    monkeypatch.setattr(submitit, "refuses", error)
    with pytest.raises(InputError, match=f"SLURM does not take the jobs: {error}"):
        slurms.start({0: ["work"]})


def test_a_machine_without_slurm_says_so(submitit, whole, tmp_path, monkeypatch):
    """Nothing was started before, so nobody is asked what is there."""
    store = begun(whole, tmp_path / "run", 1)
    monkeypatch.setenv("PATH", str(tmp_path))
    submitit.arrays.append((0, {}))
    monkeypatch.setattr("limelight._workers.crew._check_rebuilds", lambda *_: None)
    monkeypatch.setattr(submitit, "refuses", RuntimeError('Could not detect "srun"'))
    with pytest.raises(InputError, match='Could not detect "srun"'):
        workers(store, on="slurm")


def test_jobs_wait_or_run_or_are_not_there(submitit, programs, tmp_path):
    lines = ["7_0 RUNNING None", "7_1 PENDING Resources", "7_2 COMPLETING None", "8 REQUEUED Bad"]
    programs(squeue="printf '%s\\n' " + " ".join(f"'{line}'" for line in lines))
    slurms = launcher("slurm", tmp_path, {})
    jobs = ["7_0", "7_1", "7_2", "7_3", "8"]
    there = {"7_0": "running", "7_1": "waiting", "7_2": "running", "8": "waiting"}
    assert slurms.poll(jobs) == there
    assert slurms.why(jobs) == "Resources, Bad"


def test_what_a_users_variables_say_hides_no_job(submitit, programs, tmp_path, monkeypatch):
    """A job that is not seen would be replaced, again and again."""
    for name, text in (("SQUEUE_STATES", "RUNNING"), ("LOGNAME", "somebody"), ("USER", "somebody")):
        monkeypatch.setenv(name, text)
    calls = programs(squeue='[ -z "$SQUEUE_STATES" ] && echo 7_0 PENDING Resources')
    assert launcher("slurm", tmp_path, {}).poll(["7_0"]) == {"7_0": "waiting"}
    assert f"--user {os.getuid()} " in calls()[-1]


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 5"])
def test_a_silent_squeue_is_no_answer_and_all_jobs_are_cancelled(
    submitit, programs, tmp_path, monkeypatch, script
):
    monkeypatch.setattr(slurm, "ANSWER", 0.3)
    calls = programs(squeue=script)
    slurms = launcher("slurm", tmp_path, {})
    assert slurms.poll(["7_0"]) is None
    slurms.cancel(["7_0", "7_1"])
    assert calls()[-1] == "scancel --quiet 7_0 7_1"


def test_a_job_lets_its_worker_leave_although_it_waits_for_it(submitit, tmp_path):
    """The warning comes as a signal, in the midst of the waiting."""
    ready = tmp_path / "ready"
    job = Job(["sh", "-c", f"trap 'exit 75' TERM; : > {ready}; while :; do sleep .02; done"], 0.0)
    again, took = [], []

    def warned(*_):
        began = time.monotonic()
        again.append(job.checkpoint())
        took.append(time.monotonic() - began)

    def warn():
        while not (ready.exists() and job.process):  # the worker may be there before its job knows
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR2)

    before = signal.signal(signal.SIGUSR2, warned)
    try:
        threading.Thread(target=warn, daemon=True).start()
        job()
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert again[0].command == job.command
    assert took[0] < 4  # not the five seconds after which it is left alone


def test_a_job_whose_worker_died_has_failed(monkeypatch):
    monkeypatch.setattr(slurm.time, "sleep", lambda _: None)
    with pytest.raises(RuntimeError, match="the worker ended with 3"):
        Job(["sh", "-c", "exit 3"], 0.0)()


def test_submitit_itself_writes_these_parameters(tmp_path, monkeypatch):
    real = pytest.importorskip("submitit")
    told = launcher("slurm", tmp_path, {"gres": "gpu:1", "setup": "module load x"}).parameters
    text = real.slurm.slurm._make_sbatch_string(
        command="work", folder=tmp_path, map_count=300, array_parallelism=300, **told
    )
    assert "#SBATCH --array=0-299%300" in text
    assert "#SBATCH --gres=gpu:1" in text
    assert "\nmodule load x\n" in text
