"""The contract of a world: a truth is drawn once, examples are sampled from it."""

import abc
from typing import Generic, TypeVar, cast

import equinox as eqx
import jax
import jax.random as jr
from jaxtyping import Array, Int

from limelight._core.shown import Shown, shown_of
from limelight._core.types import PRNGKey, Role

Truth = TypeVar("Truth")
Item = TypeVar("Item")


class World(eqx.Module, Generic[Truth, Item]):
    """A law of data. Fields marked static set shapes; every other number can be swept for free.

    A data set is a key: example `i` is `example(key, truth, i)`, so its size is only a number.
    A world of your own needs `sample`, and `draw` if something is hidden.

    Example:
        >>> import limelight as ll, jax.numpy as jnp, jax.random as jr
        >>> class Coins(ll.World):
        ...     bias: ll.Number = 0.5
        ...     def sample(self, key, truth, index):
        ...         return ll.Example(jr.bernoulli(key, self.bias, (3, 1)).astype(float),
        ...     jnp.array(1.0))
        >>> Coins(bias=1.0).sample(jr.key(0), None, 0).tokens.ravel().tolist()
        [1.0, 1.0, 1.0]
    """

    def draw(self, key: PRNGKey) -> Truth:
        """What stays fixed in one trial: the patterns, the hidden subset, the partition.

        Nothing, `None`, unless a world says otherwise.
        """
        return cast(Truth, None)

    @abc.abstractmethod
    def sample(self, key: PRNGKey, truth: Truth, index: Int[Array, ""]) -> Item:
        """One example. Worlds whose examples are independent ignore `index`."""

    def tell(self, truth: Truth, item: Item) -> Shown:
        """One example as plain values, for a picture: its tokens, and what each of them is."""
        return shown_of(item, Role.NAMES)

    def shown(self, seed: int = 0) -> Shown:
        """One example of one trial, as `limelight.plot.example` draws it.

        Example:
            >>> import limelight as ll
            >>> ll.worlds.SparseBoolean(length=6, positions=(1, 4, 5)).shown().groups.tolist()
            [1, 0, 1, 1, 0, 0]
        """
        k_truth, k_item = jr.split(jr.key(seed))
        truth = self.draw(k_truth)
        return self.tell(truth, self.sample(k_item, truth, jax.numpy.array(0)))

    def check(self) -> None:
        """Refuse settings that make no sense, on concrete numbers, with an `InputError`."""


def law(world: World) -> World:
    """The world inside its wrappers: what a model's start and sizes are made for.

    Example:
        >>> import limelight as ll
        >>> ll.worlds.law(ll.worlds.Sparse(ll.worlds.Patterns(tokens=20), kept=10)).tokens
        20
    """
    while (inner := getattr(world, "inner", None)) is not None:
        world = inner
    return world


def example(world: World, key: PRNGKey, truth, index):
    """Example number `index` of the data set that `key` names.

    Example:
        >>> import limelight as ll, jax, jax.numpy as jnp, jax.random as jr
        >>> world = ll.worlds.Patterns(tokens=10)
        >>> second = lambda: ll.worlds.example(world, jr.key(1), world.draw(jr.key(0)),
        ...     jnp.array(1))
        >>> jax.eval_shape(second).tokens.shape
        (10, 10)
    """
    return world.sample(jr.fold_in(key, index), truth, index)


def dataset(world: World, key: PRNGKey, truth, size: int):
    """The first `size` examples of the data set that `key` names, stacked.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Patterns(tokens=10)
        >>> four = lambda: ll.worlds.dataset(world, jr.key(1), world.draw(jr.key(0)), 4)
        >>> jax.eval_shape(four).tokens.shape
        (4, 10, 10)
    """
    index = jax.numpy.arange(size)
    return jax.vmap(lambda i: example(world, key, truth, i))(index)
