"""The repaired statements of xu2022, with plain numbers as settings; `printed` has the others."""

import numpy as np

from limelight.theory.base import Bound, Condition
from limelight.theory.xu2022 import certificates, inverses, limit, optimum, prediction
from limelight.theory.xu2022.setting import Number, Setting


def limit_law(
    clusters: int = 10,
    size: int = 50,
    sigma: Number = 0.5,
    lam: Number = 6.0,
    cosine: Number = 0.0,
    masked: bool = False,
) -> Bound:
    """The exact ratio as the dimension goes to infinity, and where it comes from."""
    setting = Setting.equal(clusters, size, sigma, cosine=cosine)
    parts = limit.softmax_parts(setting, lam, masked=masked)
    shares = setting.token_mean(parts.stacked.T) / setting.sigma**2
    return Bound(
        name="ratio |x'-u|/sigma",
        value=float(limit.softmax_ratio(setting, lam, masked=masked)),
        kind="exact",
        quantities={
            f"squared part, {name}": float(share)
            for name, share in zip(parts._fields, shares, strict=True)
        },
        notes=("exact in the limit of large dimension, everything else fixed",),
        reference="xu2022, Theorem 2, repaired",
    )


def finite(
    clusters: int = 10,
    size: int = 50,
    sigma: Number = 0.5,
    dim: int = 384,
    lam: Number = 6.0,
    cosine: Number = 0.0,
    masked: bool = False,
) -> Bound:
    """The finite-dimension prediction with its validity flag."""
    setting = Setting.equal(clusters, size, sigma, dim, cosine)
    found = prediction.softmax(setting, lam, masked=masked)
    return Bound(
        name="ratio |x'-u|/sigma",
        value=float(found.ratio),
        kind="prediction",
        conditions=(Condition("logit spread", float(found.spread), "<=", found.limit),),
        quantities={"limit law": float(limit.softmax_ratio(setting, lam, masked=masked))},
        reference="limelight",
    )


def scaling(sigma: Number = 0.5, separation: Number = 1.4142135623730951) -> Bound:
    """The exponent of the best ratio in the cluster size."""
    return Bound(
        name="best ratio falls as m_k to the power minus",
        value=optimum.scaling_exponent(sigma, separation),
        kind="prediction",
        quantities={"noise level where it turns": float(separation / np.sqrt(2))},
        notes=("leading order, not proved: fixed number of clusters, dimension to infinity first",),
        reference="limelight",
    )


def window(clusters: int = 10, size: int = 100, sigma: Number = 0.7, cosine: Number = 0.0) -> Bound:
    """The repaired Theorem 2 in its limit form: a window of lambda with ratio at most 0.48."""
    return optimum.window(Setting.equal(clusters, size, sigma, cosine=cosine))


def neighbours_certificate(
    clusters: int = 10,
    size: int = 100,
    sigma: Number = 0.3,
    dim: int = 1024,
    cosine: Number = 0.0,
    delta: Number = 0.05,
) -> Bound:
    """T1': every token improves, for all K in a range at once."""
    setting = Setting.equal(clusters, size, sigma, dim, cosine)
    found = certificates.nearest_neighbours(setting, delta)
    return Bound(
        name="certified |x'-u|/sigma of every token at K = m_k",
        value=found.bound(found.most),
        kind="certificate",
        conditions=(
            Condition("purity: in-cluster below cross distances", found.within, "<", found.across),
            Condition("some K is certified", found.fewest, "<=", float(found.most)),
        ),
        quantities={
            "smallest K": found.fewest,
            "largest K": float(found.most),
            "smallest dim": inverses.smallest_dimension_neighbours(setting, delta),
            "delta": delta,
        },
        reference="xu2022, Theorem 1, repaired",
    )


def softmax_certificate(
    clusters: int = 10,
    size: int = 100,
    sigma: Number = 0.3,
    dim: int = 1024,
    lam: Number = 7.8,
    cosine: Number = 0.0,
    masked: bool = False,
    delta: Number = 0.05,
    target: Number = 0.5,
) -> Bound:
    """T2' and T2'' at a logit scale, with the smallest dimension and the interval of lambda."""
    setting = Setting.equal(clusters, size, sigma, dim, cosine)
    found = certificates.softmax_bound(setting, lam, delta, masked=masked)
    d, at = inverses.smallest_dimension(setting, target, delta, masked=masked)
    interval = inverses.certified_interval(setting, target, delta, masked=masked)
    quantities = dict(found.quantities) | {
        f"smallest dim for {target:g}": d,
        "  at lambda": at,
        f"lambda certified for {target:g} from": interval.low,
        "  to": interval.high,
    }
    empty = (f"no lambda is certified for {target:g} at this dim",) if interval.empty else ()
    return Bound(
        name=found.name,
        value=found.value,
        kind="certificate",
        quantities=quantities,
        notes=(*found.notes, *empty),
        reference=found.reference,
    )


def depth(
    clusters: int = 10,
    size: int = 50,
    sigma: Number = 0.5,
    lam: Number = 6.0,
    steps: int = 10,
    cosine: Number = 0.0,
    gain: Number = 1.0,
) -> Bound:
    """The ratio after many steps, by the exact recursion of the limit."""
    setting = Setting.equal(clusters, size, sigma, cosine=cosine)
    path = limit.iterate_ratio(setting, lam, steps, gain)
    best = 1 + int(np.argmin(path[1:]))
    return Bound(
        name=f"ratio after {steps} steps",
        value=float(path[-1]),
        kind="exact",
        quantities={
            "best step": best,
            "ratio there": float(path[best]),
            "first step with ratio above 1 (steps + 1 if none)": limit.lifetime(path),
        },
        notes=("limit of large dimension; no prediction at a finite one",),
        reference="limelight",
    )


def cross(
    clusters: int = 10,
    size: int = 50,
    sigma: Number = 1.0,
    lam: Number = 8.0,
    alignment: Number = 1.0,
) -> Bound:
    """Cross-attention in the limit: no weight on oneself."""
    target = Setting.equal(clusters, size, sigma)
    error, leaked = limit.cross_parts(alignment * np.eye(clusters), target, lam)
    return Bound(
        name="ratio |x'-u'|/sigma",
        value=float(np.sqrt(error[0]) / sigma),
        kind="exact",
        quantities={
            "leaked mass": float(leaked[0]),
            "self-attention at the same lambda": float(limit.softmax_ratio(target, lam)),
        },
        notes=("limit of large dimension, where the query's noise vanishes",),
        reference="limelight",
    )
