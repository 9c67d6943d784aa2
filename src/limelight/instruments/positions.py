"""What the positions of a ViT know of the grid, beside positions drawn afresh."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from limelight.core.types import PRNGKey
from limelight.engine.device import by_library
from limelight.measures.association import association_overlap, chance_overlap
from limelight.measures.locality import cosines, locality, neighbour_share, side_of, similarity

#: Fresh positions to compare with.
DRAWS = 200


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
    groups = partitions(side_of(len(encodings)))
    trained, drawn, maps, fresh = by_library(_read)(encodings, jr.key(seed))
    association = {
        name: {
            "overlap": round(float(trained[2][name]), 6),
            "fresh": round(float(np.mean(drawn[2][name])), 6),
            "chance": round(chance_overlap(len(sets), int(np.bincount(sets)[0])), 6),
        }
        for name, sets in groups.items()
    }
    return Positions(
        locality=float(trained[0]),
        largest=float(np.max(drawn[0])),
        neighbours=float(trained[1]),
        neighbours_fresh=float(np.mean(drawn[1])),
        association=association,
        similarity=np.asarray(maps),
        fresh=np.asarray(fresh),
    )


def _read(P: Float[Array, "patches width"], key: PRNGKey):
    """Scores of positions and of fresh draws; similarities of the positions and the first draw."""
    keys = jr.split(key, DRAWS)
    drawn = jax.lax.map(lambda k: _scores(jr.normal(k, P.shape)), keys, batch_size=10)
    return _scores(P), drawn, similarity(P), similarity(jr.normal(keys[0], P.shape))


def _scores(P: Float[Array, "patches width"]):
    groups = partitions(side_of(len(P)))
    overlap = lambda sets: association_overlap(cosines(P), jnp.asarray(sets), offdiag=True)
    return locality(P), neighbour_share(P), {name: overlap(groups[name]) for name in groups}
