"""Numeric evidence for the errata: what the printed statement gives, and the corrected one.

`erratum(4)` evaluates one of them.
"""

import math
from collections.abc import Callable

import numpy as np

from limelight._core.errors import InputError
from limelight.models.construct import Construction, construct
from limelight.models.construct._memorise import evaluate, memorise, memorise_printed
from limelight.models.heads import HeadWeights, deep, softmax
from limelight.theory.base import Bound, Condition
from limelight.theory.covering import LinearMap, allocate
from limelight.theory.edelman2022.depth import LayerNorms, amplifications

Evidence = tuple[str, float, float, float]  # what, printed, corrected, what is allowed (at most)


def _inputs(length: int) -> np.ndarray:
    return (np.arange(2**length)[:, None] >> np.arange(length)) & 1


def _outputs(made: Construction, bits: np.ndarray) -> np.ndarray:
    """What the heads of a construction output on whole inputs."""
    t, bag = made.tensors, made.certificate["claim"]["mapping"] == "bag"
    X = bits[..., None] * t["V"] if bag else t["P"] + t["E"][bits]
    X = np.concatenate([X, np.broadcast_to(t["cls"], (len(bits), 1, len(t["cls"])))], axis=1)
    y = np.zeros((len(bits), len(t["cls"])))
    for h in range(made.certificate["head"]["heads"]):
        Q, K, V, C = (t[f"head.{h}.{name}"] for name in ("W_Q", "W_K", "W_V", "W_C"))
        weights = softmax(X @ (K @ (Q.T @ t["cls"])))
        y = y + np.einsum("nt,ntd->nd", weights, X) @ V @ C
    return y


def head_errors(variant: str, *, trials: int = 10, **settings) -> list[float]:
    """Largest head error over all inputs, in units of the target gamma/4, for drawn positions."""
    T, s, errors = 10, settings.pop("sparsity", 3), []
    bits = _inputs(T)
    for seed in range(trials):
        made = construct("xor", T, s, variant=variant, seed=seed, **settings)
        claim = made.certificate["claim"]
        many, bag = made.certificate["lemmas"][1] == "B.6", claim["mapping"] == "bag"
        y = _outputs(made, bits)
        inside = bits[:, claim["positions"]]
        ones = inside.sum(axis=1, keepdims=True)
        if many:
            target = (inside - 1) / (ones + 1) if bag else 1 - 2 * inside
        else:
            target = (ones - s) / (ones + 1) if bag else 1 - 2 * ones / s
        error = np.abs(y[:, : target.shape[1]] - target).max()
        errors.append(float(error) / made.certificate["head"]["error_target"])
    return errors


def _worst(what: str, **settings) -> Evidence:
    printed, repaired = (max(head_errors(v, **settings)) for v in ("printed", "repaired"))
    return what, printed, repaired, 1.0


def _several_heads() -> Evidence:
    return _worst("head error over gamma/4", heads="many", basis="orthonormal", trials=2)


def _leak() -> Evidence:
    """Keys that are as bad as the lemma allows: -Delta inside the set, +Delta to all others."""
    T, s, gamma, Delta = 100, 3, 2 / 3, 0.1
    rho = s * Delta / (1 - (s - 1) * Delta)
    printed = math.log(8 * T / gamma) / (1 - s * Delta)
    corrected = math.log(8 * (T + 1) / (s * gamma)) / (1 - rho)

    def outside(R: float, inside: float, other: float) -> float:
        scores = np.array([R * inside] * s + [R * other] * (T - s) + [0.0])
        return float(softmax(scores)[s:].sum())

    leaks = (outside(printed, 1 - (s - 1) * Delta, s * Delta), outside(corrected, 1.0, rho))
    what = "attention outside the set over gamma/8, T = 100"
    return what, leaks[0] * 8 / gamma, leaks[1] * 8 / gamma, 1.0


