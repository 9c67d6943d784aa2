"""What enters a result and not its description: files behind a path, flags, environment."""

import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from PIL import Image

from limelight._core.errors import InputError, StoreError
from limelight._engine import device
from limelight._engine.plan import numerics
from limelight._engine.reading import read_manifest
from limelight._identity.inputs import check_inputs, files_read
from limelight.experiments import Encodings, Experiment
from limelight.experiments.starts import Starts
from limelight.models import Loaded
from limelight.models.construct import construct
from limelight.worlds import Composites, Images

VIT = Path(__file__).parents[1] / "fixtures" / "vit"


class Reader(Experiment):
    """A trial that adds a number from a file."""

    path: str = eqx.field(static=True, default="")
    scale: int | float | jax.Array = 1.0

    def files_read(self):
        from limelight._core.files import file_digest

        return {self.path: file_digest(self.path)}

    def trial(self, key):
        added = float(Path(self.path).read_text(encoding="utf-8")) if self.path else 0.0
        return {"value": jr.uniform(key) * self.scale + jnp.asarray(added)}


def sweep(path, store):
    return Reader(str(path)).sweep({"scale": [1.0, 2.0]}, trials=4, width=4, store=store)


def test_a_run_does_not_go_on_with_another_file_behind_the_same_path(tmp_path):
    file, store = tmp_path / "number", tmp_path / "run"
    file.write_text("1")
    before = sweep(file, store)
    assert list(read_manifest(store)["inputs"]) == [str(file)]
    (store / "chunks" / "000-00001.parquet").unlink()
    file.write_text("2")
    with pytest.raises(StoreError, match="other files: .*number changed since"):
        sweep(file, store)
    file.write_text("1")
    np.testing.assert_array_equal(sweep(file, store)["value"], before["value"])


def test_a_finished_run_is_not_taken_for_one_of_other_files(tmp_path):
    file, store = tmp_path / "number", tmp_path / "run"
    file.write_text("1")
    before = sweep(file, store)
    file.write_text("2")
    with pytest.raises(StoreError, match="other files: .*number changed since"):
        sweep(file, store)  # the numbers of the old file would be taken for those of the new
    file.write_text("1")
    np.testing.assert_array_equal(sweep(file, store)["value"], before["value"])
    (store / "chunks" / "000-00001.parquet").unlink()
    file.unlink()
    with pytest.raises((InputError, FileNotFoundError)):
        sweep(file, store)


def test_a_finished_run_is_read_where_its_files_are_not():
    def gone():
        raise InputError("cannot read it")

    check_inputs({"a": "1"}, gone, "run", needed=False)
    with pytest.raises(InputError, match="cannot read"):
        check_inputs({"a": "1"}, gone, "run")


def pictures(folder, seed):
    rng = np.random.default_rng(seed)
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(3):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")


def test_worlds_of_images_say_what_they_read(tmp_path):
    for number in (0, 1):
        pictures(tmp_path / str(number), number)
    first, second = (str(tmp_path / str(number)) for number in (0, 1))
    one, two = files_read(Images(source=first)), files_read(Images(source=second))
    assert list(one) == [first]
    assert one[first] != two[second]
    assert files_read(Images()) == {}  # bundled
    assert files_read(Images(source=first).loaded()) == {}  # described pixel by pixel
    both = files_read(Composites(source=first, background=second))
    assert set(both) == {first, second}
    (tmp_path / "0" / "a" / "0.png").write_bytes((tmp_path / "1" / "a" / "0.png").read_bytes())
    code = (
        "import sys; from limelight.worlds import Images;"
        "print(*Images(source=sys.argv[1]).files_read().values())"
    )
    again = subprocess.run(
        [sys.executable, "-c", code, first], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert again != one[first]


def test_whoever_reads_a_checkpoint_says_so(tmp_path):
    path = VIT / "hf.safetensors"
    assert set(files_read(Encodings(checkpoint=str(path)))) == {str(path)}
    (tmp_path / "wide.safetensors").write_bytes(path.read_bytes())
    assert set(files_read(Starts(folder=str(tmp_path)))) == {str(tmp_path / "wide.safetensors")}
    assert files_read(Starts()) == {}
    construct("and", 5, 2).save(tmp_path / "and.safetensors")
    before = files_read((Loaded(str(tmp_path / "and.safetensors")),))
    construct("or", 5, 2).save(tmp_path / "and.safetensors")
    assert files_read((Loaded(str(tmp_path / "and.safetensors")),)) != before
    with pytest.raises(InputError, match="cannot read"):
        files_read(Loaded(str(tmp_path / "none")))


def test_flags_that_change_numbers_are_part_of_a_study_and_the_usual_ones_are_not():
    assert set(numerics(False)) == {"x64", "matmul", "generator"}
    with jax.threefry_partitionable(False):
        assert numerics(False)["threefry_partitionable"] is False
    with jax.numpy_dtype_promotion("strict"):
        assert numerics(False)["numpy_dtype_promotion"] == "strict"


def test_variables_that_compilers_read_are_written_down(monkeypatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    assert device.describe_machine()["environment"]["NVIDIA_TF32_OVERRIDE"] == "1"
