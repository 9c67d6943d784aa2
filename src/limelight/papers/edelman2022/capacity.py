r"""Capacity against length: constructed, trained and real heads, and the gap of the trained ones.

Constructed heads compute the rule exactly at any length, with norms that grow like $\ln T$; trained
ones find their own norms; real ones are those of a vision transformer. The bound is the explicit
log covering number of a single head; what lies behind the head is not covered by it.
"""

import json
from functools import cache
from importlib.resources import files

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments.representable import Representable
from limelight.models import Constructed, Sequence
from limelight.papers.base import Figure, Setup
from limelight.plot import Axis, Panel, Series, caption, panels, provenance
from limelight.table import Table
from limelight.theory.covering import LinearMap
from limelight.theory.edelman2022 import HeadNorms, head_explicit
from limelight.train.minibatch import Train
from limelight.worlds import SparseBoolean

AXIS = "world.length"
RESOLUTION = 1.0
NAMES = {"built": "constructed", "tuned": "trained from the construction", "learned": "trained"}


def setup(lengths: list[int], trials: int, steps: int, examples: int) -> Setup:
    """One study over lengths."""
    experiment = Representable(
        world=SparseBoolean(length=lengths[0], sparsity=3, rule="and"),
        built=Constructed(mapping="trainable"),
        learned=Sequence(width=32, heads=1, hidden=32),
        train=Train(
            steps=steps,
            batch=32,
            rate=1e-2,
            examples=examples,
            loss="logistic",
            optimizer="adam",
            every=steps // 2,
        ),
    )
    return Setup(experiment, {AXIS: lengths}, trials, shared=(AXIS,))


# --- what is read off a table -----------------------------------------------------------------


def examples_of(table: Table) -> int:
    """Training examples of the study."""
    return int(table.manifest["configuration"]["experiment"]["train"]["examples"])


def bounds(table: Table, name: str) -> np.ndarray:
    """The explicit bound of every trial's head at its own length, [CLS] counted."""
    width = {"built": (4, 1), "tuned": (4, 1), "learned": (32, 32)}[name]
    out = []
    for i in range(len(table)):
        get = lambda key, i=i: float(table[f"{name}.{key}"][i])
        head = HeadNorms(
            query_key=_map(get, "query_key", width[0], width[0]),
            value=_map(get, "value", width[1], width[0]),
            token_norm=get("token"),
            query_norm=get("query_token"),
            query_side=_map(get, "query_side", width[0], width[0]),
        )
        out.append(_bound(head, examples_of(table), int(table[AXIS][i]) + 1))
    return np.array(out)


def _map(get, name: str, outputs: int, inputs: int) -> LinearMap:
    spectral = get("value.spectral" if name == "value" else "query_key.spectral")
    return LinearMap(outputs, get(f"{name}.largest"), get(f"{name}.total"), spectral, None, inputs)


def _bound(head: HeadNorms, examples: int, tokens: int) -> float:
    return float(head_explicit(head, RESOLUTION, examples=examples, tokens=tokens))


@cache
def real_heads() -> tuple[HeadNorms, ...]:
    """The heads of a DeiT-tiny export, as `limelight bound edelman2022 FILE --json` wrote them."""
    text = files("limelight.papers.edelman2022").joinpath("deit_tiny.json").read_text()
    return tuple(
        HeadNorms(
            LinearMap(**norms["query_key"]),
            LinearMap(**norms["value"]),
            norms["token"],
            norms["query_token"],
            query_side=LinearMap(**norms["query_side"]),
        )
        for block in json.loads(text)["blocks"]
        for norms in (head["norms"] for head in block["heads"])
    )


def exact(table: Table) -> Estimate:
    """Smallest accuracy of a construction."""
    return Estimate(float(table["built.accuracy"].min()), None, len(table))


def growth(table: Table) -> Estimate:
    """Largest growth of a head's bound over the growth of ln(mT), longest against shortest."""
    lengths, m = table.values(AXIS), examples_of(table)
    first, last = int(lengths[0]) + 1, 1000 * (int(lengths[-1]) + 1)
    order = np.log(m * last) / np.log(m * first)
    ratios = [_bound(h, m, last) / _bound(h, m, first) / order for h in real_heads()]
    return Estimate(float(max(ratios)), None, len(ratios), f"T = {first} against {last}")


