"""Every figure of xu2022 at smoke scale: it runs, it is drawn, its verdict is the expected one."""

import subprocess
import sys

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.experiments.denoising import Denoising
from limelight.papers.xu2022 import paper
from limelight.plot import render
from limelight.table import Table

#: Claims about printed statements that are false; they must fail, and so must every control.
FALSE = {
    "autopsy.theorem2",
    "autopsy.band",
    "autopsy.lemma1",
    "lemma2.printed",
    "patches.corrupted",
    "trained.corrupted",
    "trained.unseen",
}


def check(name: str, decided: int, tmp_path) -> Table:
    figure = paper.figure(name)
    table = figure.run("smoke")
    found = {c.name: c.decide(table, "smoke").verdict for c in figure.claims}
    fails = FALSE | {c.name for c in figure.claims if c.kind == "control"}
    for claim, verdict in found.items():
        # At smoke scale a claim may stay open, but it never comes out the other way.
        assert verdict in ("inconclusive", "fails" if claim in fails else "holds"), claim
    assert sum(v != "inconclusive" for v in found.values()) >= decided
    assert all(v.verdict == "inconclusive" for v in figure.verdict(table))
    assert figure.summary(table)
    path = tmp_path / "table.parquet"
    table.save(path)
    for drawn in figure.plots(Table.load(path)).values():
        assert len(render(drawn, "png", 60)) > 2000
    return table


@pytest.mark.parametrize(
    ("name", "decided"),
    [("curves", 2), ("phase", 2), ("depth", 2), ("autopsy", 4), ("products", 1), ("neighbours", 0)],
)
def test_figures_at_smoke_scale(name, decided, tmp_path):
    check(name, decided, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "decided"),
    [
        ("guarantees", 4),
        ("cross", 1),
        ("patches", 5),
        ("scaling", 2),
        ("trained", 3),
        ("networks", 0),
    ],
)
def test_slower_figures_at_smoke_scale(name, decided, tmp_path):
    check(name, decided, tmp_path)


def test_every_statement_evaluates_at_its_defaults():
    for statement in paper.statements:
        found = statement.evaluate({})
        assert str(found)
        assert found.as_json()["kind"] in (
            "printed",
            "exact",
            "corrected",
            "prediction",
            "certificate",
        )
    printed = {s.label for s in paper.statements if s.evaluate({}).kind == "printed"}
    assert printed == {"theorem1", "theorem2", "lemma1", "lemma2", "band"}


def test_the_contents_of_the_paper_load_nothing_heavy():
    heavy = ("jax", "matplotlib", "scipy", "limelight.papers.xu2022.ratios")
    code = f"import sys, limelight.papers.xu2022; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_calculator_comes_first_and_takes_words():
    first = paper.statements[0]
    assert first.label == "calculator"
    found = first.evaluate({"clusters": "10", "size": "50", "sigma": ".5", "dim": "384"})
    assert found.value == pytest.approx(0.1613, abs=1e-3)
    with pytest.raises(InputError, match="did you mean"):
        first.evaluate({"sigme": "1"})
    with pytest.raises(InputError):
        first.evaluate({"sigma": "0"})


def neighbours_table(obeyed, trials=200):
    """A made-up figure: the share of draws that improve every token is `obeyed(K / m_k)`."""
    from limelight.papers.xu2022 import neighbours
    from limelight.papers.xu2022.ratios import POINT

    rows = [(neighbours.row(size), t) for size in neighbours.SIZES for t in range(trials)]
    columns = {name: np.array([row[i] for row, _ in rows]) for i, name in enumerate(POINT)}
    share = np.array([obeyed(row[-1] / row[1]) for row, _ in rows])
    columns["noise.worst_ratio"] = np.where(np.array([t for _, t in rows]) < share * trials, 0.5, 2)
    world = {"sizes": "equal", "gram": None, "cosine": 0.0}
    experiment = {"world": world, "model": {}}
    configuration = {"experiment": experiment}
    return Table(columns, POINT, {"scale": "paper", "configuration": configuration})


@pytest.mark.parametrize(
    ("obeyed", "expected"),
    [
        (lambda ratio: float(ratio <= 1.5), ["holds", "holds", "fails"]),
        (lambda ratio: float(ratio <= 0.6), ["holds", "fails", "fails"]),
        (lambda ratio: 0.5, ["fails", "fails", "fails"]),
        (lambda ratio: 1.0, ["holds", "holds", "holds"]),
    ],
)
def test_where_theorem_1_ends_is_found(obeyed, expected):
    figure = paper.figure("neighbours")
    assert [v.verdict for v in figure.verdict(neighbours_table(obeyed))] == expected


