r"""What a construction's position vectors are, and how much irrelevant positions score.

Measured on the stored rows, apart from the builder.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from limelight._core.arrays import Real
from limelight.certificate._claim import ConstructionClaim


class LemmaKind(NamedTuple):
    """Which of the lemmas a certificate follows.

    Args:
        free: The positions' vectors are trained, so that all but the relevant ones are zero.
        vector: A head for every relevant position, not one for their sum.
        printed: As the paper prints it, not repaired.
    """

    free: bool
    vector: bool
    printed: bool


@dataclass(frozen=True)
class RecomputedOverlap:
    r"""The theory's $\rho$, the measured one, the one used, and how far irrelevant tokens reach.

    Args:
        bound: From the largest inner product; infinite where the theory says nothing.
        measured: On the vectors themselves.
        kind: Which of the two the temperature was made from: `bound` or `measured`.
        reach: The largest value that an irrelevant token adds.
    """

    bound: Real
    measured: Real
    kind: str
    reach: Real

    @property
    def used(self) -> float:
        """The one that the temperature was made from."""
        return float(self.measured if self.kind == "measured" else self.bound)

    @property
    def wide(self) -> float:
        """What an irrelevant token can add in a bag, as far as it is known."""
        return float(self.reach if self.kind == "measured" else 1.0)


def basis(claim: ConstructionClaim, free: bool) -> dict[str, Any]:
    """The basis that the stored vectors are, whatever the certificate calls them."""
    stated = claim.certificate.get("basis")
    stated = stated if isinstance(stated, dict) else {}
    out: dict[str, Any] = {"kind": "unknown", "d": len(claim.tensors["cls"]), "seed": None}
    out |= {"p": None, "Delta_measured": 0.0, "Delta_bound": 0.0}
    if free:
        return out | {"kind": "none"}
    rows = claim.tensors["V" if claim.bag else "P"]
    extra = 1 if claim.bag else 3  # [CLS], and the two symbols, have coordinates of their own
    vectors, rest = rows[:, :-extra], rows[:, -extra:]
    delta = out["Delta_measured"] = _coherence(rows)
    kind, size = stated.get("kind"), vectors.shape[1]
    like = lambda other: vectors.shape == other.shape and np.allclose(vectors, other, 1e-6, 1e-6)
    if rest.any():
        return out
    if kind == "orthonormal" and like(np.eye(len(vectors))):
        return out | {"kind": kind}
    if kind == "chirp" and size % 2 == 0 and like(_chirps(len(vectors), size // 2)):
        return out | {"kind": kind, "p": size // 2, "Delta_bound": (size // 2) ** -0.5}
    if kind == "signs" and np.allclose(np.abs(vectors), size**-0.5, 1e-6):
        aim, seed = stated.get("Delta_bound"), stated.get("seed")
        fits = isinstance(aim, int | float) and not isinstance(aim, bool) and aim >= delta
        whole = isinstance(seed, int) and not isinstance(seed, bool)
        return out | {
            "kind": kind,
            "seed": seed if whole else 0,
            "Delta_bound": aim if fits else delta,
        }
    return out


def overlaps(
    claim: ConstructionClaim, delta: Real, kind: str, lemma: LemmaKind
) -> RecomputedOverlap:
    """How irrelevant positions score, by the lemma and by the vectors."""
    s = claim.sparsity
    if lemma.printed:
        rho = 0.0 if lemma.free else s * delta
        return RecomputedOverlap(rho, rho, "bound", 1.0)
    if lemma.free:
        return RecomputedOverlap(0.0, 0.0, "bound", 0.0)
    rows = claim.tensors["V" if claim.bag else "P"]
    inside = rows[claim.positions]
    kind = "measured" if kind == "measured" else "bound"
    if lemma.vector and not claim.bag:
        cross = rows @ inside.T
        own = np.zeros_like(cross, dtype=bool)
        own[claim.positions, np.arange(s)] = True
        found = max(0.0, float(cross[~own].max(initial=0.0)))
        return RecomputedOverlap(delta, found, kind, found)
    duals = np.linalg.pinv(inside).T
    cross = np.delete(rows, claim.positions, axis=0) @ duals.T
    total = cross.sum(axis=1)
    bound = s * delta / (1 - (s - 1) * delta) if (s - 1) * delta < 1 else math.inf
    reach = np.abs(cross if lemma.vector else total).max(initial=0.0)
    found = max(0.0, float(total.max(initial=0.0)))
    return RecomputedOverlap(bound, found, kind, float(reach))


def _coherence(rows: np.ndarray) -> float:
    gram = np.abs(rows @ rows.T)
    return float((gram - np.diag(np.diag(gram))).max())


def _chirps(count: int, p: int) -> np.ndarray:
    """Row t carries the phase (t mod p) n^2 + floor(t / p) n, in turns of 1/p."""
    n, t = np.arange(p), np.arange(count)[:, None]
    waves = np.exp(2j * np.pi * ((t % p * n % p * n + t // p * n) % p) / p) / p**0.5
    return np.hstack([waves.real, waves.imag])
