"""The contract of an experiment: one trial as a function of a key.

The engine sweeps anything that keeps this contract. The usual experiment is `Study`; a flow of its
own (no training, two stages, another loop) is another class on this shelf.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array

from limelight._core import notebook
from limelight._core.types import PRNGKey
from limelight._engine.batch import Batches
from limelight._engine.device import FIRST
from limelight._engine.grid import Axes
from limelight._engine.plan import Plan, make_plan
from limelight._engine.run import Progress, lay_out, run
from limelight.table import Table


class Experiment(eqx.Module):
    """One trial as a function of a key; fields not marked static can be swept for free.

    An experiment also brings what the engine needs to know of it:

    - `executor` computes its trials: whole batches, unless trials end at different times.
    - `loop_length` says how often a loop of unknown length runs at most, to count its FLOPs.
    - `double` asks for float64, whatever the rest of the process uses.
    - `pace` is its FLOP/s by kind of device, where that is unusual: for estimates of time.
    - `compiler` holds options for the compiler of a GPU; unless it says otherwise, products are the
      library's first choice. Where large products take most of the time,
      `{"xla_gpu_enable_triton_gemm": False}` has it search among the library's.
    - `in_turn` says that its trials had better go one after another on a CPU: those that read large
      data again at every step.
    - `gaps` are readings that a sound trial may lack; where they are named, any other that is no
      finite number counts as a divergence. For an experiment that says itself what `diverged`,
      nothing need be said.

    Example:
        >>> import limelight as ll, jax.random as jr
        >>> class Dice(ll.Experiment):
        ...     sides: ll.Number = 6
        ...     def trial(self, key):
        ...         return {"shown": jr.randint(key, (), 1, self.sides + 1)}
        >>> Dice(sides=1).trial(jr.key(0))["shown"].item()  # and .sweep({"sides": [6, 20]})
        1
    """

    executor: ClassVar[Any] = Batches()
    double: ClassVar[bool] = False
    pace: ClassVar[Mapping[str, float]] = {}
    compiler: ClassVar[Mapping[str, str | bool]] = FIRST
    in_turn: ClassVar[bool] = False
    gaps: ClassVar[tuple[str, ...] | None] = None

    @abc.abstractmethod
    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """What one trial leaves: scalars, and traces of one fixed length each."""

    def check(self) -> None:
        """Refuse settings that make no sense, on concrete numbers, with an `InputError`."""

    @property
    def loop_length(self) -> int:
        """How often a loop of unknown length runs at most."""
        return 1

    def with_room(self, cells: Sequence[Any]) -> "Experiment":
        """This experiment with room for every cell of a sweep; by default itself."""
        return self

    def _repr_html_(self) -> str:
        rows = [(field.name, *in_words(getattr(self, field.name))) for field in fields(self)]
        titles = ("part", "what", "settings")
        return notebook.line(type(self).__name__, strong=True) + notebook.grid(titles, rows)

    def plan(self, axes: Axes, **options: Any) -> Plan:
        """What a sweep would compile and compute; the options are those of `sweep`."""
        return make_plan(self, axes, **options)

    def lay_out(self, axes: Axes, store: str | Path, **options: Any) -> Plan:
        """Write down in a folder what a sweep is to compute, for `limelight.workers` to do.

        Args:
            axes: As for `sweep`.
            store: The folder, seen by all machines that are to work on it.
            **options: `trials`, `seed`, `shared`, `width` and `name`, as for `sweep`.
        """
        plan = make_plan(self, axes, store=store, **{"trials": 20, **options})
        lay_out(plan, store)
        return plan

    def sweep(
        self,
        axes: Axes,
        *,
        trials: int = 20,
        seed: int = 0,
        shared: tuple[str, ...] = (),
        store: str | Path | None = None,
        width: int | None = None,
        name: str = "study",
        progress: Callable[[Progress], None] | None = None,
        stall: float = 1800.0,
        about: Mapping[str, Any] | None = None,
        same_code: bool = False,
    ) -> Table:
        """Run every cell of a grid and return its table; run again to resume.

        Args:
            axes: Dotted path (or tuple of paths that move together) to values.
            trials: Trials per cell.
            seed: The one number all randomness comes from, with the cell and the trial.
            shared: Axes whose cells share their trials' randomness, for paired comparisons.
            store: Folder to keep results in; memory only when `None`.
            width: Trials in one program; found from the device's memory when `None`.
            name: Enters the randomness, so that two studies with one seed are independent.
            progress: Called with how far the run is, whenever that changes. When not given, a
                notebook shows a bar and everything else nothing.
            stall: Seconds a chunk may take before the run gives up, store intact.
            about: Extra facts for the manifest (paper, figure, scale, command).
            same_code: Whether the folder may hold results of another version of your code: say so
                only when you know that the change does not matter.

        Returns:
            One row per trial.
        """
        plan = make_plan(
            self, axes, trials=trials, seed=seed, shared=shared, width=width, name=name, store=store
        )
        return run(
            plan,
            store=store,
            progress=progress,
            stall=stall,
            about=about or {},
            same_code=same_code,
        )


def in_words(part: Any) -> tuple[str, str]:
    """A part of an experiment for people: what it is, and its settings."""
    if isinstance(part, eqx.Module):
        settings = ((field.name, getattr(part, field.name)) for field in fields(part))
        return type(part).__name__, ", ".join(
            f"{name} = {_short(value)}" for name, value in settings
        )
    if isinstance(part, tuple):
        return "", ", ".join(_short(one) for one in part) or "none"
    return "", _short(part)


def _short(value: Any) -> str:
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if isinstance(value, eqx.Module) or callable(value):
        return str(name or type(value).__name__)
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
