"""Every model is built from arrays, by its exported name, and agrees with plain NumPy."""

import math
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from limelight import models, worlds
from limelight._core.types import Example

RNG = np.random.default_rng(0)
TOKENS, DIMENSION, WIDTH, KEY = 5, 4, 6, 3
TIGHT = {"rtol": 2e-5, "atol": 2e-6}


def draw(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def softmax(scores):
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)


def example(tokens, removed=()):
    kept = np.array([place not in removed for place in range(len(tokens))])
    return Example(
        jnp.asarray(tokens), jnp.array(1.0), jnp.asarray(kept), jnp.zeros(len(tokens), int)
    )


def shallow_weights(*lead):
    parts = draw(*lead, WIDTH, 4), draw(*lead, 4, DIMENSION), draw(*lead, KEY, DIMENSION)
    return models.ShallowWeights(*map(jnp.asarray, (*parts, draw(*lead, KEY, DIMENSION))))


def context(w, X, kept, head=...):
    """What each token attends to, query by query, over the kept tokens."""
    rows = []
    for x in X:
        scores = [x @ np.asarray(w.query[head]).T @ np.asarray(w.key[head]) @ z for z in X[kept]]
        rows.append(softmax(np.array(scores)) @ X[kept])
    return np.stack(rows)


def test_a_shallow_vit():
    w, readout, X = shallow_weights(), draw(TOKENS, WIDTH), draw(TOKENS, DIMENSION)
    model = models.ShallowViT(w, jnp.asarray(readout), jnp.array(False))
    kept = np.array([0, 1, 2, 4])
    mixed = context(w, X, kept)
    hidden = [np.maximum(np.asarray(w.output) @ np.asarray(w.value) @ c, 0) for c in mixed]
    wanted = np.mean([readout[place] @ hidden[place] for place in kept])
    np.testing.assert_allclose(model(model.prepare(example(X, removed=[3]))), wanted, **TIGHT)


def test_a_grouped_vit_is_the_shallow_one_where_tokens_are_patterns():
    w, readout, patterns = shallow_weights(), jnp.asarray(draw(TOKENS, WIDTH)), np.eye(3, DIMENSION)
    which = np.array([0, 0, 0, 1, 2])
    counts = np.stack([np.bincount(which), [1, 3, 1]])  # for label +1, and for label -1
    grouped = models.GroupedViT(
        w, readout, jnp.array(False), jnp.asarray(patterns, float), jnp.log(jnp.asarray(counts))
    )
    plain = models.ShallowViT(w, readout, jnp.array(False))
    e = example(patterns[which].astype(np.float32))
    np.testing.assert_allclose(grouped(grouped.prepare(e)), plain(plain.prepare(e)), **TIGHT)


def test_an_extended_vit():
    w, readout, X = shallow_weights(2), draw(TOKENS, WIDTH), draw(TOKENS, DIMENSION)
    model = models.ExtendedViT(w, jnp.asarray(readout), jnp.array(False), True, False)
    everything, total = np.arange(TOKENS), np.zeros((TOKENS, WIDTH))
    for h in range(2):
        value = context(w, X, everything, h) @ np.asarray(w.value[h]).T + X
        total += value @ np.asarray(w.output[h]).T
    wanted = np.mean(np.sum(readout * np.maximum(total, 0), axis=1))
    np.testing.assert_allclose(model(model.prepare(example(X))), wanted, **TIGHT)


def test_a_vit_with_two_outputs():
    w, X = shallow_weights(), draw(TOKENS, DIMENSION)
    second, readout = draw(WIDTH, 4), draw(2, TOKENS, WIDTH)
    model = models.FourWayViT(w, jnp.asarray(second), jnp.asarray(readout), jnp.array(False))
    value = context(w, X, np.arange(TOKENS)) @ np.asarray(w.value).T
    wanted = [
        np.mean(np.sum(a * np.maximum(value @ m.T, 0), axis=1))
        for a, m in zip(readout, (np.asarray(w.output), second), strict=True)
    ]
    np.testing.assert_allclose(model(model.prepare(example(X))), wanted, **TIGHT)


