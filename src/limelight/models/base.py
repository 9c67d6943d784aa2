"""The contract of a model: a recipe makes it, and it is called on one example."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float

from limelight._core.errors import InputError
from limelight._core.types import PRNGKey
from limelight.worlds.base import World


class Model(eqx.Module):
    """Weights and the function they compute, on one example.

    `prepare` holds the work that no trained weight enters; the trainer does it once per example
    and calls the model on the result at every step.

    Example:
        >>> import limelight as ll, jax, jax.numpy as jnp
        >>> class Mean(ll.Model):
        ...     value: jax.Array
        ...     def __call__(self, example, key=None):
        ...         return jnp.mean(example.tokens, axis=0) @ self.value
        >>> float(Mean(jnp.ones(2))(ll.Example(jnp.eye(2), jnp.array(1.0))))
        1.0
    """

    #: Fields that training leaves as they are; everything else that is a float array is trained.
    fixed: ClassVar[tuple[str, ...]] = ()
    #: Whether the output depends on `key` (dropout); then zero loss once does not mean zero ever.
    stochastic: ClassVar[bool] = False

    def prepare(self, example: Any) -> Any:
        """What `__call__` reads; the example itself when there is nothing to prepare."""
        return example

    @abc.abstractmethod
    def __call__(self, prepared: Any, key: PRNGKey | None = None) -> Float[Array, "..."]:
        """The output for one prepared example; `key` drives dropout where there is any."""


class Recipe(eqx.Module):
    """The sizes and scales a model is made from. Fields marked static set shapes.

    Example:
        >>> import limelight as ll, jax, jax.random as jr
        >>> world = ll.worlds.Patterns(tokens=10)
        >>> recipe = ll.models.Shallow(width=4)
        >>> make = lambda: recipe.init(jr.key(0), world, world.draw(jr.key(1)))
        >>> jax.eval_shape(make).weights.value.shape
        (10, 10)
    """

    @property
    def honours_masks(self) -> bool:
        """Whether its models leave removed tokens out; a sparsified world needs that."""
        return True

    @abc.abstractmethod
    def init(self, key: PRNGKey, world: Any, truth: Any) -> Model:
        """A model at its start; `truth` for starts that the theory ties to the data."""

    def check(self, world: World) -> None:
        """Refuse settings that make no sense for this world, with an `InputError`."""


#: What makes a model: a recipe, or a function of key, world and truth where there is nothing to
#: sweep.
Maker = Recipe | Callable[[PRNGKey, Any, Any], Model]


def make_model(maker: Maker, key: PRNGKey, world: Any, truth: Any) -> Model:
    """A model at its start."""
    return maker.init(key, world, truth) if isinstance(maker, Recipe) else maker(key, world, truth)


def check_maker(maker: Any, world: World, masked: bool = False) -> None:
    """Refuse a recipe that does not fit its world, or ignores removed tokens where `masked`."""
    if isinstance(maker, Recipe):
        maker.check(world)
        if masked and not maker.honours_masks:
            raise InputError(
                f"model = {type(maker).__name__} ignores removed tokens", "set model.groups=false"
            )
    elif not callable(maker):
        raise InputError(f"model = {maker!r}", "a recipe, or a function of (key, world, truth)")


def split(model: Model) -> tuple[Model, Model]:
    """The trained part and the rest; `eqx.combine` puts them together."""
    trained = jax.tree.map(eqx.is_inexact_array, model)
    for name in model.fixed:
        still = jax.tree.map(lambda _: False, getattr(model, name))
        trained = eqx.tree_at(lambda m, name=name: getattr(m, name), trained, still)
    return eqx.partition(model, trained)
