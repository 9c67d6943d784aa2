r"""Trained networks beside the fixed filters: does attention beat a CNN on perturbed patches?"""

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtLeast, AtMost, Claim, Estimate, Inside
from limelight.experiments.denoising import Denoising
from limelight.fit import families
from limelight.models.denoiser import NETWORKS
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import facts, legend_over, plain_ticks, tag
from limelight.plot import TWO_COLUMNS, caption, new_figure
from limelight.plot.style import COLOURS, MARKERS, MUTED, TICK, label, open_frame
from limelight.table import Table
from limelight.theory.xu2022.setting import Number

AXIS = ("network", "frame", "loud")
TESTS = {
    "none": "no corruption",
    "mild": r"$\sigma_c$ = 1.5",
    "strong": r"$\sigma_c$ = 3, unseen",
    "scattered": r"scattered, $\sigma_c$ = 1.5",
}


def setup(base: Denoising, rows, seeds: int) -> Setup:
    """One study; a trial is a training seed."""
    return Setup(base, {AXIS: list(rows)}, seeds)


def rows(*networks: str, frame: str = "fresh", loud: Number = 1.5):
    """A row a network."""
    return [(network, frame, loud) for network in networks]


# --- what is read off a table -----------------------------------------------------------------


def cell(table: Table, network: str, frame: str = "fresh", loud: Number = 1.5) -> Table:
    """The seeds of one network."""
    mask = (table["network"] == network) & (table["frame"] == frame)
    return table.rows(mask & np.isclose(table["loud"], loud))


def less(table: Table, tests, factor: Number, frames=("fresh", "fresh")) -> Estimate:
    """Order over seeds: each test is (network, column, network, column)."""
    points = []
    for a, column_a, b, column_b in tests:
        one, two = cell(table, a, frames[0]), cell(table, b, frames[1])
        if not len(one) or not len(two):
            return Estimate(float("nan"), None, 0, f"{a} or {b} not in this table")
        left, right = (float(np.sqrt(r[c].mean())) for r, c in ((one, column_a), (two, column_b)))
        name = f"{a} {column_a} {left:.3f} against {b} {column_b} {right:.3f}"
        squares = one[column_a], two[column_b]
        points.append(families.difference_point(name, *squares, factor, len(tests)))
    return families.below(points)


def fairly(table: Table, tests, factor: Number) -> Estimate:
    """As `less`, but undecided where the CNN is not trained to the level of a linear filter."""
    if len(cell(table, "cnn2")) and len(cell(table, "linear5")):
        cnn, linear = (cell(table, n)["mild.clean"].mean() for n in ("cnn2", "linear5"))
        if np.sqrt(cnn) > 1.1 * np.sqrt(linear):
            return Estimate(float("nan"), None, 0, "the CNN is under-trained: see trained.fair")
    return less(table, tests, factor)


def layout(table: Table, network: str) -> Estimate:
    """Scattered over regions error on clean patches, seed by seed."""
    found = cell(table, network)
    if not len(found):
        return Estimate(float("nan"), None, 0, f"{network} not in this table")
    ratio = np.sqrt(found["scattered.clean"] / found["mild.clean"])
    point = families.mean_point(network, ratio, 1)
    return Estimate(point.value, (point.low, point.high), point.draws)


