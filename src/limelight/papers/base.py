"""A figure of a paper as a recipe: a study at each scale, claims, pictures.

Nothing here computes. `Figure` is filled in one module a figure, `Paper` and `Statement` (see
`contents`) in one a paper.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from limelight.claims import Claim, Verdict, undecided
from limelight.core.errors import InputError, suggest
from limelight.core.words import parse
from limelight.engine.grid import Axes, assign, lookup, read
from limelight.engine.plan import Plan, make_plan
from limelight.engine.run import run
from limelight.experiments.base import Experiment
from limelight.papers.contents import Paper, Statement
from limelight.plot import captioned
from limelight.table import Table

__all__ = ["SCALES", "Figure", "Paper", "Setup", "Statement", "planned_rows", "unknown"]

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
        statement: What the paper reads off it, in our words; what we ask, where it is our own.
        setups: One study a scale.
        claims: What is decided, and how.
        draws: Pictures by name, each drawn from a table; the first is the figure itself.
        summary: Lines for the terminal: the numbers a reader wants first.
        reference: Where it stands in the paper; begins with "limelight" where it is our own.
        cost: Measured cost by scale.
        departures: What differs from the paper's protocol, or could not be known.
        save: Writes the networks that its table keeps into a folder; `None` where it keeps none.
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
    save: Callable[[Table, Path], list[Path]] | None = None
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

    @property
    def pictures(self) -> Mapping[str, Callable[[Table], Any]]:
        """Pictures by name; what `recipe.Figure` calls them."""
        return self.draws

    def plot(self, table: Table, name: str | None = None) -> Any:
        """The figure, drawn from a table alone."""
        return captioned(self.draws[name or next(iter(self.draws))](table), table)

    def plots(self, table: Table) -> dict[str, Any]:
        """Every picture of the figure, by name."""
        return {name: self.plot(table, name) for name in self.draws}

    @property
    def lead(self) -> str:
        """The statement, and whose it is."""
        ours = self.reference.startswith("limelight")
        return f"{'Asked here' if ours else 'The paper reads'}: {self.statement}"

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
