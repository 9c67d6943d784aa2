"""What configurations say of images, read whole or not at all.

Every key is read, or known to leave the pixels as they are. Any other makes the whole unclear: why
is told then, and images are prepared only as the caller says.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from limelight._core.errors import InputError
from limelight.models.pretrained.pixels import Pixels

#: Pillow's numbers for them, as Hugging Face writes them.
RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
#: What processors of Hugging Face mean where they are silent: how images are resized, whether the
#: middle is cut out, and whether one number for the size is that of a square.
_FAMILIES = {
    "ViT": ("bilinear", False, True),
    "DeiT": ("bicubic", True, True),
    "Beit": ("bicubic", False, True),
    "CLIP": ("bicubic", True, False),
    "Bit": ("bicubic", True, False),
    "Siglip": ("bicubic", False, None),
    "DINOv3ViT": ("bilinear", False, True),
}
#: The processor that transformers takes for a network where none is named.
_USUAL = {
    "vit": "ViT", "vit_mae": "ViT", "vit_msn": "ViT", "deit": "DeiT", "beit": "Beit",
    "clip": "CLIP", "clip_vision_model": "CLIP", "siglip": "Siglip",
    "siglip_vision_model": "Siglip", "dinov2": "Bit", "dinov3_vit": "DINOv3ViT",
}  # fmt: skip
_ENDS = ("ImageProcessorFast", "ImageProcessorPil", "ImageProcessor", "FeatureExtractor")
#: Keys of processors that are read below.
_READ = {
    "image_mean", "image_std", "do_normalize", "do_rescale", "rescale_factor", "do_resize", "size",
    "resample", "do_center_crop", "crop_size", "image_processor_type", "feature_extractor_type",
}  # fmt: skip
#: Keys that leave the pixels of one image as they are: formats, batches, labels, names.
_IDLE = {
    "processor_class", "do_convert_rgb", "data_format", "input_data_format", "return_tensors",
    "device", "default_to_square", "disable_grouping", "do_reduce_labels", "reduce_labels",
    "_processor_class", "transformers_version", "_valid_processor_keys", "do_sample_frames",
    "image_seq_length", "processor_type", "backend",
}  # fmt: skip


class Unclear(InputError):
    """What is said of images is not understood."""

    def __init__(self, source: str, what: str):
        super().__init__(f"{source}: {what}", "say how pixels are scaled: pixels=...")


def of_timm(values: Mapping[str, Any], source: str) -> Pixels | None:
    """From timm's `pretrained_cfg`, or nothing where it does not say."""
    if "mean" not in values or "std" not in values:
        return None
    mode = values.get("crop_mode") or "center"
    if mode not in ("center", "squash"):  # border: what is not covered is filled
        raise Unclear(source, f"images are cut out by {mode!r}, not from the middle")
    crop = values.get("crop_pct") or 0.875  # timm's own where nothing is said
    way = values.get("interpolation") or "bicubic"
    side = values.get("input_size")
    side = side[-1] if isinstance(side, (list, tuple)) and side else None
    return _made(values["mean"], values["std"], crop, mode == "squash", way, side, source)


def of_row(row: list[Any], source: str) -> Pixels | None:
    """From a row of `timm.json`."""
    names = ("mean", "std", "interpolation", "crop_pct", "crop_mode", "input_size")
    given = dict(zip(names, row, strict=True))
    size = given["input_size"]
    return of_timm(given | {"input_size": size if isinstance(size, list) else [size]}, source)


def of_processor(values: Mapping[str, Any], source: str, model: str = "") -> Pixels | None:
    """From Hugging Face's `preprocessor_config.json`.

    Args:
        values: What it says.
        source: What to call it.
        model: The `model_type` beside it: its processor is meant where none is named.
    """
    mean, std = values.get("image_mean"), values.get("image_std")
    if not values.get("do_normalize", True):
        mean, std = (0.0,), (1.0,)
    if mean is None or std is None:
        return None
    strange = sorted(k for k in values.keys() - _READ - _IDLE if values[k] not in (None, False))
    if strange:
        raise Unclear(source, f"what {strange[0]!r} does to images is not known here")
    if not values.get("do_rescale", True):
        raise Unclear(source, "its pixels are not divided by 255")
    way, cut, square = _family(values, source, model)
    resample = values.get("resample", way)
    resample = RESAMPLE.get(resample, resample) if isinstance(resample, int) else resample
    if resample is None:
        raise Unclear(source, "how images are resized is not said")
    crop, stretch, side = _crop(values, source, values.get("do_center_crop", cut), square)
    # Pixels from 0 to 1 are divided by 255 here: another factor goes into mean and deviation.
    factor = values.get("rescale_factor")
    factor = 1.0 if factor is None else 255 * _number(factor, source)
    if factor <= 0:
        raise Unclear(source, f"pixels are multiplied by {values['rescale_factor']}")
    if abs(factor - 1) < 1e-4:  # 1/255, as anyone rounds it
        factor = 1.0
    mean, std = ([_number(v, source) / factor for v in _listed(part)] for part in (mean, std))
    made = _made(mean, std, crop, stretch, resample, side, source)
    return dataclasses.replace(made, before=True)