CLAIMS = (
    Claim(
        "trained.fair",
        "The CNN is trained: clean error within 10 % of the best linear filter's.",
        "cnn2 over 1.1 linear5, minus 1; clean patches, noise 1.5 (if it fails, others stay open)",
        lambda t: less(t, [("cnn2", "mild.clean", "linear5", "mild.clean")], 1.1),
        AtMost(0.0),
        "limelight",
    ),
    Claim(
        "trained.clean",
        "Transformers tolerate perturbation better than CNNs: clean patches.",
        "att over cnn2, minus 1; clean patches, noise 1.5",
        lambda t: fairly(t, [("att", "mild.clean", "cnn2", "mild.clean")], 1.0),
        AtMost(0.0),
        "xu2022, Section 1",
    ),
    Claim(
        "trained.corrupted",
        "Transformers tolerate perturbation better than CNNs: the perturbed patches.",
        "att over cnn2, minus 1; corrupted patches, noise 1.5",
        lambda t: fairly(t, [("att", "mild.corrupted", "cnn2", "mild.corrupted")], 1.0),
        AtMost(0.0),
        "xu2022, Section 1",
    ),
    Claim(
        "trained.cosine",
        "Cosine attention without the diagonal is below 0.6 of the CNN on both populations.",
        "cos-mask over 0.6 cnn2, minus 1; clean and corrupted, noise 1.5",
        lambda t: fairly(
            t,
            [("cos-mask", f"mild.{p}", "cnn2", f"mild.{p}") for p in ("clean", "corrupted")],
            0.6,
        ),
        AtMost(0.0),
        "limelight",
    ),
    Claim(
        "trained.unseen",
        "Transformers tolerate corruption stronger than in training better: clean patches.",
        "att over cnn2, minus 1; clean patches, noise 3",
        lambda t: fairly(t, [("att", "strong.clean", "cnn2", "strong.clean")], 1.0),
        AtMost(0.0),
        "xu2022, Section 1",
    ),
    Claim(
        "trained.unseen_cosine",
        "Cosine attention without the diagonal does not notice it (within 10 %).",
        "cos-mask at noise 3 over 1.1 cos-mask at 1.5, minus 1; clean patches",
        lambda t: less(t, [("cos-mask", "strong.clean", "cos-mask", "mild.clean")], 1.1),
        AtMost(0.0),
        "limelight",
    ),
    Claim(
        "trained.layout_attention",
        "Attention does not depend on the layout: scattered over regions is 1 within 5 %.",
        "ratio of clean errors, att, noise 1.5",
        lambda t: layout(t, "att"),
        Inside(0.95, 1.05),
        "limelight",
    ),
    Claim(
        "trained.layout_local",
        "The CNN does: above 1.25.",
        "ratio of clean errors, cnn2, noise 1.5",
        lambda t: layout(t, "cnn2"),
        AtLeast(1.25),
        "limelight",
    ),
    Claim(
        "trained.frames",
        "The gap needs fresh centres: with fixed ones the CNN falls below 0.6 of itself.",
        "cnn2 with a fixed frame over 0.6 cnn2 with fresh ones, minus 1; clean, noise 1.5",
        lambda t: less(t, [("cnn2", "mild.clean", "cnn2", "mild.clean")], 0.6, ("fixed", "fresh")),
        AtMost(0.0),
        "limelight",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """Every trained network on both populations, one panel a test."""
    cells = list(table.cells(*AXIS))
    order = sorted(cells, key=_place)[::-1]
    seen = [np.sqrt(v).mean() for _, found in cells for c, v in found.columns.items() if "." in c]
    figure = new_figure(TWO_COLUMNS, 1.3 + 0.22 * len(order), columns=len(TESTS))
    for axes, (test, title) in zip(list(figure.axes), TESTS.items(), strict=True):
        open_frame(axes)
        axes.set_xscale("log")
        label(axes, "error / noise put in", "")
        tag(axes, title)
        axes.axvline(1.0, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
        for c, part in enumerate(("clean", "corrupted")):
            if test == "none" and part == "corrupted":
                continue
            for y, (_, found) in enumerate(order):
                values = np.sqrt(found[f"{test}.{part}"])
                look = {"color": COLOURS[c], "marker": MARKERS[c], "markersize": 3.2}
                axes.plot(values, np.full(len(values), y), linestyle="none", alpha=0.85, **look)
        names = [_name(at) for at, _ in order] if axes is figure.axes[0] else [""] * len(order)
        axes.set_yticks(range(len(order)), names, fontsize=TICK)
        axes.set_ylim(-0.6, len(order) - 0.4)
        axes.set_xlim(0.8 * min(seen), max(3, 1.1 * max(seen)))
        plain_ticks(axes, [v for v in (0.1, 0.2, 0.5, 1, 2) if v > 0.8 * min(seen)])
    handles = [
        Line2D(
            [],
            [],
            label=f"{p} patches",
            linestyle="none",
            color=COLOURS[c],
            marker=MARKERS[c],
            markersize=3.6,
        )
        for c, p in enumerate(("clean", "corrupted"))
    ]
    legend_over(figure, handles)
    setup = table.manifest["configuration"]["experiment"]
    grid = f"{setup['side']} x {setup['side']} patches, C = {setup['clusters']}"
    note = f"{grid}, d = {setup['dimension']}, {setup['steps']} steps"
    caption(
        figure,
        *facts(table, note),
        r"trained at $\sigma_c$ = 1.5; one mark a seed; dotted: as noisy as before",
    )
    return figure


def _place(cell) -> tuple:
    """Where a cell's line stands: the main comparison first, then controls."""
    at, _ = cell
    return at["frame"] == "fixed", NETWORKS.index(at["network"])


def _name(at) -> str:
    names = {
        "att": "attention",
        "att-mask": "attention, masked",
        "cos": "cosine",
        "cos-mask": "cosine, masked",
        "linear5": "linear 5 x 5",
    }
    name = names.get(at["network"], f"CNN, {at['network'][3:]} layers")
    return name + (", fixed frame" if at["frame"] == "fixed" else "")


def summary(table: Table) -> list[str]:
    """Clean / corrupted of every test, mean over seeds."""
    lines = []
    for at, found in table.cells(*AXIS):
        root = {c: f"{np.sqrt(v.mean()):.3f}" for c, v in found.columns.items() if "." in c}
        parts = [f"none {root['none.clean']}"]
        for test in ("mild", "strong", "scattered"):
            parts.append(f"{test} {root[f'{test}.clean']}/{root[f'{test}.corrupted']}")
        lines.append(f"{_name(at)} ({len(found)} seeds): " + ", ".join(parts))
    return lines


ALL = ("linear5", "cnn2", "att", "att-mask", "cos", "cos-mask")
figure = Figure(
    name="trained",
    title="trained CNNs against trained attention, both populations",
    statement="transformers are more resilient than CNNs to perturbation of individual patches",
    setups={
        "smoke": setup(
            Denoising(side=6, clusters=3, dimension=16, hidden=32, batch=16, steps=400, images=128),
            rows("linear5", "cnn2", "att", "cos-mask"),
            3,
        ),
        "small": setup(
            Denoising(),
            rows(*ALL) + rows("cnn2", "att", frame="fixed"),
            3,
        ),
        "paper": setup(
            Denoising(side=14, clusters=6, dimension=64, batch=64, steps=2000),
            rows(*ALL, "cnn4") + rows("cnn2", "att", frame="fixed"),
            8,
        ),
    },
    claims=CLAIMS,
    draws={"trained": draw},
    summary=summary,
    reference="Section 1",
    departures="the paper compares trained networks on images only; networks, data and training are"
    " ours; one head, no MLP, no position",
)
