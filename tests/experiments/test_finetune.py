"""ViTs on composites: the step against plain loops, the engine's resume, files of what was trained.

Everything here is as small as it can be; compiling is what takes time.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from limelight._core.errors import InputError
from limelight._core.keys import fingerprint, named, trial_key
from limelight.experiments.finetune import Finetune
from limelight.experiments.starts import WEIGHTS, Pretraining, Start, Starts, save_starts
from limelight.models import Vision, load_vit, save_vit
from limelight.models._flat import from_vector, to_vector
from limelight.table import Table
from limelight.train.images import ImageTraining, accuracy, decays
from limelight.train.losses import cross_entropy
from limelight.worlds import Composites, Images

# Without biases of keys, whose gradient is rounding alone.
TINY = Vision(width=4, depth=1, heads=2, hidden=4, qkv_bias=False)
BLANK = Composites(only=(0, 1, 2), background="blank", patch=5, canvas=10)
START = Start(BLANK, TINY, ImageTraining(steps=2, batch=4))
NARROW = Start(dataclasses.replace(BLANK, only=(0, 1)), TINY, ImageTraining(steps=1, batch=2))
STARTS = Starts(wide=START, narrow=NARROW)
OBJECTS = Composites(only=(8, 9), patch=5, canvas=10)


@pytest.fixture(autouse=True)
def compiled_quickly():
    """These programs run for milliseconds: the compiler need not try hard."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def test_a_course_is_a_loop_over_images():
    """Two steps, image by image, with optax's own AdamW, clip, warm-up and cosine.

    Images are made anew at every step, or example by example once and for all.
    """
    world = Images(patch=4, augment="crop")
    course = ImageTraining(2, 3, 0.01, examples=5, decay=0.1, warmup=1, clip=0.5, smoothing=0.1)
    fixed = dataclasses.replace(course, fresh=False)
    truth = world.draw(jr.key(0))
    start = TINY.init(jr.key(1), world, truth)
    train = lambda key: [to_vector(c(key, world, truth, start).model) for c in (course, fixed)]
    anew, same = jax.jit(train)(jr.key(2))

    k_batch, k_image, _ = named(jr.key(2), "batch", "image", "drop")
    rule = optax.chain(
        optax.clip_by_global_norm(0.5),
        optax.adamw(course.pace, weight_decay=0.1, mask=decays),
    )
    begin = jax.jit(rule.init)

    @jax.jit
    @jax.grad
    def gradients(model, key, index):
        item = world.sample(key, truth, index)
        return cross_entropy(model(item), item.label, 0.1)

    @jax.jit
    def update(gradient, memory, weights):
        change, memory = rule.update(gradient, memory, weights)
        return eqx.apply_updates(weights, change), memory

    for fresh, found in ((True, anew), (False, same)):
        weights = eqx.filter(start, eqx.is_inexact_array)
        memory = begin(weights)
        for step in range(2):
            numbers = jnp.floor(jr.uniform(jr.fold_in(k_batch, step), (3,)) * 5).astype(int)
            keys = jr.split(jr.fold_in(k_image, step), 3)
            keys = keys if fresh else [jr.fold_in(k_image, i) for i in numbers]
            gradient = [gradients(weights, key, i) for key, i in zip(keys, numbers, strict=True)]
            gradient = jax.tree.map(lambda *parts: sum(parts) / 3, *gradient)
            weights, memory = update(gradient, memory, weights)
        np.testing.assert_allclose(found, to_vector(weights), rtol=1e-4, atol=1e-6)
        assert np.abs(found - to_vector(start)).max() > 1e-3
    assert np.abs(anew - same).max() > 1e-4


def test_steps_in_bfloat16_follow_those_in_float32():
    world = Images(patch=4)
    truth = world.draw(jr.key(0))
    start = TINY.init(jr.key(1), world, truth)
    train = lambda numbers: ImageTraining(4, 16, 0.01, numbers=numbers)(
        jr.key(2), world, truth, start
    )
    plain, short = jax.jit(lambda: (train("float32"), train("bfloat16")))()
    assert short.model.head.weight.dtype == jnp.float32
    np.testing.assert_allclose(short.losses, plain.losses, rtol=0.02)
    assert not np.array_equal(short.losses, plain.losses)


def test_training_resumes_and_a_saved_network_has_the_accuracy_that_was_stored(tmp_path):
    """A lost chunk alone is computed again; weights go through a table and a file unchanged."""
    study, axes = Pretraining(STARTS), {"starts.wide.course.rate": [1e-3, 0.05]}
    go = {"trials": 1, "store": tmp_path / "run", "width": 1, "name": "starts"}
    table = study.sweep(axes, **go)
    (tmp_path / "run" / "chunks" / "000-00001.parquet").unlink()
    seen = []
    again = study.sweep(axes, **go, progress=lambda p: seen.append(p.computed))
    assert seen[-1] == 1
    for name in table.columns:
        np.testing.assert_array_equal(again[name], table[name])

    file = tmp_path / "trained.safetensors"
    save_vit(from_vector(table[WEIGHTS][1], START.like()), file, channels=1)
    words = fingerprint("starts", {"starts.wide.course.rate": 0.05})
    key = trial_key(jnp.uint32(0), jnp.array(words, jnp.uint32), jnp.uint32(0))
    k_train, k_test = named(key, "train", "test")
    truth = BLANK.draw(named(k_train, "truth", "init", "train")[0])
    found = jax.jit(lambda model: accuracy(model, BLANK, truth, k_test))(load_vit(file))
    assert float(found) == float(table["accuracy"][1])