def _uneven() -> Evidence:
    """How unequal attention is inside the set, where the proof takes it as uniform."""
    spreads = []
    for variant in ("printed", "repaired"):
        made = construct("majority", 10, 3, variant=variant, basis="signs:300", seed=0)
        t, inside = made.tensors, made.certificate["claim"]["positions"]
        keys = t["P"] @ t["head.0.W_K"] @ (t["head.0.W_Q"].T @ t["cls"])
        spreads.append(float(np.exp(np.ptp(keys[inside])) - 1))
    return "largest attention in the set over the smallest, less 1", spreads[0], spreads[1], 1e-9


def _bag() -> Evidence:
    return _worst(
        "head error over gamma/4, bag, signs in 1500 dimensions",
        mapping="bag",
        basis="signs:1500",
        trials=4,
    )


def _bag_target() -> Evidence:
    s, bits = 3, _inputs(10)
    made = construct("xor", 10, s, mapping="bag")
    r = bits[:, made.certificate["claim"]["positions"]].sum(axis=1)
    y, unit = _outputs(made, bits)[:, 0], made.certificate["head"]["error_target"]
    printed, corrected = (float(np.abs(y - g).max()) / unit for g in (r - s, (r - s) / (r + 1)))
    return "distance of the bag's head from its target over gamma/4", printed, corrected, 1.0


def _bump() -> Evidence:
    centres, values = np.linspace(-1, 1, 5)[:, None], np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    errors = [
        float(np.abs(evaluate(make(centres, values, 0.1), centres) - values).max())
        for make in (memorise_printed, memorise)
    ]
    return "error of the memorising network at its centres", errors[0], errors[1], 1e-9


def _steep() -> Evidence:
    centres = np.array([[0.0, 0.0], [1.0, 1.0]])
    sizes = [
        float(np.abs(make(centres, np.ones(2), 0.1).second).max())
        for make in (memorise_printed, memorise)
    ]
    return "largest entry of W_2, q = 2", sizes[0], sizes[1], 2.0


def _first_layer() -> Evidence:
    net = memorise(np.array([[-1.0], [1.0]]), np.ones(2), 0.1)
    size = float(np.abs(net.first).max())
    return "largest entry of W_1 over its bound, B = 1, delta = .1", size / 10, size / 12, 1.0


def _width() -> Evidence:
    gamma = 0.5
    centres, values = np.arange(5)[:, None] * gamma, np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    errors = [
        float(np.abs(evaluate(memorise(centres, values, w), centres + gamma / 4) - values).max())
        for w in (gamma / 8, gamma / 4)
    ]
    return (
        "network error at offset gamma/4 with delta = gamma/8 and gamma/4",
        errors[0],
        errors[1],
        1e-9,
    )


def _attended() -> Evidence:
    T = s = 2  # [CLS] is the only token outside the set, and the printed count leaves it out
    leak = math.exp(-math.log(8 * T / 1.0))
    true = leak / (s + leak)  # the mass on [CLS]
    bounds = np.array([T - s, T + 1 - s]) / s * leak
    with np.errstate(divide="ignore"):
        printed, corrected = true / bounds
    return (
        "attention that leaves the set over (T - s)/s e^-R, and over T + 1",
        printed,
        corrected,
        1.0,
    )


def _grid() -> Evidence:
    D = 6
    printed, repaired = np.floor(D * np.ones(D)), np.floor(D * np.ones(D) / D)
    shares = [float(((k + 1) / (2 * D)).sum()) for k in (printed, repaired)]
    return "squared resolutions of six equal columns, over eps^2", shares[0], shares[1], 1.0


def _power(moved: Callable[[float], float]) -> float:
    """The power of the token length in the squared effect of an error in the scores."""
    return 2 * math.log2(moved(2.0) / moved(1.0))


