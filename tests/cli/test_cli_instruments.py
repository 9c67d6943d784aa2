"""`limelight prune` on the command line."""

import json
from pathlib import Path

import pytest

from limelight.models import save_vit
from tests.instruments.vits import shaken, taught


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A random ViT for 8 x 8 grey images, in a file."""
    path = tmp_path / "tiny.safetensors"
    save_vit(shaken(), path, channels=1)
    return path


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> Path:
    """A ViT trained on digits, in a file."""
    path = tmp_path_factory.mktemp("digits") / "digits.safetensors"
    save_vit(taught(), path, channels=1)
    return path


def test_on_the_command_line_for_people_and_machines(call, digits):
    words = ("prune", digits, "--images", "digits", "--pixels", "centred", "--limit", 200)
    told = call(*words, "--keep", 0.5, "--rounds", 6)
    assert told.code == 0, told.err
    assert "pruned behind block 1" in told.out
    assert "no fused kernel" in told.out
    found = call(*words, "--keep", 0.5, "--keep", 1, "--json").json
    rows = {(row["policy"], row["keep"]): row for row in found["rows"]}
    assert set(rows) == {("none", 1.0), ("attention", 0.5), ("random", 0.5)}
    assert rows["none", 1.0]["accuracy"] > 0.8  # it was trained on most of them
    assert rows["random", 0.5]["accuracy"] < rows["none", 1.0]["accuracy"]
    assert found["checkpoint"] == "digits.safetensors"
    assert {"kernel", "device", "versions", "counted"} <= set(found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no images"),
        (("--images", "nowhere"), "there are no images at nowhere"),
        (("--images", "empty"), "no images in folders"),
        (("--images", "digits", "--keep", "0"), "--keep 0"),
        (("--images", "digits", "--keep", "1.5"), "--keep 1.5"),
        (("--images", "digits", "--keep", "nan"), "--keep nan"),
        (("--images", "digits", "--at", "3"), "--at 3"),
        (("--images", "digits", "--at", "0"), "--at 0"),
        (("--images", "digits", "--policy", "atention"), "--policy"),
        (("--images", "digits", "--policy", "truth"), "matter is not known"),
        (("--images", "digits", "--limit", "0"), "--limit 0"),
        (("--images", "digits", "--batch", "-1"), "--batch -1"),
        (("--images", "digits", "--pixels", "loud"), "--pixels"),
        (("--images", "digits", "--size", "2", "--behind", "tiles"), "--size 2"),
        (("--images", "digits", "--behind", "nowhere"), "there are no images at nowhere"),
        (("--images", "digits", "--behind", "digits", "--behind-only", "ten"), "no class 'ten'"),
        (("--images", "digits", "--behind-only", "1"), "without --behind"),
        (("--images", "digits", "--groups", "no.json"), "cannot read no.json"),
        (("--images", "digits", "--groups", "list.json"), "not a table of groups"),
        (("--images", "digits", "--groups", "bad.json"), "not JSON"),
        (("--images", "digits", "--groups", "few.json"), "has no group '1'"),
        (("--images", "digits", "--groups", "far.json"), "names output 10"),
    ],
)
def test_what_cannot_be_done_is_one_line(call, tiny, tmp_path, words, message):
    here = tmp_path / "here"
    (here / "empty").mkdir()
    (here / "list.json").write_text("[1, 2]")
    (here / "bad.json").write_text("{")
    (here / "few.json").write_text(json.dumps({"0": [0]}))
    (here / "far.json").write_text(json.dumps({str(i): [i + 1] for i in range(10)}))
    slip = call("prune", tiny, *words)
    assert (slip.code, slip.out) == (2, "")
    error, *hint = slip.err.splitlines()
    assert message in error
    assert len(hint) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x80\x04garbage", "pickled"),
        (b"\x08\0\0\0\0\0\0\0{}      ", "unknown layout"),
        (b"not a checkpoint at all", "not a readable safetensors file"),
    ],
)
def test_files_that_are_no_vit_are_one_line(call, tmp_path, content, message):
    path = tmp_path / "odd.safetensors"
    path.write_bytes(content)
    slip = call("prune", path, "--images", "digits")
    assert (slip.code, slip.out) == (2, "")
    assert message in slip.err
    assert "Traceback" not in slip.err
