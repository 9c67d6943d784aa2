"""Prompts: their law against NumPy, and what a layer reads of them against whole prompts."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight import InputError
from limelight.worlds import Prompts, dataset


def test_covariances_and_labels():
    def draw(size, **law):
        return jax.jit(lambda: dataset(Prompts(4, 31, **law), jr.key(0), None, size))()

    data = draw(4000, noise=0.5)
    x = np.asarray(data.covariates).reshape(-1, 4)
    np.testing.assert_allclose(np.cov(x.T), np.diag([0.4, 0.3, 0.2, 0.1]), atol=0.01)
    for prompt in range(3):  # least squares finds one task per prompt
        X, y = np.asarray(data.covariates[prompt]), np.asarray(data.responses[prompt])
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        assert 0.3 < np.std(y - X @ w) < 0.7
    clean = draw(5)
    X, y, q = (np.asarray(part, float) for part in (clean.covariates, clean.responses, clean.query))
    for i in range(5):
        w = np.linalg.lstsq(X[i], y[i], rcond=None)[0]
        np.testing.assert_allclose(q[i] @ w, clean.target[i], atol=1e-4)
        beta = sum(a * b for a, b in zip(y[i], X[i], strict=True)) / 31
        one = jax.tree.map(lambda leaf, i=i: leaf[i], clean)
        np.testing.assert_allclose(one.statistic, beta, atol=1e-5)


@pytest.mark.parametrize(
    ("response", "noise", "shift"),
    [
        ("linear", 0.0, "none"),
        ("sign", 0.5, "none"),
        ("cube", 0.0, "scaled"),
        ("linear", 0.3, "query"),
    ],
)
def test_what_a_layer_reads_has_the_law_of_whole_prompts(response, noise, shift):
    """Means of the products that a prediction error is made of, both ways, at two lengths."""
    world = Prompts(3, 7, 0.6, noise, response, shift, 2.0)
    keys, lengths = jr.split(jr.key(1), 40_000), (2, 7)

    def whole(key):
        prompt = world.sample(key, None, jnp.array(0))
        parts = [prompt.responses[:M] @ prompt.covariates[:M] / M for M in lengths]
        return moments(jnp.stack(parts), prompt.query, prompt.target)

    def moments(beta, query, target):
        guess = beta @ query
        return jnp.concatenate(
            [guess**2, guess * target, jnp.sum(beta**2, axis=1), target[None] ** 2]
        )

    reduced = lambda key: moments(*world.reduced(key, lengths))
    one, other = (np.asarray(jax.jit(jax.vmap(f))(keys), float) for f in (whole, reduced))
    error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / len(keys))
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 4.5 * error).all()


def test_an_orthogonal_query_is_told_nothing():
    world = Prompts(5, 3, spread=0.0, shift="orthogonal")
    data = jax.jit(lambda: dataset(world, jr.key(2), None, 50))()
    products = jnp.einsum("pni,pi->pn", data.covariates, data.query)
    np.testing.assert_allclose(products, 0, atol=1e-5)
    guesses = jnp.einsum("pi,pi->p", jax.vmap(lambda p: p.statistic)(data), data.query)
    np.testing.assert_allclose(guesses, 0, atol=1e-5)  # so a white layer predicts 0
    assert float(jnp.mean(data.target**2)) > 0.1


def test_nonsense_is_refused():
    for wrong in (
        Prompts(dimension=1),
        Prompts(examples=0),
        Prompts(spread=1.5),
        Prompts(noise=-1.0),
        Prompts(factor=0.0),
        Prompts(shift="orthogonal"),
    ):
        with pytest.raises(InputError):
            wrong.check()
