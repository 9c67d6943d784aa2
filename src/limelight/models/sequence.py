r"""Bounded-norm attention over bits: heads that ask from [CLS], and a ReLU network behind them.

The architecture of edelman2022's constructions as a model of the flow. It can start at a
construction, where it already computes its function, or at random weights of the same or any other
size; so what is representable and what is learnable meet on one plot.
"""

from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from limelight.core.errors import InputError
from limelight.core.keys import named
from limelight.core.types import Example, Number, PRNGKey
from limelight.models.base import Model, Recipe
from limelight.models.construct import bases, lemmas, selectors
from limelight.models.construct.files import load
from limelight.models.construct.memorise import Network, memorise
from limelight.worlds.rules import by_count, truth_table
from limelight.models.heads import HeadWeights
from limelight.worlds.base import World
from limelight.worlds.boolean import SparseBoolean


class SequenceNet(Model):
    r"""Heads read at [CLS], summed, and a three-layer ReLU network on the first coordinates.

    Scores and values are computed for both bits of every position, and an example only picks among
    them: no work on tokens is done twice in a batch.

    Args:
        symbols: Token vectors of both bits, for every position or for all at once.
        positions: Trained vectors added to them; `None` where positions are fixed.
        asking: The [CLS] token, attended to as well.
        heads: Query, key, value and output weights, stacked over heads.
        first: First layer, bias as last row.
        second: Second layer, bias as last row.
        readout: Third layer.
        scale: Output is `scale * net + shift`: 2 and -1 turn values 0, 1 into labels.
        shift: See `scale`.
    """

    symbols: Float[Array, "places 2 dimension"]
    positions: Float[Array, "length dimension"] | None
    asking: Float[Array, " dimension"]
    heads: HeadWeights
    first: Float[Array, "inputs hidden"]
    second: Float[Array, "hidden2 pairs"]
    readout: Float[Array, " pairs"]
    scale: float = eqx.field(static=True, default=1.0)
    shift: float = eqx.field(static=True, default=0.0)

    fixed: ClassVar[tuple[str, ...]] = ("symbols", "asking")

    def prepare(self, example: Example) -> Example:
        """Nothing to prepare."""
        return example

    def tokens(self) -> Float[Array, "length 2 dimension"]:
        """Both values of every token."""
        return self.symbols if self.positions is None else self.symbols + self.positions[:, None]

    def scores(self) -> tuple[Float[Array, "heads length 2"], Float[Array, " heads"]]:
        """What every token and [CLS] score in every head."""
        asked = jnp.einsum("hdk,hek,e->hd", self.heads.key, self.heads.query, self.asking)
        return jnp.einsum("tbd,hd->htb", self.tokens(), asked), asked @ self.asking

    def attention_from_cls(self, example: Example) -> Float[Array, "heads everything"]:
        """Attention of every head from [CLS]: to the tokens, and last to itself."""
        table, own = self.scores()
        picked = jnp.einsum("htb,tb->ht", table, example.tokens)
        everything = jnp.concatenate([picked, own[:, None]], axis=1)
        kept = jnp.concatenate([example.kept, jnp.array([True])])
        return jax.nn.softmax(everything, axis=-1, where=kept[None, :])

    def head_output(self, example: Example) -> Float[Array, " inputs"]:
        """The sum of heads, as far as the network reads it."""
        read = self.first.shape[0] - 1
        weights = self.attention_from_cls(example)
        through = self.heads.value @ self.heads.output[:, :, :read]
        table = jnp.einsum("tbd,hdi->htbi", self.tokens(), through)
        own = jnp.einsum("d,hdi->hi", self.asking, through)
        mixed = jnp.einsum("ht,tb,htbi->i", weights[:, :-1], example.tokens, table)
        return mixed + weights[:, -1] @ own

    def __call__(self, prepared: Example, key: PRNGKey | None = None) -> Float[Array, ""]:
        """The network's output on one example."""
        mixed = self.head_output(prepared)
        hidden = jax.nn.relu(mixed @ self.first[:-1] + self.first[-1])
        pairs = jax.nn.relu(hidden @ self.second[:-1] + self.second[-1])
        return self.scale * (pairs @ self.readout) + self.shift


