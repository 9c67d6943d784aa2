"""One rule three times: what is read of each, against its own network in NumPy."""

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.keys import named
from limelight._engine.grid import assign
from limelight.experiments.representable import Representable
from limelight.models import Constructed, Sequence
from limelight.train.minibatch import Train
from limelight.worlds import SparseBoolean

SMALL = Representable(
    world=SparseBoolean(length=6, sparsity=2, rule="and"),
    built=Constructed(mapping="trainable"),
    learned=Sequence(width=8, heads=1, hidden=8),
    train=Train(
        steps=4, batch=8, rate=1e-2, examples=16, loss="logistic", optimizer="adam", every=2
    ),
    test=64,
)


@pytest.fixture(scope="module")
def found():
    return {name: np.asarray(v) for name, v in eqx.filter_jit(SMALL.trial)(jr.key(3)).items()}


def test_a_construction_is_right_and_training_from_it_stays_right(found):
    assert found["built.accuracy"] == 1.0
    assert found["tuned.accuracy"] == 1.0
    assert 0.0 <= found["learned.accuracy"] <= 1.0


def test_the_gap_is_the_test_loss_less_the_training_loss(found):
    for name in ("tuned", "learned"):
        assert not found[f"{name}.diverged"]
        gap = found[f"{name}.test_loss"] - found[f"{name}.training_loss"]
        np.testing.assert_allclose(found[f"{name}.gap"], gap, rtol=1e-6, atol=1e-7)


def test_norms_and_accuracy_are_those_of_the_construction(found):
    k_truth, k_init, k_test = named(jr.key(3), "truth", "init", "test")
    truth = SMALL.world.draw(k_truth)
    model = SMALL.built.init(k_init, SMALL.world, truth)
    query, key, value = (
        np.asarray(w[0]) for w in (model.heads.query, model.heads.key, model.heads.value)
    )
    product = query @ key.T
    rows, columns = np.linalg.norm(product, axis=1), np.linalg.norm(product, axis=0)
    tokens = np.linalg.norm(np.asarray(model.tokens()), axis=-1)
    asking = np.linalg.norm(np.asarray(model.asking))
    expected = {
        "query_key.largest": rows.max(),
        "query_key.total": rows.sum(),
        "query_key.spectral": np.linalg.svd(product, compute_uv=False)[0],
        "query_side.largest": columns.max(),
        "query_side.total": columns.sum(),
        "value.largest": np.linalg.norm(value, axis=0).max(),
        "value.total": np.linalg.norm(value, axis=0).sum(),
        "value.spectral": np.linalg.svd(value, compute_uv=False)[0],
        "token": max(tokens.max(), asking),
        "query_token": asking,
    }
    for name, norm in expected.items():
        np.testing.assert_allclose(found[f"built.{name}"], norm, rtol=1e-4, err_msg=name)


def test_there_is_room_for_the_largest_sample_and_every_part_is_checked():
    cells = [assign(SMALL, {"train.examples": m}) for m in (16, 40)]
    assert SMALL.with_room(cells).train.capacity == 40
    assert SMALL.loop_length == 2
    SMALL.check()
    for setting in ({"train.steps": 0}, {"built.mapping": "nothing"}, {"world.length": 1}):
        with pytest.raises(InputError):
            assign(SMALL, setting).check()
