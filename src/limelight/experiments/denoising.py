r"""Networks trained to denoise patches: regression on images.

Every image has a fresh random frame of centres by default, so that no network can store them in
its weights: only context denoises.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float

from limelight._core.errors import check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import Number, PRNGKey
from limelight.experiments.base import Experiment
from limelight.measures.filters import populations
from limelight.measures.noise import square_errors
from limelight.models.denoiser import NETWORKS, Network, make
from limelight.train._loop import descend
from limelight.train.optimizers import make_optimizer
from limelight.worlds.regions import RegionImage, Regions

#: The test images are the same in every trial of every study.
TEST_SEED = 20220


@kind("experiment.denoising")
class Denoising(Experiment):
    r"""Train one network on fresh images with Adam and cosine decay; test on fixed images.

    Reported for each test are the mean square errors of clean and corrupted patches over what was
    put in. Doing nothing gives 1 and 1, the zero output $1/\sigma^2$ and $1/\sigma_c^2$.

    Args:
        network: One of `models.denoiser.NETWORKS`.
        side: Patches along a side.
        clusters: Clusters of an image.
        dimension: Channels.
        hidden: Hidden channels of a CNN.
        frame: `fresh` centres in every image, or `fixed` ones.
        sigma: Noise of a clean patch.
        loud: Noise of a corrupted patch in training; equal to `sigma` for none.
        share: Probability that a patch is corrupted.
        batch: Images per step.
        steps: Steps.
        images: Test images.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Denoising(network="cnn2", side=8).check()
    """

    network: Network = eqx.field(static=True, default="att")
    side: int = eqx.field(static=True, default=8)
    clusters: int = eqx.field(static=True, default=4)
    dimension: int = eqx.field(static=True, default=32)
    hidden: int = eqx.field(static=True, default=64)
    frame: Literal["fresh", "fixed"] = eqx.field(static=True, default="fresh")
    sigma: Number = 0.5
    loud: Number = 1.5
    share: Number = 0.1
    batch: int = eqx.field(static=True, default=32)
    steps: int = eqx.field(static=True, default=1200)
    images: int = eqx.field(static=True, default=256)

    def world(self, layout: str = "regions", loud=None) -> Regions:
        """The law of the images."""
        return Regions(
            side=self.side,
            clusters=self.clusters,
            layout=layout,  # pyright: ignore[reportArgumentType]
            sigma=self.sigma,
            loud=self.loud if loud is None else loud,
            share=self.share,
            independent=True,
            frame=self.frame,
            dimension=self.dimension,
            method="direct",
        )

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train, then test on what was trained on and on what was not."""
        k_init, k_data = named(key, "init", "data")
        model = make(k_init, self.network, self.side, self.dimension, self.hidden)
        trained, rest = eqx.partition(model, eqx.is_inexact_array)
        rate = 1e-3 if self.network.startswith("cnn") else 3e-3
        optimizer = make_optimizer("adam", optax.cosine_decay_schedule(rate, self.steps))
        world = self.world()

        def loss(trained, step):
            images = self._draw(world, jr.fold_in(k_data, step), self.batch)
            net = eqx.combine(trained, rest)
            return jnp.mean(jax.vmap(lambda image: jnp.mean(_errors(net, image)))(images))

        # What is not finite stays, and shows in every number that is left.
        end = descend(loss, optimizer, trained, self.steps, watch=False)
        net = eqx.combine(end.weights, rest)
        tail = max(self.steps // 10, 1)
        results = {"loss": jnp.mean(end.reports["loss"][-tail:])}
        for name, layout, loud in (
            ("none", "regions", self.sigma),
            ("mild", "regions", 1.5),
            ("strong", "regions", 3.0),
            ("scattered", "permuted", 1.5),
        ):
            found = self._test(net, self.world(layout, loud))
            results |= {f"{name}.{part}": value for part, value in found.items()}
        return results

    def _draw(self, world: Regions, key: PRNGKey, count: int) -> RegionImage:
        truth = world.draw(key)
        one = lambda k: world.sample(k, truth, jnp.array(0))
        return jax.vmap(one)(jr.split(key, count))

    def _test(self, net, world: Regions) -> dict[str, Float[Array, ""]]:
        images = self._draw(world, jr.key(TEST_SEED), self.images)
        square = jax.lax.map(lambda image: _errors(net, image), images, batch_size=self.batch)
        return populations(
            square.reshape(-1), images.corrupted.reshape(-1), world.sigma, world.loud
        )

    def check(self) -> None:
        """Refuse unknown networks and shapes that make no sense."""
        check_word("network", self.network, tuple(NETWORKS))
        check_least(self, ("batch", "steps", "images", "hidden"))
        self.world().check()


def _errors(net, image: RegionImage) -> Float[Array, " patches"]:
    return square_errors(net(image.patches.tokens), image.patches.targets)
