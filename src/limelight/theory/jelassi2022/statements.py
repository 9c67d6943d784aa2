r"""What jelassi2022 states of its data and of what can be said of them, evaluated at given sizes.

Every condition has both sides; what it states of descent is in `dynamics`.
"""

import math

from limelight._core.arrays import Real
from limelight.theory.base import Bound, Condition
from limelight.theory.jelassi2022.linear import (
    EIGHTH,
    density_needed,
    linear_disagreement,
    linear_error,
)
from limelight.worlds.laws import label_failure, silence

#: $C^2/z^2$ with $\Phi(-z) = 1/8$: the hidden condition of Theorem 3.1, over $C^2$.
HIDDEN = 0.7557


def labelling(tokens: int = 36, size: int = 4, density: Real = 0.35) -> Bound:
    r"""How often the labelling function misses the label: $P[y f^*(X) \le 0]$, exact.

    Departures: the paper asks for $d^{-\omega(1)}$, which no finite size decides.

    Reference: jelassi2022, Definition 2.1 and Assumption 1.
    """
    return Bound(
        name="P[y f* <= 0]",
        value=label_failure(tokens, size, density),
        kind="exact",
        conditions=(
            Condition("few patches in a set", size, "<", tokens / size, "order-wise, C << D"),
            Condition("sparse marks", density, "<", 1.0, "order-wise, q << 1"),
            Condition("noise above the signal", density * tokens, ">", size, "qD >> C"),
        ),
        quantities={"P[f* = 0]": silence(tokens, size, density)},
        reference="jelassi2022, Definition 2.1, Assumptions 1 and 2",
    )


def linear_models(tokens: int = 36, size: int = 4, density: Real = 0.4) -> Bound:
    r"""Theorem 3.1: every generalized linear model errs with probability at least 1/8.

    Departures: kind `printed`. With an arbitrary link it is false: $w_j = 3^j w^*$ encodes every
        mark, and the right link computes $f^*$. With a monotone link, as the links of generalized
        linear models are, it needs $q(D-C) \gtrsim 0.756\, C^2$, which the theorem does not say.

    Reference: jelassi2022, Theorem 3.1.
    """
    half = linear_disagreement(tokens, size, density, ties=0.5)
    needed = density_needed(tokens, size, target="fstar")
    return Bound(
        name="error of a generalized linear model, at least",
        value=EIGHTH,
        kind="printed",
        conditions=(
            Condition(
                "hidden: q (D - C) against C^2",
                density * (tokens - size),
                ">=",
                HIDDEN * size**2,
                "not in the theorem",
            ),
            Condition("the natural rule misses f* as often", half, ">=", EIGHTH, "ties by a coin"),
            Condition(
                "so does the base-3 code",
                silence(tokens, size, density),
                ">=",
                EIGHTH,
                "it computes f*, with a link that is not monotone",
            ),
        ),
        quantities={
            "natural rule against f*, ties by a coin": half,
            "natural rule against the label, ties by a coin": linear_error(
                tokens, size, density, ties=0.5
            ),
            "natural rule against the label, ties wrong": linear_error(tokens, size, density),
            "normal approximation": _normal_tail(size / math.sqrt(density * (tokens - size)))
            if density > 0
            else 0.0,
            "q from which on the natural rule misses f* 1/8 of the time": needed,
            "q from which on it misses the label so often": density_needed(tokens, size),
        },
        notes=("limelight show jelassi2022 linear: fitted and searched rules",),
        reference="jelassi2022, Theorem 3.1",
    )


def set_shift(
    tokens: int = 36,
    size: int = 4,
    density: Real = 0.35,
    strength: Real = 8.0,
    value: Real = 0.06,
    prune: Real = 1e-8,
) -> Bound:
    r"""Theorem 3.2: the exact error of a network that attends to another set than its own.

    $A_{ij} = h$ for $j \in S_{\pi(\ell(i))}$ is the same function as $A_{ij} = h$ inside sets: its
    outputs are permuted and summed. So the error is that of the symmetric network with
    $\beta = \gamma = h$, $\rho = 0$, and no patch has its own set in its top $C$.

    Departures: impossible as stated, for inner products over all $j$: the longest encoding is in
        its own top $C$. Free logits here.

    Reference: jelassi2022, Theorem 3.2.
    """
    import jax
    import jax.numpy as jnp

    from limelight.models.positional import Activation
    from limelight.theory.jelassi2022.descent import error
    from limelight.theory.jelassi2022.layer import Layer, LayerState
    from limelight.theory.jelassi2022.population import enumerated

    with jax.enable_x64(True):
        population = enumerated(tokens, size, density, prune)
        layer = Layer(tokens, size, strength, activation=Activation(3, 0.0))
        state = LayerState(jnp.asarray(value, float), jnp.asarray(strength, float), jnp.zeros(()))
        wrong = float(error(population, layer, state))
        gain = float(layer.gain(state))
    linear = linear_error(tokens, size, density)
    return Bound(
        name="error without association",
        value=wrong,
        kind="exact",
        conditions=(
            Condition("small against the linear rule", wrong, "<=", linear / 5, "1/5 of it"),
            Condition("attention on one set", gain, ">", tokens / 2, "of at most D"),
            little_lost(population.lost, wrong),
        ),
        quantities={
            "overlap of top attention with the own set": 0.0,
            "gain": gain,
            "failure of f*": label_failure(tokens, size, density),
        },
        notes=("inner products that include j = i cannot do this: Cauchy and Schwarz",),
        reference="jelassi2022, Theorem 3.2",
    )


def little_lost(lost: float, wrong: float) -> Condition:
    """An error is exact as far as the mass that pruning lost is small against it."""
    return Condition("mass lost to pruning", lost, "<=", wrong / 10, "1/10 of the error")


def _normal_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))
