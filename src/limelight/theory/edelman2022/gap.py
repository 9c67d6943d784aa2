r"""From a covering number to a bound on the generalisation gap."""

import math
from dataclasses import dataclass

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.covering import Covering, at_least_zero, dudley

Form = str


@dataclass(frozen=True)
class GapBound:
    """A bound on the gap between training and test loss.

    Args:
        value: The bound, never above the range of the loss.
        complexity: The bound on the Rademacher complexity that it rests on.
        uncut: The bound before it was cut at the range of the loss.
        vacuous: Whether it says nothing that the range of the loss does not say.

    Example:
        >>> GapBound(value=0.1, complexity=0.02, uncut=0.1, vacuous=False).vacuous
        False
    """

    value: Real
    complexity: Real
    uncut: Real
    vacuous: bool


def rademacher(capacity: Real, bound: Real, examples: Real, form: Form = "standard") -> float:
    r"""Rademacher complexity when $\ln \mathcal N(\epsilon) \le C_F / \epsilon^2$ and $|f| \le A$.

    With $q = \sqrt{C_F / m}$: $A$ if $3 q \ge A$, else $\min(A, 12 q (1 + \ln(A / 3q)))$, which is
    Dudley's integral cut at its best place. `paper` is $\min(A, 12 q (1 + \ln(A / q)))$, the
    printed shape with the same explicit constant.

    Notation: `capacity` is $C_F$, `bound` $A$, `examples` $m$.
    Departures: the printed constant is hidden; 12 is valid.

    Example:
        >>> rademacher(100.0, 1.0, 1e6) < rademacher(100.0, 1.0, 1e4)
        True

    Reference: edelman2022, Lemma A.5.
    """
    q = math.sqrt(capacity / examples)
    floor = q if form == "paper" else 3 * q
    if floor >= bound:
        return bound
    return min(bound, 12 * q * (1 + math.log(bound / floor))) if q > 0 else 0.0


def generalisation_gap(
    capacity: Real | Covering,
    *,
    bound: Real,
    examples: Real,
    delta: Real = 0.05,
    lipschitz: Real = 1.0,
    loss_range: Real = 1.0,
    form: Form = "standard",
    steps: int = 240,
) -> GapBound:
    r"""The gap that holds for all functions of the class with probability $1 - \delta$.

    `standard` $2 L\,\mathrm{Rad} + b \sqrt{\ln(2/\delta) / 2m}$; `textbook`
    $2 L\,\mathrm{Rad} + 3 b \sqrt{\ln(4/\delta) / 2m}$; `paper`
    $4 L\,\mathrm{Rad} + 2 b \sqrt{\ln(1/\delta) / 2m}$.

    Departures: `standard` is ours: the complexity bound holds for every sample, hence also in
        expectation, and one bounded-difference step per side is enough. It implies the paper's form
        for $\delta \le 0.79$.

    Args:
        capacity: $C_F$ of the closed form, or $\ln \mathcal N$ as a function of the resolution,
            for which Dudley's integral is minimised numerically.
        bound: $A \ge |f|$, the largest absolute value of a function.
        examples: $m$, the size of the training set.
        delta: $\delta$, the probability of failure.
        lipschitz: $L$ of the loss.
        loss_range: Losses lie between 0 and this, $b$.
        form: See above.
        steps: Grid of the numerical integral.

    Example:
        >>> gap = lambda n: generalisation_gap(100.0, bound=1.0, examples=n)
        >>> [round(gap(n).value, 3) for n in (1e6, 1e8, 1e10)], gap(1e6).vacuous
        ([1.0, 0.164, 0.022], True)

    Reference: edelman2022, Lemma 2.2 (Lemma A.5).
    """
    if not (0 < delta < 1 and examples >= 1 and loss_range > 0):
        raise InputError(
            f"delta = {delta}, examples = {examples}, loss_range = {loss_range}",
            "a probability, at least one example, and a positive range",
        )
    at_least_zero(bound=bound, lipschitz=lipschitz)
    if callable(capacity):
        complexity, cut = dudley(capacity, bound, examples, steps=steps)
        trivial = cut >= bound > 0
    else:
        at_least_zero(capacity=capacity)
        complexity = rademacher(capacity, bound, examples, form)
        trivial = 3 * math.sqrt(capacity / examples) >= bound > 0
    chance = {
        "standard": loss_range * math.sqrt(math.log(2 / delta) / (2 * examples)),
        "textbook": 3 * loss_range * math.sqrt(math.log(4 / delta) / (2 * examples)),
        "paper": 2 * loss_range * math.sqrt(math.log(1 / delta) / (2 * examples)),
    }
    if form not in chance:
        raise InputError(f"unknown form {form!r}", "standard, textbook or paper")
    uncut = (4 if form == "paper" else 2) * lipschitz * complexity + chance[form]
    vacuous = trivial or uncut >= loss_range
    return GapBound(min(uncut, loss_range), complexity, uncut, vacuous)
