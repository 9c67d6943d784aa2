"""What the positions of a ViT know of the grid, beside positions drawn afresh."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from limelight.measures.association import chance_overlap
from limelight.measures.locality import side_of

#: Fresh positions to compare with, and how many are scored at a time.
DRAWS, BATCH = 200, 10


@dataclass(frozen=True)
class Positions:
    """Scores of trained positions and of fresh ones of the same shape.

    Args:
        locality: Trained; see `measures.locality`.
        largest: The largest locality among the fresh draws.
        neighbours: Share of patches whose most similar other patch is a neighbour.
        neighbours_fresh: The same, mean over the fresh draws.
        association: By partition of the grid: `overlap` without the diagonal, of trained positions,
            `fresh`, its mean over the draws, and `chance`.
        similarity: Trained, patches by patches.
        fresh: That of the first fresh draw.
    """

    locality: float
    largest: float
    neighbours: float
    neighbours_fresh: float
    association: dict[str, dict[str, float]]
    similarity: np.ndarray
    fresh: np.ndarray

    def as_json(self) -> dict[str, Any]:
        """The scores; maps are for pictures."""
        return {
            "draws": DRAWS,
            "locality": self.locality,
            "largest_fresh_locality": self.largest,
            "neighbours": self.neighbours,
            "neighbours_fresh": self.neighbours_fresh,
            "association": self.association,
        }


def partitions(side: int) -> dict[str, np.ndarray]:
    """Ways to group the patches of a square grid: rows, columns, and the smallest square cells.

    Example:
        >>> list(partitions(4)), list(partitions(7))
        (['rows', 'columns', '2 x 2 cells'], ['rows', 'columns'])
    """
    row, column = np.divmod(np.arange(side * side), side)
    found = {"rows": row, "columns": column}
    cell = next((c for c in range(2, side) if side % c == 0), None)
    if cell is not None:
        found[f"{cell} x {cell} cells"] = row // cell * (side // cell) + column // cell
    return found


def read_positions(encodings: Float[Array, "patches width"], seed: int = 0) -> Positions:
    """Score positions, and fresh Gaussian ones."""
    P = np.asarray(encodings, dtype=np.float64)
    groups = partitions(side_of(len(P)))
    rng = np.random.default_rng([seed, 3])
    first = rng.standard_normal(P.shape, np.float32)
    parts = [scores(first[None], groups)]
    for begin in range(1, DRAWS, BATCH):
        shape = (min(BATCH, DRAWS - begin), *P.shape)
        parts.append(scores(rng.standard_normal(shape, np.float32), groups))
    fresh = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    trained = {name: float(value[0]) for name, value in scores(P[None], groups).items()}
    association = {
        name: {
            "overlap": round(trained[name], 6),
            "fresh": round(float(np.mean(fresh[name])), 6),
            "chance": round(chance_overlap(len(sets), int(np.bincount(sets)[0])), 6),
        }
        for name, sets in groups.items()
    }
    return Positions(
        locality=trained["locality"],
        largest=float(np.max(fresh["locality"])),
        neighbours=trained["neighbours"],
        neighbours_fresh=float(np.mean(fresh["neighbours"])),
        association=association,
        similarity=_rescaled(P),
        fresh=_rescaled(first),
    )


def scores(
    encodings: Float[np.ndarray, "some patches width"], groups: dict[str, np.ndarray]
) -> dict[str, Float[np.ndarray, " some"]]:
    """Locality, share of nearest neighbours and association with every group, without the diagonal.

    The same numbers as `measures.locality` and `measures.association` give for each of them, for
    many at once: one sort serves all.
    """
    count = encodings.shape[1]
    row, column = np.divmod(np.arange(count), side_of(count))
    down, across = abs(row[:, None] - row), abs(column[:, None] - column)
    near, far = down + across == 1, down**2 + across**2 > 4
    centred = encodings - encodings.mean(axis=1, keepdims=True)
    unit = centred / np.linalg.norm(centred, axis=2, keepdims=True)
    G = unit @ unit.swapaxes(1, 2)
    found = {"locality": G[:, near].mean(axis=1) - G[:, far].mean(axis=1)}
    G[:, np.arange(count), np.arange(count)] = -np.inf
    most = max(int(np.bincount(sets)[0]) for sets in groups.values()) - 1
    top = _largest(G, max(most, 1))
    nearest = np.maximum(down, across)[np.arange(count), top[..., 0]] == 1
    found["neighbours"] = nearest.mean(axis=1)
    for name, sets in groups.items():
        size = int(np.bincount(sets)[0]) - 1
        same = sets[top[..., :size]] == sets[:, None]
        found[name] = same.mean(axis=(1, 2))
    return found


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Places of the largest entries of each row, the largest first; ties to the lowest place."""
    some = np.sort(np.argpartition(-scores, count - 1, axis=-1)[..., :count], axis=-1)
    edge = np.take_along_axis(scores, some, axis=-1).min(axis=-1, keepdims=True)
    if ((scores >= edge).sum(axis=-1) > count).any():  # which of equal ones: sort them all
        return np.argsort(-scores, axis=-1, kind="stable")[..., :count]
    order = np.argsort(-np.take_along_axis(scores, some, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(some, order, axis=-1)


def _rescaled(P: np.ndarray) -> np.ndarray:
    """`measures.locality.similarity`, in NumPy."""
    gram = P @ P.T
    return gram / np.abs(gram).max()
