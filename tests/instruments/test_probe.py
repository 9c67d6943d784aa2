"""Heads and noise against slow NumPy, and the page."""

import math
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._engine import device
from limelight.instruments.draw import pictures
from limelight.instruments.gallery import Behind, Gallery
from limelight.instruments.overlay import law, overlay, silhouette
from limelight.instruments.page import write_page
from limelight.instruments.positions import partitions, read_positions
from limelight.instruments.probe import KINDS, distils, probe, with_interval
from limelight.instruments.sight import Sight
from limelight.measures.association import association_overlap
from limelight.measures.denoising import (
    CONTROLS,
    STAGES,
    feature_squares,
    hit_patches,
    passage,
    stage_squares,
)
from limelight.measures.heads import looked_at, summary
from limelight.measures.locality import cosines, locality
from limelight.models import Vision, ViT, load_vit
from tests.instruments.vits import DIGITS, shaken

CLASS = Vision(width=12, depth=2, heads=2, hidden=24, pool="class", outputs=10)
RECIPES = {
    "class": CLASS,
    "positional": Vision(width=12, depth=2, heads=2, hidden=24, attention="positional", outputs=10),
}
MACHINE = {"commit": "abc", "versions": {"python": "3"}, "device": {"platform": "cpu"}}


def tokens(seed: int = 0, dtype=jnp.float64):
    return jr.normal(jr.key(seed), (16, 4), dtype)


# --- heads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_heads_are_summed_up_as_by_loops(first):
    rng = np.random.default_rng(first)
    heads, patches = 3, 9
    A = rng.random((heads, patches + first, patches + first)) ** 4
    A[0, 2] = 0
    A[0, 2, 4] = 1.0  # all on one key
    A /= A.sum(-1, keepdims=True)
    own = rng.random(patches) < 0.5
    found = summary(jnp.asarray(A), first, jnp.asarray(own))
    for h in range(heads):
        rows = [A[h, i] for i in range(first, patches + first)]
        asking = A[h, 0] if first else np.mean(A[h], axis=0)
        spread = lambda row: -sum(p * math.log(p) for p in row if p > 0)
        mass = lambda row: row[first:][own].sum() / row[first:].sum()
        want = {
            "entropy": np.mean([spread(row) for row in rows]),
            "effective_keys": np.mean([1 / sum(p * p for p in row) for row in rows]),
            "itself": np.mean([row[i + first] for i, row in enumerate(rows)]),
            "relevant": np.mean([mass(row) for row in rows]),
            "class_relevant": mass(asking),
        }
        if first:
            want["class_entropy"] = spread(asking)
            want["class_itself"] = A[h, 0, 0]
            want["class"] = np.mean([row[0] for row in rows])
        else:
            want["class_entropy"] = spread(asking)
            assert np.isnan(found["class"]).all()
            assert np.isnan(found["class_itself"]).all()
        for name, value in want.items():
            assert float(found[name][h]) == pytest.approx(value, rel=1e-5), name
        np.testing.assert_allclose(looked_at(jnp.asarray(A), first)[h], asking[first:], rtol=1e-5)


# --- noise ------------------------------------------------------------------------------------


def by_hand(model: ViT, x: np.ndarray, number: int) -> dict[str, np.ndarray]:
    """One block in NumPy: its stages, its weights, its values."""
    f = lambda leaf: np.asarray(leaf, dtype=np.float64)
    apply = lambda a, rows: rows @ f(a.weight) + f(a.bias)

    def normed(n, rows):
        centred = rows - rows.mean(1, keepdims=True)
        scale = np.sqrt((centred**2).mean(1, keepdims=True) + n.epsilon)
        return centred / scale * f(n.gain) + f(n.shift)

    block = model.blocks[number]
    att, n = block.attention, normed(block.norm_attention, x)
    source = n if model.place_norm is None else normed(model.place_norm, f(model.positions))
    size = x.shape[1] // att.heads
    q, k, v = apply(att.query, source), apply(att.key, source), apply(att.value, n)
    mixed, weights = np.zeros_like(x), []
    for h in range(att.heads):
        cut = slice(h * size, (h + 1) * size)
        A = np.exp(q[:, cut] @ k[:, cut].T / math.sqrt(size))
        weights.append(A / A.sum(1, keepdims=True))
        mixed[:, cut] = weights[-1] @ v[:, cut]
    attended = x + apply(att.output, mixed)
    hidden = apply(block.into, normed(block.norm_mlp, attended))
    gelu = 0.5 * hidden * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    stages = (x, n, mixed, attended, attended + apply(block.out, gelu))
    return dict(zip(STAGES, stages, strict=True)) | {"weights": np.stack(weights), "values": v}


