"""Workers as processes of this machine, one per GPU; they leave with whoever started them."""

import contextlib
import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._workers.launcher import Launcher


class Local(Launcher):
    """Processes of this machine. Jobs are process numbers."""

    name = "local"
    interval = 0.2

    def __init__(self, store: Path, options: Mapping[str, Any]):
        super().__init__(store, options)
        if self.options:
            raise InputError(
                f"on=local knows no {next(iter(self.options))}",
                "processes of this machine need no options but grace, retries and stall",
            )
        self.devices = visible_gpus()
        self.processes: dict[str, subprocess.Popen] = {}

    def start(self, commands: Mapping[int, list[str]]) -> dict[int, str]:
        """One process each, with a GPU of its own where there are any."""
        if self.devices and max(commands) >= len(self.devices):
            raise InputError(
                f"{max(commands) + 1} workers for GPUs {', '.join(self.devices)}",
                "one process per GPU; JAX_PLATFORMS=cpu for workers that need none",
            )
        found = {}
        for number, words in commands.items():
            environment = dict(os.environ)
            if self.devices:
                environment["CUDA_VISIBLE_DEVICES"] = self.devices[number]
            process = subprocess.Popen(
                [*words, "--tied"],
                stdin=subprocess.PIPE,  # never written to: it ends when this process does
                env=environment,
                start_new_session=True,  # Ctrl-C is for whoever waits
            )
            found[number] = str(process.pid)
            self.processes[found[number]] = process
        return found

    def poll(self, jobs: Collection[str]) -> dict[str, str]:
        """Those that run."""
        there = {}
        for job in set(jobs) & set(self.processes):
            process = self.processes[job]
            if process.poll() is None:
                there[job] = "running"
            elif process.stdin is not None:
                process.stdin.close()
        return there

    def cancel(self, jobs: Collection[str], at_once: bool = False) -> None:
        """SIGTERM, which lets them finish or give up their chunk, or SIGKILL."""
        for job in self.poll(jobs):
            process = self.processes[job]
            with contextlib.suppress(OSError):
                process.kill() if at_once else process.terminate()
            if at_once:
                process.wait()
        self.poll(jobs)

    @property
    def usual(self) -> int:
        """One per GPU, or two."""
        return len(self.devices) or 2

    @property
    def gpus(self) -> bool:
        """Whether this machine has any."""
        return bool(self.devices)


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, without starting JAX on them."""
    if os.environ.get("JAX_PLATFORMS", "") == "cpu":
        return []
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [word for word in chosen.split(",") if word.strip() and word != "-1"]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [str(number) for number, line in enumerate(lines) if line.startswith("GPU ")]


LAUNCHER = Local
