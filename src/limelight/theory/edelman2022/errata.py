"""Numeric evidence for the errata: what the printed statement gives, and the corrected one.

`erratum(4)` evaluates one of them.
"""

import math
from collections.abc import Callable

import numpy as np

from limelight.core.arrays import Real
from limelight.core.errors import InputError
from limelight.models.construct import Construction, construct
from limelight.models.construct.memorise import evaluate, memorise, memorise_printed
from limelight.models.heads import HeadWeights, deep, softmax
from limelight.theory.base import Bound, Condition
from limelight.theory.covering import LinearMap, allocate
from limelight.theory.edelman2022.depth import LayerNorms, amplifications, deep_order
from limelight.theory.edelman2022.head import HeadNorms, head_order

#: The number that a printed statement gives, and that of the corrected one.
Pair = tuple[Real, Real]

#: By number in docs/errata.md: what is measured, how large it may be, and both numbers.
EVIDENCE: dict[int, tuple[str, float, Callable[[], Pair]]] = {}


def evidence(*numbers: int, what: str, at_most: float = 1.0):
    """Enter a function as the evidence for these errata."""

    def enter(function: Callable[[], Pair]) -> Callable[[], Pair]:
        EVIDENCE.update(dict.fromkeys(numbers, (what, at_most, function)))
        return function

    return enter


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
    what, at_most, function = EVIDENCE[number]
    printed, corrected = map(float, function())
    return Bound(
        name=f"E{number}: {what}",
        value=corrected,
        kind="exact",
        conditions=(
            Condition("corrected", corrected, "<=", at_most + 1e-9),
            Condition("as printed", printed, "<=", at_most + 1e-9),
        ),
        quantities={"printed": printed, "corrected": corrected},
        reference=f"edelman2022, erratum E{number}",
    )


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


def _head_error(variant: str, seed: int, **settings) -> float:
    """Largest head error over all inputs, in units of the target gamma/4."""
    T, s = 10, 3
    made = construct("xor", T, s, variant=variant, seed=seed, **settings)
    claim, bits = made.certificate["claim"], _inputs(T)
    many, bag = made.certificate["lemmas"][1] == "B.6", claim["mapping"] == "bag"
    inside = bits[:, claim["positions"]]
    ones = inside.sum(axis=1, keepdims=True)
    if many:
        target = (inside - 1) / (ones + 1) if bag else 1 - 2 * inside
    else:
        target = (ones - s) / (ones + 1) if bag else 1 - 2 * ones / s
    error = np.abs(_outputs(made, bits)[:, : target.shape[1]] - target).max()
    return float(error) / made.certificate["head"]["error_target"]


def _worst(*, trials: int = 10, **settings) -> Pair:
    """The largest head error for positions drawn so often, as printed and repaired."""
    printed, repaired = (
        max(_head_error(variant, seed, **settings) for seed in range(trials))
        for variant in ("printed", "repaired")
    )
    return printed, repaired


@evidence(1, what="head error over gamma/4")
def _several_heads() -> Pair:
    return _worst(heads="many", basis="orthonormal", trials=2)


@evidence(3, 4, what="head error over gamma/4, signs in 300 dimensions")
def _uneven() -> Pair:
    return _worst(basis="signs:300")


@evidence(5, what="head error over gamma/4, bag, signs in 1500 dimensions")
def _bag() -> Pair:
    return _worst(mapping="bag", basis="signs:1500", trials=4)


@evidence(6, what="distance of the bag's head from its target over gamma/4")
def _bag_target() -> Pair:
    s, bits = 3, _inputs(10)
    made = construct("xor", 10, s, mapping="bag")
    r = bits[:, made.certificate["claim"]["positions"]].sum(axis=1)
    y, unit = _outputs(made, bits)[:, 0], made.certificate["head"]["error_target"]
    far = lambda target: float(np.abs(y - target).max()) / unit
    return far(r - s), far((r - s) / (r + 1))


@evidence(8, what="error of the memorising network at its centres", at_most=1e-9)
def _bump() -> Pair:
    centres, values = np.linspace(-1, 1, 5)[:, None], np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    error = lambda make: np.abs(evaluate(make(centres, values, 0.1), centres) - values).max()
    return error(memorise_printed), error(memorise)


