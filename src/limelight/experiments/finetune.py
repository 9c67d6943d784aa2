"""ViTs fine-tuned on composites: how many examples, and which patches, do they need?"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import InputError, check_between
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey, Role, roles_of
from limelight._engine.device import LIBRARY
from limelight.experiments.base import Experiment
from limelight.experiments.starts import Starts
from limelight.measures.attention import relevant_mass
from limelight.models.layers import affine
from limelight.models.vit import ViT
from limelight.train.images import ImageTraining, accuracy
from limelight.worlds.base import dataset
from limelight.worlds.composites import Composites


@kind("experiment.finetune")
class Finetune(Experiment):
    r"""Give a pretrained ViT a new head, train all of it on composites, test it on others.

    Left are the accuracy, the realised $\alpha_*$ and number of tokens, and the attention that the
    last block pays to the object, before and after. Every example is one composite, the same
    whenever it is drawn, so that the number of them counts.

    Args:
        world: The composites.
        starts: Where the network comes from.
        course: Trains it.
        looked: Test composites on which attention and fractions are read.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Finetune().course.steps
        200

    Reference: li2023, Section 5.2 and Figure 6.
    """

    world: Composites = Composites(only=(5, 6, 7, 8, 9))
    starts: Starts = Starts()
    course: ImageTraining = ImageTraining(steps=200, batch=32, rate=1e-3, fresh=False)
    looked: int = eqx.field(static=True, default=100)

    compiler = LIBRARY

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw an order of the objects, make a head, train, read."""
        k_truth, k_head, k_train, k_test = named(key, "truth", "head", "train", "test")
        truth, held = self.world.draw(k_truth), self.world.held_out()
        start = self.headed(k_head)
        trained = self.course(k_train, self.world, truth, start)
        test = dataset(held, k_test, truth, self.looked)
        tokens = jnp.sum(test.kept, axis=1, dtype=float)
        relevant = jnp.sum(test.kept & (roles_of(test) == Role.RELEVANT), axis=1)
        mass = lambda model: jnp.mean(jax.vmap(lambda e: relevant_mass(model, e)[0])(test))
        return {
            "accuracy": accuracy(trained.model, self.world, truth, k_test),
            "training_loss": trained.last,
            "diverged": ~trained.finite,
            "alpha": jnp.mean(relevant / tokens),
            "kept": jnp.mean(tokens),
            "mass.start": mass(start),
            "mass.end": mass(trained.model),
        }

    def headed(self, key: PRNGKey) -> ViT:
        """The start with a head for the classes of these composites."""
        body = self.starts.model()
        head = affine(key, body.embed.weight.shape[1], self.world.classes)
        return eqx.tree_at(lambda m: m.head, body, head)

    def with_room(self, cells: Sequence[Any]) -> "Finetune":
        """With images and start in it; now it is known how many images there are."""
        world = self.world.loaded()
        for cell in cells:
            cell.course.check(dataclasses.replace(world, part="train"))
        return dataclasses.replace(self, world=world, starts=self.starts.loaded())

    def check(self) -> None:
        """Check every part, and the parts together."""
        self.world.check()
        self.starts.check()
        start = self.starts.chosen.world
        if (start.tokens, start.dimension) != (self.world.tokens, self.world.dimension):
            raise InputError(
                f"the start reads {start.tokens} patches of {start.dimension} numbers, the"
                f" composites have {self.world.tokens} of {self.world.dimension}",
                "give both one canvas, one size of patch, and as many channels",
            )
        self.course.check(self.world)
        check_between(self, ("looked",), 1, self.world.held_out().available)
