"""Where images come from: what is read comes out exactly, what is hostile is refused."""

import gzip
import io
import os
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from limelight._core.errors import InputError
from limelight.worlds.sources import digits, known_shape, load_pictures
from limelight.worlds.sources._pickles import read_plain

RNG = np.random.default_rng(0)


def refused(path, says: str, **options) -> None:
    with pytest.raises(InputError, match=says) as error:
        load_pictures(str(path), **options)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    assert error.value.hint


# --- pickles ----------------------------------------------------------------------------------


def old_string(raw: bytes) -> bytes:
    """A byte string as Python 2 pickles it."""
    return b"T" + struct.pack("<i", len(raw)) + raw


def old_pickle(data: np.ndarray, labels: list[int], key: bytes = b"labels") -> bytes:
    """A batch as Python 2 and its numpy pickled it, protocol 2, instruction by instruction."""
    rows, columns = (b"J" + struct.pack("<i", n) for n in data.shape)
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85"
        + old_string(b"b") + b"\x87Rq\x07(K\x01" + rows + columns + b"\x86cnumpy\ndtype\nq\x08"
        + old_string(b"u1") + b"K\x00K\x01\x87Rq\x09(K\x03" + old_string(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" + old_string(data.tobytes()) + b"tb"
    )  # fmt: skip
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    entries = old_string(b"data") + array + old_string(key) + listed
    return b"\x80\x02}q\x01(" + entries + old_string(b"batch_label") + old_string(b"a") + b"u."


BATCH = RNG.integers(0, 256, (4, 3072), dtype=np.uint8)


def test_python_2_pickles_are_read_without_being_run():
    found = read_plain(old_pickle(BATCH, [1, 0, 3, 2]), "data_batch_1")
    np.testing.assert_array_equal(found["data"], BATCH)
    assert found["labels"] == [1, 0, 3, 2]
    assert found["batch_label"] == b"a"
    as_python_does = pickle.loads(old_pickle(BATCH, [1, 0, 3, 2]), encoding="bytes")
    np.testing.assert_array_equal(as_python_does[b"data"], BATCH)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_today_s_pickles_of_plain_data_are_read_too(protocol, order):
    array = np.asarray(RNG.integers(0, 9, (3, 4)), dtype=">i2", order=order)
    value = {"a": array, b"b": [1, 2.5, None, True, ("x", b"y")], "again": array}
    found = read_plain(pickle.dumps(value, protocol), "x")
    np.testing.assert_array_equal(found["a"], array)
    assert found["b"] == value[b"b"]
    assert found["again"] is found["a"]


class Hostile:
    def __reduce__(self):
        return os.system, ("touch /tmp/limelight-was-run",)


def nested(depth: int = 60) -> bytes:
    """A dict whose key is a pair of the same pair of the same pair ...: hashing it never ends."""
    pairs = b"K\x01q\x00" + b"".join(b"h%c\x86q%c" % (i, i + 1) for i in range(depth))
    return b"\x80\x02" + pairs + b"}h%cK\x01s." % depth


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Hostile(), 2),
        pickle.dumps({"data": Hostile()}, 4),
        pickle.dumps({"data": [Hostile()]}, 0),
        pickle.dumps({"data": np.array([Hostile()], dtype=object)}, 2),
        pickle.dumps({"data": np.array([{}], dtype=object)}, 4),
        pickle.dumps({"data": {1, 2}}, 4),
        pickle.dumps([1, 2], 2),
        pickle.dumps({3: 4}, 2),
        b"cos\nsystem\n(S'touch /tmp/limelight-was-run'\ntR.",
        b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
        b"(ios\nsystem\n.",
        b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\nX\x01\x00\x00\x00O\x85Rs.",
        b"\x80\x02}X\x01\x00\x00\x00acnumpy\nload\nX\x01\x00\x00\x00O\x85Rs.",
        b"\x80\x02}X\x01\x00\x00\x00acnumpy.core.multiarray\n_reconstruct\ncos\nsystem\n\x85Rs.",
        old_pickle(BATCH, [1])[:-2000],
        old_pickle(BATCH, [1]).replace(b"J\x04\x00\x00\x00", b"J\x04\x00\x00\x7f"),
        old_pickle(BATCH, [1]).replace(b"J\x04\x00\x00\x00", b"J\xff\xff\xff\xff"),
        b"\x80\x02r\xff\xff\xff\xff.",
        b"\x80\x02}q\x00h\x01.",
        b"\x80\x02tR.",
        b"\x80\x02}K\x01K\x02u.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x05\x96\x01\x00\x00\x00\x00\x00\x00\x00a.",
        nested(),
        b"",
        b"garbage",
    ],
)  # fmt: skip
def test_hostile_and_damaged_pickles_are_refused(content):
    with pytest.raises(InputError, match="not a pickle of plain arrays") as error:
        read_plain(content, "batch")
    assert "\n" not in str(error.value)
    assert not os.path.exists("/tmp/limelight-was-run")


