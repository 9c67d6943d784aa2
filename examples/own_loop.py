"""One token of many carries the label: a plain loop over small models, none of limelight.

The same study as `own_study.py`: how many training examples does attention need to find it?

    python examples/own_loop.py [OUTPUT.png]
"""

import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from matplotlib.figure import Figure

TOKENS, WIDTH, BATCH, STEPS, TESTS = 16, 8, 16, 200, 200


def example(key, hidden, noise):
    k_label, k_place, k_noise = jr.split(key, 3)
    label = jr.rademacher(k_label, (), float)
    here = jnp.arange(TOKENS) == jr.randint(k_place, (), 0, TOKENS)
    needle = jnp.eye(WIDTH)[0] + label * hidden
    return jnp.outer(here, needle) + noise * jr.normal(k_noise, (TOKENS, WIDTH)), label


def network(w, X):
    return jax.nn.softmax(X @ w["query"]) @ X @ w["value"]


@jax.jit
def trial(key, noise, examples):
    k_hidden, k_start, k_data, k_batch, k_test = jr.split(key, 5)
    hidden = jnp.eye(WIDTH)[jr.randint(k_hidden, (), 1, WIDTH)]
    draw = jax.vmap(lambda k: example(k, hidden, noise))
    X, y = draw(jr.split(k_data, 256))
    w = {"query": jnp.zeros(WIDTH), "value": 0.1 * jr.normal(k_start, (WIDTH,))}
    optimizer = optax.adam(0.05)

    def loss(w, X, y):
        return jnp.mean(jax.nn.softplus(-y * jax.vmap(lambda x: network(w, x))(X)))

    def step(carry, k):
        w, memory = carry
        index = jr.randint(k, (BATCH,), 0, examples)
        change, memory = optimizer.update(jax.grad(loss)(w, X[index], y[index]), memory)
        return (optax.apply_updates(w, change), memory), None

    (w, _), _ = jax.lax.scan(step, (w, optimizer.init(w)), jr.split(k_batch, STEPS))
    X, y = draw(jr.split(k_test, TESTS))
    right = jnp.mean(y * jax.vmap(lambda x: network(w, x))(X) > 0)
    return right, w["value"] @ hidden / jnp.linalg.norm(w["value"])


def main(output="own_loop.png", trials=20):
    noises, sizes = [0.2, 0.5], [4, 16, 64, 256]
    axes = (figure := Figure(layout="constrained")).subplots()
    for i, noise in enumerate(noises):
        means, errors = [], []
        for j, size in enumerate(sizes):
            keys = [jr.key(1000 * i + 100 * j + t) for t in range(trials)]
            seen = np.array([trial(key, noise, size)[0] for key in keys])
            means.append(seen.mean())
            errors.append(1.96 * seen.std(ddof=1) / trials**0.5)
        axes.errorbar(sizes, means, errors, label=f"noise {noise}")
    axes.set(xscale="log", xlabel="training examples", ylabel="accuracy")
    axes.legend()
    figure.savefig(output)
    return means


if __name__ == "__main__":
    main(*sys.argv[1:])
