"""What timm's architectures are, by name and by the shapes of their tensors.

`timm.json` beside this file was made from timm itself (`tests/fixtures/make_timm.py`): for each
architecture whatever its tensors do not say (heads, epsilon, activation, pool, rotations), its
tensors' signature, and how each of its released weights wants pixels.
"""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

#: What a file does not say and an architecture does.
FACTS = ("heads", "epsilon", "activation", "pool", "centred", "rotary")


class Signature(NamedTuple):
    """What tensors say of an architecture.

    Args:
        parts: A digest of which tensors there are, heads left out, whatever the sizes.
        sizes: Width, blocks, rows of the first layer of a perceptron, pixels of a patch's side.
    """

    parts: str
    sizes: tuple[int, ...]


def signature(shapes: Mapping[str, tuple[int, ...]]) -> Signature | None:
    """The signature of tensors with timm's names; `None` where no block is found."""
    blocks = {int(m[1]) for n in shapes if (m := re.match(r"blocks\.(\d+)\.", n))}
    embed, neurons = shapes.get("patch_embed.proj.weight"), _neurons(shapes)
    if not blocks or embed is None or not embed or neurons is None:
        return None
    names = [n for n in shapes if not re.match(r"head|blocks\.(?!0\.)", n)]
    out = shapes.get("blocks.0.mlp.fc2.weight", (0,))[-1]
    names += ["gated"] if neurons == 2 * out else []  # a gate packed into the first layer
    parts = hashlib.sha1(" ".join(sorted(names)).encode()).hexdigest()[:10]
    return Signature(parts, (embed[0], len(blocks), neurons, embed[-1]))


def _neurons(shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    for name in ("blocks.0.mlp.fc1.weight", "blocks.0.mlp.fc1_x.weight"):
        if name in shapes:
            return shapes[name][0]
    return None


@functools.cache
def architectures() -> dict[str, dict[str, Any]]:
    """All of them, by name."""
    return json.loads(
        resources.files("limelight.models.pretrained")
        .joinpath("timm.json")
        .read_text(encoding="utf-8")
    )


def named(word: str) -> tuple[str, str] | None:
    """An architecture and the tag of its weights, from `NAME` or `NAME.TAG`."""
    name, _, tag = word.partition(".")
    return (name, tag) if name in architectures() else None


def alike(found: Signature) -> dict[str, dict[str, Any]]:
    """The architectures with these tensors: of these sizes if there are any, else of any."""
    same = {n: a for n, a in architectures().items() if a["parts"] == found.parts}
    sized = {n: a for n, a in same.items() if tuple(a["sizes"]) == found.sizes}
    return sized or {n: a | {"heads": None} for n, a in same.items()}
