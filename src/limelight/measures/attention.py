"""What becomes of the roles of tokens: which of them attention goes to, which of them are kept."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.kinds import kind
from limelight._core.types import PRNGKey, Role, roles_of
from limelight.measures.base import Begun, Reader
from limelight.worlds.base import World, dataset


def role_mass(weights: Float[Array, "tokens tokens"], roles, kept) -> Float[Array, "3 3"]:
    """Mean attention from queries of one role (row) to all keys of another (column).

    A role without kept queries has NaN: there is nothing to average, and 0 would be a claim.
    """
    member = jax.nn.one_hot(roles, 3) * kept[:, None]
    queries = jnp.sum(member, axis=0)
    total = member.T @ weights @ member
    return jnp.where(queries[:, None] > 0, total / jnp.maximum(queries[:, None], 1), jnp.nan)


@kind("measure.attention_mass")
@dataclass(frozen=True)
class AttentionMass(Begun):
    r"""Attention mass on $\mathcal S_*$, averaged over queries and examples of a fresh test set.

    `all` averages over every query, the others over the queries of one role; a role that does not
    occur is NaN.

    Args:
        examples: Size of the test set; without noise two, one of each label, say everything.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.AttentionMass()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Proposition 2 and Figure 4.
    """

    examples: int = 20
    name: str = "mass"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, its test set made once."""
        test = dataset(world, key, truth, self.examples)

        def read(model):
            mean, by_role = jax.vmap(lambda e: relevant_mass(model, e))(test)
            by_role = jnp.mean(by_role, axis=0)
            return {"all": jnp.mean(mean)} | dict(zip(Role.NAMES, by_role, strict=True))

        return read


def relevant_mass(model: Any, e: Any) -> tuple[Float[Array, ""], Float[Array, "3"]]:
    """Mass on the relevant tokens of one example: over all kept queries, and by query role."""
    weights = model.attention(e)
    relevant = (roles_of(e) == Role.RELEVANT) & e.kept
    received = jnp.sum(jnp.where(relevant, weights, 0.0), axis=-1)
    mean = jnp.sum(jnp.where(e.kept, received, 0.0)) / jnp.sum(e.kept)
    return mean, role_mass(weights, roles_of(e), e.kept)[:, Role.RELEVANT]


@kind("measure.role_mass")
@dataclass(frozen=True)
class RoleMass(Begun):
    """Attention from queries of each role to all keys of each role, on so many fresh `examples`.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.RoleMass()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()
    """

    examples: int = 20
    name: str = "roles"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, its test set made once."""
        test = dataset(world, key, truth, self.examples)

        def read(model):
            one = lambda e: role_mass(model.attention(e), roles_of(e), e.kept)
            mass = jnp.mean(jax.vmap(one)(test), axis=0)
            pairs = ((q, k) for q in range(3) for k in range(3))
            return {f"{Role.NAMES[q]}.{Role.NAMES[k]}": mass[q, k] for q, k in pairs}

        return read


@kind("measure.kept_tokens")
@dataclass(frozen=True)
class KeptTokens(Begun):
    r"""Realised fractions among kept tokens, and the share of examples whose vote has changed.

    `relevant` and `confusing` are the realised $\alpha_*$ and $\alpha_\#$, `kept` the tokens left,
    `vote_changed` the share of examples in which the kept relevant tokens no longer outnumber the
    confusing ones (the label stays that of the whole example). The test set has `examples`.

    Example:
        >>> import limelight as ll
        >>> world = ll.worlds.Sparse(ll.worlds.Patterns(), kept=50)
        >>> ll.Study(world, ll.models.Shallow(), None, [ll.measures.KeptTokens()]).check()
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
