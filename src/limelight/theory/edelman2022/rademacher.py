r"""Definition A.1 where the supremum is known: linear functionals, drawn, beside the bounds.

For $\{x \mapsto v \cdot x : |v| \le B\}$ the supremum is reached at a $v$ along
$\sum_i \epsilon_i x_i$, so

$$\hat R = \frac{B}{m} E_\epsilon \Big| \sum_i \epsilon_i x_i \Big|
   \le \frac{B B_X}{\sqrt m},$$

and the chain of Lemmas A.2 and A.10 must be above it.
"""

import math

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.theory.base import Bound, Condition
from limelight.theory.covering import dudley, zhang


def drawn_complexity(points: np.ndarray, norm: Real, draws: int, seed: int = 0) -> np.ndarray:
    """The supremum over linear functionals for every draw of signs, over the number of points."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(draws, len(points)))
    return float(norm) * np.linalg.norm(signs @ points, axis=1) / len(points)


def complexity(
    dimension: int = 16,
    examples: int = 1000,
    norm: Real = 1.0,
    radius: Real = 1.0,
    draws: int = 2000,
    seed: int = 0,
) -> Bound:
    """The empirical Rademacher complexity of linear functionals, by draws, and what bounds it.

    Args:
        dimension: Of the points, which lie on a sphere.
        examples: Points.
        norm: Largest length of a functional.
        radius: Length of a point.
        draws: Draws of the signs.
        seed: Of points and signs.

    Reference: edelman2022, Definition A.1, Lemmas A.2 and A.10.
    """
    if dimension < 1 or examples < 1 or draws < 2 or seed < 0:
        raise InputError(
            f"dimension = {dimension}, examples = {examples}, draws = {draws}, seed = {seed}",
            "at least 1, 1, 2 and 0",
        )
    if not (norm >= 0 and radius >= 0):
        raise InputError(f"norm = {norm:g}, radius = {radius:g}", "at least 0")
    points = np.random.default_rng(seed).normal(size=(examples, dimension))
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    drawn = drawn_complexity(points, norm, draws, seed + 1)
    chain, _ = dudley(lambda e: zhang(norm, radius, e, examples), norm * radius, examples)
    value, error = float(drawn.mean()), float(drawn.std(ddof=1) / math.sqrt(draws))
    closed = norm * radius / math.sqrt(examples)
    return Bound(
        "empirical Rademacher complexity of linear functionals",
        value,
        "prediction",
        (
            Condition("at most B B_X / sqrt(m)", value - 4 * error, "<=", closed),
            Condition("at most what covering and Dudley's sum give", value, "<=", chain),
        ),
        quantities={"standard error": error, "closed form": closed, "by covering": chain},
        reference="edelman2022, Definition A.1",
    )
