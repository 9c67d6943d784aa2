"""Figures on real images: claims at made-up tables, the smoke scale end to end."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.experiments.classify import Classify
from limelight.models import Vision, save_vit
from limelight.papers.jelassi2022 import digits, fig5, paper
from limelight.plot import render
from limelight.table import Table
from limelight.train.images import ImageTraining
from limelight.worlds import Images, Patterns

PNG = b"\x89PNG"
DIGITS, FIG1A = paper.figure("digits"), paper.figure("fig1a")
FIG5 = [paper.figure(name) for name in ("fig5", "fig5-exact")]
FIG7 = [paper.figure(f"fig7-{source}") for source in ("cifar10", "cifar100", "fashion-mnist")]


def made_up(accuracy: dict[str, float], seeds: int = 6, regained: float = 0.1, gap: float = 1e-6):
    """A table in which every arm has its accuracy, give or take half a point."""
    rng = np.random.default_rng(0)
    columns = {name: [] for name in (*digits.ARM, "trial", "accuracy", "trace.loss")}
    local = {f"locality.{part}": [] for part in digits.LOCALITY}
    for name, arm in digits.ARMS.items():
        for seed in range(seeds):
            for path, value in zip(digits.ARM, arm, strict=True):
                columns[path].append(value)
            columns["trial"].append(seed)
            columns["accuracy"].append(accuracy[name] + 0.001 * rng.uniform(-1, 1))
            columns["trace.loss"].append(np.full(50, 2.0) + gap * ("alike" in name))
            for part, value in zip(digits.LOCALITY, (0.0, 0.02, 0.02 + regained), strict=True):
                local[f"locality.{part}"].append(value + 0.001 * rng.uniform(-1, 1))
    arrays = {name: np.array(values) for name, values in (columns | local).items()}
    course = {"steps": 1500, "batch": 128}
    experiment = {"course": course}
    manifest = {"scale": "small", "configuration": {"experiment": experiment, "trials": seeds}}
    return Table(arrays, digits.ARM, manifest)


USUAL = dict(zip(digits.ARMS, (0.93, 0.93, 0.92, 0.94, 0.96, 0.93), strict=True))


def decided(table: Table) -> dict[str, str]:
    return {v.claim.removeprefix("digits."): v.verdict for v in DIGITS.verdict(table)}


def test_claims_hold_where_they_should():
    assert set(decided(made_up(USUAL)).values()) == {"holds"}


@pytest.mark.parametrize(
    ("claim", "options"),
    [
        ("exact", {"gap": 1e-3}),
        ("similarity", {"regained": 0.0}),
        ("cnn", {"accuracy": USUAL | {"CNN, shuffled": 0.965}}),
        ("gap", {"accuracy": USUAL | {"positional": 0.85}}),
    ],
)
def test_each_claim_fails_alone(claim, options):
    found = decided(made_up(**{"accuracy": USUAL} | options))
    assert found.pop(claim) == "fails"
    assert set(found.values()) == {"holds"}


def test_few_seeds_and_absent_arms_decide_nothing():
    few = decided(made_up(USUAL, seeds=4))
    assert few == {n: "inconclusive" for n in few} | {"exact": "holds"}
    table = made_up(USUAL)
    two = (table["network"] == "vit") & ((table["world.cell"] == 0) | table["aligned"])
    part = decided(table.rows(two))
    assert part == {n: "inconclusive" for n in part} | {"exact": "holds"}


@pytest.mark.slow
def test_digits_at_smoke_scale_end_to_end(tmp_path):
    """Shuffled pixels with positions shuffled alike: the same training, to rounding."""
    settings = {"course.steps": "150", "course.batch": "32"}
    table = DIGITS.run("smoke", tmp_path / "run", settings=settings)
    plain, moved = (digits.arm(table, name) for name in ("vanilla", "shuffled, P alike"))
    loss = plain["trace.loss"][0]
    assert loss.shape == (50,)
    assert loss[-10:].mean() < loss[:5].mean() - 0.1  # it learns
    assert digits.same_training.estimate(table).value <= digits.TOLERANCE
    np.testing.assert_allclose(plain["locality.raw"], moved["locality.inverse"], atol=1e-3)
    assert abs(float(plain["locality.raw"][0] - moved["locality.raw"][0])) > 1e-3
    assert plain["accuracy"][0] == moved["accuracy"][0] > 0.2  # measured .50; chance .10
    assert set(decided(table).values()) == {"inconclusive"}
    assert len(DIGITS.lines(table)) == 3  # a head and two arms
    assert render(DIGITS.plot(table)).startswith(PNG)


def test_shuffled_pixels_with_positions_shuffled_alike_train_alike():
    """Step by step to rounding, and not for the trivial reason that nothing was shuffled."""
    study = Classify(
        Images(patch=2, unit=False),
        vit=Vision(width=8, heads=2, hidden=8),
        course=ImageTraining(steps=6, batch=16, rate=1e-2),
        watched=6,
    )
    arms = [(0, False), (2, True), (2, False)]
    studies = [
        dataclasses.replace(study, world=dataclasses.replace(study.world, cell=c), aligned=a)
        for c, a in arms
    ]
    plain, alike, other = (jax.jit(s.trial)(jr.key(3)) for s in studies)
    np.testing.assert_allclose(plain["trace.loss"], alike["trace.loss"], atol=1e-5)
    np.testing.assert_allclose(plain["locality.raw"], alike["locality.inverse"], atol=1e-4)
    maps = [plain["trace.similarity"], alike["trace.inverse"], alike["trace.similarity"]]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-4)
    assert np.abs(maps[0] - maps[2]).max() > 0.01
    assert np.abs(plain["trace.loss"] - other["trace.loss"]).max() > 1e-4


def test_figure_1a_of_a_file(tmp_path):
    """Encodings as smooth as a bump are local beyond every fresh draw."""
    world = Patterns(tokens=36, dimension=3, patterns=2)
    model = Vision(width=36, heads=2, pool="class").init(jr.key(0), world, None)
    row, column = np.divmod(np.arange(36), 6)
    bumps = np.exp(-((row[:, None] - row) ** 2 + (column[:, None] - column) ** 2) / 4.5)
    rows = jnp.asarray(np.concatenate([np.ones((1, 36)), bumps]))
    path = tmp_path / "vit.safetensors"
    save_vit(dataclasses.replace(model, positions=rows), path, channels=3)
    table = FIG1A.run("small", settings={"checkpoint": str(path), "trials": "1", "draws": "20"})
    assert table["locality"][0] > 0.7 > 0.3 > table["largest"][0]
    assert FIG1A.verdict(table)[0].verdict == "holds"
    assert render(FIG1A.plot(table)).startswith(PNG)
    assert "neighbour" in FIG1A.lines(table)[0]


@pytest.mark.parametrize(
    ("locality", "largest", "verdict"),
    [
        (0.2, 0.05, "holds"),
        (0.08, 0.05, "inconclusive"),
        (0.04, 0.05, "fails"),
        (0.2, 0.3, "fails"),
    ],
)
def test_the_rule_of_figure_1a(locality, largest, verdict):
    columns = {"locality": np.array([0.5, locality]), "largest": np.array([0.01, largest])}
    assert FIG1A.claims[0].decide(Table(columns), "made up").verdict == verdict


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (Classify(network="mlp"), "cannot be"),
        (Classify(network="cnn", aligned=True), "start shuffled"),
        (Classify(Images(patch=4, cell=2), aligned=True), "cuts patches"),
        (Classify(watched=0), "between 1"),
        (Classify(Images(source="/nowhere")), "there are no images"),
    ],
)
def test_bad_settings_are_refused_in_one_line(study, says):
    with pytest.raises(InputError, match=says) as error:
        study.check()
    assert "\n" not in str(error.value)


def shuffled(vit: dict[int, float], cnn: dict[int, float], regained: float = 0.2, seeds: int = 5):
    """A made-up table of figure 5: accuracy by size of cell."""
    arms = [(n, c, a) for n, by in (("vit", vit), ("cnn", cnn)) for c, a in by.items()]
    rows = [(*arm, seed) for arm in arms for seed in range(seeds)]
    noise = np.random.default_rng(1).uniform(-1e-3, 1e-3, len(rows))
    columns = {
        "network": np.array([r[0] for r in rows]),
        "world.cell": np.array([r[1] for r in rows]),
        "aligned": np.zeros(len(rows), bool),
        "accuracy": np.array([r[2] for r in rows]) + noise,
        "trial": np.array([r[3] for r in rows]),
        "locality.raw": noise,
        "locality.inverse": regained + noise[::-1],
    }
    return Table(columns, fig5.ARM, {"scale": "paper"})


FLAT, STEEP = dict.fromkeys((2, 4, 8, 16, 32), 0.6), {2: 0.4, 4: 0.45, 8: 0.5, 16: 0.6, 32: 0.7}


@pytest.mark.parametrize(
    ("table", "fails"),
    [
        (shuffled(FLAT, STEEP), set()),
        (shuffled(STEEP, STEEP), {"fig5.vit"}),
        (shuffled(FLAT, FLAT), {"fig5.cnn-falls", "fig5.cnn-recovers"}),
        (shuffled(FLAT, STEEP, regained=0.0), {"fig5.similarity"}),
    ],
)
def test_the_claims_of_figure_5(table, fails):
    found = {claim.name: claim.decide(table, "made up").verdict for claim in fig5.figure.claims}
    assert found == {name: "fails" if name in fails else "holds" for name in found}


@pytest.mark.parametrize(("positional", "verdict"), [(0.88, "holds"), (0.8, "fails")])
def test_the_claim_of_figure_7(positional, verdict):
    network = np.repeat(["vit", "positional"], 5)
    accuracy = np.where(network == "vit", 0.9, positional) + 1e-3 * np.tile(np.arange(5), 2)
    accuracy[0] += 1e-3
    table = Table({"network": network, "trial": np.tile(np.arange(5), 2), "accuracy": accuracy})
    (claim,) = FIG7[0].claims
    assert claim.decide(table, "made up").verdict == verdict


@pytest.mark.parametrize("recipe", [*FIG5, *FIG7], ids=lambda f: f.name)
def test_recipes_are_whole_without_files_and_say_what_is_missing(recipe, monkeypatch):
    monkeypatch.delenv("LIMELIGHT_DATA", raising=False)
    assert set(recipe.scales) == {"smoke", "small", "paper"}
    for scale in recipe.scales:
        recipe.setup(scale).experiment.check()
    with pytest.raises(InputError, match="LIMELIGHT_DATA") as error:
        recipe.plan("paper")
    assert "\n" not in str(error.value)


def test_the_third_data_set_of_figure_7_is_always_there(monkeypatch):
    monkeypatch.delenv("LIMELIGHT_DATA", raising=False)
    recipe = paper.figure("fig7-digits")
    assert recipe.plan("small").rows == 10
    for scale, seeds, tokens in (("small", 5, 16), ("paper", 10, 64)):
        setup = recipe.setup(scale)
        setup.experiment.check()
        world = setup.experiment.world.loaded()
        assert (setup.trials, world.tokens, world.pictures.name) == (seeds, tokens, "digits")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [*FIG5, FIG7[0]], ids=lambda f: f.name)
def test_figures_5_and_7_at_smoke_scale(recipe):
    table = recipe.run("smoke")
    assert {v.verdict for v in recipe.verdict(table)} == {"inconclusive"}
    assert np.isfinite(table["accuracy"]).all()
    assert recipe.lines(table)
    assert all(render(drawn).startswith(PNG) for drawn in recipe.plots(table).values())
