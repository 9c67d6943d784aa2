r"""The one-block decoder of edelman2022's experiments, read at its [CLS] token.

    x = Drop(token + position)
    x += Drop(Proj(Attention(LN1 x)));  x += Drop(W2 gelu(W1 LN2 x));  logits = Head(LNf x)

Three tokens, 0, 1 and [CLS]; [CLS] comes last, so that a causal mask would change nothing. The
paper names sizes, rates and dropout; what it leaves open follows minGPT as of 2021 (biases in the
attention, exact GELU, normal weights of scale .02, zero biases, no bias in the head).

Only the [CLS] row is read and there is one block, so query, projection and MLP act on one row:
`finish` is what comes after the attention, whichever way that was computed.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError
from limelight._core.types import PRNGKey
from limelight.models.layers import Affine, Norm

#: Numbers of the three tokens.
CLS = 2
EPSILON = 1e-5
#: Places that mask counters have room for, less a tile of padding.
LONGEST = 4000


class Decoder(eqx.Module):
    """The weights; `heads` splits the width."""

    tokens: Float[Array, "3 width"]
    positions: Float[Array, "n width"]
    before: Norm
    query: Affine
    key: Affine
    value: Affine
    project: Affine
    between: Norm
    up: Affine
    down: Affine
    after: Norm
    head: Float[Array, "width 2"]
    heads: int = eqx.field(static=True)

    @property
    def length(self) -> int:
        """Bits that it reads; [CLS] has one place more."""
        return self.positions.shape[0] - 1

    @property
    def width(self) -> int:
        """Size of a token."""
        return self.positions.shape[1]

    def embedded(self) -> Float[Array, "2 n width"]:
        """Every place's vector for bit 0 and for bit 1; at the last place [CLS], twice."""
        bits = self.tokens[:CLS, None] + self.positions[None]
        cls = self.tokens[CLS] + self.positions[-1]
        return bits.at[:, -1].set(cls)

    def finish(
        self,
        cls: Float[Array, "*n width"],
        mixed: Float[Array, "*n width"],
        attended: Float[Array, "*n width"] | float = 1.0,
        processed: Float[Array, "*n width"] | float = 1.0,
    ) -> Float[Array, "*n 2"]:
        """Logits from the [CLS] vector and its attention output, the heads side by side.

        `attended` and `processed` multiply the residuals: dropout masks over their probability.
        """
        x = cls + attended * self.project(mixed)
        x = x + processed * self.down(jax.nn.gelu(self.up(self.between(x)), approximate=False))
        return self.after(x) @ self.head


def init(
    key: PRNGKey, length: int, width: int = 64, heads: int = 16, hidden: int = 256, scale=0.02
) -> Decoder:
    """Normal weights of one scale, biases zero, gains one."""
    n = length + 1
    maps = {
        "tokens": (3, width),
        "positions": (n, width),
        "query": (width, width),
        "key": (width, width),
        "value": (width, width),
        "project": (width, width),
        "up": (width, hidden),
        "down": (hidden, width),
        "head": (width, 2),
    }
    # One draw for all: it compiles several times faster than one a matrix.
    ends = np.cumsum([math.prod(shape) for shape in maps.values()])
    drawn = jnp.split(scale * jr.normal(key, (ends[-1],)), ends[:-1])
    w = {name: part.reshape(maps[name]) for name, part in zip(maps, drawn, strict=True)}
    affine = lambda name: Affine(w[name], jnp.zeros(maps[name][1]))
    norm = lambda: Norm(jnp.ones(width), jnp.zeros(width), EPSILON)
    return Decoder(
        tokens=w["tokens"],
        positions=w["positions"],
        before=norm(),
        query=affine("query"),
        key=affine("key"),
        value=affine("value"),
        project=affine("project"),
        between=norm(),
        up=affine("up"),
        down=affine("down"),
        after=norm(),
        head=w["head"],
        heads=heads,
    )


def check_sizes(length: int, width: int, heads: int, hidden: int) -> None:
    """Refuse sizes that make no network, or that mask words have no room for."""
    if min(width, heads, hidden) < 1 or width > 64 or heads > 32 or width % heads:
        raise InputError(
            f"width = {width}, heads = {heads}, hidden = {hidden}",
            "heads divide a width of at most 64; at most 32 heads; all at least 1",
        )
    if length > LONGEST:
        raise InputError(f"world.length = {length}", f"at most {LONGEST}")


def decayed(model: Decoder) -> Decoder:
    """Which leaves weight decay touches: the matrices of linear maps, and nothing else."""
    no = jax.tree.map(lambda _: False, model)
    places = lambda m: [m.query.weight, m.key.weight, m.value.weight, m.project.weight]
    ends = lambda m: [m.up.weight, m.down.weight, m.head]
    return eqx.tree_at(lambda m: places(m) + ends(m), no, [True] * 7)
