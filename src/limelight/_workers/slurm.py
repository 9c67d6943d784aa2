"""Workers as jobs of SLURM, submitted as one array through submitit.

A job runs the worker as a process of its own and passes on SLURM's warnings. A job that is
preempted or reaches its time limit is queued again by SLURM or by itself, also when whoever
submitted it has gone. Which jobs are there is asked of `squeue`, which every cluster has; what
submitit holds to be a result is not looked at.
"""

import contextlib
import io
import logging
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._workers.launcher import Launcher, needed

#: Minutes of a job where the user does not say.
MINUTES = 60
#: Times that a job may reach its limit and be queued again without anybody's help.
TIMEOUTS = 100
#: Jobs in one array at most: what SLURM allows unless its administrator says otherwise.
ARRAY = 1000
#: Seconds that a command of SLURM may take to answer.
ANSWER = 30.0
#: Options of `sbatch` that are not the user's here, each with what to say instead.
OURS = {
    "array": "the number of workers says how many jobs there are",
    "output": "logs are in workers/ of the run folder",
    "error": "logs are in workers/ of the run folder",
    "signal": "signal_delay_s=SECONDS says how early a job is warned",
}
#: Options that would start one worker several times.
SINGLE = ("nodes", "ntasks", "ntasks_per_node")
#: States in which a job has not begun.
WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SUSPENDED")


class Job:
    """What a job does: run a worker, and pass on the warnings of SLURM.

    Args:
        command: The worker's.
        grace: Seconds that it may take to leave.
    """

    def __init__(self, command: list[str], grace: float):
        self.command, self.grace = command, grace
        self.process: subprocess.Popen | None = None

    def __call__(self) -> None:
        """Run the worker; unless it leaves in peace the job has failed."""
        self.process = subprocess.Popen([*self.command, "--tied"], stdin=subprocess.PIPE)
        # Not `wait`: it holds a lock that `checkpoint`, called in its midst, would wait for.
        while (code := self.process.poll()) is None:
            time.sleep(0.5)
        if self.process.stdin is not None:
            self.process.stdin.close()
        if code not in (0, 75):
            raise RuntimeError(f"the worker ended with {code}")

    def checkpoint(self) -> Any:
        """Before its time is over: let the worker leave, and be queued again."""
        submitit = needed("submitit", "slurm")
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(self.grace + 5)
        return submitit.helpers.DelayedSubmission(Job(self.command, self.grace))


class Slurm(Launcher):
    """Jobs of SLURM. They are named as `squeue` names them."""

    name = "slurm"
    interval = 2.0
    outlives = True

    def __init__(self, store: Path, options: Mapping[str, Any]):
        super().__init__(store, options)
        self.submitit = needed("submitit", "slurm")
        self.parameters = self._parameters()

    def start(self, commands: Mapping[int, list[str]]) -> dict[int, str]:
        """Submit one array, or several where there are more jobs than one may have."""
        numbers, found = list(commands), {}
        for first in range(0, len(numbers), ARRAY):
            some = {number: commands[number] for number in numbers[first : first + ARRAY]}
            try:
                found |= self._submit(some)
            except InputError:
                self.cancel(found.values())  # nobody would ever find them
                raise
        return found

    def _submit(self, commands: Mapping[int, list[str]]) -> dict[int, str]:
        logging.getLogger("submitit").setLevel(logging.ERROR)
        try:
            executor = self.submitit.SlurmExecutor(
                self.store / "workers" / "slurm", max_num_timeout=TIMEOUTS
            )
            # Without a word submitit lets 256 of an array run at a time.
            executor.update_parameters(**{"array_parallelism": len(commands)} | self.parameters)
            with contextlib.redirect_stderr(io.StringIO()):  # what is refused is told below, once
                jobs = executor.submit_array([Job(w, self.grace) for w in commands.values()])
        except (RuntimeError, OSError, ValueError, TypeError) as error:
            raise InputError(
                f"SLURM does not take the jobs: {_reason(error)}", "check the options"
            ) from None
        return {number: job.job_id for number, job in zip(commands, jobs, strict=True)}

    def poll(self, jobs: Collection[str]) -> dict[str, str] | None:
        """Ask `squeue`; while the controller does not answer nobody can say."""
        seen = queued(jobs)
        return None if seen is None else {job: state for job, (state, _) in seen.items()}

    def why(self, jobs: Collection[str]) -> str:
        """What SLURM says of jobs that wait, such as Resources or Priority."""
        waiting = [why for state, why in (queued(jobs) or {}).values() if state == "waiting"]
        return ", ".join(dict.fromkeys(waiting))

    def cancel(self, jobs: Collection[str], at_once: bool = False) -> None:
        """`scancel`, which sends SIGTERM and later SIGKILL."""
        seen = self.poll(jobs)
        there = list(jobs if seen is None else seen)
        for first in range(0, len(there), 100):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                words = ["scancel", "--quiet", *there[first : first + 100]]
                subprocess.run(words, capture_output=True, timeout=ANSWER)

    def _parameters(self) -> dict[str, Any]:
        """Options as submitit wants them; those that it does not know go to `sbatch`."""
        known = self.submitit.SlurmExecutor._valid_parameters()
        given = {name: _typed(name, value) for name, value in self.options.items()}
        for name, hint in OURS.items():
            if name in given:
                raise InputError(f"{name} = {given[name]} is not an option here", hint)
        for name in SINGLE:
            if given.get(name, 1) != 1:
                raise InputError(
                    f"{name} = {given[name]}: a job is one worker", "ask for more workers instead"
                )
        time = minutes(str(given.pop("time", MINUTES)))
        early = given.pop("signal_delay_s", min(int(self.grace) + 40, time * 30))
        if not isinstance(early, int) or not self.grace + 10 <= early < time * 60:
            raise InputError(
                f"a job of {time} min, warned {early} s before its end, with {self.grace:g} s to"
                " finish a chunk, leaves no time to be queued again",
                "a longer time, or a shorter grace",
            )
        plain = {name: value for name, value in given.items() if name in known}
        more = {name: value for name, value in given.items() if name not in known}
        return {
            "job_name": "limelight",
            "signal_delay_s": early,
            "stderr_to_stdout": True,
            **plain,
            "time": time,
            "additional_parameters": {"requeue": True, **more},
        }


