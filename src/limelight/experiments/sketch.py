"""One example of a world, kept as it is, to be drawn."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight.experiments.base import Experiment
from limelight.worlds.base import example


@kind("experiment.sketch")
class Sketch(Experiment):
    """Draw a truth and one example; keep its tokens and, if any, its sets, marks and label.

    Args:
        world: Makes the example.

    Example:
        >>> from limelight.worlds import Spatial
        >>> Sketch(Spatial(tokens=16, size=4, dimension=8)).world.tokens
        16
    """

    world: Any

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """The first example of a fresh truth."""
        k_truth, k_sample = named(key, "truth", "sample")
        truth = self.world.draw(k_truth)
        drawn = example(self.world, k_sample, truth, jnp.array(0))
        found = {"trace.tokens": drawn.tokens.reshape(-1)}
        if hasattr(truth, "sets"):  # noise lies across the feature, so that marks are read exactly
            found |= {"trace.sets": truth.sets, "trace.marks": drawn.tokens @ truth.feature}
            found |= {"label": drawn.label}
        return found

    def check(self) -> None:
        """Check the world."""
        self.world.check()
