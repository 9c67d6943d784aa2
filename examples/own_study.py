"""One token of many carries the label: a world, a model and a measure of your own, swept.

The same study as the plain loop in `own_loop.py`, in fewer lines, with all trials in one program,
an interval on every point, and (given a `store`) a folder that resumes after a crash.

    python examples/own_study.py [OUTPUT.png]
"""

import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import optax

import limelight as ll

TOKENS, WIDTH = 16, 8


class Needle(ll.worlds.World):
    """Noise, and one marked token with the label along a hidden direction."""

    noise: float = 0.5

    def draw(self, key):
        """The hidden direction."""
        return jnp.eye(WIDTH)[jr.randint(key, (), 1, WIDTH)]

    def sample(self, key, truth, index):
        """One example."""
        k_label, k_place, k_noise = jr.split(key, 3)
        label = jr.rademacher(k_label, (), float)
        here = jnp.arange(TOKENS) == jr.randint(k_place, (), 0, TOKENS)
        needle = jnp.eye(WIDTH)[0] + label * truth
        tokens = jnp.outer(here, needle) + self.noise * jr.normal(k_noise, (TOKENS, WIDTH))
        return ll.Example(tokens, label)


class Pooling(ll.models.Model):
    """Attention with one query, and a linear readout."""

    query: jax.Array
    value: jax.Array

    def __call__(self, example, key=None):
        """The output; its sign is the answer."""
        return jax.nn.softmax(example.tokens @ self.query) @ example.tokens @ self.value


def start(key, world, truth):
    return Pooling(jnp.zeros(WIDTH), 0.1 * jr.normal(key, (WIDTH,)))


def alignment(key, world, truth, model):
    return model.value @ truth / jnp.linalg.norm(model.value)


def main(output="own_study.png", trials=20, store=None):
    train = ll.Train(steps=200, rate=0.05, optimizer=optax.adam, loss="logistic")
    study = ll.Study(Needle(), start, train, measures=[ll.measures.accuracy, alignment])
    axes = {"world.noise": [0.2, 0.5], "train.examples": [4, 16, 64, 256]}
    table = study.sweep(axes, trials=trials, store=store)
    lines = ll.plot.over_cells(
        table, x="train.examples", y="accuracy", by="world.noise", name="noise {:g}"
    )
    labels = {"x_label": "training examples", "y_label": "accuracy"}
    ll.plot.lines(lines, log_x=True, **labels).save(output)
    return table


if __name__ == "__main__":
    main(*sys.argv[1:])