# --- archives ---------------------------------------------------------------------------------


def cifar10(images: int = 4) -> dict[str, bytes]:
    names = pickle.dumps({"label_names": ["plane", "car", "bird", "cat"]}, 2)
    batches = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
    folder = "cifar-10-batches-py/"
    found = {folder + name: old_pickle(BATCH[:images], [0, 1, 2, 3][:images]) for name in batches}
    return found | {folder + "batches.meta": names, folder + "readme.html": b"<html>"}


def packed(path, members: dict, mode: str = "w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, item in members.items():
            info = item if isinstance(item, tarfile.TarInfo) else tarfile.TarInfo(name)
            raw = b"" if isinstance(item, tarfile.TarInfo) else item
            info.size = len(raw) if info.isfile() else 0
            archive.addfile(info, io.BytesIO(raw))
    return path


def test_the_official_cifar_10_archive_packed_and_unpacked(tmp_path):
    found = load_pictures(str(packed(tmp_path / "cifar-10-python.tar.gz", cifar10())))
    assert found.name == "CIFAR-10"
    assert (found.training, found.testing, found.official) == (20, 4, True)
    assert found.names == ("plane", "car", "bird", "cat")
    np.testing.assert_array_equal(found.images[1, 5, 7], BATCH[1].reshape(3, 32, 32)[:, 5, 7])
    assert found.labels[-4:].tolist() == [0, 1, 2, 3]
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name, raw in cifar10().items():
        (tmp_path / name).write_bytes(raw)
    np.testing.assert_array_equal(load_pictures(str(folder)).images, found.images)
    refused(folder, "no coarse ones", coarse=True)


def test_cifar_100_has_fine_and_coarse_labels(tmp_path):
    labels = {"fine_labels": [7, 5, 6, 9], "coarse_labels": [1, 0, 0, 1]}
    batch = pickle.dumps({"data": BATCH} | labels, 2)
    names = {"fine_label_names": [f"f{i}" for i in range(10)], "coarse_label_names": ["u", "v"]}
    members = {"train": batch, "test": batch, "meta": pickle.dumps(names, 2)}
    members = {f"cifar-100-python/{name}": raw for name, raw in members.items()}
    path = str(packed(tmp_path / "c.tar", members, "w:"))
    fine, coarse = load_pictures(path), load_pictures(path, coarse=True)
    assert (fine.classes, coarse.classes) == (10, 2)
    assert fine.labels.tolist() == [7, 5, 6, 9] * 2
    assert coarse.labels.tolist() == [1, 0, 0, 1] * 2
    assert coarse.names == ("u", "v")


def link(target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"../evil": b"x"}, "leaves it"),
        ({"cifar-10-batches-py/../../evil": b"x"}, "leaves it"),
        ({"/etc/evil": b"x"}, "leaves it"),
        ({"link": link("/etc/passwd")}, "link or a device"),
        ({"cifar-10-batches-py/test_batch": None}, "test_batch is missing"),
        ({"cifar-10-batches-py/test_batch": pickle.dumps(Hostile(), 2)}, "not a pickle"),
        ({"cifar-10-batches-py/test_batch": pickle.dumps({"data": 1}, 2)}, "no 32 x 32 images"),
        ({f"{i}": b"x" for i in range(70)}, "too large"),
    ],
)
def test_hostile_archives_are_refused(change, says, tmp_path):
    members = {k: v for k, v in (cifar10() | change).items() if v is not None}
    refused(packed(tmp_path / "c.tar.gz", members), says)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "c.tar.gz"]  # nothing was unpacked


