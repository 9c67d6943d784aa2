"""Settings of the whole suite: strict ranks, a cache of its own, no display."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("LIMELIGHT_CACHE", "off")

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture
def double():
    """Theory against formulas is checked in float64."""
    with jax.enable_x64(True):
        yield
