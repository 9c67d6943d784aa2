r"""Rank collapse: rows become equal doubly exponentially, unless there are skip connections."""

import numpy as np

from limelight.claims import Above, AtLeast, AtMost, Estimate, Inside, Undecided
from limelight.experiments.rank_collapse import RankCollapse
from limelight.fit import tabulate
from limelight.fit.estimates import hull, lowest, median, together
from limelight.models.attention_stack import AttentionStack
from limelight.papers.geshkovski2023.reading import COLLAPSE, average, rate
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Bundle, Panel, Picture, Series
from limelight.table import Table
from limelight.theory.geshkovski2023.residuals import known_up_to

SIZE = ("world.tokens", "world.dimension")
RUN = ("model.skip", "model.mlp", "model.shared")
VARIANTS = {
    "pure": (0.0, False, False),
    "perceptrons": (0.0, True, False),
    "skips": (1.0, False, False),
    "both": (1.0, True, False),
    "shared": (0.0, False, True),
}
#: Residuals below this have lost their digits; an underflow counts as the other one.
LEAST, UNDERFLOW = np.log(1e-290), np.log(1e-300)


def variant(table: Table, name: str) -> Table:
    """The rows of a variant."""
    skip, mlp, shared = VARIANTS[name]
    rows = table.where(model__skip=skip, model__mlp=mlp, model__shared=shared)
    if not len(rows):
        raise Undecided("not in this table")
    return rows.rows(np.argsort(rows["trial"], kind="stable"))


def cells(rows: Table):
    """Cells of sizes, heads and scales, in words."""
    for at, part in rows.cells(*SIZE, "model.heads", "world.scale"):
        words = f"n = {at['world.tokens']}, H = {at['model.heads']}, c = {at['world.scale']:g}"
        yield words, part


@claim(
    "collapse.cubic",
    "Pure attention cubes the residual: its logarithm triples from layer to layer.",
    Inside(2.75, 3.25),
    at=f"{COLLAPSE}, the theorem for one head",
    fixed="pilot",
)
def cubic(table: Table) -> Estimate:
    """Median ratio of successive differences of ln|res|, layers 4 to 6, one head; all cells."""
    found = []
    for words, rows in cells(variant(table, "pure").where(model__heads=1)):
        path = rows["trace.residual"].astype(float)
        steps = np.diff(path, axis=1)
        for layer in (4, 5, 6):
            if layer + 1 > steps.shape[1]:
                raise Undecided("too few layers")
            good = path[:, layer] > LEAST
            if good.sum() > len(rows) / 2:
                ratio = steps[good, layer - 1] / steps[good, layer - 2]
                found.append((f"{words}, layer {layer}", ratio))
    return hull(together(found, median), 3.0, f"{len(found)} cells")


@claim(
    "collapse.skip",
    "Skip connections slow collapse: 24 layers with them leave over a million times the residual of"
    " 6 without.",
    Above(6.0),
    at=f"limelight; {COLLAPSE} show that skips can prevent it",
    fixed="pilot",
)
def skip(table: Table) -> Estimate:
    """Mean log10 of the relative residual, skips at the last layer less pure at 6; lowest cell."""
    found = []
    pure = dict(cells(variant(table, "pure")))
    for words, rows in cells(variant(table, "skips")):
        far = rows["trace.relative"][:, -1].astype(float)
        near = np.maximum(pure[words]["trace.relative"][:, 3].astype(float), UNDERFLOW)
        found.append((words, (far - near) / np.log(10)))
    return lowest(together(found, average))


@claim(
    "collapse.mlp",
    "Perceptrons do not prevent collapse: after six layers without skips tokens are alike (mean"
    " cosine .99) in nine of ten draws or more.",
    AtLeast(0.9),
    at=f"limelight, for {COLLAPSE}, the theorem with perceptrons",
    fixed="pilot",
)
def perceptrons(table: Table) -> Estimate:
    """Share of draws with a mean cosine of at least .99 after six layers; lowest cell."""
    found = cells(variant(table, "perceptrons"))
    return lowest(together(((words, rows["similarity"] >= 0.99) for words, rows in found), rate))


@claim(
    "collapse.bound",
    "The residual stays below the bound, whose proof leaves gaps.",
    AtMost(1.0),
    at=f"{COLLAPSE}, the theorem for one and several heads",
    fixed="pilot",
)
def bound(table: Table) -> Estimate:
    """Largest residual over its bound, one and two layers, pure; ends: what its centre leaves."""
    found = []
    rows = variant(table, "pure")
    for at, part in rows.cells("world.tokens"):
        k = np.log10(known_up_to(int(at["world.tokens"])))
        for layers in (1, 2):
            top = float(part[f"over.{layers}"].max())
            found.append((top + 3**layers * k, top, top - k))
    if not found:
        raise Undecided("not in this table")
    high, value, low = (10.0**part for part in found[np.argmax([one[0] for one in found])])
    outside = (rows["range"] > 1.256).mean()
    note = f"{100 * outside:.0f} % of the draws lie outside the proof's range; largest Gamma"
    note += (
        f" {rows['gamma'].max():.2f}; the bound says anything in {(rows['grip'] < 1).mean():.0%}"
    )
    return Estimate(value, (low, high), len(rows), note, level=None)


