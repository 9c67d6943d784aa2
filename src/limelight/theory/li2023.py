r"""What li2023 proves, as functions: conditions, orders, and what attention can reach.

Hidden constants of $\Omega(\cdot)$ and $\Theta(\cdot)$ are set to 1 and reported.
"""

import math

from limelight.theory.base import Bound, Condition


def learning(
    relevant: float = 0.4,
    confusing: float = 0.1,
    examples: int = 64,
    batch: int = 16,
    steps: int = 400,
    rate: float = 0.5,
    width: int = 1000,
    patterns: int = 5,
    value_error: float = 0.1,
    key_error: float = 0.2,
    noise: float = 0.03,
    separation: float = math.sqrt(2.0),
    slack: float = 0.1,
    share: float = 0.5,
    attention_constant: float = 1.0,
    error_constant: float = 1.0,
    frozen: bool = False,
) -> Bound:
    r"""Training examples that suffice for the shallow ViT to generalise, and every condition.

    $$N \ge \big(\alpha_* - c'(1-\zeta) - c''(\sigma+\tau)\big)^{-2}, \quad
      \zeta = 1 - \eta^{10}$$

    with frozen attention $N \ge \big(\alpha_*(\alpha_* - \sigma - \tau)\big)^{-2}$. The fewer the
    relevant tokens, the more the examples: about $1/\alpha_*^2$, or $1/\alpha_*^4$ when frozen.

    Notation: `relevant`, `confusing` are their $\alpha_*, \alpha_\#$; `value_error`, `key_error`
        their $\sigma, \delta$; `noise` their $\tau$; `separation` their $\kappa$; `slack` their
        $\epsilon$; `share` their $\epsilon_{\mathcal S}$; `attention_constant`,
        `error_constant` their $c', c''$; `rate` their $\eta$.
    Departures: constants hidden in the orders are 1. $\zeta$ is taken at its bound $1-\eta^{10}$,
        so a step size of 1 or more voids the bound, though such steps train well in practice.

    Returns:
        The order of $N$; the orders of batch, iterations and width as quantities.

    Reference: li2023, Theorem 1 (equations 8 to 11) and Proposition 1 (equation 13).
    """
    error = value_error + noise
    reach = share * math.exp(-(key_error + noise)) * (1.0 - error)
    needed = confusing / reach if reach > 0 else math.inf
    batch_base = relevant - math.exp(-(key_error + noise)) * error
    if frozen:
        base = relevant * (relevant - error)
    else:
        base = relevant - attention_constant * min(rate, 1.0) ** 10 - error_constant * error
    pace = 1.0 - slack - error * patterns / math.pi
    orders = {
        "examples": _power(base, -2),
        "batch": _power(batch_base, -2),
        "steps": _power(pace * rate * relevant, -1),
        "width": slack**-2 * patterns**2 * math.log(max(examples, 2)),
    }
    void = rate >= 1.0 and not frozen
    if void:
        orders["examples"] = math.inf
    conditions = (
        Condition("value error of order 1/patterns", value_error * patterns, "<=", 1.0),
        Condition("key error", key_error, "<", 0.5),
        Condition("noise below the errors", noise, "<=", min(value_error, key_error)),
        Condition("noise below a quarter of the separation", noise, "<", separation / 4),
        Condition("relevant fraction (8)", relevant, ">=", needed),
        Condition("width", width, ">=", orders["width"], "order-wise"),
        Condition("batch (9)", batch, ">=", orders["batch"], "order-wise"),
        Condition(
            "examples (13)" if frozen else "examples (10)",
            examples,
            ">=",
            orders["examples"],
            "order-wise",
        ),
        Condition("lucky neurons left (11)", pace, ">", 0.0),
        Condition("steps (11)", steps, ">=", orders["steps"], "order-wise"),
    )
    return Bound(
        name="examples",
        value=orders["examples"],
        kind="sufficient",
        conditions=conditions,
        quantities={name: orders[name] for name in ("batch", "steps", "width")},
        constants={"c'": attention_constant, "c''": error_constant, "hidden constants": 1.0},
        notes=_void_notes(void, base, batch_base, pace, frozen),
        reference="li2023, Proposition 1" if frozen else "li2023, Theorem 1",
    )


def relevant_needed(
    idle: float, value_error: float, key_error: float, noise: float, share: float = 0.5
) -> float:
    r"""Smallest $\alpha_*$ that condition (8) allows when the idle fraction is fixed.

    $$\alpha_* \ge \frac{1 - \alpha_{nd}}
      {1 + \epsilon_{\mathcal S} e^{-(\delta+\tau)} (1 - (\sigma+\tau))}$$

    Left of this line Theorem 1 says nothing, though networks train there.

    Example:
        >>> round(relevant_needed(0.5, value_error=0.1, key_error=0.2, noise=0.03), 3)
        0.372

    Reference: li2023, the equivalent form of equation (8) in the proof.
    """
    reach = share * math.exp(-(key_error + noise)) * (1.0 - (value_error + noise))
    return (1.0 - idle) / (1.0 + reach)


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


def _power(base: float, exponent: int) -> float:
    return base**exponent if base > 0 else math.inf


def _void_notes(void, base, batch_base, pace, frozen) -> tuple[str, ...]:
    number = "(13)" if frozen else "(10)"
    notes = []
    if void:
        notes.append(f"{number} is void: a step size of at least 1 makes zeta <= 0")
    elif base <= 0:
        notes.append(f"{number} is void: its base {base:.3g} is not positive")
    if batch_base <= 0:
        notes.append(f"(9) is void: its base {batch_base:.3g} is not positive")
    if pace <= 0:
        notes.append(f"(11) is void: 1 - eps - (sigma + tau) M / pi = {pace:.3g}")
    return tuple(notes)
