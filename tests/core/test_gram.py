"""Gram matrices against NumPy's own linear algebra, and every kind that cannot be."""

import numpy as np
import pytest

from limelight._core import gram
from limelight._core.errors import InputError


@pytest.mark.parametrize("clusters", [1, 2, 3, 7])
def test_the_simplex_is_as_far_apart_as_possible(clusters):
    """Centres of a simplex sum to nothing, and span one dimension less than there are."""
    made = gram.simplex(clusters)
    gram.check(made)
    assert np.diag(made).tolist() == [1.0] * clusters
    if clusters > 1:
        np.testing.assert_allclose(made.sum(axis=0), 0, atol=1e-12)
        assert gram.rank(made) == clusters - 1
        with pytest.raises(InputError, match="cannot all have cosine"):
            gram.equiangular(clusters, -1 / (clusters - 1) - 1e-6)


def test_angles():
    with pytest.raises(InputError, match="cannot all have cosine 1"):
        gram.equiangular(2, 1.0)
    with pytest.raises(InputError, match="clusters = 0"):
        gram.equiangular(0)
    assert gram.equiangular(1, 1.0).tolist() == [[1.0]]


def test_a_random_sphere():
    made = gram.random_sphere(0, 5, 3)
    gram.check(made)
    assert gram.rank(made) == 3
    assert not np.array_equal(made, gram.random_sphere(1, 5, 3))
    for clusters, dimension in ((0, 3), (3, 0)):
        with pytest.raises(InputError, match="at least one of each"):
            gram.random_sphere(0, clusters, dimension)
    assert gram.random_sphere(0, 1, 1).tolist() == [[1.0]]


def test_from_points():
    points = np.array([[3.0, 4.0], [0.0, 2.0]])
    np.testing.assert_allclose(gram.from_points(points), [[1, 0.8], [0.8, 1]])
    for wrong, said in (
        (np.array([[1.0, np.nan]]), "finite"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), "origin"),
        (np.array([[1.0, 1.0], [2.0, 2.0]]), "share a centre"),
    ):
        with pytest.raises(InputError, match=said):
            gram.from_points(wrong)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones((0, 0)), "square"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), "not finite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
        (np.array([[1.0, 0.5], [0.5, 1.1]]), "diagonal"),
        (np.array([[1.0, -0.9, -0.9], [-0.9, 1.0, -0.9], [-0.9, -0.9, 1.0]]), "eigenvalue"),
        (np.ones((2, 2)), "share a centre"),
    ],
)
def test_impossible_matrices(matrix, said):
    with pytest.raises(InputError, match=said):
        gram.check(matrix)


def test_coordinates_have_the_gram_matrix():
    made = gram.equiangular(4, 0.3)
    found = gram.coordinates(made)
    np.testing.assert_allclose(found @ found.T, made, atol=1e-12)
    lengths = np.linalg.norm(found, axis=0)
    assert (np.diff(lengths) <= 1e-12).all()  # the widest coordinate first
