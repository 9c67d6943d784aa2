r"""Pattern sets: along what the keys and queries of a set grow (li2023, appendix G.2)."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight.core.kinds import kind
from limelight.core.types import PRNGKey
from limelight.measures.base import Begun, Reader
from limelight.measures.features import DISCRIMINATIVE


@kind("measure.set_growth")
@dataclass(frozen=True)
class SetGrowth(Begun):
    r"""Do all members of a discriminative set grow along one combination, and along which?

    With $\Delta_b$ the change of the key feature of member $b$ since the start, `key.common` is the
    smallest cosine between the changes of two members and `key.first` the first member's share
    $c_1/\sum_b c_b$ in the combination $\sum_b \Delta_b = \sum_b c_b q_{j,b}$; means over the sets
    of patterns 1 and 2. `query.common` and `query.first` are the same of queries. The appendix
    predicts one combination for all members (cosine 1), with coefficients that depend on the
    frequencies in the set. If each member grew along itself alone, the cosine would be that of the
    members, and the shares would be equal.

    Departures: before the first step nothing has changed and both are 0.

    Args:
        members: Patterns in a set.

    Reference: li2023, appendix G.2.
    """

    members: int = 2
    name: str = "sets"

    def begin(self, key: PRNGKey, world: Any, truth: Any, start: Any) -> Reader:
        """The measure, against the start."""
        two = DISCRIMINATIVE * self.members
        mu, duals = truth.patterns[:two], truth.duals[:two]
        first = {"key": start.weights.key, "query": start.weights.query}

        def read(model):
            now = {"key": model.weights.key, "query": model.weights.query}
            found = {}
            for name, begun in first.items():
                frame = jnp.eye(begun.shape[0], mu.shape[1])  # features are images of the patterns
                change = (mu @ (now[name] - begun).T).reshape(DISCRIMINATIVE, self.members, -1)
                found[f"{name}.common"] = jnp.mean(_least_cosine(change))
                onto = (duals @ frame.T).reshape(DISCRIMINATIVE, self.members, -1)
                parts = jnp.einsum("jd,jbd->jb", jnp.sum(change, axis=1), onto)
                total = jnp.sum(parts, axis=1)
                share = parts[:, 0] / jnp.where(total == 0, 1.0, total)
                found[f"{name}.first"] = jnp.mean(share)
            return found

        return read


def _least_cosine(change: Float[Array, "sets members key"]) -> Float[Array, " sets"]:
    length = jnp.linalg.norm(change, axis=-1)
    product = jnp.einsum("jbd,jcd->jbc", change, change)
    cosine = product / jnp.maximum(length[:, :, None] * length[:, None, :], 1e-30)
    return jnp.min(cosine, axis=(1, 2))
