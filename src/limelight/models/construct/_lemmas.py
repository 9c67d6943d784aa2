r"""The numbers of the constructions: targets, temperatures, leakage, error bounds, allowed norms.

Notation: $T$ positions (and a [CLS] token, which is attended to as well), $s$ relevant ones, $I$
their set, $r$ the ones in $I$, $\gamma$ how far apart the targets are, $R$ the temperature, $\rho$
how much an irrelevant position can score against a relevant one's 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.models.construct._selectors import dual, key_sum
from limelight.worlds._rules import patterns

Mapping = str
LEMMAS = {"deterministic": "B.2", "trainable": "B.3", "bag": "B.4"}


@dataclass(frozen=True)
class Overlap:
    r"""How irrelevant positions score: the theory's $\rho$, the measured one, two-sided reach.

    Args:
        bound: $s \Delta / (1 - (s - 1) \Delta)$, or $\Delta$ with one head per position; infinite
            where the theory says nothing.
        measured: $\max(0, \max_t v_t^\top u_I)$ over $t$ outside $I$.
        reach: The largest value that an irrelevant token adds in a bag, in absolute value.
        used: The one the temperature is made from.
    """

    bound: Real
    measured: Real
    reach: Real
    used: Real

    @property
    def from_measurement(self) -> bool:
        """Whether the theory's bound does not apply or was not used."""
        return self.used != self.bound


def overlap(
    mapping: Mapping,
    many: bool,
    vectors: Float[np.ndarray, "length dimension"],
    positions: np.ndarray,
    delta: Real,
    prefer: str = "auto",
) -> Overlap:
    r"""$\rho$ from the basis' $\Delta$ and from the vectors themselves.

    Departures: dual keys are ours; $\rho < 1$ needs $(2 s - 1) \Delta < 1$ for the bound, and only
        invertible $G$ for the measurement.
    """
    if mapping == "trainable":
        return Overlap(0.0, 0.0, 0.0, 0.0)
    s = len(positions)
    chosen = vectors[positions]
    outside = np.delete(vectors, positions, axis=0)
    single = mapping == "deterministic" and many
    if single:
        bound = delta
        cross = vectors @ chosen.T
        cross[positions, np.arange(s)] = 0.0  # a head's own position; the other s - 1 are outside
        measured = reach = float(max(0.0, cross.max(initial=0.0)))
    else:
        bound = s * delta / (1 - (s - 1) * delta) if (s - 1) * delta < 1 else math.inf
        if np.linalg.cond(chosen @ chosen.T) > 1e12:
            raise InputError(
                "the vectors of the relevant positions are linearly dependent",
                "another basis, or more coordinates",
            )
        scores = outside @ key_sum(chosen)
        measured = float(max(0.0, scores.max(initial=0.0)))
        parts = outside @ dual(chosen).T if many else scores
        reach = float(np.abs(parts).max(initial=0.0))
    trusted = prefer == "bound" or (prefer == "auto" and bound < 1)
    used = bound if trusted else measured
    if not used < 1:
        raise InputError(
            f"irrelevant positions score up to {used:.3g} of the relevant ones",
            "a basis with a smaller Delta (more coordinates), or fewer relevant positions",
        )
    return Overlap(bound, measured, reach, used)


def largest_gamma(mapping: Mapping, many: bool, sparsity: int) -> float:
    r"""How far apart the targets are: $2/s$ or 2 with positions, $1/s$ in a bag."""
    if mapping == "bag":
        return 1.0 / sparsity
    return 2.0 if many else 2.0 / sparsity


def usual_gamma(mapping: Mapping, many: bool, sparsity: int) -> float:
    """The gamma taken when none is given: the largest, and 1 for one head per position."""
    return min(1.0 if many and mapping != "bag" else 2.0, largest_gamma(mapping, many, sparsity))


