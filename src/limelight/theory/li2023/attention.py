r"""Where attention can go: Proposition 2, its ceiling, and the envelopes of Definition 1."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.theory.base import Bound, Condition
from limelight.theory.li2023.learning import check_fractions


def mass_ceiling(relevant: float, confusing: float) -> dict[str, float]:
    r"""Largest attention mass on $\mathcal S_*$ that any weights can give, by query role.

    Logits depend on (key pattern, query pattern) alone, and an idle query occurs under both labels:
    with $c = \log(\alpha_*/\alpha_\#)$ and $u$ the logit difference of patterns 1 and 2 its mass
    is $\tfrac12 [s(c+u) + s(c-u)]$, largest at $u = 0$: $\alpha_*/(\alpha_*+\alpha_\#)$. A
    discriminative query is relevant under one label and confusing under the other, so the two
    share one $u$; alone each reaches 1, on average over all queries they reach
    $\max_u \alpha_* s(c+u) + \alpha_\# s(c-u)$, at
    $e^u = (\alpha_* + \sqrt{\alpha_*\alpha_\#} + \alpha_\#) / \sqrt{\alpha_*\alpha_\#}$.

    Proposition 2 claims 1 for every query; that holds only without confusing tokens.

    Departures: the ceiling is ours, exact for balanced labels and tokens without noise.

    Returns:
        `all`, `relevant`, `confusing`, `idle`.

    Example:
        >>> ceiling = mass_ceiling(0.5, 0.04)
        >>> round(ceiling["idle"], 3), round(ceiling["all"], 3)
        (0.926, 0.947)

    Reference: li2023, Proposition 2.
    """
    check_fractions(relevant, confusing)
    if confusing == 0:
        # There are no confusing queries, so nothing is claimed of them.
        return {"all": 1.0, "relevant": 1.0, "confusing": math.nan, "idle": 1.0}
    a, b, root = relevant, confusing, math.sqrt(relevant * confusing)
    idle = a / (a + b)
    w = (a + root + b) / root
    pair = a * a * w / (a * w + b) + a * b / (a + b * w)
    return {"all": pair + (1.0 - a - b) * idle, "relevant": 1.0, "confusing": 1.0, "idle": idle}


def mass_bound(relevant: float = 0.5, confusing: float = 0.04) -> Bound:
    """What Proposition 2 claims of attention, beside what any weights can reach.

    Example:
        >>> import limelight as ll
        >>> ll.theory.li2023.mass_bound(relevant=0.5, confusing=0.04).name
        'attention mass on the relevant tokens, all queries, at most'

    Reference: li2023, Proposition 2; the ceiling is ours.
    """
    ceiling = mass_ceiling(relevant, confusing)
    return Bound(
        name="attention mass on the relevant tokens, all queries, at most",
        value=ceiling["all"],
        kind="exact",
        conditions=(Condition("a majority is relevant", relevant, ">", confusing),),
        quantities={f"{role} queries, at most": ceiling[role] for role in ceiling if role != "all"}
        | {"claimed by Proposition 2": 1.0},
        notes=("the claim fails for idle queries: they meet both labels",) * (confusing > 0),
        reference="li2023, Proposition 2",
    )


@dataclass(frozen=True)
class Envelopes:
    r"""The envelopes of Definition 1 for the mass of a pattern-1 query on pattern-1 tokens.

    Fields may be numbers or arrays of one shape (a trace).

    Args:
        logit: $g = q^2$, the own-pattern logit.
        own: $s$, tokens of the pattern.
        tokens: $S$, tokens in all.
        phi: $\phi_n = 1/(s e^{q^2 + (\delta+\tau) q} + S - s)$.
        nu: $\nu_n = 1/(s e^{q^2 - (\delta+\tau) q} + S - s)$.
        low: $p_n = s e^{q^2 - (\delta+\tau) q} \nu_n$, the lower envelope.
        high: $1 - (S-s) \phi_n$, the upper one.

    Example:
        >>> import limelight as ll
        >>> sorted(ll.theory.li2023.Envelopes.__dataclass_fields__)
        ['high', 'logit', 'low', 'nu', 'own', 'phi', 'tokens']
    """

    logit: Any
    own: Any
    tokens: Any
    phi: Any
    nu: Any
    low: Any
    high: Any

    def certain(self, other: Any) -> Any:
        r"""What holds without hypotheses at noise 0: $s/(s + (S-s) e^{c - g})$.

        With $c$ the largest logit of the other patterns that occur it is below the mass, with the
        smallest it is above.
        """
        return self.own / (self.own + (self.tokens - self.own) * np.exp(other - self.logit))


def attention_envelopes(logit: Any, own: Any, tokens: Any, slack: float) -> Envelopes:
    r"""The envelopes of Definition 1 at an own-pattern logit.

    Notation: `slack` is $\delta + \tau$.
    Departures: $q$ is the root of the logit $g = \langle W_K\mu_1, W_Q\mu_1 \rangle$. The
        paper's $q$ at the start is the ideal 1; with it the lower envelope is no bound: keys and
        queries that are both off by $\delta$ move the logit by up to $2\delta + \delta^2$.

    Example:
        >>> found = attention_envelopes(0.64, 20, 50, 0.2)
        >>> round(float(found.low), 4), round(float(found.high), 4)
        (0.5186, 0.5974)

    Reference: li2023, Definition 1.
    """
    g, s, S = (np.asarray(v, dtype=float) for v in (logit, own, tokens))
    q = np.sqrt(np.maximum(g, 0.0))
    least, most = s * np.exp(g - slack * q), s * np.exp(g + slack * q)
    phi, nu = 1 / (most + S - s), 1 / (least + S - s)
    return Envelopes(g, s, S, phi, nu, least * nu, 1 - (S - s) * phi)


def envelope_bound(
    logit: float = 1.0,
    largest: float = 0.0,
    smallest: float = 0.0,
    own: int = 20,
    tokens: int = 50,
    key_error: float = 0.2,
    noise: float = 0.0,
) -> Bound:
    r"""Definition 1 at given logits: the mass of a pattern-1 query on pattern 1, at least.

    The bracket is implied by two inequalities on the logits of the other patterns, shown as its
    conditions; what needs neither is shown beside it.

    Notation: `logit` is $g = q^2$, `largest` and `smallest` the extreme logits $c_{max}, c_{min}$
        of the other patterns that occur, `own` and `tokens` are $s$ and $S$.
    Departures: see `attention_envelopes`.

    Example:
        >>> import limelight as ll
        >>> ll.theory.li2023.envelope_bound(logit=1.0, own=20, tokens=50).kind
        'exact'

    Reference: li2023, Definition 1.
    """
    slack = key_error + noise
    found = attention_envelopes(logit, own, tokens, slack)
    q = math.sqrt(max(logit, 0.0))
    return Bound(
        name="attention mass of a pattern-1 query on pattern 1, at least (p_n)",
        value=float(found.low),
        kind="exact",
        conditions=(
            Condition("lower", logit - largest, ">=", logit - slack * q, "g - c_max"),
            Condition("upper", logit - smallest, "<=", logit + slack * q, "g - c_min"),
            Condition("the pattern occurs", own, ">", 0),
        ),
        quantities={
            "at most, 1 - (S - s) phi_n": float(found.high),
            "phi_n": float(found.phi),
            "nu_n": float(found.nu),
            "always at least": float(found.certain(largest)),
            "always at most": float(found.certain(smallest)),
        },
        notes=("q is the root of the own-pattern logit; the ideal q = 1 gives no bound",),
        reference="li2023, Definition 1",
    )
