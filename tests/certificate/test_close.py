"""How close is the same: a stated number may differ by rounding, and by nothing more."""

import numpy as np
import pytest

from limelight.certificate import check
from limelight.certificate.bound import _leaves_that_differ
from limelight.models.construct import construct


@pytest.mark.parametrize(
    ("stated", "differs"),
    [(1.0, False), (1.0 + 1e-8, False), (1.0 + 1e-5, True), (1.9, True), (True, True), (1, False)],
)
def test_numbers(stated, differs):
    assert bool(list(_leaves_that_differ(stated, 1.0))) is differs


def test_every_kind_of_difference_is_named():
    found = {"a": [1.0, 2.0], "b": {"c": "x"}, "n": 3, "weights": {"file": "here"}}
    assert not list(_leaves_that_differ(found | {"weights": {"file": "moved"}}, found))
    for stated, said in (
        (found | {"a": [1.0, 3.0]}, ["a.1 (3.0 stated, 2.0 found)"]),
        (found | {"a": [1.0]}, ["a ([1.0] stated, [1.0, 2.0] found)"]),
        (found | {"b": {}}, ["b.c is missing"]),
        (found | {"d": 1}, ["d is unknown"]),
        (found | {"n": 3.0}, ["n (3.0 stated, 3 found)"]),
        (found | {"n": True}, ["n (True stated, 3 found)"]),
    ):
        assert list(_leaves_that_differ(stated, found)) == said


@pytest.mark.parametrize("length", [4, 6])
def test_all_inputs_are_walked_through(length, tmp_path):
    construct("majority", length, 3).save(tmp_path / "m.safetensors")
    report = check(tmp_path / "m.safetensors")
    assert report.exhaustive["ran"]
    assert report.exhaustive["inputs"] == 2**length
    assert str(2**length) in str(report)
    assert report.samples == {"inputs": 0, "max_error": None}


def test_too_many_inputs_are_sampled_with_every_pattern(tmp_path):
    construct("majority", 40, 3).save(tmp_path / "m.safetensors")
    report = check(tmp_path / "m.safetensors")
    assert not report.exhaustive["ran"]
    assert report.samples["inputs"] % 2**3 == 0
    assert report.samples["inputs"] > 2 * 2**3  # more than the two plain backgrounds
    assert np.isfinite(report.samples["max_error"])
