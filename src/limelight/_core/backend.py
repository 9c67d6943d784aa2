"""The kind of device that programs are made for."""

import jax


def on_gpu() -> bool:
    """Whether programs run on a GPU; whatever else there is, is treated as cores are."""
    return jax.default_backend() == "gpu"
