r"""Equal angles and two clusters: all tokens as one number, as a flow and layer by layer."""

import numpy as np

from limelight.claims import AtMost, Estimate, Undecided
from limelight.experiments.angle_flow import AngleFlow
from limelight.fit import tabulate
from limelight.fit.estimates import largest
from limelight.models.sphere_attention import SphereAttention
from limelight.papers.geshkovski2023.reading import SPHERE, over
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Guide, Panel, Picture, Points
from limelight.table import Table
from limelight.theory.geshkovski2023.angles import equal_layer, merge_law, merge_time
from limelight.worlds.sphere import Sphere

RUN = ("world.start", "model.normalise", "layers", "model.skip", "model.step")
CELL = (*RUN, "world.tokens", "model.strength", "world.cosine")
#: Skip and step of the layers.
SKIPS = ((0.0, 1.0), (1.0, 0.1), (1.0, 0.5), (1.0, 1.0))
#: The start of the exponents of merging, and the strengths between which they are read.
STARTS, BETWEEN = (0.0, -0.5, 0.5), (16.0, 25.0)


def parts(table: Table):
    """Every cell in words."""
    for at, rows in over(table).cells():
        kind = "layers" if at["layers"] else at["model.normalise"]
        words = f"{at['world.start']}, {kind}, n = {at['world.tokens']}"
        words += f", strength {at['model.strength']:g}, cosine {at['world.cosine']:g}"
        yield at, f"{words}, skip {at['model.skip']:g}, step {at['model.step']:g}", rows


@claim(
    "reduction.flow",
    "Tokens at equal angles, or in two groups, follow one number.",
    AtMost(1e-6),
    at=f"limelight; equal angles are {SPHERE}'s",
    kind="identity",
    fixed="pilot",
)
def flow(table: Table) -> Estimate:
    """Largest distance of a cosine from its law, or of its end from the quadrature."""
    found = {
        words: max(rows["apart"].max(), rows["landed"].max())
        for at, words, rows in parts(table)
        if not at["layers"]
    }
    worst = [*found][np.argmax([*found.values()])]
    return Estimate(found[worst], None, len(found), f"at {worst}")


@claim(
    "reduction.layers",
    "Layers on equal angles follow one number, with a skip connection or without.",
    AtMost(1e-12),
    kind="identity",
    fixed="pilot",
)
def layers(table: Table) -> Estimate:
    """Largest distance of a cosine from the map of one number over twelve layers."""
    found = {words: rows["apart"].max() for at, words, rows in parts(table) if at["layers"]}
    worst = [*found][np.argmax([*found.values()])]
    return Estimate(found[worst], None, len(found), f"at {worst}")


@claim(
    "reduction.powers",
    "Without skip connections a layer cubes what is left; with them it only divides it.",
    AtMost(0.01),
    kind="formula",
    fixed="pilot",
)
def powers(table: Table) -> Estimate:
    """Largest relative distance of u'/u³ from (β/n)², and of u'/u from (1+η)⁻², at u < 1e-6."""
    found = {words: rows["power"].max() for at, words, rows in parts(table) if at["layers"]}
    late = [words for words, power in found.items() if np.isnan(power)]
    known = {words: power for words, power in found.items() if words not in late}
    if not known:
        raise Undecided("no layers in this table")
    worst = max(known, key=lambda words: known[words])
    note = f"at {worst}; {len(late)} of {len(found)} cells need over a million layers"
    return Estimate(known[worst], None, len(known), "; ".join([note, *late]))


@claim(
    "reduction.merge",
    "Two clusters wait for a time exponential in the strength: exponent 1 - cosine.",
    AtMost(0.01),
    at=f"limelight; that the time is exponential is {SPHERE}'s",
    kind="formula",
)
def merge(table: Table) -> Estimate:
    """Largest distance of the slope of ln(βT) between β = 16 and 25 from 1 - γ₀."""
    found = {}
    for start in STARTS:
        low, high = (np.log(b * merge_time(b, start)) for b in BETWEEN)
        slope = float((high - low) / (BETWEEN[1] - BETWEEN[0]))
        found[f"start {start:g}"] = abs(slope - (1 - start))
    return largest(found)


