"""What a figure runs at one scale, and how words change it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from limelight._core.errors import InputError
from limelight._core.words import parse
from limelight._engine.grid import Axes, assign, lookup, read
from limelight.experiments.base import Experiment

#: Trials per cell at most; more is surely a slip, and its plan alone would fill the memory.
MOST_TRIALS = 1_000_000


@dataclass(frozen=True)
class Scale:
    """What a scale changes of the paper's own setting.

    Args:
        trials: Trials per cell.
        grid: Axes with other values; an axis with `None` is not swept.
        settings: Fields of the trial with other values, by dotted path.

    Example:
        >>> Scale(trials=4, grid={"train.examples": [2, 8]}).trials
        4
    """

    trials: int | None = None
    grid: Mapping[str | tuple[str, ...], Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def scales(*, smoke: Scale, small: Scale) -> dict[str, Scale]:
    """The two smaller scales; the paper's own is the recipe itself.

    Example:
        >>> found = scales(smoke=Scale(trials=4), small=Scale(trials=20))
        >>> {name: scale.trials for name, scale in found.items()}
        {'smoke': 4, 'small': 20, 'paper': None}
    """
    return {"smoke": smoke, "small": small, "paper": Scale()}


@dataclass(frozen=True)
class Setup:
    """A figure's study at one scale: one trial, what is swept, trials per cell, shared axes."""

    experiment: Experiment
    axes: Axes
    trials: int
    shared: tuple[str, ...] = ()

    def overridden(self, settings: Mapping[str, str]) -> "Setup":
        """With other settings, given as words: `trials`, a field, or an axis as a list."""
        setup = self
        for path, text in settings.items():
            setup = setup._override(path, text)
        return setup

    def _override(self, path: str, text: str) -> "Setup":
        words = [word for word in text.split(",") if word.strip()]
        if not words:
            raise InputError(f"{path} has no value", f"for example {path}=1")
        if path == "trials":
            return replace(self, trials=_trials(text))
        lookup(self.experiment, path)
        together = [paths for paths in self.axes if isinstance(paths, tuple) and path in paths]
        if together:
            names = ", ".join(together[0])
            raise InputError(
                f"{path} moves together with others in this figure ({names})",
                "they cannot be set alone",
            )
        example = self.axes[path][0] if path in self.axes else None
        values = [read(self.experiment, path, word, example) for word in words]
        if path in self.axes or len(values) > 1:
            return replace(self, axes={**self.axes, path: values})
        return replace(self, experiment=assign(self.experiment, {path: values[0]}))


def _trials(text: str) -> int:
    trials = parse(text, 1) if text.strip().lstrip("+-").isdigit() else 0
    if not 1 <= trials <= MOST_TRIALS:
        raise InputError(f"trials = {text}", f"a whole number from 1 to {MOST_TRIALS:,}")
    return trials
