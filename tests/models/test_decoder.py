"""One network, three ways to compute it; its kernel, its tables, its masks and its optimiser."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from scipy.linalg import hadamard
from scipy.stats import binom, chi2, chisquare

from limelight._core.slots import Layout
from limelight.models import decoder
from limelight.models.decoder import _attend as attend
from limelight.models.decoder import _heads as by_head
from limelight.models.decoder import _kernel as kernel
from limelight.models.decoder import _masks as masks
from limelight.models.decoder import _on_gpu as on_gpu
from limelight.models.decoder import _together as together
from limelight.models.decoder._forward import _of_bits
from limelight.models.decoder._network import decayed
from limelight.models.decoder._update import Clipped, flatten, shape_of
from tests.models import stock_decoder as stock

KEEP, KEEP_TOKENS = 0.8, 0.9
LENGTH, SIZES = 12, {"width": 40, "heads": 5, "hidden": 24}


def loud(model, scale=0.3):
    """The same sizes with every weight, gain and bias drawn, so that nothing cancels."""
    rng = np.random.default_rng(5)
    return jax.tree.map(lambda leaf: leaf + scale * rng.normal(size=leaf.shape), model)


@partial(jax.jit, static_argnums=(0, 1, 2))
def drawn(places, examples=6, width=SIZES["width"]):
    key = jnp.array([3, 9], jnp.uint32)
    return decoder.draw(key, jnp.arange(examples), places, width, KEEP, KEEP_TOKENS)


def relative(a, b):
    """Largest difference over the largest entry, worst leaf; of no leaf less than 1e-3 of all.

    Some gradients are zero but for rounding: a key's bias cancels in the softmax.
    """
    a, b = ([np.asarray(leaf, float) for leaf in jax.tree.leaves(tree)] for tree in (a, b))
    floor = 1e-3 * max(np.abs(leaf).max() for leaf in a)
    return max(np.abs(x - y).max() / max(np.abs(x).max(), floor) for x, y in zip(a, b, strict=True))


def slope_of(logits, probe):
    """Logits, and the gradient of a number made of them."""

    def number(model):
        out = logits(model)
        return jnp.sum(jnp.sin(out) * probe), out

    found = jax.jit(jax.value_and_grad(number, has_aux=True))
    return lambda model: (lambda pair: (pair[0][1], pair[1]))(found(model))


# --- the forms ----------------------------------------------------------------------------------


def test_the_network_has_as_many_weights_as_the_paper_says():
    for length in (100, 800):
        model = jax.eval_shape(partial(decoder.init, length=length), jr.key(0))
        assert sum(leaf.size for leaf in jax.tree.leaves(model)) == 50_432 + 64 * (length + 1)


def test_the_forms_agree_under_dropout_and_so_do_their_gradients(double):
    model = loud(decoder.init(jr.key(0), LENGTH, **SIZES))
    bits = jr.bernoulli(jr.key(1), 0.5, (6, LENGTH))
    probe = jr.normal(jr.key(2), (6, 2))
    words, padded = drawn(LENGTH + 1), drawn(40)
    masks = stock.spelled_out(words, model)

    def one_by_one(model):
        one = lambda bits, masks: stock.rows(model, bits, masks, KEEP, KEEP_TOKENS)
        return jax.vmap(one)(bits, masks)

    def absorbed(model):
        wide = jnp.pad(bits, ((0, 0), (0, 40 - LENGTH)))
        return decoder.absorbed(model, wide, padded, KEEP, KEEP_TOKENS, jnp.float64)

    # Of 40 places those beyond the 13th are padding: they move nothing.
    first, other = [slope_of(form, probe)(model) for form in (one_by_one, absorbed)]
    assert relative(first[0], other[0]) < 1e-12
    assert relative(first[1], other[1]) < 1e-10


def test_tables_agree_without_dropout_and_so_do_their_gradients(double):
    model = loud(decoder.init(jr.key(0), LENGTH, **SIZES))
    bits = jr.bernoulli(jr.key(1), 0.5, (6, LENGTH))
    rows = lambda m: jax.vmap(lambda b: stock.rows(m, b))(bits)
    table = lambda m: decoder.table(m, decoder.tables(m), bits)
    first, other = [slope_of(form, 1.0)(model) for form in (rows, table)]
    assert relative(first[0], other[0]) < 1e-12
    assert relative(first[1], other[1]) < 1e-10
    assert relative(first[0], jax.jit(decoder.plain)(model, bits)) < 1e-12
    assert bool(jax.jit(lambda m: decoder.tables(m).is_safe())(model))


def test_trials_together_are_each_trial_alone_and_so_are_their_gradients(double):
    """Three trials of 2, 1 and 2 blocks, in slots 2, 0 and 3; slot 1 is empty, a block idle."""
    owner, part = jnp.array([2, 2, 0, 3, 3, 0]), jnp.array([0, 1, 0, 0, 1, 0])
    members = jnp.array([[2, 0], [0, 0], [0, 1], [3, 4]])
    used = jnp.array([[True, False], [False, False], [True, True], [True, True]])
    layout = Layout(owner, part, members, used, jnp.array(5), used[:, 0])
    models = jax.tree.map(
        lambda *leaves: jnp.stack(leaves),
        *(loud(decoder.init(jr.key(i), LENGTH, **SIZES)) for i in range(4)),
    )
    bits = jr.bernoulli(jr.key(9), 0.5, (6, 3, 40))
    words = jax.tree.map(lambda leaf: leaf.reshape(6, 3, *leaf.shape[1:]), drawn(40, 18))
    probe = jr.normal(jr.key(10), (6, 3, 2))
    settings = KEEP, KEEP_TOKENS, jnp.float64

    def at_once(models):
        count = jnp.full(6, 3)
        return decoder.together(models, bits, words, count, layout, *settings, fused=False)

    def number(models):
        out = at_once(models)
        weight = decoder.of_slots(probe, layout)
        return jnp.sum(jnp.sin(out) * weight), out

    slope, out = jax.jit(jax.grad(number, has_aux=True))(models)
    want = jax.tree.map(np.zeros_like, models)
    for block in range(5):
        one = jax.tree.map(lambda leaf, i=block: leaf[owner[i]], models)
        masks = jax.tree.map(lambda leaf, i=block: leaf[i], words)
        alone = lambda m, i=block, w=masks: decoder.absorbed(m, bits[i], w, *settings)
        logits, back = slope_of(alone, probe[block])(one)
        mine = slice(3 * int(part[block]), 3 * int(part[block]) + 3)
        assert relative(logits, out[owner[block], mine]) < 1e-12
        for total, leaf in zip(*map(jax.tree.leaves, (want, back)), strict=True):
            total[owner[block]] += leaf
    assert relative(want, slope) < 1e-10

    # A trial that has diverged harms no other.
    broken = jax.tree.map(lambda leaf: leaf.at[2].set(jnp.nan), models)
    beside, _ = jax.jit(jax.grad(number, has_aux=True))(broken)
    for sound, leaf in zip(*map(jax.tree.leaves, (slope, beside)), strict=True):
        assert np.isnan(leaf[2]).any() or not np.asarray(sound[2]).any()
        np.testing.assert_array_equal(leaf[np.array([0, 1, 3])], sound[np.array([0, 1, 3])])


@pytest.mark.parametrize(
    ("kind", "near", "scale", "places", "forward"),
    [
        ("float32", 2e-5, 0.2, 64, None),
        ("bfloat16", 2e-2, 0.2, 64, None),
        ("float32", 2e-5, 0.2, 64, kernel.LONG),
        ("float32", 2e-5, 0.2, 96, kernel.ODD),
        ("float32", 2e-4, 8.0, 64, None),
    ],
    ids=["float32", "bfloat16", "long tiles", "odd tiles", "scores beyond an exponential"],
)
def test_the_kernel_is_the_attention(kind, near, scale, places, forward):
    """In the interpreter: tiles, padding, masks in registers, no atomics."""
    length, s, h, d = 40, 3, 16, 64
    dtype = jnp.dtype(kind)
    model = loud(decoder.init(jr.key(0), length), 0.1)
    table = jnp.pad(model.embedded(), ((0, 0), (0, places - length - 1), (0, 0)))
    bits = jr.bernoulli(jr.key(1), 0.5, (s, places))
    words = drawn(places, s, d)
    asked = scale * jr.normal(jr.key(2), (s, h, d))
    settings = length + 1, KEEP, KEEP_TOKENS
    given = asked, table, bits, words.tokens, words.weights, jnp.array(s)

    @jax.jit
    def plain(*given):
        sums, saved = attend._forward(*given[:5], *settings, dtype)
        slopes = tuple(jnp.cos(part) for part in sums)
        back = attend._backward(*settings, dtype, saved, slopes)[:2]
        return sums, slopes, back, saved[-2]

    @jax.jit
    def fused(slopes, asked, table, bits, *words):
        narrow = asked.astype(dtype), table.astype(dtype), bits.astype(jnp.int8), *words
        run = partial(kernel.forward, tiling=forward, interpret=True)
        *sums, log_sum, mean, inverse = run(*narrow, *settings)
        parts = zip(slopes, sums, strict=True)
        along = sum(jnp.sum(a * b, -1) if a.ndim == 3 else a * b for a, b in parts)
        saved = *narrow, log_sum, mean, inverse
        parts, d_table = kernel.backward(*saved, slopes, along, *settings[:2], interpret=True)
        whole = jnp.sum(parts.astype(jnp.float32), axis=0)
        d_asked = (whole - jnp.mean(whole, axis=1, keepdims=True)).swapaxes(1, 2)
        return tuple(sums), (d_asked, d_table)

    sums, slopes, want, log_sum = plain(*given)
    assert (jnp.max(log_sum) > np.log(np.finfo("float32").max)) == (scale > 1)
    found, got = fused(slopes, *given)
    assert relative(sums, found) < near
    assert relative(want, got) < near
    assert not np.asarray(got[1])[:, length + 1 :].any()

    # Of the first two examples alone: as if the third were not there, and zeros for it.
    two = lambda tree: jax.tree.map(lambda leaf: leaf[:2], tree)
    few = lambda *given: (two(given[0]), given[1], *two(given[2:5]))
    of_two, slopes_of_two, want, _ = plain(*few(*given), jnp.array(2))
    padded = jax.tree.map(lambda leaf: jnp.pad(leaf, [(0, 1)] + [(0, 0)] * (leaf.ndim - 1)),
                          slopes_of_two)  # fmt: skip
    found, got = fused(padded, *given[:5], jnp.array(2))
    assert relative(of_two, two(found)) < near
    assert relative(want, (got[0][:2], got[1])) < near
    assert not any(np.asarray(leaf)[2].any() for leaf in (*found, got[0]))
    found, got = fused(padded, *given[:5], jnp.array(0))
    assert not any(np.asarray(leaf).any() for leaf in (*found, *got))


@pytest.mark.parametrize("heads", [16, 32])
def test_heads_products_are_those_of_their_own_columns(heads):
    """In the interpreter, beside products head by head."""
    s, w, d = 20, 64, 64
    draw = lambda i, *shape: jr.normal(jr.key(i), shape)
    rows, maps, parts = draw(0, s, w), draw(1, w, d), draw(2, 3, s, d, heads)
    whole = parts.sum(0) - parts.sum(0).mean(1, keepdims=True)
    wide = whole.swapaxes(1, 2)
    each = lambda array, axis: jnp.stack(jnp.split(array, heads, axis), axis)
    spread = jnp.einsum("shk,hkd->shd", each(rows, 1), each(maps, 0))
    collected = jnp.einsum("shd,dhk->shk", wide, each(maps.T, 1)).reshape(s, w)
    crossed = jnp.einsum("shk,shd->hkd", each(rows, 1), wide).reshape(w, d)
    how = {"exact": True, "interpret": True}
    assert relative(spread, by_head.spread(rows, maps, heads, jnp.float32, **how)) < 1e-6
    assert relative(collected, by_head.collect(wide, maps.T, **how)) < 1e-6
    assert relative(crossed, by_head.cross(rows, wide, **how)) < 1e-6
    both = by_head.collect_and_cross(parts, rows, maps.T, **how)
    assert relative((collected, crossed), both) < 2e-6


@pytest.mark.parametrize(("kind", "near"), [("float32", 1e-5), ("bfloat16", 2e-2)])
def test_outputs_on_a_gpu_are_those_without_kernels_and_so_are_their_gradients(kind, near):
    """In the interpreter; every one of the six arguments that have a gradient."""
    length, places, s, heads, d = 40, 64, 4, 16, 64
    draw = lambda i, *shape: 0.3 * jr.normal(jr.key(i), shape)
    maps = draw(0, s, d), draw(1, d, d), draw(2, d, d), draw(3, d), draw(4, d)
    table = jnp.pad(draw(5, 2, length + 1, d), ((0, 0), (0, places - length - 1), (0, 0)))
    words = drawn(places, s, d)
    given = *maps, table, jr.bernoulli(jr.key(6), 0.5, (s, places)), words.tokens, words.weights
    settings = heads, length + 1, KEEP, KEEP_TOKENS, jnp.dtype(kind)
    number = lambda f: lambda *maps: jnp.sum(jnp.sin(f(*maps, *given[6:], jnp.array(s), *settings)))
    both = [
        jax.jit(jax.value_and_grad(number(f), tuple(range(6))))(*given[:6])
        for f in (together._plainly, partial(on_gpu.attended, interpret=True))
    ]
    assert relative(*both) < near


def test_outputs_on_a_gpu_are_traced_where_numbers_are_doubles(double):
    """Weights in float64; what is wide and its sums stay float32, as on any GPU."""
    models = jax.tree.map(lambda leaf: leaf[None], loud(decoder.init(jr.key(0), 20)))
    one = jnp.zeros(1, int)
    layout = Layout(one, one, one[:, None], jnp.ones((1, 1), bool), jnp.array(1), one == 0)
    bits, words = jnp.zeros((1, 4, 32), bool), jax.tree.map(lambda w: w[None], drawn(32, 4, 64))
    settings = KEEP, KEEP_TOKENS, jnp.float32

    def number(models, fused):
        given = models, bits, words, jnp.array([4]), layout
        return jnp.sum(decoder.together(*given, *settings, fused=fused))

    slopes = [jax.eval_shape(jax.grad(partial(number, fused=way)), models) for way in (False, True)]
    kinds = [[leaf.dtype for leaf in jax.tree.leaves(slope)] for slope in slopes]
    assert kinds[0] == kinds[1] == [leaf.dtype for leaf in jax.tree.leaves(models)]


def test_padding_goes_up_to_a_tile_where_that_adds_little():
    assert [kernel.padded(n) for n in (1, 32, 33, 101, 151, 201, 351, 801)] == [
        32, 32, 64, 128, 160, 256, 384, 832
    ]  # fmt: skip


def test_bits_times_a_table_in_three_parts_is_exact_to_float32(monkeypatch):
    """The GPU's route, by its arithmetic alone: bfloat16 products of bits are exact anywhere."""
    bits = jr.bernoulli(jr.key(0), 0.5, (50, 300))
    terms = jr.normal(jr.key(1), (300, 7)) * jnp.exp(4 * jr.normal(jr.key(2), (300, 1)))
    want = np.asarray(bits, float) @ np.asarray(terms, float)
    size = np.asarray(bits, float) @ np.abs(np.asarray(terms, float))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    lowered = jax.jit(_of_bits).lower(bits, terms)
    monkeypatch.undo()
    found = np.asarray(lowered.compile()(bits, terms), float)
    assert (np.abs(found - want) / size).max() < 300 * 2.0**-24
    # A GPU's compiler drops conversions there and back, and the second part would be nothing.
    back = [line for line in lowered.as_text().splitlines() if "convert" in line]
    assert back
    assert not [line for line in back if "bf16>) ->" in line]
    rounded = np.asarray(bits, float) @ np.asarray(terms.astype(jnp.bfloat16), float)
    assert (np.abs(rounded - want) / size).max() > 1e-4  # one part would not do


