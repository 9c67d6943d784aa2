"""Theory: statements as functions that show every condition with both sides.

`base` Condition and Bound; then one module a paper key.
"""

from limelight.theory.base import Bound, Condition

__all__ = ["Bound", "Condition"]
