"""What a construction file claims, read with suspicion: shapes, positions, tables, tolerances.

Nothing here comes from the builder; only the reading of files is shared with it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from limelight._core.errors import InputError
from limelight.models.construct._files import load
from limelight.models.weights import read
from limelight.theory.enclosure import Ball, HeadTable, head_table, plus

MOST_BITS = 12
#: Everything that a claim may say; what is not understood could mean anything.
CLAIM = {"T", "s", "positions", "mapping", "truth_table", "values", "cls_attended", "tolerance"}


@dataclass(frozen=True)
class ConstructionClaim:
    """A function that weights are claimed to compute.

    Args:
        source: The file's name.
        tensors: Its weights, float64 values of what is stored.
        certificate: Everything the file says of itself.
        length: Bits of an input.
        positions: The relevant ones, increasing.
        bag: Whether tokens are bags of vectors.
        values: The function on all patterns, first position least significant.
        tolerance: Error allowed at the output.
        dtype: Of the stored tensors; `mixed` where they differ.
        heads: Number of heads.
        inputs: Coordinates that the network reads.
    """

    source: str
    tensors: dict[str, np.ndarray]
    certificate: dict[str, Any]
    length: int
    positions: Int[np.ndarray, " sparsity"]
    bag: bool
    values: Float[np.ndarray, " patterns"]
    tolerance: float
    dtype: str
    heads: int
    inputs: int

    @property
    def sparsity(self) -> int:
        """Relevant bits."""
        return len(self.positions)

    def patterns(self) -> Int[np.ndarray, "patterns sparsity"]:
        """All patterns on the relevant positions, in the order of the values."""
        return (np.arange(2**self.sparsity)[:, None] // 2 ** np.arange(self.sparsity)) % 2

    def expected(self, bits: Int[np.ndarray, "inputs length"]) -> Float[np.ndarray, " inputs"]:
        """The claimed function on whole inputs."""
        return self.values[bits[:, self.positions] @ 2 ** np.arange(self.sparsity)]

    def tokens(self) -> Ball:
        """Both values of every token, positions by bits by coordinates."""
        if self.bag:
            rows = self.tensors["V"]
            return Ball.exact(np.stack([np.zeros_like(rows), rows], axis=1))
        marks, symbols = self.tensors["P"], self.tensors["E"]
        shape = (self.length, 2, marks.shape[1])
        first = np.broadcast_to(marks[:, None], shape)
        return plus(Ball.exact(first), Ball.exact(np.broadcast_to(symbols[None], shape)))

    def tables(self) -> list[HeadTable]:
        """Every head's weights and values, as intervals."""
        tokens = self.tokens()
        return [
            head_table(
                tokens,
                self.tensors["cls"],
                *(self.tensors[f"head.{h}.{name}"] for name in ("W_Q", "W_K", "W_V", "W_C")),
                outputs=self.inputs,
            )
            for h in range(self.heads)
        ]


