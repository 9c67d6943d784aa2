"""Parts of a study in cells of a real notebook, redefined under one store: each is refused by name.

Laid out, not computed: the folder refuses before anything runs.
"""

import pytest

BEGIN = """
import jax.numpy as jnp, jax.random as jr
import limelight as ll
from limelight._core.errors import StoreError

def lay_out():
    train = ll.Train(steps=20, batch=2, rate=0.1, examples=4, loss="logistic")
    study = ll.Study(world=Coin(), model=make, train=train, measures=[tall])
    try:
        study.lay_out({"train.examples": [4, 8]}, "runs", trials=2)
        print("taken")
    except StoreError as error:
        print("refused:", error.message)
"""
WORLD = """
class Coin(ll.worlds.World):
    def sample(self, key, truth, index):
        return ll.Example(jr.normal(key, (3, 2)) * 1.0, label=jnp.float32(1.0))
"""
MODEL = """
class Mean(ll.models.Model):
    scale: object = None
    def __call__(self, example, key=None):
        return jnp.mean(example.tokens) * self.scale * 1.0

def make(key, world, truth):
    return Mean(jnp.ones(()))
"""
MEASURE = """
def tall(key, world, truth, model):
    return model.scale * 1.0
"""
CELLS = [BEGIN + WORLD + MODEL + MEASURE + "lay_out()", "lay_out()"]
CELLS += [part.replace("* 1.0", "* 2.0") + "lay_out()\n" + part for part in (WORLD, MODEL, MEASURE)]


def test_a_redefined_part_is_refused_by_name(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in [*CELLS, "lay_out()"]]
    )
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    said = ["".join(o.get("text", "") for o in cell.outputs).strip() for cell in book.cells]
    assert said[:2] == ["taken"] * 2
    for name, line in zip(("Coin.sample", "Mean.__call__", "tall"), said[2:5], strict=True):
        assert line.startswith("refused:"), (name, line)
        assert name in line
    assert said[5] == "taken"
