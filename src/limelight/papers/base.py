"""A paper as a table of contents: symbols to names, labels to functions, figures to studies.

Nothing here computes. `Paper`, `Figure` and `Statement` are filled in one module a paper.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from limelight.claims import Claim, Verdict, check_unique, undecided
from limelight.core.errors import InputError, suggest
from limelight.study.base import Experiment
from limelight.study.grid import Axes, assign, kinds_of, lookup, parse, read
from limelight.study.plan import Plan, make_plan
from limelight.study.run import run
from limelight.table import Table
from limelight.theory.base import Bound

SCALES = ("smoke", "small", "paper")
#: Trials a cell at most; more is surely a slip, and its plan alone would fill the memory.
MOST_TRIALS = 1_000_000


@dataclass(frozen=True)
class Setup:
    """A figure's study at one scale.

    Args:
        experiment: One trial.
        axes: What is swept.
        trials: Trials a cell.
        shared: Axes whose cells share randomness (paired comparisons).
    """

    experiment: Experiment
    axes: Axes
    trials: int
    shared: tuple[str, ...] = ()

    def overridden(self, settings: Mapping[str, str]) -> "Setup":
        """With settings from the command line: `trials`, a field, or an axis as a list."""
        setup = self
        for path, text in settings.items():
            setup = setup._override(path, text)
        return setup

    def _override(self, path: str, text: str) -> "Setup":
        words = [word for word in text.split(",") if word.strip()]
        if not words:
            raise InputError(f"--set {path}= has no value", f"for example --set {path}=1")
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


@dataclass(frozen=True)
class Figure:
    """A figure of a paper as a recipe.

    Args:
        name: Short and unique within the paper, such as `fig1a`.
        title: What is drawn.
        statement: What the paper reads off it, in our words.
        setups: One study a scale.
        claims: What is decided, and how.
        draws: Pictures by name, each drawn from a table; the first is the figure itself.
        summary: Lines for the terminal: the numbers a reader wants first.
        reference: Where it stands in the paper.
        cost: Measured cost by scale.
        departures: What differs from the paper's protocol, or could not be known.
        paper: The paper's key.
    """

    name: str
    title: str
    statement: str
    setups: Mapping[str, Setup]
    claims: tuple[Claim, ...]
    draws: Mapping[str, Callable[[Table], Any]]
    summary: Callable[[Table], list[str]] = lambda table: []
    reference: str = ""
    cost: Mapping[str, str] = field(default_factory=dict)
    departures: str = "none"
    paper: str = ""

    def setup(self, scale: str, settings: Mapping[str, str] | None = None) -> Setup:
        """The study at a scale, with overrides."""
        if scale not in self.setups:
            raise InputError(f"no scale {scale!r}", suggest(scale, list(self.setups)))
        return self.setups[scale].overridden(settings or {})

    def plan(
        self,
        scale: str = "small",
        *,
        seed: int = 0,
        settings: Mapping[str, str] | None = None,
        width: int | None = None,
        store: str | Path | None = None,
    ) -> Plan:
        """What a run will compile and compute."""
        setup = self.setup(scale, settings)
        return make_plan(
            setup.experiment,
            setup.axes,
            trials=setup.trials,
            seed=seed,
            shared=setup.shared,
            width=width,
            name=f"{self.paper}/{self.name}",
            store=store,
        )

    def run(
        self,
        scale: str = "small",
        store: str | Path | None = None,
        *,
        seed: int = 0,
        settings: Mapping[str, str] | None = None,
        width: int | None = None,
        progress: Any = None,
        stall: float = 1800.0,
        command: str = "",
    ) -> Table:
        """Run the study, or what is missing of it, and return its table."""
        plan = self.plan(scale, seed=seed, settings=settings, width=width, store=store)
        about = {
            "paper": self.paper,
            "figure": self.name,
            "scale": scale,
            "settings": dict(settings or {}),
            "seed": seed,
            "command": command,
        }
        return run(plan, store=store, progress=progress, stall=stall, about=about)

    def plot(self, table: Table) -> Any:
        """The figure, drawn from a table alone."""
        return next(iter(self.draws.values()))(table)

    def plots(self, table: Table) -> dict[str, Any]:
        """Every picture of the figure, by name."""
        return {name: draw(table) for name, draw in self.draws.items()}

    def verdict(self, table: Table) -> tuple[Verdict, ...]:
        """Every claim decided by its rule, or marked when the table cannot decide it.

        Smoke runs exercise the machinery and decide nothing; neither does an unfinished run.
        """
        scale = table.manifest.get("scale", "custom")
        changed = "".join(f", {k}={v}" for k, v in table.manifest.get("settings", {}).items())
        source = f"{self.paper} {self.name}, {scale} scale{changed}, {len(table)} trials"
        verdicts = tuple(_decide(claim, table, source) for claim in self.claims)
        planned = planned_rows(table.manifest) or len(table)
        if len(table) < planned:
            why = f"unfinished, {len(table)} of {planned} trials"
            verdicts = tuple(undecided(v, why) for v in verdicts)
        if scale == "smoke":
            return tuple(undecided(v, "smoke scale decides nothing") for v in verdicts)
        return verdicts

    def lines(self, table: Table) -> list[str]:
        """The summary; where a table does not allow one, why."""
        try:
            return self.summary(table)
        except InputError as error:
            return [f"no summary: {error.message}"]


def planned_rows(manifest: Mapping[str, Any]) -> int | None:
    """Trials that a run was to have; `None` when its manifest does not say."""
    configuration = manifest.get("configuration", {})
    if not {"axes", "trials"} <= set(configuration):
        return None
    return math.prod(len(values) for _, values in configuration["axes"]) * configuration["trials"]


def unknown(claim: Claim, source: str, why: str) -> Verdict:
    """A claim that could not be decided, and why."""
    return Verdict(
        claim.name,
        claim.statement,
        "inconclusive",
        math.nan,
        None,
        0,
        claim.rule_text,
        source,
        why,
    )


def _decide(claim: Claim, table: Table, source: str) -> Verdict:
    try:
        return claim.decide(table, source)
    except InputError as error:  # such as a run in which no cell converged
        return unknown(claim, source, f"not estimated: {error.message}")


def _trials(text: str) -> int:
    trials = parse(text, 1) if text.strip().lstrip("+-").isdigit() else 0
    if not 1 <= trials <= MOST_TRIALS:
        raise InputError(f"trials = {text}", f"a whole number from 1 to {MOST_TRIALS:,}")
    return trials


@dataclass(frozen=True)
class Statement:
    """A theorem made callable, with its settings as keyword arguments.

    Args:
        label: What the paper calls it, such as `theorem1`.
        title: What it says, in a line.
        function: Keyword arguments with defaults, to a `Bound` (or something that prints).
    """

    label: str
    title: str
    function: Callable[..., Bound]

    @property
    def settings(self) -> dict[str, Any]:
        """Names and defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    def evaluate(self, settings: Mapping[str, str]) -> Bound:
        """Evaluate at the defaults, overridden by words from the command line."""
        known = self.settings
        values = {}
        for name, text in settings.items():
            if name not in known:
                hint = suggest(name, list(known)) if known else "it takes none"
                raise InputError(f"{self.label} has no setting {name!r}", hint)
            values[name] = self._value(name, text, known[name])
        try:
            with np.errstate(all="ignore"):  # what overflows shows as infinite
                bound = self.function(**values)
                bound.as_json()
        except (ArithmeticError, ValueError, TypeError) as error:  # no such root or quotient
            raise InputError(
                f"{self.label} says nothing at these settings: {error}",
                "defaults: " + ", ".join(f"{name}={known[name]}" for name in values),
            ) from None
        return bound

    def _value(self, name: str, text: str, default: Any) -> Any:
        try:
            value = parse(text, default)
        except InputError as error:
            raise InputError(f"{name}: {error.message}", f"the default is {default}") from None
        if value is None and default is not None:
            raise InputError(f"{name} cannot be none", f"the default is {default}")
        declared = inspect.signature(self.function).parameters[name].annotation
        if (
            isinstance(value, str)
            and not isinstance(default, str)
            and str not in kinds_of(declared)
        ):
            raise InputError(f"{name}: {text!r} is not a number", f"the default is {default}")
        return value