# --- tables that underflow ------------------------------------------------------------------------


SLOW, FAST = jax.jit(decoder.plain), jax.jit(decoder.table)


def cliff(length, gap, below=8.0):
    """A network whose scores are known: one bit towers, one place leads without it, the rest lie
    `below` the leader. An example without the towering bit has its largest score `gap` below the
    largest of all.
    """
    h = hadamard(8)[1:5].astype(float)  # rows that a layer norm leaves alone
    tower, rest, lead, cls = h
    scores = gap, -below, 0.0, -20.0
    query = sum(score * row for score, row in zip(scores, h, strict=True)) / jnp.sqrt(8.0)
    far = 1e6  # positions so long that a bit does not turn them, but for the first
    places = np.concatenate([[0 * rest, far * lead], np.tile(far * rest, (length - 2, 1))])
    model = loud(decoder.init(jr.key(0), length, 8, 1, 4))
    flat = jnp.zeros((8, 8))
    norm = model.before
    return eqx.tree_at(
        lambda m: (m.tokens, m.positions, m.query, m.key, m.value, m.before),
        model,
        (
            jnp.asarray(np.stack([rest, tower, 0 * cls])),
            jnp.asarray(np.concatenate([places, [cls]])),  # short: the attention is seen beside it
            type(model.query)(flat, jnp.asarray(query)),
            type(model.key)(jnp.eye(8), jnp.zeros(8)),
            type(model.value)(jnp.eye(8), jnp.zeros(8)),
            type(norm)(jnp.ones(8), jnp.zeros(8)),
        ),
    )