def _tokens() -> Evidence:
    """Measured on a head: an error of W_QK is worth the cube of the token length."""
    rng, e = np.random.default_rng(0), 1e-6
    X, wrong = rng.normal(size=(5, 4)), rng.normal(size=(4, 4))

    def moved(length: float) -> float:
        Z = length * X
        head = lambda QK: softmax(Z @ QK.T @ Z[-1]) @ Z
        return float(np.linalg.norm(head(e * wrong) - head(0 * wrong)))

    power = _power(moved)
    return (
        "power of B_X in the squared effect of W_QK, over the stated",
        power / 2,
        power / 6,
        1.00001,
    )


def _order() -> Evidence:
    eye, zero, e = np.eye(2), np.zeros((2, 2)), 1e-3
    X = np.tile([0.05, 0.0], (3, 1))
    good = [HeadWeights(zero, zero, eye, eye), HeadWeights(zero, zero, 10 * eye, eye)]
    bad = [good[0]._replace(output=eye + e / 0.05 * np.diag([1.0, 0.0])), good[1]]
    run = lambda layers: float(deep(X, layers, np.array([1.0, 0.0]), lambda v: v))
    moved = (run(bad) - run(good)) / e
    sizes = [LayerNorms(*(LinearMap(2, x, spectral=x) for x in (1.0, v, 0.0))) for v in (1.0, 10.0)]
    later = amplifications(sizes)[0]
    earlier = 1.0  # the product over layers before the first
    return (
        "true amplification of a first-layer error over the stated one",
        moved / earlier,
        moved / float(later),
        1.0 + 1e-9,
    )


def _split() -> Evidence:
    rng = np.random.default_rng(0)
    a, b = rng.exponential(size=4), rng.exponential(size=4)
    value, shares = allocate(a, b, 2.0)
    other = min(
        float((a / (2.0 * z / b) ** 2).sum()) for z in rng.dirichlet(np.ones(4) * 3, size=20000)
    )
    return "closed optimum over the best of 20000 random splits", math.nan, value / other, 1.0


def _sixth() -> Evidence:
    """Measured on a block whose outputs stay inside the ball, so that nothing is projected."""
    rng, e = np.random.default_rng(0), 1e-6
    X, wrong = rng.normal(size=(5, 4)), rng.normal(size=(4, 4))
    eye, small = np.eye(4), 1e-3 * np.eye(4)

    def moved(length: float) -> float:
        run = lambda Q: deep(length * X, [HeadWeights(Q, eye, small, eye)], np.ones(4), lambda v: v)
        return abs(float(run(e * wrong)) - float(run(0 * wrong)))

    power = _power(moved)
    return (
        "power of B_X in the squared effect of a block's W_QK, over the stated",
        power / 2,
        power / 6,
        1.00001,
    )


EVIDENCE: dict[int, Callable[[], Evidence]] = {
    1: _several_heads,
    3: _leak,
    4: _uneven,
    5: _bag,
    6: _bag_target,
    8: _bump,
    9: _steep,
    10: _first_layer,
    11: _width,
    14: _attended,
    15: _grid,
    16: _tokens,
    17: _order,
    18: _split,
    20: _sixth,
}


def erratum(number: int = 4) -> Bound:
    """Evidence for one erratum: the printed statement's number, and the corrected one's.

    Args:
        number: As in docs/errata.md.

    Returns:
        The corrected number as value, the printed one as a quantity, and what both should meet.

    Reference: edelman2022.
    """
    if number not in EVIDENCE:
        known = ", ".join(map(str, EVIDENCE))
        raise InputError(f"no numeric evidence for erratum {number}", f"there is for {known}")
    what, printed, corrected, allowed = EVIDENCE[number]()
    readable = not math.isnan(printed)
    met = lambda words, value: Condition(words, float(value), "<=", float(allowed) + 1e-9)
    return Bound(
        name=f"E{number}: {what}",
        value=float(corrected),
        kind="corrected",
        conditions=(
            met("corrected", corrected),
            *((met("as printed", printed),) if readable else ()),
        ),
        quantities=({"printed": float(printed)} if readable else {})
        | {"corrected": float(corrected)},
        notes=() if readable else ("what is printed cannot be read in our copy",),
        reference=f"edelman2022, erratum E{number}",
    )
