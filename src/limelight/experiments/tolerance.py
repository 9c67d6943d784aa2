"""Networks trained on plain images, then shown noisy ones: what is lost, what noise becomes."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array

from limelight._core.errors import InputError, check_between, check_positive
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Example, Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.experiments.classify import Classify
from limelight.measures.denoising import hit_patches, noise_squares, patch_features


@kind("experiment.tolerance")
class Tolerance(Experiment):
    r"""Train a ViT or a CNN; put Gaussian noise on a share of the patches of test images.

    Left are the accuracy on plain and on noisy images, and the noise over the signal, $g$ of
    `measures.denoising`, after every block of the ViT or every layer of the CNN that has its
    stride: after training, and before it.

    Args:
        study: Trains the network.
        noise: Standard deviation of the noise on every number of a patch.
        share: Share of the patches that get it.
        looked: Test images.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Tolerance(noise=0.5).check()

    Reference: xu2022, Section 1.
    """

    study: Classify = Classify()
    noise: Number = 1.0
    share: Number = 0.25
    looked: int = eqx.field(static=True, default=300)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train, then read the same network on both copies."""
        truth, start, trained = self.study.run(key)
        (k_test,) = named(key, "test")
        right, noise, signal = self._read(trained.model, truth, k_test)
        _, noise_start, signal_start = self._read(start, truth, k_test)
        g, g_start = jnp.sqrt(noise / signal), jnp.sqrt(noise_start / signal_start)
        return {
            "accuracy": right[0],
            "accuracy.noisy": right[1],
            "diverged": ~trained.finite,
            "trace.hit": g[:, 0],
            "trace.spared": g[:, 1],
            "trace.hit.start": g_start[:, 0],
            "trace.spared.start": g_start[:, 1],
        }

    def _read(self, model: Any, truth: Any, key: PRNGKey) -> tuple[Array, Array, Array]:
        """Shares named rightly, plain and noisy; sums of squares of noise and signal."""
        held = self.study.world.held_out()

        def one(index):
            k_image, k_hit, k_noise = named(jr.fold_in(key, index), "image", "hit", "noise")
            clean = held.sample(k_image, truth, index)
            hit = hit_patches(k_hit, len(clean.tokens), self.share)
            drawn = self.noise * jr.normal(k_noise, clean.tokens.shape)
            noisy = dataclasses.replace(
                clean, tokens=clean.tokens + jnp.where(hit[:, None], drawn, 0.0)
            )
            named_rightly = lambda e: jnp.argmax(model(model.prepare(e))) == jnp.argmax(e.label)
            right = jnp.stack([named_rightly(clean), named_rightly(noisy)]).astype(float)
            return right, *noise_squares(model, clean, noisy, hit)

        many: Callable = jax.lax.map
        right, noise, signal = many(one, jnp.arange(self.looked), batch_size=50)
        return jnp.mean(right, axis=0), jnp.sum(noise, axis=0), jnp.sum(signal, axis=0)

    def with_room(self, cells: Sequence[Any]) -> "Tolerance":
        """With its images in it."""
        return dataclasses.replace(self, study=self.study.with_room([]))

    def check(self) -> None:
        """Check the study; both networks must be read at as many places."""
        self.study.check()
        check_positive(self, ("noise",))
        tokens = self.study.world.tokens
        if not 1 <= round(self.share * tokens) < tokens:
            raise InputError(f"share = {self.share:g}", f"some of the {tokens} patches, not all")
        check_between(self, ("looked",), 1, self.study.world.held_out().available)
        layers, depth = self._layers(), self.study.vit.depth
        if layers != depth:
            raise InputError(
                f"{layers} layers of the CNN have the patches' stride, and the ViT {depth} blocks",
                "change study.cnn or study.vit.depth",
            )

    def _layers(self) -> int:
        """Layers of the CNN that have a place for each patch."""
        world = self.study.world

        def rows(key: PRNGKey):
            blank = jnp.zeros((world.tokens, world.dimension))
            blank_image = Example(blank, jnp.zeros(1))
            return patch_features(self.study.cnn.init(key, world, None), blank_image)

        self.study.cnn.check(world)
        return len(jax.eval_shape(rows, jr.key(0)))
