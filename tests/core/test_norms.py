"""Norms against sums written out, in NumPy and in JAX."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from limelight._core import norms

matrices = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    elements=st.floats(-10, 10, width=32),
)


def slow(M, p, q):
    columns = []
    for j in range(M.shape[1]):
        column = [abs(float(M[i, j])) for i in range(M.shape[0])]
        columns.append(max(column) if p == np.inf else sum(x**p for x in column) ** (1 / p))
    return max(columns) if q == np.inf else sum(c**q for c in columns) ** (1 / q)


@given(matrices, st.sampled_from([1, 2, 3, np.inf]), st.sampled_from([1, 2, np.inf]))
def test_norm_pq_is_the_norm_of_the_column_norms(M, p, q):
    assert float(norms.norm_pq(M, p, q)) == pytest.approx(slow(M, p, q), rel=1e-9, abs=1e-12)


@given(matrices)
def test_rows_are_columns_of_the_transpose(M):
    assert norms.rowmax(M) == norms.colmax(M.T)
    assert norms.rowsum(M) == norms.colsum(M.T)
    assert float(norms.frobenius(M)) == pytest.approx(np.sqrt((M**2).sum()), abs=1e-12)
    assert float(norms.spec(M)) == pytest.approx(np.linalg.svd(M)[1].max(), abs=1e-12)


@given(matrices, st.integers(0, 2**31))
def test_the_two_inequalities_that_proofs_use(P, seed):
    rng = np.random.default_rng(seed)
    v, Q = rng.normal(size=P.shape[1]), rng.normal(size=(P.shape[1], 3))
    assert np.linalg.norm(P @ v) <= norms.colmax(P) * np.abs(v).sum() * (1 + 1e-12) + 1e-300
    assert norms.colmax(P @ Q) <= norms.spec(P) * norms.colmax(Q) * (1 + 1e-12) + 1e-300


def test_extreme_entries_are_not_lost():
    assert float(norms.frobenius(np.full((2, 2), 1e200))) == pytest.approx(2e200)
    assert float(norms.colmax(np.full((4, 1), 1e-200))) == pytest.approx(2e-200)


def test_numpy_and_jax_answer_alike():
    M = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    for name in ("colmax", "rowmax", "colsum", "rowsum", "spec", "frobenius", "largest"):
        ours = getattr(norms, name)
        assert float(ours(jnp.asarray(M))) == pytest.approx(float(ours(M)), rel=1e-5)


def test_head_norms_are_those_of_the_product():
    rng = np.random.default_rng(1)
    Q, K, V = rng.normal(size=(3, 5, 2))
    found = norms.head_norms(Q, K, V)
    product = Q @ K.T
    assert found["query_key.largest"] == pytest.approx(max(np.linalg.norm(r) for r in product))
    assert found["query_side.total"] == pytest.approx(sum(np.linalg.norm(c) for c in product.T))
    assert found["value.spectral"] == pytest.approx(np.linalg.norm(V, 2))