@claim(
    "collapse.paths",
    "The output is the sum over all paths through heads and skips.",
    AtMost(1e-10),
    at=f"{COLLAPSE}, the decomposition into paths",
    kind="identity",
    fixed="pilot",
)
def paths(table: Table) -> Estimate:
    """Largest relative distance of the sum over all paths of three layers from their output."""
    rows = table.where(model__mlp=False)
    return Estimate(float(rows["paths"].max()), None, len(rows))


def draw(table: Table) -> Picture:
    """The residual by layer, without and with skip connections."""
    scale = table.values("world.scale")[-1]
    rows = table.where(model__heads=1, world__scale=scale)
    n = rows.values("world.tokens")[0]
    rows = rows.where(world__tokens=n)
    path = variant(rows, "pure")["trace.residual"].astype(float) / np.log(10)
    path = np.where(path > LEAST / np.log(10), path, np.nan)
    layers = np.arange(path.shape[1])
    cube = [path[0, 3] + (path[0, 3] - path[0, 2]) * (3**k - 1) / 2 * 3 for k in range(3)]
    left = [Bundle("draws", layers, path[:24]), Series("tripling", layers[3:6], cube, colour="ink")]
    right = []
    for name, run in list(VARIANTS.items())[:4]:
        if run not in {tuple(at.values()) for at, _ in rows.cells(*RUN)}:
            continue
        far = variant(rows, name)["trace.relative"].astype(float) / np.log(10)
        middle, low, high = (np.percentile(far, q, axis=0) for q in (50, 5, 95))
        at = 2 * np.arange(far.shape[1])
        right.append(Series(name, at, *(np.maximum(part, -18) for part in (middle, low, high))))
    return Picture(
        [
            Panel("pure attention", left, r"$\log_{10}$ of the residual", "layer"),
            Panel("all four", right, Axis(r"$\log_{10}$, relative", limits=(-17, 0.5)), "layer"),
        ],
        width=TWO_COLUMNS,
        height=2.9,
        note=(
            f"n = {n}, one head, c = {scale:g}",
            "right: medians, 5 to 95 %; perceptrons end in rounding",
        ),
    )


def summary(table: Table) -> list[str]:
    """Residuals and bounds by variant."""
    last = lambda rows: np.median(rows["trace.relative"][:, -1]) / np.log(10)
    columns = {
        "similarity, 6 layers": lambda rows: np.median(rows["similarity"]),
        "log10 relative residual, last": last,
        "over bound, 1": lambda rows: 10 ** rows["over.1"].max(),
        "paths": lambda rows: rows["paths"].max(),
    }
    by = {"model.skip": "skip", "model.mlp": "mlp", "model.shared": "shared weights"}
    by |= {"world.tokens": "n", "model.heads": "H"}
    return tabulate(table, by, columns)


figure = Figure(
    statement="attention alone makes all tokens equal, doubly exponentially in the depth; skip"
    " connections keep it from doing so",
    trial=RankCollapse(model=AttentionStack(layers=24)),
    grid={
        RUN: list(VARIANTS.values()),
        SIZE: [(16, 8), (32, 16), (64, 32)],
        "model.heads": [1, 4],
        "world.scale": [0.5, 1.0],
    },
    trials=512,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={
                RUN: [(0.0, False, False)],
                SIZE: [(8, 4)],
                "model.heads": [1],
                "world.scale": [0.5],
            },
            settings={"model.layers": 8, "paths": 2},
        ),
        small=Scale(trials=64, grid={SIZE: [(16, 8)]}),
    ),
    claims=(cubic, skip, perceptrons, bound, paths),
    pictures={"collapse": draw},
    summary=summary,
    reference=f"{COLLAPSE}, the theorems on rank collapse",
    sizes="ours, 512 draws per cell: the paper shows pretrained networks; 196 tokens, as in a ViT,"
    " have a table of their own",
    departures="fresh Gaussian weights, every head of the whole width, no norms between layers."
    " Pure attention and skips are followed in residual coordinates, which reach 1e-290; ratios of"
    " residuals below that are left out. The residual is centred by mean or median: the least is"
    " within 2 - 2/n of it",
    shared=RUN,
)
