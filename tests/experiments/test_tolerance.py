"""Trained networks on noisy images: the reading, and what is refused."""

import dataclasses

import jax
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.experiments.classify import Classify
from limelight.experiments.tolerance import Tolerance
from limelight.models import Convolutional, Vision
from limelight.train.images import ImageTraining
from limelight.worlds import Images

STUDY = Classify(
    Images(patch=2),
    network="cnn",
    vit=Vision(width=8, depth=1, heads=2, hidden=8),
    cnn=Convolutional((4,), (2,)),
    course=ImageTraining(steps=3, batch=8),
    watched=1,
)


@pytest.mark.parametrize("network", ["vit", "cnn"])
def test_little_noise_passes_in_proportion_and_moves_no_answer(network):
    study = dataclasses.replace(STUDY, network=network)
    truth = study.world.draw(jr.key(0))
    model = study.start(jr.key(1), truth)
    read = jax.jit(lambda noise: Tolerance(study, noise, looked=20)._read(model, truth, jr.key(2)))
    (right, one, signal), (_, two, same) = read(1e-3), read(2e-3)
    assert right[0] == right[1]
    np.testing.assert_allclose(two, 4 * one, rtol=0.05)
    np.testing.assert_array_equal(signal, same)
    assert (one[:, 0] > one[:, 1]).all()  # most of it is where it was put


def test_a_trial_leaves_what_it_says():
    found = jax.jit(Tolerance(STUDY, looked=20).trial)(jr.key(0))
    assert {name for name in found if name.startswith("trace")} == {
        "trace.hit", "trace.spared", "trace.hit.start", "trace.spared.start",
    }  # fmt: skip
    assert all(found[name].shape == (1,) for name in found if name.startswith("trace"))
    assert float(found["trace.hit"][0]) > 0
    assert float(found["trace.hit"][0]) != float(found["trace.hit.start"][0])
    assert 0 <= float(found["accuracy.noisy"]) <= 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"noise": 0.0}, "noise = 0"),
        ({"share": 1.0}, "share = 1"),
        ({"share": 0.0}, "share = 0"),
        ({"looked": 10_000}, "looked = 10000"),
        (
            {"study": Classify(Images(patch=2), cnn=Convolutional((4, 4), (2, 1)))},
            "patches' stride",
        ),
        ({"study": Classify(Images("/nowhere"))}, "there are no images"),
    ],
)
def test_bad_settings_are_refused_in_one_line(options, says):
    with pytest.raises(InputError, match=says) as error:
        Tolerance(**{"study": STUDY} | options).check()
    assert "\n" not in str(error.value)
