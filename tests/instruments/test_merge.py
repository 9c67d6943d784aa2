"""Pruning that leaves the building: merging against loops, files, and PyTorch's own logits."""

import copy
import dataclasses
import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight.instruments.curve import draw_curve, finding
from limelight.instruments.gallery import Gallery, group
from limelight.instruments.prune import Pruned, PrunedRow, flops_of, output, prune
from limelight.instruments.sight import Sight
from limelight.models import Vision, load, load_vit, save_vit
from limelight.models._schedule import Schedule, kept_patches, read_schedule, write_schedule
from limelight.models.merge import keys_of, merge, merged_output
from limelight.plot import Series
from limelight.worlds import Patterns
from tests.instruments.test_probe import by_hand, embedded
from tests.instruments.vits import filled, shaken, shapes

FOLDER = Path(__file__).parents[1] / "fixtures" / "pruned"
KINDS = ("class", "no-class-token", "registers")


def matched(rows: np.ndarray, keys: np.ndarray, first: int, count: int):
    """Bipartite soft matching by loops over lists of patches: each row is the set it stands for."""
    rows = [(row, key, {i}) for i, (row, key) in enumerate(zip(rows, keys, strict=True))]
    held = set(range(first))
    once = True
    while len(rows) - first > count:
        most = (len(rows) - first) // 2 if once else max(len(rows) // 2 - first, 1)
        left, once = min(len(rows) - first - count, most), False
        even, odd = rows[::2], [list(row) for row in rows[1::2]]
        best = []
        for i, (_, key, who) in enumerate(even):
            options = [
                (key @ other / np.linalg.norm(key) / np.linalg.norm(other), j)
                for j, (_, other, names) in enumerate(rows[1::2])
                if not (who | names) & held
            ]
            if options:
                best.append((*max(options, key=lambda pair: pair[0]), i))
        going = sorted(best, key=lambda pair: -pair[0])[:left]
        gone = {i for _, _, i in going}
        sums = [[len(w) * r, len(w) * k, set(w)] for r, k, w in odd]
        for _, j, i in going:
            row, key, who = even[i]
            sums[j][0] = sums[j][0] + len(who) * row
            sums[j][1] = sums[j][1] + len(who) * key
            sums[j][2] |= who
        rows = [row for i, row in enumerate(even) if i not in gone]
        rows += [(r / len(w), k / len(w), w) for r, k, w in sums]
    return rows


@pytest.mark.parametrize("first", [0, 1, 5])
@pytest.mark.parametrize("count", [11, 8, 4])
def test_merging_is_that_of_loops(double, first, count):
    rng = np.random.default_rng(10 * first + count)
    x, keys = rng.normal(size=(16 + first, 6)), rng.normal(size=(16 + first, 4))
    found = eqx.filter_jit(merge)(jnp.asarray(x), jnp.asarray(keys), first, count)
    found = jax.tree.map(np.asarray, found)
    want = matched(x, keys, first, count)
    assert len(found.rows) == count + first == len(want)
    np.testing.assert_allclose(found.rows, [row for row, _, _ in want], rtol=1e-9, atol=1e-12)
    assert found.sizes.tolist() == [len(who) for _, _, who in want]
    for i, (_, _, who) in enumerate(want):
        assert set(np.flatnonzero(np.asarray(found.owner) == i).tolist()) == who
        assert int(found.index[i]) in who
    assert float(found.sizes.sum()) == 16 + first


