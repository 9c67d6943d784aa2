"""Settings of the whole suite: strict ranks, quick compilation, no cache, no display."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("LIMELIGHT_CACHE", "off")

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_numpy_rank_promotion", "raise")

# The same examples every time; `pytest --hypothesis-profile=default` looks for others.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


def pytest_configure(config):
    """Compile quickly: most tests compile far more than they compute.

    Set before the first program is compiled, and inherited by every process that a test starts. The
    slow tests are compiled as users compile.
    """
    if config.option.markexpr == "not slow":
        quick = " --xla_backend_optimization_level=0"
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + quick


@pytest.fixture(autouse=True, scope="module")
def _small_workers():
    """Forget compiled programs after each file: kept, they make a worker grow to several GB."""
    yield
    jax.clear_caches()


@pytest.fixture
def double():
    """Theory against formulas is checked in float64."""
    with jax.enable_x64(True):
        yield