def queued(jobs: Collection[str], user: int | None = None) -> dict[str, tuple[str, str]] | None:
    """Those of some jobs that `squeue` knows, each with its state and why it waits.

    `None` where it does not answer, or is not there.

    Args:
        jobs: As `squeue` names them.
        user: The number of whoever submitted them; that of this process if not given. Names will
            not do: a variable may tell another one.
    """
    if not jobs:
        return {}
    user = os.getuid() if user is None else user
    words = ["squeue", "--noheader", "--array", "--user", str(user), "--format", "%i %T %r"]
    # A user's own choice of what `squeue` shows would hide jobs that are there.
    plain = {name: text for name, text in os.environ.items() if not name.startswith("SQUEUE_")}
    try:
        asked = subprocess.run(words, capture_output=True, text=True, timeout=ANSWER, env=plain)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if asked.returncode:
        return None
    lines = (line.split(None, 2) for line in asked.stdout.splitlines())
    there = {words[0]: words[1:] for words in lines if len(words) > 1}
    return {
        job: ("waiting" if there[job][0] in WAITING else "running", " ".join(there[job][1:]))
        for job in jobs
        if job in there
    }


def minutes(text: str) -> int:
    """A time limit as SLURM writes it, in whole minutes.

    Example:
        >>> minutes("90"), minutes("04:00:00"), minutes("2:30"), minutes("1-12")
        (90, 240, 3, 2160)
    """
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){0,2}", text):
        raise InputError(f"time = {text}", "minutes, or as in 04:00:00 or 1-12:00")
    numbers = [int(part) for part in parts]
    if dash:  # days-hours, days-hours:minutes, days-hours:minutes:seconds
        hours, mins, seconds = [*numbers, 0, 0][:3]
    elif len(numbers) == 3:
        hours, mins, seconds = numbers
    else:  # minutes, minutes:seconds
        hours, (mins, seconds) = 0, [*numbers, 0][:2]
    found = int(days or 0) * 1440 + hours * 60 + mins + (seconds > 0)
    if not found:
        raise InputError(f"time = {text}", "a minute at least")
    return found


def _typed(name: str, value: Any) -> Any:
    """A word as what submitit takes: numbers, yes and no, lists of commands."""
    if name in ("setup", "teardown", "srun_args") and isinstance(value, str):
        return shlex.split(value) if name == "srun_args" else [value]
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    # An account may be called 007.
    return int(value) if re.fullmatch("0|[1-9][0-9]*", value) else value


def _reason(error: BaseException) -> str:
    """What `sbatch` said, or what is missing, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line.removeprefix("sbatch: error: ") for line in lines if "sbatch: error" in line]
    return "; ".join(said) or (lines or [type(error).__name__])[-1]


LAUNCHER = Slurm
