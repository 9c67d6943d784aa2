"""Image files from anywhere: other formats under known names, bombs, pipes, cuts, 16 bits."""

import contextlib
import io
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from limelight._core.errors import InputError
from limelight.worlds.sources import _cifar as cifar
from limelight.worlds.sources import _files as sources
from limelight.worlds.sources import load_pictures

EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 8 8
(WHERE) (w) file dup (written) writestring closefile
showpage
%%EOF
"""


def refused(path, says, **options):
    with pytest.raises(InputError, match=says) as error:
        load_pictures(str(path), **options)
    assert "\n" not in error.value.message
    return error.value


def png(width, height, content=b"") -> bytes:
    """A PNG that declares a size and holds whatever it likes."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", content) + chunk(b"IEND", b"")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif"])
def test_a_program_with_the_name_of_an_image_is_never_run(tmp_path, monkeypatch, name):
    """Pillow hands EPS to Ghostscript; that nothing else is even started is what is checked."""
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(a))
    monkeypatch.setattr(subprocess, "check_call", lambda *a, **k: started.append(a))
    (tmp_path / "images").mkdir()
    written = tmp_path / "written"
    (tmp_path / "images" / name).write_bytes(EPS.replace(b"WHERE", str(written).encode()))
    refused(tmp_path / "images", "not a readable image", labelled=False, side=8)
    assert not started
    assert not written.exists()


@pytest.mark.parametrize("kind", ["PPM", "ICO", "TGA", "PCX", "SGI", "DDS", "PDF"])
def test_formats_that_are_not_meant_are_not_opened(tmp_path, kind):
    raw = io.BytesIO()
    Image.new("RGB", (16, 16)).save(raw, kind)
    (tmp_path / "a.png").write_bytes(raw.getvalue())
    refused(tmp_path, "not a readable image", labelled=False)


@pytest.mark.parametrize("kind", sources.FORMATS)
def test_the_formats_that_are_meant_are_read_under_any_name(tmp_path, kind):
    Image.new("RGB", (16, 16), (250, 120, 10)).save(tmp_path / "a.bin", kind, quality=100)
    (tmp_path / "a.bin").rename(tmp_path / "a.png")
    found = load_pictures(str(tmp_path), labelled=False).images
    np.testing.assert_allclose(found[0, 8, 8], (250, 120, 10), atol=4)


def test_pipes_devices_and_hidden_files_among_images_are_passed_over(tmp_path):
    Image.new("L", (8, 8), 7).save(tmp_path / "a.png")
    os.mkfifo(tmp_path / "b.png")
    (tmp_path / "c.png").symlink_to("/dev/zero")
    (tmp_path / "._a.png").write_bytes(b"\0\5\26\7")
    (tmp_path / "d.png").mkdir()
    assert load_pictures(str(tmp_path), labelled=False).names == ("a.png",)
    refused(tmp_path / "b.png", "neither a file nor a folder", labelled=False)
    os.mkfifo(tmp_path / "e.npz")
    refused(tmp_path / "e.npz", "neither a file nor a folder")
    os.mkfifo(tmp_path / "f.tar.gz")
    refused(tmp_path / "f.tar.gz", "neither a file nor a folder")


MEASURE = """
import resource, sys, time
from limelight._core.errors import InputError
from limelight.worlds.sources import load_pictures
for name in sys.argv[1:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    try:
        load_pictures(name, labelled=False)
        said = "accepted"
    except InputError as error:
        said = "refused"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(said, time.monotonic() - began, most - before)
"""


def bombs(folder):
    """Small files that would unpack to gigabytes."""
    for name, size in {
        "tall": (1, 64_000_000),
        "wide": (64_000_000, 1),
        "big": (9000, 9000),
    }.items():
        (folder / f"{name}.png").write_bytes(png(*size, zlib.compress(bytes(1000))))
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        head = io.BytesIO()
        shape = (1000, 1024, 1024)
        np.lib.format.write_array_header_1_0(
            head, {"descr": "|u1", "fortran_order": False, "shape": shape}
        )
        with archive.open("images.npy", "w", force_zip64=True) as file:
            file.write(head.getvalue())
            for _ in range(1000):
                file.write(bytes(2**20))
    with zipfile.ZipFile(folder / "liar.npz", "w") as archive:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "|u1", "fortran_order": False, "shape": (10**7, 100, 100)}
        )
        archive.writestr("images.npy", head.getvalue())
        archive.writestr("labels.npy", head.getvalue())


def test_declared_sizes_are_checked_before_anything_is_unpacked(tmp_path):
    bombs(tmp_path)
    names = ("tall.png", "wide.png", "big.png", "bomb.npz", "liar.npz")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *(str(tmp_path / name) for name in names)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        said, seconds, kilobytes = line.split()
        assert said == "refused", (name, said)
        assert float(seconds) < 5, name
        assert int(kilobytes) < 100_000, (name, kilobytes)


def test_an_archive_whose_header_is_endless_is_refused_in_bounded_memory(tmp_path, monkeypatch):
    """A header of extensions may declare any length, and is read before its member is seen."""
    import gzip

    monkeypatch.setattr(cifar, "MOST_ARCHIVE", 2**20)
    head = bytearray(512)
    head[:4] = b"long"
    head[124:136] = b"77777777777\0"
    head[156:157] = b"x"
    head[257:265] = b"ustar\x0000"
    head[148:156] = b"        "
    head[148:156] = b"%06o\0 " % sum(head)
    with gzip.open(tmp_path / "a.tar.gz", "wb") as file:
        file.write(bytes(head) + bytes(2**25))
    refused(tmp_path / "a.tar.gz", "too large")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", sources.FORMATS)
def test_truncated_images_are_refused_in_one_line(tmp_path, kind, share):
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8))
    raw = io.BytesIO()
    noise.save(raw, kind)
    (tmp_path / "a.png").write_bytes(raw.getvalue()[: int(share * len(raw.getvalue()))])
    if share < 0.99:  # some formats end in bytes that do not matter
        refused(tmp_path, "not a readable image", labelled=False)
    else:
        with contextlib.suppress(InputError):
            assert load_pictures(str(tmp_path), labelled=False).images.shape == (1, 32, 32, 3)


def test_sixteen_bits_become_eight_without_being_cut_off(tmp_path):
    ramp = np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8)
    Image.fromarray(ramp).save(tmp_path / "a.png")
    found = load_pictures(str(tmp_path), labelled=False).images[0]
    np.testing.assert_array_equal(found[..., 0], np.round(ramp / 257).astype(int))
    Image.fromarray(ramp.astype(np.float32)).save(tmp_path / "a.tif")
    refused(tmp_path / "a.tif", "32 bits", labelled=False)


def test_names_of_classes_that_are_no_list_are_refused(tmp_path):
    import pickle

    (tmp_path / "test_batch").write_bytes(pickle.dumps({"a": 1}, 2))
    (tmp_path / "batches.meta").write_bytes(pickle.dumps({"label_names": 5}, 2))
    refused(tmp_path, "no names of classes")

    (tmp_path / "batches.meta").write_bytes(pickle.dumps({"label_names": ["a", "b"]}, 2))
    black = {"data": np.zeros((2, 3072), np.uint8), "labels": [0, 2]}
    for name in ("test_batch", *(f"data_batch_{number}" for number in range(1, 6))):
        (tmp_path / name).write_bytes(pickle.dumps(black, 2))
    refused(tmp_path, "fewer names than classes")
