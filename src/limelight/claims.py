"""A claim, the rule that decides it, and the verdict.

A rule reads an estimate with its interval and says `holds`, `fails` or `inconclusive`. It also
says in words what it does, from the same numbers, so that text and code cannot drift apart. A
verdict carries everything that a reader needs to weigh it: whose claim it is, what kind of claim,
the confidence of its interval, and whether the rule was there before its first table.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from limelight._core import notebook
from limelight._core.errors import InputError
from limelight._core.strip import strip
from limelight.table import Table

#: Confidence of every interval that decides a claim.
LEVEL = 0.95

#: What is said of a claim. `not applicable`: it speaks of nothing that the table holds, such as an
#: empty set. `not run`: there is no table.
Decision = Literal["holds", "fails", "inconclusive", "not applicable", "not run"]
DECISIONS = get_args(Decision)

#: What a verdict rests on. `statistical`: trials, and it could have gone either way. `identity`: it
#: cannot fail if the code is right. `control`: it is there to fail. `formula`: no trial is used.
Kind = Literal["statistical", "identity", "control", "formula"]
KINDS = get_args(Kind)

#: When the rule was fixed: `before` its first table; after a `pilot`, a smaller run of the same
#: kind; `after` its first table.
Fixed = Literal["before", "pilot", "after"]
FIXED = get_args(Fixed)

#: Two ends; one or both may be infinite.
Span = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A number read off a table, its interval, and what it rests on.

    Args:
        value: The estimate; NaN when it could not be formed.
        interval: Lower and upper end; `None` when there is none (a proof, a maximum, a failure).
        n: Trials it rests on.
        note: One line on anything the reader must know (what was dropped, what was unresolved).
        level: Confidence of the interval, for all points of a family together.
        family: Points that share the level between them (Bonferroni); 1 where there is one.
    """

    value: float
    interval: tuple[float, float] | None
    n: int
    note: str = ""
    level: float = LEVEL
    family: int = 1


class Undecided(InputError):
    """Raised by an estimator: this table cannot decide its claim.

    The verdict is then inconclusive, without a number, and says why.

    Args:
        why: What is missing, in words.
        n: Trials that were there.
    """

    decision: ClassVar[Decision] = "inconclusive"

    def __init__(self, why: str, n: int = 0):
        super().__init__(why)
        self.n = n


class NotApplicable(Undecided):
    """Raised by an estimator: its claim speaks of nothing here, such as an empty set."""

    decision: ClassVar[Decision] = "not applicable"


@dataclass(frozen=True)
class AtLeast:
    """Holds when the whole interval is at or above the level, fails when it is all below."""

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.level, math.inf)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low >= self.level else "fails" if high < self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the lower end >= {self.level:g}, fails if the upper end < {self.level:g}"


@dataclass(frozen=True)
class AtMost:
    """Holds when the whole interval is at or below the level, fails when it is all above."""

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (-math.inf, self.level)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if high <= self.level else "fails" if low > self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the upper end <= {self.level:g}, fails if the lower end > {self.level:g}"


@dataclass(frozen=True)
class Above:
    """Holds when the whole interval is above the level, fails when it is all below."""

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.level, math.inf)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low > self.level else "fails" if high < self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the lower end > {self.level:g}, fails if the upper end < {self.level:g}"


@dataclass(frozen=True)
class Below:
    """Holds when the whole interval is below the level, fails when it is all above."""

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (-math.inf, self.level)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if high < self.level else "fails" if low > self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the upper end < {self.level:g}, fails if the lower end > {self.level:g}"


@dataclass(frozen=True)
class Inside:
    """Holds when the interval lies inside [low, high], fails when it is disjoint from it."""

    low: float
    high: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.low, self.high)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        if self.low <= low and high <= self.high:
            return "holds"
        return "fails" if high < self.low or low > self.high else "inconclusive"

    def __str__(self) -> str:
        span = f"[{self.low:g}, {self.high:g}]"
        return f"holds if the interval lies inside {span}, fails if it is disjoint from it"


