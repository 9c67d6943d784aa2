"""Attention maps with the tokens sorted by role, and how much attention each role gives which."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limelight.core.errors import InputError, suggest
from limelight.plot.marks import Map, Number
from limelight.plot.picture import ONE_COLUMN, TWO_COLUMNS, Axis, Panel, Picture

Matrix = tuple[str, ArrayLike]
"""A title and a matrix."""


def attention_map(
    weights: ArrayLike, roles: Sequence[str], *, title: str = "", **options
) -> Picture:
    """One attention map, its tokens sorted by role; see `attention_maps` for the options.

    Args:
        weights: Attention, one row per query and one column per key.
        roles: The role of each token.
        title: One line over the picture.
        options: Passed on to `attention_maps`.
    """
    return attention_maps([("", weights)], roles, title=title, **options)


def attention_maps(
    panels: Sequence[Matrix],
    roles: Sequence[str],
    *,
    order: Sequence[str] | None = None,
    title: str = "",
    query_label: str = "query token, by role",
    key_label: str = "key token, by role",
    bar_label: str = "attention weight, square-root scale",
    largest: Number | None = None,
    width: Number | None = None,
    height: Number | None = None,
    note: str | Sequence[str] = (),
) -> Picture:
    """Attention maps side by side on one colour scale, such as before and after training.

    Colours follow the square root of the weight: a few sharp entries do not hide the rest.

    Args:
        panels: `(title, weights)`, each one row per query and one column per key.
        roles: The role of each token, the same in all panels.
        order: The roles from first to last; by first appearance when not given.
        title: One line over the picture.
        query_label: What the rows are.
        key_label: What the columns are.
        bar_label: What the colours mean.
        largest: The weight drawn darkest; the largest of all panels when not given.
        width: Inches; one column for one panel, a page for more.
        height: Inches.
        note: Facts for the caption.

    Raises:
        InputError: For no panel, a map that is not tokens by tokens, or an unknown role.
    """
    names, place, counts = _sort(roles, order)
    matrices = [_square(weights, len(place))[np.ix_(place, place)] for _, weights in panels]
    if not matrices:
        raise InputError("no attention map to draw")
    scale = float(largest) if largest is not None else _largest(matrices)
    width = width if width is not None else _width(len(panels))
    inches = (float(width) - 1.65) / len(panels) - 0.1  # about the side of one map
    ends = np.cumsum(counts)
    ticks = dict(zip((ends - np.asarray(counts) / 2).tolist(), map(_two_lines, names), strict=True))
    look = {"low": 0.0, "high": scale, "scale": "root", "borders": ends[:-1].tolist()}
    parts = [
        Panel(
            name,
            [Map(matrix, bar_label, **look)],
            y=Axis(query_label, ticks=ticks),
            x=Axis(key_label, ticks=ticks),
        )
        for (name, _), matrix in zip(panels, matrices, strict=True)
    ]
    height = height or inches + (1.05 if title else 0.8)
    return Picture(parts, width=width, height=height, title=title, note=note, share="y")


def role_mass(
    weights: ArrayLike, roles: Sequence[str], order: Sequence[str] | None = None
) -> tuple[tuple[str, ...], np.ndarray]:
    """How much attention the queries of each role give to the keys of each role.

    Entry (q, k) is the mean, over queries of role q, of the weight summed over keys of role k;
    a row adds up to what a query's weights add up to.

    Returns:
        The roles in order, and the matrix.

    Example:
        >>> role_mass([[0.2, 0.8], [0.5, 0.5]], ["a", "b"])[1].tolist()
        [[0.2, 0.8], [0.5, 0.5]]
    """
    names, place, counts = _sort(roles, order)
    matrix = _square(weights, len(place))[np.ix_(place, place)]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    summed = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    return names, summed / np.asarray(counts)[:, None]


def mass_by_role(
    panels: Sequence[Matrix],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    title: str = "",
    query_label: str = "query role",
    key_label: str = "key role",
    bar_label: str = "attention mass",
    width: Number | None = None,
    height: Number | None = None,
    note: str | Sequence[str] = (),
) -> Picture:
    """Attention mass from query roles to key roles, each number written in its cell.

    Args:
        panels: `(title, mass)`, each one row per query role and one column per key role.
        queries: The query roles.
        keys: The key roles; the query roles when not given.
        title: One line over the picture.
        query_label: What the rows are.
        key_label: What the columns are.
        bar_label: What the colours mean.
        width: Inches; one column for one panel, a page for more.
        height: Inches.
        note: Facts for the caption.
    """
    keys = queries if keys is None else keys
    if not panels:
        raise InputError("no matrix to draw")
    parts = []
    for name, mass in panels:
        matrix = np.asarray(mass, dtype=float)
        if matrix.shape != (len(queries), len(keys)):
            raise InputError(f"{matrix.shape} numbers for {len(queries)} by {len(keys)} roles")
        cells = Map(matrix, bar_label, low=0, high=1, numbers=True, square=False)
        y, x = (
            Axis(label, ticks={i + 0.5: _two_lines(role) for i, role in enumerate(roles)})
            for label, roles in ((query_label, queries), (key_label, keys))
        )
        parts.append(Panel(name, [cells], y, x))
    width = width if width is not None else _width(len(panels))
    height = height or 0.9 + 0.36 * len(queries) + (0.3 if title else 0)
    return Picture(parts, width=width, height=height, title=title, note=note, share="y")


# --- roles ------------------------------------------------------------------------------------


def _sort(
    roles: Sequence[str], order: Sequence[str] | None
) -> tuple[tuple[str, ...], np.ndarray, list[int]]:
    """The role names, the tokens sorted by them (ties stay in place), and how many each has."""
    roles = [str(role) for role in roles]
    wanted = list(dict.fromkeys(roles)) if order is None else [str(role) for role in order]
    for role in roles:
        if role not in wanted:
            raise InputError(f"the role {role!r} is not in the order", suggest(role, wanted))
    names = tuple(role for role in wanted if role in roles)
    place = np.argsort([names.index(role) for role in roles], kind="stable")
    return names, place, [roles.count(name) for name in names]


def _square(weights: ArrayLike, tokens: int) -> np.ndarray:
    matrix = np.asarray(weights, dtype=float)
    if matrix.shape != (tokens, tokens) or not tokens:
        raise InputError(
            f"a map of shape {matrix.shape} for {tokens} tokens", "give one role per token"
        )
    return matrix


def _largest(matrices: list[np.ndarray]) -> float:
    largest = max(float(np.nanmax(matrix, initial=0.0)) for matrix in matrices)
    return largest if largest > 0 else 1.0


def _width(panels: int) -> float:
    return ONE_COLUMN if panels == 1 else TWO_COLUMNS


def _two_lines(name: str) -> str:
    """Break a role of two words, so that neighbours do not touch."""
    for sign in (" ", "-"):
        if sign in name:
            head, tail = name.split(sign, 1)
            return f"{head}{sign.strip()}\n{tail}"
    return name
