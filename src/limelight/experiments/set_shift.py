r"""Generalization without patch association: the set shift of Theorem 3.2, built and measured."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array

from limelight._core.errors import check_least
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.measures.association import association
from limelight.models.positional import Activation
from limelight.theory.jelassi2022.full import network_outputs
from limelight.theory.jelassi2022.layer import Layer
from limelight.theory.jelassi2022.shift import misses_itself, same_logits, shifted_logits
from limelight.worlds import Spatial


@kind("experiment.set_shift")
class SetShift(Experiment):
    r"""Two networks on one random partition: attention inside sets, and to the next set.

    Leaves the errors of both, the largest difference of their outputs, the association of the
    shifted one, all in float64 (`kept.*`: with its diagonal set to 1); and of `grams` random
    encodings how many miss themselves (`missed`).

    Args:
        tokens: Patches.
        size: Patches in a set.
        density: Probability of a mark in a random set.
        strength: The logit $h$ of the set that is attended to.
        value: $\alpha$, the value vector is $\alpha w^*$.
        draws: Test images.
        grams: Random encodings.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.SetShift(tokens=16, size=4).check()

    Reference: jelassi2022, Theorem 3.2.
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = ()

    tokens: int = eqx.field(static=True, default=36)
    size: int = eqx.field(static=True, default=4)
    density: Number = 0.35
    strength: Number = 8.0
    value: Number = 0.06
    draws: int = eqx.field(static=True, default=20_000)
    grams: int = eqx.field(static=True, default=500)

    @property
    def world(self) -> Spatial:
        """The law of the images; patches have no length here, only marks."""
        return Spatial(self.tokens, self.size, 1, self.density)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Build both networks and test them on the same images."""
        k_truth, k_test, k_gram = named(key, "truth", "test", "gram")
        sets = self.world.draw(k_truth).sets
        label, _, marks = jax.vmap(lambda k: self.world.marked(k, sets))(
            jr.split(k_test, self.draws)
        )
        layer = Layer(self.tokens, self.size, activation=Activation(3, 0.0))
        answer = lambda logits: label * network_outputs(layer, logits, self.value * marks)
        same = answer(same_logits(sets, self.strength))
        shift = shifted_logits(sets, self.world.sets, self.strength)
        shifted = answer(shift)
        kept = jnp.where(jnp.eye(self.tokens, dtype=bool), 1.0, shift)
        score, with_diagonal = association(shift, sets), association(kept, sets)
        return {
            "error.same": jnp.mean(same <= 0),
            "error.shifted": jnp.mean(shifted <= 0),
            "error.kept": jnp.mean(answer(kept) <= 0),
            "difference": jnp.max(jnp.abs(same - shifted)),
            "largest": jnp.max(jnp.abs(same)),
            "exact": score["exact"],
            "overlap": score["overlap"],
            "overlap_offdiag": score["overlap_offdiag"],
            "kept.overlap_offdiag": with_diagonal["overlap_offdiag"],
            "missed": jnp.sum(jax.lax.map(self._misses, jr.split(k_gram, self.grams))),
        }

    def _misses(self, key: PRNGKey) -> Array:
        """A random Gram matrix: Gaussian encodings of random lengths, in few or many dimensions."""
        k_point, k_length, k_width = named(key, "point", "length", "width")
        width = jr.randint(k_width, (), 1, self.tokens + 1)
        used = jnp.arange(self.tokens) < width
        points = jr.normal(k_point, (self.tokens, self.tokens)) * used[None, :]
        return misses_itself(points * jnp.exp(jr.normal(k_length, (self.tokens, 1))), self.size)

    def check(self) -> None:
        """Refuse worlds that make no sense."""
        self.world.check()
        check_least(self, ("draws", "grams"))
