"""`limelight prune` and `limelight probe` on the command line."""

import dataclasses
import inspect
import json
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

from limelight._cli import app
from limelight._cli.images import NetworkOptions, Preparing
from limelight._cli.prune import print_pruned
from limelight._core.errors import InputError
from limelight._core.files import files_digest
from limelight.instruments.gallery import Gallery
from limelight.instruments.prune import Pruned, PrunedRow
from limelight.instruments.sight import Sight
from limelight.measures.locality import locality
from limelight.models import load_vit, save_vit
from limelight.models._schedule import Schedule, read_schedule, write_schedule
from limelight.models.weights import files_of
from tests.instruments.vits import DIGITS, larger, shaken

NETWORKS = Path(__file__).parents[1] / "fixtures" / "checkpoints"


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A random ViT for 8 x 8 grey images, in a file."""
    path = tmp_path / "tiny.safetensors"
    save_vit(shaken(), path, channels=1)
    return path


def test_pruning_on_the_command_line(call):
    words = ("prune", DIGITS, "--images", "digits", "--pixels", "centred", "--keep", 0.5)
    told = call(*words, "--keep", 1, "--json", "--plot", "curve.png")
    assert told.code == 0, told.err
    found = told.json
    rows = {(row["policy"], row["keep"]): row for row in found["rows"]}
    every = ("attention", "similarity", "norm", "random")
    assert set(rows) == {("none", 1.0), *((policy, 0.5) for policy in every)}
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    # merged patches are not lost
    assert rows["similarity", 0.5]["accuracy"] > rows["random", 0.5]["accuracy"]
    assert rows["none", 1.0]["accuracy"] > 0.94  # most of these digits it was trained on
    assert rows["random", 0.5]["difference_interval"][1] < 0  # half the patches do not say it all
    assert found["checkpoint"] == "digits.safetensors"
    assert found["images"] == "1,797 of all images of digits"
    assert {"kernel", "device", "versions", "counted", "commit", "date"} <= set(found)
    assert found["command"].startswith("limelight ")


def test_a_schedule_is_written_for_other_programs(call):
    words = ("prune", DIGITS, "--images", "digits", "--limit", 20, "-o", "pruned.safetensors")
    told = call(*words, "--keep", 0.5, "--policy", "similarity", "--rounds", 1)
    assert told.code == 0, told.err
    assert "Written: pruned.safetensors" in told.out
    assert read_schedule("pruned.safetensors") == Schedule("similarity", 1, 0.5)
    slip = call(*words, "--keep", 0.5, "--keep", 0.7)
    assert (slip.code, slip.out) == (2, "")
    assert "which schedule" in slip.err


def test_the_table_for_people(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    row = PrunedRow("none", 3, 1.0, 197, 0.58, (0.56, 0.6), 0.0, (0.0, 0.0), 2_640_000_000,
                    2_500_000_000, 2.6e9, 19.4, 1.0, None)  # fmt: skip
    fewer = dataclasses.replace(
        row, policy="attention", keep=0.5, tokens=99, difference=-0.0715, speedup=1.68,
        difference_interval=(-0.086, -0.057), flops=1_610_000_000,
    )  # fmt: skip
    machine = {"device": {"platform": "cpu", "cores": 2, "kind": "cpu"}}
    print_pruned("vit", "imagenet", Pruned((row, fewer), (3,), "2,000 images", 16, 125, machine))
    printed = capsys.readouterr().out
    for words in ("after block 3", "2 CPU cores", "58.00", "-7.15", "-8.6 to -5.7", "1.68x",
                  "no fused kernel", "GFLOPs by formula", "counts the compiled program",
                  "count is 1.615 times the formula's in 1 of 2 rows"):  # fmt: skip
        assert words in " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 100


def test_small_networks_are_counted_in_small_units_and_gpus_before_compilation(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    row = PrunedRow("attention", 1, 0.5, 9, 0.85, (0.739, 0.919), -0.15, (-0.238, -0.052), 376_500,
                    350_000, 377_000.0, 0.0365, 1.17, None)  # fmt: skip
    machine = {"device": {"platform": "gpu", "cores": 2, "kind": "an H200"}}
    print_pruned("vit", "centred", Pruned((row,), (1,), "60 images", 16, 10, machine))
    printed = capsys.readouterr().out
    table = printed.splitlines()
    assert table[2].split() == [
        "attention", "0.5", "9", "85.00", "73.9", "to", "91.9", "-15.00", "-23.8", "to", "-5.2",
        "376", "377", "0.0365", "1.17x",
    ]  # fmt: skip
    for words in ("kFLOPs by formula", "counts the program before compilation", "library"):
        assert words in " ".join(printed.split())
    assert "2 % apart" not in printed


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
        (("--images", "digits", "--batch", "0"), "--batch 0"),
        (("--images", "four.npz"), "images of 4 channels"),
        (("--images", "digits", "--behind", "four.npz"), "images of 4 channels"),
        (("--images", "flat"), "no images in folders by class"),
        (("--images", "flat/a.png"), "no kind of data set"),
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
    (here / "flat").mkdir()
    Image.new("RGB", (9, 5)).save(here / "flat" / "a.png")
    np.savez(here / "four.npz", images=np.zeros((2, 8, 8, 4), np.uint8), labels=np.arange(2))
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


def test_a_probe_on_the_command_line(call):
    told = call("probe", DIGITS, "--pixels", "centred", "--limit", 6, "-o", "page.html")
    assert told.code == 0, told.err
    assert "no --images: the bundled digits" in told.out
    encodings = load_vit(DIGITS).encodings
    assert f"locality {float(locality(encodings)):.3f}" in told.out
    assert "6 of all images of digits" in told.out
    assert "Written: page.html" in told.out
    assert max(map(len, told.out.splitlines())) <= 100
    assert "Content-Security-Policy" in Path("page.html").read_text(encoding="utf-8")


def test_a_probe_reads_only_what_is_named(call):
    words = ("--similarity", "--norms", "--limit", 4)
    told = call("probe", DIGITS, *words)
    assert told.code == 0, told.err
    for line in ("- Tokens ", "Similarity of tokens by depth", "Lengths of patch tokens"):
        assert line in told.out
    assert "locality" not in told.out
    assert max(map(len, told.out.splitlines())) <= 100
    found = call("probe", DIGITS, *words, "--json").json
    assert len(found["similarity"]["cosine"]) == len(found["norms"]) == 3
    assert found["positions"] is None
    # Similarity stands beside what the cluster model of xu2022 says of each block; nothing else.
    assert all(set(block) == {"block", "cluster_model"} for block in found["blocks"])
    page = Path("digits.probe.html").read_text(encoding="utf-8")
    assert "How alike tokens are" in page
    assert "Noise, block by block" not in page


def test_a_probe_takes_pictures_without_classes(call, tmp_path):
    """One file, or a folder of them, of any size; a folder of one class with one image too."""
    photos = tmp_path / "here" / "photos"
    (photos / "one" / "cat").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("b.png", "a.png", "one/cat/c.png"):
        Image.fromarray(rng.integers(0, 256, (9, 5, 3), dtype=np.uint8)).save(photos / name)
    (photos / "notes.txt").write_text("no image")
    told = call("probe", DIGITS, "--images", "photos/a.png", "--shown", 1)
    assert told.code == 0, told.err
    assert "1 of all images of a.png" in told.out
    assert "nan" not in told.out
    assert "This image (a.png)" in Path("digits.probe.html").read_text(encoding="utf-8")
    sight = Sight.of(load_vit(DIGITS))
    load = lambda path: Gallery.load(str(path), sight, labelled=False).pictures
    assert load(photos).names == ("a.png", "b.png")
    assert load(photos / "one").names == ("cat",)
    np.testing.assert_array_equal(load(photos).images[:1], load(photos / "a.png").images)


def test_without_images_that_fit_only_positions_are_read(call, tmp_path):
    path = tmp_path / "larger.safetensors"
    save_vit(larger(), path, channels=1)
    found = call("probe", path, "--json").json
    assert found["page"] == "larger.probe.html"
    assert found["positions"]["draws"] == 200
    assert "blocks" not in found
    page = Path("larger.probe.html").read_text(encoding="utf-8")
    assert "Positions" in page
    assert "Noise, block by block" not in page


def test_pictures_go_to_a_folder_that_is_made(call, tmp_path):
    path = tmp_path / "larger.safetensors"
    save_vit(larger(), path, channels=1)
    assert call("probe", path, "--pictures", "new/pictures").code == 0
    made = sorted(Path("new/pictures").iterdir())
    assert made
    assert all(one.read_bytes().startswith(b"\x89PNG") for one in made)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pictures", "two.npz"), "two.npz is not a folder"),
        (("--images", "nowhere"), "there are no images at nowhere"),
        (("--images", "empty"), "no images in folders"),
        (("--images", "two.npz"), "images of 2 channels"),
        (("-o", "page.pdf"), "cannot write page.pdf"),
        (("-o", "no/page.html"), "there is no folder no"),
        (("--shown", "-1"), "--shown -1"),
        (("--block", "9"), "--block 9"),
        (("--head", "0"), "--head 0"),
        (("--cut", "-1"), "--cut -1"),
        (("--noise", "-1"), "--noise -1"),
        (("--share", "0"), "--share 0"),
        (("--limit", "0"), "--limit 0"),
        (("--heads", "5"), "5 heads do not share"),
    ],
)
def test_a_probe_refuses_in_one_line(call, tiny, tmp_path, words, message):
    here = tmp_path / "here"
    (here / "empty").mkdir()
    np.savez(here / "two.npz", images=np.zeros((2, 8, 8, 2), np.uint8), labels=np.arange(2))
    slip = call("probe", tiny, *words)
    assert (slip.code, slip.out) == (2, "")
    assert message in slip.err.splitlines()[0]
    assert len(slip.err.splitlines()) <= 2


def test_folders_and_divided_checkpoints_are_told_by_all_their_files(call, tmp_path):
    """A folder fails nowhere, and a part that is replaced under the same index is seen."""
    tensors = load_file(NETWORKS / "hf-vit" / "model.safetensors")
    folder = tmp_path / "vit"
    folder.mkdir()
    shutil.copy(NETWORKS / "hf-vit" / "config.json", folder)
    parts = {"one.safetensors": sorted(tensors)[::2], "two.safetensors": sorted(tensors)[1::2]}
    places = {name: file for file, held in parts.items() for name in held}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))

    def digest(shift, *words):
        for file, held in parts.items():
            save_file({name: tensors[name] + np.float32(shift) for name in held}, folder / file)
            shift = 0
        told = call(*words, folder, "--json")
        assert told.code == 0, told.err
        return told.json.get("weights_sha256") or told.json["settings"]["weights_sha256"]

    assert digest(0, "probe", "--positions") == files_digest(files_of(folder))
    assert Path("vit.probe.html").exists()
    bound = ("bound", "edelman2022")
    assert digest(0, *bound) == files_digest(files_of(folder)) != digest(0.5, *bound)
    assert call(*bound, folder, "--certificate", "a.json").code == 0
    told = call(*bound, folder, "--check", "a.json")
    assert (told.code, told.out[:4]) == (0, "pass")
    assert "heads is 4 by the caller and 2 by its config" in call(*bound, folder, "--heads", 4).err
    with pytest.raises(InputError, match="not in one safetensors file"):
        write_schedule(files_of(folder), tmp_path / "a.safetensors", Schedule("norm", 1, 0.5))


def test_shared_options_are_the_same_everywhere():
    """They are written once, so that what one command says holds for all."""
    shared = [field.name for group in (NetworkOptions, Preparing) for field in fields(group)]
    of = {name: inspect.signature(app.COMMANDS[name]).parameters for name in ("probe", "prune")}
    for name in shared:
        assert of["probe"][name].default is of["prune"][name].default
    bound = inspect.signature(app.COMMANDS["bound"]).parameters
    assert all(bound[name].default is of["probe"][name].default for name in ("heads", "like"))
