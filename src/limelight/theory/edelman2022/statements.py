r"""The paper's statements by label, with plain numbers as settings.

Each returns a `Bound` whose value is the explicit form (a true upper bound) and whose quantities
hold the order form, the counting of parameters and the norms used.
"""

import math

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.models.construct import construct
from limelight.theory.base import Bound, Condition
from limelight.theory.covering import (
    LinearMap,
    allocate,
    at_least_zero,
    linear_map,
    linear_map_21,
    linear_map_inf,
    parameter_count,
    zhang,
)
from limelight.theory.edelman2022.depth import LayerNorms, amplifications, deep_explicit, deep_order
from limelight.theory.edelman2022.gap import Form, generalisation_gap
from limelight.theory.edelman2022.head import (
    HeadNorms,
    general_head,
    heads_explicit,
    heads_order,
    heads_parameters,
)

HIDDEN = {"C": 1.0}


def linear_functionals(
    norm: Real = 1.0, radius: Real = 1.0, resolution: Real = 0.5, points: int = 1000
) -> Bound:
    """Covering of linear functionals. Reference: edelman2022, Lemma A.10."""
    at_least_zero(norm=norm, radius=radius)
    return Bound(
        "log covering number of linear functionals",
        float(zhang(norm, radius, resolution, points)),
        "certificate",
        _positive(resolution=resolution, points=points),
        reference="edelman2022, Lemma A.10",
    )


def linear_maps(
    outputs: int = 4,
    inputs: int = 4,
    largest: Real = 1.0,
    total: Real = 4.0,
    token_norm: Real = 1.0,
    resolution: Real = 0.5,
    points: int = 1000,
) -> Bound:
    """Covering of linear maps in both norms. Reference: edelman2022, Lemma 4.5."""
    at_least_zero(token_norm=token_norm)
    a = LinearMap(outputs, largest, total, inputs=inputs)
    given = (a, token_norm, resolution, points)
    ratio = outputs * largest * token_norm / resolution
    return Bound(
        "log covering number of linear maps",
        float(linear_map(*given)),
        "certificate",
        _positive(resolution=resolution, points=points)
        + (Condition("total length", total, "<=", outputs * largest),),
        quantities={
            "order": ratio**2 * math.log(points),
            "largest-length form": float(linear_map_inf(*given)),
            "total-length form": float(linear_map_21(*given)),
            "parameters": float(parameter_count(a, token_norm, resolution)),
        },
        constants=HIDDEN,
        reference="edelman2022, Lemma 4.5",
    )


def any_head(
    score_capacity: Real = 1.0,
    inner_capacity: Real = 1.0,
    token_norm: Real = 1.0,
    inner_gain: Real = 1.0,
    outer_lipschitz: Real = 1.0,
    softmax_constant: Real = 2.0,
    resolution: Real = 1.0,
    examples: int = 1000,
    tokens: int = 100,
) -> Bound:
    r"""A general head whose two parts have covers $C / \epsilon^2 \ln(points)$.

    Reference: edelman2022, Theorem 4.2.
    """
    cover = lambda capacity: lambda e, points: capacity / e**2 * math.log(points)
    value = general_head(
        cover(score_capacity),
        cover(inner_capacity),
        resolution=resolution,
        examples=examples,
        tokens=tokens,
        token_norm=token_norm,
        inner_gain=inner_gain,
        outer_lipschitz=outer_lipschitz,
        softmax_constant=softmax_constant,
    )
    reach = softmax_constant * outer_lipschitz * inner_gain * token_norm
    best, _ = allocate([score_capacity, inner_capacity], [reach, outer_lipschitz], resolution)
    return Bound(
        "log covering number of a general head",
        value,
        "certificate",
        _positive(resolution=resolution, points=examples * tokens - 1),
        quantities={"at the best split": best * math.log(examples * tokens)},
        reference="edelman2022, Theorem 4.2",
    )


def head_capacity(
    dimension: int = 64,
    inner: int = 64,
    query_key: Real = 1.0,
    value_largest: Real = 1.0,
    value_spectral: Real = 1.0,
    token_norm: Real = 1.0,
    position_norm: Real = 0.0,
    lipschitz: Real = 1.0,
    heads: int = 1,
    softmax_constant: Real = 2.0,
    resolution: Real = 1.0,
    examples: int = 1000,
    tokens: int = 100,
) -> Bound:
    """Transformer heads of equal norms, with fixed positions.

    Reference: edelman2022, Corollaries 4.4, A.11 and A.12.
    """
    at_least_zero(softmax_constant=softmax_constant)
    at_least_one(heads=heads)
    qk = LinearMap(dimension, query_key, inputs=dimension)
    v = LinearMap(inner, value_largest, spectral=value_spectral, inputs=dimension)
    one = HeadNorms(qk, v, token_norm, lipschitz=lipschitz).placed(position_norm)
    every = [one] * heads
    given = {"examples": examples, "tokens": tokens, "softmax_constant": softmax_constant}
    return Bound(
        "log covering number of attention heads",
        float(heads_explicit(every, resolution, **given)),
        "certificate",
        _positive(resolution=resolution, points=examples * tokens - 1) + _valid(softmax_constant),
        quantities={
            "order": heads_order(every, resolution=resolution, **given),
            "parameters": float(
                heads_parameters(every, resolution, softmax_constant=softmax_constant)
            ),
            "ln(mT)": math.log(examples * tokens),
        },
        constants=HIDDEN | {"softmax constant": softmax_constant},
        notes=("count a [CLS] token in tokens; a trained table of positions is not covered",),
        reference="edelman2022, Corollaries 4.4, A.11, A.12",
    )


