"""Long training on a finite sample: association is lost again while the error still falls."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from limelight.claims import Above, AtLeast, AtMost, Estimate, Undecided
from limelight.experiments.recovery import Recovery
from limelight.fit import tabulate
from limelight.fit.estimates import joined, lowest, mean, share, share_gap
from limelight.models.positional import Positional
from limelight.papers.jelassi2022 import traces
from limelight.papers.recipe import Figure, Scale, claims, scales
from limelight.plot import Axis, Panel, Picture, Series, panels
from limelight.table import Table
from limelight.train.descent import Descent
from limelight.worlds import Spatial

EXAMPLES = "examples"
RULE = ("descent.mode", "descent.ratio", "descent.steps", "descent.every")
#: The square of the number of patches, in multiples of which samples are counted.
SQUARE = 16**2


def parts(table: Table) -> Iterator[tuple[str, int, Table]]:
    """Step rule, samples over D^2, and their trials; what diverged says nothing of the end."""
    whole = table.rows(~table["diverged"])
    for at, rows in whole.cells("descent.mode", EXAMPLES):
        yield str(at["descent.mode"]), int(at[EXAMPLES]) // SQUARE, rows


def lost(rows: Table) -> np.ndarray:
    """Seeds that were exact at some reading and are not at the last."""
    exact = rows["trace.exact"] == 1.0
    return exact.any(axis=1) & ~exact[:, -1]


def last_exact(rows: Table) -> np.ndarray:
    """The last reading with every row exact, the first of all where there is none."""
    exact = rows["trace.exact"] == 1.0
    back = exact[:, ::-1].argmax(axis=1)
    return np.where(exact.any(axis=1), exact.shape[1] - 1 - back, 0)


def noted(table: Table, estimate: Estimate) -> Estimate:
    """The same estimate, which says what was left out."""
    if not table["diverged"].any():
        return estimate
    left_out = f"{traces.diverged(table)} and are left out"
    return replace(estimate, note=joined(estimate.note, left_out))


SIZES = ({"many": 8}, {"many": 31}, {"many": 125})
#: The level is the first one, set after a pilot; that of 8 D^2 is asked of a table that was there.
LEVELS = tuple(
    {**case, "fixed": fixed} for case, fixed in zip(SIZES, ("after", "pilot", "pilot"), strict=True)
)


@claims(
    "erosion.lost.n{many}",
    "On a finite sample (N = {many} D^2) long training loses association in at least half of"
    " the seeds, under every step rule.",
    AtLeast(0.5),
    at="limelight, against jelassi2022, Theorem 4.2 (any T)",
    cases=LEVELS,
)
def share_lost(table: Table, many: int) -> Estimate:
    """Share of seeds exact at some look and not at the last, N = {many} D^2, D = 16."""
    cells = [(mode, share(lost(rows))) for mode, size, rows in parts(table) if size == many]
    return noted(table, lowest(cells))


@claims(
    "erosion.error.n{many}",
    "The test error still falls while association is lost (N = {many} D^2).",
    AtMost(0.0),
    at="limelight, on jelassi2022, Theorem 4.2",
    fixed="pilot",
    cases=SIZES,
)
def error_change(table: Table, many: int) -> Estimate:
    """Mean error at the last look minus at the last exact one, seeds that lost it,
    N = {many} D^2.
    """
    changes = [
        (rows["trace.error"][:, -1] - traces.value_at(rows, "error", last_exact(rows)))[gone]
        for _, size, rows in parts(table)
        if size == many and (gone := lost(rows)).any()
    ]
    if not changes:
        raise Undecided("no seed lost it here")
    return noted(table, mean(np.concatenate(changes)))


@claims(
    "erosion.samples.{mode}",
    "More samples keep association more often, under {words}: its loss is a finite-sample effect.",
    Above(0.0),
    at="limelight, on jelassi2022, Theorem 4.2",
    fixed="after",
    cases=(
        {"mode": "two_rate", "words": "constant rates"},
        {"mode": "curvature", "words": "curvature steps"},
    ),
)
def gain_of_samples(table: Table, mode: str) -> Estimate:
    """Share of seeds exact at the last look, most samples minus fewest, Newcombe's interval."""
    cells = {size: rows for rule, size, rows in parts(table) if rule == mode}
    if len(cells) < 2:
        raise Undecided(f"no two sample sizes under {mode}")
    few, most = (cells[size]["trace.exact"][:, -1] == 1.0 for size in (min(cells), max(cells)))
    note = f"{few.mean():g} at {min(cells)} D^2, {most.mean():g} at {max(cells)} D^2"
    found = share_gap(most, few, note=note)
    return noted(table, replace(found, n=len(few) + len(most)))


