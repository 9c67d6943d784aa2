"""What a ViT takes in: how many patches of how many pixels, and how those are scaled."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from limelight._core.arrays import Real
from limelight._core.errors import InputError, check_word
from limelight.measures.locality import side_of
from limelight.models.pretrained import Pretrained
from limelight.models.pretrained.pixels import OWN, SCALES, Pixels
from limelight.models.vit import ViT
from limelight.worlds.sources import Fit, Pictures

#: How much of grey there is in red, green and blue.
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Sight:
    """The input of a ViT: a square grid of square patches.

    Args:
        grid: Patches along a side.
        patch: Pixels along the side of one.
        channels: Numbers per pixel.
        pixels: How the network wants images, where that is known.
        unclear: Why it is not, where something says it and is not understood.

    Example:
        >>> Sight(grid=14, patch=16, channels=3).side  # pixels along an image
        224
    """

    grid: int
    patch: int
    channels: int
    pixels: Pixels | None = None
    unclear: str = ""

    @classmethod
    def of(cls, network: ViT | Pretrained) -> "Sight":
        """Read off the shapes: with 3 channels or 1, only one makes a patch square."""
        read = isinstance(network, Pretrained)
        pixels, unclear = (network.pixels, network.unclear) if read else (None, "")
        model = network.model if read else network
        numbers = model.embed.weight.shape[0]
        for channels in (3, 1):
            patch = round((numbers / channels) ** 0.5)
            if patch * patch * channels == numbers:
                return cls(side_of(model.patches), patch, channels, pixels, unclear)
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

    def prepared(self, word: str = "", stretch: bool = False) -> tuple["Sight", str]:
        """With the pixels that a word asks for, and in words what is done to them.

        Args:
            word: One of `SCALES` or `OWN`; by default what the network's configuration says.
            stretch: Whether images are made squares whole.

        Raises:
            InputError: Where nobody says how a network in colour wants its pixels.
        """
        words = (*SCALES, *OWN)
        if word:
            check_word("pixels", word, words)
        if not word and self.pixels is None:
            if self.channels == 3:
                raise InputError(
                    self.unclear
                    or "how this network wants its pixels is not in the file or beside it",
                    f"say pixels=..., one of {', '.join(words)}; or like=... with the name of its"
                    " weights in timm",
                )
            word = "data"  # grey ones are trained here
        base = self.pixels or Pixels((0.0,), (1.0,))
        if word in SCALES:
            mean, deviation = SCALES[word]
            base = dataclasses.replace(base, mean=mean, deviation=deviation)
        base = dataclasses.replace(base, stretch=base.stretch or stretch)
        if stretch:
            base = dataclasses.replace(base, crop=1.0)
        told = str(base) if word not in OWN else str(base).replace(base.word, word, 1)
        return dataclasses.replace(self, pixels=base), told

    @property
    def whole(self) -> Fit:
        """How an image becomes what the ViT sees."""
        return Fit(self.side) if self.pixels is None else self.pixels.fit(self.side)

    def fit(
        self, image: UInt8[np.ndarray, "height width colours"], side: int | None = None
    ) -> UInt8[np.ndarray, "side side channels"]:
        """The image with the ViT's channels and fitted to it, or stretched to a given side."""
        fit = self.whole if side is None else Fit(side)
        plain = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
        return self.coloured(np.asarray(fit(plain)).reshape(fit.side, fit.side, -1))

    def coloured(
        self, image: UInt8[np.ndarray, "height width colours"]
    ) -> UInt8[np.ndarray, "height width channels"]:
        """The image with the ViT's channels."""
        if image.shape[2] == self.channels:
            return image
        if self.channels == 3:
            return np.repeat(image, 3, axis=2)
        grey = image.astype(np.float32) @ np.array(LUMA, np.float32)
        return np.rint(grey)[..., None].astype(np.uint8)

    def moments(self, found: Pictures, scale: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation by channel that pixels from 0 to 1 are moved and divided by."""
        if scale.split(",")[0] in OWN or self.pixels is None:
            mean, deviation = found.mean, found.deviation
        else:
            mean, deviation = self.pixels.mean, self.pixels.deviation
        if len(mean) == 3 and self.channels == 1:  # the images are in colour, the ViT is not
            mean, deviation = (float(np.dot(LUMA, m)) for m in (mean, deviation))
        spread = np.ones(self.channels) if scale.startswith("centred") else np.asarray(deviation)
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
