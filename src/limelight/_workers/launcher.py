"""What a launcher is: a way to start workers, to ask which are there, and to end them."""

import abc
import importlib
import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar

from limelight._core.errors import InputError, suggest

#: The launchers, by the word that chooses one.
KNOWN = ("local", "slurm", "ray")
#: Times in a row that a worker may end without having finished a chunk, and be replaced.
RETRIES = 3.0
#: Options that count GPUs, and options that list what is wanted, GPUs perhaps among it.
COUNTS = ("gpus", "gpus_per_node", "gpus_per_task", "gpus_per_socket", "num_gpus")
LISTED = ("gres", "tres_per_node", "tres_per_task", "tres_per_job")
#: Seconds to finish a chunk when asked to leave, and seconds that a chunk may take.
GRACE, STALL = 20.0, 1800.0


class Launcher(abc.ABC):
    """Starts workers and watches them; jobs are named by words of its own.

    Args:
        store: The run folder.
        options: What the user said of machines, queues and times; unknown ones are refused. All
            launchers have `retries`, `grace` and `stall`.
    """

    name: ClassVar[str]
    #: Seconds between two looks.
    interval: ClassVar[float] = 1.0
    #: Whether workers live on when whoever started them has gone.
    outlives: ClassVar[bool] = False

    def __init__(self, store: Path, options: Mapping[str, Any]):
        self.store, self.options = store, dict(options)
        self.retries = int(self._number("retries", RETRIES))
        self.grace, self.stall = self._number("grace", GRACE), self._number("stall", STALL)

    def _number(self, name: str, default: float) -> float:
        """One of the options that all launchers have, taken out of the others."""
        given = self.options.pop(name, default)
        try:
            number = float(given)
        except (TypeError, ValueError):
            number = math.nan
        if not (math.isfinite(number) and number >= 0) or (name == "stall" and number == 0):
            raise InputError(f"{name} = {given}", "a number that is not negative")
        return number

    @abc.abstractmethod
    def start(self, commands: Mapping[int, list[str]]) -> dict[int, str]:
        """Start a worker for each number, from its command; their jobs."""

    @abc.abstractmethod
    def poll(self, jobs: Collection[str]) -> dict[str, str] | None:
        """Which jobs are there: `waiting` or `running`; `None` when nobody can say just now."""

    def replace(self, job: str, number: int, command: list[str]) -> str:
        """Start a worker in the place of one that has ended."""
        self.cancel([job], at_once=True)
        return self.start({number: command})[number]

    @abc.abstractmethod
    def cancel(self, jobs: Collection[str], at_once: bool = False) -> None:
        """End workers; unless it is to be `at_once`, they may finish or give up their chunk."""

    def why(self, jobs: Collection[str]) -> str:
        """Why jobs wait, where the scheduler says it."""
        return ""

    @property
    def usual(self) -> int:
        """Workers where the user does not say how many."""
        return 2

    @property
    def gpus(self) -> bool:
        """Whether workers are asked for with a GPU."""
        return any(_asks_gpu(name, str(value)) for name, value in self.options.items())


def _asks_gpu(name: str, value: str) -> bool:
    """Whether an option asks for a GPU: gpus_per_node=1, gpus=a100:2, gres=gpu:1, num_gpus=0.5."""
    if name in COUNTS:
        wanted = [value]
    elif name in LISTED:
        wanted = [word for word in value.split(",") if re.match(r"(gres[/:])?gpu\b", word)]
    else:
        return False
    return any(not re.fullmatch(r"(.*[:=])?(0*\.?0*)", word) for word in wanted)


def launcher(on: str, store: Path, options: Mapping[str, Any]) -> Launcher:
    """The launcher of a word."""
    if on not in KNOWN:
        raise InputError(f"on cannot be {on!r}", suggest(on, list(KNOWN)))
    module = importlib.import_module(f"limelight._workers.{on}")
    return module.LAUNCHER(store, options)


def needed(package: str, extra: str) -> Any:
    """A package of an extra, or one line that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(
            f"on={extra} needs {package}, which is not installed",
            f"pip install 'limelight[{extra}]'",
        ) from None
