"""Token sparsification: gathering is masking, sparsifier laws, costs, and the table end to end."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.types import Example
from limelight._engine.device import LIBRARY
from limelight.instruments.gallery import Behind, Gallery, group
from limelight.instruments.prune import Pruned, _Program, kept_patches, output, patch_scores, prune
from limelight.instruments.sight import Sight
from limelight.models import Vision
from limelight.models._flops import vit_flops
from limelight.worlds import Patterns
from tests.instruments.vits import WORLD, filled, shaken, shapes

run = eqx.filter_jit(output)
read = eqx.filter_jit(lambda model, e, scores=None: model.read(e, scores))
batched = eqx.filter_jit(lambda m, x, s, p: jax.vmap(lambda x, s: output(m, x, s, p))(x, s))


@eqx.filter_jit
def masked(model, e: Example, kept):
    """The output with tokens masked from the second block on, and those blocks' softmaxes."""
    x, softmaxes = model.read(e).tokens[1], []
    for block in model.blocks[1:]:
        x, S = block(x, kept)
        softmaxes.append(S)
    return model._out(x, kept), softmaxes


def image(seed: int = 5, count: int = 16, numbers: int = 4, dtype=jnp.float32) -> Example:
    tokens = jr.normal(jr.key(seed), (count, numbers), dtype)
    return Example(tokens, jnp.zeros(1), jnp.ones(count, bool), jnp.zeros(count, int))


def gallery(limit: int = 40, **options) -> Gallery:
    return Gallery.load("digits", Sight.of(shaken()), limit=limit, **options)


# --- laws of keeping --------------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "scored"), [("class", True), ("mean", False)])
def test_gathering_is_masking_the_same_tokens_out_of_later_softmaxes(double, pool, scored):
    recipe = Vision(width=12, depth=3, heads=2, hidden=24, pool=pool, outputs=10)
    model, e = shaken(recipe, True), image(dtype=jnp.float64)
    scores = jr.uniform(jr.key(3), (16,)) if scored else None
    pruned = read(dataclasses.replace(model, keep=((0, 6),)), e, scores)
    kept = np.zeros(len(model.positions), dtype=bool)
    kept[np.asarray(pruned.index[1])] = True
    assert kept.sum() == 6 + (pool == "class")
    out, softmaxes = masked(model, e, jnp.asarray(kept))
    for S in softmaxes:
        assert (np.asarray(S)[..., ~kept] == 0).all()
    np.testing.assert_allclose(out, pruned.output, rtol=1e-12, atol=1e-13)


def test_keeping_all_is_no_pruning_to_the_bit():
    model, tokens = shaken(), image().tokens
    whole = dataclasses.replace(model, keep=((0, 16),))
    program = lambda m: str(jax.make_jaxpr(lambda x: output(m, x, None))(tokens))
    assert program(whole) == program(model)
    np.testing.assert_array_equal(run(whole, tokens, None), run(model, tokens, None))


