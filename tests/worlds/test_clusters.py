"""Clusters, pairs and regions: exact inner products, two samplers with one law, refusals."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

from limelight._core import gram
from limelight._core.errors import InputError
from limelight.models.smoother import softmax_weights
from limelight.worlds import Clusters, Pairs, Regions, example
from limelight.worlds.clusters import chosen, parse_sizes, reduced_noise
from limelight.worlds.regions import random_frame


def errors(world, trials: int, strength: float):
    """Mean and largest error of each of many draws."""

    def one(key):
        draw = example(world, key, world.draw(key), jnp.array(0))
        out = softmax_weights(draw.tokens, strength) @ draw.tokens
        error = jnp.linalg.norm(out - draw.targets, axis=-1)
        return jnp.mean(error), jnp.max(error)

    return jax.jit(jax.vmap(one))(jr.split(jr.key(3), trials))


def test_reduced_and_direct_samplers_have_one_law():
    base = {"clusters": 4, "size": 10, "sigma": 0.6, "dimension": 120}
    direct = errors(Clusters(**base, method="direct"), 1000, 5.0)
    reduced = errors(Clusters(**base, method="reduced"), 1000, 5.0)
    for a, b in zip(direct, reduced, strict=True):
        assert ks_2samp(a, b).pvalue > 0.001


def test_reduced_noise_has_chi_square_norms_at_any_dimension():
    """Below span + tokens too, where the triangular factor has fewer columns than rows."""
    draw = jax.jit(jax.vmap(lambda k, d: reduced_noise(k, 12, 4, d), in_axes=(0, None)))
    for dimension in (6, 20, 5000):
        noise = np.asarray(draw(jr.split(jr.key(1), 500), jnp.asarray(dimension)))
        square = (noise**2).sum(axis=-1)
        for row in (0, 11):
            assert kstest(square[:, row], "chi2", args=(dimension,)).pvalue > 0.001
        inner = np.einsum("nw,nw->n", noise[:, 0], noise[:, 11]) / np.sqrt(square[:, 0])
        assert kstest(inner, "norm").pvalue > 0.001
        assert np.linalg.matrix_rank(noise[0]) == min(dimension, 12)


def test_automatic_choice():
    assert chosen("auto", 30, 4, 40) == "direct"
    assert chosen("auto", 10**7, 4, 40) == "reduced"
    assert chosen("auto", jnp.asarray(30), 4, 40) == "reduced"
    with pytest.raises(InputError, match="needs its dimension"):
        chosen("direct", jnp.asarray(30), 4, 40)


def test_memory_does_not_depend_on_the_dimension():
    shapes = {
        d: jax.eval_shape(lambda k, d=d: reduced_noise(k, 20, 3, d), jr.key(0)).shape
        for d in (10**3, 10**7)
    }
    assert set(shapes.values()) == {(20, 23)}


@pytest.mark.parametrize(
    "world",
    [
        Clusters(clusters=5, size=3, cosine=0.4, dimension=50),
        Clusters.from_gram(gram.simplex(5), size=3, dimension=50),
        Clusters.from_gram(gram.random_sphere(1, 5, 3), size=3, dimension=50),
        Clusters.from_gram(gram.from_points(np.eye(4) + 0.3), size=3, dimension=50),
        Clusters(clusters=3, sizes="2-5-1", dimension=50),
    ],
    ids=["equiangular", "simplex", "random", "points", "unequal"],
)
def test_centres_have_the_gram_matrix(world):
    world.check()
    truth = world.draw(jr.key(0))
    centres = np.asarray(truth.centres)
    np.testing.assert_allclose(centres @ centres.T, world.matrix, atol=2e-6)
    draw = jax.eval_shape(world.sample, jr.key(0), truth, jnp.array(0))
    assert draw.tokens.shape[0] == world.tokens == sum(world.counts)


@pytest.mark.parametrize(
    ("world", "match"),
    [
        (Clusters(clusters=5, cosine=-0.5), "cannot all have cosine"),
        (Clusters(clusters=10, dimension=9), "dimension = 9"),
        (Clusters(sigma=-1.0), "sigma"),
        (Clusters(clusters=3, sizes=(4, 0, 2)), "sizes"),
        (Clusters(clusters=2, sizes=(1, 1, 1)), "sizes"),
        (Pairs(wrong=1.5), "wrong"),
        (Pairs(alignment=2.0), "alignment"),
        (Regions(clusters=5, dimension=4), "dimension = 4"),
        (Regions(share=2.0), "share"),
    ],
)
def test_infeasible_worlds_are_refused(world, match):
    with pytest.raises(InputError, match=match):
        world.check()


def test_infeasible_gram_matrices_are_refused():
    for matrix, match in (
        (np.array([[1, 2.0], [2.0, 1]]), "lowest eigenvalue"),
        (np.array([[1, 0.1], [0.2, 1]]), "not symmetric"),
        (np.ones((2, 3)), "square"),
        (np.array([[1, np.nan], [np.nan, 1]]), "finite"),
    ):
        with pytest.raises(InputError, match=match):
            Clusters.from_gram(matrix)
    with pytest.raises(InputError, match="origin"):
        gram.from_points(np.zeros((2, 3)))
    with pytest.raises(InputError, match="whole numbers"):
        parse_sizes("2-x")


def test_wrong_pairs_deplete_the_matching_cluster():
    world = Pairs(clusters=5, size=20, wrong=0.6)
    counts = np.bincount(np.asarray(world.labels()), minlength=5)
    assert counts.tolist() == [8, 23, 23, 23, 23]
    truth = Pairs(clusters=5, alignment=0.7).draw(jr.key(0))
    cosines = np.asarray(truth.centres[:-1] @ truth.centres[-1])
    np.testing.assert_allclose(cosines, [0.7, 0, 0, 0, 0], atol=1e-6)


@pytest.mark.parametrize("clusters", [2, 3, 10])
@pytest.mark.parametrize("wrong", [0.0, 0.06, 0.25, 0.5, 0.9, 1.0])
def test_counts_are_those_of_the_labels(clusters, wrong):
    world = Pairs(clusters=clusters, size=50, wrong=wrong)
    labels = np.asarray(world.labels())
    assert world.counts == tuple(np.bincount(labels, minlength=clusters).tolist())


def test_regions_are_regions_and_corruption_is_counted():
    world = Regions(side=10, clusters=4, dimension=30)
    labels = np.asarray(world.labels(jr.key(5))).reshape(10, 10)
    agree = (labels[:, 1:] == labels[:, :-1]).mean()
    scattered = np.asarray(Regions(side=10, clusters=4, layout="scattered").labels(jr.key(5)))
    assert (
        agree > 0.7 > (scattered.reshape(10, 10)[:, 1:] == scattered.reshape(10, 10)[:, :-1]).mean()
    )
    assert int(world.corrupted(jr.key(1)).sum()) == 10
    image = jax.jit(lambda k: world.sample(k, world.draw(k), jnp.array(0)))(jr.key(2))
    length = np.asarray(jnp.linalg.norm(image.patches.noise, axis=-1))
    assert length[np.asarray(image.corrupted)].min() > length[~np.asarray(image.corrupted)].max()


def test_random_frames_are_orthonormal():
    frame = np.asarray(random_frame(jr.key(0), 6, 20))
    np.testing.assert_allclose(frame @ frame.T, np.eye(6), atol=1e-5)
