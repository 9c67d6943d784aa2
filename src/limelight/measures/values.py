r"""What reaches the value map of a shallow ViT: the decomposition and coefficients of Lemma 2.

The update of the value map, seen by a token of pattern $k$, is a sum over neurons,
$W_V(t+1)\mu_k = W_V(t)\mu_k - \eta \sum_i V_i(t) W_O(i,\cdot)^\top$. The value frame $P$ is that of
the start, the first axes (see `models.Shallow`).
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from limelight._core.kinds import kind
from limelight._core.types import Example, PRNGKey
from limelight.measures.base import Begun, Reader
from limelight.measures.features import DISCRIMINATIVE, logits
from limelight.measures.neurons import lucky, mean_of, signed
from limelight.worlds.base import World, dataset


def pull(model: Any, e: Example, patterns: Float[Array, "k dimension"]) -> Float[Array, "k width"]:
    r"""One example's share of $V_i$, a row for each pattern: 0 where its margin has reached 1.

    $$-y\, \mathbb 1[y F < 1]\, \frac{1}{|S|} \sum_{l \in S} a_{(l)i}\,
      \mathbb 1[W_O(i,\cdot) W_V C_l \ge 0]\, C_l^\top \mu_k$$
    """
    w = model.weights
    context = model.attention(e) @ e.tokens
    before = context @ (w.output @ w.value).T
    sent = jnp.where(e.kept[:, None], model.readout, 0.0) / jnp.sum(e.kept)
    margin = e.label * jnp.sum(sent * jax.nn.relu(before))
    each = (context @ patterns.T).T @ (sent * (before >= 0))
    return jnp.where(margin < 1, -e.label, 0.0) * each


@kind("measure.value_pull")
@dataclass(frozen=True)
class ValuePull(Begun):
    r"""How hard neurons pull the value of their pattern, $-a V_i$, on a fresh batch.

    $1/a$ is the size of an output weight. Of the neurons that were lucky (`argmax`, right sign) at
    the start, seen by the pattern they are lucky for: `lucky.mean` and `lucky.low`, the 5th
    percentile. Of the neurons that were not lucky: `other.high`, the 95th percentile of $|a V_i|$
    for both patterns. `active` is the share of the batch whose margin has not reached 1; the others
    pull nothing.

    Lemma 2 predicts, for a batch of $B$, at least $\frac{1}{2B} \sum_{n : y = +1}
    \frac{|S_1|}{|S|} p_n$ for lucky neurons and at most $1/\sqrt B$ for the others.

    Departures: the mirror statement for $\mathcal U$ is read by the symmetry that swaps labels,
        patterns 1 and 2, and output signs, under which both sets pull alike; batches are fresh.

    Args:
        examples: $B$.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.ValuePull()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Lemma 2.
    """

    examples: int = 20
    name: str = "pull"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure; who is lucky is decided at the start."""
        batch = dataset(world, key, truth, self.examples)
        two, patterns = truth.patterns[:DISCRIMINATIVE], truth.patterns.shape[0]
        member = lucky(start.weights.output, patterns, "argmax", 0.0)
        chosen, other = member & signed(start.readout), ~jnp.any(member, axis=0)
        size = jnp.mean(jnp.abs(start.readout))

        def read(model):
            parts = jax.vmap(lambda e: pull(model, e, two))(batch)
            found = -jnp.mean(parts, axis=0) / size
            low = jnp.nanquantile(jnp.where(chosen, found, jnp.nan), 0.05)
            loud = jnp.where(other[None], jnp.abs(found), jnp.nan)
            return {
                "lucky.mean": mean_of(found, chosen),
                "lucky.low": low,
                "other.high": jnp.nanquantile(loud, 0.95),
                "active": jnp.mean(jnp.any(parts != 0, axis=(1, 2)), dtype=float),
            }

        return read


@kind("measure.value_parts")
@dataclass(frozen=True)
class ValueParts(Begun):
    r"""The value that a query of pattern 1 reads under label +1, without noise, part by part.

    With $w_j$ the attention on all tokens of pattern $j$ and $W_V(0)\mu_j = p_j + z_j$ it is
    $w_1 p_1 + z + \sum_{j \ne 1} w_j p_j + \sum_j w_j (W_V(t) - W_V(0))\mu_j$. `error` is the
    length of $z = \sum_j w_j z_j$; `leak` the largest weight on one token of another pattern, which
    Lemma 2 bounds by $\nu_n$; `learned.own`, `learned.confusing`, `learned.idle` the last sum along
    $p_1$, along $p_2$, and its mean size along the others.

    Claim 3: `moved.own` is the length of $(W_V(t) - W_V(0))\mu_j$, mean over patterns 1 and 2,
    `moved.idle` over the others, and `aligned` the cosine of the first with the sum of the rows of
    $W_O$ that were lucky (`argmax`, right sign) for it at the start; 0 before the first step.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.ValueParts()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Lemma 2 and its claim 3.
    """

    name: str = "value"

    def begin(self, key: PRNGKey, world: Any, truth: Any, start: Any) -> Reader:
        """The measure, against the start."""
        mu, first = truth.patterns, start.weights.value
        counts = world.counts(jnp.array(1.0))
        frame = jnp.eye(len(mu), first.shape[0])
        errors = mu @ first.T - frame
        chosen = lucky(start.weights.output, len(mu), "argmax", 0.0) & signed(start.readout)
        other = (jnp.arange(len(counts)) > 0) & (counts > 0)

        def read(model):
            seen = logits(model, truth)[:, 0]
            grown = jnp.exp(seen - jnp.max(seen))
            token = grown / jnp.sum(counts * grown)
            weight = counts * token
            moved = mu @ (model.weights.value - first).T
            learned = frame @ (weight @ moved)
            length = jnp.linalg.norm(moved, axis=-1)
            rows = chosen.astype(float) @ model.weights.output
            cosine = jnp.sum(moved[:DISCRIMINATIVE] * rows, axis=-1) / jnp.maximum(
                length[:DISCRIMINATIVE] * jnp.linalg.norm(rows, axis=-1), 1e-30
            )
            return {
                "error": jnp.linalg.norm(weight @ errors),
                "leak": jnp.max(jnp.where(other, token, 0.0)),
                "learned.own": learned[0],
                "learned.confusing": learned[1],
                "learned.idle": jnp.mean(jnp.abs(learned[DISCRIMINATIVE:])),
                "moved.own": jnp.mean(length[:DISCRIMINATIVE]),
                "moved.idle": jnp.mean(length[DISCRIMINATIVE:]),
                "aligned": jnp.mean(cosine),
            }

        return read