def summary(table: Table) -> list[str]:
    """What every rule and sample size keeps and loses."""

    def of_lost(read: Callable[[Table], np.ndarray]) -> Callable[[Table], float | str]:
        return lambda rows: np.median(read(rows)[lost(rows)]) if lost(rows).any() else "-"

    columns = {
        "seeds": len,
        "exact at some look": lambda rows: (rows["trace.exact"] == 1.0).any(axis=1).sum(),
        "exact at the last": lambda rows: (rows["trace.exact"][:, -1] == 1.0).sum(),
        "steps": lambda rows: traces.steps(rows)[-1],
        "lost after step": of_lost(lambda rows: traces.steps(rows)[last_exact(rows)]),
        "error then": of_lost(lambda rows: traces.value_at(rows, "error", last_exact(rows))),
        "at the end": of_lost(lambda rows: rows["trace.error"][:, -1]),
    }
    cells = [({"step rule": mode, "N / D^2": many}, rows) for mode, many, rows in parts(table)]
    about = [traces.step_rules(table), traces.diverged(table)]
    return [*about, *tabulate(cells, ("step rule", "N / D^2"), columns)]


def draw(table: Table) -> Picture:
    """Exact seeds and median error against steps, by sample size and step rule."""
    shown = []
    for mode in dict.fromkeys(rule for rule, _, _ in parts(table)):
        exact, error = [], []
        for rule, many, rows in parts(table):
            if rule == mode:
                label, t = f"$N = {many} D^2$", traces.steps(rows)[1:]
                kept, middle = traces.over_seeds(rows["trace.exact"], rows["trace.error"])
                exact.append(Series(label, t, kept[1:]))
                error.append(Series(label, t, middle[1:]))
        title = traces.RULES.get(mode, mode)
        shown += [
            Panel(title, exact, "share of seeds exact"),
            Panel(title, error, Axis("test error, median", log=True)),
        ]
    note = (f"$D = {table.setting('world.tokens')}$", traces.step_rules(table))
    return panels(shown, x_label="step", log_x=True, columns=2, height=1.7, note=note)


figure = Figure(
    statement="association holds for any sufficiently long training",
    trial=Recovery(
        Spatial(tokens=16, dimension=32, density=0.5), Positional(), Descent(beyond=1000.0)
    ),
    grid={  # curvature steps, and constant rates that need more of them
        RULE: [("curvature", 1000.0, 600, 5), ("two_rate", 1000.0, 3600, 30)],
        EXAMPLES: [many * SQUARE for many in (8, 31, 125, 250)],
    },
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={RULE: [("curvature", 1000.0, 100, 5)], EXAMPLES: [8 * SQUARE]},
            settings={"world.dimension": 16},
        ),
        small=Scale(
            grid={RULE: [("curvature", 1000.0, 300, 5)], EXAMPLES: [8 * SQUARE, 31 * SQUARE]},
            settings={"world.dimension": 16},
        ),
    ),
    # What 20 seeds leave open under curvature steps is asked of more of them, in erosion-seeds.
    claims=(share_lost[1], *error_change, gain_of_samples[0]),
    pictures={"erosion": draw},
    summary=summary,
    reference="Theorem 4.2",
    departures="the paper's theorem is for a polynomial number of samples, which it does not name;"
    " D = 16, steps and rates are ours; the readings at 31 D^2 and 125 D^2 were added after a small"
    " run, in which the error at 8 D^2 stood still while association was lost",
    shared=RULE,
)
