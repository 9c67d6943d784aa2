"""Published verdicts computed again from the published tables with NumPy and SciPy alone.

Nothing here uses `limelight.fit`: shares have Clopper and Pearson's interval by the beta law, means
Student's, boundaries are interpolated by hand.
"""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import optimize, special, stats

from limelight.papers import load
from limelight.table import Table

RESULTS = Path(__file__).parents[2] / "results"


def columns(figure: str, *names: str) -> list[np.ndarray]:
    """Columns of a published table as they are stored; lists as rows."""
    table = pq.read_table(RESULTS / figure / "table.parquet", columns=list(names))
    return [np.array(table[name].to_pylist()) for name in names]


def verdict(figure: str, name: str):
    """What our own claim says of the same table."""
    key, _, stem = figure.partition("/")
    [claim] = [claim for claim in load(key).figure(stem).claims if claim.name == name]
    return claim.decide(Table.load(RESULTS / figure / "table.parquet"), "here")


def exact(good: int, n: int, cells: int = 1) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval, its error shared by so many cells."""
    tail = 0.025 / cells
    low = stats.beta.ppf(tail, good, n - good + 1) if good else 0.0
    return low, stats.beta.ppf(1 - tail, good + 1, n - good) if good < n else 1.0


def student(x: np.ndarray, cells: int = 1) -> tuple[float, float, float]:
    """Mean and Student's 95 % interval, its error shared by so many cells."""
    half = stats.t.ppf(1 - 0.025 / cells, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x))
    return x.mean(), x.mean() - half, x.mean() + half


