"""A run by one process, which every run by workers must equal."""

import pytest

from limelight.papers._outside import from_path
from tests.cluster.scene import PAPER, WIDTH, Scene, chunk_bytes


@pytest.fixture(scope="session")
def reference(tmp_path_factory) -> dict[str, str]:
    """The chunks of a run by one process."""
    store = tmp_path_factory.mktemp("alone") / "run"
    from_path(str(PAPER)).figure("dice").run("small", store, width=WIDTH)
    return chunk_bytes(store)


@pytest.fixture
def scene(tmp_path) -> Scene:
    """A run to be made."""
    return Scene(tmp_path)