@dataclass(frozen=True)
class Bands:
    """Holds at or above `high`, fails at or below `low`, for a share without an interval."""

    low: float
    high: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.high, math.inf)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low >= self.high else "fails" if high <= self.low else "inconclusive"

    def __str__(self) -> str:
        return f"holds if >= {self.high:g}, fails if <= {self.low:g}"


Rule = AtLeast | AtMost | Above | Below | Inside | Bands


@dataclass(frozen=True)
class Verdict:
    """What was decided about a claim, and everything needed to disagree with it.

    Args:
        claim: The claim's name.
        statement: What is claimed, in our words.
        verdict: What was decided.
        value: The estimate; NaN when there is none.
        interval: Its ends; `None` when there is none.
        n: Trials it rests on.
        rule: Statistic and decision, in words.
        source: The table.
        note: Anything else the reader must know.
        paper: The paper's key.
        reference: Where it is claimed; begins with "limelight" where it is our own.
        kind: What it rests on.
        level: Confidence of the interval; `None` when there is none.
        family: Points that share the level.
        fixed: When the rule was fixed.
        region: Values for which the claim holds.
    """

    claim: str
    statement: str
    verdict: Decision
    value: float
    interval: tuple[float, float] | None
    n: int
    rule: str
    source: str
    note: str = ""
    paper: str = ""
    reference: str = "limelight"
    kind: Kind = "statistical"
    level: float | None = None
    family: int = 1
    fixed: Fixed = "before"
    region: Span = (-math.inf, math.inf)

    @property
    def ours(self) -> bool:
        """Whether the claim is limelight's own, not the paper's."""
        return is_ours(self.reference)

    @property
    def miss(self) -> float:
        """How far the interval lies outside the region, in its own half-widths.

        It is 0 inside the region, and where there is no interval.
        """
        low, high = self.interval or (math.nan, math.nan)
        far, half = max(self.region[0] - high, low - self.region[1]), (high - low) / 2
        return far / half if far > 0 and half > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values; numbers that are not finite become `None`."""
        out = {"paper": self.paper} | asdict(self) | {"ours": self.ours}
        out["value"] = _finite(self.value)
        out["interval"] = None if self.interval is None else [_finite(v) for v in self.interval]
        out["region"] = [_finite(v) for v in self.region]
        return out

    def _repr_html_(self) -> str:
        ends = "" if self.interval is None else "{:.3g} to {:.3g}".format(*self.interval)
        value = f"{self.value:.3g}" + (f" ({ends})" if ends else "")
        rows = [
            ("claim", self.statement),
            ("value", value),
            ("rule", self.rule),
            ("claimed by", self.reference),
            ("kind", self.kind + ("" if self.fixed == "before" else f", rule: {self.fixed}")),
            ("from", f"{self.source}, n = {self.n}"),
            *([("note", self.note)] if self.note else []),
        ]
        drawn = strip(float(self.value), self.interval, self.region, self.verdict)
        head = notebook.line(f"{self.claim}: {self.verdict}", strong=True)
        return head + drawn + notebook.grid(("", ""), rows)

    def __str__(self) -> str:
        ends = "" if self.interval is None else " [{:.3g}, {:.3g}]".format(*self.interval)
        line = f"{self.claim}: {self.verdict}, {self.value:.3g}{ends}, n = {self.n}; {self.rule}"
        return f"{line}; {self.note}" if self.note else line


class Verdicts(tuple[Verdict, ...]):
    """Several verdicts, as a notebook shows them: one row each, with its rule strip.

    Example:
        >>> one = Verdict("a", "It grows.", "holds", 2.0, (1.5, 2.5), 9, "slope above 0", "here")
        >>> print(Verdicts([one]))
        a: holds, 2 [1.5, 2.5], n = 9; slope above 0
    """

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        titles = ("claim", "says", "verdict", "value", "rule strip: shaded where it holds")
        strips = [strip(float(v.value), v.interval, v.region, v.verdict) for v in self]
        rows = [
            (v.claim, v.statement, v.verdict, "" if math.isnan(v.value) else f"{v.value:.3g}")
            for v in self
        ]
        return notebook.grid(titles, rows, last=strips)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper (or of ours), the statistic that tests it, and the rule.

    Args:
        name: Short and unique within a paper, such as `1a.line`.
        statement: What is claimed, in our words.
        statistic: What the estimate is, in words.
        estimate: Reads the estimate off a table.
        rule: Decides.
        reference: Where it is claimed; begins with "limelight" where it is our own.
        kind: What it rests on.
        fixed: When the rule was fixed.
    """

    name: str
    statement: str
    statistic: str
    estimate: Callable[[Table], Estimate]
    rule: Rule
    reference: str
    kind: Kind = "statistical"
    fixed: Fixed = "before"

    @property
    def rule_text(self) -> str:
        """The whole rule in words: statistic and decision."""
        return f"{self.statistic}: {self.rule}"

    @property
    def ours(self) -> bool:
        """Whether the claim is limelight's own, not the paper's."""
        return is_ours(self.reference)

    def decide(self, table: Table, source: str, paper: str = "") -> Verdict:
        """Read the estimate and apply the rule; what is not a number decides nothing.

        Where one end of an interval is open, the other one may decide. An estimator that raises
        `Undecided` leaves the claim undecided, with its message as the note.

        Trials that diverged are counted: a firm decision stands only if it is the same with their
        readings unknown, which makes them failures wherever successes are counted.
        """
        verdict = self._decide(table, source, paper)
        diverged = int(table.diverged.sum())
        if not diverged:
            return verdict
        said = f"{diverged} of {len(table)} trials diverged"
        firm = verdict.verdict in ("holds", "fails")
        if firm and (diverged == len(table) or verdict.verdict != self._with_failures(table)):
            said += ", and counted as failures they leave it open"
            verdict = replace(verdict, verdict="inconclusive")
        return replace(verdict, note=f"{said}; {verdict.note}" if verdict.note else said)

    def _with_failures(self, table: Table) -> Decision:
        """What is decided when the readings of diverged trials are not known."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # means of nothing
                return self._decide(table.without_diverged_readings(), "", "").verdict
        except (InputError, ValueError, ArithmeticError, LookupError):
            return "inconclusive"  # an estimator that needs every number

    def _decide(self, table: Table, source: str, paper: str) -> Verdict:
        try:
            estimate = self.estimate(table)
        except Undecided as why:
            return self.unknown(source, why.message, why.n, why.decision, paper)
        low, high = estimate.interval or (estimate.value, estimate.value)
        known = not np.isnan([estimate.value, low, high]).any() and np.isfinite([low, high]).any()
        return self._verdict(
            self.rule(low, high) if known else "inconclusive", estimate, source, paper
        )

    def unknown(
        self,
        source: str,
        why: str,
        n: int = 0,
        decision: Decision = "inconclusive",
        paper: str = "",
    ) -> Verdict:
        """The verdict without a number, and why there is none."""
        return self._verdict(decision, Estimate(float("nan"), None, n, why), source, paper)

    def _verdict(self, decision: Decision, estimate: Estimate, source: str, paper: str) -> Verdict:
        return Verdict(
            claim=self.name,
            statement=self.statement,
            verdict=decision,
            value=estimate.value,
            interval=estimate.interval,
            n=estimate.n,
            rule=self.rule_text,
            source=source,
            note=estimate.note,
            paper=paper,
            reference=self.reference,
            kind=self.kind,
            level=None if estimate.interval is None else estimate.level,
            family=estimate.family,
            fixed=self.fixed,
            region=self.rule.region,
        )


def is_ours(reference: str) -> bool:
    """Whether a reference is limelight's own, not a paper's."""
    return reference.startswith("limelight")


def all_parts(parts: Iterable[Decision]) -> Decision:
    """One decision on a sentence with several parts: it fails with any, and holds with all.

    Example:
        >>> all_parts(["holds", "inconclusive"]), all_parts(["holds", "inconclusive", "fails"])
        ('inconclusive', 'fails')
    """
    found = {*parts}
    if "fails" in found:
        return "fails"
    return "holds" if found == {"holds"} else "inconclusive"


def check_unique(claims: tuple[Claim, ...]) -> None:
    """Refuse two claims of one name."""
    names = [claim.name for claim in claims]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two claims are called {name!r}")


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
