"""The Lipschitz lemmas tried on random instances: how much of each bound is ever used.

Shapes of 1 and large scores are drawn often, because that is where the lemmas are tight.
"""

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError, suggest
from limelight.models.heads import HeadWeights, project
from limelight.theory import softmax as lemmas
from limelight.theory.base import Bound, Condition

LEMMAS = ("A.7", "A.7+", "A.9", "4.3", "A.13", "A.14", "A.15", "A.16", "B.7")


def largest_ratio(
    lemma: str = "all", instances: int = 1000, seed: int = 0, softmax_constant: Real = 2.0
) -> Bound:
    """The largest left side over right side of a lemma among random instances.

    Args:
        lemma: `A.7` softmax, `A.7+` its saturating form (ours), `A.9` projection, `4.3` head,
            `A.13` weights of attention, `A.14` its inputs, `A.15` a block, `A.16` a read-out,
            `B.7` softmax truncation; `all` for every one of them.
        instances: How many are drawn.
        seed: Of the draws.
        softmax_constant: 2 as in the paper, or 1.

    Returns:
        The largest ratio, each lemma's own, and the conditions that none is above 1.

    Reference: edelman2022, Section 4 and Appendix A.
    """
    if lemma not in (*LEMMAS, "all"):
        raise InputError(f"no lemma {lemma!r}", suggest(lemma, [*LEMMAS, "all"]))
    if instances < 1 or seed < 0:
        raise InputError(f"{instances} instances of seed {seed}", "at least 1, and at least 0")
    if softmax_constant not in (1, 2):
        raise InputError(f"softmax_constant = {softmax_constant:g}", "1, or the paper's 2")
    tops = {}
    for name in LEMMAS if lemma == "all" else (lemma,):
        rng = np.random.default_rng(seed)
        tops[name] = max(lemmas.ratio(draw(name, rng, softmax_constant)) for _ in range(instances))
    return Bound(
        name="largest left side over right side, "
        + (f"lemma {lemma}" if lemma != "all" else "all Lipschitz lemmas"),
        value=max(tops.values()),
        kind="exact",
        conditions=tuple(Condition(f"lemma {n}", r, "<=", 1 + 1e-9) for n, r in tops.items()),
        quantities={"instances of each lemma": float(instances)},
        constants={"softmax constant": softmax_constant},
        reference="edelman2022, Section 4 and Appendix A"
        if lemma == "all"
        else f"edelman2022, Lemma {lemma}",
    )


def draw(lemma: str, rng: np.random.Generator, constant: Real) -> Condition:
    """One random instance of a lemma, evaluated."""
    T, d, k = (int(rng.choice([1, 2, 3, 8])) for _ in range(3))
    if lemma in ("A.7", "A.7+"):
        a, b = _scores(rng, T)
        return (
            lemmas.softmax_moves(a, b, constant)
            if lemma == "A.7"
            else lemmas.softmax_saturates(a, b)
        )
    if lemma == "B.7":
        favoured = int(rng.integers(1, T + 1))
        inside = rng.uniform(0, 8) + rng.exponential(1, favoured) * rng.choice([0, 1])
        return lemmas.softmax_truncates(
            np.concatenate([inside, -rng.exponential(1, T - favoured) * rng.choice([0, 1])]),
            favoured,
        )
    if lemma == "A.9":
        u = rng.normal(size=d) * rng.choice([0.3, 1, 10])
        return lemmas.projection_contracts(u, u + rng.normal(size=d) * rng.choice([0.01, 1]))
    if lemma == "A.16":
        w, w_new, a, b = rng.normal(size=(4, d)) * rng.choice([0, 0.1, 1], (4, 1))
        return lemmas.readout_moves(w, w_new, a, b)
    if lemma == "4.3":
        return _head(rng, T, d, k, constant)
    Z = project(rng.normal(size=(T, d)) * rng.choice([0.2, 1, 5]))
    near = rng.choice([1e-3, 0.1, 1])
    old = _weights(rng, d, k)
    new = HeadWeights(*(w + near * rng.normal(size=w.shape) for w in old))
    if lemma == "A.13":
        return lemmas.weights_move(Z, old, new, constant)
    Zn = project(Z + rng.choice([1e-3, 0.1, 1]) * rng.normal(size=Z.shape))
    if lemma == "A.14":
        return lemmas.inputs_move(Z, Zn, old, constant)
    slope = float(rng.choice([0.5, 1.0, 2.0]))
    act = lambda v: slope * np.maximum(v, 0.0)
    return lemmas.block_moves((Z, Zn), (old, new), act, slope, constant)


def _scores(rng: np.random.Generator, T: int) -> tuple[np.ndarray, np.ndarray]:
    a = rng.normal(size=T) * rng.choice([0.1, 1, 10])
    if rng.random() < 0.3:  # two groups of nearly equal mass, moved apart: the tight case
        side = np.where(np.arange(T) % 2, 1.0, -1.0)
        return -side * rng.uniform(0, 1), side * rng.uniform(0, 1)
    return a, a + rng.normal(size=T) * rng.choice([0.01, 1, 5])


def _weights(rng: np.random.Generator, d: int, k: int) -> HeadWeights:
    shapes = ((d, k), (d, k), (d, k), (k, d))
    return HeadWeights(*(rng.normal(size=s) * rng.choice([0.1, 1, 3]) for s in shapes))


def _head(rng: np.random.Generator, T: int, d: int, k: int, constant: Real) -> Condition:
    X = rng.normal(size=(T, d)) * rng.choice([0.3, 1, 3])
    W, Wn = rng.normal(size=(2, d, k))
    Wn = W + rng.choice([0, 1e-3, 1]) * Wn
    C = rng.normal(size=(k, d))
    scores = rng.normal(size=T) * rng.choice([1, 5])
    moved = scores + rng.normal(size=T) * rng.choice([0, 1e-3, 1])
    return lemmas.head_moves(
        X,
        (scores, moved),
        (X @ W, X @ Wn),
        lambda v: C.T @ np.maximum(v, 0.0),
        lipschitz=float(np.linalg.norm(C, 2)),
        gain=float(np.linalg.norm(W, 2)),
        constant=constant,
    )