class Sequence(Recipe):
    r"""Bounded-norm attention at a random start: orthonormal symbols, trained positions.

    Notation: `width` is their $d$, `heads` $H$; heads have width $d / H$.
    Departures: the network of their experiments has LayerNorm, residual branches and dropout; this
        is the architecture that their bounds and constructions are about.

    Args:
        width: Coordinates of a token; at least 3.
        heads: Heads, a divisor of the width.
        hidden: Neurons of the two hidden layers.
        position_scale: Length of a position vector at the start.
        gain: Scale of the attention weights at the start; 1 keeps lengths.
    """

    width: int = eqx.field(static=True, default=64)
    heads: int = eqx.field(static=True, default=4)
    hidden: int = eqx.field(static=True, default=64)
    position_scale: Number = 1.0
    gain: Number = 1.0

    def init(self, key: PRNGKey, world: SparseBoolean, truth: Any) -> SequenceNet:
        """Gaussian weights that keep lengths, biases 0."""
        k_heads, k_net, k_place = named(key, "heads", "net", "positions")
        d, k, hidden = self.width, self.width // self.heads, self.hidden
        axes = jnp.eye(d)
        draws = {
            name: jr.normal(sub, (self.heads, *shape)) / shape[0] ** 0.5
            for name, sub, shape in zip(
                HeadWeights._fields,
                jr.split(k_heads, 4),
                ((d, k), (d, k), (d, k), (k, d)),
                strict=True,
            )
        }
        k_first, k_second, k_readout = jr.split(k_net, 3)
        return SequenceNet(
            symbols=axes[None, :2],
            positions=self.position_scale * jr.normal(k_place, (world.length, d)) / d**0.5,
            asking=axes[2],
            heads=HeadWeights(**{name: self.gain * draw for name, draw in draws.items()}),
            first=_with_bias(jr.normal(k_first, (d, hidden)) * (2 / d) ** 0.5),
            second=_with_bias(jr.normal(k_second, (hidden, hidden)) * (2 / hidden) ** 0.5),
            readout=jr.normal(k_readout, (hidden,)) / hidden**0.5,
        )

    def check(self, world: World) -> None:
        """Refuse worlds without bits, and sizes that do not fit."""
        _needs_bits(world, "Sequence")
        if self.width < 3 or self.heads < 1 or self.width % self.heads:
            raise InputError(
                f"{self.heads} heads do not share a width of {self.width}",
                "a width of at least 3, and a divisor of it",
            )
        if self.hidden < 1:
            raise InputError(f"model.hidden = {self.hidden}", "at least 1")


class Constructed(Recipe):
    r"""A start at the construction of the world's rule on the positions that the trial drew.

    With `start="random"` the same architecture starts at random weights instead, each matrix with
    the Frobenius norm that the construction's has.

    Notation: `mapping` and `basis` as in `construct`.
    Departures: trained in float32 by the flow; the file format and its check are float64.

    Args:
        mapping: `deterministic`, `trainable` or `bag`.
        basis: See `bases.choose`.
        many: Whether a head a position (the general construction) is used.
        start: `construction`, or `random` for the same sizes and norms.
        shrink: Factor on the temperature; below 1 the start is softer than the construction.

    Reference: edelman2022, Lemmas B.2 to B.6.
    """

    mapping: str = eqx.field(static=True, default="trainable")
    basis: str = eqx.field(static=True, default="auto")
    many: bool = eqx.field(static=True, default=False)
    start: str = eqx.field(static=True, default="construction")
    shrink: Number = 1.0

    def init(self, key: PRNGKey, world: SparseBoolean, truth: Any) -> SequenceNet:
        """The construction on the drawn positions, or random weights of its norms."""
        counts = by_count(truth_table(world.rule, world.sparsity).astype(float), world.sparsity)
        # Where the rule tells its bits apart, the order drawn is that of its truth table.
        made = self._construction(world, truth if counts is None else jnp.sort(truth))
        return made if self.start == "construction" else _shuffled(key, made)

    def check(self, world: World) -> None:
        """Refuse what the construction refuses, before anything is compiled."""
        bits = _needs_bits(world, "Constructed")
        if self.mapping not in selectors.MAPPINGS:
            raise InputError(
                f"unknown model.mapping {self.mapping!r}", "known: " + ", ".join(selectors.MAPPINGS)
            )
        if self.start not in ("construction", "random"):
            raise InputError(f"unknown model.start {self.start!r}", "construction or random")
        self._numbers(bits)

    def _numbers(self, world: SparseBoolean) -> tuple[bases.Basis, float, Network]:
        """What does not depend on the drawn positions: basis, temperature, network."""
        T, s = world.length, world.sparsity
        table = truth_table(world.rule, s).astype(float)
        gamma = lemmas.usual_gamma(self.mapping, self.many, s)
        if self.mapping == "trainable":
            marks, rho = bases.Basis("none", np.zeros((T, 1)), 0.0), 0.0
        else:
            marks = bases.choose(self.basis, T, s)
            delta = marks.measured
            rho = delta if self.many and self.mapping != "bag" else s * delta
            rho = rho if rho == delta else rho / (1 - (s - 1) * delta)
            if not 0 <= rho < 1:
                raise InputError(
                    f"{marks.kind} vectors with Delta = {delta:.3g} are too close for s = {s}",
                    "a larger model.basis, such as chirp",
                )
        over = lemmas.Overlap(rho, rho, 1.0, rho)
        heat = lemmas.temperature(self.mapping, self.many, T, s, gamma, over)
        values = table if self.many else by_count(table, s)
        if values is None:
            raise InputError(
                f"the rule {world.rule!r} depends on which of its bits are set",
                "one head only counts them; set model.many=true",
            )
        return marks, heat, memorise(lemmas.targets(self.mapping, self.many, s), values, gamma / 4)

    def _construction(self, world: SparseBoolean, positions: Any) -> SequenceNet:
        marks, heat, network = self._numbers(world)
        heat = heat * self.shrink
        if self.mapping == "trainable":
            made = selectors.trainable(world.length, positions, world.sparsity, heat, self.many)
        else:
            build = selectors.bag if self.mapping == "bag" else selectors.deterministic
            made = build(jnp.asarray(marks.vectors, dtype=float), positions, heat, self.many)
        heads = HeadWeights(*(jnp.stack(parts) for parts in zip(*made.heads, strict=True)))
        return _assembled(self.mapping, made.cls, made.symbols, made.positions, heads, network)


