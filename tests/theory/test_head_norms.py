"""A head's norms from what was measured and from what a report kept, against its matrices."""

import numpy as np
import pytest

from limelight._core.norms import head_norms
from limelight.theory.covering import LinearMap
from limelight.theory.edelman2022 import HeadNorms, head_explicit
from limelight.theory.edelman2022.report import HeadReport

rng = np.random.default_rng(0)
QUERY, KEY, VALUE = (rng.normal(size=(5, 3)) for _ in range(3))


def exact_head():
    product = QUERY @ KEY.T
    return HeadNorms(
        LinearMap.of_columns(product.T),
        LinearMap.of_columns(VALUE),
        2.0,
        1.5,
        query_side=LinearMap.of_columns(product),
    )


def test_what_is_measured_gives_the_bound_of_the_matrices():
    sizes = head_norms(QUERY, KEY, VALUE) | {"token": 2.0, "query_token": 1.5}
    found, head = HeadNorms.of_measures(sizes, inputs=5, outputs=3), exact_head()
    for name in ("query_key", "value", "query_side"):
        one, other = getattr(found, name), getattr(head, name)
        assert (one.outputs, one.inputs) == (other.outputs, other.inputs)
        for norm in ("largest", "total", "spectral"):
            assert getattr(one, norm) == pytest.approx(getattr(other, norm))
    bound = lambda norms: float(head_explicit(norms, 0.5, examples=10, tokens=9))
    assert bound(found) == pytest.approx(bound(head), rel=1e-6)


def test_a_report_keeps_all_of_it():
    head = exact_head()
    assert HeadNorms.of_report(HeadReport(0, head, 1.0, 1.0, 1.0).as_json()["norms"]) == head
