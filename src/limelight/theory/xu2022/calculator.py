r"""The calculator: for given clusters, noise and dimension, everything the theory says at once."""

import numpy as np

from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.xu2022 import certificates, inverses, limit, optimum, prediction, printed
from limelight.theory.xu2022.setting import Number, Setting

#: What each regime means, by the part of the error that dominates.
MEANING = {
    "self-locked": "a token gives itself most of the weight; lower lambda or mask the diagonal",
    "averaging": "the floor 1/sqrt(m_k) of plain averaging; only larger clusters help",
    "leaking": "other clusters take weight; raise lambda or separate the centres",
    "frozen": "a few extreme weights dominate; raise dim or lower lambda",
}


def regime(setting: Setting, strength: Number, *, masked: bool = False) -> str:
    """What dominates the error at a logit scale: one of the keys of `MEANING`.

    Example:
        >>> setting = Setting.equal(clusters=10, size=50, sigma=0.5, dimension=384)
        >>> regime(setting, 1.0), regime(setting, 60.0)
        ('leaking', 'frozen')
    """
    if np.isfinite(setting.dimension):
        spread = float(prediction.logit_spread(setting, strength))
        if spread > prediction.spread_limit(setting, masked=masked):
            return "frozen"
    parts = limit.softmax_parts(setting, strength, masked=masked).stacked
    return limit.PART_NAMES[int(np.argmax(setting.token_mean(parts.T)))]


def calculator(
    clusters: int = 10,
    size: int = 50,
    sigma: Number = 0.5,
    dim: int = 384,
    cosine: Number = 0.0,
    lam: Number | None = None,
    masked: bool = False,
    delta: Number = 0.05,
    target: Number = 0.5,
) -> Bound:
    r"""How much noise one attention layer leaves: prediction, certificate, regime, printed claim.

    Every number says what it is worth: `exact limit` (d to infinity), `prediction` (derived, with
    its validity as a condition), `certificate` (rigorous with probability $1-\delta$) or `printed`
    (the paper's, unsound).

    Args:
        clusters: $C$.
        size: $m_k$, tokens in each cluster.
        sigma: $\sigma$, noise over signal in norm.
        dim: $d$.
        cosine: Inner product of every two centres.
        lam: Logit scale to judge; the best one when not given.
        masked: Whether a token may not attend to itself.
        delta: Failure probability of the certificate.
        target: Ratio to certify.

    Example:
        >>> import limelight as ll
        >>> ll.theory.xu2022.calculator(clusters=10, size=50, sigma=0.5, dim=384).kind
        'prediction'
    """
    if size < 2:
        raise InputError(f"size = {size}", "averaging needs at least two tokens in a cluster")
    setting = Setting.equal(clusters, size, sigma, dim, cosine)
    limit_at, limit_best = optimum.optimal_strength(setting, masked=masked)
    sharp_at, _ = prediction.optimal_strength(setting, masked=masked)
    chosen = float(lam) if lam is not None else sharp_at if np.isfinite(sharp_at) else limit_at
    found = prediction.softmax(setting, chosen, masked=masked)
    here = certificates.softmax_bound(setting, chosen, delta, masked=masked)
    best_at, best = inverses.best_strength(setting, delta, masked=masked)
    needed, _ = inverses.smallest_dimension(setting, target, delta, masked=masked)
    law = float(limit.softmax_ratio(setting, chosen, masked=masked))
    name = regime(setting, chosen, masked=masked)
    quantities = {
        f"lambda judged [{'given' if lam is not None else 'best, prediction'}]": chosen,
        "best lambda [prediction]": sharp_at,
        "best lambda [exact limit]": limit_at,
        "best ratio [exact limit]": limit_best,
        "ratio at lambda judged [exact limit]": law,
        f"certified ratio at lambda judged [certificate, delta {delta:g}]": here.value,
        f"best certified ratio [certificate, delta {delta:g}]": best,
        f"  at lambda [certificate, delta {delta:g}]": best_at,
        f"smallest dim certified for ratio {target:g} [certificate, delta {delta:g}]": needed,
    }
    return Bound(
        name=f"expected ratio |x'-u|/sigma at lambda {chosen:.4g}",
        value=float(found.ratio),
        kind="prediction",
        conditions=(
            Condition("prediction is valid: logit spread", float(found.spread), "<=", found.limit),
        ),
        quantities=quantities,
        notes=(
            f"regime: {name}: {MEANING[name]}",
            _certified(best, best_at, delta),
            *_printed(setting, size, chosen, delta),
        ),
        reference="xu2022, Theorem 2, repaired",
    )


def _certified(best: Number, at: Number, delta: Number) -> str:
    if best < 1:
        return (
            f"certificate: at lambda {at:.3g} every token provably keeps at most {best:.3g} of"
            f" sigma, with probability {1 - delta:g}"
        )
    return (
        f"certificate: none that improves a token at this dim (best {best:.3g}); the expected"
        " ratio above is not proved"
    )


def _printed(setting: Setting, size: int, chosen: Number, delta: Number) -> list[str]:
    low, _, smallest = printed.softmax_window(
        setting.tokens, size, setting.sigma, setting.dimension, delta
    )
    law = float(limit.softmax_ratio(setting, low))
    claim = printed.softmax(
        setting.tokens, size, setting.sigma, setting.dimension, chosen, delta, setting.nearest
    )
    if setting.sigma > 1 or abs(np.sqrt(2) - setting.nearest) > 0.5:
        return [
            "the paper [printed, unsound]: claims nothing at any dim for this noise or geometry"
        ]
    failing = [condition.name for condition in claim.conditions if not condition.holds]
    here = "claims ratio 0.5 here" if not failing else "claims nothing here: " + "; ".join(failing)
    truth = "false there" if law > 0.5 else "true there"
    return [
        f"the paper [printed, unsound]: {here}",
        f"the paper [printed, unsound]: from dim {smallest:.3g} on and lambda >= {low:.2f} it"
        f" claims ratio 0.5; the exact limit at that lambda is {law:.3f}, so the claim is {truth}",
    ]
