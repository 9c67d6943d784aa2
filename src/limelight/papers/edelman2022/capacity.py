r"""Capacity against length: constructed, trained and real heads, and the gap of the trained ones.

Constructed heads compute the rule exactly at any length, with norms that grow like $\ln T$; trained
ones find their own norms; real ones are those of a vision transformer. The bound is the explicit
log covering number of a single head; what comes after the head is not covered by it.
"""

import json
from functools import cache
from importlib.resources import files

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, AtMost, Estimate
from limelight.experiments.representable import Representable
from limelight.fit import estimates
from limelight.models import Constructed, Sequence
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.table import Table
from limelight.theory.edelman2022 import HeadNorms, head_explicit
from limelight.train.minibatch import Train
from limelight.worlds import SparseBoolean

LENGTH, EXAMPLES = "world.length", "train.examples"
RESOLUTION = 1.0
NAMES = {"built": "constructed", "tuned": "trained from the construction", "learned": "trained"}
#: Inputs and outputs of the value map of each kind of head; its query-key map is square.
WIDTHS = {"built": (4, 1), "tuned": (4, 1), "learned": (32, 32)}


def with_bounds(table: Table) -> Table:
    """The table with the explicit bound of every trial's heads at their own length."""

    def make() -> Table:
        bounds = {f"{name}.bound": bounds_of(table, name) for name in NAMES}
        return Table({**table.columns, **bounds}, table.axes, table.manifest)

    return table.cached("bounds", make)


def bounds_of(table: Table, name: str) -> np.ndarray:
    """The explicit bound of one kind of head, one per trial, [CLS] counted as a token."""
    start, examples = f"{name}.", table.setting(EXAMPLES)
    sizes = {k.removeprefix(start): v for k, v in table.columns.items() if k.startswith(start)}
    heads = (
        HeadNorms.of_measures({key: float(v[i]) for key, v in sizes.items()}, *WIDTHS[name])
        for i in range(len(table))
    )
    pairs = zip(heads, table[LENGTH], strict=True)
    return np.array([bound_of(head, examples, int(length) + 1) for head, length in pairs])


def bound_of(head: HeadNorms, examples: int, tokens: int) -> float:
    """The explicit log covering number of one head."""
    return float(head_explicit(head, RESOLUTION, examples=examples, tokens=tokens))


@cache
def real_heads() -> tuple[HeadNorms, ...]:
    """The heads of a DeiT-tiny export, as `limelight bound edelman2022 FILE --json` wrote them."""
    text = (
        files("limelight.papers.edelman2022").joinpath("deit_tiny.json").read_text(encoding="utf-8")
    )
    heads = [head for block in json.loads(text)["blocks"] for head in block["heads"]]
    return tuple(HeadNorms.of_report(head["norms"]) for head in heads)


@claim(
    "capacity.exact",
    "A construction is right on every fresh example at every length (its certificate proves all"
    " inputs).",
    AtLeast(1.0),
    at="edelman2022, Proposition 4.7 and Lemmas B.3, B.5, B.6",
    kind="identity",
)
def exact(table: Table) -> Estimate:
    """Smallest accuracy of a construction on fresh examples."""
    return Estimate(float(table["built.accuracy"].min()), None, len(table))


@claim(
    "capacity.log",
    "At fixed norms the capacity of a head grows no faster than ln(mT).",
    AtMost(1.0),
    at="edelman2022, Corollary 4.4",
    kind="formula",
)
def growth(table: Table) -> Estimate:
    """Growth of the explicit bound over that of ln(mT), largest over the real heads."""
    lengths, m = table.values(LENGTH), table.setting(EXAMPLES)
    first, last = int(lengths[0]) + 1, 1000 * (int(lengths[-1]) + 1)
    order = np.log(m * last) / np.log(m * first)
    ratios = [bound_of(h, m, last) / bound_of(h, m, first) / order for h in real_heads()]
    note = f"{len(ratios)} heads, T = {first} against {last}; no trial"
    return Estimate(float(max(ratios)), None, 0, note)


def summary(table: Table) -> list[str]:
    """Bound, accuracy and gap by length."""
    return fit.tabulate(
        with_bounds(table),
        {LENGTH: "T"},
        {
            "bound, constructed": lambda rows: np.median(rows["built.bound"]),
            "bound, trained": lambda rows: np.median(rows["learned.bound"]),
            "trained accuracy": "learned.accuracy",
            "gap": "learned.gap",
        },
        title="bound: log covering number of a head, median over trials; the rest are means",
    )


def draw(table: Table) -> plot.Picture:
    """The bound of constructed, trained and real heads against T, and the measured gap."""
    table, m = with_bounds(table), table.setting(EXAMPLES)
    over = lambda name, y: plot.over_cells(table, LENGTH, y, name=NAMES[name])
    quartiles = lambda column: lambda rows: np.quantile(rows[column], [0.5, 0.25, 0.75])
    wrong = lambda name: (
        lambda rows: estimates.mean(1.0 - rows[f"{name}.accuracy"], method="bootstrap", least=2)
    )
    lengths = table.values(LENGTH)
    real = np.array([[bound_of(h, m, int(T) + 1) for T in lengths] for h in real_heads()])
    bounds = [line for name in NAMES for line in over(name, quartiles(f"{name}.bound"))]
    bounds.append(
        plot.Series("DeiT-tiny, 36 heads", lengths, np.median(real, 0), real.min(0), real.max(0))
    )
    gaps = [line for name in ("tuned", "learned") for line in over(name, f"{name}.gap")]
    errors = [line for name in NAMES for line in over(name, wrong(name))]
    return plot.panels(
        [
            plot.Panel(
                "capacity of one head",
                bounds,
                plot.Axis(r"$\ln \mathcal{N}$ at resolution 1", log=True),
            ),
            plot.Panel("measured gap", gaps, "test minus training loss"),
            plot.Panel("measured error", errors, "share of wrong labels"),
        ],
        x_label="bits $T$",
        log_x=True,
        columns=3,
        height=2.2,
        note=(
            f"$m$ = {m}",
            "left: medians and quartiles (DeiT: range); others: means and 95 % intervals",
            "trained positions enter through token lengths only",
            "the network behind the head is not covered",
        ),
    )


figure = Figure(
    statement=(
        "does the capacity of heads of bounded norms grow like the logarithm of the length, and do"
        " the norms of heads that compute a sparse function grow as slowly?"
    ),
    trial=Representable(
        world=SparseBoolean(length=8, sparsity=3, rule="and"),
        built=Constructed(mapping="trainable"),
        learned=Sequence(width=32, heads=1, hidden=32),
        train=Train(
            steps=1000,
            batch=32,
            rate=1e-2,
            examples=100,
            loss="logistic",
            optimizer="adam",
            every=500,
        ),
    ),
    grid={LENGTH: [8, 16, 32, 64, 128, 256, 512]},
    trials=50,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={LENGTH: [8]},
            settings={"train.steps": 20, "train.every": 10, EXAMPLES: 50},
        ),
        small=Scale(
            trials=24,
            grid={LENGTH: [8, 16, 32, 64, 128]},
            settings={"train.steps": 400, "train.every": 200},
        ),
    ),
    shared=(LENGTH,),
    claims=(exact, growth),
    pictures={"capacity": draw},
    summary=summary,
    reference="limelight; edelman2022, Section 4",
    departures=(
        "the paper has no such figure; the network is the bounded-norm one of its constructions"
    ),
)