def paired(x: np.ndarray, order: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Differences of two groups of rows, matched by trial."""
    one, two = (x[rows][np.argsort(order[rows])] for rows in (first, second))
    return one.astype(float) - two


# --- li2023 -------------------------------------------------------------------------------------


def test_the_boundary_of_figure_1a_is_far_too_steep():
    """N50 by a logistic curve in log N, maximised by SciPy; points below 4 are the grid's floor."""
    alpha, size, loss = columns("li2023/fig1a", "world.relevant", "train.examples", "test_loss")

    def unlikely(at, x, good):
        p = special.expit(np.exp(at[1]) * (x - at[0])).clip(1e-12, 1 - 1e-12)
        return -(good * np.log(p) + (1 - good) * np.log(1 - p)).sum()

    points = {}
    for a in np.unique(alpha):
        x, good = np.log(size[alpha == a]), loss[alpha == a] < 1e-3
        middle = optimize.minimize(unlikely, (2.5, 1.0), (x, good), method="Nelder-Mead").x[0]
        if middle >= np.log(4):
            points[a] = middle
    slope = np.polyfit(-np.log([*points]), [*points.values()], 1)[0]
    assert len(points) == 7
    assert slope == pytest.approx(verdict("li2023/fig1a", "1a.law").value, rel=0.02)


def test_noisier_tokens_raise_the_loss():
    noise, size, trial, loss = columns(
        "li2023/fig1b-noise", "world.noise", "train.examples", "trial", "test_loss"
    )
    at = size == 16
    found = paired(loss, trial, at & (noise == 0.4), at & (noise == 0.01))
    said = verdict("li2023/fig1b-noise", "1b.noise.loss")
    assert (said.value, said.n) == (pytest.approx(found.mean(), rel=1e-6), len(found))
    assert said.interval == pytest.approx(student(found)[1:], abs=1e-3)  # theirs is a bootstrap


def test_the_loss_inside_the_hypotheses_is_not_always_0():
    rate, error, patterns, loss = columns(
        "li2023/hypotheses", "train.rate", "model.value_error", "world.patterns", "test_loss"
    )
    zero = loss[(rate == 0.5) & np.isclose(error, 0.1) & (patterns == 5)] == 0
    said = verdict("li2023/hypotheses", "T1.zero")
    assert said.value == zero.mean()
    assert said.interval == pytest.approx(exact(zero.sum(), len(zero)))


def test_iterations_do_not_grow_with_the_error_as_printed():
    rate, error, patterns, steps = columns(
        "li2023/hypotheses", "train.rate", "model.value_error", "world.patterns", "steps"
    )
    at = (rate == 0.5) & (patterns == 5)
    first, last = (np.median(steps[at & np.isclose(error, e)]) for e in (0.0, 0.15))
    assert verdict("li2023/hypotheses", "T1.sigma").value == pytest.approx(last / first)


# --- xu2022 -------------------------------------------------------------------------------------


def test_lemma_2_for_two_different_tokens():
    """The printed bound is 2 sqrt(ln(m / (2 delta sigma^2)) / d), in units of sigma^2."""
    world = [f"world.{name}" for name in ("clusters", "size", "sigma", "dimension")]
    cell, product, clusters, size, sigma, d = columns(
        "xu2022/products", "cell", "products.pairs", *world
    )
    kept = product <= 2 * np.sqrt(np.log(clusters * size / (0.1 * sigma**2)) / d)
    good = [int(kept[cell == c].sum()) for c in np.unique(cell)]
    said = verdict("xu2022/products", "lemma2.pairs")
    n = len(cell) // len(good)
    assert (said.value, said.n) == (min(good) / n, n)
    assert said.interval == pytest.approx(exact(min(good), n))


def test_a_vit_loses_more_accuracy_to_noise_than_a_cnn():
    network, trial, plain, noisy = columns(
        "xu2022/networks", "study.network", "trial", "accuracy", "accuracy.noisy"
    )
    lost = 100 * (plain - noisy)
    names = np.unique(network).tolist()
    vit, cnn = (network == next(n for n in names if n.startswith(w)) for w in ("vit", "cnn"))
    said = verdict("xu2022/networks", "networks.accuracy")
    assert (said.value, *said.interval) == pytest.approx(
        student(paired(lost, trial, vit, cnn)), rel=1e-4
    )


# --- edelman2022 --------------------------------------------------------------------------------


def test_half_of_the_trials_do_not_succeed_at_the_corner_of_the_grid():
    [good] = columns("edelman2022/fig2-edge", "success")
    said = verdict("edelman2022/fig2-edge", "A3c.edge")
    assert said.value == good.mean()
    assert said.interval == pytest.approx(exact(int(good.sum()), len(good)))


def test_the_weakest_trend_of_success_in_the_number_of_examples():
    """Cochran and Armitage's statistic, written out."""
    length, size, good = columns("edelman2022/fig2", "world.length", "examples", "success")
    found = []
    for T in np.unique(length):
        m, y = size[length == T].astype(float), good[length == T].astype(float)
        p = y.mean()
        if 0 < p < 1:
            spread = p * (1 - p) * ((m - m.mean()) ** 2).sum()
            found.append(((m - m.mean()) * y).sum() / math.sqrt(spread))
    assert verdict("edelman2022/fig2", "A2a.rises").value == pytest.approx(min(found), rel=1e-3)


def test_not_every_run_learns_a_parity():
    length, accuracy = columns("edelman2022/fig3-runs", "world.length", "accuracy")
    shares = [(accuracy[length == T] > 0.999).mean() for T in (10, 15, 20)]
    assert verdict("edelman2022/fig3-runs", "runs.learned").value == min(shares)


# --- jelassi2022 --------------------------------------------------------------------------------


def test_a_cnn_loses_accuracy_on_small_shuffled_cells():
    network, cell, trial, accuracy = columns(
        "jelassi2022/fig5", "network", "world.cell", "trial", "accuracy"
    )
    at = [(network == "cnn") & (cell == size) for size in (32, 4)]
    said = verdict("jelassi2022/fig5", "fig5.cnn-falls")
    assert (said.value, *said.interval) == pytest.approx(
        student(100 * paired(accuracy, trial, *at)), rel=1e-4
    )


def test_the_error_of_descent_over_that_of_the_linear_rule():
    """The linear rule's error by adding up all marks, one after the other."""
    D, C, q = 16, 4, 0.5
    law = np.array([1.0])
    for _ in range(D - C):
        law = np.convolve(law, [q / 2, 1 - q, q / 2])
    sums = np.arange(-(D - C), D - C + 1) + C
    linear = law[sums < 0].sum() + law[sums == 0].sum()
    stop, error, tokens, density = columns(
        "jelassi2022/phase-16", "stop", "trace.error", "world.tokens", "world.density"
    )
    assert {*tokens.tolist()} == {D}
    assert {*density.tolist()} == {q}
    manifest = json.loads((RESULTS / "jelassi2022/phase-16/manifest.json").read_text())
    every = manifest["configuration"]["experiment"]["descent"]["every"]
    found = error[np.arange(len(stop)), (stop / every).astype(int)] / linear
    said = verdict("jelassi2022/phase-16", "thm4.2-error.n16.d16")
    assert (said.value, said.n) == (pytest.approx(np.median(found), rel=1e-5), len(found))


# --- zhang2024 ----------------------------------------------------------------------------------


def test_plateaus_of_a_white_covariance_need_a_small_start_alone():
    form, scale, spread, examples, count = columns(
        "zhang2024/phase", "model.form", "model.scale", "spread", "examples", "count"
    )
    at = (form == "separate") & (spread == 0) & (scale == scale.min())
    levels = count[at].max()
    shares = [(count[at & (examples == N)] == levels).mean() for N in np.unique(examples)]
    assert verdict("zhang2024/phase", "phase.white").value == pytest.approx(min(shares))


# --- geshkovski2023 -----------------------------------------------------------------------------


def test_the_distance_from_equal_angles_falls_as_the_root_of_the_dimension():
    """SciPy's regression within every draw; the interval spans those of strengths up to 4."""
    d, beta, trial, apart = columns(
        "geshkovski2023/concentration", "world.dimension", "model.strength", "trial", "apart"
    )
    dims, strengths, ends = np.unique(d[d >= 128]), np.unique(beta[beta <= 4]), []
    for b in strengths:
        cells = [(beta == b) & (d == D) for D in dims]
        y = np.log([apart[at][np.argsort(trial[at])] for at in cells])
        slopes = stats.linregress(np.log(dims)[:, None], y, axis=0).slope
        ends.append(student(slopes, len(strengths)))
    said = verdict("geshkovski2023/concentration", "concentration.rate")
    assert said.interval == pytest.approx((min(e[1] for e in ends), max(e[2] for e in ends)))


def test_clusters_on_the_circle_beside_the_root_of_the_strength():
    beta, clusters = columns("geshkovski2023/circle", "model.strength", "trace.clusters")
    times = np.concatenate([[0], np.logspace(0, 3, clusters.shape[1] - 1)])
    look = int(np.argmin(abs(times - 500)))
    off = [student(np.sqrt(b) - clusters[beta == b][:, look], 4) for b in (4, 9, 16, 25)]
    said = verdict("geshkovski2023/circle", "circle.root-later")
    assert (said.value, *said.interval) == pytest.approx(max(off, key=lambda one: one[2]))


def test_leaders_are_vertices_in_nearly_all_draws():
    value, n, vertex = columns("geshkovski2023/geometry", "model.value", "world.tokens", "vertices")
    cells = [vertex[(value == v) & (n == m)] for v in ("plane", "space") for m in (20, 40, 100)]
    fewest = min(cells, key=np.sum)
    said = verdict("geshkovski2023/geometry", "geometry.leaders")
    assert said.interval == pytest.approx(exact(int(fewest.sum()), len(fewest), len(cells)))
