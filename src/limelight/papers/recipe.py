"""A figure of a paper as a recipe: a trial, a grid, what other scales change, claims, pictures.

A recipe computes nothing. Trials come from `experiments`, statistics from `fit`, pictures from
`plot`; what stands in a recipe is what the paper (or we) chose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limelight._core import notebook
from limelight._core.errors import InputError, suggest
from limelight._core.maths import in_text
from limelight._core.notebook import Maths
from limelight._engine.grid import Axes, assign, fitting, lookup
from limelight._engine.plan import Plan, make_plan
from limelight._engine.run import run
from limelight._identity.description import describe, modern
from limelight.chart import Chart, of_picture
from limelight.claims import (
    Claim,
    Decision,
    Finding,
    Verdict,
    Verdicts,
    claim,
    claims,
    is_ours,
)
from limelight.experiments.base import Experiment
from limelight.papers._costs import cost_of
from limelight.papers._setup import Scale, Setup, scales
from limelight.papers._titles import Findings, caption_of, setting_of, several, titled
from limelight.papers._unforeseen import lost_trials, planned_rows, unforeseen
from limelight.plot import Picture, captioned
from limelight.table import Table

#: Everything that a recipe is written with.
__all__ = [
    "SCALES",
    "Figure",
    "Finding",
    "Scale",
    "Setup",
    "claim",
    "claims",
    "planned_rows",
    "scales",
]

SCALES = ("smoke", "small", "paper")


@dataclass(frozen=True, repr=False)
class Figure:
    """A figure of a paper as a recipe.

    Args:
        statement: What the paper reads off it, in our words; what we ask, where it is our own.
        trial: One trial, at the paper's own setting.
        grid: What is swept: dotted path (or a tuple of paths that move together) to values.
        trials: Trials per cell.
        scales: What `smoke` and `small` change.
        claims: What is decided, and how.
        pictures: Pictures by name, each made from a table; the first is the figure itself.
        findings: What each picture shows, by its name: a claim, whose verdict becomes the title,
            or a `Finding` in words of its own, or several of these. The first picture shows the
            first claim when nothing is said.
        setting: Settings to tell under the title, as `{world.tokens} tokens`.
        charts: Charts that answer to a reader, each named after the picture that it replaces in a
            browser; any other picture becomes a chart by itself.
        summary: Lines for the terminal: the numbers a reader wants first.
        reference: Where it stands in the paper; begins with "limelight" where it is our own.
        departures: What differs from the paper's protocol, or could not be known.
        remark: Where verdicts seem to contradict each other, one sentence on why both stand.
        sizes: Whose sizes the scale `paper` has, and how they differ from the paper's.
        shared: Axes whose cells share randomness, for paired comparisons; those that a scale does
            not sweep do not count there.
        save: Writes the networks that its table keeps into a folder; `None` where it keeps none.
        name: Short and unique within the paper, such as `fig1a`: the name of its file.
        title: What is drawn; from the paper's table of contents.
        paper: The paper's key.
        once: The name that it had before, if it was renamed: its study keeps that name, from which
            its random numbers come.

    Example:
        >>> from limelight.papers import load
        >>> figure = load("li2023").figure("fig2")
        >>> figure.reference, len(figure.claims) > 0
        ('Figure 2', True)
    """

    statement: str
    trial: Experiment
    grid: Axes
    trials: int
    scales: Mapping[str, Scale]
    claims: tuple[Claim, ...]
    pictures: Mapping[str, Callable[[Table], Picture]]
    findings: Mapping[str, Findings] = field(default_factory=dict)
    setting: str = ""
    charts: Mapping[str, Callable[[Table], Chart]] = field(default_factory=dict)
    summary: Callable[[Table], list[str]] = lambda table: []
    reference: str = ""
    departures: str = "none"
    remark: str = ""
    sizes: str = "ours: the paper has no experiment here"
    shared: tuple[str, ...] = ()
    save: Callable[[Table, Path], list[Path]] | None = None
    name: str = ""
    title: str = ""
    paper: str = ""
    once: str = ""

    def __repr__(self) -> str:
        claims = "".join(f"\n  {claim.name}: {claim.statement}" for claim in self.claims)
        return in_text(f"{self.paper} {self.name}: {self.title}\n{self.lead}\nclaims{claims}")

    def _repr_html_(self) -> str:
        rows = [(c.name, Maths(c.statement), Maths(c.rule_text)) for c in self.claims]
        head = notebook.line(Maths(f"{self.paper} {self.name}: {self.title}"), strong=True)
        lead = notebook.line(Maths(self.lead))
        return head + lead + notebook.grid(("claim", "says", "rule"), rows)

    # --- the study ----------------------------------------------------------------------------

    def setup(self, scale: str = "paper", settings: Mapping[str, str] | None = None) -> Setup:
        """The study at a scale, with other settings where given."""
        if scale not in self.scales:
            raise InputError(f"no scale {scale!r}", suggest(scale, list(self.scales)))
        change = self.scales[scale]
        axes = {k: v for k, v in {**self.grid, **change.grid}.items() if v is not None}
        experiment = assign(self.trial, change.settings)
        swept = {name for paths in axes for name in ((paths,) if isinstance(paths, str) else paths)}
        shared = tuple(name for name in self.shared if name in swept)
        setup = Setup(experiment, axes, change.trials or self.trials, shared)
        return setup.overridden(settings or {})

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
            name=f"{self.paper}/{self.once or self.name}",
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
        same_code: bool = False,
    ) -> Table:
        """Run the study, or what is missing of it, and return its table."""
        plan = self.plan(scale, seed=seed, settings=settings, width=width, store=store)
        return run(
            plan,
            store=store,
            progress=progress,
            stall=stall,
            about=self.about(scale, seed, settings, command),
            same_code=same_code,
        )

    def about(
        self, scale: str, seed: int, settings: Mapping[str, str] | None, command: str = ""
    ) -> dict[str, Any]:
        """What the manifest of a run says of its figure."""
        return {
            "paper": self.paper,
            "figure": self.name,
            "scale": scale,
            "settings": dict(settings or {}),
            "seed": seed,
            "command": command,
        }

    @property
    def cost(self) -> dict[str, str]:
        """What the published run took, by scale."""
        return cost_of(self.paper, self.name)

    # --- what is made of a table --------------------------------------------------------------

    def plot(self, table: Table, name: str | None = None) -> Picture:
        """A picture of the figure from a table alone, the first unless named.

        Its title says what was found, from the verdicts on this table, its caption how it was made.
        """
        if not self.pictures:
            raise InputError(f"{self.name} has no picture", "limelight plot draws its measures")
        first = next(iter(self.pictures))
        name = name or first
        if name not in self.pictures:
            raise InputError(f"no picture {name!r}", suggest(name, list(self.pictures)))
        own = {claim.name for claim in self.claims}  # a figure made of another has other claims
        found = [f for f in several(self.findings.get(name, ())) if f.claim in own]
        if not found and name == first:
            found = [Finding(claim.name) for claim in self.claims[:1]]
        told = (table.manifest, self.paper, self.name, self.reference)
        table = self.marked(table)
        with unforeseen(table):
            drawn = self.pictures[name](table)
        return titled(
            captioned(drawn, table),
            found,
            lambda claim: self.verdict(table, claim)[0],
            self.title if name == first else caption_of(self.pictures[name]) or self.title,
            setting_of(self.setting, *told),
        )

    def plots(self, table: Table) -> dict[str, Picture]:
        """Every picture of the figure, by name."""
        return {name: self.plot(table, name) for name in self.pictures}

    def chart(self, table: Table, name: str | None = None) -> Chart:
        """A chart of the figure that answers to a reader, the first unless named.

        Raises:
            InputError: Where the picture holds what no chart can show, such as an image.
        """
        name = name or min(self.pictures, key=lambda name: name not in self.charts, default="")
        if name in self.charts:
            with unforeseen(table):
                return self.charts[name](table)
        return of_picture(self.plot(table, name))

    @property
    def lead(self) -> str:
        """The statement, and whose it is."""
        return f"{'Asked here' if is_ours(self.reference) else 'The paper reads'}: {self.statement}"

    def verdict(self, table: Table, name: str | None = None) -> tuple[Verdict, ...]:
        """Every claim, or the one named, decided by its rule, or marked where the table cannot.

        Smoke runs exercise the machinery and decide nothing; neither does an unfinished run.
        """
        table = self.marked(table)
        scale = table.manifest.get("scale", "custom")
        changed = "".join(f", {k}={v}" for k, v in table.manifest.get("settings", {}).items())
        source = f"{self.paper} {self.name}, {scale} scale{changed}, {len(table)} trials"
        planned = planned_rows(table.manifest) or len(table)
        asked = self.claims if name is None else tuple(c for c in self.claims if c.name == name)
        if not asked and name is not None:
            raise InputError(
                f"{self.name} has no claim {name!r}", suggest(name, [c.name for c in self.claims])
            )
        why = ""
        if len(table) < planned:
            why = f"unfinished, {len(table)} of {planned} trials"
        why = why or self.mismatch(table.manifest)
        why = why or ("smoke scale decides nothing" if scale == "smoke" else "")
        if why:
            return Verdicts(c.unknown(source, why, len(table), paper=self.paper) for c in asked)
        return Verdicts(self._decide(claim, table, source) for claim in asked)

    def marked(self, table: Table) -> Table:
        """The table, with trials marked as diverged that lack a number which their kind always has.

        Where the table says itself which trials diverged, it stays as it is.
        """
        lost = lost_trials(table, self.trial.gaps)
        if not lost.any():
            return table
        return Table({**table.columns, "diverged": lost}, table.axes, table.manifest)

    def unknown(
        self, why: str, source: str = "", n: int = 0, decision: Decision = "inconclusive"
    ) -> tuple[Verdict, ...]:
        """Every claim without a number, and why."""
        source = source or f"{self.paper} {self.name}, no table"
        return Verdicts(c.unknown(source, why, n, decision, self.paper) for c in self.claims)

    def _decide(self, claim: Claim, table: Table, source: str) -> Verdict:
        try:
            with unforeseen(table):
                return claim.decide(table, source, self.paper)
        except InputError as error:  # such as a run in which no cell converged
            return claim.unknown(source, f"not estimated: {error.message}", paper=self.paper)

    def mismatch(self, manifest: Mapping[str, Any]) -> str:
        """What tells a table from this figure at the scale that it names; nothing where it agrees.

        So a smoke run does not become a larger one by an edit of one word.
        """
        scale, study = str(manifest.get("scale")), manifest.get("configuration", {})
        if scale not in self.scales or not {"axes", "trials"} <= set(study):
            return ""
        try:
            setup = self.setup(str(scale), manifest.get("settings", {}))
            axes = fitting(setup.experiment, setup.axes)
        except InputError:
            return f"its settings are not those of {self.name}"
        listed = [
            [list(paths) if isinstance(paths, tuple) else [paths], [_plain(v) for v in values]]
            for paths, values in axes.items()
        ]
        if listed != study["axes"] or setup.trials != study["trials"]:
            return f"its cells and trials are not those of {self.name} at {scale} scale"
        for path in dict.fromkeys(
            path for change in self.scales.values() for path in change.settings
        ):
            here, there = lookup(setup.experiment, path), _entry(study.get("experiment"), path)
            if there is not None and modern(there) != describe(here):
                return f"its {path} is not that of {self.name} at {scale} scale"
        return ""

    def lines(self, table: Table) -> list[str]:
        """The summary; where a table does not allow one, why."""
        try:
            with unforeseen(table):
                return self.summary(table)
        except InputError as error:
            return [f"no summary: {error.message}"]


def _entry(description: Any, path: str) -> Any:
    """What a stored description says of a setting; `None` where it says nothing."""
    for name in path.split("."):
        description = description.get(name) if isinstance(description, Mapping) else None
    return description


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value
