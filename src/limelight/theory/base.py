"""The contract of a statement: a bound that carries every condition with both sides evaluated."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from limelight._core.notebook import Maths, grid, line

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}

#: What a number is worth. `sufficient`: a theorem's condition, order-wise, hidden constants set to
#: 1. `certificate`: rigorous at the given confidence. `exact`: an identity or a limit law.
#: `prediction`: derived, not proved. `printed`: as the paper prints it, known to be unsound.
#: `corrected`: of an erratum; its conditions are the printed statement and the corrected one.
Kind = Literal["sufficient", "certificate", "exact", "prediction", "printed", "corrected"]


@dataclass(frozen=True)
class Condition:
    """One hypothesis of a statement, with both sides as numbers.

    Example:
        >>> print(Condition("noise", 0.03, "<=", 0.1))
        holds  noise: 0.03 <= 0.1
    """

    name: str
    left: float | int
    relation: Literal["<", "<=", ">", ">=", "=="]
    right: float | int
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the hypothesis is met; a side that is not a number meets nothing."""
        if math.isnan(self.left) or math.isnan(self.right):
            return False
        return RELATIONS[self.relation](self.left, self.right)

    @property
    def sides(self) -> tuple[str, str]:
        """Both sides as text: four digits, or as many as make what is printed agree with `holds`.

        Example:
            >>> Condition("found", 1.00006, ">", 1.0).sides
            ('1.00006', '1')
        """
        texts = [(f"{self.left:.{n}g}", f"{self.right:.{n}g}") for n in (4, 7, 17)]
        told = lambda sides: RELATIONS[self.relation](*map(float, sides))
        return next((sides for sides in texts if told(sides) == self.holds), texts[-1])

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "left": plain(self.left),
            "relation": self.relation,
            "right": plain(self.right),
            "holds": self.holds,
            "note": self.note,
        }

    def __str__(self) -> str:
        word = "holds" if self.holds else "FAILS"
        tail = f"  ({self.note})" if self.note else ""
        left, right = self.sides
        return f"{word}  {self.name}: {left} {self.relation} {right}{tail}"


@dataclass(frozen=True)
class Bound:
    """What a statement says of given settings, and whether it may be used there.

    Args:
        name: What is bounded.
        value: The bound; infinite when it is void.
        kind: What the number is worth, see `Kind`.
        conditions: Every hypothesis, evaluated.
        quantities: Other numbers the statement gives (the batch, the iterations, the norms used).
        constants: What the paper leaves unnamed, and the value taken.
        notes: Lines a reader must know: why a bound is void, or an erratum that matters here.
        reference: Where it is stated.

    Example:
        >>> bound = Bound("examples", 64, "sufficient", (Condition("rate", 0.5, "<=", 1.0),))
        >>> bound.applies, bound.void
        (True, False)
    """

    name: str
    value: float | int
    kind: Kind
    conditions: tuple[Condition, ...] = ()
    quantities: Mapping[str, float | int] = field(default_factory=dict)
    constants: Mapping[str, float | int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reference: str = ""

    @property
    def applies(self) -> bool:
        """Whether every hypothesis is met."""
        return all(condition.holds for condition in self.conditions)

    @property
    def void(self) -> bool:
        """Whether the statement says nothing here: its bound is not a finite number."""
        return not math.isfinite(self.value)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values; numbers that are not finite become `None`."""
        return {
            "name": self.name,
            "value": plain(self.value),
            "kind": self.kind,
            "applies": self.applies,
            "void": self.void,
            "conditions": [condition.as_json() for condition in self.conditions],
            "quantities": {k: plain(v) for k, v in self.quantities.items()},
            "constants": {k: plain(v) for k, v in self.constants.items()},
            "notes": list(self.notes),
            "reference": self.reference,
        }

    @property
    def _headline(self) -> str:
        failing = [condition.name for condition in self.conditions if not condition.holds]
        verb = ("holds", "fails") if self.kind == "corrected" else ("applies", "does not apply")
        state = f"{verb[1]}: {', '.join(failing)}" if failing else verb[0]
        if self.void:
            state = f"void here, and {state}" if failing else "void here"
        return f"{self.name} = {self.value:.6g}  [{self.kind}; {state}]"

    @property
    def _taken(self) -> str:
        """What was taken for the constants that the paper leaves unnamed."""
        taken = ", ".join(f"{name} = {value:g}" for name, value in self.constants.items())
        return f"unnamed in the paper, taken as: {taken}" if taken else ""

    def _repr_html_(self) -> str:
        """For notebooks: every condition with both sides."""
        return line(Maths(self._headline), strong=True) + self._body_html()

    def _body_html(self) -> str:
        """What stands below the headline."""
        conditions = [
            ("holds" if c.holds else "FAILS", Maths(c.name))
            + tuple(map(Maths, (c.sides[0], c.relation, c.sides[1], c.note)))
            for c in self.conditions
        ]
        quantities = [
            (Maths(name), Maths(f"{value:.6g}")) for name, value in self.quantities.items()
        ]
        below = [self._taken, *(f"note: {note}" for note in self.notes), self.reference]
        return (
            grid(("quantity", "value"), quantities)
            + grid(("", "condition", "left side", "", "right side", "note"), conditions)
            + "".join(line(Maths(text)) for text in below if text)
        )

    def __str__(self) -> str:
        lines = [self._headline]
        lines += [f"  {name} = {value:.6g}" for name, value in self.quantities.items()]
        lines += [f"  {condition}" for condition in self.conditions]
        lines += [f"  {self._taken}"] if self._taken else []
        lines += [f"  note: {note}" for note in self.notes]
        if self.reference:
            lines.append(f"  {self.reference}")
        return "\n".join(lines)


def plain(value: float | int) -> float | None:
    """A number for JSON; `None` when it is not finite."""
    return float(value) if math.isfinite(value) else None
