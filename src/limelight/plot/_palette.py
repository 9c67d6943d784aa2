"""Sizes and colours of every figure, whoever draws it."""

TITLE, LABEL, TICK, NOTE = 8.5, 7.5, 6.5, 5.5
"""Font sizes in points."""

INK, MUTED, FAINT = "#1a1a1a", "#595959", "#d9d9d9"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "p", ">")
DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)))

STOPS = (
    *("#192531", "#1b3d56", "#1d5779", "#277199", "#408db4"),
    *("#62a9cc", "#8bc4df", "#badfef", "#f0f8fb"),
)
"""Of maps, even in CIE lightness: dark to light."""
