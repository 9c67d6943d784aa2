"""Claims: what is said, the rule that decides it, and the verdict.

An estimator reads a table and gives an `Estimate`; `@claim(name, statement, rule)` makes it a
`Claim`; a rule (`AtLeast`, `Above`, `Inside`, ...) reads the interval; the `Verdict` carries what a
reader needs to weigh it: whose claim it is, what kind, the confidence of its interval, and whether
the rule was there before its first table.
"""

from limelight.claims._claim import Claim, Estimator, check_unique, claim, claims
from limelight.claims._finding import Finding
from limelight.claims._rules import (
    DECISIONS,
    Above,
    AtLeast,
    AtMost,
    Bands,
    Below,
    Decision,
    Inside,
    Rule,
    Span,
)
from limelight.claims._verdict import (
    FIXED,
    KINDS,
    LEVEL,
    OPEN_KINDS,
    Estimate,
    Fixed,
    Kind,
    NotApplicable,
    Undecided,
    Verdict,
    Verdicts,
    all_parts,
    is_ours,
    most_surprising,
)

__all__ = [
    "Above",
    "AtLeast",
    "AtMost",
    "Bands",
    "Below",
    "Claim",
    "DECISIONS",
    "Decision",
    "Estimate",
    "Estimator",
    "FIXED",
    "Finding",
    "Fixed",
    "Inside",
    "KINDS",
    "Kind",
    "LEVEL",
    "NotApplicable",
    "OPEN_KINDS",
    "Rule",
    "Span",
    "Undecided",
    "Verdict",
    "Verdicts",
    "all_parts",
    "check_unique",
    "claim",
    "claims",
    "is_ours",
    "most_surprising",
]