@pytest.mark.parametrize("scored", [True, False], ids=["by score", "by attention"])
def test_permuted_patches_keep_the_permuted_set(double, scored):
    model, e = dataclasses.replace(shaken(double=True), keep=((1, 5),)), image(dtype=jnp.float64)
    order = jr.permutation(jr.key(2), 16)
    scores = jr.uniform(jr.key(3), (16,)) if scored else None
    rows = jnp.concatenate([jnp.zeros(1, int), order + 1])
    moved = eqx.tree_at(lambda m: m.positions, model, model.positions[rows])
    shuffled = dataclasses.replace(e, tokens=e.tokens[order])
    one = read(model, e, scores)
    two = read(moved, shuffled, None if scores is None else scores[order])
    chosen = {int(order[i - 1]) + 1 for i in np.asarray(two.index[2])[1:]}
    assert chosen == set(np.asarray(one.index[2])[1:].tolist())
    np.testing.assert_allclose(one.output, two.output, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scored", [True, False], ids=["by score", "by attention"])
def test_what_is_kept_of_fewer_is_kept_of_more(scored):
    model, x = shaken(), image().tokens
    S, every = jax.nn.softmax(x @ x.T)[None], jnp.ones(17, bool)
    S = jnp.pad(S, ((0, 0), (1, 0), (1, 0)), constant_values=0.1)
    scores = jr.uniform(jr.key(3), (17,)) if scored else model._received(S, every)
    sets = [set(np.asarray(model._choose(scores, every, k)).tolist()) for k in (3, 8, 15)]
    assert sets[0] < sets[1] < sets[2]
    assert [len(chosen) for chosen in sets] == [4, 9, 16]


def test_random_scores_keep_every_patch_at_the_same_rate():
    shown, k = gallery(1500), 5
    scores = patch_scores("random", np.ones((1500, 16), bool), shown, np.arange(1500))
    kept = (np.argsort(np.argsort(-scores, axis=1), axis=1) < k).mean(axis=0)
    deviation = np.sqrt(k / 16 * (1 - k / 16) / 1500)
    assert np.abs(kept - k / 16).max() < 4 * deviation
    assert kept.mean() == pytest.approx(k / 16)


def test_true_scores_keep_the_image_before_the_background():
    shown = gallery(30, behind=Behind("tiles", size=0.6))
    places = np.arange(30)
    _, own = shown.images(places)
    scores = patch_scores("truth", own, shown, places)
    assert 0 < own.mean() < 1
    for row, mine in zip(scores, own, strict=True):
        assert row[mine].min() > row[~mine].max()
    fewer = patch_scores("random", own, shown, places)
    np.testing.assert_allclose(scores - own, fewer, atol=1e-6)  # chance decides among equals


# --- costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "tokens", "keep"),
    [
        (Vision(width=64, depth=2, heads=4, hidden=256, pool="class", outputs=50), 49, None),
        (Vision(width=64, depth=3, heads=1, hidden=64, pool="mean", outputs=10), 100, 30),
        (Vision(width=96, depth=2, heads=3, hidden=96, pool="class", qkv_bias=False), 64, 32),
        (Vision(width=32, depth=4, heads=2, hidden=128, pool="sum"), 144, 20),
    ],
)
def test_flops_by_formula_are_those_that_xla_counts(recipe, tokens, keep):
    model = filled(shapes(recipe, Patterns(tokens=tokens, dimension=48)))
    model = model if keep is None else dataclasses.replace(model, keep=((0, keep),))
    inputs = jax.ShapeDtypeStruct((4, tokens, 48), jnp.float32)
    arrays, rest = eqx.partition(model, eqx.is_array)
    many = lambda a, x: jax.vmap(lambda t: output(eqx.combine(a, rest), t, None))(x)
    lowered = jax.jit(many).lower(arrays, inputs)
    for program in (lowered, lowered.compile()):  # what is counted on a GPU, and elsewhere
        counted = program.cost_analysis()["flops"] / 4
        assert counted / vit_flops(model).total == pytest.approx(1.0, abs=0.02)


def test_on_a_gpu_the_program_before_compilation_is_counted(monkeypatch):
    """There products are calls of a library; the table and its JSON say so."""
    told, plain = [], jax.jit

    def spy(function, **options):
        told.append(options.get("compiler_options"))
        return plain(function, **options)

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "jit", spy)
    program = _Program(shaken(), "attention", 0.5, 1, 2, 16)
    program.compile()
    assert LIBRARY in told
    assert program.flops == program.lowered.cost_analysis()["flops"] / 2  # here a CPU's
    assert program.flops != program.run.cost_analysis()["flops"] / 2
    json = lambda kind: Pruned((), (1,), "", 2, 2, {"device": {"platform": kind}}).as_json()
    assert "library" in json("gpu")["kernel"]
    assert json("gpu")["counted"].endswith("by XLA: the program before compilation")
    assert "library" not in json("cpu")["kernel"]
    assert json("cpu")["counted"].endswith("by XLA: the compiled program")


def test_dropped_tokens_save_what_they_cost():
    model = shaken()
    cost = lambda k: vit_flops(dataclasses.replace(model, keep=((0, k),))).products
    n, m, d, hidden = 17, 6, 12, 24
    one = lambda n: 2 * n * (4 * d * d + 2 * d * hidden) + 4 * n * n * d
    assert vit_flops(model).products - cost(m - 1) == 2 * (one(n) - one(m))
    assert cost(16) == vit_flops(model).products
    with pytest.raises(InputError, match="positional"):
        vit_flops(shapes(Vision(attention="positional"), WORLD))


# --- the table --------------------------------------------------------------------------------


