"""A phase diagram of attention from nothing: plain JAX, none of limelight.

One layer reads 40 tokens. Some carry the label, some its opposite, the rest nothing. How many
training examples does it need? Every cell of the grid, every trial, in one compiled program.

    python examples/from_scratch.py [OUTPUT.png]
"""

import sys

import jax
import jax.numpy as jnp
import jax.random as jr
from matplotlib.figure import Figure

L, M, D, WIDTH, POOL, BATCH, STEPS = 40, 5, 8, 40, 32, 16, 300
PATTERNS = jnp.eye(M, D)


def example(key, relevant, confusing, index):
    """Tokens and label: patterns 0 and 1 vote, in a fresh random order."""
    label = jnp.where(index % 2 == 0, 1.0, -1.0)
    place = jnp.arange(L)
    idle = 2 + place % (M - 2)
    kind = jnp.where(place < relevant, 0, jnp.where(place < relevant + confusing, 1, idle))
    kind = jnp.where((label < 0) & (kind < 2), 1 - kind, kind)
    return PATTERNS[jr.permutation(key, kind)], label


def network(w, readout, X):
    """Softmax attention, a hidden layer, a fixed readout for each place."""
    attention = jax.nn.softmax(X @ (w["key"].T @ w["query"]).T @ X.T, axis=-1)
    hidden = jax.nn.relu(attention @ X @ (w["out"] @ w["value"]).T)
    return jnp.sum(readout * hidden) / L


def trial(key, relevant, confusing, examples):
    """Train on `examples` examples; the mean hinge loss on fresh ones."""
    k_data, k_test, k_out, k_read, k_batch = jr.split(key, 5)
    eye = jnp.eye(D)
    w = {"key": eye, "query": eye, "value": eye, "out": 0.01 * jr.normal(k_out, (WIDTH, D))}
    readout = jr.rademacher(k_read, (L, WIDTH), dtype=float) / WIDTH**0.5
    draw = lambda k, n: jax.vmap(lambda i: example(jr.fold_in(k, i), relevant, confusing, i))(
        jnp.arange(n)
    )
    X, y = draw(k_data, POOL)

    def loss(w, X, y):
        outputs = jax.vmap(lambda x: network(w, readout, x))(X)
        return jnp.mean(jax.nn.relu(1 - y * outputs))

    def step(w, k):  # the number of examples is data, not shape: one program for all sizes
        index = jnp.floor(jr.uniform(k, (BATCH,)) * examples).astype(int)
        return jax.tree.map(
            lambda p, g: p - 2.0 * g, w, jax.grad(loss)(w, X[index], y[index])
        ), None

    w, _ = jax.lax.scan(step, w, jr.split(k_batch, STEPS))
    return loss(w, *draw(k_test, 50))


def main(output="from_scratch.png", trials=8):
    """Sweep fractions and sizes, print the success rates, draw them."""
    relevant, examples = jnp.array([13, 15, 17, 20]), jnp.array([2, 4, 8, 16, 32])
    grid = jnp.stack(jnp.meshgrid(relevant, examples, jnp.arange(trials), indexing="ij"), -1)
    r, n, t = grid.reshape(-1, 3).T
    keys = jax.vmap(lambda r, n, t: jr.fold_in(jr.fold_in(jr.fold_in(jr.key(0), r), n), t))(r, n, t)
    losses = jax.jit(jax.vmap(trial))(keys, r, 20 - r, n).reshape(len(relevant), -1, trials)
    success = jnp.mean(losses < 1e-2, axis=-1)
    print(success)
    axes = (figure := Figure(layout="constrained")).subplots()
    image = axes.imshow(success.T, origin="lower", cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(relevant)), [f"{v / L:.2f}" for v in relevant])
    axes.set_yticks(range(len(examples)), [str(v) for v in examples])
    axes.set(xlabel="fraction of relevant tokens", ylabel="training examples")
    figure.colorbar(image, label="share of trials that succeed")
    figure.savefig(output)
    return success


if __name__ == "__main__":
    main(*sys.argv[1:])
