r"""Lucky neurons: rows of $W_O$ that point along the value feature of a discriminative pattern.

Three readings of Definition 2, with $\theta_k$ the angle between a row and $p_k$ and
$D = \sigma + \tau$: `literal`, $\theta_1 \le D$ (empty in practice: in 10 dimensions such an
angle has probability about $10^{-10}$); `argmax`, $p_1$ is the best aligned; `margin`,
$\theta_1 + D \le \theta_l - D$ for all other $l$, the event that the proof of Lemma 3 uses. The
set $\mathcal U$ is the same with $p_2$. The *signed* subset has the right mean output weight
$\bar a_i = \frac{1}{L} \sum_l a_{(l)i}$: positive for $\mathcal W$, negative for $\mathcal U$
(exactly 0 is neither).
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from limelight._core.kinds import kind
from limelight._core.types import PRNGKey, Role, roles_of
from limelight.measures.base import Begun, Reader
from limelight.worlds.base import World, dataset
from limelight.worlds.classes import CLASSES, bits

VARIANTS = ("literal", "argmax", "margin")


def angles(output: Float[Array, "width value"], patterns: int) -> Float[Array, "width patterns"]:
    """Angle of every row with every axis of the value frame."""
    length = jnp.maximum(jnp.linalg.norm(output, axis=-1, keepdims=True), 1e-30)
    return jnp.arccos(jnp.clip(output[:, :patterns] / length, -1.0, 1.0))


def lucky(
    output: Float[Array, "width value"], patterns: int, variant: str, slack: float
) -> Bool[Array, "2 width"]:
    r"""Membership of every neuron in $\mathcal W$ and in $\mathcal U$."""
    theta = angles(output, patterns)
    own = theta[:, :2].T
    if variant == "literal":
        return own <= slack
    others = jnp.stack(
        [jnp.min(jnp.where(jnp.arange(patterns) == k, jnp.inf, theta), axis=1) for k in range(2)]
    )
    return own + 2 * slack <= others if variant == "margin" else own <= others


def signed(readout: Float[Array, "tokens width"]) -> Bool[Array, "2 width"]:
    r"""Neurons whose mean output weight has the sign of $\mathcal W$, of $\mathcal U$."""
    mean = jnp.sum(jnp.sign(readout), axis=0)  # signs add up exactly; rounded weights do not
    return jnp.stack([mean > 0, mean < 0])


@kind("measure.lucky_neurons")
@dataclass(frozen=True)
class LuckyNeurons(Begun):
    r"""Shares of lucky neurons, and how many of the first ones are still lucky.

    For every variant, $\mathcal W$ and $\mathcal U$ together: `VARIANT.share` of all neurons (per
    set), `VARIANT.signed` the share that has the right output sign too, `VARIANT.kept` the share
    of the members at the start that are members now, `VARIANT.kept_signed` the same among those
    with the right sign, `VARIANT.kept_wrong` among those with the wrong one. NaN where the set was
    empty.

    Args:
        slack: $D = \sigma + \tau$.

    Example:
        >>> import limelight as ll
        >>> measures = [ll.measures.LuckyNeurons()]
        >>> ll.Study(ll.worlds.Patterns(), ll.models.Shallow(), None, measures).check()

    Reference: li2023, Definition 2, Lemma 3 and Lemma 4.
    """

    slack: float = 0.1
    name: str = "lucky"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, against the start."""
        patterns = truth.patterns.shape[0]
        sign = signed(start.readout)
        member = lambda model, variant: lucky(model.weights.output, patterns, variant, self.slack)
        before = {variant: member(start, variant) for variant in VARIANTS}

        def read(model):
            found = {}
            for variant in VARIANTS:
                was, now = before[variant], member(model, variant)
                found |= {
                    f"{variant}.share": jnp.mean(now, dtype=float),
                    f"{variant}.signed": jnp.mean(now & sign, dtype=float),
                    f"{variant}.kept": _share(was & now, was),
                    f"{variant}.kept_signed": _share(was & now & sign, was & sign),
                    f"{variant}.kept_wrong": _share(was & now & sign[::-1], was & sign[::-1]),
                }
            return found

        return read


def _share(part: Bool[Array, "2 width"], whole: Bool[Array, "2 width"]) -> Float[Array, ""]:
    total = jnp.sum(whole)
    return jnp.where(total > 0, jnp.sum(part) / jnp.maximum(total, 1), jnp.nan)


