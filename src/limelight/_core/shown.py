"""One example of a world as plain values: what a picture of it needs, and nothing of JAX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Shown:
    """One example, as it is told to whoever draws it.

    Args:
        values: One row per token; not a number where something is hidden from the model.
        groups: The group of each token, as a place in `names`; none where there are none.
        names: What the groups are called.
        label: The answer, in words.
        layout: Whether tokens stand in a row, as the patches of a square image, or in a plane.
        signs: +1, -1 or 0 on each token.
        image: The pixels of an image, from 0 to 1, height by width.
        token: What one token is called.

    Example:
        >>> Shown(np.eye(2), np.array([0, 1]), ("relevant", "idle"), "label +1").layout
        'row'
    """

    values: np.ndarray
    groups: np.ndarray | None = None
    names: Sequence[str] = ()
    label: str = ""
    layout: Literal["row", "grid", "plane"] = "row"
    signs: np.ndarray | None = None
    image: np.ndarray | None = None
    token: str = "token"


def shown_of(item: Any, names: Sequence[str]) -> Shown:
    """What can be told of an example by its shape alone.

    Tokens are its `tokens`, or else its first table of numbers; groups its `roles` or `labels`.

    Args:
        item: An example.
        names: What roles are called.
    """
    tokens = getattr(item, "tokens", None)
    if tokens is None:
        tables = [value for value in vars(item).values() if np.ndim(value) == 2]
        tokens = tables[0] if tables else np.zeros((1, 1))
    values, label = np.asarray(tokens, dtype=float), getattr(item, "label", None)
    answer = "" if label is None else _answer(label)
    roles, clusters = getattr(item, "roles", None), getattr(item, "labels", None)
    if roles is not None:
        groups = np.asarray(roles)
        kept = np.asarray(getattr(item, "kept", np.ones(len(groups), dtype=bool)))
        groups, called = np.where(kept, groups, len(names)), (*names, "removed")
        return Shown(values, groups, called, answer)
    if clusters is not None and np.shape(clusters) == values.shape[:1]:
        groups = np.asarray(clusters)
        called = tuple(f"cluster {i + 1}" for i in range(int(groups.max()) + 1))
        return Shown(values, groups, called, answer, "plane")
    return Shown(values, label=answer)


def in_words(label: Any) -> str:
    """A label: a sign, several of them, or the number of a class.

    Example:
        >>> in_words(1.0), in_words([1, -1]), in_words([-1, -1, 1]), in_words([0, 0, 1])
        ('+1', '+1, −1', 'class 2', 'class 2')
    """
    values = np.atleast_1d(np.asarray(label, dtype=float)).ravel()
    signs = bool(np.isin(values, (-1.0, 1.0)).all())
    if signs and len(values) > 2 and (values > 0).sum() == 1:
        return f"class {int(values.argmax())}"
    if signs or len(values) == 1:
        form = "{:+g}" if signs else "{:g}"
        return ", ".join(form.format(value) for value in values).replace("-", "−")
    one_hot = bool(np.isin(values, (0.0, 1.0)).all()) and values.sum() == 1
    return f"class {int(values.argmax())}" if one_hot else ", ".join(f"{v:g}" for v in values)


def _answer(label: Any) -> str:
    words = in_words(label)
    return words if words.startswith("class") else f"label {words}"


def patches_in_sets(
    values: np.ndarray, sets: np.ndarray, label: Any, signs: np.ndarray | None = None
) -> Shown:
    """The patches of an image, by the set that each belongs to; in a row where none is square."""
    names = tuple(f"set {i + 1}" for i in range(int(sets.max()) + 1))
    square = round(len(sets) ** 0.5) ** 2 == len(sets)
    words, layout = _answer(label), "grid" if square else "row"
    return Shown(values, sets, names, words, layout, signs, token="patch")


def pixels_of(patches: np.ndarray, patch: int) -> np.ndarray:
    """Patches as the grey image that they were cut from, from 0 to 1.

    Example:
        >>> pixels_of(np.arange(4.0)[:, None], 1).round(2).tolist()
        [[0.0, 0.33], [0.67, 1.0]]
    """
    side = round(len(patches) ** 0.5)
    cut = patches.reshape(side, side, patch, patch, -1).mean(axis=-1)
    image = cut.transpose(0, 2, 1, 3).reshape(side * patch, side * patch)
    low, high = float(image.min()), float(image.max())
    return (image - low) / (high - low or 1.0)


def as_image(item: Any, patch: int, names: Sequence[str] = ()) -> Shown:
    """An example of patches as the image that they were cut from, with its roles where named."""
    patches = np.asarray(item.tokens, dtype=float)
    groups, kept = None, np.asarray(item.kept)
    if names:
        groups = np.where(kept, np.asarray(item.roles), len(names))
    words = _answer(item.label)
    image = pixels_of(patches, patch)
    return Shown(patches, groups, (*names, "removed"), words, "grid", image=image, token="patch")
