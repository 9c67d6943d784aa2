r"""Figure 5: CIFAR-100 with its cells shuffled. A ViT does not mind, a CNN does.

Every image is cut into cells of $s \times s$ pixels, and one permutation of the cells, the same for
all images, is drawn for each seed; $s = 32$ is the plain image.
"""

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate, Inside
from limelight.experiments.classify import Classify
from limelight.fit.estimates import mean
from limelight.models.cnn import Convolutional
from limelight.models.vit import Vision
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.digits import AGREEING, AXIS, TOLERANCE
from limelight.papers.jelassi2022.fig1a import THRESHOLD
from limelight.papers.jelassi2022.reading import fact
from limelight.plot import (
    TWO_COLUMNS,
    Series,
    caption,
    curves,
    new_figure,
    provenance,
    similarity_maps,
)
from limelight.plot.style import COLOURS, DASHES, INK, label, legend_above, open_frame
from limelight.table import Table
from limelight.train.images import Course
from limelight.worlds.images import Images

CIFAR = "cifar100"
NETWORKS = {"vit": "ViT", "cnn": "CNN"}


def smoke(**options) -> Classify:
    """Digits: a pixel a token, a tiny ViT and a tiny CNN."""
    return Classify(
        Images(unit=False),
        vit=Vision(width=16, heads=2, hidden=32),
        cnn=Convolutional(widths=(8, 16), strides=(1, 2)),
        course=Course(steps=60, batch=32),
        **options,
    )


