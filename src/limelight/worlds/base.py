"""The contract of a world: a truth is drawn once, examples are sampled from it."""

import abc
from typing import Generic, TypeVar, cast

import equinox as eqx
import jax
import jax.random as jr
from jaxtyping import Array, Int

from limelight._core.types import PRNGKey

Truth = TypeVar("Truth")
Item = TypeVar("Item")


class World(eqx.Module, Generic[Truth, Item]):
    """A law of data. Fields marked static set shapes; every other number can be swept for free.

    A data set is a key: example `i` is `example(key, truth, i)`, so its size is only a number.
    An own world needs `sample`; `draw` too where something is hidden.
    """

    def draw(self, key: PRNGKey) -> Truth:
        """What stays fixed in one trial: the patterns, the hidden subset, the partition.

        Nothing, `None`, unless a world says otherwise.
        """
        return cast(Truth, None)

    @abc.abstractmethod
    def sample(self, key: PRNGKey, truth: Truth, index: Int[Array, ""]) -> Item:
        """One example. Worlds whose examples are independent ignore `index`."""

    def check(self) -> None:
        """Refuse settings that make no sense, on concrete numbers, with an `InputError`."""


def law(world: World) -> World:
    """The world behind its wrappers: what a model's start and sizes are made for."""
    while (inner := getattr(world, "inner", None)) is not None:
        world = inner
    return world


def example(world: World, key: PRNGKey, truth, index):
    """Example number `index` of the data set that `key` names."""
    return world.sample(jr.fold_in(key, index), truth, index)


def dataset(world: World, key: PRNGKey, truth, size: int):
    """The first `size` examples of the data set that `key` names, stacked."""
    index = jax.numpy.arange(size)
    return jax.vmap(lambda i: example(world, key, truth, i))(index)
