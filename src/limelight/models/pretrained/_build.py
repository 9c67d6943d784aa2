"""A ViT made from tensors with timm's names and the facts that they do not hold.

Layer scale is multiplied into the output map of its branch, two heads into one that reads both
their rows; positions that a class token or register has not are zeros. Whatever is left over has no
place in this network, and the file is refused: its output would be another one.
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from limelight._core.errors import InputError
from limelight.models.layers import Affine, Attention, AttentionPool, Block, Norm, Rotary
from limelight.models.pretrained._facts import Facts
from limelight.models.pretrained._places import Turns, relative_bias, resampled
from limelight.models.vit import POOLS, ViT
from limelight.models.weights import Tensors

#: Facts without which nothing is built.
NEEDED = ("heads", "epsilon", "activation", "pool", "centred", "rotary")
SHARED_BIAS = "rel_pos_bias.relative_position_bias_table"
BIAS = "attn.relative_position_bias_table"


def build(tensors: Tensors, facts: Facts) -> ViT:
    """The network.

    Args:
        tensors: By timm's names; see `names.rename`.
        facts: With all that `NEEDED` lists.
    """
    return _Builder(tensors, facts).vit()


class _Builder:
    """Reads tensors part by part, and remembers what it has read."""

    def __init__(self, tensors: Tensors, facts: Facts):
        self.tensors, self.facts, self.seen = tensors, facts, set()
        self.width = len(self._need("patch_embed.proj.weight", None, None, None, None))
        numbers = [n.split(".")[1] for n in tensors if n.startswith("blocks.")]
        self.depth = 1 + max((int(n) for n in numbers if n.isdecimal()), default=-1)
        if not self.depth:
            raise InputError("no block was found", "a ViT has some")
        expected = {str(n) for n in range(self.depth)}
        if set(numbers) != expected:
            missing = sorted(expected - set(numbers), key=int)
            what = f"blocks.{missing[0]} is missing" if missing else "blocks have odd names"
            raise InputError(what, "blocks are counted from 0, none left out")
        facts.need(*NEEDED)

    def vit(self) -> ViT:
        """The whole network."""
        width = self.width
        classed = self._has("cls_token")
        extra = [self._rows(n) for n in ("dist_token", "reg_token") if self._has(n)]
        extra = [rows for rows in extra if len(rows)]  # HF writes registers that are none
        prefix = classed + sum(map(len, extra))
        positions, side = self._positions(classed, prefix)
        pool = self._pool(classed)
        vit = ViT(
            embed=self._embed(),
            positions=None if positions is None else _array(positions),
            class_token=_array(self._rows("cls_token")[0]) if classed else None,
            place_norm=self._maybe_norm("place_norm", width),
            blocks=tuple(self._block(n, side, prefix) for n in range(self.depth)),
            norm=self._maybe_norm("norm", width),
            head=self._head(pool),
            pool=pool,
            registers=_array(np.concatenate(extra)) if extra else None,
            norm_pre=self._maybe_norm("norm_pre", width),
            norm_pooled=self._maybe_norm("fc_norm", width),
            pooler=self._pooler() if pool == "attention" else None,
        )
        self._finish(vit)
        return vit

    def _finish(self, vit: ViT) -> None:
        left = sorted(set(self.tensors) - self.seen)
        if left:
            shown = self.tensors.label(left[0])
            raise InputError(
                f"{shown} has no place in a plain ViT",
                f"{len(left)} such tensors; without them its output would be another one",
            )
        pool, classed = vit.pool, vit.class_token is not None
        fits = classed if pool in ("class", "pair", "class_mean") else True
        if pool not in POOLS or not fits or (pool == "pair" and vit.first < 2):
            raise InputError(
                f"pool {pool!r} does not fit its tensors",
                "class where there is a class token, else mean",
            )
        if vit.place_norm is not None and vit.positions is None:
            raise InputError("pos_embed is missing", "it attends by them")

    def _pool(self, classed: bool) -> str:
        """The fact, but for what heads show: two rows, or a row beside the mean."""
        pool, head = self.facts["pool"], self.tensors.shape("head.weight")
        if pool == "class" and self._has("head_dist.weight"):
            return "pair"
        if pool == "class" and head and head[-1] == 2 * self.width:
            return "class_mean"
        return (
            "mean" if pool == "class" and not classed and self._has("place_norm.weight") else pool
        )

    def _head(self, pool: str) -> Affine | None:
        width = self.width
        if pool == "pair":
            if not self._has("head.weight"):
                return Affine(_array(np.tile(np.eye(width), (2, 1)) / 2), None)
            one, other = self._linear("head", width), self._linear("head_dist", width)
            weight = np.concatenate([one[0], other[0]]) / 2
            biases = [np.zeros(weight.shape[1]) if b is None else b for _, b in (one, other)]
            return _affine(weight, (biases[0] + biases[1]) / 2)
        if self._has("head.transposed"):
            return _affine(self._need("head.transposed", width, None), None)
        if not self._has("head.weight"):
            return None
        return _affine(*self._linear("head", 2 * width if pool == "class_mean" else width))

    def _embed(self) -> Affine:
        kernel = self._need("patch_embed.proj.weight", self.width, None, None, None)
        if kernel.shape[2] != kernel.shape[3]:
            raise self.tensors.unfit("patch_embed.proj.weight", kernel, "square patches")
        weight = kernel.transpose(2, 3, 1, 0).reshape(-1, self.width)
        return _affine(weight, self._vector("patch_embed.proj.bias", self.width))

    def _positions(self, classed: bool, prefix: int) -> tuple[np.ndarray | None, int]:
        """A row for each token, and the side of the grid."""
        if not self._has("pos_embed"):
            return None, self._side(prefix)
        rows = self._rows("pos_embed")
        # Registers may have no position, a distillation token always has one.
        alone = prefix if self._has("dist_token") else int(classed)
        covers = sorted({k for k in (0, alone, prefix) if _square(len(rows) - k)})
        if len(covers) > 1 and "side" in self.facts.values:
            patch = self.tensors.shape("patch_embed.proj.weight")[-1]
            wanted = (self.facts["side"] // patch) ** 2
            covers = [k for k in covers if len(rows) - k == wanted]
        if len(covers) != 1:
            raise InputError(
                f"{self.tensors.label('pos_embed')} has {len(rows)} rows"
                f" beside {prefix} that are no patches, and no row for a patch of a square grid"
                if not covers
                else f"{len(rows)} positions fit two grids",
                "one for every patch, and perhaps one for a class token and registers",
            )
        (cover,) = covers
        table = self._fitted(rows[cover:])
        full = np.zeros((len(table) + prefix, self.width))
        full[:cover], full[prefix:] = rows[:cover], table
        return full, math.isqrt(len(table))

    def _fitted(self, table: np.ndarray) -> np.ndarray:
        """The positions of the patches, for the images that the caller has."""
        own, patch = math.isqrt(len(table)), self.tensors.shape("patch_embed.proj.weight")[-1]
        side = self.facts["side"] if self._asked_for_side() else own * patch
        if side == own * patch:
            return table
        if side % patch:
            raise InputError(f"images of {side} pixels", f"a multiple of {patch}")
        smooth = self.facts.values.get("antialias")
        if smooth is None or self.facts["rotary"] is not None or self._has("blocks.0." + BIAS):
            raise InputError(
                f"its positions are for images of {own * patch} pixels, and how it fits them to"
                " others is not known here",
                "leave side out",
            )
        kind = "bicubic, antialiased" if smooth else "bicubic"
        self.facts.notes.append(
            f"positions for images of {own * patch} pixels are fitted to {side}: {kind}, as"
            f" {self.facts.sources['antialias']} does"
        )
        return resampled(table, side // patch, smooth)

    def _asked_for_side(self) -> bool:
        return self.facts.sources.get("side") == "the caller"

    def _same_side(self, grid: int) -> None:
        """Refuse another side than the caller's: a table of positions is for one grid."""
        side = grid * self.tensors.shape("patch_embed.proj.weight")[-1]
        if self._asked_for_side() and self.facts["side"] != side:
            raise InputError(f"its positions are for images of {side} pixels", "leave side out")

    def _side(self, prefix: int) -> int:
        """The side of the grid where there is no table: by the bias's, else by the image's."""
        for name in ("blocks.0." + BIAS, SHARED_BIAS):
            shape = self.tensors.shape(name)
            if shape:
                side = (math.isqrt(max(shape[0] - 3, 0)) + 1) // 2
                if (2 * side - 1) ** 2 + 3 != shape[0] or prefix != 1:
                    raise InputError(
                        f"{self.tensors.label(name)} has {shape[0]} rows",
                        "those of a square grid and a class token",
                    )
                self._same_side(side)
                return side
        if self.facts["rotary"] is None:
            raise InputError(
                "nothing tells patches apart by their place",
                "pos_embed is missing",
            )
        self.facts.need("side")
        patch = self.tensors.shape("patch_embed.proj.weight")[-1]
        if self.facts["side"] % patch:
            raise InputError(f"images of {self.facts['side']} pixels", f"a multiple of {patch}")
        return self.facts["side"] // patch

    def _block(self, number: int, side: int, prefix: int) -> Block:
        stem, width = f"blocks.{number}.", self.width
        norm = self._norm(stem + "norm1", width)
        attention = self._attention(stem, side, prefix)
        into, gate = self._neurons(stem + "mlp.")
        hidden = into.weight.shape[1]
        return Block(
            norm,
            attention,
            self._norm(stem + "norm2", width),
            into,
            self._scaled(stem + "mlp.fc2", hidden, stem, 2),
            gate,
            self._maybe_norm(stem + "mlp.norm", hidden),
            self.facts["activation"],
        )

    def _attention(self, stem: str, side: int, prefix: int) -> Attention:
        query, key, value = self._maps(stem + "attn.")
        heads, inner = self.facts["heads"], query.weight.shape[1]
        if inner % heads:
            raise InputError(
                f"{heads} heads do not share {inner} columns",
                "a divisor of it",
            )
        size = inner // heads
        return Attention(
            query,
            key,
            value,
            self._scaled(stem + "attn.proj", inner, stem, 1),
            heads,
            self._maybe_norm(stem + "attn.q_norm", size),
            self._maybe_norm(stem + "attn.k_norm", size),
            self._rotary(side, size, prefix),
            self._bias(stem, side, heads),
        )

    def _maps(self, stem: str) -> tuple[Affine, Affine, Affine]:
        width, names = self.width, ("q", "k", "v")
        if self._has(stem + "qkv.weight"):
            weight, bias = self._linear(stem + "qkv", width)
            if weight.shape[1] % 3:
                raise self.tensors.unfit(stem + "qkv.weight", weight.T, "three maps of one width")
            weights = np.split(weight, 3, axis=1)
            size = weights[0].shape[1]
            biases = [None] * 3 if bias is None else np.split(bias, 3)
            biases = [
                self._vector(f"{stem}{n}_bias", size) if b is None else b
                for n, b in zip(names, biases, strict=True)
            ]
            pairs = list(zip(weights, biases, strict=True))
        else:
            pairs = [self._linear(f"{stem}{n}_proj", width) for n in names]
        inner = pairs[0][0].shape[1]
        if any(weight.shape != (width, inner) for weight, _ in pairs):
            raise InputError(
                f"maps of {stem}* differ in width",
                "several heads that share keys and values are not supported",
            )
        query, key, value = (_affine(*pair) for pair in pairs)
        return query, key, value

    def _neurons(self, stem: str) -> tuple[Affine, Affine | None]:
        """The first layer, and its gate where there is one, packed in one map or not."""
        if self._has(stem + "fc1_g.weight"):
            gate = _affine(*self._linear(stem + "fc1_g", self.width))
            return _affine(*self._linear(stem + "fc1_x", self.width)), gate
        weight, bias = self._linear(stem + "fc1", self.width)
        out = self.tensors.shape(stem + "fc2.weight")
        if out and 2 * out[-1] == weight.shape[1]:
            biases = (None, None) if bias is None else np.split(bias, 2)
            gate, into = (
                _affine(w, b) for w, b in zip(np.split(weight, 2, axis=1), biases, strict=True)
            )
            return into, gate
        return _affine(weight, bias), None

    def _rotary(self, side: int, size: int, prefix: int) -> Rotary | None:
        turns = self.facts["rotary"]
        turns = Turns(**turns) if isinstance(turns, dict) else turns
        return None if turns is None else turns.rotary(side, size, prefix)

    def _bias(self, stem: str, side: int, heads: int) -> Any:
        names = [n for n in (stem + BIAS, SHARED_BIAS) if self._has(n)]
        if not names:
            return None
        rows = (2 * side - 1) ** 2 + 3
        tables = [self._need(name, rows, heads) for name in names]
        return _array(relative_bias(sum(tables[1:], start=tables[0]), side))

    def _pooler(self) -> AttentionPool:
        stem, width = "attn_pool.", self.width
        latent = self._rows(stem + "latent")
        if len(latent) != 1:
            raise InputError(f"{len(latent)} pool queries", "one is read")
        if self._has(stem + "qkv.weight"):
            weight, bias = self._linear(stem + "qkv", width, 3 * width)
            biases = [None] * 3 if bias is None else np.split(bias, 3)
            pairs = list(zip(np.split(weight, 3, axis=1), biases, strict=True))
        else:
            weight, bias = self._linear(stem + "kv", width, 2 * width)
            biases = [None] * 2 if bias is None else np.split(bias, 2)
            pairs = [self._linear(stem + "q", width, width)]
            pairs += zip(np.split(weight, 2, axis=1), biases, strict=True)
        query = latent[0] @ pairs[0][0] + (0 if pairs[0][1] is None else pairs[0][1])
        into = _affine(*self._linear(stem + "mlp.fc1", width))
        return AttentionPool(
            query=_array(query),
            key=_affine(*pairs[1]),
            value=_affine(*pairs[2]),
            output=_affine(*self._linear(stem + "proj", width, width)),
            norm=self._norm(stem + "norm", width),
            into=into,
            out=_affine(*self._linear(stem + "mlp.fc2", into.weight.shape[1], width)),
            heads=self.facts["heads"],
            activation=self.facts["activation"],
        )

    def _scaled(self, name: str, inputs: int, stem: str, branch: int) -> Affine:
        """The last map of a branch, its layer scale multiplied in."""
        weight, bias = self._linear(name, inputs, self.width)
        for scale in (f"{stem}ls{branch}.gamma", f"{stem}gamma_{branch}"):
            if self._has(scale):
                gain = self._need(scale, self.width)
                weight, bias = weight * gain, None if bias is None else bias * gain
        return _affine(weight, bias)

    def _norm(self, stem: str, width: int) -> Norm:
        gain, shift = self._need(f"{stem}.weight", width), self._vector(f"{stem}.bias", width)
        shift = np.zeros(width) if shift is None else shift
        return Norm(_array(gain), _array(shift), self.facts["epsilon"], self.facts["centred"])

    def _maybe_norm(self, stem: str, width: int) -> Norm | None:
        return self._norm(stem, width) if self._has(f"{stem}.weight") else None

    def _linear(self, stem: str, inputs: int, outputs: int | None = None):
        self.seen |= {f"{stem}.weight", f"{stem}.bias"}
        return self.tensors.linear(stem, inputs, outputs)

    def _rows(self, name: str) -> np.ndarray:
        """A table of rows, whatever axes of length 1 stand before it."""
        self.seen.add(name)
        if not self._has(name):
            raise InputError(f"{name} is missing", "the layout expects it")
        found = self.tensors[name]
        if found.shape[-1] != self.width or found.size != math.prod(found.shape[-2:]):
            raise self.tensors.unfit(name, found, f"1 x n x {self.width}")
        if found.ndim == 2 and name == "pos_embed" and self.tensors.label(name) == name:
            raise self.tensors.unfit(name, found, f"1 x n x {self.width}")  # timm's has three
        return found.reshape(-1, self.width)

    def _vector(self, name: str, size: int) -> np.ndarray | None:
        return self._need(name, size) if self._has(name) else None

    def _has(self, name: str) -> bool:
        return name in self.tensors

    def _need(self, name: str, *shape: int | None) -> np.ndarray:
        self.seen.add(name)
        return self.tensors.need(name, *shape)


def _square(count: int) -> bool:
    return count > 0 and math.isqrt(count) ** 2 == count


def _affine(weight: np.ndarray, bias: np.ndarray | None) -> Affine:
    return Affine(_array(weight), None if bias is None else _array(bias))


def _array(value: np.ndarray):
    return jnp.asarray(value, dtype=jnp.float32)
