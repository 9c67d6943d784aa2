"""`limelight bound` and `limelight construct` on the command line."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from limelight._cli.app import app
from limelight._core.errors import InputError
from limelight.models.construct._files import METADATA

runner = CliRunner()


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def checkpoint(tmp_path):
    rng = np.random.default_rng(0)
    w = {"pos_embed": rng.normal(size=(1, 5, 16))}
    for n in range(2):
        w |= {
            f"blocks.{n}.attn.qkv.weight": rng.normal(size=(48, 16)),
            f"blocks.{n}.attn.qkv.bias": rng.normal(size=48),
            f"blocks.{n}.norm1.weight": rng.normal(size=16),
            f"blocks.{n}.norm1.bias": rng.normal(size=16),
            f"blocks.{n}.mlp.fc1.weight": rng.normal(size=(4, 16)),
        }
    path = tmp_path / "vit.safetensors"
    save_file({k: v.astype(np.float32) for k, v in w.items()}, path)
    return path


def test_bound_for_people_and_machines(checkpoint, tmp_path):
    picture, certificate = tmp_path / "blocks.png", tmp_path / "c.json"
    text = run(
        "bound", "edelman2022", checkpoint, "--heads", 2, "--plot", picture,
        "--certificate", certificate,
    )  # fmt: skip
    assert text.startswith("VACUOUS")
    for word in (
        "timm ViT or DeiT",
        "blocks.1",
        "QK spec",
        "How vacuous",
        "Growth of the bound with T",
        "Not covered",
        "MLP",
    ):  # noqa: E501
        assert word in text
    assert picture.stat().st_size > 10_000
    assert json.loads(certificate.read_text())["verdict"].startswith("DOES NOT APPLY")
    found = json.loads(run("bound", "edelman2022", checkpoint, "--heads", 2, "--json"))
    assert [len(block["heads"]) for block in found["blocks"]] == [2, 2]
    assert found["blocks"][0]["heads"][0]["norms"]["query_key"]["outputs"] == 17
    with pytest.raises(InputError, match="has no bound"):
        run("bound", "li2023", checkpoint)


def test_construct_and_check(tmp_path):
    path = tmp_path / "and.safetensors"
    text = run("construct", "and", "-T", 20, "-s", 3, "--positions", "3,7,11", "-o", path)
    assert "error of a head ≤" in text
    assert (tmp_path / "and.certificate.json").exists()
    assert "pass" in run("construct", "--check", path)
    report = json.loads(run("construct", "--check", path, "--json"))
    assert (report["verdict"], report["inputs_covered"]) == ("pass", "2^20")
    tensors = load_file(path)
    certificate = (tmp_path / "and.certificate.json").read_text()
    tensors["head.0.W_Q"] *= 0.5
    save_file(tensors, path, metadata={METADATA: certificate})
    assert "witness" in run("construct", "--check", path, code=1)
    tensors["head.0.W_Q"] *= 2.2  # sharper than needed: the function is right, the bytes are not
    save_file(tensors, path, metadata={METADATA: certificate})
    assert "altered: head.0.W_Q" in run("construct", "--check", path, code=1)
    run("construct", "--check", path, "--function-only")


@pytest.mark.parametrize("embedding", ["deterministic", "trainable", "bag"])
def test_construct_from_a_table(tmp_path, embedding):
    path = tmp_path / "f.safetensors"
    made = json.loads(
        run("construct", "6b", "-T", 30, "--embedding", embedding, "-o", path, "--json")
    )
    assert made["claim"]["truth_table"] == "6b"
    assert made["lemmas"][1] == "B.6"
    run("construct", "--check", path)


def test_the_printed_one_fails(tmp_path):
    path = tmp_path / "p.safetensors"
    run("construct", "xor", "-T", 20, "--basis", "chirp", "--variant", "printed", "-o", path)
    assert "fail" in run("construct", "--check", path, code=1)


def test_wrong_words(tmp_path):
    x = tmp_path / "x.safetensors"
    for words, message in (
        (("construct", "and"), "no file to write"),
        (("construct", "-o", x), "no rule"),
        (("construct", "nand", "-o", x), "unknown rule"),
        (("construct", "and", "--positions", "a,b", "-o", x), "positions"),
        (("construct", "and", "--check", x), "takes a file alone"),
        (("construct", "--check", x), "cannot read"),
        (("construct", "and", "-o", tmp_path / "no" / "x.safetensors"), "no folder"),
        (("construct", "and", "--seed", -1, "-o", x), "seed = -1"),
        (("construct", "and", "--positions", f"1,2,{10**30}", "-o", x), "positions"),
        (("construct", "and", "--length", 10**9, "-o", x), "does not fit in memory"),
        (("construct", "and", "-T", 10**6, "--basis", "signs", "-o", x), "2\\^26"),
        (("construct", "and", "--basis", "signs:0", "-o", x), "not a size"),
    ):
        with pytest.raises(InputError, match=message):
            run(*words)


def test_nothing_is_written_over_what_was_read_or_holds_something_else(tmp_path, checkpoint):
    """Each of these once replaced the weights, or the manifest of a run."""
    manifest, configuration = tmp_path / "manifest.json", tmp_path / "config.json"
    manifest.write_text("{}")
    configuration.write_text('{"num_attention_heads": 2}')
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    bound = ("bound", "edelman2022", checkpoint, "--heads", 2, "--certificate")
    for words, said in (
        ((*bound, checkpoint), "end in .json"),
        ((*bound, configuration), "it was read"),
        (("construct", "and", "-o", manifest), "end in .safetensors"),
    ):
        with pytest.raises(InputError) as error:
            run(*words)
        assert said in f"{error.value.message}; {error.value.hint}"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