def temperature(
    mapping: Mapping, many: bool, length: int, sparsity: int, gamma: Real, rho: Overlap
) -> float:
    r"""$R$ such that attention errs by at most $\gamma / 4$.

    $\ln(8 (T+1) / s\gamma) / (1 - \rho)$ for one head on positions, $\ln(8 (T+1) / \gamma) /
    (1 - \rho)$ for one head per position and for the vector bag,
    $\ln(8 (T+1) s / \gamma) / (1 - \rho)$ for the scalar bag.

    Departures: $T + 1$ because [CLS] takes part in the softmax; $1 - \rho$ where $1 - s \Delta$ is
        printed. A bag with a measured $\rho$ takes the measured reach into the logarithm.

    Reference: edelman2022, Lemmas B.2 to B.4.
    """
    factor = 1.0 if many else 1.0 / sparsity
    if mapping == "bag":
        wide = rho.reach if rho.from_measurement else 1.0
        factor = max(1.0, (1 + wide) / 2) if many else max(sparsity, (sparsity + wide) / 2)
    return math.log(8 * (length + 1) * factor / float(gamma)) / float(1 - rho.used)


def leakage(
    mapping: Mapping, many: bool, length: int, sparsity: int, heat: Real, rho: Real
) -> float:
    r"""Attention that can miss the favoured tokens, $q \le \frac{T + 1 - |F|}{|F|} e^{-R(1-\rho)}$.

    $|F| = s$ for one head on positions; 1 for one head per position, and in a bag whose relevant
    bits are all 0, where [CLS] stands alone.
    """
    favoured = sparsity if mapping != "bag" and not many else 1
    return (length + 1 - favoured) / favoured * math.exp(-heat * (1 - rho))


def error_bound(mapping: Mapping, many: bool, sparsity: int, leaked: Real, rho: Overlap) -> float:
    r"""How far the head can be from its target: $q$ times (largest target + other value)."""
    if mapping != "bag":
        return 2 * float(leaked)
    wide = rho.reach if rho.from_measurement else 1.0
    return float(leaked * ((1 if many else sparsity) + wide))


def targets(mapping: Mapping, many: bool, sparsity: int) -> Float[np.ndarray, "cases outputs"]:
    r"""What the head outputs without leakage: a row for each count of ones, or for each pattern."""
    if many:
        bits = patterns(sparsity)
        if mapping == "bag":
            return (bits - 1.0) / (bits.sum(axis=1, keepdims=True) + 1.0)
        return 1.0 - 2.0 * bits
    ones = np.arange(sparsity + 1.0)[:, None]
    return (ones - sparsity) / (ones + 1) if mapping == "bag" else 1 - 2 * ones / sparsity


def allowed_norms(mapping: Mapping, many: bool, sparsity: int, heat: Real) -> dict[str, float]:
    r"""What the lemmas allow the Frobenius norms of a head to be."""
    if mapping == "bag":
        keys, values, outputs = sparsity + 1.0, 2.0 * sparsity, float(sparsity)
    else:
        keys = float(sparsity) if mapping == "deterministic" and not many else 1.0
        values, outputs = 2.0, 1.0
    return {"W_Q": float(heat), "W_K": keys, "W_V": values, "W_C": outputs}


def printed_temperature(
    mapping: Mapping, many: bool, length: int, sparsity: int, gamma: Real, delta: Real
) -> float:
    r"""$R$ as printed; void where its denominator or its logarithm is.

    Reference: edelman2022, Lemmas B.2 to B.4.
    """
    if mapping == "trainable":
        return math.log(8 * length / gamma)
    below = 1 - sparsity * delta
    inside = 8 * length / gamma
    if mapping == "bag":
        room = gamma - sparsity * delta
        if room <= 0:
            raise InputError(
                f"the printed lemma needs gamma > s Delta, here {gamma:.3g} and"
                f" {sparsity * delta:.3g}"
            )
        inside = 8 * length * sparsity * (1 + delta) / room
    if below <= 0:
        raise InputError(f"the printed lemma needs s Delta < 1, here {sparsity * delta:.3g}")
    return math.log(inside) / below
