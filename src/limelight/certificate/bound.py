"""A bound confronted with a model: a JSON document whose first line says what it is worth."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from limelight._core.errors import InputError
from limelight._core.files import atomic, files_digest, read_regular
from limelight._core.manifests import MOST_BYTES, Broken, read_json
from limelight._core.notebook import Maths, grid, line
from limelight.models.weights import files_of
from limelight.theory.base import Bound
from limelight.theory.edelman2022 import capacity

FORMAT = "limelight.certificate/1"
#: A note on who said what tensors do not: how many heads, and what is no part of the bound.
_FACT = r"(?:{heads} heads per block|(?:epsilon|activation|pool|side) [\w.+-]{{1,20}})"
_WHO = r"(?:, from [\w .'-]{{1,60}}|: the only possibility among timm's [\w .()]{{1,120}})"
WHO_SAID = f"(?:{_FACT}, )*{_FACT}{_WHO}"


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

    Example:
        >>> sorted(Certificate.__dataclass_fields__)
        ['bound', 'details', 'verdict', 'weights']
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
            "format": FORMAT,
            "holds": self.holds,
            "weights": self.weights,
            "bound": self.bound.as_json(),
            "details": self.details,
        }

    def save(self, path: str | Path) -> None:
        """One JSON file, whole or not there."""
        with atomic(Path(path)) as temporary:
            temporary.write_text(
                json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, the bound with its conditions, the digest of the weights."""
        weights = grid(("weights", ""), self.weights.items())
        return line(Maths(self.verdict), strong=True) + self.bound._body_html() + weights

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
        sides = f"{first.sides[0]} {first.relation} {first.sides[1]}"
        why = f"but {first.name}: {sides} is false"
        verdict = f"DOES NOT APPLY: {statement.name} = {statement.value:.4g}, {why}"
    else:
        verdict = f"holds: {statement.name} <= {statement.value:.4g}"
    return Certificate(verdict, statement, _identity(weights), details)


def _identity(weights: str | Path | None) -> dict[str, str]:
    if weights is None:
        return {}
    files = files_of(weights)
    return {"file": files[0].name, "sha256": files_digest(files)}


@dataclass(frozen=True)
class BoundCheck:
    """A certificate of a bound against the weights that it names.

    Args:
        file: The certificate.
        weights: The weights.
        wrong: What does not hold, in words; nothing where all of it does.

    Example:
        >>> BoundCheck("and.json", "and.safetensors", wrong=[]).wrong
        []
    """

    file: str
    weights: str
    wrong: list[str]

    @property
    def code(self) -> int:
        """0 when everything holds, else 1."""
        return 1 if self.wrong else 0

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        verdict = "fail" if self.wrong else "pass"
        return {"verdict": verdict, "file": self.file, "weights": self.weights, "wrong": self.wrong}

    def _repr_html_(self) -> str:
        """For notebooks: whether it fits, and what does not."""
        first, *wrong = str(self).split("\n")
        return line(first, strong=True) + "".join(map(line, wrong))

    def __str__(self) -> str:
        first = f"{'fail' if self.wrong else 'pass'}: {self.file}, of {self.weights}"
        return "\n".join([first, *(f"  wrong: {what}" for what in self.wrong)])


def check_bound(path: str | Path, weights: str | Path, like: str | None = None) -> BoundCheck:
    """Compute a bound's certificate again from the weights, and compare every leaf of it.

    Args:
        path: A certificate that `certify(...).save` wrote, or anything that claims to be one.
        weights: The weights.
        like: The name of their architecture in timm, where nothing beside them says.

    Raises:
        InputError: For files that are no such certificate.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> weights, certificate = f"{folder}/and.safetensors", f"{folder}/and.json"
        >>> ll.construct("and", length=8, sparsity=2).save(weights)
        >>> ll.certify(ll.theory.edelman2022.capacity(weights), weights).save(certificate)
        >>> ll.certificate.check_bound(certificate, weights).wrong
        []
    """
    name = Path(path).name
    try:
        stated = read_json(read_regular(path, MOST_BYTES))
        told = stated["details"]
        if stated["format"] != FORMAT or told["paper"] != "edelman2022":
            raise Broken("it is of another kind")
        named = like or told.get("like")
        again = certify(_capacity_again(told, weights, named), weights).as_json()
        for document in (stated, again):
            _forget_who_said(document, len(told["blocks"][0]["heads"]))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(
            f"{name} is no certificate of a bound: {str(error)[:80] or type(error).__name__}",
            "certify(...).save(path) writes one",
        ) from None
    return BoundCheck(name, Path(weights).name, list(_leaves_that_differ(stated, again)))


def _capacity_again(told: dict[str, Any], weights: str | Path, like: str | None) -> Reported:
    """The report at the settings that a certificate states."""
    settings, blocks = told["settings"], told["blocks"]
    measured = [block["token_norm"] for block in blocks if block["token_norm_from"] == "measured"]
    return capacity(
        weights,
        tokens=round(settings["tokens"]),
        examples=settings["examples"],
        resolution=settings["resolution"],
        softmax_constant=settings["softmax_constant"],
        delta=settings["delta"],
        token_norms=measured or None,
        heads=len(blocks[0]["heads"]),
        like=like,
    )


def _forget_who_said(document: dict[str, Any], heads: int) -> None:
    """Another one says now how many heads there are; the heads are compared themselves."""
    said = re.compile(WHO_SAID.format(heads=heads))
    for part in ("bound", "details"):
        notes = document[part]["notes"]
        document[part]["notes"] = [note for note in notes if not said.fullmatch(note)]


def _leaves_that_differ(stated: Any, found: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ; numbers may do so by rounding."""
    if isinstance(found, dict) and isinstance(stated, dict):
        for name in [*found, *(name for name in stated if name not in found)]:
            inner = f"{path}.{name!s:.60}".strip(".")
            if name not in stated:
                yield f"{inner} is missing"
            elif name not in found:
                yield f"{inner} is unknown"
            elif inner not in ("weights.file", "details.file"):  # a file may be renamed
                yield from _leaves_that_differ(stated[name], found[name], inner)
    elif isinstance(found, list) and isinstance(stated, list) and len(found) == len(stated):
        for number, pair in enumerate(zip(stated, found, strict=True)):
            yield from _leaves_that_differ(*pair, f"{path}.{number}")
    elif isinstance(found, float) and isinstance(stated, int | float):
        if isinstance(stated, bool) or not math.isclose(stated, found, rel_tol=1e-6):
            yield f"{path} ({repr(stated)[:40]} stated, {found!r} found)"
    elif type(stated) is not type(found) or stated != found:
        yield f"{path} ({repr(stated)[:40]} stated, {repr(found)[:40]} found)"