def test_an_archive_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path):
    info = tarfile.TarInfo("cifar-10-batches-py/test_batch")
    info.size = 2**40
    path = tmp_path / "huge.tar.gz"
    with gzip.open(path, "wb") as file:
        file.write(info.tobuf() + bytes(1024))
    refused(path, "too large")


@pytest.mark.parametrize(
    "raw",
    [b"", b"not gzip", gzip.compress(b"not tar" * 99)],
    ids=["empty", "not gzip", "not tar"],
)
def test_damaged_archives_are_refused(raw, tmp_path):
    (tmp_path / "c.tar.gz").write_bytes(raw)
    refused(tmp_path / "c.tar.gz", "cannot read|damaged|not an official")


# --- other files ------------------------------------------------------------------------------


def test_digits_are_always_there():
    found = digits()
    assert found.images.shape == (1797, 8, 8, 1)
    assert (found.training, found.testing, found.official, found.brightest) == (
        1400,
        397,
        False,
        16,
    )
    assert np.bincount(found.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert found.images[0, 0, :, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    pixels = found.images / 16
    assert found.mean == pytest.approx((pixels.mean(),))
    assert found.deviation == pytest.approx((pixels.std(),))


def test_sheets_are_read_in_order(tmp_path):
    images = RNG.integers(0, 256, (206, 32, 32, 3), dtype=np.uint8)
    for start, name in ((0, "train_0"), (100, "train_1"), (200, "test_0")):
        part = images[start : start + 100]
        sheet = np.zeros((1, 100, 32, 32, 3), np.uint8)
        sheet[0, : len(part)] = part
        flat = sheet.swapaxes(1, 2).reshape(32, 3200, 3)
        Image.fromarray(flat).save(tmp_path / f"{name}.webp", lossless=True, exact=True)
    labels = np.arange(206) % 7
    np.savez(tmp_path / "labels.npz", train=labels[:200], test=labels[200:], names=list("abcdefg"))
    found = load_pictures(str(tmp_path))
    np.testing.assert_array_equal(found.images, images)
    np.testing.assert_array_equal(found.labels, labels)
    assert (found.training, found.names) == (200, tuple("abcdefg"))
    refused(tmp_path, "no coarse ones", coarse=True)
    (tmp_path / "test_0.webp").unlink()
    os.utime(tmp_path, (1, 1))
    refused(tmp_path, "no sheet test_0.webp")


def test_folders_of_images_by_class(tmp_path):
    images = RNG.integers(0, 256, (2, 2, 6, 6, 3), dtype=np.uint8)
    for c, name in enumerate(("cat", "dog")):
        (tmp_path / "all" / name).mkdir(parents=True)
        for i in range(2):
            Image.fromarray(images[c, i]).save(tmp_path / "all" / name / f"{i}.png")
    (tmp_path / "all" / "dog" / "notes.txt").write_text("no image")
    found = load_pictures(str(tmp_path / "all"))
    np.testing.assert_array_equal(found.images, images.reshape(4, 6, 6, 3))
    assert (found.names, found.official, found.training) == (("cat", "dog"), False, 3)
    assert load_pictures(str(tmp_path / "all"), side=4).side == 4
    (tmp_path / "all" / "dog" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n damaged")
    refused(tmp_path / "all", "not a readable image")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no images in folders by class")


def test_an_image_replaced_deep_in_a_folder_is_read_anew(tmp_path):
    """The folder's own time stays as it was; what was read before must not be shown again."""
    for split in ("train", "test"):
        for name in ("cat", "dog"):
            (tmp_path / split / name).mkdir(parents=True)
            Image.new("RGB", (4, 4), "black").save(tmp_path / split / name / "1.png")
    before = load_pictures(str(tmp_path)).images
    file = tmp_path / "train" / "cat" / "1.png"
    Image.new("RGB", (4, 4), "white").save(file)
    os.utime(file, ns=(1, 1))
    after = load_pictures(str(tmp_path)).images
    assert np.max(before) == 0
    assert np.max(after) > 0


def test_npz_and_idx(tmp_path):
    images, labels = RNG.integers(0, 256, (9, 5, 5), dtype=np.uint8), np.arange(9) % 3
    keys = {
        "x_train": images[:6],
        "y_train": labels[:6],
        "x_test": images[6:],
        "y_test": labels[6:],
    }
    np.savez(tmp_path / "a.npz", **keys)
    found = load_pictures(str(tmp_path / "a.npz"))
    np.testing.assert_array_equal(found.images[..., 0], images)
    assert (found.training, found.official, found.classes) == (6, True, 3)
    for part, rows in (("train", slice(0, 6)), ("t10k", slice(6, 9))):
        for kind, array in (("images-idx3", images[rows]), ("labels-idx1", labels[rows])):
            head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            raw = gzip.compress(head + array.astype(np.uint8).tobytes())
            (tmp_path / f"{part}-{kind}-ubyte.gz").write_bytes(raw)
    again = load_pictures(str(tmp_path))
    np.testing.assert_array_equal(again.images, found.images)
    np.testing.assert_array_equal(again.labels, found.labels)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\x09ab"))
    os.utime(tmp_path, (1, 1))
    refused(tmp_path, "not an IDX file")


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"images": np.array([{}], dtype=object), "labels": np.zeros(1, int)}, "Python objects"),
        ({"pictures": np.zeros((2, 4, 4), np.uint8)}, "does not hold images and labels"),
        ({"images": np.zeros((2, 4, 4)), "labels": np.zeros(2, int)}, "pixels are float64"),
        ({"images": np.zeros((2, 4, 5), np.uint8), "labels": np.zeros(2, int)}, "of shape"),
        ({"images": np.zeros((2, 4, 4), np.uint8), "labels": np.zeros(3, int)}, "3 labels"),
        ({"images": np.zeros((2, 4, 4), np.uint8), "labels": np.array([0, -1])}, "count classes"),
        ({"images": np.zeros((1, 4, 4), np.uint8), "labels": np.array([0])}, "no image to test on"),
    ],
)
def test_odd_arrays_are_refused(arrays, says, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    refused(tmp_path / "a.npz", says)


def test_what_is_missing_is_said_with_where_to_get_it(tmp_path):
    refused(tmp_path / "nowhere", "there are no images at .*official CIFAR archive")
    (tmp_path / "a.npz").write_bytes(b"PK nonsense")
    refused(tmp_path / "a.npz", "damaged")
    (tmp_path / "a.txt").write_text("hello")
    refused(tmp_path / "a.txt", "no kind of data set")
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("images.npy", b"\0" * 2**20)
        file.infolist()[0].file_size = 2**40
    refused(tmp_path / "b.npz", "too large|damaged")


def test_some_classes_and_first_images():
    found = digits().only((8, 3))
    assert found.names == ("8", "3")
    assert len(found.labels) == 174 + 183
    first = int(np.flatnonzero(np.isin(digits().labels, (8, 3)))[0])
    np.testing.assert_array_equal(found.images[0], digits().images[first])
    few = digits().first(5, 3)
    assert (few.training, few.testing) == (5, 3)
    np.testing.assert_array_equal(few.images[5], digits().images[1400])
    with pytest.raises(InputError, match="not 5000 and 3"):
        digits().first(5000, 3)
    with pytest.raises(InputError, match="no class"):
        digits().only((3, 11))


def test_data_sets_with_a_name_are_looked_for_in_one_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIMELIGHT_DATA", str(tmp_path))
    refused("cifar10", "no cifar10 in .*get cifar-10-python.tar.gz from")
    packed(tmp_path / "cifar-10-python.tar.gz", cifar10())
    assert load_pictures("cifar10").training == 20
    monkeypatch.delenv("LIMELIGHT_DATA")
    refused("cifar10", "which is not set")
    assert known_shape("cifar100", coarse=True).classes == 20
    assert known_shape("somewhere", coarse=False) is None
    with pytest.raises(InputError, match="no coarse labels"):
        known_shape("cifar10", coarse=True)
