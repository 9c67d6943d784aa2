r"""Theorem 4.2 at given sizes: what a finite sample is asked, and where a run is read."""

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.jelassi2022.linear import linear_error
from limelight.worlds.laws import check_partition, label_failure


def finite_sample(
    tokens: int = 16, size: int = 4, density: Real = 0.5, examples: int = 4096, linear: Real = 0.01
) -> Bound:
    r"""Theorem 4.2: the training loss at which descent on $N$ images is read, $L_0^*/4$.

    $L_0^*$ is the least that the value vector can reach under the attention of the start: below a
    quarter of it attention must have learned. There the claims `thm4.2-*` ask for association in
    every row and for a fifth of the linear rule's error.

    Departures: the theorem asks for a polynomial number of samples, which it does not name, and
        for any later $T$; a finite sample loses association again (claims `thm4.2-any-T`). The
        condition is where association was seen in every seed.

    Reference: jelassi2022, Theorem 4.2.
    """
    check_partition("strided", tokens, size)
    if not (0 < density <= 1 and linear > 0 and examples >= 1):
        raise InputError(
            f"density = {density:g}, linear = {linear:g}, examples = {examples}",
            "a density up to 1, a positive linear part, at least one image",
        )
    import jax
    import jax.numpy as jnp

    from limelight.models.positional import Activation
    from limelight.theory.jelassi2022.start import start_level

    with jax.enable_x64(True):
        activation = Activation(3, jnp.asarray(linear, float))
        level = float(start_level(tokens, size, density, activation))
    return Bound(
        name="training loss at which a run is read",
        value=level / 4,
        kind="prediction",
        conditions=(
            Condition("images", examples, ">=", 4 * tokens**2, "4 D^2, seen and not proved"),
        ),
        quantities={
            "least loss under the attention of the start": level,
            "error of the linear rule": linear_error(tokens, size, density),
            "a fifth of it": linear_error(tokens, size, density) / 5,
            "failure of f*": label_failure(tokens, size, density),
        },
        notes=("limelight show jelassi2022 phase: trained networks against these levels",),
        reference="jelassi2022, Theorem 4.2",
    )
