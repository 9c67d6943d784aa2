r"""Two lines to read the experiments against: what suffices for a learner, and what none can miss.

The first is a learner that takes any AND its sample allows.

A wrong $s$-AND that shares $k$ of the $s$ true bits errs on a random input with probability
$2^{1-s}(1 - 2^{k-s})$, so it survives $m$ examples with probability $a_k^m$,
$a_k = 1 - 2^{1-s}(1 - 2^{k-s})$. The expected number of survivors is

$$E(T, m) = \sum_{k<s} \binom{s}{k} \binom{T-s}{s-k} a_k^m,$$

and once it is below one half, some AND other than the true one is left in less than half of the
samples (Markov). So that many examples suffice for any consistent learner in most samples; a lucky
one may do with fewer.
"""

import math

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition

#: Expected survivors below which the sample is called enough.
ENOUGH = 0.5


def agreement(shared: int, sparsity: int = 3) -> float:
    """Probability that two ANDs of `sparsity` bits, `shared` of them common, agree on an input.

    Example:
        >>> [agreement(k) * 64 for k in range(3)]
        [50.0, 52.0, 56.0]
    """
    return 1.0 - 2.0 ** (1 - sparsity) * (1.0 - 2.0 ** (shared - sparsity))


def survivors(length: int, examples: Real, sparsity: int = 3) -> float:
    """Expected number of wrong ANDs that agree with all examples.

    Example:
        >>> round(survivors(4, 0))  # the other three triples of four bits
        3
    """
    _check(length, sparsity)
    return math.fsum(
        math.comb(sparsity, k)
        * math.comb(length - sparsity, sparsity - k)
        * agreement(k, sparsity) ** examples
        for k in range(sparsity)
    )


def examples_needed(length: int, sparsity: int = 3) -> int:
    """Fewest examples with less than half a survivor expected.

    Example:
        >>> [examples_needed(T) for T in (50, 100, 200, 400, 800)]
        [49, 56, 63, 71, 79]
    """
    low, high = 0, 1
    while survivors(length, high, sparsity) >= ENOUGH:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if survivors(length, middle, sparsity) < ENOUGH:
            high = middle
        else:
            low = middle
    return high


def consistent(length: int = 100, sparsity: int = 3, examples: Real = 100) -> Bound:
    """What any consistent learner of an AND needs. Reference: edelman2022, Section 5."""
    return Bound(
        "examples for a consistent learner",
        examples_needed(length, sparsity),
        "prediction",
        (
            Condition(
                "expected wrong survivors", survivors(length, examples, sparsity), "<", ENOUGH
            ),
        ),
        quantities={
            f"agreement with {k} shared bits": agreement(k, sparsity) for k in range(sparsity)
        },
        notes=("the reference line of Figure 2; derived here, not in the paper",),
        reference="edelman2022, Section 5",
    )


def least_examples(length: int, sparsity: int = 3, chance: Real = 0.5) -> float:
    r"""Examples without which no learner finds the hidden AND with a given chance.

    Given the inputs, $m$ labels are one of $2^m$ words, so whatever a learner does with them it can
    be right for at most $2^m$ of the $N = \binom{T}{s}$ subsets: its chance is at most $2^m / N$.
    A function with an accuracy above $1 - 2^{-s-1}$ names its subset, since two ANDs of $s$ bits
    differ on $2^{-s}$ of the inputs at least.

    Example:
        >>> [round(least_examples(T), 1) for T in (100, 800)]
        [16.3, 25.3]
    """
    _check(length, sparsity)
    if not 0 < chance <= 1:
        raise InputError(f"chance = {chance:g}", "above 0, at most 1")
    return max(math.log2(chance) + math.log2(math.comb(length, sparsity)), 0.0)


def lower(length: int = 100, sparsity: int = 3, chance: Real = 0.5, examples: Real = 100) -> Bound:
    r"""The paper's $\Omega(s \log T)$: one example says at most one bit about the subset.

    Departures: the paper gives the order; with its own argument the constant is that of base 2.

    Reference: edelman2022, Section 5.
    """
    bound = least_examples(length, sparsity, chance)
    return Bound(
        "examples without which no learner finds the subset",
        bound,
        "exact",
        (Condition("examples", examples, ">=", bound),),
        quantities={
            "number of subsets": float(math.comb(length, sparsity)),
            "s log2 T": sparsity * math.log2(length),
            "suffice for a consistent learner": examples_needed(length, sparsity),
        },
        reference="edelman2022, Section 5",
    )


def _check(length: int, sparsity: int) -> None:
    if not 1 <= sparsity <= length <= 10**6:
        raise InputError(
            f"sparsity = {sparsity}, length = {length}", "1 <= sparsity <= length <= 1,000,000"
        )
