r"""From a rule to weights and a certificate.

The certificate states what the weights are claimed to do and every number behind the claim; the
check recomputes all of it from the file and trusts none of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from limelight.core.arrays import Real
from limelight.core.errors import InputError
from limelight.models.construct import bases, files, lemmas, selectors
from limelight.models.construct.lemmas import Mapping, Overlap
from limelight.models.construct.memorise import Network, memorise, memorise_printed, separation
from limelight.worlds.rules import by_count, to_hex, truth_table
from limelight.models.construct.selectors import Selector

TOLERANCE = {"float64": 1e-6, "float32": 1e-3}
#: Entries of the largest matrix that the builder makes.
MOST_ENTRIES = 2**26


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
    if mapping not in selectors.MAPPINGS:
        raise InputError(
            f"unknown embedding {mapping!r}", "known: " + ", ".join(selectors.MAPPINGS)
        )
    _check_words(heads=heads, rho=rho, variant=variant, dtype=dtype)
    if not 1 <= sparsity <= length:
        raise InputError(
            f"sparsity = {sparsity} does not fit length = {length}", "between 1 and the length"
        )
    values, named = _values(rule, sparsity)
    where = _positions(positions, length, sparsity, seed)
    counted = by_count(values, sparsity)
    many = heads == "many" or counted is None
    if heads == "one" and counted is None:
        raise InputError(
            f"{rule} depends on which bits are 1, not only on how many", "leave --heads alone"
        )
    cases = 2**sparsity if many else sparsity + 1
    inputs = sparsity if many else 1
    if 8 * inputs * cases**2 > MOST_ENTRIES:
        raise InputError(
            f"a table of {cases} values needs a matrix of {8 * inputs * cases**2:.2g} entries",
            "fewer relevant bits, or a symmetric rule",
        )
    top = lemmas.largest_gamma(mapping, many, sparsity)
    gamma = lemmas.usual_gamma(mapping, many, sparsity) if gamma is None else gamma
    if not 0 < gamma <= top * (1 + 1e-12):
        raise InputError(f"gamma = {gamma:g}", f"above 0 and at most {top:g} here")
    marks = _marks(mapping, basis, length, sparsity, seed)
    if many and mapping != "trainable" and marks.vectors.shape[1] < sparsity:
        raise InputError(f"{sparsity} outputs need as many coordinates", "a larger basis")
    delta_measured = marks.measured if mapping != "trainable" else 0.0
    over = _overlap(variant, mapping, many, marks, where, delta_measured, rho)
    if variant == "printed":
        heat = lemmas.printed_temperature(mapping, many, length, sparsity, gamma, delta_measured)
    else:
        heat = lemmas.temperature(mapping, many, length, sparsity, gamma, over)
    selector = _select(variant, mapping, marks, length, sparsity, where, heat, many)
    centres = lemmas.targets(mapping, many, sparsity)
    width = gamma / 8 if variant == "printed" else gamma / 4
    make = memorise_printed if variant == "printed" else memorise
    network = make(centres, values if counted is None or many else counted, width)
    tensors = {k: v.astype(dtype) for k, v in _tensors(selector, network, mapping).items()}
    tolerance = TOLERANCE[dtype] if tolerance is None else tolerance
    _check_tolerance(tolerance, values)

    leaked = lemmas.leakage(mapping, many, length, sparsity, heat, over.used)
    error = lemmas.error_bound(mapping, many, sparsity, leaked, over)
    certificate = {
        "format": files.FORMAT,
        "paper": "edelman2022",
        "lemmas": [lemmas.LEMMAS[mapping], "B.6" if many else "B.5"],
        "variant": variant,
        "dtype": dtype,
        "claim": {
            "T": length,
            "s": sparsity,
            "positions": [int(i) for i in where],
            "mapping": mapping,
            **(
                {"truth_table": to_hex(values.astype(bool))}
                if named
                else {"values": values.tolist()}
            ),
            "cls_attended": True,
            "tolerance": tolerance,
        },
        "basis": {
            "kind": marks.kind,
            "d": int(tensors["cls"].shape[0]),
            "seed": marks.seed,
            "p": marks.prime,
            "Delta_measured": delta_measured,
            "Delta_bound": marks.bound,
        },
        "head": {
            "heads": len(selector.heads),
            "k": int(selector.heads[0].query.shape[1]),
            "gamma": gamma,
            "R": heat,
            "rho_bound": over.bound,
            "rho_measured": over.measured,
            "rho_used": over.used,
            "rho_kind": "measured" if over.from_measurement else "bound",
            "reach": over.reach,
            "leakage_bound": leaked,
            "error_bound": error,
            "error_target": gamma / 4,
        },
        "mlp": {
            "q": int(centres.shape[1]),
            "centres": len(centres),
            "delta": width,
            "separation": separation(centres),
            "slack": width - error,
        },
        "norms": _norms(tensors, mapping, many, sparsity, heat, over, centres, values, width),
        "digests": {name: files.digest(tensor) for name, tensor in tensors.items()},
    }
    return Construction(tensors, files.finite(certificate))


def _values(rule: str | Sequence[float], sparsity: int) -> tuple[Float[np.ndarray, " n"], bool]:
    if isinstance(rule, str):
        return truth_table(rule, sparsity).astype(float), True
    values = np.asarray(rule, dtype=float)
    if values.shape != (2**sparsity,) or not np.isfinite(values).all():
        raise InputError(
            f"{values.size} values for {sparsity} bits", f"{2**sparsity} finite numbers"
        )
    return values, False


def _positions(positions: Sequence[int] | None, length: int, sparsity: int, seed: int):
    if positions is None:
        rng = np.random.default_rng([seed, length, sparsity])
        return np.sort(rng.choice(length, sparsity, replace=False))
    where = np.sort(np.asarray(positions, dtype=int))
    if len(where) != sparsity or len(np.unique(where)) != sparsity:
        raise InputError(f"{len(where)} positions for {sparsity} bits", "as many, all different")
    if where[0] < 0 or where[-1] >= length:
        raise InputError(f"positions {where.tolist()}", f"from 0 to {length - 1}")
    return where


def _marks(mapping: Mapping, basis: str, length: int, sparsity: int, seed: int) -> bases.Basis:
    if mapping == "trainable":
        if basis != "auto":
            raise InputError("trainable positions need no basis", "leave --basis alone")
        return bases.Basis("none", np.zeros((length, 1)), 0.0)
    return bases.choose(basis, length, sparsity, seed)


def _overlap(
    variant: str,
    mapping: Mapping,
    many: bool,
    marks: bases.Basis,
    where: np.ndarray,
    delta: Real,
    prefer: str,
) -> Overlap:
    if variant == "printed":
        s = len(where)
        bound = 0.0 if mapping == "trainable" else s * delta
        return Overlap(bound, bound, 1.0, bound)
    return lemmas.overlap(mapping, many, marks.vectors, where, delta, prefer)


def _select(
    variant: str,
    mapping: Mapping,
    marks: bases.Basis,
    length: int,
    sparsity: int,
    where: np.ndarray,
    heat: Real,
    many: bool,
) -> Selector:
    if mapping == "trainable":
        return selectors.trainable(length, where, sparsity, heat, many)
    makers = {
        ("deterministic", "repaired"): selectors.deterministic,
        ("deterministic", "printed"): selectors.printed_deterministic,
        ("bag", "repaired"): selectors.bag,
        ("bag", "printed"): selectors.printed_bag,
    }
    return makers[mapping, variant](marks.vectors, where, heat, many)


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


def _norms(
    tensors: dict[str, np.ndarray],
    mapping: Mapping,
    many: bool,
    sparsity: int,
    heat: Real,
    over: Overlap,
    centres: np.ndarray,
    values: np.ndarray,
    width: Real,
) -> dict[str, Any]:
    allowed: dict[str, float | None] = dict(lemmas.allowed_norms(mapping, many, sparsity, heat))
    if over.from_measurement and not over.bound < 1:
        allowed |= {"W_K": None, "W_V": None}  # the lemma says nothing of them here
    heads = sum(name.endswith("W_Q") for name in tensors)
    out: dict[str, Any] = {}
    for name, limit in allowed.items():
        size = max(np.linalg.norm(tensors[f"head.{h}.{name}"].astype(float)) for h in range(heads))
        out[name] = {"frobenius": float(size), "allowed": limit}
    if mapping == "trainable":
        total = np.linalg.norm(tensors["P"].astype(float), axis=1).sum()
        out["P_21"] = {"value": float(total), "allowed": float(sparsity)}
    reach = float(np.abs(centres).max())
    limits = {
        "W_1": max(1 / width, reach / width + 2),
        "W_2": max(1.0, float(centres.shape[1])),
        "w": float(np.abs(values).max()),
    }
    for name, limit in limits.items():
        size = float(np.abs(tensors[f"mlp.{name}"].astype(float)).max())
        out[name] = {"max": size, "allowed": limit}
    return out


def _check_words(**words: str) -> None:
    known = {
        "heads": ("auto", "one", "many"),
        "rho": ("auto", "bound", "measured"),
        "variant": ("repaired", "printed"),
        "dtype": tuple(TOLERANCE),
    }
    for name, word in words.items():
        if word not in known[name]:
            raise InputError(f"unknown {name} {word!r}", "known: " + ", ".join(known[name]))


def _check_tolerance(tolerance: Real, values: np.ndarray) -> None:
    distinct = np.unique(values)
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else np.inf
    if not 0 < tolerance < gap / 2:
        raise InputError(
            f"tolerance = {tolerance:g}", f"above 0 and below half of {gap:g}, the values' distance"
        )
