"""What is decided about a construction before any weight is made: values, places, numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from limelight._core.arrays import Real
from limelight._core.errors import InputError, check_word
from limelight.models.construct import _bases as bases
from limelight.models.construct import _lemmas as lemmas
from limelight.models.construct._lemmas import Mapping, Overlap
from limelight.models.construct._selectors import MAPPINGS
from limelight.worlds._rules import by_count, truth_table

TOLERANCE = {"float64": 1e-6, "float32": 1e-3}
#: Entries of the largest matrix that the builder makes.
MOST_ENTRIES = 2**26

WORDS = {
    "embedding": MAPPINGS,
    "heads": ("auto", "one", "many"),
    "rho": ("auto", "bound", "measured"),
    "variant": ("repaired", "printed"),
    "dtype": tuple(TOLERANCE),
}


@dataclass(frozen=True)
class ConstructionPlan:
    r"""A construction as decided.

    Args:
        mapping: How bits become tokens.
        many: Whether the head outputs a vector (the general construction) or one number.
        length: $T$.
        positions: $I$, increasing.
        values: The function on all patterns.
        named: Whether the values are a truth table.
        gamma: $\gamma$.
        variant: `repaired` or `printed`.
        dtype: Of the file.
        tolerance: Error allowed at the output.
        marks: The vectors of the positions.
        delta: Their largest inner product, measured.
        over: How irrelevant positions score.
        heat: $R$.
    """

    mapping: Mapping
    many: bool
    length: int
    positions: Int[np.ndarray, " sparsity"]
    values: Float[np.ndarray, " patterns"]
    named: bool
    gamma: Real
    variant: str
    dtype: str
    tolerance: Real
    marks: bases.Basis
    delta: Real
    over: Overlap
    heat: Real

    @property
    def sparsity(self) -> int:
        """$s$."""
        return len(self.positions)

    @property
    def centres(self) -> Float[np.ndarray, "cases outputs"]:
        """What the head outputs without leakage, and the network looks up."""
        return lemmas.targets(self.mapping, self.many, self.sparsity)

    @property
    def looked_up(self) -> Float[np.ndarray, " cases"]:
        """The function's value at every centre."""
        counted = None if self.many else by_count(self.values, self.sparsity)
        return self.values if counted is None else counted

    @property
    def width(self) -> float:
        r"""Half-width of the network's boxes, $\gamma/4$; printed as $\gamma/8$."""
        return float(self.gamma) / (8 if self.variant == "printed" else 4)


def decide(
    rule: str | Sequence[float],
    length: int,
    sparsity: int,
    *,
    positions: Sequence[int] | None,
    mapping: Mapping,
    basis: str,
    heads: str,
    gamma: Real | None,
    rho: str,
    variant: str,
    dtype: str,
    tolerance: Real | None,
    seed: int,
) -> ConstructionPlan:
    """Settle everything that `construct` asks for, refusing in one line what cannot be built."""
    _check_words(embedding=mapping, heads=heads, rho=rho, variant=variant, dtype=dtype)
    if not 1 <= sparsity <= length:
        raise InputError(
            f"sparsity = {sparsity} does not fit length = {length}", "between 1 and the length"
        )
    if not 0 <= seed < 2**63:
        raise InputError(f"seed = {seed}", "a whole number, at least 0")
    if length * (sparsity + 3) > bases.MOST_ENTRIES:
        raise InputError(f"length = {length} does not fit in memory", "tokens of 2^26 numbers")
    values = _values(rule, sparsity)
    where = _positions(positions, length, sparsity, seed)
    symmetric = by_count(values, sparsity) is not None
    if heads == "one" and not symmetric:
        raise InputError(
            f"{rule} depends on which bits are 1, not only on how many", "leave heads=auto"
        )
    many = heads == "many" or not symmetric
    _check_size(sparsity, many)
    top = lemmas.largest_gamma(mapping, many, sparsity)
    gamma = lemmas.usual_gamma(mapping, many, sparsity) if gamma is None else gamma
    if not 0 < gamma <= top * (1 + 1e-12):
        raise InputError(f"gamma = {gamma:g}", f"above 0 and at most {top:g} here")
    tolerance = TOLERANCE[dtype] if tolerance is None else tolerance
    _check_tolerance(tolerance, values)
    marks = _marks(mapping, basis, length, sparsity, seed)
    if many and mapping != "trainable" and marks.vectors.shape[1] < sparsity:
        raise InputError(f"{sparsity} outputs need as many coordinates", "a larger basis")
    delta = marks.measured if mapping != "trainable" else 0.0
    if variant == "printed":
        bound = 0.0 if mapping == "trainable" else sparsity * delta
        over = Overlap(bound, bound, 1.0, bound)
        heat = lemmas.printed_temperature(mapping, many, length, sparsity, gamma, delta)
    else:
        over = lemmas.overlap(mapping, many, marks.vectors, where, delta, rho)
        heat = lemmas.temperature(mapping, many, length, sparsity, gamma, over)
    return ConstructionPlan(
        mapping=mapping,
        many=many,
        length=length,
        positions=where,
        values=values,
        named=isinstance(rule, str),
        gamma=gamma,
        variant=variant,
        dtype=dtype,
        tolerance=tolerance,
        marks=marks,
        delta=delta,
        over=over,
        heat=heat,
    )


def _check_words(**words: str) -> None:
    for name, word in words.items():
        check_word(name, word, WORDS[name])


def _values(rule: str | Sequence[float], sparsity: int) -> Float[np.ndarray, " patterns"]:
    if isinstance(rule, str):
        return truth_table(rule, sparsity).astype(float)
    values = np.asarray(rule, dtype=float)
    if values.shape != (2**sparsity,) or not np.isfinite(values).all():
        raise InputError(
            f"{values.size} values for {sparsity} bits", f"{2**sparsity} finite numbers"
        )
    return values


def _positions(
    positions: Sequence[int] | None, length: int, sparsity: int, seed: int
) -> Int[np.ndarray, " sparsity"]:
    if positions is None:
        rng = np.random.default_rng([seed, length, sparsity])
        return np.sort(rng.choice(length, sparsity, replace=False))
    if not all(0 <= place < length for place in positions):
        raise InputError(f"positions {list(positions)}", f"from 0 to {length - 1}")
    where = np.sort(np.asarray(positions, dtype=int))
    if len(where) != sparsity or len(np.unique(where)) != sparsity:
        raise InputError(f"{len(where)} positions for {sparsity} bits", "as many, all different")
    return where


def _check_size(sparsity: int, many: bool) -> None:
    cases, inputs = (2**sparsity, sparsity) if many else (sparsity + 1, 1)
    entries = 8 * inputs * cases**2
    if entries > MOST_ENTRIES:
        raise InputError(
            f"a table of {cases} values needs a matrix of {entries:.2g} entries",
            "fewer relevant bits, or a symmetric rule",
        )


def _check_tolerance(tolerance: Real, values: np.ndarray) -> None:
    distinct = np.unique(values)
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else np.inf
    if not 0 < tolerance < gap / 2:
        raise InputError(
            f"tolerance = {tolerance:g}", f"above 0 and below half of {gap:g}, the values' distance"
        )


def _marks(mapping: Mapping, basis: str, length: int, sparsity: int, seed: int) -> bases.Basis:
    if mapping == "trainable":
        if basis != "auto":
            raise InputError("trainable positions need no basis", "leave basis=auto")
        return bases.Basis("none", np.zeros((length, 1)), 0.0)
    return bases.choose(basis, length, sparsity, seed)
