"""The online protocol: patience, the cost of a plan, and what is refused."""

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._engine.grid import assign
from limelight._engine.plan import make_plan
from limelight.experiments.parity import LEARNED, Parity
from limelight.worlds import SparseBoolean


@pytest.mark.slow
def test_patience_ends_a_run_and_changes_nothing_before():
    """Stopped some iterations after the fall, a run has the same course up to there."""
    easy = Parity(
        world=SparseBoolean(length=6, sparsity=2, rule="xor"), batch=256, iterations=150, test=2000
    )
    axes = {"world.length": [6]}
    whole = easy.sweep(axes, trials=2, name="parity")
    some = assign(easy, {"patience": 20}).sweep(axes, trials=2, name="parity")
    below = whole["trace.loss"] < LEARNED
    learns = np.where(below.any(axis=1), (below.argmax(axis=1) + 1) * 10, np.inf)
    assert np.isfinite(learns).all()
    np.testing.assert_array_equal(some["iterations_run"], learns + 20)
    ran = np.isfinite(some["trace.loss"])
    np.testing.assert_array_equal(ran.sum(axis=1), some["iterations_run"] / 10)
    np.testing.assert_allclose(some["trace.loss"][ran], whole["trace.loss"][ran], rtol=1e-3)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"iterations": 15}, "choose every to divide iterations"),
        ({"batch": 100}, "blocks must divide"),
        ({"batch": 32_768}, "at most 16384"),
        ({"block": 0}, "blocks must divide"),
        ({"heads": 0}, "heads"),
        ({"patience": -1}, "patience"),
        ({"dropout": 1.0}, "^dropout = 1.0"),
        ({"dropout": -1.0}, "^dropout = -1.0"),
        ({"dropout": 0.9999999}, "^dropout = 0.9999999"),
        ({"test": 0}, r"^test = 0 \("),
        ({"heads": 5}, "heads"),
        ({"world.length": 5000}, "4000"),
    ],
)
def test_nonsense_is_refused(setting, word):
    with pytest.raises(InputError, match=word):
        assign(Parity(), setting).check()


def test_the_plan_of_a_parity_counts_every_iteration():
    """Three times the products of the [CLS] row by absorption, and elementwise work beside them."""
    one = Parity(world=SparseBoolean(length=20, sparsity=3, rule="xor"), batch=64, test=32)
    flops = lambda n: make_plan(assign(one, {"iterations": n}), {}, trials=1).cost.flops
    products = 3 * 64 * (4 * 21 * 64 * 16 + 24 * 64**2)
    assert 1 < (flops(500) - flops(20)) / (480 * products) < 3