@evidence(9, what="largest entry of W_2, q = 2", at_most=2.0)
def _steep() -> Pair:
    centres = np.array([[0.0, 0.0], [1.0, 1.0]])
    largest = lambda make: np.abs(make(centres, np.ones(2), 0.1).second).max()
    return largest(memorise_printed), largest(memorise)


@evidence(10, what="largest entry of W_1 over its bound, B = 1, delta = .1")
def _first_layer() -> Pair:
    net = memorise(np.array([[-1.0], [1.0]]), np.ones(2), 0.1)
    size = float(np.abs(net.first).max())
    return size / 10, size / 12


@evidence(11, what="network error at offset gamma/4 with delta = gamma/8 and gamma/4", at_most=1e-9)
def _width() -> Pair:
    gamma = 0.5
    centres, values = np.arange(5)[:, None] * gamma, np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    made = lambda width: evaluate(memorise(centres, values, width), centres + gamma / 4)
    error = lambda width: np.abs(made(width) - values).max()
    return error(gamma / 8), error(gamma / 4)


@evidence(14, what="attention that leaves the set over (T - s)/s e^-R, and over T + 1")
def _attended() -> Pair:
    T = s = 2  # [CLS] is the only token outside the set, and the printed count leaves it out
    leak = math.exp(-math.log(8 * T / 1.0))
    true = leak / (s + leak)  # the mass on [CLS]
    bounds = np.array([T - s, T + 1 - s]) / s * leak
    with np.errstate(divide="ignore"):
        printed, corrected = true / bounds
    return printed, corrected


@evidence(15, what="squared resolutions of six equal columns, over eps^2")
def _grid() -> Pair:
    D = 6
    share = lambda steps: ((steps + 1) / (2 * D)).sum()
    return share(np.floor(D * np.ones(D))), share(np.floor(D * np.ones(D) / D))


@evidence(16, what="power of B_X that the head bound has, over the stated one")
def _tokens() -> Pair:
    a = LinearMap(4, 1.0, spectral=1.0)
    at = {"resolution": 1.0, "examples": 100, "tokens": 10}
    short, long = (head_order(HeadNorms(a, a, X), **at) for X in (1e3, 2e3))
    power = math.log2(long / short)
    return power / 2, power / 6


@evidence(
    17, what="true amplification of a first-layer error over the stated one", at_most=1.0 + 1e-9
)
def _order() -> Pair:
    eye, zero, e = np.eye(2), np.zeros((2, 2)), 1e-3
    X = np.tile([0.05, 0.0], (3, 1))
    good = [HeadWeights(zero, zero, eye, eye), HeadWeights(zero, zero, 10 * eye, eye)]
    bad = [good[0]._replace(output=eye + e / 0.05 * np.diag([1.0, 0.0])), good[1]]
    run = lambda layers: float(deep(X, layers, np.array([1.0, 0.0]), lambda v: v))
    moved = (run(bad) - run(good)) / e
    sizes = [LayerNorms(*(LinearMap(2, x, spectral=x) for x in (1.0, v, 0.0))) for v in (1.0, 10.0)]
    earlier = 1.0  # the product over layers before the first
    return moved / earlier, moved / amplifications(sizes)[0]


@evidence(18, what="closed optimum over the best of 20000 random splits")
def _split() -> Pair:
    rng = np.random.default_rng(0)
    a, b = rng.exponential(size=4), rng.exponential(size=4)
    value, _ = allocate(a, b, 2.0)
    splits = rng.dirichlet(np.ones(4) * 3, size=20000)
    return math.nan, value / min(float((a / (2.0 * z / b) ** 2).sum()) for z in splits)


@evidence(20, what="power of B_X that the depth bound has, over the stated one")
def _sixth() -> Pair:
    a = LinearMap(5, 1.0, spectral=1.0)
    at = {"resolution": 1.0, "examples": 100, "tokens": 10}
    short, long = (deep_order([LayerNorms(a, a, a)], token_norm=X, **at) for X in (1e3, 2e3))
    power = math.log2(long / short)
    return power / 2, power / 6
