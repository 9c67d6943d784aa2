"""How a network wants its images: resized, cropped, and scaled."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight._core import manifests
from limelight._core.errors import InputError
from limelight._core.files import read_regular

if TYPE_CHECKING:
    from limelight.worlds.sources.fit import Fit

#: Mean and deviation by channel of pixels from 0 to 1, where they have a name.
SCALES = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": ((0.5,), (0.5,)),
    "clip": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
}
#: The same from the images themselves: both moments, or the mean alone.
OWN = ("data", "centred")


@dataclass(frozen=True)
class Pixels:
    """What is done to an image before it is cut into patches.

    The shorter side is resized to `side / crop`, or both where it is stretched, and the middle of
    `side` pixels is cut out.

    Args:
        mean: By channel, of pixels from 0 to 1.
        deviation: By channel.
        crop: What is kept of the shorter side.
        stretch: Whether the image is made a square first, whatever its shape.
        way: How an image is resized; see `worlds.sources.fit`.
        source: Who says so.
        side: Of the squares that it makes, where that is said.
        before: Where a middle that is half a pixel off begins; see `worlds.sources.fit`.

    Example:
        >>> import limelight as ll
        >>> ll.models.Pixels(mean=(0.5,), deviation=(0.5,)).way
        'bicubic'
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    crop: float = 1.0
    stretch: bool = False
    way: str = "bicubic"
    source: str = ""
    side: int | None = None
    before: bool = False

    def __post_init__(self) -> None:
        self.fit(1)
        for values in (self.mean, self.deviation):
            if len(values) not in (1, 3) or not all(isinstance(v, (int, float)) for v in values):
                raise InputError(f"pixels by {values}", "one number, or one per colour")
        if not all(v > 0 for v in self.deviation):
            raise InputError(f"a deviation of {min(self.deviation):g}", "above 0")

    def fit(self, side: int) -> "Fit":
        """How an image becomes a square of this side."""
        from limelight.worlds.sources.fit import Fit  # its package loads JAX

        return Fit(side, self.crop, self.stretch, self.way, self.before)

    @property
    def word(self) -> str:
        """The name of the scale, or its numbers."""
        for word, (mean, deviation) in SCALES.items():
            if _close(mean, self.mean) and _close(deviation, self.deviation):
                return word
        numbers = lambda values: ", ".join(f"{v:g}" for v in values)
        return f"mean {numbers(self.mean)}; deviation {numbers(self.deviation)}"

    def same(self, other: "Pixels") -> bool:
        """Whether another does the same to an image of any size, within half a pixel."""
        ways = [(one.stretch, one.way, f"{one.crop:.3f}") for one in (self, other)]
        close = _close(self.mean, other.mean) and _close(self.deviation, other.deviation)
        return close and ways[0] == ways[1]

    def __str__(self) -> str:
        fit = "stretched to a square" if self.stretch else "cut to the middle square"
        share = "" if self.crop == 1 else f", {self.crop:.4g} of its side kept"
        return f"{self.word}, {fit}{share}, {self.way}"


def _close(a, b) -> bool:
    longest = max(len(a), len(b))
    full = lambda v: tuple(v) * longest if len(v) == 1 else tuple(v)
    return all(abs(x - y) < 5e-4 for x, y in zip(full(a), full(b), strict=True))


def read_json(path: Path) -> dict[str, Any] | None:
    """An object in a JSON file; nothing where there is none, and one line where it is damaged."""
    try:
        found = manifests.read_json(read_regular(path, manifests.MOST_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check it") from None
    except manifests.Broken as error:
        raise InputError(f"{path}: {error}", "it is damaged, or of another kind") from None
    return found if isinstance(found, dict) else None
