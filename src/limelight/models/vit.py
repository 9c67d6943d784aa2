r"""Real ViTs: patches in, any depth, attention from tokens or from positions alone.

$$x^0 = \mathrm{embed}(X) + P, \quad x^{b+1} = x^b + \mathrm{Att}_b(\mathrm{LN}(x^b)) + \ldots,
  \quad F = W\, \mathrm{pool}(\mathrm{LN}(x^B)) + c$$
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from limelight._core.backend import on_gpu
from limelight._core.errors import InputError, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Example, Number, PRNGKey
from limelight.models._schedule import ATTENTION, SIMILARITY
from limelight.models.base import Model, Recipe
from limelight.models.layers import (
    Affine,
    AttentionPool,
    Block,
    Norm,
    Tokens,
    affine,
    among,
    block,
    norm,
)
from limelight.worlds.base import World

#: What the head reads: the class token, the mean or the sum of the patches, the first two rows side
#: by side, the class token beside the mean of the patches, or what a trained query takes in.
POOLS = ("class", "mean", "sum", "pair", "class_mean", "attention")
#: Those of a ViT that is trained here.
PLAIN_POOLS = POOLS[:3]
ATTENTIONS = ("vanilla", "positional")


class Reading(eqx.Module):
    """Everything that happens to one example on its way through a ViT.

    Args:
        output: The network's output.
        softmax: That of every block, heads first, a row for each query; positional ones are not
            masked.
        kept: Which rows of every block take part.
        tokens: The rows that enter every block, and at last those that leave the last one.
        index: For every block, which of the first rows its rows are; a class token is row 0.

    Example:
        >>> import limelight as ll
        >>> sorted(ll.models.Reading.__dataclass_fields__)
        ['index', 'kept', 'output', 'softmax', 'tokens']
    """

    output: Float[Array, "..."]
    softmax: tuple[Float[Array, "heads _ _"], ...]
    kept: tuple[Bool[Array, " _"], ...]
    tokens: tuple[Float[Array, "_ width"], ...]
    index: tuple[Int[Array, " _"], ...]

    @property
    def attention(self) -> tuple[Float[Array, "heads _ _"], ...]:
        """The attention of every block, heads first, a row for each query."""
        return tuple(among(S, kept) for S, kept in zip(self.softmax, self.kept, strict=True))


class ViT(Model):
    r"""A pre-norm vision transformer; called on an `Example` of patches.

    With `place_norm` attention is positional: queries and keys of every block are made from
    $\mathrm{LN}(P)$, which is not added to the tokens; see `layers.Attention`.

    Rows stand in this order: class token, registers, patches.

    Args:
        embed: Patch to token; its weight is [numbers of a patch, width].
        positions: $P$, [tokens, width]: a row for each token, zeros for one without a position;
            `None` where positions enter by rotation or by a bias of the scores alone.
        class_token: Read by the pool `class`, [width]; `None` without one.
        place_norm: The norm of $P$ where attention is positional, else `None`.
        blocks: From the input up; see `layers.Block`.
        norm: Before the pool, gain and shift [width]; `None` without one.
        head: After it; its weight is [pooled, outputs]. `None` gives the pooled row itself.
        pool: One of `POOLS`, over the kept tokens.
        keep: Pairs (block, tokens): after that block only so many patches go on, those that
            receive most attention from what the pool reads. They are gathered, not masked; where
            all are kept nothing is done.
        policy: How they are chosen instead, where it is not `attention`: `norm`, the longest, or
            `similarity`, merged as in `merge`.
        drop_path: Probability, in training, that a branch of the last block is left out; it rises
            in a line from 0 at the first block.
        registers: Trained rows that are no patches, [registers, width]; a distillation token is
            the first of them.
        norm_pre: Before the first block, where there is one.
        norm_pooled: After the pool, where there is one.
        pooler: Of the pool `attention`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> make = lambda: ll.models.Vision(width=8, heads=2).init(jr.key(0),
        ...     ll.worlds.Images(patch=4), None)
        >>> vit = jax.eval_shape(make)
        >>> vit.tokens, vit.positions.shape
        (4, (4, 8))
    """

    stochastic: ClassVar[bool] = True

    embed: Affine
    positions: Tokens | None
    class_token: Float[Array, " width"] | None
    place_norm: Norm | None
    blocks: tuple[Block, ...]
    norm: Norm | None
    head: Affine | None
    pool: str = eqx.field(static=True, default="mean")
    keep: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())
    drop_path: float = eqx.field(static=True, default=0.0)
    registers: Float[Array, "registers width"] | None = None
    norm_pre: Norm | None = None
    norm_pooled: Norm | None = None
    pooler: AttentionPool | None = None
    policy: str = eqx.field(static=True, default=ATTENTION)

    def prepare(self, example: Example) -> Example:
        """Nothing to prepare."""
        return example

    def __call__(self, prepared: Example, key: PRNGKey | None = None) -> Float[Array, "..."]:
        """One number for each class; a plain number where there is one output."""
        if self.policy == SIMILARITY and self.keep:
            from limelight.models.merge import merged_output  # it needs this class

            ((block, left),) = self.keep
            return merged_output(self, prepared.tokens, block + 1, left)
        return self.read(prepared, key=key).output

    @property
    def fused(self) -> bool:
        """Whether kernels of a GPU take it, in `over`: in bfloat16, where its blocks are plain."""
        if type(self) is not ViT or not on_gpu():  # a class of one's own may compute otherwise
            return False
        from limelight.models import _fused  # loads Pallas, which a CPU can do without

        return _fused.takes(self)

    def over(self, prepared: Example) -> Float[Array, "images ..."]:
        """The outputs for many examples, by kernels for every block."""
        from limelight.models import _fused

        x = jax.vmap(self.embedded)(prepared.tokens)
        for layer in self.blocks:
            x = _fused.run(layer, x, prepared.kept)
        return jax.vmap(self._out)(x, prepared.kept)

    def attention(self, example: Example) -> Float[Array, "tokens tokens"]:
        """Attention of the last block, mean over heads; rows and columns of the patches."""
        mean = jnp.mean(self.read(example).attention[-1], axis=0)
        return mean[self.first :, self.first :]

    @property
    def first(self) -> int:
        """The row of the first patch: 1 after a class token alone."""
        registers = 0 if self.registers is None else len(self.registers)
        return registers + (self.class_token is not None)

    @property
    def patches(self) -> int:
        """How many patches it takes."""
        return self.tokens - self.first

    @property
    def tokens(self) -> int:
        """How many rows enter the first block."""
        if self.positions is not None:
            return len(self.positions)
        attention = self.blocks[0].attention
        if attention.rotary is not None:
            return len(attention.rotary.cos)
        assert attention.bias is not None
        return attention.bias.shape[-1]

    @property
    def outputs(self) -> int | None:
        """Classes that the head has a number for; `None` without a head."""
        return None if self.head is None else self.head.weight.shape[1]

    @property
    def places(self) -> Tokens | None:
        """What positional attention is made from."""
        if self.place_norm is None or self.positions is None:
            return None
        return self.place_norm(self.positions)

    def embedded(self, patches: Float[Array, "patches numbers"]) -> Tokens:
        """The rows that enter the first block."""
        x = self.embed(patches)
        if self.registers is not None:
            x = jnp.concatenate([self.registers, x])
        if self.class_token is not None:
            x = jnp.concatenate([self.class_token[None], x])
        if self.place_norm is None and self.positions is not None:
            x = x + self.positions
        return x if self.norm_pre is None else self.norm_pre(x)

    @property
    def encodings(self) -> Float[Array, "patches width"]:
        """The trained positions of the patches.

        Raises:
            InputError: Where it has no table of them; see `positions`.
        """
        if self.positions is None:
            raise InputError("this ViT adds no positions to its tokens", "it turns or biases them")
        return self.positions[self.first :]

    def read(
        self,
        example: Example,
        scores: Float[Array, " patches"] | None = None,
        key: PRNGKey | None = None,
    ) -> Reading:
        """The output and all that led to it.

        Args:
            example: Patches.
            scores: Which patches to keep first, where `keep` asks; by attention when `None`.
            key: Drives what is left out in training; nothing is when `None`.
        """
        x, places = self.embedded(example.tokens), self.places
        kept = jnp.concatenate([jnp.ones(self.first, bool), example.kept])
        index, limits, count = jnp.arange(len(x)), dict(self.keep), len(x)
        passed, tokens = [], [x]
        for number, layer in enumerate(self.blocks):
            gone = None if len(x) == count else index
            x, S = layer(x, kept, places, self._weights(key, number), gone)
            passed.append((S, kept, index))
            if limits.get(number, len(x)) < len(x) - self.first:
                rank = self._rank(S, x, kept) if scores is None else self._ranked(scores, index)
                chosen = self._choose(rank, kept, limits[number])
                x, kept, index = x[chosen], kept[chosen], index[chosen]
                places = None if places is None else places[chosen]
            tokens.append(x)
        softmax, masks, indices = zip(*passed, strict=True)
        return Reading(self._out(x, kept), softmax, masks, tuple(tokens), indices)

    def _weights(self, key: PRNGKey | None, number: int) -> Float[Array, "2"] | None:
        """What the two branches of a block count: on average 1."""
        rate = self.drop_path * number / max(len(self.blocks) - 1, 1)
        if key is None or rate == 0.0:
            return None
        return jr.bernoulli(jr.fold_in(key, number), 1 - rate, (2,)).astype(float) / (1 - rate)

    def _pooled(self, x: Tokens, kept: Bool[Array, " tokens"]) -> Float[Array, " pooled"]:
        rows = x if self.norm is None else self.norm(x)
        if self.pooler is not None:
            pooled = self.pooler(rows[self.first :], kept[self.first :])
        elif self.pool == "class":
            pooled = rows[0]
        elif self.pool == "pair":
            pooled = rows[:2].reshape(-1)
        else:
            pooled = self._over_patches(rows, kept)
            if self.pool == "class_mean":
                pooled = jnp.concatenate([rows[0], pooled])
        return pooled if self.norm_pooled is None else self.norm_pooled(pooled)

    def _over_patches(self, rows: Tokens, kept: Bool[Array, " tokens"]) -> Float[Array, " width"]:
        rows, kept = rows[self.first :], kept[self.first :]
        total = jnp.sum(jnp.where(kept[:, None], rows, 0.0), axis=0)
        return total if self.pool == "sum" else total / jnp.sum(kept)

    def _out(self, x: Tokens, kept: Bool[Array, " tokens"]) -> Float[Array, "..."]:
        pooled = self._pooled(x, kept)
        if self.head is None:
            return pooled
        output = self.head(pooled)
        return output[0] if output.shape == (1,) else output

    @property
    def asks_with_class(self) -> bool:
        """Whether the head reads the class token, and not the patches alone."""
        return self.pool in ("class", "pair", "class_mean")

    def _rank(self, S: Float[Array, "heads tokens tokens"], x: Tokens, kept):
        if self.policy == SIMILARITY:
            raise InputError("patches that are merged cannot be read one by one", "call the model")
        return self._received(S, kept) if self.policy == ATTENTION else jnp.linalg.norm(x, axis=-1)

    def _received(self, S: Float[Array, "heads tokens tokens"], kept) -> Float[Array, " tokens"]:
        """Attention each token receives from the rows that the pool reads."""
        if self.asks_with_class:
            return jnp.mean(among(S[:, :1], kept), axis=0)[0]
        mean = jnp.mean(among(S, kept), axis=0)[self.first :]
        return kept[self.first :].astype(mean.dtype) @ mean

    def _ranked(self, scores: Float[Array, " patches"], index) -> Float[Array, " tokens"]:
        return jnp.concatenate([jnp.zeros(self.first), scores])[index]

    def _choose(self, rank, kept, count: int) -> Int[Array, " chosen"]:
        """The class token and the `count` patches of highest rank, in their old order."""
        patches = jnp.where(kept, rank, -jnp.inf)[self.first :]
        best = jnp.sort(jnp.argsort(-patches, stable=True)[:count]) + self.first
        return jnp.concatenate([jnp.arange(self.first), best])


@kind("model.vision")
class Vision(Recipe):
    r"""How a ViT starts: maps of variance one over their inputs, positions of a given size.

    Departures: jelassi2022 does not say how positions enter deeper layers of positional
        attention; here one $P$ of the model's width, after one layer norm, serves all of them,
        and every block and head has maps of its own. A class token has no position to attend
        from, so positional attention goes with the pools `mean` and `sum`.

    Args:
        width: Length of a token inside.
        depth: Blocks.
        heads: Attention heads in a block.
        hidden: Neurons of the perceptron in a block.
        attention: `vanilla`, from tokens with positions added; or `positional`, from $P$ alone.
        pool: `class` token, `mean` or `sum` of the tokens.
        outputs: Outputs; the world's classes when `None`, one where it names none.
        qkv_bias: Whether queries, keys and values have a bias.
        position_scale: Standard deviation of $P$ at the start.
        drop_path: See `ViT`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> make = lambda: ll.models.Vision(width=8, heads=2).init(jr.key(0),
        ...     ll.worlds.Images(patch=2), None)
        >>> vit = jax.eval_shape(make)
        >>> len(vit.blocks), vit.patches
        (1, 16)

    Reference: jelassi2022, Definitions 3.1 and 3.2.
    """

    width: int = eqx.field(static=True, default=32)
    depth: int = eqx.field(static=True, default=1)
    heads: int = eqx.field(static=True, default=4)
    hidden: int = eqx.field(static=True, default=64)
    attention: str = eqx.field(static=True, default="vanilla")
    pool: str = eqx.field(static=True, default="mean")
    outputs: int | None = eqx.field(static=True, default=None)
    qkv_bias: bool = eqx.field(static=True, default=True)
    position_scale: Number = 0.02
    drop_path: float = eqx.field(static=True, default=0.0)

    def init(self, key: PRNGKey, world: Any, truth: Any) -> ViT:
        """Weights at the start."""
        k_embed, k_places, k_class, k_blocks, k_head = named(
            key, "embed", "places", "class", "blocks", "head"
        )
        positional, classed = self.attention == "positional", self.pool == "class"
        rows = world.tokens + classed
        scaled = lambda k, *shape: self.position_scale * jr.normal(k, shape)
        make = lambda k: block(k, self.width, self.heads, self.hidden, self.qkv_bias)
        outputs = self.outputs or getattr(world, "classes", 1)
        return ViT(
            embed=affine(k_embed, world.dimension, self.width),
            positions=scaled(k_places, rows, self.width),
            class_token=scaled(k_class, self.width) if classed else None,
            place_norm=norm(self.width) if positional else None,
            blocks=tuple(make(k) for k in jr.split(k_blocks, self.depth)),
            norm=norm(self.width),
            head=affine(k_head, self.width, outputs),
            pool=self.pool,
            drop_path=self.drop_path,
        )

    def check(self, world: World) -> None:
        """Refuse sizes that do not fit, and a class token without a position."""
        check_word("model.attention", self.attention, ATTENTIONS)
        check_word("model.pool", self.pool, PLAIN_POOLS)
        for name in ("tokens", "dimension"):
            if not isinstance(getattr(world, name, None), int):
                raise InputError(
                    f"a ViT needs a world of tokens, and {type(world).__name__} has no {name}",
                    "use Patterns, Images or another world of tokens",
                )
        for name in ("width", "depth", "heads", "hidden"):
            if getattr(self, name) < 1:
                raise InputError(f"model.{name} = {getattr(self, name)}", "at least 1")
        if self.outputs is not None and self.outputs < 1:
            raise InputError(f"model.outputs = {self.outputs}", "at least 1")
        if not 0 <= self.drop_path < 1:
            raise InputError(f"model.drop_path = {self.drop_path:g}", "from 0 to below 1")
        if self.width % self.heads:
            raise InputError(
                f"{self.heads} heads do not share a width of {self.width}",
                "make model.width a multiple of model.heads",
            )
        if self.attention == "positional" and self.pool == "class":
            raise InputError("a class token has no position", "use model.pool=mean")