def draw(table: Table) -> Picture:
    """What is left of the angle by layer, and how long two clusters wait."""
    depth = np.arange(13)
    left = []
    for n, beta, skip in ((16, 2.0, 0.0), (196, 8.0, 0.0), (16, 2.0, 1.0)):
        words = rf"$\beta = {beta:g}$, {'skip' if skip else 'no skip'}"
        u = [1.0]
        while len(u) < len(depth):
            u.append(float(equal_layer(u[-1], n, beta, skip)))
        left.append((f"n = {n}, {words}", depth, np.where(np.array(u) > 1e-30, u, np.nan)))
    fine, right = np.linspace(1.0, 16.0, 31), []
    for start in STARTS:
        label = rf"two clusters, $\gamma_0 = {start:g}$"
        seen = fine[::5]
        right.append(Points(label, seen, [merge_time(b, start) for b in seen]))
        right.append(Guide(label, fine, merge_law(fine, start)))
    return Picture(
        [
            Panel("layers", left, Axis("$1 -$ cosine", log=True, limits=(1e-26, 5)), "layer"),
            Panel("two clusters", right, Axis("time to merge", log=True), r"strength $\beta$"),
        ],
        width=TWO_COLUMNS,
        height=2.9,
        note=("from orthonormal tokens", "marks: exact; lines: Laplace's law"),
    )


def summary(table: Table) -> list[str]:
    """The largest distances by kind of run."""
    columns = {
        "apart": lambda rows: rows["apart"].max(),
        "landed": lambda rows: rows["landed"].max(),
        "drift": lambda rows: rows["drift"].max(),
        "energy": lambda rows: rows["energy"].min(),
    }
    by = {"world.start": "start", "model.normalise": "weights", "layers": "layers"}
    by |= {"world.tokens": "n"}
    return tabulate(table, by, columns, title="tokens beside one number")


FLOWS = [
    ("equiangular", "softmax", 0, 1.0, 1.0),
    ("equiangular", "sum", 0, 1.0, 1.0),
    ("groups", "softmax", 0, 1.0, 1.0),
]
LAYERS = [("equiangular", "softmax", 12, *pair) for pair in SKIPS]


def grid(runs: list[tuple], tokens, strengths) -> list[tuple]:
    """Every run at every size and strength, from three cosines: half the least one, 0 and .5."""
    return [
        (*run, n, beta, cosine)
        for run in runs
        for n in tokens
        for beta in strengths
        for cosine in (-0.5 / (n - 1), 0.0, 0.5)
    ]


figure = Figure(
    statement="do tokens at equal angles, or in two groups, obey one exact number?",
    trial=AngleFlow(Sphere(start="equiangular", dimension=1024), SphereAttention(), looks=16),
    grid={
        CELL: [
            *grid(FLOWS, (8, 32), (0.0, 1.0, 2.0, 4.0, 9.0, 16.0)),
            *grid(FLOWS, (128,), (0.0, 1.0, 2.0, 4.0, 9.0)),
            *grid(LAYERS, (8, 32, 128, 1024), (0.0, 1.0, 2.0, 4.0, 9.0, 16.0)),
        ]
    },
    trials=1,
    scales=scales(
        smoke=Scale(
            grid={CELL: [(*FLOWS[0], 8, beta, 0.0) for beta in (1.0, 4.0)]}, settings={"looks": 4}
        ),
        small=Scale(grid={CELL: grid([*FLOWS, *LAYERS], (8, 32), (0.0, 1.0, 4.0, 9.0))}),
    ),
    claims=(flow, layers, powers, merge),
    pictures={"reduction": draw},
    summary=summary,
    reference="limelight",
    sizes="ours: layers of up to 1,024 tokens and strengths up to 16; flows of up to 128 tokens,"
    " with a strength of 16 of up to 32. Flows of 1,024 tokens have a table of their own",
    departures="ours, derived; nothing is random",
)
