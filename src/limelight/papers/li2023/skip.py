"""Appendix G.4: a skip connection after attention, and layer norm.

The appendix says that the network with a skip connection can be analysed in the same way, that
layer norm does what the scaling of tokens to unit length does, and that training becomes more
stable by it. So tokens keep their length here, at the paper's noise and at ten times it. The rules
below were fixed before the first table.
"""

from limelight import fit, plot
from limelight._engine.grid import assign
from limelight.claims import AtLeast, Estimate, Inside
from limelight.fit import estimates
from limelight.papers.li2023 import extensions, heads
from limelight.papers.li2023.extensions import backslides, cell
from limelight.papers.li2023.traces import trace
from limelight.papers.recipe import Figure, Finding, Scale, claim, scales
from limelight.table import Table

SKIP, NORM, NOISE = "model.skip", "model.layer_norm", "world.noise"
#: The paper's token noise per coordinate, and one that changes the length of tokens by a tenth.
QUIET, LOUD = 0.01, 0.1


def rows_of(table: Table, skip: bool, norm: bool, noise: float = QUIET) -> Table:
    """The trials of one network at one noise, in their order."""
    return cell(table, model__skip=skip, model__layer_norm=norm, world__noise=noise)


@claim(
    "G4.learns",
    "Training succeeds in nine trials of ten with a skip connection.",
    AtLeast(0.9),
    at="li2023, appendix G.4; the level is ours",
)
def learns(table: Table) -> Estimate:
    """Share of trials with a test hinge loss below 0.001, the paper's noise."""
    return extensions.successes(rows_of(table, skip=True, norm=False))


@claim(
    "G4.rise",
    "Attention on the label-relevant tokens rises by a quarter with a skip connection too.",
    AtLeast(0.25),
    at="li2023, appendix G.4; the level is that of 4.rise",
)
def rise(table: Table) -> Estimate:
    """Final minus initial mass on S_*, mean over queries and trials, the paper's noise."""
    return extensions.rise(rows_of(table, skip=True, norm=False))


@claim(
    "G4.same",
    "Layer norm moves the final attention by less than 0.01 at the paper's noise, where tokens have"
    " almost one length.",
    Inside(-0.01, 0.01),
    at="li2023, appendix G.4; the level is ours",
)
def same(table: Table) -> Estimate:
    """Final mass on S_* with layer norm less without, paired, no skip connection."""
    plain, normed = (
        trace(rows_of(table, False, norm), "mass.all")[:, -1] for norm in (False, True)
    )
    return estimates.paired(normed, plain)


@claim(
    "G4.stable",
    "Layer norm makes training more stable.",
    AtLeast(0.0),
    at="li2023, appendix G.4; the statistic is ours",
    fixed="after",  # where no trial falls back there is nothing to compare
)
def more_stable(table: Table) -> Estimate:
    """Largest fall of the mean margin in training, without layer norm less with it, loud noise."""
    plain, normed = (rows_of(table, False, norm, LOUD) for norm in (False, True))
    return extensions.steadier(table, plain, normed)


def parts(table: Table, noise: float) -> dict[str, Table]:
    """The trials at one noise by what is added to the network, in words."""
    chosen = table.where(world__noise=noise) if NOISE in table.axes else table
    words = {(0, 0): "neither", (1, 0): "skip", (0, 1): "layer norm", (1, 1): "both"}
    return {words[int(at[SKIP]), int(at[NORM])]: rows for at, rows in chosen.cells(SKIP, NORM)}


def draw_mass(table: Table) -> plot.Picture:
    """Attention on the label-relevant tokens over steps, at the paper's noise."""
    return extensions.draw_mass(table, parts(table, QUIET))


def draw_margin(table: Table) -> plot.Picture:
    """The mean margin on fresh examples over steps, at the loud noise."""
    return extensions.draw_margin(table, parts(table, LOUD))


def summary(table: Table) -> list[str]:
    """Success, attention and steps by what is added, and by noise."""
    return fit.tabulate(
        table,
        {**({NOISE: "noise"} if NOISE in table.axes else {}), SKIP: "skip", NORM: "layer norm"},
        {
            "success": lambda rows: extensions.successes(rows).value,
            "mass on S_*, start": lambda rows: trace(rows, "mass.all")[:, 0].mean(),
            "end": lambda rows: trace(rows, "mass.all")[:, -1].mean(),
            "largest fall of the margin": lambda rows: backslides(table, rows).mean(),
            "steps": "steps",
        },
    )


figure = Figure(
    statement="with a skip connection the conclusions stay; layer norm does what scaling tokens to "
    "unit length does, and makes training more stable",
    trial=assign(heads.trial(), {"world.normalise": False}),
    grid={NOISE: [QUIET, LOUD], SKIP: [False, True], NORM: [False, True]},
    trials=extensions.TRIALS,
    scales=scales(
        smoke=Scale(
            trials=2, grid={NOISE: None, SKIP: [True], NORM: [False]}, settings=heads.SMOKE
        ),
        small=Scale(trials=8, grid={NOISE: [LOUD]}, settings=heads.SMALL),
    ),
    claims=(learns, rise, same, more_stable),
    pictures={"mass": draw_mass, "margin": draw_margin},
    findings={
        "mass": Finding(
            "G4.rise",
            fails="With a skip connection attention on relevant tokens rises by {value:.2f}",
        ),
        "margin": "G4.learns",
    },
    summary=summary,
    reference="Appendix G.4",
    departures="the appendix gives no experiment: sizes and steps are those of fig4, but tokens "
    "are not scaled to unit length, so that layer norm has something to do; the form of the skip "
    "connection is ours, its formula is cut in every copy found",
    shared=(NOISE, SKIP, NORM),
)
