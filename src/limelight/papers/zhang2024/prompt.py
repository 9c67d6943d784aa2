r"""Theorem 4.2: prediction error against the length of the prompt, and the prompts that hurt."""

from collections.abc import Iterator

import numpy as np

from limelight._core.arrays import Real
from limelight.claims import Above, AtLeast, AtMost, Estimate, Undecided
from limelight.experiments.prompt_errors import PromptErrors
from limelight.fit import tabulate
from limelight.fit.estimates import highest, lowest
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, WIDE, Axis, Guide, Panel, Picture, Points, Reference
from limelight.table import Table
from limelight.theory.zhang2024.population import linear_spectrum
from limelight.theory.zhang2024.prediction import (
    ErrorParts,
    one_task,
    random_tasks,
    useless_length,
)

LENGTHS = (1, 2, 3, 4, 5, 6, 8, 16, 31, 64, 128, 512)
LONGER = (*LENGTHS, 2048, 8192)
LAW = ("world.dimension", "world.spread")


def spectrum_of(rows: Table) -> np.ndarray:
    """Eigenvalues of a cell."""
    return linear_spectrum(
        int(rows.setting("world.dimension")), float(rows.setting("world.spread"))
    )


def theory(rows: Table, response: str, noise: Real, N: Real) -> ErrorParts:
    """Theorem 4.2 for a cell."""
    spectrum = spectrum_of(rows)
    if response == "linear":
        return random_tasks(spectrum, N, noise)
    task = np.ones(len(spectrum)) / np.sqrt(spectrum.sum())
    return one_task(spectrum, N, task, noise, response)


def measured(
    rows: Table, response: str = "linear", noise: Real = 0.0
) -> dict[tuple[int, int], Estimate]:
    """Measured errors of a cell by (N, M), with 95 % intervals; N = 0 is trained at M."""
    lengths, trained = rows.setting("lengths"), rows.setting("trained")
    shape = (len(lengths), len(trained) + 1)
    name = f"{response}.{noise:g}"
    errors, deviations = (rows[f"{part}.{name}"][0].reshape(shape) for part in ("error", "se"))
    n = int(rows.setting("prompts"))
    found = {}
    for i, M in enumerate(lengths):
        for j, N in enumerate((*trained, 0)):
            value, half = float(errors[i, j]), 1.96 * float(deviations[i, j])
            found[N, M] = Estimate(value, (value - half, value + half), n)
    return found


def laws(table: Table) -> Iterator[tuple[str, float]]:
    """Responses and noises of a table."""
    for response in table.setting("responses"):
        for noise in table.setting("noises"):
            yield response, float(noise)


def named(rows: Table) -> str:
    """A cell in words."""
    return f"d = {rows.setting('world.dimension')}, g = {rows.setting('world.spread'):g}"


def scaled(estimate: Estimate, factor: Real, shift: Real = 0.0) -> Estimate:
    """Factor times an estimate, plus a number; a negative factor turns the interval over."""
    assert estimate.interval is not None
    low, high = sorted(factor * end + shift for end in estimate.interval)
    return Estimate(factor * estimate.value + shift, (low, high), estimate.n)


@claim(
    "prompt.formula",
    "The prediction error is that of Theorem 4.2, for every length, noise and response.",
    AtMost(4.5),
    at="zhang2024, Theorem 4.2",
)
def formula(table: Table) -> Estimate:
    """Largest |Monte Carlo - formula| in standard errors, over every cell, length and response."""
    worst, where, count = 0.0, "", 0
    for _, rows in table.cells():
        for response, noise in laws(table):
            for (N, M), found in measured(rows, response, noise).items():
                low, high = found.interval or (0.0, 0.0)
                exact = theory(rows, response, noise, N or M).at(M)
                z = abs(found.value - exact) / ((high - low) / 3.92)
                count += 1
                if worst == worst and not z <= worst:  # what is no number is the worst
                    worst, where = (
                        z,
                        f"{named(rows)}, {response}, noise {noise:g}, N = {N or M}, M = {M}",
                    )
    return Estimate(worst, None, count, f"of {count} comparisons, at {where}")