def exactly(model, bits):
    """The logits of a float32 network, in float64."""
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), model)
        return np.asarray(SLOW(wide, bits))


@jax.jit
def leaders_share(ready, further):
    """The leader's attention weight in tables of one head, all bits zero, shifted `further`."""
    size = jnp.append(ready.terms[0, :, -1], ready.always[-1]) * jnp.exp(-further)
    return size[1] / jnp.sum(size)


def test_the_middle_of_the_gap_keeps_what_the_largest_score_would_flush():
    """T = 800, gap 80: the 798 others hold a fifth of the attention and must not vanish."""
    length, gap = 800, 80.0
    model = cliff(length, gap)
    ready = jax.jit(decoder.tables)(model)
    assert float(ready.gap) == pytest.approx(gap, rel=1e-3)
    assert bool(ready.is_safe())
    bits = jnp.zeros((1, length), dtype=bool)
    true = 1 / (1 + 799 * np.exp(-8.0))
    assert float(leaders_share(ready, 0.0)) == pytest.approx(true, rel=1e-3)
    assert float(leaders_share(ready, gap / 2)) == 1.0  # 27 % wrong
    assert relative(SLOW(model, bits), FAST(model, ready, bits)) < 1e-4


@pytest.mark.parametrize(
    ("gap", "safe", "fast"),
    [(60, True, "right"), (126, True, "right"), (128, False, "right"),
     (165, False, "wrong"), (190, False, "nan")],
)  # fmt: skip
def test_when_tables_may_be_trusted(gap, safe, fast):
    """They are right wherever they are trusted, and the way round them is right everywhere."""
    model, bits = cliff(800, float(gap)), jnp.zeros((1, 800), dtype=bool)
    true = exactly(model, bits)
    ready = jax.jit(decoder.tables)(model)
    assert ready.terms.dtype == np.float32
    assert bool(ready.is_safe()) == safe
    assert relative(true, SLOW(model, bits)) < 1e-4
    found = relative(true, FAST(model, ready, bits))
    assert {"right": found < 1e-4, "wrong": found > 0.02, "nan": np.isnan(found)}[fast]


