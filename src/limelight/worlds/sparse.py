r"""Token sparsification: a world whose examples keep only some of their tokens.

Removed tokens are masked out of every softmax and average. Zeroing them instead would be another
model: a zero token has logit 0 and still takes weight.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import ranks
from limelight._core.shown import Shown
from limelight._core.types import Example, Number, PRNGKey, Role, roles_of
from limelight.worlds.base import World

POLICIES = ("random", "drop_irrelevant", "drop_noisy", "attention")


@kind("world.sparse")
class Sparse(World[Any, Example]):
    r"""Another world, some of whose tokens are kept and the rest removed.

    Policies: `random`; `drop_irrelevant`, an oracle that drops idle tokens at random, then, when
    none is left, confusing ones, then relevant ones; `drop_noisy`, an oracle that drops the tokens
    farthest from what they stand for; `attention`, the tokens with the largest mean received
    attention $\frac{1}{|S|} \sum_l s_{lj}$ of the model in `scorer` stay.

    The label is that of the whole example, even if the vote among the kept tokens is another one
    (`measures.KeptTokens` reports how often).

    Notation: `kept` is their $|\mathcal S^n|$ after sparsification.
    Departures: none; the oracles read the ground truth that the world reports with each token.

    Args:
        inner: The world that is sparsified; its examples must say which tokens take part.
        policy: Which tokens go: a word, or its number in `POLICIES`. A number is traced, so that a
            grid over policies compiles once.
        kept: How many stay; traced, so that a grid over it compiles once.
        scorer: The model whose attention decides, for `attention`; an experiment such as
            `study.Screened` trains it.

    Example:
        >>> import limelight as ll
        >>> ll.worlds.Sparse(ll.worlds.Patterns(tokens=20), policy="random", kept=12).kept
        12

    Reference: li2023, Section 2 and Section 4.1 (token sparsification).
    """

    inner: World
    policy: str | Number = "random"
    kept: Number = 50
    scorer: Any = None

    def draw(self, key: PRNGKey) -> Any:
        """The truth of the inner world."""
        return self.inner.draw(key)

    def sample(self, key: PRNGKey, truth: Any, index: Int[Array, ""]) -> Example:
        """One example of the inner world with all but the best `kept` tokens masked out."""
        whole = self.inner.sample(key, truth, index)
        score = jnp.where(whole.kept, self._score(key, whole), -jnp.inf)
        return eqx.tree_at(lambda e: e.kept, whole, whole.kept & (ranks(-score) < self.kept))

    def tell(self, truth: Any, item: Example) -> Shown:
        """As the inner world tells it, where that knows of removed tokens."""
        return self.inner.tell(truth, item)

    def check(self) -> None:
        """Refuse unknown policies, empty examples, and oracles without a truth to read."""
        self.inner.check()
        if isinstance(self.policy, str):
            check_word("world.policy", self.policy, POLICIES)
        elif self.policy not in range(len(POLICIES)):
            raise InputError(f"policy = {self.policy}", "a number of: " + ", ".join(POLICIES))
        tokens = getattr(self.inner, "tokens", None)
        if self.kept < 1 or (tokens is not None and self.kept > tokens):
            raise InputError(
                f"kept = {self.kept} of {tokens} tokens", "at least one, at most all of them"
            )

    @property
    def scored(self) -> bool:
        """Whether a scoring model may be needed; a traced policy may be any."""
        return not isinstance(self.policy, str) or self.policy == "attention"

    def _score(self, key: PRNGKey, whole: Example) -> Float[Array, " tokens"]:
        (k_drop,) = named(key, "drop")
        chance = jr.uniform(k_drop, whole.kept.shape)
        scores = {
            "random": lambda: chance,
            "drop_irrelevant": lambda: jnp.array(ORDER)[roles_of(whole)] + chance,
            "drop_noisy": lambda: -self._distance(whole),
            "attention": lambda: self._attention(whole),
        }
        if isinstance(self.policy, str):
            return scores[self.policy]()
        return jnp.stack([scores[name]() for name in POLICIES])[self.policy]

    def _distance(self, whole: Example) -> Float[Array, " tokens"]:
        if whole.distance is None:
            raise InputError("this world does not say how noisy a token is")
        return whole.distance

    def _attention(self, whole: Example) -> Float[Array, " tokens"]:
        if self.scorer is None:
            raise InputError(
                "the attention policy needs a model to score tokens", "use experiments.Screened"
            )
        return received(self.scorer.attention(whole), whole.kept)


#: The later a role goes, the larger its number.
ORDER = tuple({Role.RELEVANT: 2.0, Role.CONFUSING: 1.0, Role.IDLE: 0.0}[r] for r in range(3))


def received(weights: Float[Array, "tokens tokens"], kept: Array) -> Float[Array, " tokens"]:
    r"""Mean attention that each token receives from the kept queries."""
    return jnp.sum(jnp.where(kept[:, None], weights, 0.0), axis=0) / jnp.sum(kept)