@pytest.mark.parametrize("gram", [False, True])
def test_a_positional_net(gram):
    A, v, X = draw(TOKENS, TOKENS), draw(DIMENSION), draw(TOKENS, DIMENSION)
    number = jnp.asarray
    activation = models.Activation(3, number(0.5))
    model = models.PositionalNet(
        number(A), number(v), number(0.7), number(2.0), activation, gram=gram
    )
    logits = A @ A.T if gram else np.where(np.eye(TOKENS) > 0, 0.7, A)
    outputs = TOKENS * softmax(logits / 2.0) @ (X @ v)
    wanted = np.sum(outputs**3 + 0.5 * outputs)
    np.testing.assert_allclose(model(model.prepare(example(X))), wanted, rtol=1e-4)


def test_smoothing():
    X = draw(TOKENS, DIMENSION)
    number = lambda x: jnp.asarray(x, float)
    model = models.Smoothing("masked", number(1.5), number(1), 2, number(0.25))
    wanted = X
    for _ in range(2):
        logits = np.where(np.eye(TOKENS) > 0, -np.inf, 1.5 * wanted @ wanted.T)
        wanted = 0.75 * wanted + 0.25 * softmax(logits) @ wanted
    np.testing.assert_allclose(model(model.prepare(example(X))), wanted, **TIGHT)


def test_a_sequence_net():
    heads, k, hidden, pairs, inputs = 2, 3, 5, 4, 2
    symbols, positions, cls = draw(1, 2, DIMENSION), draw(TOKENS, DIMENSION), draw(DIMENSION)
    stacks = [draw(heads, DIMENSION, k) for _ in range(3)] + [draw(heads, k, DIMENSION)]
    first, second, readout = draw(inputs + 1, hidden), draw(hidden + 1, pairs), draw(pairs)
    model = models.SequenceNet(
        *map(jnp.asarray, (symbols, positions, cls)),
        models.HeadWeights(*map(jnp.asarray, stacks)),
        *map(jnp.asarray, (first, second, readout)),
        scale=2.0,
        shift=-1.0,
    )
    bits = np.array([0, 1, 1, 0, 1])
    X = np.concatenate([symbols[0][bits] + positions, cls[None]])
    total = np.zeros(DIMENSION)
    for query, key, value, output in zip(*stacks, strict=True):
        total += softmax(X @ key @ query.T @ cls) @ X @ value @ output
    out = np.maximum(np.append(total[:inputs], 1) @ first, 0)
    out = np.maximum(np.append(out, 1) @ second, 0) @ readout
    e = example(np.eye(2, dtype=np.float32)[bits])
    np.testing.assert_allclose(model(model.prepare(e)), 2 * out - 1, **TIGHT)


