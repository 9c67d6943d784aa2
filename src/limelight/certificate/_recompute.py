r"""A construction's certificate written again from its weights, and compared leaf by leaf.

Written apart from the builder: the two share no formula, only the file. What is read as given is
the claim itself and the choices that no weight can tell: the variant, which overlap the temperature
was made from, the seed and target of random signs, and the lemma where one bit makes two alike.
"""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from limelight._core.arrays import Real
from limelight._core.files import read_regular
from limelight._core.manifests import MOST_BYTES, Broken, read_json
from limelight.certificate._claim import ConstructionClaim
from limelight.certificate._overlap import LemmaKind, RecomputedOverlap, basis, overlaps
from limelight.models.construct._files import beside, finite
from limelight.models.weights import read

#: Relative difference that recomputed numbers may show, and absolute one of those of order 1.
CLOSE = {"float64": 1e-9, "float32": 1e-5}
NEAR = {"float64": 1e-12, "float32": 1e-6}


def altered(claim: ConstructionClaim, path: str | Path) -> list[str]:
    """Tensors whose bytes differ from the certificate's digests."""
    tensors, given = read(path), _part(claim.certificate, "digests", {})
    hashed = {
        name: hashlib.sha256(np.ascontiguousarray(tensors.raw(name)).tobytes()).hexdigest()
        for name in tensors
    }
    wrong = [name for name, value in hashed.items() if given.get(name) != value]
    return sorted([*wrong, *(repr(name)[:60] for name in given if name not in hashed)])


def wrong_copy(claim: ConstructionClaim, path: str | Path) -> list[str]:
    """Whether the copy of the certificate that lies beside the weights says something else.

    People read that copy. Weights alone, without one, are no fault.
    """
    copy = beside(read(path).path)  # a folder stands for the file in it
    if not copy.exists():
        return []
    try:
        same = read_json(read_regular(copy, MOST_BYTES)) == finite(claim.certificate)
    except (OSError, Broken):
        same = False
    return [] if same else [f"({copy.name}, beside the weights, says something else)"]


def wrong_fields(claim: ConstructionClaim, head_error: Real) -> list[str]:
    """Fields of the certificate that the weights do not bear out.

    Args:
        claim: The file.
        head_error: The proven largest error of the heads.
    """
    kind = "float32" if claim.dtype == "float32" else "float64"
    close, near = CLOSE[kind], NEAR[kind]
    stated = {k: v for k, v in claim.certificate.items() if k not in ("claim", "digests")}
    try:
        found = expected(claim)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        return [f"(the lemma's numbers cannot be formed from these weights: {error})"]
    return [*_differences(stated, found, close, near), *_unmet(found, head_error, close)]


def network_width(claim: ConstructionClaim) -> float:
    r"""The half-width $\delta$ of the network's boxes: its first layer's slopes are $1/\delta$."""
    steepest = float(np.abs(claim.tensors["mlp.W_1"][:-1]).max(initial=0.0))
    return 1 / steepest if steepest else math.inf


def expected(claim: ConstructionClaim) -> dict[str, Any]:
    """The certificate that these weights would have."""
    given = claim.certificate
    s, T, bag = claim.sparsity, claim.length, claim.bag
    free, printed = given["claim"]["mapping"] == "trainable", given.get("variant") == "printed"
    vector = claim.inputs > 1 or (s == 1 and "B.6" in _part(given, "lemmas", []))
    lemma = LemmaKind(free, vector, printed)
    width = network_width(claim)
    gamma = width * (8 if printed else 4)
    heat = max(float(np.linalg.norm(claim.tensors[f"head.{h}.W_Q"])) for h in range(claim.heads))
    marks = basis(claim, free)
    kind = str(_part(given, "head", {}).get("rho_kind"))
    over = overlaps(claim, marks["Delta_measured"], kind, lemma)
    favoured = 1 if bag or vector else s
    leak = (T + 1 - favoured) / favoured * math.exp(-heat * (1 - over.used))
    error = leak * ((1 if vector else s) + over.wide if bag else 2.0)
    centres = _centres(s, bag, vector)
    return {
        "format": given["format"],
        "paper": "edelman2022",
        "lemmas": ["B.4" if bag else "B.3" if free else "B.2", "B.6" if vector else "B.5"],
        "variant": "printed" if printed else "repaired",
        "dtype": claim.dtype,
        "basis": marks,
        "head": {
            "heads": claim.heads,
            "k": claim.tensors["head.0.W_Q"].shape[1],
            "gamma": gamma,
            "R": heat,
            "rho_bound": over.bound if math.isfinite(over.bound) else None,
            "rho_measured": over.measured,
            "rho_used": over.used,
            "rho_kind": over.kind,
            "reach": over.reach,
            "leakage_bound": leak,
            "error_bound": error,
            "error_target": gamma / 4,
        },
        "mlp": {
            "q": claim.inputs,
            "centres": len(centres),
            "delta": width,
            "separation": _apart(centres),
            "slack": width - error,
        },
        "norms": _norms(claim, centres, width, over, lemma)
        | {"W_Q": {"frobenius": heat, "allowed": _hottest(claim, gamma, over, lemma)}},
    }


