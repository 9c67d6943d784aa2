"""Locality of positions against loops, smooth and random encodings."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.measures.locality import locality, neighbour_share, similarity


def by_hand(P: np.ndarray) -> float:
    side = int(len(P) ** 0.5)
    P = P - P.mean(0)
    P = P / np.linalg.norm(P, axis=1, keepdims=True)
    near, far = [], []
    for i in range(len(P)):
        for j in range(len(P)):
            (a, b), (c, d) = divmod(i, side), divmod(j, side)
            if abs(a - c) + abs(b - d) == 1:
                near.append(P[i] @ P[j])
            if ((a - c) ** 2 + (b - d) ** 2) ** 0.5 > 2:
                far.append(P[i] @ P[j])
    return float(np.mean(near) - np.mean(far))


def smooth(side: int) -> np.ndarray:
    """Bumps of width 1.5 around every place, as seen from every other."""
    row, column = np.divmod(np.arange(side**2), side)
    apart = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    return np.exp(-apart / 4.5)


def test_it_is_that_of_loops():
    P = np.asarray(jr.normal(jr.key(0), (25, 7)))
    assert float(locality(jnp.asarray(P))) == pytest.approx(by_hand(P), abs=1e-5)


def test_smooth_positions_are_local_until_they_are_shuffled():
    P = jnp.asarray(smooth(8))
    order = jr.permutation(jr.key(1), 64)
    assert float(locality(P)) > 0.7
    assert float(neighbour_share(P)) == 1.0
    assert abs(float(locality(P[order]))) < 0.15
    np.testing.assert_allclose(locality(P[order][jnp.argsort(order)]), locality(P), atol=1e-6)


def test_random_positions_are_not_local():
    """Cosines of independent pairs have deviation 1/sqrt(width), and 112 pairs are neighbours."""

    @jax.jit
    @jax.vmap
    def drawn(key):
        P = jr.normal(key, (64, 32))
        return locality(P), neighbour_share(P)

    local, share = map(np.asarray, drawn(jr.split(jr.key(3), 400)))
    assert abs(local.mean()) < 0.004
    assert local.std() == pytest.approx((32 * 112) ** -0.5, rel=0.15)
    assert share.mean() == pytest.approx((4 * 3 + 24 * 5 + 36 * 8) / 64 / 63, abs=0.01)


def test_similarity_lies_between_minus_one_and_one():
    S = similarity(jr.normal(jr.key(4), (9, 5)))
    assert float(jnp.abs(S).max()) == 1.0
    np.testing.assert_allclose(S, S.T, atol=1e-6)


@pytest.mark.parametrize(("count", "says"), [(10, "square"), (4, "far apart")])
def test_odd_grids_are_refused(count, says):
    with pytest.raises(InputError, match=says) as error:
        locality(jnp.ones((count, 3)))
    assert error.value.hint