def deep_capacity(
    depth: int = 2,
    dimension: int = 64,
    spectral: Real = 1.0,
    largest: Real = 1.0,
    token_norm: Real = 1.0,
    readout: Real = 1.0,
    lipschitz: Real = 1.0,
    softmax_constant: Real = 2.0,
    resolution: Real = 1.0,
    examples: int = 1000,
    tokens: int = 100,
) -> Bound:
    """Stacked blocks of equal norms. Reference: edelman2022, Theorems 4.6 and A.17."""
    at_least_one(depth=depth)
    a = LinearMap(dimension, largest, spectral=spectral)
    layers = [LayerNorms(a, a, a)] * depth
    given = {
        "resolution": resolution,
        "examples": examples,
        "tokens": tokens,
        "token_norm": token_norm,
        "readout": readout,
        "lipschitz": lipschitz,
        "softmax_constant": softmax_constant,
    }
    alpha = amplifications(layers, lipschitz=lipschitz, softmax_constant=softmax_constant)
    return Bound(
        "log covering number of a deep network",
        deep_explicit(layers, **given),
        "certificate",
        _positive(resolution=resolution, points=examples * tokens - 1) + _valid(softmax_constant),
        quantities={
            "order": deep_order(layers, **given),
            "largest amplification": float(alpha.max()),
        },
        constants=HIDDEN | {"softmax constant": softmax_constant},
        notes=("printed with the amplification of earlier layers; errors grow in later ones",),
        reference="edelman2022, Theorem A.17",
    )


def gap(
    capacity: Real = 1.0,
    bound: Real = 1.0,
    examples: int = 10_000,
    delta: Real = 0.05,
    lipschitz: Real = 1.0,
    loss_range: Real = 1.0,
    form: Form = "standard",
) -> Bound:
    r"""The generalisation gap when $\ln \mathcal N \le C_F / \epsilon^2$.

    Reference: edelman2022, Lemma 2.2 (A.5).
    """
    found = generalisation_gap(
        capacity,
        bound=bound,
        examples=examples,
        delta=delta,
        lipschitz=lipschitz,
        loss_range=loss_range,
        form=form,
    )
    return Bound(
        "generalisation gap",
        found.value,
        "certificate",
        (Condition("not vacuous: gap below the range of the loss", found.uncut, "<", loss_range),),
        quantities={"complexity": found.complexity, "before the cut": found.uncut},
        constants={"c": 12.0},
        notes=("vacuous here",) if found.vacuous else (),
        reference="edelman2022, Lemma 2.2",
    )


def split(
    first_cost: Real = 1.0,
    first_weight: Real = 1.0,
    second_cost: Real = 8.0,
    second_weight: Real = 1.0,
    budget: Real = 3.0,
) -> Bound:
    """The cheapest split of an error between two parts. Reference: edelman2022, Lemma A.8."""
    value, shares = allocate([first_cost, second_cost], [first_weight, second_weight], budget)
    return Bound(
        "cheapest split",
        value,
        "exact",
        quantities={"first share": float(shares[0]), "second share": float(shares[1])},
        reference="edelman2022, Lemma A.8",
    )


def construction(
    rule: str = "and",
    length: int = 64,
    sparsity: int = 3,
    mapping: str = "deterministic",
    basis: str = "auto",
    heads: str = "auto",
    seed: int = 0,
) -> Bound:
    """How far a construction's head can be from its target, and its norms.

    Reference: edelman2022, Lemmas B.2 to B.8.
    """
    chosen = {"mapping": mapping, "basis": basis, "heads": heads, "seed": seed}
    made = construct(rule, length, sparsity, **chosen).certificate
    head = made["head"]
    limits = tuple(
        Condition(f"norm of {name}", next(iter(entry.values())), "<=", entry["allowed"] + 1e-9)
        for name, entry in made["norms"].items()
        if entry["allowed"] is not None
    )
    return Bound(
        "error of the head over all inputs",
        head["error_bound"],
        "certificate",
        (
            Condition("error within gamma/4", head["error_bound"], "<=", head["error_target"]),
            *limits,
        ),
        quantities={
            "R": head["R"],
            "rho": head["rho_used"],
            "Delta": made["basis"]["Delta_measured"],
            "gamma": head["gamma"],
            "slack": made["mlp"]["slack"],
        },
        notes=(f"positions {made['claim']['positions']}; lemmas {', '.join(made['lemmas'])}",),
        reference="edelman2022, Lemmas B.2 to B.8",
    )


def at_least_one(**counts: int) -> None:
    """Refuse counts below 1."""
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} = {count}", "at least 1")


def _valid(softmax_constant: Real) -> tuple[Condition, ...]:
    return (Condition("softmax constant", softmax_constant, ">=", 1.0),)


def _positive(*, resolution: Real, points: Real) -> tuple[Condition, ...]:
    return (
        Condition("resolution", float(resolution), ">", 0.0),
        Condition("points", float(points), ">=", 1.0),
    )
