"""A study of your own: a world, a model, a measure, a sweep and a claim.

Run it with `python FILE`. Run it again, and it reads what it stored. Test it with `pytest FILE`.
Draw every measure of its run with `limelight plot runs/needle`.

Change what you like: a changed world, model or measure is never mixed with results of the old one.
"""

import textwrap

import jax
import jax.numpy as jnp
import jax.random as jr
import optax

import limelight as ll
from limelight.claims import Above, claim
from limelight.fit import estimates

TOKENS, WIDTH = 16, 8


class Needle(ll.worlds.World):
    """Where examples come from: noise, and one marked token that carries the label."""

    noise: float = 0.5

    def draw(self, key):
        """What is hidden: the direction of the label. One per trial."""
        return jnp.eye(WIDTH)[jr.randint(key, (), 1, WIDTH)]

    def sample(self, key, truth, index):
        """One example. Never write a batch axis: limelight adds it."""
        k_label, k_place, k_noise = jr.split(key, 3)
        label = jr.rademacher(k_label, (), float)
        here = jnp.arange(TOKENS) == jr.randint(k_place, (), 0, TOKENS)
        needle = jnp.eye(WIDTH)[0] + label * truth
        tokens = jnp.outer(here, needle) + self.noise * jr.normal(k_noise, (TOKENS, WIDTH))
        return ll.Example(tokens, label)


class Pooling(ll.models.Model):
    """What is trained: attention with one query, and a linear readout."""

    query: jax.Array
    value: jax.Array

    def __call__(self, example, key=None):
        """The output for one example; its sign is the answer."""
        return jax.nn.softmax(example.tokens @ self.query) @ example.tokens @ self.value


def start(key, world, truth):
    """A model before training. One per trial."""
    return Pooling(jnp.zeros(WIDTH), 0.1 * jr.normal(key, (WIDTH,)))


def found(key, world, truth, model):
    """A measure: the attention that an average example pays to its needle."""
    examples = jax.vmap(lambda k: world.sample(k, truth, 0))(jr.split(key, 50))
    attention = jax.nn.softmax(examples.tokens @ model.query)
    return jnp.mean(jnp.max(attention * (examples.tokens[..., 0] > 0.5), axis=1))


study = ll.Study(
    Needle(),
    start,
    ll.Train(steps=200, rate=0.05, optimizer=optax.adam, loss="logistic"),
    measures=[ll.measures.accuracy, found],
)


@claim("needle.examples", "More examples help.", Above(0.0))
def more_examples_help(table):
    """Accuracy with the most examples less that with the fewest, paired by trial."""
    fewest, most = table.values("train.examples")[[0, -1]]
    few, many = (table.rows(table["train.examples"] == n) for n in (fewest, most))
    return estimates.paired(many["accuracy"], few["accuracy"])


def sweep(trials=20, store="runs/needle"):
    """Every combination of the axes, many trials each, in one program."""
    axes = {"world.noise": [0.2, 0.5], "train.examples": [4, 16, 64]}
    return study.sweep(axes, trials=trials, store=store, shared=("train.examples",))


def test_more_examples_help():
    """A small sweep, without a folder."""
    table = sweep(trials=5, store=None)
    assert len(table) == 2 * 3 * 5
    assert more_examples_help.decide(table, "a test").verdict == "holds"


if __name__ == "__main__":
    results = sweep()
    print(results)
    print(textwrap.fill(str(more_examples_help.decide(results, "the study")), 80))
    lines = ll.plot.over_cells(results, x="train.examples", y="accuracy", by="world.noise")
    labels = {"x_label": "training examples", "y_label": "accuracy"}
    ll.plot.lines(lines, log_x=True, **labels).save("needle.png")
    print("Drawn: needle.png")
