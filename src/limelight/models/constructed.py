"""Constructions as models: the function of a file, and starts of training.

A model may start where it already computes its function, so what is representable and what is
learnable meet on one plot.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array
from safetensors.numpy import save_file

from limelight._core.errors import InputError, check_word
from limelight._core.files import atomic, file_digest
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.models.base import Recipe
from limelight.models.construct import _bases as bases
from limelight.models.construct import _lemmas as lemmas
from limelight.models.construct import _selectors as selectors
from limelight.models.construct._files import load
from limelight.models.construct._memorise import Network, memorise
from limelight.models.heads import HeadWeights
from limelight.models.sequence import SequenceNet, needs_bits
from limelight.worlds._rules import by_count, truth_table
from limelight.worlds.base import World
from limelight.worlds.boolean import SparseBoolean


@kind("model.constructed")
class Constructed(Recipe):
    r"""A start at the construction of the world's rule on the positions that the trial drew.

    With `start="random"` the same architecture starts at random weights instead, each matrix with
    the Frobenius norm that the construction's has.

    Notation: `mapping` and `basis` as in `construct`.
    Departures: trained in float32 by the flow; the file format and its check are float64.

    Args:
        mapping: `deterministic`, `trainable` or `bag`.
        basis: See `bases.choose`.
        many: Whether there is one head per position (the general construction).
        start: `construction`, or `random` for the same sizes and norms.
        shrink: Factor on the temperature; below 1 the start is softer than the construction.

    Example:
        >>> import limelight as ll
        >>> ll.models.Constructed(mapping="trainable").start
        'construction'

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
        bits = needs_bits(world, "Constructed")
        check_word("model.mapping", self.mapping, selectors.MAPPINGS)
        check_word("model.start", self.start, ("construction", "random"))
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

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder.name}/and.safetensors")
        >>> type(ll.models.load_construction(f"{folder.name}/and.safetensors")).__name__
        'SequenceNet'
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


def save_sequence(model: SequenceNet, path: str | Path) -> None:
    """The weights of a network over bits, trained or not, as a file that capacity bounds read.

    There is no certificate in it: nothing is claimed of what the weights compute.

    Example:
        >>> import limelight as ll
        >>> callable(ll.models.save_sequence)  # save_sequence(trained, "bits.safetensors")
        True
    """
    heads = len(model.heads.query)
    weights = {
        f"head.{h}.{name}": stack[h]
        for name, stack in zip(("W_Q", "W_K", "W_V", "W_C"), model.heads, strict=True)
        for h in range(heads)
    }
    weights |= {"cls": model.asking, "mlp.W_1": model.first, "mlp.W_2": model.second}
    weights |= {"mlp.w": model.readout}
    if model.positions is None:
        weights["tokens"] = model.symbols
    else:
        weights |= {"E": model.symbols[0], "P": model.positions}
    with atomic(Path(path)) as temporary:
        save_file({name: np.asarray(weight) for name, weight in weights.items()}, temporary)


@kind("model.loaded")
class Loaded(Recipe):
    """A start at a construction file; its world must have the file's length and positions.

    Args:
        path: A file that `limelight construct` wrote.

    Example:
        >>> import limelight as ll
        >>> ll.models.Loaded("and.safetensors").path  # read when a trial is made
        'and.safetensors'
    """

    path: str = eqx.field(static=True)

    def files_read(self) -> dict[str, str]:
        """The file."""
        return {self.path: file_digest(self.path)}

    def init(self, key: PRNGKey, world: SparseBoolean, truth: Any) -> SequenceNet:
        """The file's weights."""
        return load_construction(self.path)

    def check(self, world: World) -> None:
        """Refuse a world that the file is not about."""
        bits = needs_bits(world, "Loaded")
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