def test_a_vit():
    width, heads, hidden, numbers, outputs = 4, 2, 6, 3, 2
    parts = {
        "embed": (numbers, width),
        **dict.fromkeys(("query", "key", "value", "output"), (width, width)),
        "into": (width, hidden),
        "out": (hidden, width),
        "head": (width, outputs),
    }
    maps = {name: (draw(*shape), draw(shape[1])) for name, shape in parts.items()}
    norms = {n: (draw(width), draw(width)) for n in ("norm_attention", "norm_mlp", "norm")}
    positions, cls, patches = draw(TOKENS + 1, width), draw(width), draw(TOKENS, numbers)
    affine = lambda name: models.Affine(*map(jnp.asarray, maps[name]))
    norm = lambda name: models.Norm(*map(jnp.asarray, norms[name]))
    attention = models.Attention(*map(affine, ("query", "key", "value", "output")), heads)
    block = models.Block(
        norm("norm_attention"), attention, norm("norm_mlp"), affine("into"), affine("out")
    )
    model = models.ViT(
        affine("embed"), jnp.asarray(positions), jnp.asarray(cls), None, (block,), norm("norm"),
        affine("head"), pool="class",
    )  # fmt: skip

    def normed(name, x):
        gain, shift = norms[name]
        unit = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
        return unit * gain + shift

    times = lambda name, x: x @ maps[name][0] + maps[name][1]
    x = np.concatenate([cls[None], times("embed", patches)]) + positions
    y, size = normed("norm_attention", x), width // heads
    mixed = []
    for h in range(heads):
        columns = slice(h * size, (h + 1) * size)
        q, k, v = (times(name, y)[:, columns] for name in ("query", "key", "value"))
        mixed.append(softmax(q @ k.T / size**0.5) @ v)
    x = x + times("output", np.concatenate(mixed, axis=1))
    z = times("into", normed("norm_mlp", x))
    x = x + times("out", 0.5 * z * (1 + np.vectorize(math.erf)(z / 2**0.5)))
    wanted = times("head", normed("norm", x)[0])
    np.testing.assert_allclose(model(model.prepare(example(patches))), wanted, rtol=1e-4, atol=1e-5)


def test_a_convnet():
    side, patch, channels, filters = 6, 2, 2, 3
    image, bias = draw(side, side, channels), draw(filters)
    kernel, head = draw(3, 3, channels, filters), (draw(filters, 2), draw(2))
    weight = models.Affine(jnp.asarray(kernel.reshape(-1, filters)), jnp.asarray(bias))
    layer = models.Convolution(weight, None, None, 3, 1, 1)
    skipping = models.Residual(layer_of(filters), layer_of(filters), None)
    model = models.ConvNet((layer,), models.Affine(*map(jnp.asarray, head)), patch)
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    filtered = np.zeros((side, side, filters))
    for i in range(side):
        for j in range(side):
            window = padded[i : i + 3, j : j + 3]
            filtered[i, j] = np.tensordot(window, kernel, axes=3) + bias
    filtered = np.maximum(filtered, 0)
    grid = side // patch
    cut = image.reshape(grid, patch, grid, patch, channels).swapaxes(1, 2).reshape(grid**2, -1)
    prepared = model.prepare(example(cut))
    np.testing.assert_allclose(model(prepared), filtered.mean((0, 1)) @ head[0] + head[1], **TIGHT)
    # Kernels of 0: the block hands its image on.
    deeper = models.ConvNet((layer, skipping), models.Affine(*map(jnp.asarray, head)), patch)
    np.testing.assert_allclose(deeper(prepared), model(prepared), **TIGHT)


def layer_of(filters):
    nothing = models.Affine(jnp.zeros((9 * filters, filters)), jnp.zeros(filters))
    return models.Convolution(nothing, jnp.ones(filters), jnp.zeros(filters), 3, 1, 1)


def test_linear_attention_in_its_three_forms():
    """Against the layer as it is written: tokens in columns, no softmax, a residual."""
    x, y, q = draw(TOKENS, DIMENSION), draw(TOKENS), draw(DIMENSION)
    value, U = draw(2), draw(2, DIMENSION, DIMENSION)
    K, Q = draw(2, KEY, DIMENSION), draw(2, KEY, DIMENSION)
    P, W = draw(2, DIMENSION + 1, DIMENSION + 1), draw(2, DIMENSION + 1, DIMENSION + 1)
    prompt = worlds.Prompt(jnp.asarray(x), jnp.asarray(y), jnp.asarray(q), jnp.array(0.0))
    beta = sum(y[i] * x[i] for i in range(TOKENS)) / TOKENS
    merged = models.MergedAttention(jnp.asarray(value), jnp.asarray(U))
    wanted = sum(value[h] * q @ U[h] @ beta for h in range(2))
    np.testing.assert_allclose(merged(prompt), wanted, **TIGHT)
    separate = models.SeparateAttention(*map(jnp.asarray, (value, K, Q)))
    wanted = sum(value[h] * (Q[h] @ q) @ (K[h] @ beta) for h in range(2))
    np.testing.assert_allclose(separate(prompt), wanted, **TIGHT)
    E = np.concatenate([np.vstack([x.T, y[None]]), np.append(q, 0)[:, None]], axis=1)
    moved = E + sum(P[h] @ E @ (E.T @ W[h] @ E) for h in range(2)) / TOKENS
    full = models.FullAttention(jnp.asarray(P), jnp.asarray(W))
    np.testing.assert_allclose(full(prompt), moved[-1, -1], rtol=2e-4)


