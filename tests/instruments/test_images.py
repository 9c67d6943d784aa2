"""How images are prepared: squares of other libraries, rotations, what cannot be read."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from limelight._core.errors import InputError
from limelight.instruments.gallery import Behind, Gallery
from limelight.instruments.sight import Sight
from limelight.models import load
from limelight.models.pretrained._processors import of_processor
from limelight.models.pretrained.pixels import SCALES, Pixels
from limelight.worlds.sources import Fit, load_pictures

PLACE = Path(__file__).parents[1] / "fixtures" / "images"
FITTED, PROCESSED = (np.load(PLACE / f"{name}.npz") for name in ("fitted", "processed"))
NETWORKS = Path(__file__).parents[1] / "fixtures" / "checkpoints"


@pytest.mark.parametrize("name", [name for name in FITTED.files if "-" in name])
def test_squares_are_those_of_torchvision(name):
    shape, side, crop, stretch, way = name.split("-")
    fit = Fit(int(side), float(crop), stretch == "1", way)
    made = np.asarray(fit(Image.fromarray(FITTED[shape])))
    # Releases of Pillow round bicubic sums differently, by one level of 255.
    np.testing.assert_allclose(made.astype(int), FITTED[name].astype(int), atol=1, rtol=0)


@pytest.mark.parametrize("name", [name for name in PROCESSED.files if "-" in name])
def test_squares_are_those_of_hugging_face_s_processors(name):
    """Which begin a middle that is half a pixel off before it, other than torchvision."""
    kind, picture = name.split("-")
    pixels = of_processor(json.loads(str(PROCESSED[kind])), "it")
    made = np.asarray(pixels.fit(pixels.side)(Image.fromarray(FITTED[picture])))
    np.testing.assert_allclose(made.astype(int), PROCESSED[name].astype(int), atol=1, rtol=0)


def photos(folder, **save):
    """Two pictures of other shapes than a square, one of them named for a class."""
    (folder / "cat").mkdir(parents=True)
    for name in ("wide", "tall"):
        Image.fromarray(FITTED[name]).save(folder / "cat" / f"{name}.png", **save)
    return folder


def test_the_network_s_configuration_prepares_images(tmp_path):
    """timm-vit wants halves and .9 of the middle; hf-vit is stretched, bilinear."""
    folder = str(photos(tmp_path / "a") / "cat")
    for network, fit in (
        ("timm-vit", Fit(16, 0.9, stretch=False)),
        ("hf-vit", Fit(16, 1.0, stretch=True, way="bilinear")),
    ):
        shown = Gallery.load(folder, Sight.of(load(NETWORKS / network)), labelled=False)
        images, _ = shown.images(np.arange(2))
        for image, name in zip(images, ("tall", "wide"), strict=True):
            np.testing.assert_array_equal(image, np.asarray(fit(Image.fromarray(FITTED[name]))))
        tokens = shown.tokens(images)
        first = (images[0][:4, :4] / 255 - 0.5) / 0.5
        np.testing.assert_allclose(tokens[0, 0], first.reshape(-1), atol=1e-6)
        assert shown.scale.startswith("half")


def test_stretching_is_a_word_away(tmp_path):
    folder = str(photos(tmp_path / "a") / "cat")
    sight = Sight.of(load(NETWORKS / "timm-vit"))
    shown = Gallery.load(folder, sight, labelled=False, stretch=True)
    wanted = Image.fromarray(FITTED["tall"]).resize((16, 16), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(shown.images(np.arange(1))[0][0], np.asarray(wanted))
    assert "stretched" in shown.scale


def test_arrays_are_prepared_the_same_way(tmp_path):
    """Images of an npz are cut like those of a folder."""
    square = FITTED["wide"][:30, :30]
    np.savez(tmp_path / "a.npz", images=np.stack([square] * 2), labels=np.arange(2))
    shown = Gallery.load(str(tmp_path / "a.npz"), Sight.of(load(NETWORKS / "timm-vit")))
    wanted = Fit(16, 0.9, stretch=False)(Image.fromarray(square))
    np.testing.assert_array_equal(shown.images(np.arange(1))[0][0], np.asarray(wanted))


def test_pixels_that_nobody_knows_are_asked_for():
    sight = dataclasses.replace(Sight.of(load(NETWORKS / "torchvision", heads=2)))
    assert sight.pixels is None
    with pytest.raises(InputError, match="how this network wants its pixels") as caught:
        Gallery.load("digits", sight)
    assert "pixels=..." in caught.value.hint
    prepared, told = sight.prepared("clip")
    assert prepared.pixels.mean == SCALES["clip"][0]
    assert told == "clip, cut to the middle square, bicubic"
    assert Gallery.load("digits", sight, pixels="data").scale.startswith("data")
    with pytest.raises(InputError, match="a deviation of 0"):
        Pixels((0.0,), (0.0,))


@pytest.mark.parametrize("bits", [8, 16])
def test_a_picture_is_turned_as_its_file_says(bits, tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6  # to be shown a quarter turn clockwise
    path = tmp_path / "a.png"
    picture = FITTED["wide"] if bits == 8 else FITTED["wide"][..., 0]
    saved = picture if bits == 8 else picture.astype(np.uint16) * 257
    Image.fromarray(saved).save(path, exif=turned)
    found = load_pictures(str(path), Fit(16), labelled=False)
    upright = Image.fromarray(np.rot90(picture, -1).copy()).convert("RGB")
    np.testing.assert_array_equal(found.images[0], np.asarray(Fit(16)(upright)))


def test_pasted_images_are_told_as_they_are_prepared(tmp_path):
    """The whole object is pasted, whatever the configuration cuts off other images."""
    sight = Sight.of(load(NETWORKS / "timm-vit"))
    assert sight.pixels.crop == 0.9
    shown = Gallery.load("digits", sight, limit=2, behind=Behind("tiles", size=1.0))
    assert shown.scale == "half, cut to the middle square, bicubic"
    digit = shown.pictures.images[shown.numbers[0]]
    whole = np.asarray(Fit(16)(Image.fromarray(digit[..., 0])))
    np.testing.assert_array_equal(shown.images(np.arange(1))[0][0, ..., 0], whole)


def test_files_that_cannot_be_read_are_left_out_if_asked(tmp_path):
    folder = photos(tmp_path / "a")
    (folder / "cat" / "broken.png").write_bytes(b"no image")
    (folder / "dog").mkdir()
    Image.fromarray(FITTED["tall"]).save(folder / "dog" / "one.png")
    sight = Sight.of(load(NETWORKS / "timm-vit"))
    with pytest.raises(InputError, match="broken.png is not a readable image"):
        Gallery.load(str(folder), sight)
    shown = Gallery.load(str(folder), sight, skip_bad=True)
    assert len(shown) == 3
    assert shown.labels().tolist() == [0, 0, 1]
    assert len(shown.pictures.skipped) == 1
    assert "broken.png" in shown.pictures.skipped[0]
    assert "1 files could not be read" in str(shown)
    loose = load_pictures(str(folder / "cat"), Fit(16), labelled=False, skip_bad=True)
    assert loose.names == ("tall.png", "wide.png")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "broken.png").write_bytes(b"no image")
    with pytest.raises(InputError, match="no image of .* can be read"):
        load_pictures(str(tmp_path / "b"), Fit(16), labelled=False, skip_bad=True)
