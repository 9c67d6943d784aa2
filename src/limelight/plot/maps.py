"""Attention maps with the tokens sorted by role, and how much attention each role gives which."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from limelight.core.errors import InputError, suggest
from limelight.plot import style
from limelight.plot.marks import spread
from limelight.plot.style import INK, ONE_COLUMN, WEIGHT, Number

Panel = tuple[str, ArrayLike]
"""A title and a matrix."""


def attention_map(
    weights: ArrayLike, roles: Sequence[str], *, title: str = "", **options
) -> Figure:
    """One attention map, its tokens sorted by role; see `attention_maps` for the options.

    Args:
        weights: Attention, one row a query and one column a key.
        roles: The role of each token.
        title: One line over the figure.
        options: Passed on to `attention_maps`.
    """
    return attention_maps([("", weights)], roles, title=title, **options)


def attention_maps(
    panels: Sequence[Panel],
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
) -> Figure:
    """Attention maps side by side on one colour scale, such as before and after training.

    Colours follow the square root of the weight: a few sharp entries do not hide the rest.

    Args:
        panels: `(title, weights)`, each one row a query and one column a key.
        roles: The role of each token, the same in all panels.
        order: The roles from first to last; by first appearance when not given.
        title: One line over the figure.
        query_label: What the rows are.
        key_label: What the columns are.
        bar_label: What the colours mean.
        largest: The weight drawn darkest; the largest of all panels when not given.
        width: Inches; one column for one panel, a page for more.
        height: Inches.

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
    height = height or inches + (1.05 if title else 0.8)
    figure = style.new_figure(width, height, columns=len(panels), title=title)
    mesh = None
    for i, (axes, matrix) in enumerate(zip(list(figure.axes), matrices, strict=True)):
        mesh = _draw_matrix(axes, matrix, PowerNorm(0.5, 0, scale))
        axes.set_title(panels[i][0], fontsize=style.LABEL, color=INK, loc="left", pad=4)
        _name_roles(axes, names, counts, inches)
        axes.tick_params(labelleft=i == 0)
        style.label(axes, key_label, query_label if i == 0 else "")
    _bar(figure, mesh, bar_label)
    return figure


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
    panels: Sequence[Panel],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    title: str = "",
    query_label: str = "query role",
    key_label: str = "key role",
    bar_label: str = "attention mass",
    width: Number | None = None,
    height: Number | None = None,
) -> Figure:
    """Attention mass from query roles to key roles, each number written in its cell.

    Args:
        panels: `(title, mass)`, each one row a query role and one column a key role.
        queries: The query roles.
        keys: The key roles; the query roles when not given.
        title: One line over the figure.
        query_label: What the rows are.
        key_label: What the columns are.
        bar_label: What the colours mean.
        width: Inches; one column for one panel, a page for more.
        height: Inches.
    """
    keys = queries if keys is None else keys
    if not panels:
        raise InputError("no matrix to draw")
    width = width if width is not None else _width(len(panels))
    height = height or 0.9 + 0.36 * len(queries) + (0.3 if title else 0)
    figure = style.new_figure(width, height, columns=len(panels), title=title)
    mesh = None
    for i, (axes, (name, mass)) in enumerate(zip(list(figure.axes), panels, strict=True)):
        matrix = np.asarray(mass, dtype=float)
        if matrix.shape != (len(queries), len(keys)):
            raise InputError(f"{matrix.shape} numbers for {len(queries)} by {len(keys)} roles")
        mesh = _draw_matrix(axes, matrix, Normalize(0, 1), square=False)
        _write_numbers(axes, matrix)
        axes.set_title(name, fontsize=style.LABEL, color=INK, loc="left", pad=4)
        axes.set_xticks(np.arange(len(keys)) + 0.5, [_two_lines(key) for key in keys])
        axes.set_yticks(np.arange(len(queries)) + 0.5, queries if i == 0 else [""] * len(queries))
        axes.tick_params(length=0)
        style.label(axes, key_label, query_label if i == 0 else "")
    _bar(figure, mesh, bar_label)
    return figure


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
        raise InputError(f"a map of shape {matrix.shape} for {tokens} tokens", "one role a token")
    return matrix


def _largest(matrices: list[np.ndarray]) -> float:
    largest = max(float(np.nanmax(matrix, initial=0.0)) for matrix in matrices)
    return largest if largest > 0 else 1.0


# --- drawing ----------------------------------------------------------------------------------


def _width(panels: int) -> float:
    return ONE_COLUMN if panels == 1 else style.TWO_COLUMNS


def _draw_matrix(axes: Axes, matrix: np.ndarray, norm: Normalize, *, square: bool = True):
    look = {"cmap": WEIGHT, "edgecolors": "face", "linewidth": 0.1}
    mesh = axes.pcolormesh(np.ma.masked_invalid(matrix), norm=norm, **look)
    axes.set(xlim=(0, matrix.shape[1]), ylim=(matrix.shape[0], 0))
    if square:
        axes.set_aspect("equal")
    return mesh


def _name_roles(axes: Axes, names: tuple[str, ...], counts: list[int], inches: Number) -> None:
    """Lines between the roles, and each role's name at the middle of its tokens."""
    ends = np.cumsum(counts)
    for end in ends[:-1]:
        axes.axvline(end, color=style.COLOURS[1], linewidth=0.7)
        axes.axhline(end, color=style.COLOURS[1], linewidth=0.7)
    middles = ends - np.asarray(counts) / 2
    labels = [_two_lines(name) for name in names]
    lines = [line for text in labels for line in text.split("\n")]
    across = max(style.text_width(line, style.TICK) for line in lines) + 0.04
    upwards = 2.4 * style.TICK / 72
    axes.set_xticks(spread(middles, ends[-1] * across / inches), labels)
    axes.set_yticks(spread(middles, ends[-1] * upwards / inches), labels)
    axes.tick_params(which="major", length=0, pad=3)


def _two_lines(name: str) -> str:
    """Break a role of two words, so that neighbours do not touch."""
    for sign in (" ", "-"):
        if sign in name:
            head, tail = name.split(sign, 1)
            return f"{head}{sign.strip()}\n{tail}"
    return name


def _write_numbers(axes: Axes, matrix: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        text = "–" if np.isnan(value) else f"{value:.2f}"
        color = "white" if value > 0.55 else INK
        place = {"ha": "center", "va": "center", "fontsize": style.TICK}
        axes.text(column + 0.5, row + 0.5, text, color=color, **place)


def _bar(figure: Figure, mesh, bar_label: str) -> None:
    """A colour bar beside the last panel, exactly as high as it."""
    last = figure.axes[-1]
    inches = float(figure.get_figwidth()) / len(figure.axes)
    place = last.inset_axes((1.0 + 0.09 / inches, 0.0, 0.11 / inches, 1.0))
    style.dress_bar(figure.colorbar(mesh, cax=place), bar_label)
