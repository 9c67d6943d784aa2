"""Worlds that the statements speak of, drawn on the sphere, and the loss of attention on them."""

import numpy as np

from limelight._core.errors import InputError


def drawn_world(
    samples: int, tokens: int, dimension: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Tokens, queries and scores of a world on the sphere.

    Example:
        >>> X, Z, scores = drawn_world(2, 3, 4, 0)
        >>> X.shape, Z.shape, scores.shape
        ((2, 3, 4), (2, 4), (2, 3))
    """
    if min(samples, tokens - 1, dimension) < 1 or samples * tokens * dimension > 100_000:
        raise InputError(
            f"samples = {samples}, tokens = {tokens}, dimension = {dimension}",
            "at least 1, 2 and 1; their product at most 100,000",
        )
    random = np.random.default_rng(seed)
    unit = lambda *shape: (lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True))(
        random.normal(size=shape)
    )
    X, Z, v = unit(samples, tokens, dimension), unit(samples, dimension), unit(dimension)
    return X, Z, random.choice([-1.0, 1.0], size=(samples, 1)) * (X @ v)


def loss_and_pull(
    X: np.ndarray, Z: np.ndarray, scores: np.ndarray, W: np.ndarray
) -> tuple[float, np.ndarray]:
    """The logistic loss at W, and minus its gradient."""
    logits = np.einsum("itj,jk,ik->it", X, W, Z)
    s = np.exp(logits - logits.max(axis=1, keepdims=True))
    s /= s.sum(axis=1, keepdims=True)
    mean = (s * scores).sum(axis=1)
    slopes = 1 / (1 + np.exp(mean))
    weights = slopes[:, None] * s * (scores - mean[:, None])
    pull = np.einsum("it,itj,ik->jk", weights, X, Z) / len(X)
    return float(np.log1p(np.exp(-mean)).mean()), pull