def read_claim(path: str | Path) -> ConstructionClaim:
    """Read a construction file, refusing whatever does not fit together.

    Raises:
        InputError: In one line.
    """
    stored, certificate = load(path)
    name = read(path).path.name  # a folder stands for the file in it
    try:
        claim = certificate["claim"]
        unknown = sorted(set(claim) - CLAIM)
        if unknown:
            raise ValueError(f"it says {unknown[0]!r:.40}, which means nothing here")
        length, sparsity = _whole(claim["T"]), _whole(claim["s"])
        positions = np.array([_whole(i) for i in claim["positions"]], dtype=int)
        tolerance = _number(claim["tolerance"])
        mapping = claim["mapping"]
        values = _values(claim, sparsity)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: its claim cannot be read ({error!r})") from None
    if mapping not in ("deterministic", "trainable", "bag"):
        raise InputError(f"{name}: unknown mapping {mapping!r}")
    if not 1 <= sparsity <= MOST_BITS or len(positions) != sparsity:
        raise InputError(f"{name}: {len(positions)} positions for s = {sparsity}")
    if (np.diff(positions) <= 0).any() or positions[0] < 0 or positions[-1] >= length:
        raise InputError(f"{name}: positions {positions.tolist()} do not increase in [0, {length})")
    if claim.get("cls_attended") is not True:
        raise InputError(f"{name}: only heads that attend to [CLS] as well are covered")
    gaps = np.diff(np.unique(values))
    if not 0 < tolerance < gaps.min(initial=np.inf) / 2:
        raise InputError(f"{name}: tolerance {tolerance:g} cannot tell the values apart")
    heads = sum(re.fullmatch(r"head\.\d+\.W_Q", key) is not None for key in stored)
    inputs = _fitting(name, stored, heads, length, mapping == "bag")
    kinds = {str(tensor.dtype) for tensor in stored.values()}
    tensors = {key: tensor.astype(np.float64) for key, tensor in stored.items()}
    bad = [key for key, tensor in tensors.items() if not np.isfinite(tensor).all()]
    if bad:
        raise InputError(f"{name}: {', '.join(bad)} holds NaN or infinite numbers")
    return ConstructionClaim(
        name,
        tensors,
        certificate,
        length,
        positions,
        mapping == "bag",
        values,
        tolerance,
        kinds.pop() if len(kinds) == 1 else "mixed",
        heads,
        inputs,
    )


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _values(claim: dict[str, Any], sparsity: int) -> np.ndarray:
    if not 1 <= sparsity <= MOST_BITS:
        raise ValueError(f"s = {sparsity}")
    if "truth_table" in claim and "values" in claim:
        raise ValueError("a truth table and values, which may differ")
    size = 2**sparsity
    if "truth_table" in claim:
        number = int(claim["truth_table"], 16)
        if number < 0 or number >> size:
            raise ValueError("the truth table is too long")
        return np.array([float(number >> a & 1) for a in range(size)])
    values = np.array([_number(v) for v in claim["values"]])
    if values.shape != (size,) or not np.isfinite(values).all():
        raise ValueError(f"{size} finite values expected")
    return values


def _fitting(name: str, stored: dict[str, np.ndarray], heads: int, length: int, bag: bool) -> int:
    """Refuse missing or extra tensors and wrong shapes; the number of inputs of the network."""
    parts = [f"head.{h}.{part}" for h in range(heads) for part in ("W_Q", "W_K", "W_V", "W_C")]
    wanted = {*parts, "cls", "mlp.W_1", "mlp.W_2", "mlp.w", *(("V",) if bag else ("E", "P"))}
    if wanted != set(stored) or not heads:
        missing, extra = sorted(wanted - set(stored)), sorted(set(stored) - wanted)
        raise InputError(
            f"{name}: missing {', '.join(missing) or 'nothing'};"
            f" extra {', '.join(extra) or 'nothing'}",
            "a construction has heads, tokens and a network, and nothing else",
        )
    kinds = {str(tensor.dtype) for tensor in stored.values()}
    if not kinds <= {"float64", "float32"}:
        raise InputError(
            f"{name}: tensors of type {', '.join(sorted(kinds))}", "float64 or float32"
        )
    for key, tensor in stored.items():
        wanted_axes = 1 if key in ("cls", "mlp.w") else 2
        if tensor.ndim != wanted_axes:
            raise InputError(f"{name}: {key} has {tensor.ndim} axes, expected {wanted_axes}")
    d = len(stored["cls"])
    shapes: dict[str, tuple[int, ...]] = {"cls": (d,)}
    shapes |= {"V": (length, d)} if bag else {"E": (2, d), "P": (length, d)}
    for h in range(heads):
        query, value = stored[f"head.{h}.W_Q"], stored[f"head.{h}.W_V"]
        k, inner = query.shape[-1], value.shape[-1]
        shapes |= {f"head.{h}.W_Q": (d, k), f"head.{h}.W_K": (d, k)}
        shapes |= {f"head.{h}.W_V": (d, inner), f"head.{h}.W_C": (inner, d)}
    first, second = stored["mlp.W_1"], stored["mlp.W_2"]
    hidden, pairs = first.shape[-1], second.shape[-1]
    inputs = first.shape[0] - 1
    shapes |= {"mlp.W_1": (inputs + 1, hidden), "mlp.W_2": (hidden + 1, pairs), "mlp.w": (pairs,)}
    for key, shape in shapes.items():
        if stored[key].shape != shape:
            raise InputError(f"{name}: {key} is {stored[key].shape}, expected {shape}")
    if not 1 <= inputs <= d:
        raise InputError(f"{name}: the network reads {inputs} of {d} coordinates")
    return inputs