@kind("measure.output_projections")
@dataclass(frozen=True)
class OutputProjections(Begun):
    r"""How the rows of $W_O$ lie in the value frame: Claim 1 of Lemma 2.

    Of the neurons that were lucky (`argmax`, right sign) at the start: `lucky.own` mean projection
    on their own feature, `lucky.idle` mean absolute projection on the features of idle patterns,
    `lucky.norm` mean squared length of the part in the span of $P$. Of all others: `other.idle`,
    `other.norm`, and `other.above`, the share of their projections on idle features that exceeds
    $\xi$.

    Departures: Gaussian rows exceed the printed bounds at the start (16 % of projections are above
        $\xi$), so shares are reported, and squared lengths are taken in the span of $P$ alone.

    Args:
        scale: $\xi$, the standard deviation of $W_O$ at the start.

    Example:
        >>> import limelight as ll
        >>> ll.measures.OutputProjections(scale=0.01).name
        'rows'

    Reference: li2023, Lemma 2, Claim 1.
    """

    scale: float = 0.01
    name: str = "rows"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure; who is lucky is decided at the start."""
        patterns = truth.patterns.shape[0]
        chosen = lucky(start.weights.output, patterns, "argmax", 0.0) & signed(start.readout)
        other = ~jnp.any(chosen, axis=0)

        def read(model):
            rows = model.weights.output[:, :patterns]
            idle = jnp.mean(jnp.abs(rows[:, 2:]), axis=1)
            norm = jnp.sum(rows**2, axis=1)
            either = jnp.any(chosen, axis=0)
            above = jnp.mean(rows[:, 2:] > self.scale, axis=1, dtype=float)
            return {
                "lucky.own": mean_of(rows[:, :2].T, chosen),
                "lucky.idle": mean_of(idle, either),
                "lucky.norm": mean_of(norm, either),
                "other.idle": mean_of(idle, other),
                "other.norm": mean_of(norm, other),
                "other.above": mean_of(above, other),
            }

        return read


@kind("measure.group_growth")
@dataclass(frozen=True)
class GroupGrowth(Begun):
    r"""What the four groups of neurons of a `FourWay` grow along: appendix G.1.

    A neuron belongs to the class whose two label bits are the signs of its two mean output weights.
    The mean change of the rows of $W_O$ of a group since the start, on the value feature of `own`,
    its class, of `neighbour`, a class that shares one bit, of `opposite`, the class that shares
    none, and of `idle` patterns; means over the four groups. `largest` is the share of the groups
    that have grown most along their own class, of all patterns.

    Departures: neurons whose mean output weight is exactly 0 belong to no group.

    Example:
        >>> GroupGrowth().name
        'groups'

    Reference: li2023, appendix G.1.
    """

    name: str = "groups"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, against the start."""
        patterns = truth.patterns.shape[0]
        signs = jnp.sign(jnp.sum(jnp.sign(start.readout), axis=1))  # bits by neurons
        classes = jnp.arange(CLASSES)
        labels = jax.vmap(bits)(classes)
        member = jnp.all(labels[:, :, None] == signs[None], axis=1).astype(float)
        shared = jnp.sum(labels[:, None] == labels[None], axis=-1)  # bits that two classes share
        first = start.weights.output

        def read(model):
            change = (model.weights.output - first)[:, :patterns]
            mean = member @ change / jnp.maximum(jnp.sum(member, axis=1), 1)[:, None]
            among = lambda bits: mean_of(mean[:, :CLASSES], shared == bits)
            return {
                "own": among(2),
                "neighbour": among(1),
                "opposite": among(0),
                "idle": jnp.mean(mean[:, CLASSES:]),
                "largest": jnp.mean(jnp.argmax(mean, axis=1) == classes, dtype=float),
            }

        return read


@kind("measure.lucky_gates")
@dataclass(frozen=True)
class LuckyGates(Begun):
    r"""Do the lucky neurons fire for their own pattern, and do they keep doing so?

    Of the neurons that were lucky at the start (`argmax`, right output sign), seen from the
    label-relevant queries of the examples of their label: `open`, the share of gates
    $\mathbb 1[\cdot \ge 0]$ that are open, and `kept`, the share that are as at the start.
    With several heads a row is the rows of all heads side by side, and so is a value feature.

    Args:
        examples: Size of the test set.

    Example:
        >>> LuckyGates(examples=10).name
        'gates'

    Reference: li2023, appendix G.3.
    """

    examples: int = 20
    name: str = "gates"

    def begin(self, key: PRNGKey, world: World, truth: Any, start: Any) -> Reader:
        """The measure, against the start, its test set made once."""
        test = dataset(world, key, truth, self.examples)
        prepared = jax.vmap(start.prepare)(test)
        rows = jnp.sum(start.weights.output, axis=0)  # every head has the first axes for its frame
        sets = lucky(rows, truth.patterns.shape[0], "argmax", 0.0) & signed(start.readout)
        own = jnp.where(test.label[:, None] > 0, sets[0], sets[1])  # examples by neurons
        query = (jax.vmap(roles_of)(test) == Role.RELEVANT) & test.kept
        counted = query[:, :, None] & own[:, None, :]
        gates = lambda model: jax.vmap(model.hidden)(prepared) >= 0
        first = gates(start)

        def read(model):
            now = gates(model)
            return {"open": mean_of(now, counted), "kept": mean_of(now == first, counted)}

        return read


def mean_of(values: Array, chosen: Array) -> Float[Array, ""]:
    """Mean over the chosen entries; NaN when there is none."""
    total = jnp.sum(chosen)
    mean = jnp.sum(jnp.where(chosen, values, 0.0)) / jnp.maximum(total, 1)
    return jnp.where(total > 0, mean, jnp.nan)
