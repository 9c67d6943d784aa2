"""Array types shared by every shelf, and the example a world hands to a model."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from limelight._core.errors import InputError

PRNGKey = Key[Array, ""]
Scalar = Float[Array, ""]
#: A setting that can be swept without compiling again: a number, or a number in a traced program.
Number = int | float | Array


class Example(eqx.Module):
    """One example of a sequence task: tokens in, a label out, and the truth behind each token.

    Tokens and a label are enough; what else is given, measures can ask for.

    Args:
        tokens: What the model reads.
        label: What it should say, +1 or -1 for binary tasks, several of them for more classes.
        kept: Tokens that take part; the rest are masked out of every softmax and average. All of
            them when not given.
        roles: Ground truth for measures and oracles (see `Role`); a model must not read it. `None`
            in worlds where it means nothing: who needs roles asks `roles_of`.
        distance: Ground truth too: how far each token is from what it stands for, its noise;
            `None` in worlds where that means nothing.

    Example:
        >>> import limelight as ll, jax.numpy as jnp
        >>> example = ll.Example(jnp.eye(3), jnp.array(-1.0))
        >>> example.tokens.shape, float(example.label)
        ((3, 3), -1.0)
    """

    tokens: Float[Array, "tokens dimension"]
    label: Float[Array, "*bits"]
    kept: Bool[Array, " tokens"] = None  # pyright: ignore[reportAssignmentType]
    roles: Int[Array, " tokens"] | None = None
    distance: Float[Array, " tokens"] | None = None

    def __post_init__(self):
        if self.kept is None:
            self.kept = jnp.ones(jnp.shape(self.tokens)[:1], bool)


class Role:
    """What a token is to its label: integers, so that roles can be traced.

    Example:
        >>> import limelight as ll
        >>> int(ll.Role.RELEVANT) != int(ll.Role.IDLE)
        True
    """

    RELEVANT = 0
    CONFUSING = 1
    IDLE = 2
    NAMES = ("relevant", "confusing", "idle")


def roles_of(example: Any) -> Int[Array, "*examples tokens"]:
    """The roles of an example's tokens; a world that does not give them is refused."""
    if example.roles is None:
        raise InputError(
            "Example.roles = None: this world does not say which tokens matter",
            "let its sample give roles, or leave out what needs them",
        )
    return example.roles
