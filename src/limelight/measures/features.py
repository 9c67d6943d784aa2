r"""What becomes of the features of a shallow ViT: Lemma 2 and its claims as readings.

The features of pattern $j$ are $q_j = W_K \mu_j$, $r_j = W_Q \mu_j$ and $W_V \mu_j$; the value
frame $P$ stays that of the start, the first axes (see `models.Shallow`).
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.types import PRNGKey
from limelight.measures.base import Begun, Reader
from limelight.worlds.base import World

#: The largest and the smallest logit of the other patterns are read only where these occur.
DISCRIMINATIVE = 2


def logits(model: Any, truth: Any) -> Float[Array, "patterns patterns"]:
    r"""$\langle W_K \mu_s, W_Q \mu_k \rangle$: key patterns by query patterns."""
    mu = truth.patterns
    return mu @ model.weights.product @ mu.T


@kind("measure.feature_norms")
@dataclass(frozen=True)
class FeatureNorms(Begun):
    r"""Lengths of `key`, `query` and `value` features: of patterns 1 and 2, mean of the others.

    Lemma 2 (claims 2 and 3): the first two grow, the others do not.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.FeatureNorms()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Lemma 2.
    """

    name: str = "norm"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure."""
        mu = truth.patterns

        def read(model):
            w, found = model.weights, {}
            for name, matrix in (("key", w.key), ("query", w.query), ("value", w.value)):
                length = jnp.linalg.norm(mu @ matrix.T, axis=-1)
                found |= {f"{name}.1": length[0], f"{name}.2": length[1]}
                found[f"{name}.idle"] = jnp.mean(length[DISCRIMINATIVE:])
            return found

        return read


@kind("measure.feature_turns")
@dataclass(frozen=True)
class FeatureTurns(Begun):
    r"""Cosine of `key` and `query` features with themselves at the start, mean of patterns 1 and 2.

    Lemma 2 (claim 2): $q_k(t) = \prod_{l<t} (1 + K(l))\, q_k(0)$, so a feature grows and does not
    turn.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.FeatureTurns()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Lemma 2.
    """

    name: str = "turn"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, against the start."""
        mu = truth.patterns[:DISCRIMINATIVE]
        maps = lambda model: {"key": model.weights.key, "query": model.weights.query}
        before = {name: unit(mu @ matrix.T) for name, matrix in maps(start).items()}

        def read(model):
            return {
                name: jnp.mean(jnp.sum(unit(mu @ matrix.T) * before[name], axis=-1))
                for name, matrix in maps(model).items()
            }

        return read


@kind("measure.own_attention")
@dataclass(frozen=True)
class OwnAttention(Begun):
    r"""Seen from a query of pattern 1 in an example of label +1, without noise.

    `logit` is $g = \langle W_K\mu_1, W_Q\mu_1 \rangle$, `largest` and `smallest` the extreme logits
    of the other patterns that occur, `mass` the attention on pattern 1, `tokens` how many
    tokens carry it: what Definition 1 brackets and what it is made from.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.OwnAttention()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Definition 1.
    """

    name: str = "own"

    def begin(self, key: PRNGKey, world: Any, truth: Any, start: Any) -> Reader:
        """The measure; the counts are those of the world."""
        counts = world.counts(jnp.array(1.0))
        other = (jnp.arange(len(counts)) > 0) & (counts > 0)

        def read(model):
            seen = logits(model, truth)[:, 0]
            weight = counts * jnp.exp(seen - jnp.max(seen))
            return {
                "logit": seen[0],
                "largest": jnp.max(jnp.where(other, seen, -jnp.inf)),
                "smallest": jnp.min(jnp.where(other, seen, jnp.inf)),
                "mass": weight[0] / jnp.sum(weight),
                "tokens": counts[0].astype(float),
            }

        return read


@kind("measure.invariants")
@dataclass(frozen=True)
class Invariants(Begun):
    r"""Drift of what gradient flow conserves, relative to its size at the start.

    `attention`: $W_Q W_Q^\top - W_K W_K^\top$; `value`: $W_V W_V^\top - W_O^\top W_O$. Constant
    under gradient flow, of the order of the step size under descent: a free check of the trainer.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.Invariants()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()
    """

    name: str = "drift"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, against the start."""
        before = conserved(start)
        size = {
            "attention": jnp.linalg.norm(start.weights.product),
            "value": jnp.linalg.norm(start.weights.value @ start.weights.value.T),
        }

        def read(model):
            now = conserved(model)
            return {name: jnp.linalg.norm(now[name] - before[name]) / size[name] for name in now}

        return read


def conserved(model: Any) -> dict[str, Float[Array, "rows rows"]]:
    """The two matrices that gradient flow conserves."""
    w = model.weights
    return {
        "attention": w.query @ w.query.T - w.key @ w.key.T,
        "value": w.value @ w.value.T - w.output.T @ w.output,
    }


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

    Example:
        >>> import limelight as ll
        >>> ll.measures.SetGrowth(members=2).name
        'sets'

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
