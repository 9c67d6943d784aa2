r"""A prompt and a linear head trained together: which SVM does each of them follow?"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments._choices import choice_of, chosen_tokens, with_room
from limelight.experiments.base import Experiment
from limelight.theory.tarzanagh2023.compiled import least_norm_weights
from limelight.theory.tarzanagh2023.svm import SUPPORT
from limelight.train._anchored import Batch, anchored_pull
from limelight.train._loop import Moved, run_blocks
from limelight.worlds.base import dataset
from limelight.worlds.selections import Arrangements, Selections


class HeadAndPrompt(NamedTuple):
    """Both vectors that are trained."""

    head: Float[Array, " dimension"]
    prompt: Float[Array, "dimension 1"]


@kind("experiment.joint_selection")
class JointSelection(Experiment):
    r"""Normalised descent on $(v, p)$, each with a step of its own, logistic loss.

    Leaves, for the tokens selected at the end: cosines of $p$ to the SVM of all samples
    (`cosine.margin`), to the relaxed one, which asks nothing but order of samples that do not
    support $v_{mm}$ (`cosine.relaxed`), and to the interpolated one (`cosine.interpolated`); that
    of $v$ to $v_{mm}$ (`cosine.head`), how many samples do not support it (`loose`), the ratio of
    the clocks (`kappa`), and whether the run has `settled` on tokens that both can separate.

    Args:
        world: Tokens and labels; an arrangement starts at $p = (0, -1)$, $v = (-1, 0)$, any other
            world at random unit vectors.
        samples: $n$; 0 for all samples of an arrangement.
        rate: Step of the prompt.
        head_rate: Step of the head.
        steps: Steps.
        halvings: Of the interval that holds the interpolated norm.

    Example:
        >>> JointSelection(steps=100).check()

    Reference: tarzanagh2023, joint optimisation (S10); the interpolated SVM is limelight's.
    """

    double: ClassVar[bool] = True

    world: Selections | Arrangements = Arrangements("tight")
    samples: int = eqx.field(static=True, default=0)
    rate: Number = 0.1
    head_rate: Number = 0.1
    steps: int = eqx.field(static=True, default=5000)
    halvings: int = eqx.field(static=True, default=40)

    def with_room(self, cells: Sequence[Any]) -> "JointSelection":
        """Room for the largest cell."""
        return with_room(self, cells)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train both, then solve the SVMs of what is selected."""
        k_truth, k_data, k_v, k_p = named(key, "truth", "data", "head", "prompt")
        world = self.world
        n = world.samples if isinstance(world, Arrangements) else self.samples
        data = dataset(world, k_data, world.draw(k_truth), n)
        X, Y, d = data.tokens, data.label, data.tokens.shape[2]
        unit = lambda vector: vector / jnp.linalg.norm(vector)
        if isinstance(world, Arrangements):
            start = HeadAndPrompt(jnp.array([-1.0, 0.0]), jnp.array([[0.0], [-1.0]]))
        else:
            start = HeadAndPrompt(unit(jr.normal(k_v, (d,))), unit(jr.normal(k_p, (d, 1))))
        ones, used = jnp.ones((n, 1)), jnp.ones(n, bool)
        batch = lambda v: Batch(X, ones, Y[:, None] * (X @ v), data.kept, used)

        def step(at: HeadAndPrompt, number: Array) -> tuple[HeadAndPrompt, None]:
            now = batch(at.head)
            logits = now.logits(at.prompt)
            seen = jnp.sum(jax.nn.softmax(logits, axis=1)[:, :, None] * X, axis=1)
            log_slope = -jax.nn.softplus(Y * (seen @ at.head))
            weights = jnp.exp(log_slope - jnp.max(log_slope))
            G = (weights * Y) @ seen
            norm = jnp.linalg.norm(G)
            head = at.head + self.head_rate * G / jnp.where(norm > 0, norm, 1.0)
            prompt = at.prompt + self.rate * anchored_pull(now, at.prompt).direction
            return HeadAndPrompt(head, prompt), None

        def block(weights: Any, memory: Any, numbers: Array) -> Moved:
            return Moved(jax.lax.scan(step, weights, numbers)[0], memory, {})

        end = run_blocks(block, start, None, 1, self.steps).weights
        return self._readings(batch(end.head), Y, end)

    def _readings(self, batch: Batch, Y: Array, end: HeadAndPrompt) -> dict[str, Array]:
        n = len(Y)
        ids = chosen_tokens(batch, end.prompt)
        own = Y[:, None] * jnp.take_along_axis(batch.tokens, ids[:, None, None], axis=1)[:, 0]
        weights = least_norm_weights(own @ own.T, jnp.ones(n), jnp.ones(n, bool))
        vmm = weights.multipliers @ own
        m = own @ vmm
        support = m <= 1 + SUPPORT
        size = jnp.linalg.norm(end.prompt)
        clock = jnp.linalg.norm(end.head) / jnp.linalg.norm(vmm)
        solve = lambda bounds: choice_of(batch, ids, bounds)
        between = lambda P: jnp.maximum(0.0, 1 - (m - 1) * clock * P / size)

        def halve(ends: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            low, high = ends
            middle = (low + high) / 2
            above = solve(between(middle)).norm > middle
            return (jnp.where(above, middle, low), jnp.where(above, high, middle)), None

        # The prompt over its smallest gap meets every bound, so that its norm is one of theirs.
        logits = batch.logits(end.prompt)
        lead = jnp.where(jnp.arange(logits.shape[1])[None, :] == ids[:, None], -jnp.inf, logits)
        gap = jnp.min(jnp.max(logits, axis=1) - jnp.max(lead, axis=1))
        ends = jnp.zeros_like(size), size / jnp.where(gap > 0, gap, 1.0)
        (low, high), _ = jax.lax.scan(halve, ends, None, length=self.halvings)
        bounds = jnp.stack([jnp.ones(n), support.astype(float), between((low + high) / 2)])
        margin, relaxed, mixed = jax.vmap(lambda b: solve(b).weights)(bounds)
        cosine = lambda a, b: jnp.sum(a * b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b))
        selected = jnp.min(jnp.max(jax.nn.softmax(logits, axis=1), axis=1))
        able = weights.feasible & jnp.isfinite(margin).all()
        return {
            "settled": (selected >= 0.99) & able,
            "loose": jnp.sum(~support),
            "kappa": clock * (low + high) / 2 / size,
            "cosine.margin": cosine(end.prompt, margin),
            "cosine.relaxed": cosine(end.prompt, relaxed),
            "cosine.interpolated": cosine(end.prompt, mixed),
            "cosine.head": cosine(end.head, vmm),
        }

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        check_positive(self, ("rate", "head_rate"))
        check_least(self, ("steps", "halvings"))
        if isinstance(self.world, Arrangements) != (self.samples == 0):
            raise InputError(f"samples = {self.samples}", "0 for an arrangement, else at least 1")
        check_least(self, ("samples",), 0)
        if isinstance(self.world, Selections) and self.world.law != "sphere":
            raise InputError(f"world.law = {self.world.law} is no place for a head", "sphere")
