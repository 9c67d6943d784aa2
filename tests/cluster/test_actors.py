"""What Ray is asked for, with a module that only stands for it; and processes of this machine."""

import contextlib
import socket
import sys
import threading
import time
import types
from pathlib import Path

import pytest

from limelight._core.errors import InputError
from limelight._workers import ray as rays
from limelight._workers.launcher import launcher


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


@pytest.mark.parametrize(
    ("named", "left", "used"),
    [
        ("", "", "local"),
        ("", "dead", "local"),  # it ended without a word: Ray would try it for ever
        ("", "alive", "auto"),
        ("auto", "alive", "auto"),
        ("auto", "dead", "Connection refused"),
        ("local", "alive", "local"),
    ],
)
def test_an_address_left_behind_is_not_tried_for_ever(
    cluster, tmp_path, monkeypatch, named, left, used
):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "ray").mkdir()
    with listening(b"\0\0\0\4\0\0\0\0\0") as port, socket.create_server(("127.0.0.1", 0)) as gone:
        closed = gone.getsockname()[1]
        gone.close()
        if left:
            at = f"127.0.0.1:{port if left == 'alive' else closed}"
            (tmp_path / "ray" / "ray_current_cluster").write_text(at)
        rays = launcher("ray", tmp_path, {"address": named} if named else {})
        try:
            found = rays._address()
        except InputError as error:
            found = error.message
    assert used in found


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
    with pytest.raises(InputError, match="3 workers for GPUs 2, 5"):
        local.start({2: words})


def test_a_process_of_this_machine_is_tied_to_whoever_started_it(tmp_path, monkeypatch):
    """It notices the end of its standard input, and is told to look for it."""
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    local = launcher("local", tmp_path, {})
    local.start({0: ["sh", "-c", f'echo "$0" > {tmp_path}/words; cat; : > {tmp_path}/left']})
    (process,) = local.processes.values()
    while not (tmp_path / "words").exists() or not (tmp_path / "words").read_text():
        time.sleep(0.01)
    assert (tmp_path / "words").read_text() == "--tied\n"
    assert process.poll() is None
    process.stdin.close()  # what the system does when the starting process ends
    process.wait(20)
    assert (tmp_path / "left").exists()


@pytest.mark.parametrize("given", ["0", "0.0", "0.5", "1"])
def test_ray_counts_gpus_by_parts(tmp_path, monkeypatch, given):
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace())
    assert launcher("ray", tmp_path, {"num_gpus": given}).gpus is (float(given) > 0)