def small(**options) -> Classify:
    """5,000 images with 20 coarse labels, patches of 4, ten epochs."""
    steps = 10 * (5000 // 128)
    return Classify(
        Images(CIFAR, patch=4, training=5000, testing=2000, coarse=True, augment="flip"),
        vit=Vision(width=64, depth=2, heads=4, hidden=128),
        cnn=Convolutional(widths=(32, 64, 128), strides=(1, 2, 2), norm="group"),
        course=Course(steps, 128, 1e-3, decay=0.05, warmup=steps // 8, floor=0.01, clip=1.0),
        cnn_course=Course(steps, 128, 0.05, optimizer="sgd", decay=5e-4, warmup=steps // 20),
        **options,
    )


def paper(**options) -> Classify:
    """All of CIFAR-100, patches of 4, ten epochs; a ResNet of three stages."""
    epoch = 50_000 // 256
    shared = {"warmup": epoch, "smoothing": 0.1, "precision": "bfloat16", "numbers": "bfloat16"}
    return Classify(
        Images(CIFAR, patch=4, augment="crop"),
        vit=Vision(width=128, depth=5, heads=4, hidden=256, drop_path=0.1),
        cnn=Convolutional((32, 64, 128), (1, 2, 2), blocks=1, norm="group"),
        course=Course(10 * epoch, 256, 1e-3, decay=0.05, floor=0.01, clip=1.0, **shared),
        cnn_course=Course(10 * epoch, 256, 0.1, optimizer="sgd", decay=5e-4, **shared),
        **options,
    )


def shuffles(base: Classify, cells, seeds: int) -> Setup:
    """Both networks on every size of cell."""
    rows = [(network, cell, False) for network in NETWORKS for cell in cells]
    return Setup(base, {AXIS: rows}, seeds, shared=AXIS)


def twins(base: Classify, cell: int, seeds: int) -> Setup:
    """The ViT on plain images, and on shuffled ones with its positions shuffled alike."""
    return Setup(base, {AXIS: [("vit", 0, False), ("vit", cell, True)]}, seeds, shared=AXIS)


# --- what is read off a table -----------------------------------------------------------------


def rows(table: Table, network: str, cell: int) -> Table:
    """The seeds of one network at one size of cell, in order."""
    found = table.rows((table["network"] == network) & (table["world.cell"] == cell))
    return found.rows(np.argsort(found["trial"]))


def cells(table: Table) -> list[int]:
    """Sizes of cells, from small to large; the largest is the plain image."""
    return [int(cell) for cell in table.values("world.cell")]


def change(network: str, of, against):
    """Accuracy at some sizes less that at another, in points, paired by seed."""

    def estimate(table: Table) -> Estimate:
        sizes = cells(table)
        base = rows(table, network, against(sizes))["accuracy"].astype(float)
        chosen = [rows(table, network, cell)["accuracy"] for cell in of(sizes)]
        return mean(100 * (np.mean(chosen, axis=0) - base))

    return estimate


def regained(table: Table) -> Estimate:
    """Locality after the inverse shuffle less before it, at the smallest cells."""
    found = rows(table, "vit", cells(table)[0])
    return mean(found["locality.inverse"].astype(float) - found["locality.raw"])


def twin_losses(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Losses of the plain and of the shuffled twins, seed by seed."""
    order = np.argsort(table["trial"], kind="stable")
    aligned, loss = table["aligned"][order].astype(bool), table["trace.loss"][order].astype(float)
    return loss[~aligned], loss[aligned]


def disagreement(table: Table) -> Estimate:
    """Largest difference of loss between the twins."""
    plain, shuffled = twin_losses(table)
    gap = np.abs(shuffled - plain)[:, :AGREEING]
    return Estimate(float(gap.max()), None, len(gap), f"over {gap.shape[1]} steps of every seed")


CLAIMS = (
    Claim(
        "fig5.vit",
        "The accuracy of a ViT does not depend on the size of the shuffled cells.",
        "accuracy, mean over shuffled sizes less plain, points, paired by seed",
        change("vit", lambda s: s[:-1], lambda s: s[-1]),
        Inside(-2.0, 2.0),
        "jelassi2022, Figure 5",
    ),
    Claim(
        "fig5.cnn-falls",
        "A CNN loses accuracy on small shuffled cells.",
        "accuracy of the plain image less smallest cells, points, paired by seed",
        change("cnn", lambda s: s[-1:], lambda s: s[0]),
        AtLeast(5.0),
        "jelassi2022, Figure 5",
    ),
    Claim(
        "fig5.cnn-recovers",
        "It recovers as the cells grow.",
        "accuracy of the largest shuffled cells less smallest, points, paired by seed",
        change("cnn", lambda s: s[-2:-1], lambda s: s[0]),
        AtLeast(3.0),
        "jelassi2022, Figure 5",
    ),
    Claim(
        "fig5.similarity",
        "Positions learned from shuffled images are local after the inverse shuffle.",
        "locality after the inverse less before it, smallest cells, mean over seeds",
        regained,
        AtLeast(0.1),
        "jelassi2022, Figure 5",
    ),
)
EXACT = Claim(
    "fig5.exact",
    "Training on shuffled images with positions shuffled alike is training on plain ones.",
    f"largest difference of loss over {AGREEING} steps, float32",
    disagreement,
    AtMost(TOLERANCE),
    "jelassi2022, Figure 5; ours",
)


def summary(table: Table) -> list[str]:
    """Accuracy by network and cell, with locality for the ViT."""
    lines = []
    for at, found in table.cells(*AXIS):
        line = f"{NETWORKS[at['network']]}, cells of {at['world.cell']}"
        line += f": accuracy {found['accuracy'].mean():.3f}"
        if at["network"] == "vit":
            raw, inverse = (found[f"locality.{p}"].mean() for p in ("raw", "inverse"))
            line += f", locality {raw:.3f}, after the inverse {inverse:.3f}"
        lines.append(f"{line}, {len(found)} seeds")
    return lines


def draw(table: Table):
    """Accuracy against the size of the cells; the band holds every seed."""
    series = []
    for network, name in NETWORKS.items():
        found = [100 * rows(table, network, cell)["accuracy"] for cell in cells(table)]
        ends = [f.min() for f in found], [f.max() for f in found]
        series.append(Series(name, cells(table), [f.mean() for f in found], *ends))
    *shuffled, plain = cells(table)
    ticks = {side: str(side) for side in shuffled} | {plain: f"{plain}\nplain"}
    figure = curves(series, x_label="side of a shuffled cell, pixels", y_label="test accuracy, %",
                    log_x=True, x_ticks=ticks)  # fmt: skip
    caption(figure, *facts(table, "mean and range"))
    return figure


def draw_similarity(table: Table):
    """How alike learned positions are: as they stand, after the inverse, and of plain images."""
    few, plain = (rows(table, "vit", cell) for cell in (cells(table)[0], cells(table)[-1]))
    panels = [
        ("learned from shuffled images", few["trace.similarity"][0]),
        ("the same after the inverse shuffle", few["trace.inverse"][0]),
        ("learned from plain images", plain["trace.similarity"][0]),
    ]
    figure = similarity_maps(panels, THRESHOLD, "similarity of positions")
    side = cells(table)[0]
    note = f"the first; a map a patch, its similarity to all; cells of {side} x {side} pixels"
    caption(figure, *facts(table, note))
    return figure


def draw_twins(table: Table):
    """The losses of both twins, first seed, and how far apart those of any seed are."""
    plain, shuffled = twin_losses(table)
    step = np.arange(plain.shape[1])
    figure = new_figure(TWO_COLUMNS, 2.2, columns=2)
    left, right = figure.axes
    # The plain line is broad, so that it shows under the other where both are the same.
    left.plot(step, plain[0], color=COLOURS[5], linewidth=3.0, label="plain")
    dashed = {"color": INK, "linewidth": 0.9, "linestyle": DASHES[1]}
    left.plot(step, shuffled[0], label="shuffled, positions alike", **dashed)
    right.plot(step, 1e6 * np.abs(shuffled - plain).max(axis=0), "o", color=COLOURS[0], ms=2.6)
    words = "training loss, one seed", "largest difference over seeds, $10^{-6}$"
    for axes, y_label in zip(figure.axes, words, strict=True):
        open_frame(axes)
        label(axes, "step", y_label)
    legend_above(left, list(left.lines), room=3.0)
    caption(figure, *facts(table, f"left the first, right all; the claim allows {TOLERANCE:g}"))
    return figure


def facts(table: Table, note: str) -> tuple[str, ...]:
    """The line under a figure; "a cell" would be misread here, so trials are seeds."""
    seeds = table.manifest.get("configuration", {}).get("trials")
    many = f"{seeds} seed{'' if seeds == 1 else 's'}: " if seeds else ""
    source = str(fact(table, "world.source")).rpartition("/")[2]
    steps = fact(table, "course.steps")
    told = provenance(scale=table.manifest.get("scale", ""), note=many + note)
    return (*told, f"{source}, {steps} steps")


def sharing(seconds: int, waiting: int) -> str:
    """A measured cost in words."""
    return f"{seconds} s on one H200 beside other figures, {waiting} s of it waiting for programs"


DEPARTURES = (
    "network sizes, optimizers and epochs are ours, the paper's appendix was not at hand; images"
    " are drawn with replacement, with crops and flips, and steps are computed in bfloat16 but for"
    " weights, norms and losses; at smoke scale digits; small scale has 20 coarse labels and 5,000"
    " images"
)
SIZES = (
    "; patches of 4 where the paper has 2, so cells of 4 and more; a ViT of width 128 with 5 blocks"
    " and one CNN, a ResNet of three stages with group norm; 10 epochs"
)

figures = (
    Figure(
        name="fig5",
        title="accuracy against the size of shuffled cells",
        statement="a ViT does not depend on where the patches are, a CNN does",
        setups={
            "smoke": shuffles(smoke(), (1, 4, 8), 2),
            "small": shuffles(small(), (4, 8, 32), 1),
            "paper": shuffles(paper(), (4, 8, 16, 32), 5),
        },
        claims=CLAIMS,
        draws={"accuracy": draw, "similarity": draw_similarity},
        summary=summary,
        reference="Figure 5",
        cost={"paper": sharing(207, 43)},
        departures=DEPARTURES + SIZES,
    ),
    Figure(
        name="fig5-exact",
        title="shuffled images with positions shuffled alike, step by step",
        statement="shuffling patches and positions alike changes nothing",
        setups={
            "smoke": twins(smoke(), 1, 1),
            "small": twins(small(), 4, 2),
            "paper": twins(paper(), 4, 5).overridden(
                {
                    "course.steps": "50",
                    "course.warmup": "25",
                    "course.numbers": "float32",
                    "course.precision": "highest",
                }
            ),
        },
        claims=(EXACT,),
        draws={"losses": draw_twins},
        summary=summary,
        reference="Figure 5",
        cost={"paper": sharing(70, 67)},
        departures=DEPARTURES + SIZES + "; at paper scale 50 steps in full float32",
    ),
)