# --- masks --------------------------------------------------------------------------------------

TRUE = 58982 / 65536


def correlation(a, b):
    """In standard errors."""
    a, b = (np.asarray(x, float).ravel() - np.mean(np.asarray(x, float)) for x in (a, b))
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()) * np.sqrt(a.size))


@jax.jit
def masks_of(key):
    """The masks of 64 examples at 65 places."""
    return decoder.draw(key, jnp.arange(64), 65, 64, 0.9, 0.9)


def unpacked(words):
    """Bits of words, lowest first: numpy's way, and `masks.unpack` agrees."""
    words = np.ascontiguousarray(words)
    return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").astype(bool)


def test_words_are_unpacked_lowest_bit_first():
    words = np.random.default_rng(0).integers(0, 2**32, (5, 2), dtype=np.uint32)
    np.testing.assert_array_equal(masks.unpack(jnp.asarray(words), 40), unpacked(words)[:, :40])


def as_bits(generator):
    """Bits of 64 examples at 65 places, 64 channels each, from one key."""
    if generator == "counter":
        return unpacked(masks_of(jr.bits(jr.key(7), (2,), jnp.uint32)).tokens.swapaxes(1, 2))
    return np.asarray(jr.bernoulli(jr.key(7), TRUE, (64, 65, 64)))


