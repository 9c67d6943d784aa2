"""What a sparsified example still says: realised fractions, and whether the vote survives."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from limelight.core.kinds import kind
from limelight.core.types import PRNGKey, Role, roles_of
from limelight.measures.base import Begun, Reader
from limelight.worlds.base import World, dataset


@kind("measure.kept_tokens")
@dataclass(frozen=True)
class KeptTokens(Begun):
    r"""Realised fractions among kept tokens, and the share of examples whose vote has changed.

    `relevant` and `confusing` are the realised $\alpha_*$ and $\alpha_\#$, `kept` the tokens left,
    `vote_changed` the share of examples in which the kept relevant tokens no longer outnumber the
    confusing ones (the label stays that of the whole example).

    Args:
        examples: Size of the test set.
    """

    examples: int = 100
    name: str = "tokens"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure; no weight enters."""
        test = dataset(world, key, truth, self.examples)
        member = jax.nn.one_hot(roles_of(test), 3) * test.kept[..., None]
        counts = jnp.sum(member, axis=1)
        total = jnp.sum(test.kept, axis=1)
        relevant, confusing = counts[:, Role.RELEVANT], counts[:, Role.CONFUSING]
        found = {
            "kept": jnp.mean(total, dtype=float),
            "relevant": jnp.mean(relevant / total),
            "confusing": jnp.mean(confusing / total),
            "vote_changed": jnp.mean(relevant <= confusing, dtype=float),
        }
        return lambda model: found
