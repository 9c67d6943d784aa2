"""An estimate, and the verdict on a claim with everything needed to disagree with it."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from limelight._core import notebook
from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight._core.strip import strip
from limelight.claims._rules import Decision, Span

#: Confidence of every interval that decides a claim.
LEVEL = 0.95

#: What a verdict rests on. `statistical`: drawn trials, and it could have gone either way.
#: `deterministic`: runs in which nothing is drawn, and it could have gone either way.
#: `identity`: it cannot fail if the code is right. `control`: it is there to fail. `formula`: no
#: trial is used.
Kind = Literal["statistical", "deterministic", "identity", "control", "formula"]
KINDS = get_args(Kind)
#: Kinds that could have gone either way: what the counts of a paper's claims are about.
OPEN_KINDS = ("statistical", "deterministic")

#: When the rule was fixed: `before` its first table; after a `pilot`, a smaller run of the same
#: kind; `after` its first table.
Fixed = Literal["before", "pilot", "after"]
FIXED = get_args(Fixed)


@dataclass(frozen=True)
class Estimate:
    """A number read off a table, its interval, and what it rests on.

    Args:
        value: The estimate; NaN when it could not be formed.
        interval: Lower and upper end; `None` when there is none (a proof, a maximum, a failure).
        n: Trials it rests on: those of the table that are used; where the worst of several points
            decides, its own. Draws, where one trial holds many; 0 for a formula.
        note: One line on anything the reader must know (what was dropped, what was unresolved).
        level: Confidence of the interval, for all points of a family together;
            `None` where it encloses without one (a centre that is known only so far).
        family: Points that share the level between them (Bonferroni); 1 where there is one.

    Example:
        >>> import limelight as ll
        >>> estimate = ll.Estimate(value=2.0, interval=(1.5, 2.5), n=40)
        >>> estimate.interval, estimate.level
        ((1.5, 2.5), 0.95)
    """

    value: float
    interval: tuple[float, float] | None
    n: int
    note: str = ""
    level: float | None = LEVEL
    family: int = 1


class Undecided(InputError):
    """Raised by an estimator: this table cannot decide its claim.

    The verdict is then inconclusive, without a number, and says why.

    Args:
        why: What is missing, in words.
        n: Trials that were there.

    Example:
        >>> why = Undecided("three usable points, five needed", n=12)
        >>> why.decision, why.message
        ('inconclusive', 'three usable points, five needed')
    """

    decision: ClassVar[Decision] = "inconclusive"

    def __init__(self, why: str, n: int = 0):
        super().__init__(why)
        self.n = n


class NotApplicable(Undecided):
    """Raised by an estimator: its claim speaks of nothing here, such as an empty set.

    Example:
        >>> why = NotApplicable("no neuron is lucky", n=50)
        >>> why.decision, why.message
        ('not applicable', 'no neuron is lucky')
    """

    decision: ClassVar[Decision] = "not applicable"


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

    Example:
        >>> import limelight as ll
        >>> print(ll.Verdict("a", "It grows.", "holds", 2.0, (1.5, 2.5), 9, "slope above 0",
        ...     "here"))
        a: holds, 2 [1.5, 2.5], n = 9; slope above 0
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
            ("claim", notebook.Maths(self.statement)),
            ("value", value),
            ("rule", notebook.Maths(self.rule)),
            ("claimed by", self.reference),
            ("kind", self.kind + ("" if self.fixed == "before" else f", rule: {self.fixed}")),
            ("from", f"{self.source}, n = {self.n}"),
            *([("note", notebook.Maths(self.note))] if self.note else []),
        ]
        head = notebook.line(f"{self.claim}: {self.verdict}", strong=True)
        return head + strip(self) + notebook.grid(("", ""), rows)

    def __str__(self) -> str:
        ends = "" if self.interval is None else " [{:.3g}, {:.3g}]".format(*self.interval)
        line = f"{self.claim}: {self.verdict}, {self.value:.3g}{ends}, n = {self.n}"
        return "; ".join([line, *(in_text(words) for words in (self.rule, self.note) if words)])


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
        strips = [strip(v) for v in self]
        rows = [
            (v.claim, notebook.Maths(v.statement), v.verdict)
            + ("" if math.isnan(v.value) else f"{v.value:.3g}",)
            for v in self
        ]
        return notebook.grid(titles, rows, last=strips)


def is_ours(reference: str) -> bool:
    """Whether a reference is limelight's own, not a paper's.

    Example:
        >>> is_ours("limelight"), is_ours("li2023, Figure 1(a)")
        (True, False)
    """
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


def most_surprising(verdicts: Iterable[Verdict], most: int = 10) -> list[Verdict]:
    """The papers' own claims that fail most clearly, at most one of each table.

    Example:
        >>> most_surprising([])
        []
    """
    failing = [v for v in verdicts if v.verdict == "fails" and v.kind in OPEN_KINDS and not v.ours]
    first: dict[str, Verdict] = {}
    for verdict in sorted(failing, key=lambda v: -v.miss):
        first.setdefault(verdict.source, verdict)
    return list(first.values())[:most]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
