r"""Figure 2 on contexts up to 3,200 bits: which law the number of examples follows.

Up to $T = 800$ a logarithm, a square root and a line through $m_{50}$ lie too close together to be
told apart: they differ by a few examples there and by a hundred and more at $T = 3200$. What is
compared is $m_{50}$, the number of examples at which half of the trials succeed, by likelihood;
$m^*$ is as coarse as the grid. The rules were fixed before this grid was run, with the shorter
contexts known.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from limelight import fit, plot
from limelight.claims import Above, Estimate, Undecided
from limelight.papers.edelman2022 import critical, variants
from limelight.papers.edelman2022.critical import LENGTH, MANY, SIZE, boundary
from limelight.papers.recipe import Figure, Finding, claims, scales
from limelight.table import Table

LENGTHS = [100, 200, 400, 800, 1600, 3200]
SIZES = [40, 80, 120, 160, 220, 280, 340, 420, 520, 640]
#: Lengths that have a curve of their own.
SHOWN = (100, 400, 1600, 3200)
UNTOLD = "Contexts of 3,200 bits do not tell a logarithm from a line"
#: Lengths that a comparison of laws needs.
LEAST = 6
#: Laws by the variable that each is a straight line in.
LAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    r"$a + b \ln T$": np.log,
    r"$a + b \sqrt{T}$": np.sqrt,
    "$a + b T$": np.asarray,
}


@claims(
    "long.{name}",
    "A logarithm of the length describes the number of examples better than {words}.",
    Above(0.0),
    at="{source}",
    fixed="pilot",
    cases=(
        {
            "name": "line",
            "words": "a line",
            "law": "a + b T",
            "other": np.asarray,
            "source": "edelman2022, Appendix C.1 (the log T dependence)",
        },
        {
            "name": "root",
            "words": "its square root",
            "law": "a + b sqrt(T)",
            "other": np.sqrt,
            "source": "limelight, beside edelman2022, Appendix C.1",
        },
    ),
)
def better(table: Table, other: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Squares of m50 left by {law} minus squares left by a + b ln T."""
    edge = boundary(table)
    T = edge.x(LENGTH).astype(float)
    note = "m50 " + ", ".join(f"{m:.0f}" for m in edge.values)
    if len(T) < LEAST or not edge.resolved.all():
        raise Undecided(f"{note}; {LEAST} lengths are needed, m50 on the grid", n=len(table))
    left = lambda x, m: fit.squares_left(x, m)[:, None]
    difference = lambda m: left(other(T), m) - left(np.log(T), m)
    return edge.smallest(difference, draws=MANY, note=note)


def draw(table: Table) -> plot.Picture:
    """Examples at which half of the trials succeed against the length, and three laws."""
    edge = boundary(table)
    T, fitted = edge.x(LENGTH).astype(float), []
    m = np.where(edge.resolved, edge.values, np.nan)
    low, high = np.array([found.open_ends for found in edge.thresholds]).reshape(-1, 2).T
    if edge.resolved.sum() > 2:
        finer = np.geomspace(T.min(), T.max(), 60)
        for name, scale in LAWS.items():
            law = fit.fit_law("linear", scale(T), m)
            fitted.append(plot.Guide(name, finer, law.predict(scale(finer))))
    return plot.lines(
        [plot.Series("$m_{50}$, 95 % interval", T, m, low, high)],
        guides=fitted,
        x_label="context length $T$",
        y_label="examples at which half succeed",
        log_x=True,
        note=(critical.iterations(table), "laws by least squares"),
    )


figure = Figure(
    statement="does the number of examples grow like the logarithm of the length?",
    trial=variants.trial,
    grid={LENGTH: LENGTHS, SIZE: SIZES},
    trials=20,
    scales=scales(
        smoke=critical.smaller(2, [16], [20, 60], **critical.QUICK),
        small=critical.smaller(10, [25, 50, 100], [40, 80, 160], iterations=200),
    ),
    claims=better,
    pictures={"success": partial(critical.draw_success, shown=SHOWN), "critical": draw},
    findings={
        "success": Finding("long.line", open=UNTOLD),
        "critical": [
            Finding("long.line", open=UNTOLD),
            Finding("long.root", open="nor from a square root"),
        ],
    },
    charts={"success": critical.EXPLORER.chart},
    summary=critical.summary,
    reference=variants.REFERENCE,
    departures=(
        "not in the paper: contexts up to 3,200 bits, other sizes; otherwise as fig2, every trial "
        "ending at its first success"
    ),
)
