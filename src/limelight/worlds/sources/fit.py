"""How an image of any shape becomes a square of one size."""

import math
from dataclasses import dataclass

from PIL import Image

from limelight._core.errors import InputError, check_word

WAYS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


#: Longer sides than this many shorter ones would take too much memory to resize.
LONGEST = 20


@dataclass(frozen=True)
class Fit:
    """A square of `side` pixels.

    The shorter side is resized to `side / crop`, or both where the image is stretched, and the
    middle is cut out. Roundings are torchvision's, which timm uses. Hugging Face's differ where the
    middle is half a pixel off: there it begins before it, here at the even pixel.

    Args:
        side: Pixels along a side.
        crop: What is kept of the shorter side.
        stretch: Whether the whole image is made a square, whatever its shape.
        way: How it is resized, one of `WAYS`.
        before: Whether a middle that is half a pixel off begins before it.
    """

    side: int
    crop: float = 1.0
    stretch: bool = True
    way: str = "bicubic"
    before: bool = False

    def __post_init__(self) -> None:
        check_word("interpolation", self.way, tuple(WAYS))
        if not 0 < self.crop <= 1:
            raise InputError(f"crop = {self.crop:g}", "above 0, at most 1")

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height before the middle is cut out.

        Example:
            >>> Fit(224, 0.875, stretch=False).size(500, 375)
            (341, 256)
            >>> Fit(224).size(500, 375)
            (224, 224)
        """
        short = int(self.side / self.crop)
        if self.stretch:
            return short, short
        if width <= height:
            return short, int(short * height / width)
        return int(short * width / height), short

    def __call__(self, image: Image.Image) -> Image.Image:
        """The image as that square."""
        if not self.stretch and max(image.size) > LONGEST * min(image.size):
            raise InputError(
                f"an image of {image.width} x {image.height} pixels has no middle square",
                "stretch=True makes it one",
            )
        size = self.size(*image.size)
        if image.size != size:
            image = image.resize(size, WAYS[self.way])
        start = math.floor if self.before else round
        left, top = (start((whole - self.side) / 2) for whole in size)
        if (left, top) == (0, 0) and size == (self.side, self.side):
            return image
        return image.crop((left, top, left + self.side, top + self.side))