def test_the_table_says_what_the_model_does():
    model, shown = shaken(), gallery(50, behind=Behind("tiles"))
    groups = group(10, shown.pictures)
    found = prune(model, shown, groups, [0.5, 1.0], batch=16, rounds=6)
    assert [(row.policy, row.keep) for row in found.rows] == [
        ("none", 1.0), ("attention", 0.5), ("similarity", 0.5), ("norm", 0.5), ("random", 0.5),
        ("truth", 0.5),
    ]  # fmt: skip
    images, own = shown.images(np.arange(50))
    tokens = jnp.asarray(shown.tokens(images))
    for row in found.rows:
        cut = dataclasses.replace(model, keep=() if row.policy == "none" else ((0, 8),))
        given = None
        if row.policy in ("random", "truth"):
            given = jnp.asarray(patch_scores(row.policy, own, shown, np.arange(50)))
        said = np.argmax(np.asarray(batched(cut, tokens, given, row.policy)), axis=1)
        right = said == shown.labels()
        assert row.accuracy == pytest.approx(right.mean(), abs=1e-9)
        assert row.interval[0] <= row.accuracy <= row.interval[1]
        assert row.tokens == (17 if row.policy == "none" else 9)
    whole, *rest = found.rows
    for row in rest:
        assert row.difference == pytest.approx(row.accuracy - whole.accuracy)
        assert row.flops < whole.flops
        assert row.compiled_flops < whole.compiled_flops
        assert row.milliseconds > 0
    assert (found.at, found.rounds) == ((1,), 6)


def test_shapes_that_do_not_fit_are_refused():
    one = shapes(Vision(width=8, heads=2, depth=1), WORLD)
    shown = gallery(8)
    with pytest.raises(InputError, match="one block"):
        prune(one, shown, group(10, shown.pictures), [0.5])
    with pytest.raises(InputError, match="3 outputs, digits has 10 classes"):
        group(3, shown.pictures)
    with pytest.raises(InputError, match="not square"):
        Sight.of(shapes(Vision(), Patterns(tokens=16, dimension=7)))
    assert kept_patches(0.5, 9) == 4


# --- images -----------------------------------------------------------------------------------


def test_tokens_are_those_that_the_world_of_images_makes():
    shown = gallery(20, pixels="centred")
    images, _ = shown.images(np.arange(20))
    truth = WORLD.draw(jr.key(0))
    place = {int(n): i for i, n in enumerate(np.asarray(truth.order))}
    for i, number in enumerate(shown.numbers[:3]):
        index = place[int(number)]
        world = WORLD if index < 1400 else WORLD.held_out()
        e = world.sample(jr.key(1), truth, jnp.array(index if index < 1400 else index - 1400))
        np.testing.assert_allclose(shown.tokens(images)[i], e.tokens, atol=1e-6)
    assert (shown.sight.grid, shown.sight.patch, shown.sight.channels) == (4, 2, 1)


def test_sizes_and_colours_are_made_to_fit():
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8, 1)
    wide = Sight(grid=2, patch=8, channels=3).fit(grey)
    assert wide.shape == (16, 16, 3)
    assert (wide[..., 0] == wide[..., 2]).all()
    colour = np.zeros((8, 8, 3), dtype=np.uint8)
    colour[..., 1] = 100
    np.testing.assert_array_equal(Sight(4, 2, 1).fit(colour), np.full((8, 8, 1), 59))


def test_pasted_images_know_their_patches():
    shown = gallery(10, behind=Behind("tiles", size=0.5))
    alone = gallery(10)
    images, own = shown.images(np.arange(10))
    small = [shown.sight.fit(np.asarray(alone.pictures.images)[n], 4) for n in shown.numbers]
    for whole, patch, mine in zip(images, small, own, strict=True):
        places = [
            (r, c)
            for r in range(5)
            for c in range(5)
            if (whole[r : r + 4, c : c + 4] == patch).all()
        ]
        counts = []
        for r, c in places:
            inside = np.zeros((8, 8))
            inside[r : r + 4, c : c + 4] = 1
            cells = inside.reshape(4, 2, 4, 2).transpose(0, 2, 1, 3).reshape(16, 4)
            counts.append((cells.sum(axis=1) >= 2).tolist())
        assert mine.tolist() in counts


def test_a_gallery_says_what_its_images_are_pasted_on():
    assert str(gallery(10)).endswith("images of digits")
    assert str(gallery(10, behind=Behind("tiles"))).endswith(", pasted on tiles")
    some = gallery(10, behind=Behind("digits", ("1", "7")))
    assert str(some).endswith(", pasted on 1, 7 of digits")


def test_groups_add_probabilities(tmp_path):
    path = tmp_path / "groups.json"
    names = [str(i) for i in range(10)]
    path.write_text(json.dumps({name: [i, i + 10] for i, name in enumerate(names)} | {"x": [20]}))
    shown = gallery(5)
    groups = group(21, shown.pictures, path)
    logits = np.full((3, 21), -9.0)
    logits[0, 4], logits[0, 5], logits[0, 15] = 1.0, 0.6, 0.6  # two halves outweigh a whole
    logits[1, 4] = 1.0
    logits[2, 20] = 1.0  # a class without images
    assert groups.predict(logits).tolist() == [5, 4, 10]
