"""How a network wants its images: resized, cropped, and scaled."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight._core.errors import InputError

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
#: Pillow's numbers for them, as Hugging Face writes them.
RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}


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

        return Fit(side, self.crop, self.stretch, self.way)

    @property
    def word(self) -> str:
        """The name of the scale, or its numbers."""
        for word, (mean, deviation) in SCALES.items():
            if _close(mean, self.mean) and _close(deviation, self.deviation):
                return word
        numbers = lambda values: ", ".join(f"{v:g}" for v in values)
        return f"mean {numbers(self.mean)}; deviation {numbers(self.deviation)}"

    def __str__(self) -> str:
        fit = "stretched to a square" if self.stretch else "cut to the middle square"
        share = "" if self.crop == 1 else f", {self.crop:.4g} of its side kept"
        return f"{self.word}, {fit}{share}, {self.way}"


def _close(a, b) -> bool:
    longest = max(len(a), len(b))
    full = lambda v: tuple(v) * longest if len(v) == 1 else tuple(v)
    return all(abs(x - y) < 5e-4 for x, y in zip(full(a), full(b), strict=True))


def of_timm(values: Mapping[str, Any], source: str) -> Pixels | None:
    """From timm's `pretrained_cfg`, or nothing where it does not say."""
    if "mean" not in values or "std" not in values:
        return None
    crop = values.get("crop_pct") or 1.0
    stretch = values.get("crop_mode", "center") == "squash"
    way = values.get("interpolation", "bicubic")
    return _made(values["mean"], values["std"], crop, stretch, way, source)


def of_row(row: list[Any], source: str) -> Pixels:
    """From a row of `timm.json`."""
    mean, std, way, crop, mode, _ = row
    given = {"mean": mean, "std": std, "interpolation": way, "crop_pct": crop, "crop_mode": mode}
    found = of_timm(given, source)
    assert found is not None
    return found


def of_processor(values: Mapping[str, Any], source: str) -> Pixels | None:
    """From Hugging Face's `preprocessor_config.json`."""
    mean, std = values.get("image_mean"), values.get("image_std")
    if not values.get("do_normalize", True):
        mean, std = (0.0,), (1.0,)
    if mean is None or std is None:
        return None
    if not values.get("do_rescale", True):
        raise InputError(f"{source}: its pixels are not divided by 255", "say pixels=...")
    way = values.get("resample", 2)
    return _made(mean, std, *_crop(values), RESAMPLE.get(way, way), source)


def _crop(values: Mapping[str, Any]) -> tuple[float, bool]:
    """The share of the side that is kept, and whether images are stretched first."""
    size, cropped = values.get("size"), values.get("crop_size")
    kind = str(values.get("image_processor_type", values.get("feature_extractor_type", "")))
    if isinstance(size, Mapping):
        stretch = "shortest_edge" not in size
        size = size.get("shortest_edge", size.get("height"))
    else:  # one number: CLIP's processors take the shorter side, the others a square
        stretch = not kind.startswith(("CLIP", "Siglip", "Bit"))
    if isinstance(cropped, Mapping):
        cropped = cropped.get("height", cropped.get("shortest_edge"))
    if not values.get("do_resize", True):
        stretch = False
    if not values.get("do_center_crop", False) or not isinstance(cropped, int):
        return 1.0, stretch
    return (min(1.0, cropped / size) if isinstance(size, int) else 1.0), stretch


def of_open_clip(values: Mapping[str, Any], source: str) -> Pixels | None:
    """From the `preprocess_cfg` of open_clip's configuration."""
    mean, std = values.get("mean"), values.get("std")
    if mean is None or std is None:
        return None
    stretch = values.get("resize_mode") == "squash"
    return _made(mean, std, 1.0, stretch, values.get("interpolation", "bicubic"), source)


def _made(mean: Any, std: Any, crop: Any, stretch: bool, way: Any, source: str) -> Pixels:
    numbers = lambda v: tuple(float(x) for x in (v if isinstance(v, (list, tuple)) else [v]))
    try:
        return Pixels(numbers(mean), numbers(std), float(crop), stretch, str(way), source)
    except (TypeError, ValueError):
        raise InputError(f"{source}: its pixels cannot be read", "say pixels=...") from None


def read_json(path: Path) -> dict[str, Any] | None:
    """An object in a JSON file; nothing where there is none, and one line where it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check it") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON", "it is damaged, or of another kind") from None
    return found if isinstance(found, dict) else None
