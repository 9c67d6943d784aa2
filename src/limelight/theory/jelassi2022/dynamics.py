r"""What jelassi2022 states of idealized descent, evaluated by running it exactly.

Every condition has both sides; what it states of its data is in `statements`.
"""

import math
from typing import TYPE_CHECKING, Any

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.jelassi2022.linear import linear_error
from limelight.theory.jelassi2022.statements import little_lost
from limelight.worlds.laws import label_failure

if TYPE_CHECKING:
    from limelight.theory.jelassi2022.run import Run


def idealized_descent(
    tokens: int = 16,
    size: int = 4,
    density: Real = 0.5,
    diagonal: Real = 1.0,
    linear: Real = 0.01,
    rate: Real = 3e-3,
    ratio: Real = 3000.0,
    steps: int = 2000,
    prune: Real = 0.0,
) -> Bound:
    r"""Theorem 4.1: the exact error after population descent from the idealized start.

    Departures: the paper says "with high probability"; the run is deterministic. A diagonal of 0
        is a saddle: attention never moves.

    Reference: jelassi2022, Theorem 4.1.
    """
    run = _run(tokens, size, density, diagonal, linear, rate, ratio, steps, prune)
    natural = linear_error(tokens, size, density)
    return Bound(
        name="error",
        value=run.end["error"],
        kind="exact",
        conditions=(
            *_sound(run, diagonal),
            Condition("gamma - rho after every step", float(run.watch.gap), ">", 0.0),
            Condition("small against the linear rule", run.end["error"], "<=", natural / 5),
        ),
        quantities=_quantities(run)
        | {
            "linear rule": natural,
            "failure of f*": label_failure(tokens, size, density),
            "association begins at step": int(run.watch.onset),
            "error halved since at step": int(run.watch.halved),
        },
        reference="jelassi2022, Theorem 4.1",
    )


def attention_grows(
    tokens: int = 16,
    size: int = 4,
    density: Real = 0.5,
    diagonal: Real = 1.0,
    linear: Real = 0.01,
    rate: Real = 3e-3,
    ratio: Real = 3000.0,
    steps: int = 2000,
    prune: Real = 0.0,
) -> Bound:
    r"""Lemma 4.3: the smallest $\gamma - \rho$ of a run, and its stronger parts.

    Departures: the strong parts ($\gamma$ rises at every step, faster than $\rho$ moves, and stays
        above $|\rho|$) are false in general: with $\beta$ frozen the best weights inside a small
        set are nearly equal, $\gamma$ comes back to $\beta$, and $\rho$ goes on falling.

    Example: `attention_grows(tokens=8, size=2)`

    Reference: jelassi2022, Lemma 4.3 and Event II.
    """
    run = _run(tokens, size, density, diagonal, linear, rate, ratio, steps, prune)
    gap = float(run.watch.gap)
    return Bound(
        name="smallest gamma - rho",
        value=gap,
        kind="exact",
        conditions=(
            *_sound(run, diagonal),
            Condition("weak: gamma above rho", gap, ">", 0.0),
            Condition("strong: gamma rises at every step", int(run.watch.rising), "==", 1),
            Condition("strong: faster than rho moves", int(run.watch.faster), "==", 1),
            Condition("strong: gamma above |rho| throughout", int(run.watch.above), "==", 1),
        ),
        quantities=_quantities(run),
        reference="jelassi2022, Lemma 4.3",
    )


def second_rise(
    tokens: int = 16,
    size: int = 4,
    density: Real = 0.5,
    diagonal: Real = 1.0,
    linear: Real = 0.01,
    rate: Real = 1e-3,
    ratio: Real = 1000.0,
    steps: int = 20_000,
    prune: Real = 0.0,
) -> Bound:
    r"""Event III: the largest $\alpha$ over the best $\alpha$ for the attention at the start.

    Departures: the paper says that $\alpha$ rises again. It does for a large frozen diagonal only,
        from between 2.3 and 3.7 on in the worlds of the figure `event3`.

    Reference: jelassi2022, Section 4.1.
    """
    run = _run(tokens, size, density, diagonal, linear, rate, ratio, steps, prune, stop=True)
    return Bound(
        name="R, largest alpha over the best at the start",
        value=run.rise,
        kind="exact",
        conditions=(
            *_sound(run, diagonal, calm=1.0),
            Condition("a second rise", run.rise, ">=", 1.02),
            Condition("the sets are found", run.end["gamma"], ">", 1.0),
        ),
        quantities=_quantities(run)
        | {
            "e^beta / D": math.exp(diagonal) / tokens,
            "best alpha at the start": float(run.best.alpha),
        },
        reference="jelassi2022, Section 4.1, Event III",
    )


def manifold(
    density: Real = 0.4, diagonal: Real = 1.0, rate: Real = 0.02, steps: int = 100
) -> Bound:
    r"""Lemmas 4.1 and 4.2: how far full gradient descent leaves the three-number manifold.

    Eight patches in sets of two, every image enumerated, float64.

    Departures: the lemmas hold exactly on the population; "with high probability" is not needed.

    Reference: jelassi2022, Lemmas 4.1 and 4.2.
    """
    if not rate > 0 or steps < 1:
        raise InputError(f"rate = {rate:g}, steps = {steps}", "a positive rate, at least one step")
    import jax
    import jax.numpy as jnp
    import jax.random as jr
    import numpy as np

    from limelight.theory.jelassi2022.descent import Rates
    from limelight.theory.jelassi2022.full import manifold_residuals
    from limelight.theory.jelassi2022.layer import Layer
    from limelight.worlds._partitions import strided

    with jax.enable_x64(True):
        layer = Layer(8, 2, jnp.asarray(diagonal, float))
        sets = np.asarray(strided(8, 2))
        both = Rates(jnp.asarray(rate, float), jnp.asarray(rate, float))
        found = jax.jit(lambda key: manifold_residuals(key, layer, density, both, steps, sets))(
            jr.key(0)
        )
        worst = max(float(x) for x in found)
    return Bound(
        name="largest distance, full from reduced",
        value=worst,
        kind="exact",
        conditions=(Condition("rounding only", worst, "<=", 1e-12),),
        quantities={name: float(x) for name, x in found._asdict().items()},
        reference="jelassi2022, Lemmas 4.1 and 4.2",
    )


def _run(*settings: Any, stop: bool = False) -> "Run":
    """Idealized descent; JAX is loaded here, when a statement needs it."""
    from limelight.theory.jelassi2022.run import idealized

    return idealized(*settings, stop=stop)


def _sound(run: "Run", diagonal: Real, calm: float = 2.0) -> tuple[Condition, ...]:
    return (
        Condition("diagonal above 0", diagonal, ">", 0.0, "0 is a saddle"),
        Condition("steps in alpha stable", run.stiffness, "<", calm),
        little_lost(run.lost, run.end["error"]),
    )


def _quantities(run: "Run") -> dict[str, float | int]:
    names = ("loss", "alpha", "gamma", "rho", "gain")
    at_start = {"error at the start": float(run.path.error[0]), "steps": int(run.watch.step)}
    return at_start | {name: run.end[name] for name in names}
