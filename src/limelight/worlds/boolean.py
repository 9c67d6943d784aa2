r"""Sparse Boolean functions of hidden bits: the data of edelman2022's experiments.

$T$ fair bits, of which $s$ hidden ones decide the label.
"""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Int

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.shown import Shown, in_words
from limelight._core.types import Example, Number, PRNGKey, Role
from limelight.worlds._rules import truth_table
from limelight.worlds.base import World


@kind("world.sparse_boolean")
class SparseBoolean(World[Int[Array, " sparsity"], Example]):
    r"""Uniform bits, labelled by a rule on a hidden few of them.

    These are a subset $\mathcal I$ with $|\mathcal I| = s$. A token is the one-hot code of its bit,
    so that a model embeds it with one matrix.

    Notation: `length` is their $T$, `sparsity` their $s$.
    Departures: labels are +1 and -1, not 1 and 0.

    Args:
        length: Bits in an example.
        sparsity: Bits that matter.
        rule: `and`, `or`, `xor`, `majority`, `threshold:k`, or a truth table in hex (see `rules`).
        label_noise: Probability that a label is flipped.
        positions: The bits that matter, from 0; drawn afresh in each trial when `None`.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.SparseBoolean(length=6, sparsity=2, rule="and", positions=(0, 3))
        >>> make = lambda: world.sample(jr.key(1), world.draw(jr.key(0)), jax.numpy.array(0))
        >>> jax.eval_shape(make).tokens.shape
        (6, 2)

    Reference: edelman2022, Section 5.
    """

    length: int = eqx.field(static=True, default=40)
    sparsity: int = eqx.field(static=True, default=3)
    rule: str = eqx.field(static=True, default="and")
    label_noise: Number = 0.0
    positions: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def draw(self, key: PRNGKey) -> Int[Array, " sparsity"]:
        """The hidden subset: the given one, or a uniform one."""
        if self.positions is not None:
            return jnp.array(self.positions)
        return jr.choice(key, self.length, (self.sparsity,), replace=False)

    def sample(
        self, key: PRNGKey, truth: Int[Array, " sparsity"], index: Int[Array, ""]
    ) -> Example:
        """Fair bits and their label."""
        bits, value = self.labelled(key, truth)
        tokens = jnp.stack([~bits, bits], axis=-1).astype(float)
        roles = jnp.full(self.length, Role.IDLE).at[truth].set(Role.RELEVANT)
        return Example(tokens, jnp.where(value, 1.0, -1.0), roles=roles)

    def labelled(
        self, key: PRNGKey, truth: Int[Array, " sparsity"]
    ) -> tuple[Bool[Array, " length"], Bool[Array, ""]]:
        """The bits of an example and its label, bare: what a model of bits reads."""
        k_bits, k_flip = named(key, "bits", "flip")
        bits = jr.bernoulli(k_bits, 0.5, (self.length,))
        value = evaluate(self.rule, bits[truth])
        return bits, value ^ jr.bernoulli(k_flip, self.label_noise)

    def tell(self, truth: Int[Array, " sparsity"], item: Example) -> Shown:
        """The bits, and which of them matter."""
        groups = np.ones(self.length, dtype=int)
        groups[np.asarray(truth)] = 0
        words = f"{self.rule} of {self.sparsity} bits: {in_words(item.label)}"
        bits = np.asarray(item.tokens)[:, 1:]
        return Shown(bits, groups, ("relevant", "irrelevant"), words, token="bit")

    def check(self) -> None:
        """Refuse unknown rules, tied majorities and impossible sizes."""
        if not 1 <= self.sparsity <= self.length:
            raise InputError(
                f"sparsity = {self.sparsity} does not fit length = {self.length}",
                "between 1 and the length",
            )
        truth_table(self.rule, self.sparsity)
        if self.rule.strip().lower() == "majority" and self.sparsity % 2 == 0:
            raise InputError(
                f"a majority of {self.sparsity} bits can be tied", "use an odd world.sparsity"
            )
        if self.positions is not None and (
            len(set(self.positions)) != self.sparsity
            or not all(0 <= i < self.length for i in self.positions)
        ):
            raise InputError(
                f"positions = {self.positions} are not {self.sparsity} places of {self.length}",
                "as many as world.sparsity, all different, counted from 0",
            )
        if not 0 <= self.label_noise < 0.5:
            raise InputError(f"label_noise = {self.label_noise:g}", "between 0 and 1/2")


def evaluate(rule: str, bits: Bool[Array, " sparsity"]) -> Bool[Array, ""]:
    """The rule on the hidden bits, looked up in its truth table."""
    pattern = jnp.sum(bits << jnp.arange(bits.shape[0]))
    return jnp.asarray(truth_table(rule, bits.shape[0]))[pattern]