def load_construction(path: str | Path) -> SequenceNet:
    """The function of a construction file as a model; labels are +1 and -1 for truth tables.

    Raises:
        InputError: For files that are not constructions.
    """
    tensors, certificate = load(path)
    try:
        heads = certificate["head"]["heads"]
        stacked = HeadWeights(
            *(
                jnp.stack([jnp.asarray(tensors[f"head.{h}.{name}"], float) for h in range(heads)])
                for name in ("W_Q", "W_K", "W_V", "W_C")
            )
        )
        mapping = certificate["claim"]["mapping"]
        network = Network(*(tensors[f"mlp.{name}"] for name in ("W_1", "W_2", "w")))
        symbols = tensors.get("E")
        marks = tensors["V" if mapping == "bag" else "P"]
        labels = "truth_table" in certificate["claim"]
        cls = tensors["cls"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{Path(path).name}: not a whole construction ({error!r})") from None
    return _assembled(mapping, cls, symbols, marks, stacked, network, labels)


class Loaded(Recipe):
    """A start at a construction file; its world must have the file's length and positions.

    Args:
        path: A file that `limelight construct` wrote.
    """

    path: str = eqx.field(static=True)

    def init(self, key: PRNGKey, world: SparseBoolean, truth: Any) -> SequenceNet:
        """The file's weights."""
        return load_construction(self.path)

    def check(self, world: World) -> None:
        """Refuse a world that the file is not about."""
        bits = _needs_bits(world, "Loaded")
        _, certificate = load(self.path)
        claim = certificate["claim"]
        if bits.length != claim["T"] or list(bits.positions or ()) != claim["positions"]:
            raise InputError(
                f"{Path(self.path).name} is about positions {claim['positions']} of {claim['T']}",
                "set world.length and world.positions to them",
            )


def _assembled(
    mapping: str,
    cls: Any,
    symbols: Any,
    marks: Any,
    heads: HeadWeights,
    net: Network,
    labels: bool = True,
) -> SequenceNet:
    as_float = lambda a: jnp.asarray(a, dtype=float)
    marks = as_float(marks)
    if mapping == "bag":
        table, positions = jnp.stack([jnp.zeros_like(marks), marks], axis=1), None
    elif mapping == "deterministic":
        table, positions = marks[:, None] + as_float(symbols)[None], None
    else:
        table, positions = as_float(symbols)[None], marks
    return SequenceNet(
        symbols=table,
        positions=positions,
        asking=as_float(cls),
        heads=jax.tree.map(as_float, heads),
        first=as_float(net.first),
        second=as_float(net.second),
        readout=as_float(net.readout),
        scale=2.0 if labels else 1.0,
        shift=-1.0 if labels else 0.0,
    )


def _shuffled(key: PRNGKey, model: SequenceNet) -> SequenceNet:
    """Random weights in place of trained ones, every array with its Frobenius norm."""

    def redraw(name: str, array: Array) -> Array:
        (sub,) = named(key, name)
        draw = jr.normal(sub, array.shape)
        return draw * (jnp.linalg.norm(array) / jnp.linalg.norm(draw))

    heads = HeadWeights(
        *(redraw(name, part) for name, part in zip(HeadWeights._fields, model.heads, strict=True))
    )
    parts = {name: redraw(name, getattr(model, name)) for name in ("first", "second", "readout")}
    where = lambda m: [m.heads, m.first, m.second, m.readout]
    model = eqx.tree_at(where, model, [heads, *parts.values()])
    if model.positions is None:
        return model
    return eqx.tree_at(lambda m: m.positions, model, redraw("positions", model.positions))


def _with_bias(weight: Array) -> Array:
    return jnp.concatenate([weight, jnp.zeros((1, weight.shape[1]))])


def _needs_bits(world: World, name: str) -> SparseBoolean:
    if not isinstance(world, SparseBoolean):
        raise InputError(
            f"{name} reads bits, not the tokens of {type(world).__name__}",
            "use a SparseBoolean world",
        )
    return world
