"""A claim, the rule that decides it, and the verdict: the rule is fixed before the run.

A rule reads an estimate with its interval and says `holds`, `fails` or `inconclusive`. It also
says in words what it does, from the same numbers, so that text and code cannot drift apart.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from limelight.core import notebook
from limelight.core.errors import InputError
from limelight.table import Table

Decision = Literal["holds", "fails", "inconclusive"]


@dataclass(frozen=True)
class Estimate:
    """A number read off a table, its interval, and what it rests on.

    Args:
        value: The estimate; NaN when it could not be formed.
        interval: Lower and upper end; `None` when there is none (a proof, a maximum, a failure).
        n: Trials it rests on.
        note: One line on anything the reader must know (what was dropped, what was unresolved).
    """

    value: float
    interval: tuple[float, float] | None
    n: int
    note: str = ""


class Undecided(InputError):
    """Raised by an estimator: this table cannot decide its claim.

    The verdict is then inconclusive, without a number, and says why.

    Args:
        why: What is missing, in words.
        n: Trials that were there.
    """

    def __init__(self, why: str, n: int = 0):
        super().__init__(why)
        self.n = n


@dataclass(frozen=True)
class AtLeast:
    """Holds when the whole interval is at or above the level, fails when it is all below."""

    level: float

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low >= self.level else "fails" if high < self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the lower end >= {self.level:g}, fails if the upper end < {self.level:g}"


@dataclass(frozen=True)
class AtMost:
    """Holds when the whole interval is at or below the level, fails when it is all above."""

    level: float

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if high <= self.level else "fails" if low > self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the upper end <= {self.level:g}, fails if the lower end > {self.level:g}"


@dataclass(frozen=True)
class Above:
    """Holds when the whole interval is above the level, fails when it is all below."""

    level: float

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low > self.level else "fails" if high < self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the lower end > {self.level:g}, fails if the upper end < {self.level:g}"


@dataclass(frozen=True)
class Below:
    """Holds when the whole interval is below the level, fails when it is all above."""

    level: float

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

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low >= self.high else "fails" if high <= self.low else "inconclusive"

    def __str__(self) -> str:
        return f"holds if >= {self.high:g}, fails if <= {self.low:g}"


Rule = AtLeast | AtMost | Above | Below | Inside | Bands


@dataclass(frozen=True)
class Verdict:
    """What was decided about a claim, and everything needed to disagree with it."""

    claim: str
    statement: str
    verdict: Decision
    value: float
    interval: tuple[float, float] | None
    n: int
    rule: str
    source: str
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values; numbers that are not finite become `None`."""
        out = asdict(self)
        out["value"] = _finite(self.value)
        out["interval"] = None if self.interval is None else [_finite(v) for v in self.interval]
        return out

    def _repr_html_(self) -> str:
        ends = "" if self.interval is None else "{:.3g} to {:.3g}".format(*self.interval)
        value = f"{self.value:.3g}" + (f" ({ends})" if ends else "")
        rows = [
            ("claim", self.statement),
            ("value", value),
            ("rule", self.rule),
            ("from", f"{self.source}, n = {self.n}"),
            *([("note", self.note)] if self.note else []),
        ]
        return notebook.line(f"{self.claim}: {self.verdict}", strong=True) + notebook.grid(
            ("", ""), rows
        )

    def __str__(self) -> str:
        ends = "" if self.interval is None else " [{:.3g}, {:.3g}]".format(*self.interval)
        line = f"{self.claim}: {self.verdict}, {self.value:.3g}{ends}, n = {self.n}; {self.rule}"
        return f"{line}; {self.note}" if self.note else line


@dataclass(frozen=True)
class Claim:
    """A statement of a paper (or of ours), the statistic that tests it, and the rule.

    Args:
        name: Short and unique within a paper, such as `1a.line`.
        statement: What is claimed, in our words.
        statistic: What the estimate is, in words.
        estimate: Reads the estimate off a table.
        rule: Decides; fixed before the run.
        reference: Where it is claimed.
    """

    name: str
    statement: str
    statistic: str
    estimate: Callable[[Table], Estimate]
    rule: Rule
    reference: str

    @property
    def rule_text(self) -> str:
        """The whole rule in words: statistic and decision."""
        return f"{self.statistic}: {self.rule}"

    def decide(self, table: Table, source: str) -> Verdict:
        """Read the estimate and apply the rule; what is not a number decides nothing.

        Where one end of an interval is open, the other one may decide. An estimator that raises
        `Undecided` leaves the claim inconclusive, with its message as the note.

        Trials that diverged are counted: a firm decision stands only if it is the same with their
        readings unknown, which makes them failures wherever successes are counted.
        """
        verdict = self._decide(table, source)
        diverged = int(table.diverged.sum())
        if not diverged:
            return verdict
        said = f"{diverged} of {len(table)} trials diverged"
        if verdict.verdict == "inconclusive":
            return undecided(verdict, said)
        if diverged == len(table) or verdict.verdict != self._with_failures(table, source):
            return undecided(verdict, f"{said}, and counted as failures they leave it open")
        return replace(verdict, note=f"{said}; {verdict.note}" if verdict.note else said)

    def _with_failures(self, table: Table, source: str) -> Decision:
        """What is decided when the readings of diverged trials are not known."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # means of nothing
                return self._decide(table.without_diverged_readings(), source).verdict
        except (InputError, ValueError, ArithmeticError, LookupError):
            return "inconclusive"  # an estimator that needs every number

    def _decide(self, table: Table, source: str) -> Verdict:
        try:
            estimate = self.estimate(table)
        except Undecided as why:
            estimate = Estimate(float("nan"), None, why.n, why.message)
        low, high = estimate.interval or (estimate.value, estimate.value)
        known = not np.isnan([estimate.value, low, high]).any() and np.isfinite([low, high]).any()
        return Verdict(
            claim=self.name,
            statement=self.statement,
            verdict=self.rule(low, high) if known else "inconclusive",
            value=estimate.value,
            interval=estimate.interval,
            n=estimate.n,
            rule=self.rule_text,
            source=source,
            note=estimate.note,
        )


def undecided(verdict: Verdict, why: str) -> Verdict:
    """The same numbers with the decision withheld, and the reason."""
    note = f"{why}; {verdict.note}" if verdict.note else why
    return replace(verdict, verdict="inconclusive", note=note)


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
