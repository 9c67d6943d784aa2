"""How close is the same: a stated number may differ by rounding, and by nothing more."""

from dataclasses import replace

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.certificate import check, construction
from limelight.certificate._claim import _values, read_claim
from limelight.certificate._recompute import network_width
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


@pytest.mark.parametrize("length", [4, 11])
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


@pytest.mark.parametrize("sparsity", [3, 9])
def test_samples_are_bits_on_many_backgrounds(sparsity, tmp_path, monkeypatch):
    """Every pattern on all zeros, all ones, and on as many random backgrounds as there is time."""
    construct("majority", 40, sparsity).save(tmp_path / "m.safetensors")
    claim = read_claim(tmp_path / "m.safetensors")
    seen = []

    def see(claim, bits):
        seen.append(bits)
        return claim.expected(bits)

    monkeypatch.setattr(construction, "evaluate", see)
    exhaustive, samples, _ = construction._walk(claim)
    (bits,) = seen
    assert np.unique(bits).tolist() == [0, 1]
    backgrounds = 2 + max(2, construction.SAMPLES // 2**sparsity)
    assert samples["inputs"] == len(bits) == backgrounds * 2**sparsity
    assert not exhaustive["ran"]


def test_the_steepest_slope_of_any_input_is_the_width(tmp_path):
    construct("majority", 5, 3).save(tmp_path / "m.safetensors")
    claim = read_claim(tmp_path / "m.safetensors")
    slopes = np.array([[1.0, 2.0], [0.0, -4.0], [99.0, 99.0]])  # the last row is the offsets
    steep = replace(claim, tensors={**claim.tensors, "mlp.W_1": slopes})
    assert network_width(steep) == 1 / 4


def test_boxes_are_wider_than_their_sums_by_rounding(tmp_path, monkeypatch):
    """What is added up in floating point is widened on both sides, or nothing is proved."""
    path = tmp_path / "m.safetensors"
    construct("or", 5, 2).save(path)
    ones = np.ones((8, 1))
    monkeypatch.setattr(construction, "head_range", lambda table, at, bits: (-ones, ones))
    low, high = construction._boxes(
        read_claim(path).tables() * 2, np.arange(3), np.zeros((8, 3), int)
    )
    assert (low < -2.0).all()
    assert (high > 2.0).all()
    np.testing.assert_allclose([low, high], [-2 * ones, 2 * ones], rtol=1e-12)


def test_a_good_certificate_is_said_to_be_good(tmp_path):
    construct("or", 5, 2).save(tmp_path / "m.safetensors")
    assert "\n  certificate: ok\n" in str(check(tmp_path / "m.safetensors"))


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({"values": [0.0, 1.0, 2.0]}, "4 finite values expected"),
        ({"values": [0.0, 1.0, 2.0, float("inf")]}, "finite"),
        ({"values": [0.0] * 4, "truth_table": "8"}, "which may differ"),
        ({"truth_table": "10"}, "too long"),
        ({"truth_table": "-1"}, "too long"),
    ],
)
def test_values_that_are_no_function(claim, said):
    with pytest.raises((ValueError, InputError), match=said):
        _values(claim, 2)


def test_a_function_of_nothing():
    with pytest.raises(ValueError, match="s = 0"):
        _values({"values": [1.0]}, 0)


def test_a_notebook_shows_what_is_allowed(tmp_path):
    construct("or", 5, 2).save(tmp_path / "m.safetensors")
    report = check(tmp_path / "m.safetensors")
    assert f"<td>{report.head_error_upper + report.slack:.4g}</td>" in report._repr_html_()


def test_values_of_a_function():
    assert _values({"values": [0.0, 1.0, 2.0, 3.0]}, 2).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert _values({"truth_table": "8"}, 2).tolist() == [0.0, 0.0, 0.0, 1.0]
