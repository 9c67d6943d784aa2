r"""Rows that become equal with depth: how fast, beside the bound, and what prevents it."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from limelight._core.errors import check_between
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey, Scalar
from limelight.experiments.base import Experiment
from limelight.measures.similarity import mean_cosine
from limelight.models.attention_stack import AttentionStack, Split, StackedAttention, Tokens
from limelight.theory.geshkovski2023.residuals import (
    collapse_bound,
    log_norm,
    log_residual,
    residual_range,
    spread_factor,
    weight_size,
)
from limelight.worlds.sphere import Rows

#: The layer at which similarity is read.
SIXTH = 6
#: Residuals are kept after so many layers, relative ones after every second one.
KEPT = 7
#: What the logarithm of nothing is taken for.
NOTHING = -745.0


@kind("experiment.rank_collapse")
class RankCollapse(Experiment):
    r"""The residual of drawn tokens after every layer of drawn weights.

    Leaves $\ln\|\mathrm{res}\|$ after the first layers (`trace.residual`) and the same over the
    tokens' own norm after every second one (`trace.relative`), in residual coordinates where there
    is no perceptron; the mean cosine after layer 6 (`similarity`); for one and two layers
    $\log_{10}$ of the residual over the bound (`over.1`, `over.2`), whose conditions are `range`,
    the largest $|E_{ij} - E_{ij'}|$, `gamma`, and `grip`, which is below 1 where the bound says
    anything; `paths`, how far the sum over all paths is from the output, relatively.

    Args:
        world: The tokens.
        model: The layers.
        paths: Layers whose paths are summed.

    Example:
        >>> RankCollapse().check()

    Reference: Dong, Cordonnier and Loukas (2021).
    """

    double: ClassVar[bool] = True
    gaps: ClassVar[tuple[str, ...] | None] = ()

    world: Rows = Rows()
    model: AttentionStack = AttentionStack()
    paths: int = eqx.field(static=True, default=3)

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Draw tokens and weights, and follow the residual."""
        k_tokens, k_weights = named(key, "tokens", "weights")
        x = self.world.sample(k_tokens, None, jnp.array(0)).tokens
        net = self.model.init(k_weights, self.world, None)
        if self.model.mlp:
            size = lambda x: jnp.stack([log_residual(x), log_norm(x)])
            sizes = net.path(x, size)
        else:
            sizes = net.residual_path(x, _sizes)
        sizes = jnp.maximum(sizes, NOTHING)
        behind = net.path(x, mean_cosine)
        output, total = net.sum_of_paths(x, self.paths)
        return {
            "similarity": behind[min(SIXTH, self.model.layers)],
            **self._beside_bound(net, x, sizes[:, 0]),
            "paths": jnp.linalg.norm(total - output) / jnp.linalg.norm(output),
            "trace.residual": sizes[: KEPT + 1, 0].astype(jnp.float32),
            "trace.relative": (sizes[:, 0] - sizes[:, 1])[::2].astype(jnp.float32),
        }

    def _beside_bound(self, net: StackedAttention, x: Tokens, sizes: Array) -> dict[str, Array]:
        d, H = self.world.dimension, self.model.heads
        R = x - jnp.mean(x, axis=0, keepdims=True)
        parts = net.layers.query_key, net.layers.value
        b = lambda layers: jnp.max(
            jnp.stack([
                weight_size(qk, v)
                for layer in range(layers)
                for qk, v in zip(parts[0][layer], parts[1][layer], strict=True)
            ])
        )  # fmt: skip
        E = R @ parts[0][0, 0] @ R.T * d**-0.5
        over = lambda L: (sizes[L] - collapse_bound(sizes[0], b(L), d, L, H)) / jnp.log(10.0)
        grip: Scalar = 4 * b(1) * H * jnp.exp(2 * sizes[0]) * d**-0.5
        return {
            "over.1": over(1),
            "over.2": over(2),
            "range": residual_range(E),
            "gamma": spread_factor(E),
            "grip": grip,
        }

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.world.check()
        self.model.check(self.world)
        check_between(self, ("paths",), 1, self.model.layers)


def _sizes(here: Split) -> Array:
    """Logarithms of the residual's norm and of the tokens' own."""
    middle = here.rest - jnp.median(here.rest, axis=0, keepdims=True)
    residual = jnp.minimum(log_norm(here.rest), log_norm(middle))
    return jnp.stack([residual, log_norm(here.common[None, :] + here.rest)])