def _part(given: dict[str, Any], name: str, default: Any) -> Any:
    """What stands under a name, or the default where it is of another type."""
    value = given.get(name)
    return value if isinstance(value, type(default)) else default


def _differences(stated: Any, found: Any, close: Real, near: Real, path: str = "") -> Iterator[str]:
    if not isinstance(found, dict):
        if not _same(stated, found, close, near):
            yield f"{path} ({repr(stated)[:60]} stated, {found!r} found)"
        return
    if not isinstance(stated, dict):
        yield f"{path} (not a table)"
        return
    for name in [*found, *(name for name in stated if name not in found)]:
        shown = str(name) if name in found else repr(name)[:60]
        inner = f"{path}.{shown}" if path else shown
        if name not in stated:
            yield f"{inner} (missing)"
        elif name not in found:
            yield f"{inner} (unknown)"
        else:
            # Slack is a small difference: its rounding is that of what it is the difference of.
            rounding = close * found["delta"] if inner == "mlp.slack" else near
            yield from _differences(stated[name], found[name], close, rounding, inner)


def _same(stated: Any, found: Any, close: Real, near: Real) -> bool:
    if not isinstance(found, int | float):
        return type(stated) is type(found) and stated == found
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return False
    try:
        return math.isclose(stated, found, rel_tol=close, abs_tol=near)
    except OverflowError:  # a whole number beyond every float
        return False


def _unmet(found: dict[str, Any], head_error: Real, close: Real) -> Iterator[str]:
    """What the lemma promises and these weights do not keep."""
    head, mlp = found["head"], found["mlp"]
    if found["variant"] == "repaired":
        if not head_error <= head["error_bound"] * (1 + close):
            yield f"head.error_bound ({head['error_bound']} stated, {head_error} possible)"
        if not mlp["slack"] >= -close * mlp["delta"]:
            yield f"mlp.slack ({mlp['slack']}, negative)"
    for name, entry in found["norms"].items():
        size = next(v for k, v in entry.items() if k != "allowed")
        if entry["allowed"] is not None and not size <= entry["allowed"] * (1 + close):
            yield f"norms.{name} ({size} found, {entry['allowed']} allowed)"


def _centres(s: int, bag: bool, vector: bool) -> np.ndarray:
    if vector:
        bits = np.array([[a >> j & 1 for j in range(s)] for a in range(2**s)], dtype=float)
        return (bits - 1) / (bits.sum(axis=1, keepdims=True) + 1) if bag else 1 - 2 * bits
    r = np.arange(s + 1.0)
    return ((r - s) / (r + 1) if bag else 1 - 2 * r / s)[:, None]


def _apart(centres: np.ndarray) -> float:
    return min(
        float(np.abs(centres[i + 1 :] - a).max(axis=1).min()) for i, a in enumerate(centres[:-1])
    )


def _norms(
    claim: ConstructionClaim,
    centres: np.ndarray,
    width: Real,
    over: RecomputedOverlap,
    lemma: LemmaKind,
) -> dict[str, Any]:
    t, s, bag = claim.tensors, claim.sparsity, claim.bag
    # Where only the measured overlap is below 1 the lemma says nothing of keys and values.
    void = over.kind == "measured" and not over.bound < 1
    limits = {
        "W_K": None if void else float(s + 1 if bag else 1 if lemma.vector or lemma.free else s),
        "W_V": None if void else 2.0 * s if bag else 2.0,
        "W_C": float(s if bag else 1),
    }
    out: dict[str, Any] = {}
    for name, limit in limits.items():
        sizes = [math.sqrt(float((t[f"head.{h}.{name}"] ** 2).sum())) for h in range(claim.heads)]
        out[name] = {"frobenius": max(sizes), "allowed": limit}
    if lemma.free:
        total = float(np.sqrt((t["P"] ** 2).sum(axis=1)).sum())
        out["P_21"] = {"value": total, "allowed": float(s)}
    far = float(np.abs(centres).max())
    entries = {
        "W_1": max(1 / width, far / width + 2),
        "W_2": max(1.0, float(centres.shape[1])),
        "w": float(np.abs(claim.values).max()),
    }
    for name, limit in entries.items():
        largest = float(np.abs(t[f"mlp.{name}"]).max(initial=0.0))
        out[name] = {"max": largest, "allowed": limit}
    return out


def _hottest(
    claim: ConstructionClaim, gamma: Real, over: RecomputedOverlap, lemma: LemmaKind
) -> float:
    """The largest query weights, and so inverse temperature, that the lemma asks for."""
    s, T, bag = claim.sparsity, claim.length, claim.bag
    if lemma.printed:
        room = gamma - over.used if bag else gamma
        times = s * (1 + over.used / s) if bag else 1.0
        count = T
    else:
        count, room = T + 1, gamma
        times = 1.0 if lemma.vector else 1 / s
        if bag:
            times = max(1.0, (1 + over.wide) / 2) if lemma.vector else max(s, (s + over.wide) / 2)
    return (math.log(8 * count) + math.log(times) - math.log(room)) / (1 - over.used)
