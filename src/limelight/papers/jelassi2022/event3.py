r"""Event III: does the value strength rise again once attention has found the sets?

While attention is slow $\alpha$ sits near $\alpha^*(A) = \arg\min_\alpha L(\alpha, A)$, so a second
rise is $R = \max_t \alpha_t / \alpha^*(A_0)$ above 1. It depends on the frozen diagonal $\beta$.
With a small one attention starts nearly uniform, its gain $G$ grows several times once the sets
are found, and $\alpha$, about a number of order 1 over $G$, falls.
"""

import numpy as np

from limelight.experiments.idealized import Idealized
from limelight.fit.estimates import mean
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.event3_claims import (
    BETA,
    DRAWN,
    EXACT,
    WORLD,
    curves_of,
    onset,
    rises,
    rule_of,
)
from limelight.papers.jelassi2022.event3_pictures import draw, draw_courses, draw_drawn
from limelight.table import Table


def setup(worlds, betas, steps: int = 100_000) -> Setup:
    """Exact runs: worlds by diagonals."""
    experiment = Idealized(
        rate=5e-4, steps=steps, looks=160, stop=True, cautious=True, part="exact"
    )
    return Setup(experiment, {WORLD: list(worlds), BETA: list(betas)}, 1)


def drawn_setup(betas, draws: int, trials: int, steps: int = 100_000) -> Setup:
    """Runs on drawn populations of 64 patches, too many to enumerate at this many steps."""
    experiment = Idealized(
        tokens=64,
        density=0.3,
        rate=5e-5,
        ratio=40_000.0,
        steps=steps,
        looks=160,
        draws=draws,
        stop=True,
        cautious=True,
        part="drawn",
    )
    return Setup(experiment, {BETA: list(betas)}, trials, shared=(BETA,))


# --- words --------------------------------------------------------------------------------------


def summary(table: Table) -> list[str]:
    """R by world and diagonal, and the diagonal from which on alpha rises again."""
    lines = [rule_of(table)]
    for name, at, _, rows in curves_of(table):
        rise, betas = rises(rows), rows[BETA].astype(float)
        listed = ", ".join(f"{b:g}: {r:.3f}" for b, r in zip(betas, rise, strict=True))
        open_runs = [f"{b:g}" for b, p in zip(betas, rows["passed"], strict=True) if not p]
        edge = onset(betas, rise)
        lines.append(
            f"{name}: R by beta {listed}; rises from beta {edge:.2f} on, where e^beta / D ="
            f" {np.exp(edge) / at['tokens']:.2f}; not past a maximum at beta"
            f" {', '.join(open_runs) or 'none'}; largest eta_v L''"
            f" {rows['trace.stiffness'].max():.2f}"
        )
    return lines


def drawn_summary(table: Table) -> list[str]:
    """R by diagonal with its interval, and the diagonal from which on alpha rises again."""
    lines, edges = [rule_of(table)], []
    for beta in table.values(BETA):
        rows = table.where(**{BETA: beta})
        found = mean(rises(rows))
        low, high = found.interval or (np.nan, np.nan)
        lines.append(
            f"beta {beta:g}: R {found.value:.4f} [{low:.4f}, {high:.4f}],"
            f" {int(rows['passed'].sum())} of {len(rows)} past a maximum"
        )
    betas = table.values(BETA)
    for trial in table.values("trial"):
        rows = table.where(trial=trial)
        order = np.argsort(rows[BETA])
        edges.append(onset(betas, rises(rows)[order]))
    edge = mean(np.array(edges))
    low, high = edge.interval or (np.nan, np.nan)
    lines.append(f"rises from beta {edge.value:.3f} [{low:.3f}, {high:.3f}] on")
    return lines


STATEMENT = "once attention has found the sets, alpha grows again (Event III)"
HALVES = tuple(0.5 * i for i in range(13))

figures = (
    Figure(
        name="event3",
        title="when does alpha rise again, as a function of beta?",
        statement=STATEMENT,
        setups={
            "smoke": setup([(8, 2, 0.5, 1000.0)], (1.0, 4.0), 400),
            "small": setup([(16, 4, 0.5, 1000.0), (16, 2, 0.5, 1000.0)], range(7)),
            "paper": setup(
                [
                    (16, 4, 0.5, 1000.0),
                    (16, 2, 0.5, 1000.0),
                    (16, 4, 0.2, 1000.0),
                    (24, 4, 0.5, 3000.0),
                ],
                HALVES,
            ),
        },
        claims=EXACT,
        draws={"event3": draw, "courses": draw_courses},
        summary=summary,
        reference="Section 4.1, Event III",
        cost={"smoke": "7 s of CPU time", "paper": "2 minutes on 2 busy cores"},
        departures="the paper proves the event for a diagonal of order polyloglog(d) and gives no "
        "value; worlds and rates are ours; a run ends once alpha has passed a maximum and gamma > "
        "1, or after 100,000 steps; alpha starts at half its optimum where the paper's start is "
        "larger, which is unstable at large beta",
    ),
    Figure(
        name="event3-64",
        title="the same at 64 patches, on drawn populations",
        statement=STATEMENT,
        setups={
            "smoke": drawn_setup((1.0, 4.0), 100, 2, 100),
            "small": drawn_setup((1.0, 2.0, 3.0, 4.0, 5.0), 1500, 5),
            "paper": drawn_setup((1.0, 2.0, 2.5, 3.0, 4.0, 5.0), 3000, 20),
        },
        claims=DRAWN,
        draws={"event3-64": draw_drawn},
        summary=drawn_summary,
        reference="Section 4.1, Event III",
        cost={"smoke": "9 s of CPU time", "paper": "1 minute on 2 busy cores"},
        departures="as event3; 64 patches in sets of 4, q = 0.3; each seed draws its own images, "
        "of which only the counts of marks matter; dense marks, so that no draw is separable, "
        "where alpha would grow without end",
    ),
)
