"""The world and the model of the paper. Nothing here has a batch axis: limelight adds it."""

import jax
import jax.numpy as jnp
import jax.random as jr

import limelight as ll

TOKENS, WIDTH = 16, 8


class Needle(ll.worlds.World):
    """Noise, and one marked token that carries the label along a hidden direction."""

    noise: float = 0.5

    def draw(self, key):
        """The hidden direction. One per trial."""
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
        """The output for one example; its sign is the answer."""
        return jax.nn.softmax(example.tokens @ self.query) @ example.tokens @ self.value


def start(key, world, truth):
    """A model before training. One per trial."""
    return Pooling(jnp.zeros(WIDTH), 0.1 * jr.normal(key, (WIDTH,)))
