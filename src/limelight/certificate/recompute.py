r"""Every number of a construction's certificate, computed again from the weights.

Written apart from the builder: the two share no formula, only the file.
"""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from limelight.certificate.claim import Claim
from limelight.core.arrays import Real
from limelight.models.weights import read

#: Relative difference that recomputed numbers may show.
CLOSE = {"float64": 1e-9, "float32": 1e-5}


def altered(claim: Claim, path: str | Path) -> list[str]:
    """Tensors whose bytes differ from the certificate's digests."""
    tensors = read(path)
    given = claim.certificate.get("digests") or {}
    hashed = {
        name: hashlib.sha256(np.ascontiguousarray(tensors.raw(name)).tobytes()).hexdigest()
        for name in tensors
    }
    return sorted(name for name, value in hashed.items() if given.get(name) != value)


def wrong_fields(claim: Claim, head_error: float) -> list[str]:
    """Fields of the certificate that the weights do not bear out.

    Args:
        claim: The file.
        head_error: The proven largest error of the heads.
    """
    try:
        return list(_wrong(claim, head_error))
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        return [f"(unreadable: {error!r})"]


def _wrong(claim: Claim, head_error: float) -> Iterator[str]:
    given = claim.certificate
    close = CLOSE.get(given["dtype"], 0.0)
    for path, value in _numbers(claim).items():
        section, name = path.split(".", 1)
        stated: Any = given[section]
        for part in name.split("."):
            stated = stated[part]
        if not _same(stated, value, close):
            yield f"{path} ({stated} stated, {value} found)"
    if given["variant"] != "printed" and head_error > given["head"]["error_bound"] * (1 + close):
        yield f"head.error_bound ({given['head']['error_bound']} stated, {head_error} possible)"
    if not given["mlp"]["slack"] >= 0 and given["variant"] != "printed":
        yield "mlp.slack (negative)"
    for name, entry in given["norms"].items():
        size = next(v for k, v in entry.items() if k != "allowed")
        if entry["allowed"] is not None and size > entry["allowed"] * (1 + max(close, 1e-12)):
            yield f"norms.{name} ({size} stated, {entry['allowed']} allowed)"


def _same(stated: Any, found: Any, close: float) -> bool:
    if stated is None or found is None:
        return stated is None and found is None
    return math.isclose(float(stated), found, rel_tol=close, abs_tol=close * 1e-3)


def _numbers(claim: Claim) -> dict[str, Any]:
    given = claim.certificate
    head, s, T = given["head"], claim.sparsity, claim.length
    t = claim.tensors
    bag, free = claim.bag, given["claim"]["mapping"] == "trainable"
    vector = claim.inputs == s and (s > 1 or given["lemmas"][1] == "B.6")
    printed = given["variant"] == "printed"
    gamma = float(head["gamma"])
    heat = max(float(np.linalg.norm(t[f"head.{h}.W_Q"])) for h in range(claim.heads))
    out: dict[str, Any] = {"head.heads": claim.heads, "head.R": heat}
    out["head.error_target"] = gamma / 4
    marks = t["V"] if bag else t["P"]
    delta = 0.0 if free else _coherence(marks)
    out["basis.Delta_measured"] = delta
    out["basis.d"] = len(t["cls"])
    out["mlp.q"] = claim.inputs
    if printed:
        rho, reach = (0.0 if free else s * delta), 1.0
    else:
        bound, found, reach = _overlaps(marks, claim.positions, delta, free, bag, vector)
        out |= {"head.rho_bound": bound if math.isfinite(bound) else None}
        out |= {"head.rho_measured": found, "head.reach": reach}
        measured = head["rho_kind"] == "measured"
        rho = found if measured else bound
        out["head.rho_used"] = rho
        reach = reach if measured else 1.0
        out["norms.W_Q.allowed"] = _heat(T, s, gamma, rho, bag, vector, reach)
    alone = bag or vector
    leak = (T if alone else (T + 1 - s) / s) * math.exp(-heat * (1 - rho))
    out["head.leakage_bound"] = leak
    largest = (1 if vector else s) + reach if bag else 2.0
    out["head.error_bound"] = leak * largest
    width = float(given["mlp"]["delta"])
    if not math.isclose(width, gamma / (8 if printed else 4), rel_tol=1e-9):
        out["mlp.delta"] = gamma / (8 if printed else 4)
    out["mlp.slack"] = width - leak * largest
    centres = _centres(s, bag, vector)
    out |= {"mlp.centres": len(centres), "mlp.separation": _apart(centres)}
    return out | _norms(claim, centres, width, bag, vector, free)


