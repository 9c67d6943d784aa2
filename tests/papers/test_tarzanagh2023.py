"""The claims of tarzanagh2023 read what they say, on tables made by hand."""

import numpy as np
import pytest
import scipy.stats

from limelight.claims import Undecided
from limelight.papers import load
from limelight.table import Table

PAPER = load("tarzanagh2023")


def table(figure, read, trials=40):
    """A table of a figure at small scale: every cell's columns from its coordinates."""
    setup = PAPER.figure(figure).setup("small")
    cells = [{}]
    for paths, values in setup.axes.items():
        paths = (paths,) if isinstance(paths, str) else paths
        points = [
            dict(zip(paths, v if isinstance(v, tuple) else (v,), strict=True)) for v in values
        ]
        cells = [cell | point for cell in cells for point in points]
    random, columns = np.random.default_rng(0), {}
    for cell in cells:
        made = {name: np.broadcast_to(v, trials) for name, v in read(cell, random, trials).items()}
        for name, values in {**cell, "trial": np.arange(trials), **made}.items():
            columns.setdefault(name, []).append(np.broadcast_to(values, trials))
    return Table({n: np.concatenate(v) for n, v in columns.items()}, tuple(cells[0]))


def value(figure, name, data):
    claim = next(c for c in PAPER.figure(figure).claims if c.name == name)
    verdict = claim.decide(data, "by hand")
    return verdict.value, verdict.verdict


def test_directions():
    def read(cell, random, n):
        separate, notebook = cell["model.form"] == "separate", cell["rule"] == "notebook"
        return {
            "rho": 0.99,
            "cosine": 0.9995,
            "nuclear.rho": np.where(np.arange(n) == 0, 0.1, 0.985 if separate else 0.8),
            "nuclear.cosine": np.where(np.arange(n) < 10, 0.98, 0.995),
            "nuclear.gap": np.where(np.arange(n) == 0, 0.5, 1e-9),  # one solve is not certified
            "radius": 36.6 if notebook else 600.0,
            "local": np.arange(n) > 0,
            "settled": np.arange(n) > 0,
        }

    data = table("directions", read)
    assert value("directions", "directions.frobenius", data) == (pytest.approx(0.99), "holds")
    assert value("directions", "directions.nuclear", data) == (pytest.approx(0.985), "holds")
    assert value("directions", "directions.not-frobenius", data)[0] == pytest.approx(0.185)
    assert value("directions", "directions.nuclear-cosine", data)[0] == 0.75
    assert value("directions", "directions.local", data)[0] == 1.0
    assert value("directions", "directions.floor", data) == (pytest.approx(36.6), "holds")


def test_phase():
    def read(cell, random, n):
        high = min(1.0, cell["world.dimension"] / 20) if cell["line"] == "d" else 0.5
        if cell["line"] in ("n", "T"):
            high = 1 - {"n": cell["samples"], "T": cell["world.tokens"]}[cell["line"]] / 30
        return {
            "global": np.arange(n) < high * n,
            "feasible": np.arange(n) < n * (cell["samples"] <= cell["world.dimension"]),
            "first_step": np.arange(n) < 4,
        }

    data = table("phase", read)
    assert value("phase", "phase.d", data) == (pytest.approx(0.9), "holds")
    assert value("phase", "phase.n", data)[0] == pytest.approx(-0.5, abs=0.03)
    assert value("phase", "phase.T", data)[1] == "holds"
    worst, verdict = value("phase", "phase.monotone", data)  # a wide interval is worse than a tie
    assert (worst >= 0, verdict) == (True, "inconclusive")
    assert value("phase", "phase.not-sure", data) == (0.5, "holds")
    assert value("phase", "phase.feasible", data) == (1.0, "holds")
    assert value("phase", "phase.overparameterised", data) == (1.0, "holds")
    short = value("phase", "phase.first-step", data)[0]
    assert short == value("phase", "phase.first-step.long", data)[0]
    assert 0.9 < short <= 1


