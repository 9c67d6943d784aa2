"""What experiments on token selection share: drawing a batch, and reading a matrix of weights."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from limelight._core.errors import InputError, check_least
from limelight._core.keys import named
from limelight._core.types import Number, PRNGKey
from limelight.theory.tarzanagh2023.compiled import Choice, NuclearChoice, solve_choice
from limelight.train._anchored import Batch
from limelight.worlds.base import dataset
from limelight.worlds.selections import Arrangements, Selections


def draw_batch(
    key: PRNGKey, world: Selections | Arrangements, samples: Number, room: int
) -> tuple[Batch, Array | None]:
    """The samples of one trial, those beyond the last one empty; and the world's truth."""
    k_truth, k_data = named(key, "truth", "data")
    truth = world.draw(k_truth)
    data = dataset(world, k_data, truth, room)
    used = jnp.arange(room) < samples
    tokens = jnp.where(used[:, None, None], data.tokens, 0.0)
    scores = jnp.where(used[:, None], data.label[:, None] * data.values, 0.0)
    return Batch(tokens, data.query, scores, data.kept, used), truth


def best_tokens(batch: Batch) -> Int[Array, " samples"]:
    """The token of the highest score, sample by sample."""
    return jnp.argmax(jnp.where(batch.kept, batch.scores, -jnp.inf), axis=1)


def chosen_tokens(batch: Batch, W: Float[Array, "rows columns"]) -> Int[Array, " samples"]:
    """The token that each sample prefers."""
    return jnp.argmax(batch.logits(W), axis=1)


def choice_of(
    batch: Batch, chosen: Int[Array, " samples"], bounds: Float[Array, " samples"] | None = None
) -> Choice:
    """The SVM of a choice of tokens."""
    there = batch.kept & batch.used[:, None]
    return solve_choice(batch.tokens, batch.queries, batch.scores, there, chosen, bounds)


def margin_readings(W: Float[Array, "rows columns"], choice: Choice) -> dict[str, Array]:
    r"""How near $W$ is to the solution: cosine, margin ratio, scaled radius.

    `rho` is the smallest gap of $W/\|W\|$ over the largest possible one; `radius` is $c$.
    """
    norm = jnp.linalg.norm(W)
    size = jnp.where(norm > 0, norm, 1.0)
    return {
        "cosine": jnp.sum(W * choice.weights) / (size * choice.norm),
        "rho": jnp.min(choice.gaps(W)) / size * choice.norm,
        "radius": norm / choice.norm,
    }


def nuclear_readings(
    W: Float[Array, "rows columns"], choice: Choice, star: NuclearChoice
) -> dict[str, Array]:
    """The same in the nuclear norm, and the duality gap of the solve."""
    size = jnp.linalg.norm(W) * jnp.linalg.norm(star.weights)
    return {
        "nuclear.cosine": jnp.sum(W * star.weights) / size,
        "nuclear.rho": jnp.min(choice.gaps(W)) / jnp.linalg.norm(W, "nuc") * star.norm,
        "nuclear.gap": star.gap,
    }


def with_room(experiment: Any, cells: Sequence[Any]) -> Any:
    """An experiment on selections with room for every cell, where none was asked for."""
    changes: dict[str, Any] = {}
    world = experiment.world
    if isinstance(world, Selections):
        largest = lambda name: max(int(getattr(cell.world, name)) for cell in cells)
        changes["world"] = dataclasses.replace(
            world,
            most_tokens=world.most_tokens or largest("tokens"),
            most_dimension=world.most_dimension or largest("dimension"),
        )
    if hasattr(experiment, "most_samples"):
        room = max(int(cell.samples) for cell in cells)
        changes["most_samples"] = experiment.most_samples or room
    return dataclasses.replace(experiment, **changes)


def check_samples(experiment: Any) -> None:
    """Refuse a number of samples that the world does not have, or there is no room for."""
    if isinstance(experiment.world, Arrangements):
        if experiment.samples != 0:
            raise InputError(f"samples = {experiment.samples} of an arrangement", "0, for all")
        return
    check_least(experiment, ("samples",))
    if 0 < experiment.most_samples < experiment.samples:
        raise InputError(
            f"samples = {experiment.samples} is above most_samples = {experiment.most_samples}"
        )
