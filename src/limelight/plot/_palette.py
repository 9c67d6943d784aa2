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

CONTRAST = 4.5
"""How much words stand out from white at least, as the W3C defines it."""


def readable(colour: str) -> str:
    """A colour for words on white: darker where it must be.

    Example:
        >>> readable("#0072b2"), readable("#e69f00")
        ('#0072b2', '#996a00')
    """
    rgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    while _contrast(rgb) < CONTRAST:
        rgb = [0.96 * part for part in rgb]
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _contrast(rgb: list[float]) -> float:
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb]
    return 1.05 / (sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05)
