"""Workers as jobs of SLURM, submitted as one array through submitit.

A job runs the worker as a process of its own and passes on SLURM's warnings. A job that is
preempted or reaches its time limit is queued again by SLURM or by itself, also when whoever
submitted it has gone. Which jobs are there is asked of `squeue`, which every cluster has; what
submitit holds to be a result is not looked at.
"""

import contextlib
import getpass
import logging
import re
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
        """Submit one array."""
        logging.getLogger("submitit").setLevel(logging.ERROR)
        try:
            executor = self.submitit.SlurmExecutor(
                self.store / "workers" / "slurm", max_num_timeout=TIMEOUTS
            )
            executor.update_parameters(**self.parameters)
            jobs = executor.submit_array([Job(words, self.grace) for words in commands.values()])
        except (RuntimeError, OSError) as error:
            raise InputError(
                f"SLURM does not take the jobs: {_reason(error)}", "check the options"
            ) from None
        return {number: job.job_id for number, job in zip(commands, jobs, strict=True)}

    def poll(self, jobs: Collection[str]) -> dict[str, str] | None:
        """Ask `squeue`; while the controller does not answer nobody can say."""
        words = ["squeue", "--noheader", "--array", "--user", getpass.getuser()]
        try:
            asked = subprocess.run(
                [*words, "--format", "%i %T"], capture_output=True, text=True, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if asked.returncode:
            return None
        there = dict(line.split(None, 1) for line in asked.stdout.splitlines() if " " in line)
        states = {job: there[job].strip() for job in jobs if job in there}
        return {job: "waiting" if s in WAITING else "running" for job, s in states.items()}

    def cancel(self, jobs: Collection[str], at_once: bool = False) -> None:
        """`scancel`, which sends SIGTERM and later SIGKILL."""
        seen = self.poll(jobs)
        there = list(jobs if seen is None else seen)
        for first in range(0, len(there), 100):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                words = ["scancel", "--quiet", *there[first : first + 100]]
                subprocess.run(words, capture_output=True, timeout=60)

    def _parameters(self) -> dict[str, Any]:
        """Options as submitit wants them; those that it does not know go to `sbatch`."""
        known = self.submitit.SlurmExecutor._valid_parameters()
        given = {name: _typed(value) for name, value in self.options.items()}
        time = minutes(str(given.pop("time", MINUTES)))
        plain = {name: value for name, value in given.items() if name in known}
        more = {name: value for name, value in given.items() if name not in known}
        return {
            "job_name": "limelight",
            "signal_delay_s": min(int(self.grace) + 40, time * 30),
            "stderr_to_stdout": True,
            **plain,
            "time": time,
            "additional_parameters": {"requeue": True, **more},
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
    return int(days or 0) * 1440 + hours * 60 + mins + (seconds > 0)


def _typed(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _reason(error: BaseException) -> str:
    """What `sbatch` said, or what is missing, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "sbatch: error" in line]
    return (said or lines or [type(error).__name__])[-1]


LAUNCHER = Slurm
