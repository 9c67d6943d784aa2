r"""The certificate of a construction: what is claimed, and every number behind the claim.

The check recomputes all of it from the weights and trusts none of it.
"""

from typing import Any

import numpy as np

from limelight.models.construct import _files as files
from limelight.models.construct import _lemmas as lemmas
from limelight.models.construct._memorise import separation
from limelight.models.construct._plan import ConstructionPlan
from limelight.worlds._rules import to_hex


def certificate(plan: ConstructionPlan, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """Everything that is claimed of the weights, as plain JSON values."""
    shape = (plan.mapping, plan.many)
    leaked = lemmas.leakage(*shape, plan.length, plan.sparsity, plan.heat, plan.over.used)
    error = lemmas.error_bound(*shape, plan.sparsity, leaked, plan.over)
    marks, over, centres = plan.marks, plan.over, plan.centres
    table = to_hex(plan.values.astype(bool))
    function = {"truth_table": table} if plan.named else {"values": plan.values.tolist()}
    document = {
        "format": files.FORMAT,
        "paper": "edelman2022",
        "lemmas": [lemmas.LEMMAS[plan.mapping], "B.6" if plan.many else "B.5"],
        "variant": plan.variant,
        "dtype": plan.dtype,
        "claim": {
            "T": plan.length,
            "s": plan.sparsity,
            "positions": [int(i) for i in plan.positions],
            "mapping": plan.mapping,
            **function,
            "cls_attended": True,
            "tolerance": plan.tolerance,
        },
        "basis": {
            "kind": marks.kind,
            "d": len(tensors["cls"]),
            "seed": marks.seed,
            "p": marks.prime,
            "Delta_measured": plan.delta,
            "Delta_bound": marks.bound,
        },
        "head": {
            "heads": _heads(tensors),
            "k": tensors["head.0.W_Q"].shape[1],
            "gamma": plan.gamma,
            "R": plan.heat,
            "rho_bound": over.bound,
            "rho_measured": over.measured,
            "rho_used": over.used,
            "rho_kind": "measured" if over.from_measurement else "bound",
            "reach": over.reach,
            "leakage_bound": leaked,
            "error_bound": error,
            "error_target": plan.gamma / 4,
        },
        "mlp": {
            "q": centres.shape[1],
            "centres": len(centres),
            "delta": plan.width,
            "separation": separation(centres),
            "slack": plan.width - error,
        },
        "norms": _norms(plan, tensors),
        "digests": {name: files.digest(tensor) for name, tensor in tensors.items()},
    }
    return files.finite(document)


def _heads(tensors: dict[str, np.ndarray]) -> int:
    return sum(name.endswith("W_Q") for name in tensors)


def _norms(plan: ConstructionPlan, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """The norms of all weights beside what the lemma allows."""
    s, over = plan.sparsity, plan.over
    allowed: dict[str, float | None] = {
        **lemmas.allowed_norms(plan.mapping, plan.many, s, plan.heat)
    }
    if over.from_measurement and not over.bound < 1:
        allowed |= {"W_K": None, "W_V": None}  # the lemma says nothing of them here
    exact = {name: tensor.astype(float) for name, tensor in tensors.items()}
    out: dict[str, Any] = {}
    for name, limit in allowed.items():
        sizes = [np.linalg.norm(exact[f"head.{h}.{name}"]) for h in range(_heads(tensors))]
        out[name] = {"frobenius": float(max(sizes)), "allowed": limit}
    if plan.mapping == "trainable":
        total = float(np.linalg.norm(exact["P"], axis=1).sum())
        out["P_21"] = {"value": total, "allowed": float(s)}
    reach = float(np.abs(plan.centres).max())
    limits = {
        "W_1": max(1 / plan.width, reach / plan.width + 2),
        "W_2": max(1.0, float(plan.centres.shape[1])),
        "w": float(np.abs(plan.values).max()),
    }
    for name, limit in limits.items():
        out[name] = {"max": float(np.abs(exact[f"mlp.{name}"]).max()), "allowed": limit}
    return out
