"""A run by one process, which every run by workers must equal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.papers._outside import from_path
from tests.cluster.folder import finished
from tests.cluster.scene import PAPER, WIDTH, Scene, chunk_bytes


@pytest.fixture(scope="session")
def reference(tmp_path_factory) -> dict[str, str]:
    """The chunks of a run by one process."""
    store = tmp_path_factory.mktemp("alone") / "run"
    from_path(str(PAPER)).figure("dice").run("small", store, width=WIDTH)
    return chunk_bytes(store)


@pytest.fixture
def scene(tmp_path) -> Iterator[Scene]:
    """A run to be made."""
    made = Scene(tmp_path)
    yield made
    made.end()


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> Path:
    """A tiny run that is finished."""
    store = tmp_path_factory.mktemp("whole")
    finished(store)
    return store
