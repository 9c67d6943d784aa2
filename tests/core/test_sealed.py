"""Files that others read too, manifests at the edges of what they may say, and names of parts."""

import copy
import json

import jax
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limelight._core import backend, kinds, manifests
from limelight._core.sealed import read_sealed, sealed_bytes

CONFIGURATION = {
    "experiment": {"kind": "experiment.dice"},
    "trials": 1,
    "width": 1,
    "seed": 0,
    "revision": 0,
    "name": "dice",
    "numerics": {},
    "axes": [[["sides"], [6, 8]], [["a", "b"], [[1, "x"], [2.5, None]]]],
    "shared": ["sides"],
}


def manifest(**changes) -> dict:
    configuration = {**copy.deepcopy(CONFIGURATION), **changes}
    return manifests.sealed(
        {
            "format": 2,
            "configuration": configuration,
            "hash": manifests.digest(configuration),
            "chunks": [1, 2],
        }
    )


def test_every_edge_that_is_allowed():
    assert manifests.check_manifest(manifest())
    assert manifests.planned_rows(manifest(trials=3)["configuration"]) == 12
    assert manifests.check_manifest(manifest(seed=2**32 - 1))
    assert manifests.check_manifest(manifest(trials=10**10 // 4))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trials": 0}, "trials is not a whole number"),
        ({"trials": True}, "trials is not a whole number"),
        ({"width": 0}, "width"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed is not a whole number of 32 bits"),
        ({"revision": -1}, "revision"),
        ({"name": None}, "name is not text"),
        ({"axes": [[["a"], []]]}, "has no values"),
        ({"axes": [[["a"], [1]], [["a"], [2]]], "shared": []}, "an axis occurs twice"),
        ({"axes": [[["a", "b"], [[1]]]], "shared": []}, "no number or word"),
        ({"axes": [[["a"], [[1, 2]]]], "shared": []}, "no number or word"),
        ({"axes": [[[], [1]]], "shared": []}, "an axis has no name"),
        ({"shared": ["other"]}, "shared are not axes"),
        ({"trials": 10**10 // 4 + 1}, "plans more than"),
    ],
)
def test_every_edge_that_is_not(changes, said):
    with pytest.raises(manifests.Broken, match=said):
        manifests.check_manifest(manifest(**changes))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"format": True}, "its format is True"),
        ({"format": 3}, "its format is 3"),
        ({"command": 1}, "command is not text"),
        ({"commit": "\x1b[31mred"}, "commit has characters that cannot be printed"),
        ({"settings": {"a": 1}}, "settings are not text"),
        ({"inputs": {"a": 1}}, "inputs are not digests"),
        ({"chunks": [1.0]}, "chunks are not numbers"),
        ({"device": []}, "device is not a mapping"),
        ({"paper": "p", "figure": "f"}, "its study is dice, not p/f"),
        ({"seed": 1}, "it names two seeds"),
        ({"seed": False}, "it names two seeds"),
        ({"hash": "0"}, "not that of its hash"),
    ],
)
def test_what_stands_beside_the_configuration(entry, said):
    whole = {k: v for k, v in manifest().items() if k != "seal"} | entry
    with pytest.raises(manifests.Broken, match=said):
        manifests.check_manifest(manifests.sealed(whole))


def test_an_edit_breaks_the_seal():
    with pytest.raises(manifests.Broken, match="edited after it was written"):
        manifests.check_manifest(manifest() | {"command": "another"})
    without = {k: v for k, v in manifest().items() if k != "seal"}
    with pytest.raises(manifests.Broken, match="its seal is gone"):
        manifests.check_manifest(without)
    del without["chunks"]  # the first release had neither
    assert manifests.check_manifest(without)


def test_json_is_taken_to_a_depth():
    for levels, fine in ((manifests.DEEPEST - 1, True), (manifests.DEEPEST, False)):
        text = "[" * levels + "1" + "]" * levels
        if fine:
            assert manifests.read_json(text) == json.loads(text)
        else:
            with pytest.raises(manifests.Broken, match="too deeply"):
                manifests.read_json(text)
    with pytest.raises(manifests.Broken, match="a key occurs twice"):
        manifests.read_json('{"a": 1, "a": 1}')


def test_other_readers_notice_a_flipped_byte(tmp_path):
    """The seal is ours; the checksums of pages are Parquet's, for everybody."""
    content = sealed_bytes(pa.table({"x": list(range(1000))}), "none")
    at = content.index((777).to_bytes(8, "little"))
    (tmp_path / "t").write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    with pytest.raises(OSError, match="CRC"):
        pq.ParquetFile(tmp_path / "t", page_checksum_verification=True).read()
    (tmp_path / "t").write_bytes(content)
    assert read_sealed(tmp_path / "t", 1000)["x"].to_pylist() == list(range(1000))
    with pytest.raises(ValueError, match="1000 rows instead of 999"):
        read_sealed(tmp_path / "t", 999)


def test_a_part_has_a_name_that_is_not_inherited():
    @kinds.kind("world.coins")
    class Coins:
        pass

    class Dice(Coins):
        pass

    assert (kinds.kind_of(Coins), kinds.kind_of(Dice), kinds.kind_of(3)) == (
        "world.coins",
        None,
        None,
    )


@pytest.mark.parametrize("name", ["gpu", "cpu"])
def test_the_backend(name, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: name)
    assert backend.on_gpu() is (name == "gpu")
