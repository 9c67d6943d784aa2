"""The laws of experiments: alone as in a batch, resumed to the same bytes, nonsense refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.keys import fingerprint, trial_key
from limelight._engine.grid import assign, leaves
from limelight._identity.description import describe
from limelight.experiments._rebuild import rebuild
from limelight.papers import load
from tests.laws.members import EXPERIMENTS, experiment_members


def experiment(name):
    """A small experiment of a kind."""
    key, figure, smaller = EXPERIMENTS[name]
    setup = load(key).figure(figure).setup("smoke")
    first = {
        path: value
        for paths, values in setup.axes.items()
        for path, value in zip(
            (paths,) if isinstance(paths, str) else paths,
            (values[0],) if isinstance(paths, str) else values[0],
            strict=True,
        )
    }
    return assign(setup.experiment, first | smaller)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_is_the_kind_it_says_and_is_rebuilt_from_its_description(name):
    one = experiment(name)
    one.check()
    assert type(one) is experiment_members()[name]
    assert describe(rebuild(describe(one))) == describe(one)


#: These compile for long and are held to this law by the slow tests alone.
HEAVY = {
    "BoundAscent",
    "Classify",
    "Encodings",
    "Finetune",
    "Oversmoothing",
    "Parity",
    "Pretraining",
    "RankCollapse",
    "Representable",
    "SparseAnd",
    "TokenGeometry",
    "Tolerance",
    "Transfer",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in HEAVY)) for name in EXPERIMENTS],
)
def test_alone_as_in_a_batch_and_resumed_to_the_same_bytes(name, tmp_path):
    """Two chunks of two trials; the second is removed and comes again; a trial by itself agrees."""
    one = experiment(name)
    sweep = lambda: one.sweep({}, trials=3, store=tmp_path / "run", width=2, name="law")
    whole = sweep()
    last = tmp_path / "run" / "chunks" / "000-00001.parquet"
    before = last.read_bytes()
    last.unlink()
    sweep()
    assert last.read_bytes() == before
    words = jnp.array(fingerprint("law", {}), jnp.uint32)
    roomy = one.with_room([one])
    with jax.enable_x64(one.double), jax.default_matmul_precision("highest"):
        key = trial_key(jnp.uint32(0), words, jnp.uint32(1))
        alone = jax.jit(lambda key: roomy.trial(key))(key)
    for column, value in alone.items():
        value = np.asarray(value)
        if value.dtype == bool:
            np.testing.assert_array_equal(whole[column][1], value)
        else:
            np.testing.assert_allclose(whole[column][1], value, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nonsense_is_refused(name):
    """Some number of it cannot be anything: minus one, say, or not finite."""
    one, refused = experiment(name), 0
    numbers = {
        path: value
        for path, value in leaves(one).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for path, value in numbers.items():
        try:
            assign(one, {path: type(value)(-7)}).check()
        except InputError:
            refused += 1
    assert refused or not numbers
