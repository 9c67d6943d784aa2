"""Rows that were published, computed again on this machine."""

import numpy as np
import pytest

from limelight.papers import load
from limelight.papers.published import open_table
from limelight.papers.zhang2024.ranks import RANK
from tests.papers.test_recomputed import RESULTS


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        (
            "phase",
            {
                "model.form": ["separate"],
                "model.scale": [0.1],
                "examples": [31],
                "spread": [0.0, 0.6],
            },
        ),
        ("ranks", {RANK: [(2, 0)], "model.scale": [0.1]}),
    ],
)
def test_a_sample_of_training_flows_is_the_published_one(name, axes):
    """Levels that were seen, steps and times, by seed."""
    setup = load("zhang2024").figure(name).setup("paper")
    found = setup.experiment.sweep(axes, trials=2, shared=setup.shared, name=f"zhang2024/{name}")
    names = [*found.axes, "trial"]
    published = open_table(RESULTS / "zhang2024" / name)
    place = {row: i for i, row in enumerate(zip(*(published[n] for n in names), strict=True))}
    rows = [place[row] for row in zip(*(found[n] for n in names), strict=True)]
    for column in ("count", "seen", "steps", "finished"):
        np.testing.assert_array_equal(found[column], published[column][rows])
    for column in ("time", "dwell", "value"):
        np.testing.assert_allclose(found[column], published[column][rows], rtol=1e-6)
