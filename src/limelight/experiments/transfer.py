r"""What learned attention is worth on a new task: the same sets, another feature, few images."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight._engine.grid import assign
from limelight.experiments.recovery import Descending, Recovery, TestSet, training_set
from limelight.measures.association import association_exact
from limelight.models.positional import Positional, PositionalNet
from limelight.train._loop import Trace
from limelight.train.descent import Descent, DescentRun, Sample, train, tune
from limelight.worlds.spatial import Spatial, Structure

SOURCES = ("idealized", "learned")
#: The arms that keep attention still, and train the value vector only.
STILL = ("finetune", "wrong", "frozen")


@kind("experiment.transfer")
class Transfer(Descending):
    r"""Four arms on one downstream sample of $\tilde N$ images with a fresh feature.

    - `finetune`: attention of the source task kept still, the value vector trained afresh.
    - `wrong`: the same with attention that was learned for other sets.
    - `frozen`: the same with attention as it starts.
    - `scratch`: attention and value vector trained from the start, once for each reach; reach and
      step are the best of a validation set.

    Leaves for each still arm the test error at the end (`.end`), at the step of the lowest
    validation error (`.best`) and $\cos(v, \tilde w^*)$; for `scratch` the tuned error (`.best`),
    that of the middle reach at the end (`.end`), the reach, step and association of the best, and
    the median ratio of both rates.

    Notation: `examples` is their $\tilde N$; `same` and `cross` are $\gamma$ and $\rho$, the logits
        inside and across sets.
    Departures: the paper bounds every algorithm that does not transfer; here one is run, tuned with
        a validation set that the other arms do not need.

    Args:
        world: Makes the images.
        model: How the nets start.
        tuning: Trains the value vector of the still arms.
        descent: Trains from scratch, and on the source task.
        source: Attention of the source task: `idealized`, or `learned` by a `Recovery`.
        same: Logits inside a set, idealized.
        cross: Logits across sets, idealized.
        pretraining: Images of the source task, learned.
        reaches: `descent.reach` of the scratch arm, tuned over these.
        examples: Images of the downstream task.
        capacity: Room for them.
        most: Images that the still arms use at most.
        validation: Images of the validation set.
        tests: Images of the test set.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Transfer().check()

    Reference: jelassi2022, Section 5, Theorems 5.1 and 5.2.
    """

    world: Spatial = Spatial(dimension=64)
    model: Positional = Positional()
    tuning: Descent = Descent(steps=300)
    descent: Descent = Descent(steps=200)
    source: Literal["idealized", "learned"] = eqx.field(static=True, default="idealized")
    same: Number = 3.3
    cross: Number = -0.4
    pretraining: int = eqx.field(static=True, default=4096)
    reaches: tuple[float, ...] = eqx.field(static=True, default=(0.02, 0.05, 0.1), converter=tuple)
    examples: Number = 8
    capacity: int | None = eqx.field(static=True, default=None)
    most: int = eqx.field(static=True, default=512)
    validation: int = eqx.field(static=True, default=2000)
    tests: int = eqx.field(static=True, default=20_000)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw sets, learn or take attention for them, then every arm on a new feature."""
        k_truth, k_feature, k_source, k_wrong, k_init, k_data, k_valid, k_test = named(
            key, "truth", "feature", "source", "wrong", "init", "data", "validation", "test"
        )
        world, C = self.world, self.world.size
        truth = world.draw(k_truth)
        target = world.transfer(k_feature, truth)
        start = self.model.init(k_init, world, target)
        room = self.capacity or int(self.examples)
        sample = training_set(world, k_data, target, self.examples, room)
        valid = TestSet(world, k_valid, target, self.validation)
        test = TestSet(world, k_test, target, self.tests)

        def read(net: PositionalNet) -> Trace:
            cosine = net.value @ target.feature / jnp.linalg.norm(net.value)
            exact = association_exact(net.logits, target.sets, offdiag=True)
            return {"valid": valid(net), "test": test(net), "cosine": cosine, "exact": exact}

        learned = self._attention(k_source, truth)
        order = jr.permutation(k_wrong, world.tokens)
        still = jnp.stack([learned, learned[order][:, order], start.weights])
        few = self._few(sample)

        def keep_still(weights: Float[Array, "tokens tokens"]) -> DescentRun:
            net = eqx.tree_at(lambda n: n.weights, start, weights)
            return tune(self.tuning, net, few, C, read)

        def from_scratch(reach: Float[Array, ""]) -> DescentRun:
            return train(assign(self.descent, {"reach": reach}), start, sample, C, read)

        tuned = jax.vmap(keep_still)(still)
        scratch = jax.vmap(from_scratch)(jnp.array(self.reaches))
        return self._still_leaves(tuned) | self._scratch_leaves(scratch)

    def _attention(self, key: PRNGKey, truth: Structure) -> Float[Array, "tokens tokens"]:
        """Logits of the source task."""
        if self.source == "idealized":
            together = truth.sets[:, None] == truth.sets[None, :]
            return jnp.where(together, jnp.asarray(self.same, float), self.cross)
        k_init, k_data = named(key, "init", "data")
        before = Recovery(self.world, self.model, assign(self.descent, {"beyond": 1.0}))
        net = self.model.init(k_init, self.world, truth)
        sample = training_set(self.world, k_data, truth, self.pretraining, self.pretraining)
        level = before.level / 4
        return train(before.descent, net, sample, self.world.size, level=level).net.weights

    def _few(self, sample: Sample) -> Sample:
        """The images that the still arms see."""
        count = min(self.most, len(sample.labels))
        seen = jnp.minimum(jnp.asarray(self.examples), count)
        weights = jnp.where(jnp.arange(count) < seen, 1.0 / seen, 0.0)
        return Sample(sample.tokens[:count], sample.labels[:count], weights)

    def _still_leaves(self, run: DescentRun) -> dict[str, Array]:
        leaves: dict[str, Array] = {}
        for number, arm in enumerate(STILL):
            log = {name: trace[number] for name, trace in run.traces.items()}
            last = run.block[number]
            best = jnp.nanargmin(log["valid"])
            leaves |= {
                f"{arm}.end": log["test"][last],
                f"{arm}.best": log["test"][best],
                f"{arm}.cosine": log["cosine"][last],
                f"{arm}.diverged": run.diverged[number],
            }
        return leaves

    def _scratch_leaves(self, run: DescentRun) -> dict[str, Array]:
        log = run.traces
        rows = log["valid"].shape[1]
        reach, best = jnp.divmod(jnp.nanargmin(log["valid"]), rows)
        middle = len(self.reaches) // 2
        return {
            "scratch.best": log["test"][reach, best],
            "scratch.end": log["test"][middle, run.block[middle]],
            "scratch.exact": log["exact"][reach, best],
            "scratch.reach": jnp.array(self.reaches)[reach],
            "scratch.step": best * self.descent.every,
            "scratch.ratio": jnp.nanmedian(log["logit_rate"] / log["value_rate"]),
            "scratch.diverged": jnp.any(run.diverged),
        }

    def check(self) -> None:
        """Check every part, and the arms."""
        super().check()
        self.tuning.check()
        check_word("source", self.source, SOURCES)
        check_least(self, ("pretraining", "most", "validation", "tests"))
        if not self.reaches or not all(reach > 0 for reach in self.reaches):
            raise InputError(f"reaches = {self.reaches}", "one or more positive numbers")
