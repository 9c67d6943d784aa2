r"""From a rule to weights: what was planned becomes tokens, heads and a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight._core.arrays import Real
from limelight.models.construct import _files as files
from limelight.models.construct import _selectors as selectors
from limelight.models.construct._document import certificate
from limelight.models.construct._lemmas import Mapping
from limelight.models.construct._memorise import Network, memorise, memorise_printed
from limelight.models.construct._plan import ConstructionPlan, decide
from limelight.models.construct._selectors import Selector


@dataclass(frozen=True)
class Construction:
    """Weights that compute a sparse function, and what is claimed of them."""

    tensors: dict[str, np.ndarray]
    certificate: dict[str, Any]

    def save(self, path: str | Path) -> None:
        """A safetensors file, and the certificate beside it."""
        files.write(path, self.tensors, self.certificate)


def construct(
    rule: str | Sequence[float],
    length: int,
    sparsity: int,
    *,
    positions: Sequence[int] | None = None,
    mapping: Mapping = "deterministic",
    basis: str = "auto",
    heads: str = "auto",
    gamma: Real | None = None,
    rho: str = "auto",
    variant: str = "repaired",
    dtype: str = "float64",
    tolerance: Real | None = None,
    seed: int = 0,
) -> Construction:
    r"""Attention weights that compute an $s$-sparse function of $T$ bits, for every input.

    Attention picks the relevant positions, a small ReLU network looks the value up. Symmetric
    rules take one head and $s + 1$ centres, all others a vector of $s$ numbers and $2^s$ centres.

    Notation: `length` is $T$, `sparsity` $s$, `positions` $I$ (from 0), `gamma` $\gamma$.
    Departures: dual keys, $\delta = \gamma / 4$, the repaired bump, [CLS] counted in the softmax.
        `variant="printed"` builds what the paper prints, which fails for $\Delta > 0$, for several
        heads, and in the memorising network.

    Args:
        rule: `and`, `or`, `xor`, `majority`, `threshold:k`, a table in hex, or $2^s$ numbers.
        length: Bits of an input.
        sparsity: Relevant bits.
        positions: Which; drawn from the seed when not given.
        mapping: `deterministic` or `trainable` positions, or a `bag` of vectors.
        basis: See `bases.choose`; trainable positions need none.
        heads: `many` forces the general construction on a symmetric rule.
        gamma: How far apart the head's targets are taken to be; the largest when not given.
        rho: Whether the temperature uses the theory's overlap or the measured one.
        variant: `repaired` or `printed`.
        dtype: Of the file.
        tolerance: Error allowed at the output.
        seed: Of positions and random signs.

    Returns:
        The weights and their certificate.

    Example:
        >>> made = construct("and", length=8, sparsity=2, positions=[1, 5])
        >>> made.certificate["claim"]["truth_table"], made.certificate["lemmas"]
        ('8', ['B.2', 'B.5'])

    Reference: edelman2022, Lemmas B.2 to B.6 and B.8.
    """
    plan = decide(
        rule,
        length,
        sparsity,
        positions=positions,
        mapping=mapping,
        basis=basis,
        heads=heads,
        gamma=gamma,
        rho=rho,
        variant=variant,
        dtype=dtype,
        tolerance=tolerance,
        seed=seed,
    )
    make = memorise_printed if variant == "printed" else memorise
    network = make(plan.centres, plan.looked_up, plan.width)
    tensors = {k: v.astype(dtype) for k, v in _tensors(_select(plan), network, mapping).items()}
    return Construction(tensors, certificate(plan, tensors))


def _select(plan: ConstructionPlan) -> Selector:
    heat, many, where = plan.heat, plan.many, plan.positions
    if plan.mapping == "trainable":
        return selectors.trainable(plan.length, where, plan.sparsity, heat, many)
    makers = {
        ("deterministic", "repaired"): selectors.deterministic,
        ("deterministic", "printed"): selectors.printed_deterministic,
        ("bag", "repaired"): selectors.bag,
        ("bag", "printed"): selectors.printed_bag,
    }
    return makers[plan.mapping, plan.variant](plan.marks.vectors, where, heat, many)


def _tensors(selector: Selector, network: Network, mapping: Mapping) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for h, head in enumerate(selector.heads):
        named = zip(("W_Q", "W_K", "W_V", "W_C"), head, strict=True)
        out |= {f"head.{h}.{name}": np.asarray(matrix) for name, matrix in named}
    out["cls"] = np.asarray(selector.cls)
    if mapping == "bag":
        out["V"] = np.asarray(selector.positions)
    else:
        out |= {"E": np.asarray(selector.symbols), "P": np.asarray(selector.positions)}
    return out | {"mlp.W_1": network.first, "mlp.W_2": network.second, "mlp.w": network.readout}