@dataclass(frozen=True)
class Paper:
    """One paper's contents.

    Args:
        key: As in files, the command line, docs and BibTeX.
        title: Its title.
        authors: As cited.
        venue: Where and when.
        symbols: The paper's symbol to the name used here.
        statements: Theorems made callable.
        figures: Figures as recipes.
    """

    key: str
    title: str
    authors: str
    venue: str
    symbols: Mapping[str, str]
    statements: tuple[Statement, ...]
    figures: tuple[Figure, ...]

    def __post_init__(self):
        figures = tuple(replace(figure, paper=self.key) for figure in self.figures)
        object.__setattr__(self, "figures", figures)
        check_unique(tuple(claim for figure in figures for claim in figure.claims))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Every claim, in order of figures."""
        return tuple(claim for figure in self.figures for claim in figure.claims)

    def figure(self, name: str) -> Figure:
        """A figure by name."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise InputError(
            f"{self.key} has no figure {name!r}", suggest(name, [f.name for f in self.figures])
        )

    def find(self, label: str) -> Figure | Statement:
        """A figure or a statement by name."""
        for item in (*self.figures, *self.statements):
            if label == (item.name if isinstance(item, Figure) else item.label):
                return item
        known = [f.name for f in self.figures] + [s.label for s in self.statements]
        raise InputError(f"{self.key} has nothing called {label!r}", suggest(label, known))
