r"""How far the cluster model of xu2022 describes the attention of a real head.

The model has tokens $u_k + h$ around centres, and logits $\lambda \langle x_i, x_j \rangle$. A real
head has neither; so clusters are found among the tokens that it reads, $\lambda$ is the slope of
its logits on inner products, and the law for these numbers stands beside what the head does to the
same tokens, its values left as they are. $R^2$ of the slope says how far the head is of that kind.

Centres are means of the very tokens that are averaged, so noise that a cluster has in common is
part of its centre and nothing averages it away: see `law`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from limelight._core.arrays import Real

Tokens = Float[np.ndarray, "patches width"]
Labels = Int[np.ndarray, " patches"]
#: Clusters tried; the silhouette chooses.
CLUSTERS = range(2, 9)
#: Starts of k-means, and steps at most.
STARTS, STEPS = 4, 50
#: A sum of points whose squared length is below this has no direction.
TINY = 1e-12


@dataclass(frozen=True)
class Overlay:
    r"""The cluster model fitted to one block on one image.

    Args:
        clusters: How many, their $C$.
        silhouette: How well they are told apart, from -1 to 1.
        sigma: Root mean square distance from the centres over their mean length.
        strength: Slope of the logits of every head, their $\lambda$.
        r_squared: Share of the variance of logits in a row that the slope explains, by head.
        predicted: Distance from the centres after attention over that before; see `law`.
        measured: The same, by the head's own weights.
    """

    clusters: int
    silhouette: float
    sigma: float
    strength: Float[np.ndarray, " heads"]
    r_squared: Float[np.ndarray, " heads"]
    predicted: Float[np.ndarray, " heads"]
    measured: Float[np.ndarray, " heads"]


def overlay(
    tokens: Tokens, weights: Float[np.ndarray, "heads patches patches"], seed: int = 0
) -> Overlay:
    r"""Fit the cluster model to what a block reads.

    Departures: centres keep their own lengths, divided by the mean one; the model's are 1.

    Args:
        tokens: Patches after the norm, clean.
        weights: Attention among the patches; rows are made to add up to 1.
        seed: Of the starts of k-means.
    """
    Z = tokens - tokens.mean(axis=0)
    labels, score = best_clusters(Z, seed)
    sizes = np.bincount(labels)
    centres = np.stack([Z[labels == k].mean(axis=0) for k in range(len(sizes))])
    length = float(np.linalg.norm(centres, axis=1) @ sizes / len(Z))
    Z, centres = Z / length, centres / length
    apart = lambda rows: float(np.sqrt(((rows - centres[labels]) ** 2).sum(axis=1).mean()))
    sigma = apart(Z)
    A = weights / weights.sum(axis=-1, keepdims=True)
    products, logits = Z @ Z.T, np.log(np.maximum(A, 1e-30))
    slopes = [slope(products, head) for head in logits]
    strength, r_squared = (np.array(part) for part in zip(*slopes, strict=True))
    predicted = np.array([law(centres, sizes, sigma, lam) for lam in strength])
    measured = np.array([apart(head @ Z) / sigma for head in A])
    return Overlay(len(sizes), score, sigma, strength, r_squared, predicted, measured)


def law(
    centres: Float[np.ndarray, "clusters width"],
    sizes: Int[np.ndarray, " clusters"],
    sigma: Real,
    strength: Real,
) -> float:
    r"""Root mean square distance from the sample centres after attention, over that before.

    With $\tilde h_i = x_i - c_k$, which adds up to 0 over a cluster, and $d \to \infty$,

    $$x_i' - c_k = \frac{\alpha - 1}{Z} \tilde h_i + \frac1Z \sum_{b \ne k} \beta_b (c_b - c_k)$$

    with $\alpha = e^{\lambda \sigma^2 m_k / (m_k - 1)}$,
    $\beta_b = m_b e^{-\lambda (|c_k|^2 - \langle c_k, c_b \rangle - \sigma^2 / (m_k - 1))}$ and
    $Z = \alpha + m_k - 1 + \sum_b \beta_b$: two tokens of a cluster have the inner product
    $|c_k|^2 - \sigma^2 / (m_k - 1)$, because the noise of the others cancels a token's own.

    Departures: `theory.xu2022.limit` is about true centres, which are not known here; there a
        cluster's mean noise, $1/\sqrt{m_k}$ of it, counts as an error.

    Reference: ours, from xu2022's model.
    """
    G, m = centres @ centres.T, sizes.astype(float)
    k = len(m)
    apart = sigma**2 / np.maximum(m - 1, 1) * (m > 1)
    exponent = strength * (G - (np.diag(G) - apart)[:, None])
    own = strength * apart * m
    top = np.maximum(exponent.max(axis=1), own)  # taken out, so that nothing overflows
    beta = m * np.exp(exponent - top[:, None]) * (1 - np.eye(k))
    alpha, one = np.exp(own - top), np.exp(-top)
    Z = alpha + (m - 1) * one + beta.sum(axis=1)
    shift = (beta @ centres - beta.sum(axis=1, keepdims=True) * centres) / Z[:, None]
    square = ((alpha - one) / Z) ** 2 * sigma**2 + (shift**2).sum(axis=1)
    return float(np.sqrt(square @ m / m.sum()) / sigma)


def slope(
    products: Float[np.ndarray, "rows keys"], logits: Float[np.ndarray, "rows keys"]
) -> tuple[float, float]:
    r"""The slope of logits on inner products within rows, and its $R^2$; a softmax ignores means.

    Example:
        >>> x = np.arange(6.0).reshape(2, 3) ** 2
        >>> [round(v, 6) for v in slope(x, 3 * x + np.array([[1.0], [-7.0]]))]
        [3.0, 1.0]
    """
    centred = lambda m: m - m.mean(axis=1, keepdims=True)
    x, y = centred(products), centred(logits)
    b = float((x * y).sum() / (x * x).sum())
    return b, float(1.0 - ((y - b * x) ** 2).sum() / (y * y).sum())


def best_clusters(points: Tokens, seed: int = 0) -> tuple[Labels, float]:
    """Spherical k-means with the number of clusters of the best silhouette."""
    unit = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-30)
    rng, found = np.random.default_rng(seed), []
    counts = [c for c in CLUSTERS if c < len(points)]
    starts = [
        rng.choice(len(unit), count, replace=False) for count in counts for _ in range(STARTS)
    ]
    G = unit @ unit.T
    runs, apart = _spherical(G, starts), 1.0 - G
    for i in range(len(counts)):
        labels, _ = max(runs[i * STARTS : (i + 1) * STARTS], key=lambda run: run[1])
        labels = np.unique(labels, return_inverse=True)[1]
        if labels.max():
            found.append((labels, _silhouette(apart, labels)))
    return max(found, key=lambda pair: pair[1])


def _spherical(
    products: Float[np.ndarray, "patches patches"], starts: list[np.ndarray]
) -> list[tuple[Labels, float]]:
    r"""Labels from every start, and the sum of cosines with the centres; all starts at once.

    A centre is $S / |S|$ for the sum $S$ of its points, so inner products of the points are enough.
    """
    n, most = len(products), max(map(len, starts))
    cosines = np.full((len(starts), most, n), -np.inf)  # so where there is no centre
    for run, start in enumerate(starts):
        cosines[run, : len(start)] = products[start]
    labels, going = np.full((len(starts), n), -1), np.arange(len(starts))
    for _ in range(STEPS):
        new = cosines[going].argmax(axis=1)
        moved = (new != labels[going]).any(axis=1)
        going, new = going[moved], new[moved]
        if not len(going):
            break
        labels[going] = new
        member = new[:, None, :] == np.arange(most)[:, None]
        run, place = np.nonzero(member.any(axis=2))  # a centre without points stays where it is
        rows = member[run, place].astype(float)
        sums = rows @ products
        squares = (sums * rows).sum(axis=1)
        some = squares > TINY
        lengths = np.sqrt(squares[some])[:, None]
        cosines[going[run[some]], place[some]] = sums[some] / lengths
    best = cosines.max(axis=1).sum(axis=1)
    return [(labels[run], float(best[run])) for run in range(len(starts))]


def silhouette(unit: Tokens, labels: Labels) -> float:
    """Mean silhouette by cosine distance; a cluster of one counts 0.

    Example:
        >>> points = np.repeat(np.eye(2), 3, axis=0)
        >>> silhouette(points, np.array([0, 0, 0, 1, 1, 1]))
        1.0
    """
    return _silhouette(1.0 - unit @ unit.T, labels)


def _silhouette(apart: Float[np.ndarray, "patches patches"], labels: Labels) -> float:
    sizes = np.bincount(labels)
    sums = apart @ np.eye(len(sizes))[labels]
    rows, own = np.arange(len(apart)), sizes[labels]
    inside = sums[rows, labels] / np.maximum(own - 1, 1)
    others = sums / sizes
    others[rows, labels] = np.inf
    nearest = others.min(axis=1)
    scale = np.maximum(np.maximum(inside, nearest), 1e-30)
    return float(np.where(own > 1, (nearest - inside) / scale, 0.0).mean())
