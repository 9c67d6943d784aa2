"""How alike and how long tokens are, rollout, and what is said of them, against plain loops."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.instruments.collapse import Similarity, grip, mixed_norm
from limelight.instruments.draw import chosen_block, pictures
from limelight.instruments.findings import findings
from limelight.instruments.gallery import Behind, Gallery
from limelight.instruments.norms import find_long
from limelight.instruments.overlay import best_clusters
from limelight.instruments.positions import partitions, read_positions, scores
from limelight.instruments.probe import probe
from limelight.instruments.reading import read_images
from limelight.instruments.sight import Sight
from limelight.measures.association import association_overlap
from limelight.measures.heads import looked_at, rolled_out
from limelight.measures.locality import cosines, locality, neighbour_share
from limelight.measures.similarity import DEFINITIONS, mixed_residual, residual, similarities
from limelight.models import Vision, load_vit
from limelight.plot._heat import coloured, heated, tiled_images
from tests.instruments.test_probe import by_hand, embedded
from tests.instruments.vits import DIGITS, shaken

CLASS = Vision(width=12, depth=3, heads=2, hidden=24, pool="class", outputs=10)
MEAN = Vision(width=12, depth=3, heads=2, hidden=24, pool="mean", outputs=10)


def shown(model, limit: int = 3, **options) -> Gallery:
    return Gallery.load("digits", Sight.of(model), limit=limit, **options)


def cosine(a, b) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# --- similarity -------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_every_definition_is_that_of_loops(double, first):
    rng, norm = np.random.default_rng(first), shaken(CLASS, True).norm
    rows = rng.normal(size=(7 + first, 12)) + 0.5
    found = similarities(jnp.asarray(rows), first, norm)
    patches = rows[first:]
    pairs = [(a, b) for i, a in enumerate(patches) for j, b in enumerate(patches) if i != j]
    behind = np.asarray(norm(jnp.asarray(patches)))
    columns = rows.T
    want = {
        "cosine": np.mean([cosine(a, b) for a, b in pairs]),
        "absolute": np.mean([abs(cosine(a, b)) for a, b in pairs]),
        "whole": np.mean([abs(cosine(a, b)) for a in rows for b in rows]),
        "columns": np.mean([abs(cosine(a, b)) for a in columns for b in columns]),
        "normed": np.mean(
            [cosine(a, b) for i, a in enumerate(behind) for j, b in enumerate(behind) if i != j]
        ),
        "residual": np.linalg.norm(patches - patches.mean(0)) / np.linalg.norm(patches),
    }
    assert set(found) == set(want) == {*DEFINITIONS, "residual"}
    for name, value in want.items():
        assert float(found[name]) == pytest.approx(value, rel=1e-9), name


def test_rows_of_one_length_tie_similarity_to_the_residual(double):
    rows = np.random.default_rng(0).normal(size=(9, 5)) + 1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    s = similarities(jnp.asarray(rows), 0, shaken(CLASS, True).norm.__class__(
        jnp.ones(5), jnp.zeros(5)))["cosine"]  # fmt: skip
    assert float(s) == pytest.approx(1 - float(residual(jnp.asarray(rows))) ** 2 * 9 / 8)


def test_the_number_of_the_rank_collapse_theorem_bounds_one_layer_of_attention(double):
    """Where it is below 1 attention alone contracts, as Dong et al. prove; by plain NumPy."""
    model, rng = shaken(MEAN, True), np.random.default_rng(3)
    for scale in (0.02, 0.1):
        x = scale * rng.normal(size=(8, 12))
        block = model.blocks[0].attention
        size = float(mixed_residual(jnp.asarray(x)))
        centred = x - x.mean(0)
        assert size == pytest.approx(mixed_norm(centred))
        found = grip(dataclasses.replace(model, blocks=model.blocks[:1]), np.array([size]))[0]
        w = lambda one: np.split(np.asarray(one.weight), 2, axis=1)
        outs = np.split(np.asarray(block.output.weight), 2, axis=0)
        y = np.zeros_like(x)
        for q, k, v, o in zip(w(block.query), w(block.key), w(block.value), outs, strict=True):
            A = np.exp(x @ q @ k.T @ x.T / np.sqrt(6))
            y += A / A.sum(1, keepdims=True) @ x @ v @ o
        left = mixed_norm(y - y.mean(0))
        assert left <= found * size * 1.0000001
    assert grip(model, np.zeros(3)).tolist() == [0, 0, 0]


def test_a_trend_is_read_between_the_first_block_and_the_last():
    path = lambda *values: np.array([values])
    values = dict.fromkeys(
        (*DEFINITIONS, "residual", "alone", "residual_alone"), path(0.0, 0.3, 0.3)
    )
    values |= {"cosine": path(0.9, 0.2, 0.6), "whole": path(0.0, 0.6, 0.2)}
    found = Similarity(values, np.array([2.0, 3.0]), np.array([0.5, 0.6]))
    trends = found.as_json()["trends"]
    assert (trends["cosine"], trends["whole"], trends["normed"]) == ("rises", "falls", "steady")


# --- lengths ----------------------------------------------------------------------------------


def test_planted_artifacts_are_found_and_nothing_else():
    rng = np.random.default_rng(0)
    lengths = 10 * np.exp(0.15 * rng.normal(size=(20, 3, 196)))
    assert not find_long(lengths).long.any()
    planted = np.zeros(lengths.shape, bool)
    planted[:, 2, 5] = planted[3, 1, 100] = planted[7, 2, 60] = True
    lengths[planted] *= 5
    found = find_long(lengths)
    np.testing.assert_array_equal(found.long, planted)
    rows = found.as_json()
    assert [row["long_tokens"] for row in rows] == [0, 1, 21]
    assert rows[2]["images_with_any"] == 1.0
    assert found.where[2, 5] == 1.0
    assert rows[1]["median"] == pytest.approx(np.median(lengths[:, 1]), rel=1e-5)
    assert find_long(lengths, 1e9).as_json()[2]["long_tokens"] == 0
    with pytest.raises(InputError, match="cut = 0"):
        find_long(lengths, 0)


def test_artifacts_planted_in_a_network_are_found_where_they_are():
    """Two patches whose positions are far longer than the rest are long at every depth."""
    model = shaken(CLASS)
    places = np.asarray(model.positions).copy()
    places[model.first + np.array([5, 9])] += 40.0
    planted = dataclasses.replace(model, positions=jnp.asarray(places))
    plain, found = (
        probe(one, shown(one, 4), only=["norms"], seed=0).norms for one in (model, planted)
    )
    assert not plain.long.any()
    for depth in range(4):
        assert np.flatnonzero(found.where[depth]).tolist() == [5, 9]
        assert found.shares[depth] == 2 / 16


# --- what is read of images -------------------------------------------------------------------


@pytest.mark.parametrize("recipe", [CLASS, MEAN], ids=["class", "mean"])
def test_a_pass_reads_what_numpy_reads(recipe):
    model = shaken(recipe)
    gallery = shown(model, 3, behind=Behind("tiles"))
    read = read_images(
        model, gallery, frozenset(["attention", "similarity", "norms"]),
        shown=2, noise=0.5, share=0.25, seed=0,
    )  # fmt: skip
    images, own = gallery.images(np.arange(3))
    first = model.first
    for i, patches in enumerate(gallery.tokens(images)):
        x = alone = embedded(model, patches)
        rolled = np.eye(len(x))
        lengths = [np.linalg.norm(x[first:], axis=1)]
        for b in range(3):
            step = by_hand(model, x, b)
            A = step["weights"].mean(0)
            rolled = 0.5 * (A + np.eye(len(A))) @ rolled
            row = rolled[0] if first else rolled.mean(0)
            seen = row[first:]
            mass = seen[own[i]].sum() / seen.sum()
            assert float(read["rollout_mass"][i, b]) == pytest.approx(mass, rel=1e-4)
            if i < 2:
                np.testing.assert_allclose(read["rollout"][i, b], seen, rtol=1e-4, atol=1e-6)
            x = step["leaving"]
            att = model.blocks[b].attention
            taken = step["mixed"] @ np.asarray(att.output.weight)
            for name, rows in (("entering", step["normed"]), ("left", taken)):
                want = mixed_norm(rows - rows.mean(0))
                assert float(read["collapse"][name][i, b]) == pytest.approx(want, rel=1e-4)
            inside = by_hand(model, alone, b)["mixed"]
            alone = inside @ np.asarray(att.output.weight) + np.asarray(att.output.bias)
            lengths.append(np.linalg.norm(x[first:], axis=1))
            pairs = [(j, k) for j in range(first, len(x)) for k in range(first, len(x)) if j != k]
            want = np.mean([cosine(x[j], x[k]) for j, k in pairs])
            lonely = np.mean([cosine(alone[j], alone[k]) for j, k in pairs])
            assert float(read["similarity"]["cosine"][i, b + 1]) == pytest.approx(want, abs=1e-4)
            assert float(read["similarity"]["alone"][i, b + 1]) == pytest.approx(lonely, abs=1e-4)
        np.testing.assert_allclose(read["lengths"][i], lengths, rtol=1e-4)
    assert "stage" not in read
    assert len(read["maps"]) == 2
    assert [len(blocks) for blocks in read["overlays"]] == [3, 3, 3]


def test_many_images_are_read_as_one_by_one():
    """Chunks, the filled-up last one among them, change nothing; nor do companions."""
    model, wanted = shaken(CLASS), frozenset(["attention", "noise", "norms"])
    many = shown(model, 10)
    read = lambda g: read_images(model, g, wanted, shown=0, noise=0.5, share=0.25, seed=0)
    whole = read(many)
    for place in (0, 9):
        one = read(dataclasses.replace(many, numbers=many.numbers[place : place + 1]))
        for name in ("entropy", "itself"):
            np.testing.assert_allclose(
                whole["heads"][name][place], one["heads"][name][0], rtol=1e-5, atol=1e-6
            )
        np.testing.assert_allclose(
            whole["stage"]["noise"][place], one["stage"]["noise"][0], rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(whole["lengths"][place], one["lengths"][0], rtol=1e-5)


def test_rollout_keeps_its_sums(double):
    A = jnp.asarray(np.random.default_rng(0).dirichlet(np.ones(5), (2, 5)))
    rolled = eqx.filter_jit(rolled_out)(A, eqx.filter_jit(rolled_out)(A, jnp.eye(5)))
    np.testing.assert_allclose(rolled.sum(1), 1.0)
    assert (rolled > 0).all()
    np.testing.assert_allclose(looked_at(rolled[None], 1)[0], rolled[0, 1:])


def test_positions_are_scored_in_numpy_as_by_the_measures():
    groups = partitions(6)
    P = np.array(jr.normal(jr.key(0), (3, 36, 8)))
    P[2, 4] = P[2, 17]  # equal cosines: the lowest place comes first
    found = scores(P.copy(), groups)
    for i in range(3):
        p = jnp.asarray(P[i])
        assert found["locality"][i] == pytest.approx(float(locality(p)), abs=1e-5)
        assert found["neighbours"][i] == pytest.approx(float(neighbour_share(p)), abs=1e-6)
        for name, sets in groups.items():
            want = float(association_overlap(cosines(p), jnp.asarray(sets), offdiag=True))
            assert found[name][i] == pytest.approx(want, abs=1e-6)


def test_clusters_from_all_starts_at_once_are_clusters():
    """Every point is with its nearest centre, and centres are means of their points."""
    rng = np.random.default_rng(0)
    points = np.repeat(np.eye(4, 9), 12, axis=0) + 0.1 * rng.normal(size=(48, 9))
    labels, score = best_clusters(points)
    assert len(set(labels.tolist())) == 4
    assert all(len(set(labels[12 * k : 12 * k + 12].tolist())) == 1 for k in range(4))
    assert 0.7 < score < 1


# --- words and pictures -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    model = load_vit(DIGITS)
    return probe(model, shown(model, 5, behind=Behind("tiles")), shown=1)


def test_findings_say_what_the_numbers_say(found):
    mass = np.array([[0.5, 0.5], [0.5, 0.52], [0.9, 0.86], [0.95, 0.97]])
    heads = {"class_relevant": mass, "class": np.ones((4, 2)), "entropy": mass}
    told = dataclasses.replace(found, heads=heads, relevant_share=0.6, similarity=None, norms=None)
    said = findings(dataclasses.replace(told, noise=None))
    assert said[0].startswith("Attention finds the object in blocks 3 and 4: 96%")
    assert "even attention would have 60%" in said[0]
    assert said[1].startswith("In blocks 1 and 2 it attends to the background more")
    blind = dataclasses.replace(told, heads=heads | {"class_relevant": 0 * mass + 0.6}, noise=None)
    assert findings(blind)[0].startswith("Attention does not find the object")
    assert chosen_block(told) == 3


def test_findings_say_whether_positions_know_the_grid(found):
    """Waves along rows and columns do; a shuffle of the same vectors does not."""
    row, column = np.divmod(np.arange(64), 8)
    waves = [f(k * x / 8) for x in (row, column) for k in (1, 2, 3) for f in (np.cos, np.sin)]
    grid = np.stack(waves, axis=1)
    mixed = grid[np.random.default_rng(0).permutation(64)]
    blank = {"heads": {}, "similarity": None, "norms": None, "noise": None}
    for places, word in ((grid, "know"), (mixed, "do not know")):
        positions = read_positions(jnp.asarray(places - places.mean(axis=0)))
        (said,) = findings(dataclasses.replace(found, positions=positions, **blank))
        assert said.startswith(f"Positions {word} the grid: for {positions.neighbours:.0%} of")


def test_only_what_is_named_is_read_and_drawn():
    model = load_vit(DIGITS)
    one = probe(model, shown(model), only=["similarity"])
    assert one.positions is None
    assert one.noise is None
    assert one.heads == {}
    assert set(pictures(one)) == {"similarity"}
    assert set(one.as_json()["blocks"][0]) == {"block", "cluster_model"}
    panels = pictures(one)["similarity"].panels
    laws = {panel.title: [m for m in panel.content if m.label == "its law"] for panel in panels[3:]}
    (collapse,), (clusters,), none = laws.values()
    assert none == []
    np.testing.assert_array_equal(collapse.y, one.similarity.grip)
    np.testing.assert_allclose(
        clusters.y, np.mean([[b.predicted for b in i] for i in one.model], axis=(0, 2))
    )
    with pytest.raises(InputError, match="only"):
        probe(model, shown(model), only=["colour"])
    with pytest.raises(InputError, match="no images"):
        probe(model, only=["norms"])


def test_the_chosen_block_and_head_are_drawn(found):
    every = pictures(found, block=1, head=2)
    large = every["attention-1"].panels[0].content
    assert any("block 1, head 2" in getattr(mark, "words", "") for mark in large)
    assert {"attention-1", "blocks-1", "heads-1", "heads", "similarity", "norms"} <= set(every)


def test_heat_lies_on_the_patches_that_get_more_than_their_share():
    image = np.full((8, 8, 3), 128, np.uint8)
    weights = np.ones((2, 2))
    weights[0, 1] = 4.0
    drawn = heated(image, weights, 4.0).astype(int)
    half = drawn.shape[0] // 2
    colourful = np.ptp(drawn, axis=2)
    assert (colourful[:half, half:] > 60).all()
    assert (colourful[half:] == 0).all()
    assert (colourful[:, :half] == 0).all()
    assert coloured(np.full((2, 2, 1), 16, np.uint8)).max() == 255
    sheet = tiled_images([("a", drawn.astype(np.uint8))] * 3, 2, full=3.0)
    assert [t.words for t in sheet.panels[0].marks[-3:]] == ["a", "a", "a"]
    with pytest.raises(InputError, match="no tiles"):
        tiled_images([], 2)
