"""Array types shared by every shelf, and the example a world hands to a model."""

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, Key

PRNGKey = Key[Array, ""]
Scalar = Float[Array, ""]
#: A setting that can be swept without compiling again: a number, or a number in a traced program.
Number = int | float | Array


class Example(eqx.Module):
    """One example of a sequence task: tokens in, a label out, and the truth behind each token.

    Args:
        tokens: What the model reads.
        label: What it should say, +1 or -1 for binary tasks, several of them for more classes.
        kept: Tokens that take part; the rest are masked out of every softmax and average.
        roles: Ground truth for measures and oracles (see `Role`); a model must not read it.
        distance: Ground truth too: how far each token is from what it stands for, its noise;
            `None` in worlds where that means nothing.
    """

    tokens: Float[Array, "tokens dimension"]
    label: Float[Array, "*bits"]
    kept: Bool[Array, " tokens"]
    roles: Int[Array, " tokens"]
    distance: Float[Array, " tokens"] | None = None


class Role:
    """What a token is to its label: integers, so that roles can be traced."""

    RELEVANT = 0
    CONFUSING = 1
    IDLE = 2
    NAMES = ("relevant", "confusing", "idle")
