"""Every Lipschitz lemma on thousands of instances, and the tight cases."""

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.theory import softmax as lemmas
from limelight.theory.edelman2022.lipschitz import LEMMAS, largest_ratio

#: Lemmas whose bound random instances nearly reach, and how nearly.
REACHED = {"A.7": 0.4, "A.7+": 0.999, "A.9": 0.999, "A.16": 0.999, "4.3": 0.9, "A.13": 0.9}


@pytest.mark.parametrize("lemma", LEMMAS)
@pytest.mark.parametrize("constant", [2.0, 1.0])
def test_no_instance_breaks_a_lemma(lemma, constant, record_property):
    found = largest_ratio(lemma, instances=1500, seed=7, softmax_constant=constant)
    record_property("largest ratio", found.value)
    assert found.applies, str(found)
    assert found.value >= REACHED.get(lemma, 0.0)
    assert found.quantities["instances of each lemma"] >= 1000


def test_all_lemmas_at_once():
    every = largest_ratio(instances=200, seed=7)
    alone = largest_ratio("A.14", instances=200, seed=7)
    assert [c.name for c in every.conditions] == [f"lemma {lemma}" for lemma in LEMMAS]
    assert alone.value in [c.left for c in every.conditions]
    assert every.value == max(c.left for c in every.conditions)


def test_half_of_the_constant_would_be_wrong():
    # One is tight: two groups of equal mass.
    a = np.array([1e-4, -1e-4])
    assert lemmas.ratio(lemmas.softmax_moves(a, -a, 1.0)) == pytest.approx(1.0, abs=1e-6)
    assert not lemmas.softmax_moves(a, -a, 0.9).holds


def test_a_norm_with_a_bounded_jacobian_moves_no_more_than_it_says():
    # Lemma A.6 for the sup-to-1 distance, with the softmax of half the scores: constant 1.
    rng = np.random.default_rng(1)
    half = lambda v: np.exp(v / 2) / np.exp(v / 2).sum()
    for _ in range(1000):
        a, b = rng.normal(size=(2, 6)) * 4
        assert np.abs(half(a) - half(b)).sum() <= 1.0 * np.abs(a - b).max() * (1 + 1e-9)


def test_unknown_lemmas_are_named():
    with pytest.raises(InputError, match="no lemma"):
        largest_ratio("A.77")
    for wrong in ({"instances": 0}, {"softmax_constant": 0.5}, {"seed": -1}):
        with pytest.raises(InputError):
            largest_ratio("A.7", **wrong)