@pytest.mark.parametrize("generator", ["counter", "jax"])
def test_masks_keep_their_share_and_know_nothing_of_their_neighbours(generator):
    bits = as_bits(generator)
    spread = np.sqrt(TRUE * (1 - TRUE) / bits.size)
    assert abs(bits.mean() - TRUE) < 4 * spread
    # Every channel, every place and every example by itself.
    for axis in range(3):
        others = tuple(i for i in range(3) if i != axis)
        n = bits.size / bits.shape[axis]
        z = (bits.mean(axis=others) - TRUE) / np.sqrt(TRUE * (1 - TRUE) / n)
        assert chi2.sf((z**2).sum(), len(z)) > 1e-4
    for axis in range(3):
        for step in (1, 2, 32):
            head = np.take(bits, range(bits.shape[axis] - step), axis)
            tail = np.take(bits, range(step, bits.shape[axis]), axis)
            assert abs(correlation(head, tail)) < 4.5
    # The 32 bits of a word together: as many ones as 32 independent draws have.
    ones = bits.reshape(-1, 32).sum(axis=1)
    cells = [(0, 25), *((k, k) for k in range(26, 33))]
    share = [binom.cdf(b, 32, TRUE) - binom.cdf(a - 1, 32, TRUE) for a, b in cells]
    seen = [np.sum((a <= ones) & (ones <= b)) for a, b in cells]
    assert chisquare(seen, np.array(share) * len(ones)).pvalue > 1e-4


