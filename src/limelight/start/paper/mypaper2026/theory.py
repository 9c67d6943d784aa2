"""The statements of the paper as functions: every condition with both its sides."""

from limelight.theory import Bound, Condition


def theorem1(noise: float = 0.5, width: int = 8, examples: int = 64) -> Bound:
    """Theorem 1: with n examples the error is at most sigma sqrt(width / n), for small noise.

    This stands for the theorem of your paper.
    """
    value = noise * (width / examples) ** 0.5
    conditions = (Condition("small noise", noise, "<=", 1.0),)
    return Bound("error", value, "sufficient", conditions, reference="mypaper2026, Theorem 1")