CLAIMS = (
    Claim(
        "capacity.exact",
        "A construction is right on every input at every length.",
        "smallest accuracy of a construction on fresh examples",
        exact,
        AtLeast(1.0),
        "edelman2022, Section 4 (sparse functions)",
    ),
    Claim(
        "capacity.log",
        "At fixed norms the capacity of a head grows no faster than ln(mT).",
        "growth of the explicit bound over that of ln(mT), largest over the real heads",
        growth,
        AtMost(1.0),
        "edelman2022, Corollary 4.4",
    ),
)


def summary(table: Table) -> list[str]:
    """Bound, accuracy and gap by length."""
    lines = []
    values = {name: bounds(table, name) for name in NAMES}
    for length in table.values(AXIS):
        here = table[AXIS] == length
        parts = [f"{NAMES[n]} {np.median(values[n][here]):.2e}" for n in ("built", "learned")]
        accuracy = table["learned.accuracy"][here].mean()
        gap = table["learned.gap"][here].mean()
        lines.append(
            f"T = {length}: log covering number {', '.join(parts)};"
            f" trained accuracy {accuracy:.3f}, gap {gap:.3g}"
        )
    return lines


# --- pictures ---------------------------------------------------------------------------------


def draw(table: Table):
    """The bound of constructed, trained and real heads against T, and the measured gap."""
    lengths, m = table.values(AXIS), examples_of(table)
    lines = [_spread(table, name, bounds(table, name)) for name in NAMES]
    far = np.array([[_bound(h, m, int(T) + 1) for T in lengths] for h in real_heads()])
    lines.append(
        Series("DeiT-tiny, 36 heads", lengths, np.median(far, 0), far.min(axis=0), far.max(axis=0))
    )
    gaps = [_mean(table, name, table[f"{name}.gap"]) for name in ("tuned", "learned")]
    wrong = [
        _mean(table, name, 1 - table[f"{name}.accuracy"]) for name in ("built", "tuned", "learned")
    ]
    figure = panels(
        [
            Panel(
                "capacity of one head",
                lines,
                Axis(r"$\ln \mathcal{N}$ at resolution 1", log=True),
            ),
            Panel("measured gap", gaps, "test minus training loss"),
            Panel("measured error", wrong, "share of wrong labels"),
        ],
        x_label="bits T",
        log_x=True,
        columns=3,
        height=2.2,
        title="Representable, learnable, bounded: a 3-bit AND among T bits",
    )
    trials = table.manifest.get("configuration", {}).get("trials")
    caption(
        figure,
        *provenance(scale=table.manifest.get("scale", ""), trials=trials),
        f"m = {m}; lines: median and quartiles (heads: range), means with 95 % intervals",
        "trained positions enter through token lengths only; the network behind the head is not "
        "covered",
    )
    return figure


def _spread(table: Table, name: str, values: np.ndarray) -> Series:
    cells = [values[table[AXIS] == length] for length in table.values(AXIS)]
    low, middle, high = np.array([np.quantile(cell, [0.25, 0.5, 0.75]) for cell in cells]).T
    return Series(NAMES[name], table.values(AXIS), middle, low, high)


def _mean(table: Table, name: str, values: np.ndarray) -> Series:
    cells = [values[table[AXIS] == length].astype(float) for length in table.values(AXIS)]
    middle = np.array([cell.mean() for cell in cells])
    ends = [
        fit.mean_interval(cell, level=0.95) if len(cell) > 1 else (cell[0],) * 2 for cell in cells
    ]
    low, high = np.array(ends, dtype=float).reshape(len(cells), 2).T
    return Series(NAMES[name], table.values(AXIS), middle, low, high)


figure = Figure(
    name="capacity",
    title="capacity against length, for constructed, trained and real heads",
    statement=(
        "does the capacity of heads of bounded norms grow like the logarithm of the length, and do"
        " the norms of heads that compute a sparse function grow as slowly?"
    ),
    setups={
        "smoke": setup([8], 2, 20, 50),
        "small": setup([8, 16, 32, 64, 128], 24, 400, 100),
        "paper": setup([8, 16, 32, 64, 128, 256, 512], 50, 1000, 100),
    },
    claims=CLAIMS,
    draws={"capacity": draw},
    summary=summary,
    reference="limelight; edelman2022, Section 4",
    cost={
        "smoke": "half a minute, nearly all compiling",
        "small": "2 to 4 minutes on 2 cores",
        "paper": "501 s on 16 CPU cores beside other runs, 170 s of it compiling",
    },
    departures=(
        "the paper has no such figure; the network is the bounded-norm one of its constructions"
    ),
)