def test_masks_of_other_iterations_trials_and_kinds_are_others():
    tokens = lambda words: unpacked(words.tokens.swapaxes(1, 2))
    start = jr.key_data(jr.key(1))
    # As `Learning` keys them: a trial's key, an iteration's counter.
    at = lambda key, i: masks.mix(jnp.uint32(2 * i) + jnp.arange(2, dtype=jnp.uint32), key)
    first = masks_of(at(start, 0))
    bits, heads = tokens(first), unpacked(first.weights[..., None])
    for other in (at(start, 1), at(start, 2), at(jr.key_data(jr.key(2)), 0)):
        assert abs(correlation(bits, tokens(masks_of(other)))) < 4.5
    assert abs(correlation(bits[..., :32], heads)) < 4.5
    assert abs(correlation(bits[..., :32], bits[..., 32:])) < 4.5


def test_masks_have_room_for_so_many_examples():
    """The last of them has masks of its own; the next would have those of the first."""
    key, examples = jnp.array([3, 9], jnp.uint32), jnp.array([0, decoder.MOST - 1, decoder.MOST])
    tokens = jax.jit(lambda: decoder.draw(key, examples, 3, 64, 0.9, 0.9).tokens)()
    assert (tokens[0] != tokens[1]).any()
    assert (tokens[0] == tokens[2]).all()


@pytest.mark.parametrize("keep", [0.5, 0.75, 0.9, 0.999, 1.0])
def test_any_probability_to_sixteen_digits(keep):
    words = masks.words(jnp.arange(40_000, dtype=jnp.uint32), jnp.array([3, 9], jnp.uint32), keep)
    bits = np.asarray(masks.unpack(words[:, None], 32))
    true = masks.threshold(keep) / 2**16
    assert abs(true - keep) <= 2.0**-17
    assert abs(bits.mean() - true) <= 4.5 * np.sqrt(true * (1 - true) / bits.size)


# --- the optimiser --------------------------------------------------------------------------------


@pytest.mark.parametrize("coupled", [False, True])
def test_a_step_is_clipped_adam_with_decay_on_matrices(coupled):
    model = loud(decoder.init(jr.key(0), 3, 8, 2, 4))
    rate, decay = 1e-2, 0.3
    decays = optax.add_decayed_weights(decay, decayed(model))
    parts = [decays, optax.scale_by_adam()] if coupled else [optax.scale_by_adam(), decays]
    usual = optax.chain(optax.clip_by_global_norm(1.0), *parts, optax.scale(-rate))
    update = Clipped(rate=rate, decay=decay, coupled=coupled)

    @jax.jit
    def both(model):
        undo, marked = shape_of(model)
        ours, state = flatten(model), usual.init(model)

        def step(carry, i):
            ours, memory, model, state = carry
            gradient = jax.tree.map(lambda leaf: jnp.sin(leaf * (i + 1.0)), undo(ours))
            ours, memory = update(ours, flatten(gradient), memory, marked)
            change, state = usual.update(gradient, state, model)
            return (ours, memory, optax.apply_updates(model, change), state), None

        start = ours, update.init(ours), model, state
        (ours, _, model, _), _ = jax.lax.scan(step, start, jnp.arange(3))
        return model, undo(ours)

    usually, found = both(model)
    assert relative(model, found) > 1e-3
    assert relative(usually, found) < 1e-5