def _coherence(rows: np.ndarray) -> float:
    gram = np.abs(rows @ rows.T)
    return float((gram - np.diag(np.diag(gram))).max())


def _overlaps(
    marks: np.ndarray, positions: np.ndarray, delta: float, free: bool, bag: bool, vector: bool
) -> tuple[float, float, float]:
    """The theory's overlap, the measured one, and the largest value of an irrelevant token."""
    if free:
        return 0.0, 0.0, 0.0
    s = len(positions)
    inside = marks[positions]
    if vector and not bag:
        cross = marks @ inside.T
        own = np.zeros_like(cross, dtype=bool)
        own[positions, np.arange(s)] = True
        found = max(0.0, float(cross[~own].max(initial=0.0)))
        return delta, found, found
    duals = np.linalg.pinv(inside).T
    cross = np.delete(marks, positions, axis=0) @ duals.T
    total = cross.sum(axis=1)
    bound = s * delta / (1 - (s - 1) * delta) if (s - 1) * delta < 1 else math.inf
    reach = np.abs(cross if vector else total).max(initial=0.0)
    return bound, max(0.0, float(total.max(initial=0.0))), float(reach)


def _heat(T: int, s: int, gamma: Real, rho: Real, bag: bool, vector: bool, reach: Real) -> float:
    if bag:
        times = max(1.0, (1 + reach) / 2) if vector else max(s, (s + reach) / 2)
    else:
        times = 1.0 if vector else 1 / s
    return (math.log(8) + math.log(T + 1) + math.log(times) - math.log(gamma)) / (1 - rho)


def _centres(s: int, bag: bool, vector: bool) -> np.ndarray:
    if vector:
        bits = np.array([[a >> j & 1 for j in range(s)] for a in range(2**s)], dtype=float)
        return (bits - 1) / (bits.sum(axis=1, keepdims=True) + 1) if bag else 1 - 2 * bits
    r = np.arange(s + 1.0)
    return ((r - s) / (r + 1) if bag else 1 - 2 * r / s)[:, None]


def _apart(centres: np.ndarray) -> float:
    return min(float(np.abs(a - b).max()) for i, a in enumerate(centres) for b in centres[i + 1 :])


def _norms(
    claim: Claim,
    centres: np.ndarray,
    width: float,
    bag: bool,
    vector: bool,
    free: bool,
) -> dict[str, Any]:
    t, s = claim.tensors, claim.sparsity
    head = claim.certificate["head"]
    out: dict[str, Any] = {}
    for name in ("W_Q", "W_K", "W_V", "W_C"):
        sizes = [math.sqrt(float((t[f"head.{h}.{name}"] ** 2).sum())) for h in range(claim.heads)]
        out[f"norms.{name}.frobenius"] = max(sizes)
    keys = s + 1 if bag else 1 if vector or free else s
    void = head["rho_kind"] == "measured" and not (head["rho_bound"] or math.inf) < 1
    out |= {
        "norms.W_K.allowed": None if void else keys,
        "norms.W_V.allowed": None if void else 2 * s if bag else 2,
        "norms.W_C.allowed": s if bag else 1,
    }
    if free:
        out["norms.P_21.value"] = float(np.sqrt((t["P"] ** 2).sum(axis=1)).sum())
        out["norms.P_21.allowed"] = s
    for name in ("W_1", "W_2", "w"):
        out[f"norms.{name}.max"] = float(np.abs(t[f"mlp.{name}"]).max())
    far = float(np.abs(centres).max())
    out["norms.W_1.allowed"] = max(1 / width, far / width + 2)
    out["norms.W_2.allowed"] = max(1, centres.shape[1])
    out["norms.w.allowed"] = float(np.abs(claim.values).max())
    return out