def test_basins_are_void_where_nothing_moves():
    def read(kept):
        def of(cell, random, n):
            share = {"best": 1.0, "found": 0.9, "other": kept}.get(cell["which"])
            if share is None:
                share = 0.4 if cell["radius"] == 1 else 0.9
            usable = np.arange(n) < 60
            return {"usable": usable, "kept": (np.arange(n) < 60 * share) & usable}

        return of

    data = table("basins", read(0.0), trials=80)
    assert value("basins", "basins.found", data)[0] == pytest.approx(0.9)
    assert value("basins", "basins.radius", data) == (pytest.approx(0.5), "holds")
    stuck = table("basins", read(1.0), trials=80)
    assert value("basins", "basins.converse", stuck) == (1.0, "fails")
    assert value("basins", "basins.radius", stuck)[1] == "inconclusive"


def test_path_and_losses():
    def read(cell, random, n):
        c, size = cell["radius"], 1 + np.arange(n) / n
        return {"rho": 1 - size / c, "cosine": 1 - size / c**2, "feasible": True, "left": 0.0}

    data = table("path", read, trials=24)
    assert value("path", "path.rate", data) == (pytest.approx(-1), "holds")
    assert value("path", "path.rate-cosine", data) == (pytest.approx(-2), "holds")

    def keys(cell, random, n):  # the last four solves prove nothing
        gap = np.where(np.arange(n) < n - 4, 1e-9, 0.1)
        short = np.where(gap < 1e-4, 2 / cell["radius"], 0.9)
        return {"nuclear.rho": 1 - short, "nuclear.gap": gap, "feasible": True, "left": 0.0}

    data = table("path-keys", keys, trials=24)
    assert value("path-keys", "path-keys.nuclear", data) == (pytest.approx(1 - 2 / 300), "holds")
    assert value("path-keys", "path-keys.rate", data) == (pytest.approx(-1), "holds")
    off = lambda cell, random, n: {"y": 0.5 if cell["world.level"] == 1 else 9.0}
    data = table("losses", off, trials=1)
    assert value("losses", "losses.offset", data)[1] == "fails"


def test_heads_and_ranks():
    def heads(cell, random, n):
        i = np.arange(n)
        good = np.where(i < 10, 0.97, np.nan)
        return {
            "positive": i >= 30,
            "between": (i >= 10) & (i < 35),
            "finite": False,
            "infeasible": False,
            "cosine.orthogonal": good,
        }

    data = table("heads", heads, trials=100)
    assert value("heads", "heads.kept", data) == (0.1, "holds")
    verdict = value("heads", "heads.orthogonal", data)
    assert verdict == (pytest.approx(0.97), "inconclusive")  # ten survivors are too few

    def ranks(cell, random, n):
        fine = cell["samples"] <= cell["world.dimension"]
        known = np.where(np.arange(n) < 30, 3.0, np.nan) if fine else np.nan
        return {"feasible": fine, "rank": 5.0 if fine else np.nan, "rank.nuclear": known}

    data = table("ranks", ranks)
    assert value("ranks", "ranks.nuclear", data) == (2.0, "holds")
    assert value("ranks", "ranks.dropped", data) == (1.0, "holds")

    # 29 of 40 infeasible: above a half on its own, but not as the worst of all fifteen cells.
    data = table("ranks", lambda cell, random, n: {"feasible": np.arange(n) >= 29})
    (claim,) = (c for c in PAPER.figure("ranks").claims if c.name == "ranks.dropped")
    found = claim.decide(data, "by hand")
    level = 1 - 0.05 / 15
    assert (found.value, found.family, found.verdict) == (29 / 40, 15, "inconclusive")
    z = scipy.stats.norm.ppf((1 + level) / 2)  # Wilson's interval, written out
    middle, half = (
        (29 + z**2 / 2) / (40 + z**2),
        z * np.sqrt(29 * 11 / 40 + z**2 / 4) / (40 + z**2),
    )
    assert found.interval == pytest.approx((middle - half, middle + half))
    assert scipy.stats.binomtest(29, 40).proportion_ci(method="wilson").low > 0.5 > middle - half


def test_a_table_without_an_arm_decides_nothing():
    data = Table({"model.form": np.array(["merged"]), "rule": np.array(["other"])}, ("model.form",))
    with pytest.raises(Undecided):
        PAPER.figure("directions").claims[0].estimate(data)
