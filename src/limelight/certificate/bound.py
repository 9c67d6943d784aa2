"""A bound confronted with a model: a JSON document whose first line says what it is worth."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from limelight.core.errors import InputError
from limelight.core.files import atomic
from limelight.core.notebook import grid, line
from limelight.theory.base import Bound


@runtime_checkable
class Reported(Protocol):
    """A report that rests on a bound, such as that of `theory.edelman2022.capacity`."""

    @property
    def bound(self) -> Bound:
        """The bound."""
        ...

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        ...


@dataclass(frozen=True)
class Certificate:
    """What a bound says of given weights.

    Args:
        verdict: The first line: what it is worth.
        bound: The statement, evaluated.
        weights: File and digest, where the weights are a file.
        details: Everything behind it.
    """

    verdict: str
    bound: Bound
    weights: dict[str, str]
    details: dict[str, Any]

    @property
    def holds(self) -> bool:
        """Whether the statement applies and says something."""
        return self.bound.applies and not self.bound.void

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, the verdict first."""
        return {
            "verdict": self.verdict,
            "format": "limelight.certificate/1",
            "holds": self.holds,
            "weights": self.weights,
            "bound": self.bound.as_json(),
            "details": self.details,
        }

    def save(self, path: str | Path) -> None:
        """One JSON file, whole or not there."""
        with atomic(Path(path)) as temporary:
            temporary.write_text(json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n")

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, the bound with its conditions, the digest of the weights."""
        weights = grid(("weights", ""), self.weights.items())
        return line(self.verdict, strong=True) + self.bound._repr_html_() + weights

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.bound}"


def certify(bound: Bound | Reported, weights: str | Path | None = None) -> Certificate:
    """Write down what a bound says of weights.

    Args:
        bound: A bound, or a report that has one.
        weights: The file it was read from; its digest goes into the certificate.

    Returns:
        A certificate that says in its first line whether the bound applies.

    Example:
        >>> from limelight.theory.base import Condition
        >>> print(certify(Bound("gap", 0.2, "certificate")).verdict)
        holds: gap <= 0.2
        >>> far = Bound("gap", 3.0, "certificate", (Condition("not vacuous", 3.0, "<", 1.0),))
        >>> print(certify(far).verdict)
        DOES NOT APPLY: gap = 3, but not vacuous: 3 < 1 is false
    """
    statement, details = (bound, {}) if isinstance(bound, Bound) else (bound.bound, bound.as_json())
    failing = [c for c in statement.conditions if not c.holds]
    if statement.void:
        verdict = f"VOID: {statement.name} is not finite here"
    elif failing:
        first = failing[0]
        sides = f"{first.left:.4g} {first.relation} {first.right:.4g}"
        why = f"but {first.name}: {sides} is false"
        verdict = f"DOES NOT APPLY: {statement.name} = {statement.value:.4g}, {why}"
    else:
        verdict = f"holds: {statement.name} <= {statement.value:.4g}"
    return Certificate(verdict, statement, _identity(weights), details)


def _identity(weights: str | Path | None) -> dict[str, str]:
    if weights is None:
        return {}
    path = Path(weights)
    try:
        with path.open("rb") as file:
            return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
