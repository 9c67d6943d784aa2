"""Workers as actors of Ray; they leave with whoever started them.

An actor starts the worker as a process of its own, with the GPU that Ray gave it, and is asked
whether it still runs. It knows nothing of this package, so that it needs no more than the worker
does: limelight on every machine.
"""

import contextlib
import itertools
import json
import os
import socket
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._core.files import read_regular
from limelight._workers.launcher import Launcher, needed

#: Options of the connection; all others are those of an actor.
CONNECTION = ("address", "namespace")
#: Seconds that Ray may take to answer a greeting, and an actor a question before it counts as busy.
ANSWER, PATIENCE = 10.0, 0.5
#: How a connection of HTTP/2 begins, with no settings of ours; the kind of frame that it answers.
GREETING, SETTINGS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0", 4


class Ray(Launcher):
    """Actors of Ray, by a number of their own."""

    name = "ray"

    def __init__(self, store: Path, options: Mapping[str, Any]):
        super().__init__(store, options)
        self.ray = needed("ray", "ray")
        self.connection = {n: self.options.pop(n) for n in CONNECTION if n in self.options}
        self.actors: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        self.names = (f"actor-{number}" for number in itertools.count())

    def start(self, commands: Mapping[int, list[str]]) -> dict[int, str]:
        """One actor each; Ray places it when there is room."""
        self._connect()
        options = {"num_cpus": 1, **{k: _typed(v) for k, v in self.options.items()}}
        found = {}
        try:
            actor = self.ray.remote(_actor()).options(max_restarts=0, **options)
            for number, words in commands.items():
                found[number] = next(self.names)
                place = actor.remote([*words[1:], "--tied"], passed(), found[number])
                self.actors[found[number]] = place
        except (ValueError, TypeError) as error:
            self.cancel(found.values(), at_once=True)
            raise InputError(
                f"Ray does not take the options: {_first(error)}", "check the options"
            ) from None
        return found

    def poll(self, jobs: Collection[str]) -> dict[str, str]:
        """Ask every actor; one that does not answer has not been placed yet."""
        for job in jobs:
            if job in self.actors and job not in self.asked:
                self.asked[job] = self.actors[job].runs.remote()
        known = {job: self.asked[job] for job in jobs if job in self.asked}
        if known:
            self.ray.wait(list(known.values()), num_returns=len(known), timeout=PATIENCE)
        return {job: state for job in known if (state := self._answer(job)) != "ended"}

    def _answer(self, job: str) -> str:
        try:
            runs = self.ray.get(self.asked[job], timeout=0.01)
        except self.ray.exceptions.GetTimeoutError:
            return "waiting"
        except self.ray.exceptions.RayError:  # killed, out of memory, its machine lost
            return "ended"
        del self.asked[job]
        return "running" if runs else "ended"

    def cancel(self, jobs: Collection[str], at_once: bool = False) -> None:
        """SIGTERM for the worker, or the end of its actor, which it notices."""
        for job in jobs:
            if job in self.actors:
                with contextlib.suppress(Exception):
                    if at_once:
                        self.asked.pop(job, None)
                        self.ray.kill(self.actors.pop(job))
                    else:
                        self.actors[job].leave.remote()

    def _connect(self) -> None:
        if self.ray.is_initialized():
            return
        connection = self.connection | {"address": self._address()}
        try:
            with (
                warnings.catch_warnings()
            ):  # JAX warns of forks; these become other programs at once
                warnings.filterwarnings("ignore", message="os.fork", category=RuntimeWarning)
                self.ray.init(log_to_driver=False, logging_level="ERROR", **connection)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"Ray cannot be reached: {_first(error)}",
                "is it up, is address=... right, and does it ask for a token?",
            ) from None

    def _address(self) -> str:
        """The cluster to use: the one that was named, or that of this machine, or one of our own.

        A cluster that ended without a word leaves its address behind, which Ray would try for ever.
        """
        named = self.connection.get("address") or os.environ.get("RAY_ADDRESS", "")
        known = last_address() if named in ("", "auto") else ""
        try:
            check_answers(str(known or named))
        except InputError:
            if named:
                raise
            known = ""
        return named or ("auto" if known else "local")


def last_address() -> str:
    """Where the last cluster that was started on this machine listens, if it is still up."""
    place = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"
    try:
        return read_regular(place, 1000).decode().strip()
    except (OSError, ValueError):
        return ""


def check_answers(address: str) -> None:
    """Refuse an address where no Ray answers: Ray itself would try it for minutes, or for ever.

    Ray speaks HTTP/2, whose server begins with its settings. Where addresses are words such as
    `auto`, or connections are encrypted, nothing is known before Ray tries.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal() or os.environ.get("RAY_USE_TLS", "0") != "0":
        return
    hint = "is it up, and is address=... right?"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER) as line:
            line.settimeout(ANSWER)
            line.sendall(GREETING)
            head = line.recv(9)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or "no answer"
        raise InputError(f"Ray cannot be reached at {address}: {said}", hint) from None
    if len(head) < 4 or head[3] != SETTINGS:
        raise InputError(f"Ray cannot be reached at {address}: something else answers", hint)


def passed() -> dict[str, str]:
    """Variables that a worker gets from here; what Ray and the machine say of devices stays."""
    theirs = ("RAY_", "CUDA_", "ROCR_", "HIP_", "TPU_", "OMP_")
    return {name: text for name, text in os.environ.items() if not name.startswith(theirs)}


def _actor() -> type:
    """The class of an actor, made here so that Ray sends it whole."""

    class Host:
        """Runs one worker on whatever machine Ray chose."""

        def __init__(self, words: list[str], environment: dict[str, str], job: str):
            import os
            import subprocess
            import sys

            own = {**os.environ, **environment, "LIMELIGHT_JOB": job}
            self.process = subprocess.Popen(
                [sys.executable, *words], stdin=subprocess.PIPE, env=own
            )

        def runs(self) -> bool:
            """Whether the worker does."""
            return self.process.poll() is None

        def leave(self) -> None:
            """Let it finish or give up its chunk."""
            self.process.terminate()

    return Host


def _typed(value: Any) -> Any:
    """A word as what it writes: a number, or resources by name as JSON; else the word itself."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, int | float | dict) else value


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


LAUNCHER = Ray
