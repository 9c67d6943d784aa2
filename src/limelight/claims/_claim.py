"""A claim: a statement, the statistic that tests it, the rule that decides it."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from limelight._core.errors import InputError
from limelight.claims._rules import Decision, Rule
from limelight.claims._verdict import Estimate, Fixed, Kind, Undecided, Verdict, is_ours
from limelight.table import Table

Estimator = Callable[[Table], Estimate]


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

    Example:
        >>> import limelight as ll, numpy as np
        >>> from limelight.claims import Above
        >>> mean = lambda table: ll.Estimate(float(table["y"].mean()), (1.5, 2.5), len(table))
        >>> rises = ll.Claim("a.rises", "It rises.", "mean of y", mean, Above(0.0), "limelight")
        >>> rises.decide(ll.Table({"y": np.array([1.0, 3.0])}), "an example").verdict
        'holds'
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

    def again(self, name: str, also: str) -> "Claim":
        """The same question of other data: its sentence says what differs, before the full stop.

        Args:
            name: Its name.
            also: What is added to the sentence, its space first, as in `" (again)"`.
        """
        return replace(self, name=name, statement=_saying(self.statement, also))

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
            # Without draws an interval encloses: it has no confidence.
            level=estimate.level if estimate.interval and self.kind != "deterministic" else None,
            family=estimate.family,
            fixed=self.fixed,
            region=self.rule.region,
        )


def claim(
    name: str,
    statement: str,
    rule: Rule,
    *,
    at: str = "limelight",
    statistic: str | None = None,
    kind: Kind = "statistical",
    fixed: Fixed = "before",
) -> Callable[[Estimator], Claim]:
    """Make an estimator a claim: what is said, and the rule that decides it.

    Args:
        name: Short and unique within a paper, such as `1a.line`.
        statement: What is claimed, in our words.
        rule: Decides.
        at: Where it is claimed; ours when not given. Begins with "limelight" where it is our own.
        statistic: What the estimator computes, in words; its docstring when `None`.
        kind: What the verdict rests on.
        fixed: When the rule was fixed.

    Example:
        >>> from limelight.claims import Above, Estimate
        >>> @claim("a.rises", "It rises.", Above(0.0))
        ... def mean(table):
        ...     'Mean of y.'
        ...     return Estimate(float(table["y"].mean()), (0.5, 1.5), len(table))
        >>> mean.rule_text
        'mean of y: holds if the lower end > 0, fails if the upper end < 0'
    """

    def make(estimate: Estimator) -> Claim:
        words = statistic or _in_words(estimate)
        return Claim(name, statement, words, estimate, rule, at, kind, fixed)

    return make


def claims(
    name: str,
    statement: str,
    rule: Rule,
    *,
    at: str = "limelight",
    cases: Iterable[Mapping[str, Any]],
    statistic: str | None = None,
    kind: Kind = "statistical",
    fixed: Fixed = "before",
) -> Callable[[Callable[..., Estimate]], tuple[Claim, ...]]:
    """Make an estimator one claim per case: one question at several levels or settings.

    The estimator takes from a case, by keyword, what it has parameters for. Name, statement,
    reference and docstring are formats of everything that a case holds.

    Args:
        name: Such as `1a.law{suffix}`.
        statement: What is claimed, in our words.
        rule: Decides.
        at: Where it is claimed; ours when not given. Begins with "limelight" where it is our own.
        cases: What differs, by name: `{"suffix": ".loose", "level": 0.01}`. `kind` and `fixed` may
            be among them, and `also`: what is added to the sentence before its full stop, so that
            no two cases read the same.
        statistic: What the estimator computes, in words; its docstring when `None`.
        kind: What the verdicts rest on.
        fixed: When the rule was fixed.

    Example:
        >>> from limelight.claims import Above, Estimate
        >>> strict = {"suffix": "", "level": 0.001}
        >>> loose = {"suffix": ".loose", "level": 0.01, "also": " at a loss below 0.01"}
        >>> @claims("a.share{suffix}", "Most succeed.", Above(0.5), cases=[strict, loose])
        ... def share(table, level):
        ...     'Share of trials below {level}.'
        ...     return Estimate(float((table["loss"] < level).mean()), None, len(table))
        >>> [(one.name, one.statement) for one in share]
        [('a.share', 'Most succeed.'), ('a.share.loose', 'Most succeed at a loss below 0.01.')]
    """

    def make(estimate: Callable[..., Estimate]) -> tuple[Claim, ...]:
        taken = inspect.signature(estimate).parameters
        words = (name, statement, statistic or _in_words(estimate), at)
        found = []
        for case in cases:
            called, claimed, read, source = (text.format(**case) for text in words)
            claimed = _saying(claimed, case.get("also", ""))
            given = {key: value for key, value in case.items() if key in taken}
            about = (case.get("kind", kind), case.get("fixed", fixed))
            found.append(
                Claim(called, claimed, read, partial(estimate, **given), rule, source, *about)
            )
        return tuple(found)

    return make


def check_unique(claims: tuple[Claim, ...]) -> None:
    """Refuse two claims of one name.

    Example:
        >>> check_unique(())  # an error names the claim that occurs twice
    """
    names = [claim.name for claim in claims]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two claims are called {name!r}")


def _saying(statement: str, also: str) -> str:
    """A sentence with more said before its full stop."""
    return f"{statement.removesuffix('.')}{also}." if also else statement


def _in_words(estimate: Estimator) -> str:
    """The first paragraph of a docstring as a phrase: no full stop, no capital it does not need."""
    text = " ".join((estimate.__doc__ or "").strip().split("\n\n")[0].split()).removesuffix(".")
    if not text:
        raise InputError(f"{estimate.__name__} has no docstring", "it is the statistic in words")
    first, second = text[0], text[1:2]
    return first.lower() + text[1:] if second.islower() or text[:2] == "A " else text
