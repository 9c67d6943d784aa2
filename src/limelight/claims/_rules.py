"""Rules: what an interval says of a claim, and the same in words.

A rule reads the ends of an interval and says `holds`, `fails` or `inconclusive`. Its text is made
from the same numbers, so that text and code cannot drift apart.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

#: What is said of a claim. `not applicable`: it speaks of nothing that the table holds, such as an
#: empty set. `not run`: there is no table.
Decision = Literal["holds", "fails", "inconclusive", "not applicable", "not run"]
DECISIONS = get_args(Decision)

#: Two ends; one or both may be infinite.
Span = tuple[float, float]


@dataclass(frozen=True)
class AtLeast:
    """Holds when the whole interval is at or above the level, fails when it is all below.

    Example:
        >>> rule = AtLeast(0.9)
        >>> rule(0.9, 1.0), rule(0.8, 1.0), rule(0.7, 0.8)
        ('holds', 'inconclusive', 'fails')
    """

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.level, math.inf)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low >= self.level else "fails" if high < self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the lower end >= {self.level:g}, fails if the upper end < {self.level:g}"


@dataclass(frozen=True)
class AtMost:
    """Holds when the whole interval is at or below the level, fails when it is all above.

    Example:
        >>> rule = AtMost(0.2)
        >>> rule(0.1, 0.2), rule(0.1, 0.3), rule(0.3, 0.4)
        ('holds', 'inconclusive', 'fails')
    """

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (-math.inf, self.level)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if high <= self.level else "fails" if low > self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the upper end <= {self.level:g}, fails if the lower end > {self.level:g}"


@dataclass(frozen=True)
class Above:
    """Holds when the whole interval is above the level, fails when it is all below.

    Example:
        >>> rule = Above(0.0)
        >>> rule(0.1, 0.4), rule(-0.1, 0.4), rule(-0.3, -0.1)
        ('holds', 'inconclusive', 'fails')
    """

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.level, math.inf)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low > self.level else "fails" if high < self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the lower end > {self.level:g}, fails if the upper end < {self.level:g}"


@dataclass(frozen=True)
class Below:
    """Holds when the whole interval is below the level, fails when it is all above.

    Example:
        >>> rule = Below(1.0)
        >>> rule(0.1, 0.9), rule(0.5, 1.5), rule(1.1, 1.5)
        ('holds', 'inconclusive', 'fails')
    """

    level: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (-math.inf, self.level)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if high < self.level else "fails" if low > self.level else "inconclusive"

    def __str__(self) -> str:
        return f"holds if the upper end < {self.level:g}, fails if the lower end > {self.level:g}"


@dataclass(frozen=True)
class Inside:
    """Holds when the interval lies inside [low, high], fails when it is disjoint from it.

    Example:
        >>> rule = Inside(1.5, 2.5)
        >>> rule(1.8, 2.2), rule(2.0, 3.0), rule(2.6, 3.0)
        ('holds', 'inconclusive', 'fails')
    """

    low: float
    high: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.low, self.high)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        if self.low <= low and high <= self.high:
            return "holds"
        return "fails" if high < self.low or low > self.high else "inconclusive"

    def __str__(self) -> str:
        span = f"[{self.low:g}, {self.high:g}]"
        return f"holds if the interval lies inside {span}, fails if it is disjoint from it"


@dataclass(frozen=True)
class Bands:
    """Holds at or above `high`, fails at or below `low`, for a share without an interval.

    Example:
        >>> rule = Bands(0.2, 0.8)
        >>> rule(0.9, 0.9), rule(0.5, 0.5), rule(0.1, 0.1)
        ('holds', 'inconclusive', 'fails')
    """

    low: float
    high: float

    @property
    def region(self) -> Span:
        """Where it holds."""
        return (self.high, math.inf)

    def __call__(self, low: float, high: float) -> Decision:
        """Decide from the ends of an interval."""
        return "holds" if low >= self.high else "fails" if high <= self.low else "inconclusive"

    def __str__(self) -> str:
        return f"holds if >= {self.high:g}, fails if <= {self.low:g}"


Rule = AtLeast | AtMost | Above | Below | Inside | Bands
