"""Images as tokens: cuts and shuffles with their inverses, noise, roles of composites counted."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._core.types import Role
from limelight.worlds import Composites, Images, base
from limelight.worlds._patches import from_patches, patch_order, shuffle_cells, to_patches
from limelight.worlds.sources import digits, load_pictures

#: Compiled whole: one by one, the operations of a first call take seconds.
dataset = eqx.filter_jit(base.dataset)
draw = eqx.filter_jit(lambda world, key: world.draw(key))
IMAGE = jr.normal(jr.key(0), (8, 8, 3))


@pytest.mark.parametrize("patch", [1, 2, 4, 8])
def test_patches_by_hand_and_back(patch):
    tokens = to_patches(IMAGE, patch)
    count = 8 // patch
    for k in range(count**2):
        row, column = divmod(k, count)
        rows, columns = (
            slice(row * patch, (row + 1) * patch),
            slice(column * patch, (column + 1) * patch),
        )
        np.testing.assert_array_equal(tokens[k], IMAGE[rows, columns].reshape(-1))
    np.testing.assert_array_equal(from_patches(tokens, patch), IMAGE)


@pytest.mark.parametrize(("cell", "patch"), [(2, 2), (4, 2), (4, 1), (8, 2)])
def test_a_shuffle_of_cells_is_one_of_patches_and_has_an_inverse(cell, patch):
    order = jr.permutation(jr.key(1), (8 // cell) ** 2)
    moved = shuffle_cells(IMAGE, cell, order)
    tokens = patch_order(order, 8, cell, patch)
    np.testing.assert_array_equal(to_patches(moved, patch), to_patches(IMAGE, patch)[tokens])
    np.testing.assert_array_equal(shuffle_cells(moved, cell, jnp.argsort(order)), IMAGE)
    assert sorted(tokens.tolist()) == list(range((8 // patch) ** 2))


def test_digits_are_split_afresh_in_each_trial_and_cover_the_source():
    world = Images()
    parts = []
    for seed in (0, 1):
        truth = draw(world, jr.key(seed))
        train = dataset(world, jr.key(9), truth, world.available)
        test = dataset(world.held_out(), jr.key(9), truth, world.held_out().available)
        assert (len(train.label), len(test.label)) == (1400, 397)
        whole = np.concatenate([train.tokens, test.tokens])[..., 0]
        want = (
            digits().images.reshape(1797, 64) / 16 - world.pictures.mean
        ) / world.pictures.deviation
        np.testing.assert_allclose(np.sort(whole, axis=0), np.sort(want, axis=0), atol=1e-5)
        labels = np.argmax(np.concatenate([train.label, test.label]), axis=-1)
        np.testing.assert_array_equal(labels, digits().labels[truth.order])
        assert (train.label.sum(-1) == 2 - 10).all()
        parts.append(set(np.asarray(truth.order[:1400]).tolist()))
    assert parts[0] != parts[1]


def test_official_splits_stay(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (6, 4, 4), dtype=np.uint8)
    arrays = {"x_train": images[:4], "x_test": images[4:]}
    np.savez(tmp_path / "a.npz", y_train=np.arange(4) % 2, y_test=np.arange(2), **arrays)
    world = Images(str(tmp_path / "a.npz"), patch=2).loaded()
    truth = world.draw(jr.key(3))
    assert truth.order.tolist() == list(range(6))
    found = world.pictures
    assert found.mean == pytest.approx(((images[:4] / 255).mean(),))
    assert (world.tokens, world.dimension, world.classes) == (4, 4, 2)
    assert dataclasses.replace(world, data=None, training=2, testing=1).available == 2


def test_a_shuffled_world_shows_permuted_tokens_of_the_plain_one():
    plain, moved = Images(patch=2), Images(patch=2, cell=4)
    truth = moved.draw(jr.key(5))
    a, b = (dataset(w, jr.key(6), truth, 3).tokens for w in (plain, moved))
    order = moved.order(truth)
    np.testing.assert_array_equal(b, a[:, order])
    np.testing.assert_array_equal(b[:, jnp.argsort(order)], a)
    assert plain.order(truth).tolist() == list(range(16))


def test_noise_hits_the_share_of_patches_it_should():
    loud = Images(patch=2, noise=2.0, noisy_share=0.25)
    truth = loud.draw(jr.key(0))
    noisy = dataset(loud, jr.key(1), truth, 200)
    images = (
        digits().images[np.asarray(truth.order[:200])] / 16 - digits().mean
    ) / digits().deviation
    plain = images.reshape(200, 4, 2, 4, 2).swapaxes(2, 3).reshape(200, 16, 4)
    moved = np.linalg.norm(noisy.tokens - plain, axis=-1)
    np.testing.assert_allclose(moved, noisy.distance, atol=1e-4)
    hit = moved > 1e-3
    assert hit.mean() == pytest.approx(0.25, abs=0.03)
    assert np.sqrt((moved[hit] ** 2).mean() / 4) == pytest.approx(2.0, rel=0.05)


def test_augmented_images_are_moved_or_mirrored_and_tests_are_not():
    truth = Images().draw(jr.key(0))
    whole = (digits().images[..., 0] / 16 - digits().mean) / digits().deviation
    plain, held = (whole[np.asarray(truth.order)][part] for part in (slice(40), slice(1400, 1410)))
    moved = dataset(Images(augment="crop"), jr.key(1), truth, 40).tokens.reshape(-1, 8, 8)
    mirrored, shifted = 0, set()
    for image, before in zip(np.asarray(moved), plain, strict=True):
        found = [
            (flip, i, j)
            for flip, side in ((False, before), (True, before[:, ::-1]))
            for i, j in itertools.product(range(3), repeat=2)
            if np.allclose(image, np.pad(side, 1)[i : i + 8, j : j + 8], atol=1e-5)
        ]
        assert found
        mirrored += found[0][0]
        shifted.add(found[0][1:])
    assert 8 <= mirrored <= 32
    assert len(shifted) >= 6
    test = dataset(Images(augment="crop", part="test"), jr.key(1), truth, 10).tokens
    np.testing.assert_allclose(test.reshape(-1, 8, 8), held, atol=1e-5)


TRUTH = jnp.arange(1797)


class TestComposites:
    """8 x 8 digits on 10 x 10, patches of 2: the object starts at 0, 1 or 2."""

    def test_roles_are_those_of_counting_pixels(self):
        data = dataset(Composites(), jr.key(1), TRUTH, 60)
        images = digits().images.reshape(-1, 64) / 16
        images = (images - digits().mean) / digits().deviation
        seen = set()
        columns = map(np.asarray, (data.tokens, data.label, data.roles))
        for tokens, label, roles in zip(*columns, strict=True):
            canvas = tokens.reshape(5, 5, 2, 2).swapaxes(1, 2).reshape(10, 10)
            found = None
            for row, column in itertools.product(range(3), repeat=2):
                part = canvas[row : row + 8, column : column + 8].reshape(-1)
                close = np.abs(images - part).max(axis=1) < 1e-4
                if close.any():
                    found = row, column
                    assert digits().labels[np.argmax(close)] == int(np.argmax(label))
            assert found is not None
            inside = np.zeros((10, 10))
            inside[found[0] : found[0] + 8, found[1] : found[1] + 8] = 1
            share = inside.reshape(5, 2, 5, 2).mean((1, 3)).reshape(-1)
            want = np.where(share >= 0.5, Role.RELEVANT, Role.IDLE)
            np.testing.assert_array_equal(roles, want)
            seen.add(found)
        assert len(seen) == 9

    @pytest.mark.parametrize("alpha", [0.8, 0.9, 1.0])
    def test_removal_sets_the_relevant_fraction(self, alpha):
        world = Composites(relevant=jnp.array(alpha))  # traced: one program for all of them
        data = dataset(world, jr.key(1), TRUTH, 50)
        ours = np.asarray(data.roles == Role.RELEVANT)
        kept = np.asarray(data.kept)
        assert (kept | ~ours).all()  # no relevant patch is removed
        background = np.round(ours.sum(1) * (1 / alpha - 1))
        want = np.minimum(background, (~ours).sum(1))
        np.testing.assert_array_equal((kept & ~ours).sum(1), want)
        fraction = (kept & ours).sum(1) / kept.sum(1)
        reached = background <= (~ours).sum(1)  # else nothing was left to remove
        np.testing.assert_allclose(fraction[reached], alpha, atol=0.02)
        assert reached.any()
        assert (fraction >= alpha - 0.02).all()

    def test_blind_removal_takes_as_many_of_any_kind(self):
        sets = [Composites(relevant=1.0, blind=jnp.array(blind)) for blind in (False, True)]
        aimed, blind = (dataset(world, jr.key(1), TRUTH, 80) for world in sets)
        np.testing.assert_array_equal(aimed.kept.sum(1), blind.kept.sum(1))
        ours = np.asarray(blind.roles == Role.RELEVANT)
        kept = np.asarray(blind.kept)
        assert (ours & ~kept).any()
        share = (kept & ours).sum() / kept.sum()
        assert share == pytest.approx(ours.mean(), abs=0.02)

    def test_nothing_lies_behind_blank_composites(self):
        data = dataset(Composites(background="blank", patch=1), jr.key(1), TRUTH, 5)
        behind = np.asarray(data.roles != Role.RELEVANT)
        assert not np.asarray(data.tokens)[behind].any()
        assert np.asarray(data.tokens)[~behind].any()

    def test_sizes_of_named_sources_need_no_file_and_training_objects_are_shuffled(self, tmp_path):
        world = Composites("cifar10", "cifar100", only=(2, 0), size=26, canvas=32, patch=4)
        world.check()
        sizes = (world.tokens, world.dimension, world.classes, world.available)
        assert sizes == (64, 48, 2, 10_000)
        assert world.held_out().available == 2000
        flat = np.zeros((9, 10, 10), np.uint8)
        arrays = {"x_train": flat[:6], "x_test": flat[6:]}
        np.savez(tmp_path / "o.npz", y_train=np.arange(6) % 2, y_test=np.zeros(3, int), **arrays)
        own = Composites(str(tmp_path / "o.npz"))
        orders = np.stack([own.draw(jr.key(seed)) for seed in range(4)])
        assert (np.sort(orders[:, :6]) == np.arange(6)).all()
        assert len(np.unique(orders[:, :6], axis=0)) > 1
        assert (orders[:, 6:] == [6, 7, 8]).all()

    def test_spurious_backgrounds_go_with_the_label_in_training_only(self):
        world = Composites(only=(3, 8), spurious=0.9, patch=1)  # no patch is half and half
        keys = jr.split(jr.key(1), 400)
        shares = {}
        for part in (world, world.held_out()):
            for label in (0, 1):
                shown = jax.vmap(lambda k, p=part, y=label: p._shown(k, jnp.array(y)))(keys)
                shares[part.part, label] = float(shown.mean())
        want = {("train", 0): 0.9, ("train", 1): 0.1, ("test", 0): 0.5, ("test", 1): 0.5}
        assert shares == pytest.approx(want, abs=0.06)
        data = dataset(world, jr.key(1), jnp.arange(357), 40)
        behind = (data.roles == Role.CONFUSING)[..., None]
        seen = jnp.any(jnp.where(behind, data.tokens, 0.0) != 0, axis=(-1, -2))
        first = data.label[..., 0] > 0
        assert float(seen[first].mean()) > 0.6 > 0.4 > float(seen[~first].mean())

    def test_backgrounds_come_from_their_source_and_part(self, tmp_path):
        flat = np.repeat(np.arange(8, dtype=np.uint8) * 30, 100).reshape(8, 10, 10)
        arrays = {"x_train": flat[:5], "x_test": flat[5:]}
        np.savez(tmp_path / "b.npz", y_train=np.arange(5), y_test=np.arange(3), **arrays)
        world = Composites(background=str(tmp_path / "b.npz"), behind=(0, 1, 2), patch=1)
        world.check()
        mean, deviation = (
            getattr(load_pictures(world.background), n)[0] for n in ("mean", "deviation")
        )
        for part, levels in ((world, {0, 1, 2}), (world.held_out(), {5, 6, 7})):
            data = dataset(part, jr.key(2), part.draw(jr.key(0)), 30)
            seen = set()
            for tokens, roles in zip(np.asarray(data.tokens), data.roles, strict=True):
                level = np.unique(
                    np.round((tokens[roles == Role.IDLE] * deviation + mean) * 255 / 30, 3)
                )
                assert len(level) == 1
                seen.add(int(level[0]))
            assert seen == levels


@pytest.mark.parametrize(
    ("world", "says"),
    [
        (Images(patch=3), "do not fill"),
        (Images(cell=5), "do not fill"),
        (Images(patch=0), "do not fill"),
        (Images(part="dev"), "cannot be"),
        (Images(augment="mixup"), "cannot be"),
        (Images(source="/nowhere"), "there are no images"),
        (Images(coarse=True), "no coarse"),
        (Images(noise=-1.0), "at least 0"),
        (Images(training=4000), "not 4000"),
        (Composites(size=11), "do not fit"),
        (Composites(patch=3), "do not fit"),
        (Composites(relevant=0.0), "a positive number"),
        (Composites(spurious=0.9), "two classes"),
        (Composites(augment="mixup"), "cannot be"),
        (Composites(background="digits"), "the canvas"),
    ],
)
def test_bad_settings_are_refused_in_one_line(world, says):
    with pytest.raises(InputError, match=says) as error:
        world.check()
    assert "\n" not in str(error.value)
    assert error.value.hint
