r"""Theorem 1 and Proposition 1 of li2023: what suffices to learn, with every condition.

Hidden constants of $\Omega(\cdot)$ and $\Theta(\cdot)$ are set to 1 and reported.
"""

import math

from limelight._core.errors import InputError
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
    dimension: int = 10,
    tokens: int = 100,
    value_error: float = 0.1,
    key_error: float = 0.2,
    noise: float = 0.03,
    separation: float = math.sqrt(2.0),
    slack: float = 0.1,
    share: float = 0.5,
    attention_constant: float = 1.0,
    error_constant: float = 1.0,
    zeta: float | None = None,
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
        `error_constant` their $c', c''$; `rate` their $\eta$; `dimension` the smaller of their
        $m_a, m_b$; `tokens` their $|\mathcal S|$.
    Departures: constants hidden in the orders are 1. $\zeta$ is taken at its bound $1-\eta^{10}$
        unless given, so a step size of 1 or more voids the bound, though such steps train well
        (they are tied to a readout that is $\sqrt L$ weaker than in the proofs).

    Returns:
        The order of $N$; the orders of batch, iterations and width as quantities: the answers to
        the inverse questions, the smallest $N$, $B$, $T$ and $m$.

    Example:
        >>> import limelight as ll
        >>> few, many = (ll.theory.li2023.learning(relevant=a, confusing=0.1) for a in (0.6, 0.4))
        >>> few.value < many.value
        True

    Reference: li2023, Theorem 1 (equations 8 to 11) and Proposition 1 (equation 13).
    """
    check_fractions(relevant, confusing)
    if not rate > 0:
        raise InputError(f"rate = {rate:g}", "a positive step size")
    error = value_error + noise
    loss = math.exp(-(key_error + noise))
    reach = share * loss * (1.0 - error)
    far = 1.0 - zeta if zeta is not None else min(rate, 1.0) ** 10
    void = zeta is None and rate >= 1.0 and not frozen
    bases = {
        "(10)": relevant - attention_constant * far - error_constant * error,
        "(13)": relevant * (relevant - error),
        "(9)": relevant - loss * error,
        "(11)": 1.0 - slack - error * patterns / math.pi,
    }
    number = "(13)" if frozen else "(10)"
    orders = {
        "examples": math.inf if void else _power(bases[number], -2),
        "batch": _power(bases["(9)"], -2),
        "steps": _power(bases["(11)"] * rate * relevant, -1),
        "width": patterns**2 * math.log(max(examples, 2)) * _power(slack, -2),
    }
    conditions = (
        Condition("value error of order 1/patterns", value_error * patterns, "<=", 1.0),
        Condition("key error", key_error, "<", 0.5),
        Condition("noise below the errors", noise, "<=", min(value_error, key_error)),
        Condition("noise below a quarter of the separation", noise, "<", separation / 4),
        Condition("fewer patterns than value and key dimensions", patterns, "<", dimension),
        Condition("the constant eps_S at most one half", share, "<=", 0.5),
        Condition(
            "relevant fraction (8)", relevant, ">=", confusing / reach if reach > 0 else math.inf
        ),
        Condition("width", width, ">=", orders["width"], "order-wise"),
        Condition("batch (9)", batch, ">=", orders["batch"], "order-wise"),
        Condition("tokens (9)", tokens, ">=", 1.0, "order-wise"),
        Condition(f"examples {number}", examples, ">=", orders["examples"], "order-wise"),
        Condition("lucky neurons left (11)", bases["(11)"], ">", 0.0),
        Condition("steps (11)", steps, ">=", orders["steps"], "order-wise"),
    )
    return Bound(
        name="examples",
        value=orders["examples"],
        kind="sufficient",
        conditions=conditions,
        quantities={name: orders[name] for name in ("batch", "steps", "width")},
        constants={"c'": attention_constant, "c''": error_constant, "hidden constants": 1.0},
        notes=_void_notes(bases, number, void),
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


def check_fractions(relevant: float, confusing: float) -> None:
    """Refuse what are no fractions of one set of tokens."""
    if not (0 <= confusing <= 1 and 0 < relevant <= 1 and relevant + confusing <= 1 + 1e-9):
        raise InputError(
            f"relevant = {relevant:g} and confusing = {confusing:g} are no fractions of one whole",
            "both between 0 and 1, and at most 1 together",
        )


def _power(base: float, exponent: int) -> float:
    return base**exponent if base > 0 else math.inf


def _void_notes(bases: dict[str, float], number: str, void: bool) -> tuple[str, ...]:
    notes = [
        f"{name} is void: its base {bases[name]:.3g} is not positive"
        for name in (number, "(9)", "(11)")
        if bases[name] <= 0 and not (void and name == number)
    ]
    if void:
        notes.append(f"{number} is void: a step size of at least 1 makes zeta <= 0")
    return tuple(notes)