@pytest.mark.parametrize("pool", ["class", "mean"])
def test_a_merged_network_is_that_of_numpy(double, pool):
    recipe = Vision(width=12, depth=3, heads=2, hidden=24, pool=pool, outputs=10)
    model = shaken(recipe, True)
    patches = np.random.default_rng(0).normal(size=(16, 4))
    found = eqx.filter_jit(merged_output)(model, jnp.asarray(patches), 1, 6)
    x, first = embedded(model, patches), model.first
    step = by_hand(model, x, 0)
    att = model.blocks[0].attention
    keys = step["normed"] @ np.asarray(att.key.weight) + np.asarray(att.key.bias)
    rows = matched(step["leaving"], (keys[:, :6] + keys[:, 6:]) / 2, first, 6)
    x, sizes = np.stack([row for row, _, _ in rows]), [len(who) for _, _, who in rows]
    repeated = np.repeat(np.arange(len(x)), sizes)
    for b in (1, 2):  # a token of s patches is s equal tokens
        x = by_hand(model, x[repeated], b)["leaving"][np.searchsorted(repeated, np.arange(len(x)))]
    behind = np.asarray(eqx.filter_jit(model.norm)(jnp.asarray(x)))
    place = next(i for i, (_, _, who) in enumerate(rows) if 0 in who)
    pooled = behind[place] if pool == "class" else behind[repeated].mean(0)
    want = pooled @ np.asarray(model.head.weight) + np.asarray(model.head.bias)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-10)


def test_nothing_to_merge_changes_nothing(double):
    model = shaken(Vision(width=12, depth=2, heads=2, hidden=24, pool="class", outputs=10), True)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(16, 4)))
    merged, whole = eqx.filter_jit(
        lambda model, x: (merged_output(model, x, 1, 16), output(model, x, None))
    )(model, x)
    np.testing.assert_allclose(merged, whole, rtol=1e-12)
    keys = eqx.filter_eval_shape(lambda m, x: keys_of(m.blocks[0], m.embedded(x)), model, x)
    assert keys.shape == (17, 6)


def test_norm_keeps_the_longest(double):
    model = shaken(Vision(width=12, depth=2, heads=2, hidden=24, pool="mean", outputs=10), True)
    cut = dataclasses.replace(model, keep=((0, 5),))
    x = np.random.default_rng(0).normal(size=(16, 4))
    lengths = np.linalg.norm(by_hand(model, embedded(model, x), 0)["leaving"], axis=1)
    scored, normed, plain = eqx.filter_jit(
        lambda cut, x, scores: (
            output(cut, x, scores), output(cut, x, None, "norm"), output(cut, x, None)
        )
    )(cut, jnp.asarray(x), jnp.asarray(lengths))  # fmt: skip
    np.testing.assert_allclose(normed, scored, rtol=1e-10)
    assert not np.allclose(scored, plain)


@pytest.mark.parametrize("policy", ["similarity", "norm"])
def test_flops_by_formula_are_about_those_that_xla_counts(policy):
    recipe = Vision(width=64, depth=4, heads=2, hidden=256, pool="class", outputs=50)
    model = filled(shapes(recipe, Patterns(tokens=100, dimension=48)))
    model = dataclasses.replace(model, keep=((0, 60),))
    many = lambda x: jax.vmap(lambda t: output(model, t, None, policy))(x)
    compiled = jax.jit(many).lower(jax.ShapeDtypeStruct((4, 100, 48), jnp.float32)).compile()
    counted = compiled.cost_analysis()["flops"] / 4
    assert counted / flops_of(model, policy).total == pytest.approx(1.0, abs=0.02)


# --- PyTorch ----------------------------------------------------------------------------------