def test_moves_on_a_sphere_and_in_space():
    X = draw(TOKENS, DIMENSION)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    moves = models.SphereMoves(
        jnp.array(2.0), jnp.array(0.5), jnp.array(1.0), normalise="softmax", layers=1
    )
    mixed = np.stack([softmax(2.0 * X @ x) @ X for x in X])
    wanted = X + 0.5 * mixed
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(moves(jnp.asarray(X)), wanted, **TIGHT)
    V = np.diag([1.0, 0.5, -1.0, 0.0]).astype(np.float32)
    eye = jnp.eye(DIMENSION)
    space = models.RescaledMoves(jnp.asarray(V), jnp.diag(jnp.asarray(V)), eye, eye)
    pulled = np.stack([V @ (softmax(X @ x) @ X - x) for x in X])
    np.testing.assert_allclose(space(jnp.asarray(X)), pulled, **TIGHT)


def test_layers_of_a_stack():
    X, heads, layers = draw(TOKENS, DIMENSION), 2, 3
    qk, v = (0.5 * draw(layers, heads, DIMENSION, DIMENSION) for _ in range(2))
    into, out = 0.5 * draw(layers, DIMENSION, WIDTH), 0.5 * draw(layers, WIDTH, DIMENSION)
    stack = models.StackedAttention(
        models.StackLayer(*map(jnp.asarray, (qk, v, into, out))), jnp.array(1.0), mlp=True
    )
    x = X
    for layer in range(layers):
        mixed = [
            np.stack([softmax(row @ a @ x.T / math.sqrt(DIMENSION)) @ x for row in x]) @ b
            for a, b in zip(qk[layer], v[layer], strict=True)
        ]
        x = x + sum(mixed)
        x = x + np.maximum(x @ into[layer], 0) @ out[layer]
    np.testing.assert_allclose(stack(jnp.asarray(X)), x, rtol=2e-4, atol=2e-5)


def test_selectors_of_a_token():
    X, z, readout = draw(TOKENS, DIMENSION), draw(3), draw(DIMENSION)
    K, Q = draw(DIMENSION, 2), draw(3, 2)
    kept = np.array([True, True, True, True, False])
    parts = map(jnp.asarray, (X, z, 1.0, X @ readout, kept))
    given = worlds.TokenChoice(*parts)
    wanted = readout @ (softmax((X @ K @ Q.T @ z)[kept]) @ X[kept])
    for model in (
        models.SeparateSelector(jnp.asarray(K), jnp.asarray(Q)),
        models.MergedSelector(jnp.asarray(K @ Q.T)),
    ):
        np.testing.assert_allclose(model(given), wanted, **TIGHT)


def test_no_model_is_left_out():
    """The classes that are built above are all that there are."""
    from limelight.models import base

    for name in models.__all__:
        getattr(models, name)  # loads every module
    # Not those of examples in docstrings, which other tests run.
    kept = lambda cls: getattr(sys.modules[cls.__module__], cls.__name__, None) is cls
    every = {
        cls.__name__
        for cls in base.Model.__subclasses__()
        if "limelight" in cls.__module__ and kept(cls)
    }
    assert every <= set(models.__all__)
    assert len(every) == 17
