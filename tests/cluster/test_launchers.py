"""What SLURM and Ray are asked for, with programs and modules that only stand for them."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import types
from pathlib import Path

import pytest

from limelight._core.errors import InputError
from limelight._workers import ray as rays
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


@pytest.mark.parametrize("given", ["0", "0.0", "0.5", "1"])
def test_ray_counts_gpus_by_parts(tmp_path, monkeypatch, given):
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace())
    assert launcher("ray", tmp_path, {"num_gpus": given}).gpus is (float(given) > 0)


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
    told = launcher("slurm", tmp_path, given | {"time": "1-0", "nice": "10"}).parameters
    assert told["setup"] == ["module load cuda"]
    assert (told["mem"], told["nodes"], told["time"]) == ("8G", 1, 1440)
    assert told["additional_parameters"] == {"requeue": True, "exclusive": True, "nice": 10}


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
    with pytest.raises(InputError, match="SLURM does not take the jobs: sbatch: error: no more"):
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
    again = []

    def warned(*_):
        if ready.exists():
            again.append(job.checkpoint())
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.02)

    before = signal.signal(signal.SIGALRM, warned)
    try:
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        job()
        assert time.monotonic() - began < 4  # not the five seconds after which it is left alone
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert again[0].command == job.command


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


# --- Ray -----------------------------------------------------------------------------------------


class Cluster(types.SimpleNamespace):
    """Ray, as far as it is used: actors that answer what a test says."""

    def __init__(self):
        class Timeout(Exception): ...

        errors = types.SimpleNamespace(GetTimeoutError=Timeout, RayError=OSError)
        super().__init__(exceptions=errors, made=[], killed=[])

    def is_initialized(self):
        return True

    def remote(self, _):
        return self

    def options(self, **given):
        if given.get("num_cpus", 0) < 0:
            raise ValueError("num_cpus must not be negative\nmore")
        place = lambda *words: self.made.append(Actor(words[-1])) or self.made[-1]
        return types.SimpleNamespace(remote=place)

    def wait(self, asked, **_):
        return asked, []

    def get(self, asked, **_):
        if asked.state == "waiting":
            raise self.exceptions.GetTimeoutError
        if asked.state == "dead":
            raise OSError
        return asked.state == "running"

    def kill(self, actor):
        self.killed.append(actor.job)


class Actor:
    """One of them."""

    def __init__(self, job):
        self.job, self.state = job, "waiting"
        self.runs = types.SimpleNamespace(remote=lambda: self)


@pytest.fixture
def cluster(monkeypatch):
    """A module that stands for Ray."""
    made = Cluster()
    monkeypatch.setitem(sys.modules, "ray", made)
    return made


def test_actors_never_share_a_name(cluster, tmp_path):
    rays = launcher("ray", tmp_path, {})
    first = rays.start({0: ["python"], 1: ["python"]})
    second = rays.replace(first[0], 0, ["python"])
    assert len({*first.values(), second}) == 3
    assert [actor.job for actor in cluster.made] == [first[0], first[1], second]
    assert cluster.killed == [first[0]]


def test_an_actor_that_is_ended_is_not_asked_any_more(cluster, tmp_path):
    rays = launcher("ray", tmp_path, {})
    (job,) = rays.start({0: ["python"]}).values()
    assert rays.poll([job]) == {job: "waiting"}
    cluster.made[0].state = "running"
    assert rays.poll([job]) == {job: "running"}
    cluster.made[0].state = "waiting"
    rays.poll([job])  # a question that is never answered
    rays.cancel([job], at_once=True)
    assert rays.poll([job]) == {}


@pytest.mark.parametrize("state", ["dead", "ended"])
def test_an_actor_lost_or_without_its_worker_has_ended(cluster, tmp_path, state):
    rays = launcher("ray", tmp_path, {})
    (job,) = rays.start({0: ["python"]}).values()
    cluster.made[0].state = state
    assert rays.poll([job]) == {}


def test_options_that_ray_refuses_are_one_line(cluster, tmp_path):
    with pytest.raises(InputError, match="Ray does not take the options: num_cpus must not be"):
        launcher("ray", tmp_path, {"num_cpus": "-1"}).start({0: ["python"]})


def test_resources_of_ray_are_json():
    words = ('{"fpga": 1}', "0.5", "2", "spread", "[1]", "null")
    assert [rays._typed(word) for word in words] == [{"fpga": 1}, 0.5, 2, "spread", "[1]", "null"]


@contextlib.contextmanager
def listening(says: bytes):
    """Something that listens; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = []

        def answer():
            with contextlib.suppress(OSError):
                taken.append(server.accept()[0])
                taken[0].sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]
        for line in taken:
            line.close()


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH\r\n"])
def test_what_listens_but_is_not_ray_is_one_line(monkeypatch, says):
    monkeypatch.setattr(rays, "ANSWER", 0.2)
    with listening(says) as port, pytest.raises(InputError, match=f"Ray .* 127.0.0.1:{port}: "):
        rays.check_answers(f"127.0.0.1:{port}")


def test_where_nobody_listens_is_one_line_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(InputError, match="Connection refused"):
        rays.check_answers(f"ray://127.0.0.1:{port}")


def test_what_greets_as_ray_does_is_left_to_ray():
    with listening(b"\0\0\0\4\0\0\0\0\0") as port:
        rays.check_answers(f"127.0.0.1:{port}")
    for word in ("", "auto", "local"):
        rays.check_answers(word)


def test_a_worker_keeps_what_ray_says_of_devices(monkeypatch):
    for name in ("RAY_AUTH_TOKEN", "CUDA_VISIBLE_DEVICES", "DICE_SECONDS"):
        monkeypatch.setenv(name, "7")
    assert {"DICE_SECONDS"} == {n for n in rays.passed() if n.startswith(("RAY", "CUDA", "DICE"))}


def test_one_process_per_gpu_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")
    local = launcher("local", tmp_path, {})
    assert (local.usual, local.gpus) == (2, True)
    words = ["sh", "-c", f'echo "$CUDA_VISIBLE_DEVICES" > {tmp_path}/gpu-$0']
    jobs = local.start({number: [*words, str(number)] for number in range(2)})
    while local.poll(list(jobs.values())):
        time.sleep(0.01)
    assert [Path(tmp_path / f"gpu-{n}").read_text().strip() for n in range(2)] == ["2", "5"]
    with pytest.raises(InputError, match="3 workers, 2 GPUs"):
        local.start({2: words})
