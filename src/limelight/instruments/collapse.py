r"""Token similarity against depth, and the two laws that speak of it.

**Rank collapse** (Dong, Cordonnier and Loukas 2021, "Attention is not all you need"): through
attention alone, without sums and perceptrons, tokens become equal doubly exponentially,

$$|\mathrm{res}(X_L)| \le \left( \frac{4 \beta H}{\sqrt{d_{qk}}} \right)^{(3^L - 1)/2}
   |\mathrm{res}(X_0)|^{3^L}, \qquad \mathrm{res}(X) = X - 1 x^\top$$

in the norm $(|\cdot|_1 |\cdot|_\infty)^{1/2}$, with $\beta \ge |W_{QK}|_1 |W_V|_{1, \infty}$. The
bound says something only while $4 \beta H |\mathrm{res}|^2 / \sqrt{d_{qk}} < 1$: that number is the
`grip` of a block, and what it bounds is the `factor` by which the block's attention changes the
residual. Where it is above 1, the collapse measured beside it is not the theorem's.

**xu2022**: attention among tokens around centres moves them towards their centres. The spread that
it leaves (`overlay.law`) is below 1 where tokens of a cluster become more alike; it speaks of the
inside of clusters, not of all tokens.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight.measures.similarity import ALONE, DEFINITIONS, RESIDUAL
from limelight.models.layers import Attention
from limelight.models.vit import ViT

#: Below this a change over the whole depth is called none.
STEADY = 0.05


@dataclass(frozen=True)
class Similarity:
    r"""How alike tokens are, by depth; 0 is what enters the first block.

    Args:
        values: By name, images first: see `measures.similarity`.
        grip: $4 \beta H |\mathrm{res}|^2 / \sqrt{d_{qk}}$ by block; the theorem says something
            where it is below 1.
        factor: What the theorem bounds, as measured: $|\mathrm{res}|$ after attention over that
            before.
    """

    values: dict[str, Float[np.ndarray, "images depths"]]
    grip: Float[np.ndarray, " blocks"]
    factor: Float[np.ndarray, " blocks"]

    def mean(self, name: str) -> Float[np.ndarray, " depths"]:
        """Over images."""
        return self.values[name].mean(axis=0)

    def spread(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest image."""
        return self.values[name].min(axis=0), self.values[name].max(axis=0)

    def trend(self, name: str) -> str:
        """Whether tokens are more alike after the last block than after the first."""
        path = self.mean(name)
        change = float(path[-1] - path[1])
        return "steady" if abs(change) < STEADY else "rises" if change > 0 else "falls"

    def as_json(self) -> dict[str, Any]:
        """Means over images by depth, and what each definition is."""
        names = (*DEFINITIONS, RESIDUAL, ALONE, f"{RESIDUAL}_{ALONE}")
        rounded = lambda values: [float(f"{value:.6g}") for value in values]
        found = {name: rounded(self.mean(name)) for name in names}
        trends = {name: self.trend(name) for name in DEFINITIONS}
        return found | {
            "trends": trends,
            "rank_collapse_grip": rounded(self.grip),
            "rank_collapse_factor": rounded(self.factor),
        }


def grip(model: ViT, residuals: Float[np.ndarray, " blocks"]) -> Float[np.ndarray, " blocks"]:
    r"""$4 \beta H |\mathrm{res}|^2 / \sqrt{d_{qk}}$ of every block.

    Departures: the theorem has no norm before attention; here its input is what stands after the
        norm, and the gain of the norm is not part of $W_{QK}$. Biases of queries and keys are left
        out, as in the paper.

    Args:
        model: Its weights are read.
        residuals: $|\mathrm{res}|$ of what attention reads, in the theorem's norm, by block.
    """
    sizes = [float(size) for size in residuals]
    return np.array([_grip(b.attention, r) for b, r in zip(model.blocks, sizes, strict=True)])


def _grip(att: Attention, size: Real) -> float:
    heads = lambda one: np.split(np.asarray(one.weight, dtype=float), att.heads, axis=1)
    outs = np.split(np.asarray(att.output.weight, dtype=float), att.heads, axis=0)
    maps = zip(heads(att.query), heads(att.key), heads(att.value), outs, strict=True)
    beta = max(_one(q @ k.T) * mixed_norm(v @ o) for q, k, v, o in maps)
    width = att.query.weight.shape[1] / att.heads
    return float(4 * beta * att.heads * size**2 / np.sqrt(width))


def _one(W: np.ndarray) -> float:
    """The largest sum of the magnitudes in a column."""
    return float(abs(W).sum(axis=0).max())


def mixed_norm(W: Float[np.ndarray, "rows columns"]) -> float:
    r"""$(|W|_1 |W|_\infty)^{1/2}$: from the largest sums of magnitudes in a column and in a row.

    Example:
        >>> round(mixed_norm(np.array([[1.0, -1.0], [0.0, 8.0]])), 4)
        8.4853
    """
    return float(np.sqrt(_one(W) * _one(W.T)))