def embedded(model: ViT, patches: np.ndarray) -> np.ndarray:
    f = lambda leaf: np.asarray(leaf, dtype=np.float64)
    x = patches @ f(model.embed.weight) + f(model.embed.bias)
    x = x if model.class_token is None else np.vstack([f(model.class_token), x])
    return x if model.place_norm is not None else x + f(model.positions)


def stand_in(name: str, A: np.ndarray, first: int) -> np.ndarray:
    """What takes the place of one head's attention."""
    n = len(A)
    if name == "attention":
        return A
    if name == "identity":
        return np.eye(n)
    if name == "even":
        return np.full((n, n), 1 / n)
    if name == "masked":
        B = A.copy()
        np.fill_diagonal(B, 0)
        return B / B.sum(1, keepdims=True)
    B, side = np.eye(n), 4
    for i in range(side**2):
        B[first + i] = 0
        near = [
            first + r * side + c
            for r in range(side)
            for c in range(side)
            if max(abs(r - i // side), abs(c - i % side)) <= 1
        ]
        B[first + i, near] = 1 / len(near)
    return B


def left_over(model: ViT, number: int, a: dict, b: dict, name: str) -> np.ndarray:
    """Noise behind the output map under some attention, a number for every patch."""
    att, first = model.blocks[number].attention, model.first
    size, change = a["values"].shape[1] // att.heads, np.zeros_like(a["values"])
    for h in range(att.heads):
        cut = slice(h * size, (h + 1) * size)
        clean, noisy = (stand_in(name, s["weights"][h], first) for s in (a, b))
        change[:, cut] = noisy @ b["values"][:, cut] - clean @ a["values"][:, cut]
    return ((change @ np.asarray(att.output.weight)) ** 2).sum(1)[first:]


@pytest.mark.parametrize("name", RECIPES)
def test_noise_on_images_is_that_of_slow_numpy(double, name):
    model, clean = shaken(RECIPES[name], True), tokens()
    hit = hit_patches(jr.key(1), 16, 0.25)
    assert int(hit.sum()) == 4
    noisy = clean + jnp.where(hit[:, None], jr.normal(jr.key(2), clean.shape), 0.0)
    found = eqx.filter_jit(stage_squares)(model, clean, noisy, hit)
    x, y, first = *(embedded(model, np.asarray(t)) for t in (clean, noisy)), model.first
    for number in range(2):
        a, b = by_hand(model, x, number), by_hand(model, y, number)
        for p, chosen in enumerate((np.asarray(hit), ~np.asarray(hit))):
            for s, stage in enumerate(STAGES):
                u, v = a[stage][first:], b[stage][first:]
                noise = ((v - u) ** 2).sum(1)[chosen].sum()
                signal = ((u - u.mean(0)) ** 2).sum(1)[chosen].sum()
                close = {"rel": 1e-9, "abs": 1e-12}
                assert float(found["noise"][number, s, p]) == pytest.approx(noise, **close)
                assert float(found["signal"][number, s, p]) == pytest.approx(signal, **close)
            for c, control in enumerate(CONTROLS):
                want = left_over(model, number, a, b, control)[chosen].sum()
                assert float(found["let_through"][number, c, p]) == pytest.approx(
                    want, rel=1e-9, abs=1e-12
                )
        taken = ((b["normed"] - a["normed"]) ** 2).sum(1)[first:]
        np.testing.assert_allclose(
            found["taken"][number], [taken[np.asarray(hit)].sum(), taken[~np.asarray(hit)].sum()],
            rtol=1e-9, atol=1e-12,
        )  # fmt: skip
        x, y = a["leaving"], b["leaving"]


def test_noise_on_tokens_is_that_of_slow_numpy(double):
    model, clean, key = shaken(CLASS, True), tokens(), jr.key(3)
    found = eqx.filter_jit(feature_squares)(model, key, clean, 0.1)
    x = embedded(model, np.asarray(clean))
    for number in range(2):
        a = by_hand(model, x, number)
        spread = ((x[1:] - x[1:].mean(0)) ** 2).sum(1).mean()
        drawn = np.asarray(jr.normal(jr.fold_in(key, number), (16, 12), jnp.float64))
        moved = x.copy()
        moved[1:] += 0.1 * math.sqrt(spread / 12) * drawn
        b = by_hand(model, moved, number)
        frozen, response, predicted = np.zeros((17, 12)), np.zeros((17, 12)), 0.0
        delta = b["normed"] - a["normed"]
        taken = (delta[1:] ** 2).sum()
        value = np.asarray(model.blocks[number].attention.value.weight)
        for h, cut in enumerate((slice(0, 6), slice(6, 12))):
            A, B = a["weights"][h], b["weights"][h]
            frozen[:, cut] = A @ (b["values"] - a["values"])[:, cut]
            response[:, cut] = (B - A) @ b["values"][:, cut]
            rows = (A[1:, 1:] ** 2).sum(1)
            predicted += (rows * (value[:, cut] ** 2).sum() / 12 * taken / 16).sum()
        total = b["mixed"] - a["mixed"]
        np.testing.assert_allclose(frozen + response, total, atol=1e-12)
        want = {"taken": taken, "total": (total[1:] ** 2).sum(), "predicted": predicted}
        want |= {"frozen": (frozen[1:] ** 2).sum(), "response": (response[1:] ** 2).sum()}
        for name, number_wanted in want.items():
            assert float(found[name][number]) == pytest.approx(number_wanted, rel=1e-8), name
        for c, control in enumerate(CONTROLS):
            want_left = left_over(model, number, a, b, control).sum()
            assert float(found["let_through"][number, c]) == pytest.approx(want_left, rel=1e-8)
        x = a["leaving"]


def test_a_passage_ends_where_the_block_does(double):
    model = shaken(CLASS, True)
    x = model.embedded(tokens())
    found = eqx.filter_jit(passage)(model.blocks[0], x)
    whole = eqx.filter_jit(lambda block, x: block(x, jnp.ones(17, bool))[0])(model.blocks[0], x)
    np.testing.assert_allclose(found.leaving, whole, rtol=1e-12, atol=1e-13)


def test_independent_noise_is_averaged_over_the_effective_keys(double):
    """Isotropic noise through a random value map: the formula is its mean."""
    from limelight.measures.denoising import BlockPassage, _decomposed

    att = shaken(CLASS, True).blocks[0].attention
    A = jax.nn.softmax(jr.normal(jr.key(0), (2, 16, 16), jnp.float64), axis=-1)
    at = jr.normal(jr.key(1), (16, 12), jnp.float64)

    @jax.jit
    @jax.vmap
    def ratio(key):
        moved = at + 1e-3 * jr.normal(key, at.shape, jnp.float64)
        one = lambda n: BlockPassage(n, n, att.joined(A @ att.values(n)), n, n, A)
        found = _decomposed(att, one(at), one(moved), 0)
        return found["frozen"] / found["predicted"], found["response"]

    ratios, response = map(np.asarray, ratio(jr.split(jr.key(2), 2000)))
    assert ratios.mean() == pytest.approx(1.0, abs=4 * ratios.std() / math.sqrt(2000))
    assert (response == 0).all()


# --- positions --------------------------------------------------------------------------------


def test_positions_are_scored_beside_fresh_ones():
    row, column = np.divmod(np.arange(36), 6)
    apart = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    P = jnp.asarray(np.exp(-apart / 4.5))
    found = read_positions(P, seed=1)
    assert found.locality == pytest.approx(float(locality(P)), abs=1e-5)
    assert found.locality > 0.5 > found.largest > 0
    assert found.neighbours == 1.0
    for name, sets in partitions(6).items():
        want = float(association_overlap(cosines(P), jnp.asarray(sets), offdiag=True))
        scores = found.association[name]
        assert scores["overlap"] == pytest.approx(want, abs=1e-5)
        assert scores["fresh"] == pytest.approx(scores["chance"], abs=0.02)
        assert scores["overlap"] > 2 * scores["chance"]


def test_partitions_cover_the_grid():
    for side in (3, 4, 7, 9):
        for name, sets in partitions(side).items():
            sizes = np.bincount(sets)
            assert len(set(sizes.tolist())) == 1, (side, name)
            assert sizes.sum() == side**2
    cells = partitions(4)["2 x 2 cells"].reshape(4, 4)
    assert cells.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]


# --- the cluster model ------------------------------------------------------------------------


def test_the_cluster_model_finds_itself():
    """Tokens around centres, and a head whose logits are inner products: the law describes both."""
    rng, size, sigma, lam, d = np.random.default_rng(0), 30, 0.4, 5.0, 400
    labels = np.repeat(np.arange(4), size)
    x = np.eye(4, d)[labels] + sigma * rng.normal(size=(4 * size, d)) / math.sqrt(d)
    Z = x - x.mean(0)
    A = np.exp(lam * Z @ Z.T)
    found = overlay(x, (A / A.sum(1, keepdims=True))[None])
    assert found.clusters == 4
    scale = math.sqrt(0.75)  # centres less their mean
    assert found.sigma == pytest.approx(sigma / scale, rel=0.05)
    assert found.strength[0] == pytest.approx(lam * scale**2, rel=0.05)
    assert found.r_squared[0] == pytest.approx(1.0, abs=1e-9)
    assert found.measured[0] == pytest.approx(found.predicted[0], rel=0.1)
    even = overlay(x, np.ones((1, 120, 120)))
    assert even.measured[0] == pytest.approx(1 / even.sigma, rel=0.02)  # all at the mean


@pytest.mark.parametrize(("size", "sigma", "lam"), [(2, 1.0, 2.0), (4, 0.5, 2.0), (20, 0.5, 4.0)])
def test_the_law_of_clusters_is_that_of_many_dimensions(size, sigma, lam):
    rng, d = np.random.default_rng(0), 20_000
    labels = np.repeat(np.arange(5), size)
    centres = np.linalg.qr(rng.normal(size=(d, 5)))[0].T
    x = centres[labels] + sigma * rng.normal(size=(5 * size, d)) / math.sqrt(d)
    means = np.stack([x[labels == k].mean(axis=0) for k in range(5)])
    away = math.sqrt(np.square(x - means[labels]).sum(axis=1).mean())
    A = np.exp(lam * x @ x.T)
    after = A / A.sum(axis=1, keepdims=True) @ x - means[labels]
    measured = math.sqrt(np.square(after).sum(axis=1).mean()) / away
    assert law(means, np.full(5, size), away, lam) == pytest.approx(measured, rel=1e-3)


def test_clusters_are_chosen_as_by_loops():
    rng = np.random.default_rng(1)
    unit = rng.normal(size=(12, 5))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    labels, each = np.array([0, 1, 2, 0, 1, 1, 2, 2, 0, 1, 2, 3]), []
    for i in range(12):
        apart = lambda k, i=i: [
            1 - unit[i] @ unit[j] for j in range(12) if labels[j] == k and j != i
        ]
        own = apart(labels[i])
        nearest = min(np.mean(apart(k)) for k in range(4) if k != labels[i])
        each.append((nearest - np.mean(own)) / max(nearest, np.mean(own)) if own else 0.0)
    assert silhouette(unit, labels) == pytest.approx(np.mean(each))


# --- all of it --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    model = load_vit(DIGITS)
    shown = Gallery.load("digits", Sight.of(model), limit=6, behind=Behind("tiles"))
    return probe(model, shown, shown=1)


def test_a_probe_holds_together(found):
    json = found.as_json()
    assert [block["block"] for block in json["blocks"]] == [1, 2]
    first = json["blocks"][0]
    assert first["noise"]["entering"]["spared"] == 0
    assert first["gains"]["identity"]["spared"] is None  # nothing in, nothing to divide by
    assert first["against_identity"]["spared"]["distils"] == "no"
    assert first["noise"]["entering"]["hit"] > 0
    assert len(first["heads"]["entropy"]) == 2
    assert 0 < json["relevant_patches"] < 1
    for block in range(2):
        for k, kind in enumerate(KINDS):
            ends = found.noise.against_identity[block, k]
            if (block, kind) == (0, "spared"):  # A = I lets nothing through
                np.testing.assert_array_equal(ends, [np.inf, np.nan, np.nan])
            else:
                assert 0 < ends[1] < ends[0] < ends[2] < np.inf, (block, kind)
    assert found.shown[0].maps.shape == (2, 2, 4, 4)
    weights = found.shown[0].maps.sum((2, 3))
    assert (weights > 0).all()
    assert (weights <= 1 + 1e-6).all()


@pytest.mark.parametrize(
    ("ends", "says", "words"),
    [
        ((0.5, 0.4, 0.6), "yes", "0.50 [0.40, 0.60]"),
        ((2.0, 1.5, 2.5), "no", "2.00 [1.50, 2.50]"),
        ((1.0, 0.9, 1.1), "open", "1.00 [0.90, 1.10]"),
        ((0.5, math.nan, math.nan), "open", "0.50"),
        ((math.inf, math.nan, math.nan), "no", ""),  # A = I lets nothing through
        ((math.nan,) * 3, "open", ""),  # nor does attention
    ],
)
def test_what_distils_is_decided_by_the_interval(ends, says, words):
    assert distils(ends) == says
    assert with_interval(ends) == words


@pytest.fixture(scope="module")
def alone():
    """A probe of one image, compiled as on a GPU, and what the compiler was told."""
    model, told, plain = shaken(CLASS), {}, jax.jit

    def spy(function, **options):
        told[function.__name__] = options.get("compiler_options")
        return plain(function, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "default_backend", lambda: "gpu")
        patch.setattr(jax, "jit", spy)
        device.by_library.cache_clear()
        found = probe(model, Gallery.load("digits", Sight.of(model), limit=1), shown=0)
    device.by_library.cache_clear()
    return found, told


def test_on_a_gpu_products_are_calls_of_its_library(alone):
    """What a GPU's compiler must be told a CPU's hears and ignores."""
    for program in ("begin", "step"):
        assert alone[1][program] == device.LIBRARY


def test_one_image_leaves_open_what_distils(alone, tmp_path):
    one, _ = alone
    against = [block["against_identity"] for block in one.as_json()["blocks"]]
    assert against[0]["spared"] == {"ratio": None, "low": None, "high": None, "distils": "no"}
    for found in (against[0]["hit"], against[0]["feature"], *against[1].values()):
        assert found["ratio"] > 0
        assert (found["low"], found["high"], found["distils"]) == (None, None, "open")
    write_page(tmp_path / "page.html", "vit", one, MACHINE, [])
    page = (tmp_path / "page.html").read_text()
    assert "nan" not in re.sub('data:image/[a-z]*;base64,[^"]*', "", page)
    assert "none to begin with" in page


def test_the_page_is_one_file_that_asks_for_nothing(found, tmp_path):
    path = tmp_path / "page.html"
    write_page(path, "<script>alert(1)</script>", found, MACHINE, ["limelight probe x"])
    page = path.read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert page.count("<svg ") == len(pictures(found)) == 10
    for words in ("Positions", "Attention", "Noise, block by block", "2 x 2 cells", "distils"):
        assert words in page
    assert len(page) < 2_000_000


def test_bad_settings_are_refused():
    model = shaken(CLASS)
    with pytest.raises(InputError, match="noise = 0"):
        probe(model, noise=0)
    with pytest.raises(InputError, match="share = 1"):
        probe(model, share=1)
    with pytest.raises(InputError, match="share = 0"):
        probe(model, share=0.0)