@claim(
    "prompt.floor",
    "More examples than in training leave nine tenths of the bias of training at a finite length.",
    AtLeast(0.9),
    at="zhang2024, Theorem 4.2",
)
def floor(table: Table) -> Estimate:
    """Error at the largest M over the 1/N² term, N = 10, linear, no noise; lowest cell."""
    cells = []
    for _, rows in table.cells():
        found = measured(rows)
        N, M = 10, max(rows.setting("lengths"))
        if (N, M) not in found:
            raise Undecided("not in this table")
        cells.append((named(rows), scaled(found[N, M], 1 / theory(rows, "linear", 0.0, N).bias)))
    return lowest(cells)


@claim(
    "prompt.learner",
    "Trained on prompts of seven examples per dimension or more, the layer learns in context: it"
    " loses 0.15 of the signal or less.",
    AtMost(0.15),
    at="zhang2024, title and Theorem 4.2",
)
def learner(table: Table) -> Estimate:
    """Error at M = N over that of predicting 0, N at least 7 d, linear, no noise; highest cell."""
    cells = [
        (f"{named(rows)}, N = {M}", found)
        for _, rows in table.cells()
        for (N, M), found in measured(rows).items()
        if not N and 7 * int(rows.setting("world.dimension")) <= M
    ]
    return highest(cells)


@claim(
    "prompt.least",
    "The layer is not least squares: trained and tested at 8 examples in 4 dimensions it errs where"
    " least squares does not.",
    AtLeast(0.1),
    at="limelight, on zhang2024, Section 4.1",
)
def not_least_squares(table: Table) -> Estimate:
    """The layer's error less that of least squares, N = M = 8, d = 4, over predicting 0; lowest."""
    cells = []
    for _, rows in table.where(world__dimension=4).cells():
        least = float(rows["least"][0][list(rows.setting("lengths")).index(8)])
        cells.append((named(rows), scaled(measured(rows)[0, 8], 1.0, -least)))
    return lowest(cells)


@claim(
    "prompt.useless",
    "A prompt of fewer than about d examples is worse than none.",
    Above(0.0),
    at="limelight, beyond zhang2024",
)
def useless(table: Table) -> Estimate:
    """Error less that of predicting 0 at M = 3, the reverse at M = 6; d = 4, N >= 31; lowest."""
    cells = []
    for _, rows in table.where(world__dimension=4).cells():
        for (N, M), found in measured(rows).items():
            if N >= 31 and M in (3, 6):
                sign = 1.0 if M == 3 else -1.0
                cells.append((f"{named(rows)}, N = {N}, M = {M}", scaled(found, sign, -sign)))
    return lowest(cells)