def patches_of(images: np.ndarray, size: int) -> np.ndarray:
    b, c, h, _ = images.shape
    g = h // size
    cut = images.reshape(b, c, g, size, g, size).transpose(0, 2, 4, 3, 5, 1)
    return cut.reshape(b, g * g, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_pytorch(kind):
    """Stored ones, by `fixtures/make_pruned.py`: timm's network, patched by `limelight.torch`."""
    model = load_vit(FOLDER / f"{kind}.safetensors")
    told = load_file(FOLDER / f"{kind}.logits.safetensors")
    tokens = jnp.asarray(patches_of(told.pop("images"), 4))
    assert len(told) == 10
    for name, logits in told.items():
        _, policy, *share = name.split(".", 2)
        keep = ((0, kept_patches(float(share[0]), 25)),) if share else ()
        cut = dataclasses.replace(model, keep=keep)
        found = eqx.filter_jit(
            lambda m, x, p=policy: jax.vmap(lambda t: output(m, t, None, p))(x)
        )(cut, tokens)  # fmt: skip
        np.testing.assert_allclose(found, logits, atol=1e-5, err_msg=name)


def test_a_patched_module_gives_our_logits():
    """The same again with PyTorch at hand, and what the patch leaves alone."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: stored logits only")
    timm = pytest.importorskip("timm", reason="timm is not installed: stored logits only")
    import limelight.torch as patch

    module = timm.models.VisionTransformer(
        img_size=20, patch_size=4, embed_dim=12, depth=3, num_heads=2, num_classes=5
    ).eval()
    path = FOLDER / "class.safetensors"
    module.load_state_dict({k: torch.tensor(v) for k, v in load_file(path).items()})
    told = load_file(FOLDER / "class.logits.safetensors")
    images, names = torch.tensor(told["images"]), list(module.state_dict())
    for keep in (0.8, 0.5, 0.3):
        for policy in ("attention", "similarity", "norm"):
            assert patch.prune(module, keep, 1, policy) is module
            with torch.no_grad():
                found = module(images).numpy()
            np.testing.assert_allclose(found, told[f"logits.{policy}.{keep}"], atol=1e-5)
    assert list(module.state_dict()) == names
    for policy in ("attention", "similarity"):  # a copy is pruned too, and computes on its own
        copied = copy.deepcopy(patch.prune(module, 0.5, 1, policy))
        with torch.no_grad():
            for weights in copied.blocks.parameters():
                weights.mul_(1.5)
            changed = copied(images).numpy()
            patch.restore(module).load_state_dict(copied.state_dict())
            wanted = patch.prune(module, 0.5, 1, policy)(images).numpy()
            np.testing.assert_allclose(changed, wanted, atol=1e-6)
            assert np.abs(changed - told[f"logits.{policy}.0.5"]).max() > 1e-2
            module.load_state_dict({k: torch.tensor(v) for k, v in load_file(path).items()})
    with torch.no_grad():
        whole = patch.restore(module)(images).numpy()
    np.testing.assert_allclose(whole, told["logits.none"], atol=1e-6)
    with pytest.raises(InputError, match="Linear is not a VisionTransformer"):
        patch.prune(torch.nn.Linear(2, 2), 0.5)
    with pytest.raises(InputError, match="at = 3"):
        patch.prune(module, 0.5, 3)


def test_no_part_of_the_library_imports_pytorch():
    source = Path(__file__).parents[2] / "src" / "limelight"
    users = [
        path.name
        for path in source.rglob("*.py")
        if any(line.strip().startswith(("import torch", "from torch", "from limelight.torch",
               "import limelight.torch")) for line in path.read_text().splitlines())
    ]  # fmt: skip
    assert users == ["torch.py"]


# --- files and the table ----------------------------------------------------------------------


def test_a_schedule_travels_in_the_metadata(tmp_path):
    model, path, copy = shaken(), tmp_path / "vit.safetensors", tmp_path / "pruned.safetensors"
    save_vit(model, path, channels=1)
    write_schedule((path,), copy, Schedule("attention", 2, 0.7))
    assert read_schedule(copy) == Schedule("attention", 2, 0.7)
    one, two = load_file(path), load_file(copy)
    assert one.keys() == two.keys()
    assert all((one[k] == two[k]).all() for k in one)
    with safe_open(copy, "numpy") as file:
        assert json.loads(file.metadata()["limelight.prune"]) == {
            "policy": "attention", "at": 2, "keep": 0.7,
        }  # fmt: skip
        assert file.metadata()["heads"] == "2"
    np.testing.assert_array_equal(load_vit(copy).head.weight, model.head.weight)
    with pytest.raises(InputError, match="says nothing about pruning"):
        read_schedule(path)
    with pytest.raises(InputError, match="policy"):
        Schedule("colour", 1, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruned_file_gives_its_logits_when_it_is_loaded(kind, tmp_path):
    """Those of PyTorch under the same schedule; and the whole network's without it."""
    told = load_file(FOLDER / f"{kind}.logits.safetensors")
    tokens = jnp.asarray(patches_of(told["images"], 4))
    kept = jnp.ones(25, bool)
    run = eqx.filter_jit(
        lambda m: jax.vmap(lambda t: m(Example(t, jnp.zeros(1), kept, jnp.zeros(25, int))))(tokens)
    )
    copy = tmp_path / "pruned.safetensors"
    for policy in ("attention", "similarity", "norm"):
        write_schedule((FOLDER / f"{kind}.safetensors",), copy, Schedule(policy, 1, 0.5))
        found = load(copy)
        np.testing.assert_allclose(run(found.model), told[f"logits.{policy}.0.5"], atol=1e-5)
        assert any(f"50% of the patches, by {policy}" in note for note in found.notes)
        assert np.abs(told[f"logits.{policy}.0.5"] - told["logits.none"]).max() > 1e-3
    for bad, says in (
        (Schedule("random", 1, 0.5), "random"),
        (Schedule("norm", 9, 0.5), "block 9"),
    ):
        write_schedule((FOLDER / f"{kind}.safetensors",), copy, bad)
        with pytest.raises(InputError, match=says):
            load(copy)


def test_several_blocks_make_several_curves():
    model = shaken()
    shown = Gallery.load("digits", Sight.of(model), limit=20)
    found = prune(
        model, shown, group(10, shown.pictures), [0.5], policies=["similarity", "norm"], at=[1, 2],
        batch=10, rounds=2,
    )  # fmt: skip
    assert [(row.policy, row.at) for row in found.rows[1:]] == [
        ("similarity", 1), ("norm", 1), ("similarity", 2), ("norm", 2),
    ]  # fmt: skip
    assert found.as_json()["pruned_behind_block"] == [1, 2]
    assert found.rows[1].flops < found.rows[3].flops < found.rows[0].flops
    picture = draw_curve(found)
    cuts = [f"cut after block {at}" for at in (1, 2)]
    assert [panel.title for panel in picture.panels] == 2 * cuts  # measured, then counted
    for panel, block in zip(picture.panels, (1, 2, 1, 2), strict=True):
        lines = [mark for mark in panel.content if isinstance(mark, Series)]
        assert [line.label for line in lines] == ["similarity", "norm", ""]
        seen = [row.accuracy for row in found.rows[1:] if row.at == block]
        assert [float(line.y[0]) for line in lines[:2]] == [100 * one for one in seen]
    assert picture.panels[2].x == "kFLOPs per image"


PLAIN = {
    "policy": "none", "at": 3, "keep": 1.0, "tokens": 9, "accuracy": 0.5, "interval": (0.4, 0.6),
    "difference": 0.0, "difference_interval": (0.0, 0.0), "flops": 9, "products": 9,
    "compiled_flops": 9.0, "milliseconds": 1.0, "speedup": 1.0, "speedup_interval": None,
}  # fmt: skip


def test_the_title_is_the_fastest_cut_that_costs_a_point_at_most():
    def pruned(*rows):
        return Pruned(tuple(PrunedRow(**(PLAIN | one)) for one in rows), (3,), "images", 1, 1, {})

    near = {"policy": "norm", "difference": -0.005, "speedup": 1.2}
    far = {"policy": "random", "difference": -0.08, "speedup": 2.0}
    known = {"policy": "truth", "difference": 0.02, "speedup": 3.0}  # nobody has it
    wanted = "1.20 times as fast at -0.5 points of accuracy: norm, cut after block 3"
    assert finding(pruned({}, near, far, known)) == wanted
    faster = {"policy": "similarity", "difference": 0.01, "speedup": 1.5}
    assert "1.50 times" in finding(pruned({}, near, faster, far))
    assert finding(pruned({}, far)) == "Every cut costs more than a point of accuracy"