def test_neighbours_rows_are_the_smallest_that_theorem_1_allows():
    from limelight.papers.xu2022 import neighbours

    for size in neighbours.SIZES:
        clusters, _, sigma, d, _, _, k = neighbours.row(size)
        log = np.log(clusters * size / 0.05)
        assert k == np.ceil(9 * log)
        assert d == np.ceil(max(8, 2 * sigma**2 / (2**0.5 - 2 * sigma) ** 2) * log)


def test_autopsy_rows_meet_every_printed_condition():
    from limelight.papers.xu2022 import autopsy
    from limelight.theory.xu2022 import printed

    for C, size, sigma, d, _, lam, _ in autopsy.ROWS:
        assert printed.softmax(C * size, size, sigma, d, lam).applies


def test_cells_that_were_not_run_leave_a_claim_open():
    columns = {
        "world.layout": np.array(["regions"] * 16, object),
        "world.loud": np.repeat([0.5, 1.5], 8),
    }
    errors = {"att6": 1.0, "conv3": 4.0, "att8": 1.0}
    left = {
        f"left.{name}.{part}": size * np.linspace(0.01, 0.02, 16)
        for name, size in errors.items()
        for part in ("clean", "corrupted")
    }
    table, named = Table(columns | left, tuple(columns)), ("clean", "corrupted", "stuck", "leak")
    claims = {c.name: c for c in paper.figure("patches").claims}
    found = {f"patches.{name}": claims[f"patches.{name}"].decide(table, "") for name in named}
    assert found["patches.clean"].verdict == found["patches.corrupted"].verdict == "holds"
    for name in ("patches.stuck", "patches.leak"):
        assert found[name].verdict == "inconclusive"
        assert "regions at noise 3" in found[name].note


@pytest.mark.slow
def test_training_lowers_the_error():
    base = Denoising(side=4, clusters=2, dimension=6, batch=8, steps=60, images=16)
    table = base.sweep({"network": ["cos-mask"]}, trials=1)
    assert np.isfinite(table["loss"]).all()
    assert np.sqrt(table["mild.clean"][0]) < 1.0
    with pytest.raises(InputError, match="steps = 0"):
        base.sweep({"steps": [0]}, trials=1)


def met(vit=(0.95, 0.90), cnn=(0.95, 0.80), hit=(0.2, 0.3), spared=(0.1, 0.2), seeds=5) -> Table:
    """A made-up table of `networks`: accuracies without and with noise, noise left at the end."""
    rng = np.random.default_rng(0)
    columns = {name: [] for name in ("study.network", "trial", "accuracy", "accuracy.noisy")}
    traces = {f"trace.{p}{e}": [] for p in ("hit", "spared") for e in ("", ".start")}
    for number, (network, right) in enumerate((("vit", vit), ("cnn", cnn))):
        for seed in range(seeds):
            plain, noisy = np.array(right) + 1e-3 * rng.uniform(-1, 1, 2)
            row = (network, seed, plain, noisy)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
            for name in traces:
                end = (hit if "hit" in name else spared)[number]
                traces[name].append(np.array([1.0, end]) * (1 + 1e-3 * rng.uniform(-1, 1)))
    arrays = {name: np.array(values) for name, values in (columns | traces).items()}
    return Table(arrays, ("study.network",), {"scale": "small", "configuration": {"trials": seeds}})


@pytest.mark.parametrize(
    ("options", "fails"),
    [
        ({}, set()),
        ({"vit": (0.95, 0.7)}, {"accuracy"}),
        ({"hit": (0.4, 0.3)}, {"hit"}),
        ({"spared": (0.4, 0.2)}, {"spared"}),
    ],
)
def test_the_claims_on_trained_networks(options, fails):
    figure, table = paper.figure("networks"), met(**options)
    found = {c.name.removeprefix("networks."): c.decide(table, "").verdict for c in figure.claims}
    assert found == {name: "fails" if name in fails else "holds" for name in found}
    _, _, vit, cnn = figure.summary(table)
    assert vit.split()[0] == "ViT"
    assert cnn.split()[0] == "CNN"
    assert len(render(figure.plot(table), "png", 60)) > 2000


def test_an_interval_of_an_accuracy_ends_at_1():
    table = met(vit=(0.999, 0.9), cnn=(0.97, 0.8))
    wide = table["accuracy"].copy()
    wide[table["study.network"] == "cnn"] = [0.9, 0.99, 1.0, 0.98, 1.0]
    table = Table({**table.columns, "accuracy": wide}, ("study.network",), table.manifest)
    found = paper.figure("networks").claims[0].decide(table, "")
    assert found.interval[0] < 0.95 < found.interval[1] == 1.0


def test_an_under_trained_network_decides_nothing():
    figure = paper.figure("networks")
    found = [c.decide(met(cnn=(0.6, 0.1)), "").verdict for c in figure.claims]
    assert found == ["fails", *["inconclusive"] * 3]
