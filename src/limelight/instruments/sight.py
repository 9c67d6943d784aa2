"""What a ViT takes in: how many patches of how many pixels, and how those are scaled."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from limelight.core.arrays import Real
from limelight.core.errors import InputError, check_word
from limelight.measures.locality import side_of
from limelight.models.vit import ViT
from limelight.worlds.sources import Pictures

#: Mean and deviation by channel of pixels from 0 to 1.
SCALES = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "half": ((0.5,), (0.5,)),
}
#: The same from the images themselves: both moments, or the mean alone.
OWN = ("data", "centred")
#: How much of grey there is in red, green and blue.
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Sight:
    """The input of a ViT: a square grid of square patches.

    Args:
        grid: Patches along a side.
        patch: Pixels along the side of one.
        channels: Numbers per pixel.
    """

    grid: int
    patch: int
    channels: int

    @classmethod
    def of(cls, model: ViT) -> "Sight":
        """Read off the shapes: with 3 channels or 1, only one makes a patch square."""
        numbers = model.embed.weight.shape[0]
        for channels in (3, 1):
            patch = round((numbers / channels) ** 0.5)
            if patch * patch * channels == numbers:
                return cls(side_of(model.patches), patch, channels)
        raise InputError(
            f"patches of {numbers} numbers are not square, neither in colour nor in grey",
            "a ViT for images has 3 channels or 1",
        )

    @property
    def side(self) -> int:
        """Pixels along a side of an image."""
        return self.grid * self.patch

    @property
    def patches(self) -> int:
        """Patches of an image."""
        return self.grid**2

    def scale(self, word: str) -> str:
        """The name of a scale; by default ImageNet's in colour, the images' own in grey."""
        word = word or ("imagenet" if self.channels == 3 else "data")
        check_word("pixels", word, (*SCALES, *OWN))
        return word

    def fit(
        self, image: UInt8[np.ndarray, "height width colours"], side: int | None = None
    ) -> UInt8[np.ndarray, "side side channels"]:
        """The image with the ViT's channels, resized (bicubic) to this side or to the ViT's own."""
        side = side or self.side
        if image.shape[:2] != (side, side):
            plain = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
            resized = plain.resize((side, side), Image.Resampling.BICUBIC)
            image = np.asarray(resized).reshape(side, side, -1)
        if image.shape[2] == self.channels:
            return image
        if self.channels == 3:
            return np.repeat(image, 3, axis=2)
        grey = image.astype(np.float32) @ np.array(LUMA, np.float32)
        return np.rint(grey)[..., None].astype(np.uint8)

    def moments(self, found: Pictures, scale: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation by channel that pixels from 0 to 1 are moved and divided by."""
        mean, deviation = SCALES.get(scale, (found.mean, found.deviation))
        if len(mean) == 3 and self.channels == 1:  # the images are in colour, the ViT is not
            mean, deviation = (float(np.dot(LUMA, m)) for m in (mean, deviation))
        spread = np.ones(self.channels) if scale == "centred" else np.asarray(deviation)
        return np.broadcast_to(mean, self.channels), np.broadcast_to(spread, self.channels)

    def tokens(
        self,
        images: UInt8[np.ndarray, "count side side channels"],
        brightest: Real,
        moments: tuple[np.ndarray, np.ndarray],
    ) -> Float[np.ndarray, "count patches numbers"]:
        """Scaled patches, row by row; in each its pixels, row by row, channels last."""
        mean, deviation = moments
        pixels = (images.astype(np.float32) / float(brightest) - mean) / deviation
        g, p = self.grid, self.patch
        cut = pixels.reshape(len(images), g, p, g, p, self.channels).swapaxes(2, 3)
        return cut.reshape(len(images), g * g, -1).astype(np.float32)