def test_digits_from_a_saved_start_end_to_end(tmp_path):
    """A new head on the body that was saved; it learns; fractions are counted."""
    table, models = trained(5)
    save_starts(table, STARTS, tmp_path)
    starts = dataclasses.replace(STARTS, folder=str(tmp_path))
    objects = dataclasses.replace(OBJECTS, only=(0, 1))
    study = Finetune(objects, starts, ImageTraining(60, 16, 0.02, fresh=False), looked=4)
    found = study.sweep({"world.relevant": [0.3, 1.0]}, trials=1, shared=("world.relevant",))
    np.testing.assert_allclose(found["alpha"][1], 1.0)
    np.testing.assert_allclose(found["mass.end"][1], 1.0, rtol=1e-5)
    assert found["alpha"][0] < 1.0
    assert found["kept"][0] == 4.0 > found["kept"][1]
    headed = study.with_room([]).headed(jr.key(0))
    assert headed.head.weight.shape == (4, 2)
    np.testing.assert_array_equal(headed.embed.weight, models["wide"].embed.weight)
    # Measured .77 and .87; one of two classes named always has .5, give or take .06.
    assert (found["accuracy"] > 0.68).all()


def test_a_start_does_not_depend_on_the_trial():
    """It is made once for all trials of a program: no key of theirs enters."""
    study = Finetune(OBJECTS, STARTS, ImageTraining(steps=1, batch=2, fresh=False), looked=2)
    study = study.with_room([study])
    body = lambda key: eqx.tree_at(lambda m: m.head, study.headed(key), None)
    jaxpr = jax.make_jaxpr(jax.vmap(body))(jr.split(jr.key(0), 7))
    batched = [v.aval.shape[:1] for eqn in jaxpr.eqns for v in eqn.outvars
               if eqn.primitive.name == "scan"]  # fmt: skip
    assert batched
    assert (7,) not in batched


def trained(seed: int) -> tuple[Table, dict]:
    """A table as `Pretraining` leaves it, from models that were not trained."""
    study = Pretraining(STARTS)
    models = {w: getattr(STARTS, w).vit.init(jr.key(seed), getattr(STARTS, w).world, None)
              for w in ("wide", "narrow")}  # fmt: skip
    columns = {
        "starts.which": np.array(list(models)),
        "trial": np.zeros(2, int),
        WEIGHTS: np.stack([study._padded(to_vector(m)) for m in models.values()]),
    }
    return Table(columns, ("starts.which",)), models


def test_starts_are_saved_and_read(tmp_path):
    table, models = trained(3)
    files = save_starts(table, STARTS, tmp_path / "starts")
    assert [file.name for file in files] == ["wide.safetensors", "narrow.safetensors"]
    for which, model in models.items():
        starts = dataclasses.replace(STARTS, which=which, folder=str(tmp_path / "starts"))
        starts.check()
        read = starts.loaded().model()
        assert not np.any(read.head.weight)  # whoever starts from it makes a head
        headless = lambda m: eqx.tree_at(lambda m: m.head, m, None)
        same = jax.tree.map(np.array_equal, headless(read), headless(model))
        assert all(jax.tree.leaves(same))
    wider = dataclasses.replace(START, vit=dataclasses.replace(TINY, width=8))
    other = dataclasses.replace(STARTS, wide=wider, folder=str(tmp_path / "starts"))
    with pytest.raises(InputError, match="other sizes"):
        other.read()


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (Finetune(starts=Starts(which="best")), "cannot be"),
        (Finetune(starts=dataclasses.replace(STARTS, folder="/nowhere")), "no /nowhere"),
        (Finetune(Composites(patch=5), STARTS, looked=0), "looked"),
        (Finetune(Composites(patch=2), STARTS), "the start reads"),
        (Finetune(OBJECTS, STARTS, ImageTraining(examples=9999)), "course.examples"),
        (Finetune(OBJECTS, STARTS, ImageTraining(clip=0.0)), "course.clip = 0"),
        (Finetune(OBJECTS, STARTS, ImageTraining(decay=-1.0)), "course.decay = -1"),
        (Pretraining(dataclasses.replace(STARTS, folder="/tmp")), "no /tmp"),
    ],
)
def test_bad_settings_are_refused_in_one_line(study, says):
    with pytest.raises(InputError, match=says) as error:
        study.check()
    assert "\n" not in str(error.value)
    assert error.value.hint


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="numbers for a model"):
        from_vector(np.zeros(3, np.float32), START.like())
