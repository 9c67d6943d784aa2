r"""Thresholds: the size at which half (or another share) of the trials succeed.

The curve is logistic in the logarithm of the size, fitted by maximum likelihood with a bounded
slope. Intervals are profile likelihoods with a continuity correction (`likelihood.Curve.accepts`):
a normal interval is useless here because sharp transitions separate perfectly, and then the
curvature at the maximum says nothing.

What the interval covers is the size at which the true rate crosses `rate`. Its curves may be as
steep as a step, so a transition of any sharpness is inside the model, and a nominal 95 % was 94 to
100 % in simulation (6 to 16 sizes, 10 to 50 trials each). A transition shallower than the least
slope, or of another shape, is outside: the interval then speaks of the logistic curve nearest to
the truth, and the more trials, the less it covers the crossing. A normal curve is near enough
(95 %); with 50 trials at 16 sizes a complementary log-log curve was covered in 45 to 88 %, a rate
that saturates at 0.95 in 27 to 94 %. `Threshold.bracket` needs no shape.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from limelight._core.errors import InputError
from limelight.fit._inputs import Numbers, check_level, counts, numbers
from limelight.fit._likelihood import Curve
from limelight.fit.intervals import exact

#: Least and largest slope of a fitted curve, and how far beyond the sizes a threshold may lie, in
#: log units.
SLOPES, REACH = (0.5, 20.0), 2.0


@dataclass(frozen=True, eq=False)
class Threshold:
    """A fitted threshold, its interval, and what it rests on.

    Args:
        value: The size at which the fitted curve passes `rate`; at a limit of the range when the
            data push it there, NaN without trials.
        interval: Ends of the profile-likelihood interval.
        slope: Slope in the logarithm of the size; negative for a falling curve.
        resolved: Some size has an observed rate below `rate` and some larger one a rate at or
            above it (for a falling curve: the failures do).
        censored_low: The data do not bound the threshold from below; the lower end is the limit.
        censored_high: The same from above.
        n: Trials it rests on.
        x: The sizes that have trials, sorted, distinct.
        rates: Observed success rates there.
        trials: Trials there.
        rate: The rate that defines the threshold.
        level: Confidence of the interval.

    Example:
        >>> import limelight as ll
        >>> found = ll.fit.fit_threshold([2, 8, 32], [1, 5, 10], [10, 10, 10])
        >>> round(found.value, 1), found.resolved
        (7.0, True)
    """

    value: float
    interval: tuple[float, float]
    slope: float
    resolved: bool
    censored_low: bool
    censored_high: bool
    n: int
    x: Float[np.ndarray, " x"] = field(repr=False)
    rates: Float[np.ndarray, " x"] = field(repr=False)
    trials: Float[np.ndarray, " x"] = field(repr=False)
    rate: float = 0.5
    level: float = 0.95

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.interval[1]

    def bracket(self) -> tuple[float, float]:
        """A wider interval that assumes nothing of the curve but that it is monotone.

        From the largest size whose rate is surely on the near side of `rate` to the smallest that
        is surely beyond it, by exact intervals at a level shared out over the sizes (Bonferroni).
        0 or infinity where no size is sure; ends out of order say that no monotone curve fits.
        """
        if not self.n:
            return 0.0, np.inf
        each = 1 - (1 - self.level) / len(self.x)
        low, high = exact(np.round(self.rates * self.trials), self.trials, each)
        under, over = high < self.rate, low > self.rate
        if self.slope < 0:
            under, over = over, under
        return float(self.x[under].max(initial=0.0)), float(self.x[over].min(initial=np.inf))

    @property
    def open_ends(self) -> tuple[float, float]:
        """The interval for a picture: an end that the data do not bound is 0 or infinite."""
        low, high = self.interval
        return 0.0 if self.censored_low else low, np.inf if self.censored_high else high

    def __str__(self) -> str:
        low, high = self.interval
        ends = f"[{'<' * self.censored_low}{low:.3g}, {'>' * self.censored_high}{high:.3g}]"
        return f"{self.value:.3g} {ends}{'' if self.resolved else ', unresolved'}, n = {self.n}"


def fit_threshold(
    x: Numbers,
    successes: Numbers,
    trials: Numbers,
    level: float = 0.95,
    *,
    rate: float = 0.5,
    increasing: bool = True,
) -> Threshold:
    r"""Size at which the success rate passes `rate`, by maximum likelihood, with its interval.

    $$P(\text{success at } x) = \frac{1}{1 + \exp(-k(\log x - \log x_q) - \operatorname{logit} q)}$$

    with $k$ in `slopes` and $x_q$ in $[x_{\min} e^{-\text{reach}}, x_{\max} e^{\text{reach}}]$.
    The interval holds every threshold that the profile likelihood, with a half-success continuity
    correction, does not reject. Under perfect separation it holds the whole gap between the last
    failure and the first success (with few trials, more); it never has zero width. Where the data
    bound one side only, the other end is the limit and is flagged; without any trial the value is
    NaN and the interval is everything.

    Notation: `rate` is $q$; with $q = 1/2$, `value` is li2023's $N_{50}$.
    Departures: the slope of the value is limited as specified, that of the interval only from
        below: with 20 as its limit, an interval from 16 sizes would never cover a step just above
        one of them.

    Args:
        x: Sizes, positive; equal sizes are merged.
        successes: Successes at each size.
        trials: Trials at each size; sizes without trials are dropped.
        level: Confidence of the interval.
        rate: The rate that defines the threshold.
        increasing: Whether the rate rises with the size; a falling curve is fitted by its failures.

    Returns:
        The threshold; `resolved` says whether the data show a crossing at all.

    Example:
        >>> fit = fit_threshold([10, 20, 40, 80], [0, 0, 10, 10], [10, 10, 10, 10])
        >>> round(fit.value, 2), fit.resolved  # nothing between 20 and 40: the middle, in logs
        (28.28, True)
        >>> round(fit.low, 3), round(fit.high, 3)  # a step anywhere in the gap fits as well
        (20.0, 40.0)

    Reference: li2023, specification of $N_{50}$; profile likelihood, McCullagh and Nelder (1989),
        section 4.4.
    """
    check_level(level)
    x, s, n = merge(x, np.atleast_2d(numbers(successes, "successes")), trials)
    used = n[0] > 0
    x, s, n = x[used], s[:, used], n[:, used]
    rates = s[0] / n[0]
    q, s = _rising(s, n, rate, increasing)
    total = int(n.sum())
    if not total:
        nothing = (np.nan, (0.0, np.inf), np.nan, False, True, True)
        return Threshold(*nothing, 0, x, rates, n[0], rate, level)
    curve = _curve(x, q)
    t, k, _ = curve.maximise(s, n)
    low, high, cut_low, cut_high = curve.interval(s, n, level, float(t[0]))
    return Threshold(
        value=float(np.exp(t[0])),
        interval=(float(np.exp(low)), float(np.exp(high))),
        slope=float(k[0]) if increasing else -float(k[0]),
        resolved=bool(_crosses(s, n, q)[0]),
        censored_low=cut_low,
        censored_high=cut_high,
        n=total,
        x=x,
        rates=rates,
        trials=n[0],
        rate=rate,
        level=level,
    )


def threshold_values(
    x: Numbers,
    successes: Numbers,
    trials: Numbers,
    *,
    rate: float = 0.5,
    increasing: bool = True,
) -> Float[np.ndarray, " draws"]:
    """Maximum-likelihood thresholds of many data sets of one design, without intervals.

    Args:
        x: Sizes.
        successes: Successes, draws by sizes.
        trials: Trials at each size, or draws by sizes.
        rate: The rate that defines the threshold.
        increasing: Whether the rate rises with the size.

    Returns:
        One threshold per draw; NaN for a draw without trials.

    Example:
        >>> values = threshold_values([10, 20, 40], [[0, 5, 10], [0, 0, 10]], [10, 10, 10])
        >>> values.round(2)
        array([20.  , 28.28])
    """
    x, s, n = merge(x, successes, trials)
    used = (n > 0).any(axis=0)
    x, s, n = x[used], s[:, used], n[:, used]
    if not x.size or not len(s):
        return np.full(len(s), np.nan)
    q, s = _rising(s, n, rate, increasing)
    t, _, _ = _curve(x, q).maximise(s, n)
    return np.where(n.sum(axis=1) > 0, np.exp(t), np.nan)


def resolved(
    x: Numbers,
    successes: Numbers,
    trials: Numbers,
    *,
    rate: float = 0.5,
    increasing: bool = True,
) -> Bool[np.ndarray, " draws"]:
    """Whether some size is below `rate` and some larger size is at or above it, for every draw.

    Example:
        >>> resolved([1, 2], [[0, 9], [9, 0], [9, 9]], [10, 10])
        array([ True, False, False])
    """
    _, s, n = merge(x, successes, trials)
    q, s = _rising(s, n, rate, increasing)
    return _crosses(s, n, q)


def merge(x: Numbers, successes: Numbers, trials: Numbers):
    """Sizes sorted and distinct, with counts `[draws, x]` added up; refuses what is not counts.

    Example:
        >>> x, s, n = merge([4, 2, 4], [[1, 0, 2]], [5, 5, 5])
        >>> x.tolist(), s.tolist(), n.tolist()
        ([2.0, 4.0], [[0.0, 3.0]], [[5.0, 10.0]])
    """
    sizes, s, n = numbers(x, "x"), numbers(successes, "successes"), numbers(trials, "trials")
    if sizes.ndim != 1 or not sizes.size:
        raise InputError("a threshold needs a list of sizes", "give x, successes and trials")
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise InputError("sizes must be positive numbers", "the curve is logistic in log x")
    if s.ndim != 2 or s.shape[1] != sizes.size or n.shape not in (s.shape, sizes.shape):
        raise InputError(
            f"{sizes.size} sizes do not match successes {s.shape} and trials {n.shape}",
            "successes is draws by sizes, trials is one number per size",
        )
    s, n = counts(s, n)
    distinct, place = np.unique(sizes, return_inverse=True)
    add = (place[:, None] == np.arange(distinct.size)).astype(float)
    return distinct, s @ add, n @ add


def _rising(s, n, rate: float, increasing: bool):
    if not 0 < rate < 1:
        raise InputError(f"the rate of a threshold lies between 0 and 1, not {rate}")
    return (rate, s) if increasing else (1 - rate, n - s)


def _curve(x, rate: float) -> Curve:
    u = np.log(x)
    return Curve(u, rate, SLOPES, (float(u[0] - REACH), float(u[-1] + REACH)))


def _crosses(s, n, rate: float) -> Bool[np.ndarray, " draws"]:
    below, above = (n > 0) & (s < rate * n), (n > 0) & (s >= rate * n)
    earlier = np.logical_or.accumulate(below, axis=1)[:, :-1]
    return (earlier & above[:, 1:]).any(axis=1)
