"""Networks trained on real images: a ViT, positional attention or a CNN, on plain or shuffled ones.

All networks of a trial share its split, its shuffle, its batches and, where they can, their start.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import InputError, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight._engine.device import LIBRARY
from limelight.experiments.base import Experiment
from limelight.measures.locality import locality, similarity
from limelight.models.base import Model, Recipe
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision, ViT
from limelight.train.images import ImageTraining, TrainedNetwork, accuracy
from limelight.worlds.images import Images

NETWORKS = ("vit", "positional", "cnn")


@kind("experiment.classify")
class Classify(Experiment):
    r"""Train a network on images; read its accuracy, its first losses, how local its positions are.

    Locality is read raw, and after the inverse of the shuffle: if patch $k$ of a shuffled image
    shows the one that was at $\pi(k)$, row $\pi^{-1}(k)$ of $P$ belongs to place $k$ of the plain
    image. With `aligned` the rows of $P$ start shuffled like the patches, which makes training on
    shuffled images the very training on plain ones, but for the order of sums.

    Args:
        world: The images.
        network: `vit`; `positional`, the same with positional attention; or `cnn`.
        aligned: Whether the positions start shuffled like the patches.
        vit: Makes the ViTs.
        cnn: Makes the CNN.
        course: Trains ViTs.
        cnn_course: Trains the CNN; like ViTs when `None`.
        watched: First steps whose losses are kept.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Classify(network="cnn").check()  # images, a network, how it is trained

    Reference: jelassi2022, Section 6.
    """

    world: Images = Images()
    network: str = eqx.field(static=True, default="vit")
    aligned: bool = eqx.field(static=True, default=False)
    vit: Vision = Vision(width=32, heads=4, hidden=128)
    cnn: Convolutional = Convolutional()
    course: ImageTraining = ImageTraining()
    cnn_course: ImageTraining | None = None
    watched: int = eqx.field(static=True, default=50)

    compiler = LIBRARY

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw a split and a shuffle, make a network, train it, read it."""
        truth, start, trained = self.run(key)
        (k_test,) = named(key, "test")
        return {
            "accuracy": accuracy(trained.model, self.world, truth, k_test),
            "training_loss": trained.last,
            "diverged": ~trained.finite,
            "trace.loss": trained.losses[: self.watched],
            **self._places(start, trained.model, truth),
        }

    def start(self, key: PRNGKey, truth: Any) -> Model:
        """The network before training."""
        model = self._recipe().init(key, self.world, truth)
        if self.aligned:
            assert isinstance(model, ViT), "checked"
            assert model.positions is not None, "every ViT that is made here has some"
            rows = model.positions[self.world.order(truth)]
            model = eqx.tree_at(lambda m: m.positions, model, rows)
        return model

    def run(self, key: PRNGKey) -> tuple[Any, Model, TrainedNetwork]:
        """The truth that a trial draws, its network before training, and what training leaves."""
        k_truth, k_init, k_train = named(key, "truth", "init", "train")
        truth = self.world.draw(k_truth)
        start = self.start(k_init, truth)
        return truth, start, self._training()(k_train, self.world, truth, start)

    def with_room(self, cells: Sequence[Any]) -> "Classify":
        """With its images in it, so that the program takes them as an argument."""
        return dataclasses.replace(self, world=self.world.loaded())

    def check(self) -> None:
        """Check every part, and the parts together."""
        check_word("network", self.network, NETWORKS)
        self.world.check()
        self._recipe().check(self.world)
        self._training().check(self.world)
        if not 1 <= self.watched <= self._training().steps:
            raise InputError(
                f"watched = {self.watched}",
                f"between 1 and the {self._training().steps} steps of training",
            )
        if self.aligned and (self.network == "cnn" or self.vit.pool == "class"):
            raise InputError(
                f"aligned = True with network = {self.network}, vit.pool = {self.vit.pool}:"
                " only positions of patches alone can start shuffled",
                "use a ViT with vit.pool = mean",
            )
        if self.aligned and self.world.cell % self.world.patch:
            raise InputError(
                f"world.cell = {self.world.cell} cuts patches, world.patch = {self.world.patch}",
                "world.cell must be a multiple of world.patch",
            )

    def _recipe(self) -> Recipe:
        if self.network == "cnn":
            return self.cnn
        attention = "positional" if self.network == "positional" else "vanilla"
        return dataclasses.replace(self.vit, attention=attention)

    def _training(self) -> ImageTraining:
        return self.cnn_course if self.network == "cnn" and self.cnn_course else self.course

    def _places(self, start: Model, end: Model, truth: Any) -> dict[str, Array]:
        """What was learned of the places, as it stands and after the inverse of the shuffle."""
        order = self.world.order(truth)
        unknown = jnp.full((len(order), 1), jnp.nan)  # where there are no positions
        before, after = (
            model.encodings if isinstance(model, ViT) else unknown for model in (start, end)
        )
        # Cells that cut patches move no whole one, and positions cannot be moved back.
        whole = self.world.cell % self.world.patch == 0
        back = after[jnp.argsort(order)] if whole else jnp.full_like(after, jnp.nan)
        return {
            "locality.start": locality(before),
            "locality.raw": locality(after),
            "locality.inverse": locality(back),
            "trace.similarity": similarity(after).reshape(-1),
            "trace.inverse": similarity(back).reshape(-1),
        }