def _family(
    values: Mapping[str, Any], source: str, model: str
) -> tuple[str | None, bool | None, bool | None]:
    """What its processor means where it is silent; nothing where none is named."""
    kind = values.get("image_processor_type") or values.get("feature_extractor_type")
    if kind is None and model in _USUAL:
        return _FAMILIES[_USUAL[model]]
    if kind is None:
        return None, False if "crop_size" not in values else None, None
    end = next((e for e in _ENDS if str(kind).endswith(e)), "")
    found = _FAMILIES.get(str(kind).removesuffix(end)) if end else None
    if found is None:
        raise Unclear(source, f"images are prepared by {str(kind)[:60]}, which is not known here")
    return found


def _crop(
    values: Mapping[str, Any], source: str, cut: Any, square: bool | None
) -> tuple[float, bool, int]:
    """The share of the side that is kept, whether images are stretched first, and the last side."""
    if not values.get("do_resize", True):
        raise Unclear(source, "images are not resized")
    size, stretch = values.get("size"), square
    if isinstance(size, Mapping):
        sides = {k: v for k, v in size.items() if v is not None}
        stretch = set(sides) == {"height", "width"} and len(set(map(str, sides.values()))) == 1
        if not stretch and set(sides) != {"shortest_edge"}:
            raise Unclear(source, "images are resized to no square")
        size = next(iter(sides.values()))
    if type(size) is not int or size < 1 or stretch is None:
        raise Unclear(source, "the size of images is not understood")
    if cut is None:
        raise Unclear(source, "whether the middle is cut out is not said")
    if not cut:
        if not stretch:
            raise Unclear(source, "images keep their shape, and this network takes squares")
        return 1.0, True, size
    cropped = values.get("crop_size")
    if isinstance(cropped, Mapping):
        sides = set(map(str, cropped.values()))
        cropped = next(iter(cropped.values())) if len(sides) == 1 else None
    if type(cropped) is not int or not 0 < cropped <= size:
        raise Unclear(source, "what is cut out of the middle is not understood")
    share = cropped / size
    if share and int(cropped / share) < size:  # 224 / (224 / 400) is a little less than 400
        share = math.nextafter(share, 0)
    return share, stretch, cropped


def of_open_clip(values: Mapping[str, Any], source: str) -> Pixels | None:
    """From the `preprocess_cfg` of open_clip's configuration."""
    mean, std = values.get("mean"), values.get("std")
    if mean is None or std is None:
        return None
    mode = values.get("resize_mode") or "shortest"
    if mode not in ("shortest", "squash"):  # longest: what is not covered is filled
        raise Unclear(source, f"images are resized by {mode!r}, not by the shorter side")
    size = values.get("size")
    size = size[-1] if isinstance(size, (list, tuple)) and size else size
    way = values.get("interpolation") or "bicubic"
    return _made(mean, std, 1.0, mode == "squash", way, size, source)


def _made(
    mean: Any, std: Any, crop: Any, stretch: bool, way: Any, side: Any, source: str
) -> Pixels:
    mean, std = (tuple(_number(v, source) for v in _listed(part)) for part in (mean, std))
    side = side if type(side) is int and side > 0 else None
    try:
        return Pixels(mean, std, _number(crop, source), stretch, str(way), source, side)
    except InputError as error:
        raise Unclear(source, error.message) from None


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _number(value: Any, source: str) -> float:
    """A finite number that is no word."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e30:
        raise Unclear(source, f"{str(value)[:40]!r} stands where a number is expected")
    return float(value)
