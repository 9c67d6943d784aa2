r"""The binomial likelihood of a threshold curve: its maximum, its profile, its accepted thresholds.

$$P(\text{success at } x) = \frac{1}{1 + \exp(-k(\log x - \log x_q) - \operatorname{logit} q)}$$

is a logistic curve in $\log x$ with slope $k$ that passes the rate $q$ at $x_q$ (with $q = 1/2$ the
last term is zero). Everything here works on many data sets of one design at once: counts are
`[draws, x]`, and the coarse search for the maximum is one matrix product for all draws.

In the parameters $(\operatorname{logit} q - k \log x_q, k)$ the log-likelihood is concave, and
$\log x_q$ is a ratio of the two, so the profile likelihood of $\log x_q$ has a single hill and the
thresholds whose profile is above any height form one interval.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, log_expit, logit, ndtri, xlogy

Counts = Float[np.ndarray, "draws x"]
Draws = Float[np.ndarray, " draws"]

STEP = 1e6  # a slope that is a step for any grid that can be told from a point
ALONE = 250_000  # multiplications of a matrix product that one core does sooner than two
TINY = 1e-300  # keeps a vanished variance from dividing by zero


@dataclass(frozen=True, eq=False)
class Curve:
    r"""A design (where was measured) and the curves that may be fitted to it.

    Notation: in the code `u` is $\log x$, `t` is $\log x_q$, `k` the slope, `s` successes of `n`.

    Args:
        u: Natural logarithms of the sizes, sorted, distinct.
        rate: The rate $q$ that defines the threshold.
        slopes: Least and largest slope of the fitted curve.
        limits: Least and largest log threshold.
    """

    u: Float[np.ndarray, " x"]
    rate: float
    slopes: tuple[float, float]
    limits: tuple[float, float]

    def eta(self, t: Draws, k: Draws) -> Counts:
        """Log odds of success at every size, one row per draw."""
        return k[:, None] * (self.u - t[:, None]) + logit(self.rate)

    def maximise(self, s: Counts, n: Counts, slopes: tuple[float, float] | None = None):
        """Maximum likelihood for every draw: `(t, k, log-likelihood)`.

        A grid in `(t, log k)` finds the neighbourhood, Fisher scoring inside the box finishes it.
        """
        slopes = slopes or self.slopes
        t, k = self._coarse(s, n, slopes)
        best = log_likelihood(s, n, self.eta(t, k))
        active = np.arange(len(s))
        for _ in range(60):
            step_t, step_k, gain = self._step(s[active], n[active], t[active], k[active], slopes)
            going = gain > 1e-13 * np.abs(best[active])
            active, step_t, step_k = active[going], step_t[going], step_k[going]
            if not active.size:
                break
            self._climb(s, n, t, k, best, active, step_t, step_k, slopes)
        return t, k, best

    def _coarse(self, s: Counts, n: Counts, slopes: tuple[float, float]) -> tuple[Draws, Draws]:
        t, k, heights = _grid(tuple(self.u.tolist()), self.rate, slopes, self.limits)
        counts = np.concatenate([s, n - s], axis=1)
        same = (counts == counts[0]).all(axis=0)  # what no draw changes is added up once
        heights = np.vstack([heights[~same], counts[0, same] @ heights[same]])
        counts = np.column_stack([counts[:, ~same], np.ones(len(s))])
        rows = max(1, ALONE // heights.size)
        parts = (counts[i : i + rows] @ heights for i in range(0, len(counts), rows))
        index = np.concatenate([part.argmax(axis=1) for part in parts])
        return t[index], k[index]

    def _step(self, s: Counts, n: Counts, t: Draws, k: Draws, slopes: tuple[float, float]):
        """A scoring step that stays in the box, and what it promises to gain.

        Where the free step would leave the box the coordinate stops at its bound and the other one
        is solved for again, so that an iterate reaches a bound instead of creeping up to it.
        """
        d = self.u - t[:, None]
        p = expit(self.eta(t, k))
        residual, w = s - n * p, n * p * (1 - p)
        g_t, g_k = -k * residual.sum(1), (residual * d).sum(1)
        i_tt, i_kk = k**2 * w.sum(1) + TINY, (w * d**2).sum(1) + TINY
        i_tk = -k * (w * d).sum(1)
        slant = i_tk / i_tt
        left = np.maximum(i_kk - slant * i_tk, 1e-10 * i_kk)
        step_k = np.clip(k + (g_k - slant * g_t) / left, *slopes) - k
        step_t = np.clip(t + (g_t - i_tk * step_k) / i_tt, *self.limits) - t
        step_k = np.clip(k + (g_k - i_tk * step_t) / i_kk, *slopes) - k
        return step_t, step_k, g_t * step_t + g_k * step_k

    def _climb(self, s, n, t, k, best, active, step_t, step_k, slopes) -> None:
        """Take the longest of ever shorter steps that gains; in place, for the active draws."""
        for shrink in 0.25 ** np.arange(8):
            new_t = np.clip(t[active] + shrink * step_t, *self.limits)
            new_k = np.clip(k[active] + shrink * step_k, *slopes)
            value = log_likelihood(s[active], n[active], self.eta(new_t, new_k))
            better = value > best[active]
            gained = active[better]
            t[gained], k[gained], best[gained] = new_t[better], new_k[better], value[better]
            active, step_t, step_k = active[~better], step_t[~better], step_k[~better]
            if not active.size:
                return

    def supremum(self, s: Counts, n: Counts) -> Draws:
        """Largest log-likelihood when the slope may grow up to a step.

        Data that a step describes (zeros, at most one mixed size, then ones) have no finite
        maximum; their supremum is the likelihood of the observed rates themselves.
        """
        rates = s / n
        mixed = ((s > 0) & (s < n)).sum(1)
        rest = (mixed > 1) | (np.diff(rates, axis=1) < 0).any(1)
        best = (xlogy(s, rates) + xlogy(n - s, 1 - rates)).sum(1)
        if rest.any():
            steepest = max(self.slopes[1], 60.0 / np.diff(self.u).min())
            _, _, best[rest] = self.maximise(s[rest], n[rest], (self.slopes[0], steepest))
        return best

    def profile(self, s: Counts, n: Counts, t: Draws) -> tuple[Draws, Draws]:
        """Log-likelihood at a given threshold with its best slope, up to a step.

        Also the variance of the number of successes there. The log-likelihood is concave in the
        slope, so bisection of its derivative finds the best one.
        """
        d = self.u - t[:, None]
        low, high = np.log(self.slopes[0]) * np.ones(len(t)), np.log(STEP) * np.ones(len(t))
        for _ in range(28):
            middle = (low + high) / 2
            residual = s - n * expit(self.eta(t, np.exp(middle)))
            rising = (residual * d).sum(1) > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        eta = self.eta(t, np.exp((low + high) / 2))
        p = expit(eta)
        return log_likelihood(s, n, eta), (n * p * (1 - p)).sum(1)

    def accepts(
        self, s: Counts, n: Counts, t: Draws, level: float, best: Draws | None = None
    ) -> Bool[np.ndarray, " draws"]:
        r"""Whether the data leave the log threshold `t` standing at the given confidence.

        With $\Lambda(t)$ twice the drop of the profile log-likelihood below its supremum and $V(t)$
        the variance of the number of successes under the best curve through `t`, the threshold
        stands when

        $$\sqrt{\Lambda(t)} \le \sqrt{\chi^2_{1}(\text{level})} + \frac{1}{2\sqrt{V(t)}}.$$

        The last term is a continuity correction: half a success, in standard errors. Without it a
        nominal 95 % reaches only 0.88 to 0.93 where a sharp transition leaves one or two sizes with
        mixed outcomes, because $\Lambda$ then takes few values; it vanishes as trials grow.
        """
        best = self.supremum(s, n) if best is None else best
        height, variance = self.profile(s, n, t)
        root = np.sqrt(2 * np.maximum(best - height, 0.0))
        return root <= ndtri((1 + level) / 2) + 0.5 / np.sqrt(variance + TINY)

    def interval(
        self, s: Counts, n: Counts, level: float, value: float
    ) -> tuple[float, float, bool, bool]:
        """Ends of the accepted log thresholds of one data set, and whether a limit cut them off."""
        best = self.supremum(s, n)

        def stands(t: Draws) -> Bool[np.ndarray, " draws"]:
            shape = (len(t), s.shape[1])
            ok = self.accepts(
                np.broadcast_to(s, shape),
                np.broadcast_to(n, shape),
                t,
                level,
                np.repeat(best, len(t)),
            )
            return ok | (t == value)

        scan = np.unique(np.concatenate([np.linspace(*self.limits, 201), self.u, [value]]))
        inside = np.flatnonzero(stands(scan))
        first, last = inside[0], inside[-1]
        cut_low, cut_high = bool(first == 0), bool(last == len(scan) - 1)
        beyond = scan[[max(first - 1, 0), min(last + 1, len(scan) - 1)]]
        low, high = _edges(stands, scan[[first, last]], beyond)
        low, high = scan[0] if cut_low else low, scan[-1] if cut_high else high
        return float(low), float(high), cut_low, cut_high


@lru_cache(maxsize=32)
def _grid(
    u: tuple[float, ...], rate: float, slopes: tuple[float, float], limits: tuple[float, float]
):
    """Thresholds and slopes of a grid, and what a success and a failure at each size add there."""
    t, k = np.meshgrid(np.linspace(*limits, 121), np.geomspace(*slopes, 16), indexing="ij")
    t, k = t.ravel(), k.ravel()
    eta = Curve(np.array(u), rate, slopes, limits).eta(t, k).T
    return t, k, np.concatenate([log_expit(eta), log_expit(-eta)])


def log_likelihood(s: Counts, n: Counts, eta: Counts) -> Draws:
    """Binomial log-likelihood of each draw, without the coefficients."""
    return (s * log_expit(eta) + (n - s) * log_expit(-eta)).sum(1)


def _edges(stands, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Where acceptance ends between accepted and rejected points; the rejected side of it."""
    ends = np.arange(len(inside))
    for _ in range(4):
        points = np.linspace(inside, outside, 34)
        ok = stands(points.ravel()).reshape(points.shape)
        ok[0], ok[-1] = True, False
        last = len(ok) - 1 - ok[::-1].argmax(axis=0)
        inside, outside = points[last, ends], points[last + 1, ends]
    return outside