def draw(table: Table) -> Picture:
    """Errors over M, measured and exact, beside least squares and predicting 0."""
    panels = [_panel(named(rows), rows) for _, rows in table.cells()]
    return Picture(
        panels,
        columns=min(2, len(panels)),
        width=TWO_COLUMNS if len(panels) > 1 else WIDE,
        height=2.8 * ((len(panels) + 1) // 2),
        note="marks: measured, bars smaller than they; lines: Theorem 4.2; M₀ for the largest N",
        share="y",
    )


def _panel(title: str, rows: Table) -> Panel:
    found, spectrum = measured(rows), spectrum_of(rows)
    lengths = np.array(rows.setting("lengths"))
    fine = np.geomspace(1, lengths.max(), 100)
    marks: list = []
    trained = rows.setting("trained")[::2]  # four curves in a panel, least squares among them
    for N in (*trained, 0):
        label = f"trained at $N = {N}$" if N else "trained at $N = M$"
        marks.append(Points(label, lengths, [found[N, int(M)].value for M in lengths], size=3.5))
        exact = [theory(rows, "linear", 0.0, N or M).at(M) for M in fine]
        marks.append(Guide(label, fine, exact))
    least = rows["least"][0]
    marks.append(Points("least squares", lengths[least > 0], least[least > 0], hollow=True))
    marks.append(Reference("predicting 0", 1.0))
    marks.append(Reference("$M_0$", useless_length(spectrum, max(trained)), vertical=True))
    return Panel(
        title.replace("d =", "$d$ =").replace("g =", "$g$ ="),
        marks,
        Axis("error", log=True),
        Axis("examples $M$ of the prompt", log=True),
    )


def responses(table: Table) -> Picture:
    """Errors over M for responses that are not linear, measured and exact."""
    _, rows = next(cell for cell in table.cells() if cell[1].setting("world.spread") > 0)
    lengths = np.array(rows.setting("lengths"))
    fine, N = np.geomspace(1, lengths.max(), 100), 31
    panels = []
    for response in table.setting("responses"):
        marks: list = []
        for noise in table.setting("noises"):
            found, parts = measured(rows, response, noise), theory(rows, response, noise, N)
            label = f"noise {noise:g}"
            values = [found[N, int(M)].value for M in lengths]
            marks += [
                Points(label, lengths, values),
                Guide(label, fine, [parts.at(M) for M in fine]),
            ]
        best = theory(rows, response, 0.0, N).best
        if best:
            marks.append(Reference("best linear predictor, no noise", best))
        across = Axis("examples $M$ of the prompt", log=True)
        panels.append(Panel(response, marks, Axis("error", log=True), across))
    note = f"{named(rows)}, trained at N = {N}; lines: Theorem 4.2"
    return Picture(panels, width=TWO_COLUMNS, height=2.6, note=note)


def summary(table: Table) -> list[str]:
    """Errors at three lengths, and the length below which a prompt is useless."""
    at = lambda N, M: lambda rows: measured(rows)[N, M]
    first, last = min(table.setting("trained")), max(table.setting("trained"))
    longest = max(table.setting("lengths"))
    columns = {
        f"N = {first}, M = {longest}": at(first, longest),
        "its bias": lambda rows: theory(rows, "linear", 0.0, first).bias,
        f"N = {last}, M = {longest}": at(last, longest),
        "useless below M": lambda rows: useless_length(spectrum_of(rows), last),
    }
    return tabulate(table, {"world.dimension": "d", "world.spread": "g"}, columns, title="error")


figure = Figure(
    statement="the trained layer's error is that of the best linear predictor, plus a term of order"
    " 1/M and a bias of order 1/N²",
    trial=PromptErrors(
        trained=(10, 31, 100, 1000),
        lengths=LONGER,
        responses=("linear", "sign", "cube"),
        noises=(0.0, 0.5),
        prompts=1_000_000,
    ),
    grid={LAW: [(4, 0.0), (4, 0.6), (20, 0.0), (20, 0.6)]},
    trials=1,
    scales=scales(
        smoke=Scale(
            grid={LAW: [(4, 0.6)]},
            settings={
                "trained": (8, 31),
                "lengths": (2, 8),
                "responses": ("linear", "sign"),
                "noises": (0.0,),
                "prompts": 2000,
            },
        ),
        small=Scale(
            grid={LAW: [(4, 0.6)]},
            settings={"trained": (10, 31), "lengths": LENGTHS, "prompts": 100_000},
        ),
    ),
    claims=(formula, floor, learner, not_least_squares, useless),
    pictures={"prompt": draw, "responses": responses},
    findings={"prompt": "prompt.floor", "responses": "prompt.formula"},
    summary=summary,
    reference="Theorem 4.2",
    departures="prompts are drawn through what a layer reads of them, which has the same law; all"
    " lengths and responses read the same draws; a response that is not linear has one fixed task",
)
