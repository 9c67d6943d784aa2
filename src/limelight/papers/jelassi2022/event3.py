r"""Event III: does the value strength rise again once attention has found the sets?

While attention is slow $\alpha$ sits near $\alpha^*(A) = \arg\min_\alpha L(\alpha, A)$, so a second
rise is $R = \max_t \alpha_t / \alpha^*(A_0)$ above 1. It depends on the frozen diagonal $\beta$.
With a small one attention starts nearly uniform, its gain $G$ grows several times once the sets
are found, and $\alpha$, about a number of order 1 over $G$, falls.
"""

from collections.abc import Iterator

import numpy as np

from limelight.claims import AtLeast, Claim, Estimate
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.idealized import worst
from limelight.papers.jelassi2022.reading import lowest, mean, told
from limelight.plot import Panel, Reference, Series, caption, curves, panels
from limelight.study.idealized import Idealized
from limelight.table import Table

WORLD = ("tokens", "size", "density", "ratio")
BETA = "diagonal"
#: A rise that counts, and the stiffness above which alpha may oscillate and feign one.
RISE, CALM = 1.02, 1.0
LARGE = (4.0, 5.0)


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


# --- what is read off a table -----------------------------------------------------------------


def rises(rows: Table) -> np.ndarray:
    r"""$R$ of each run; NaN where descent was not calm."""
    calm = rows["finite"] & (rows["trace.stiffness"].max(axis=1) < CALM)
    return np.where(calm, rows["top"] / rows["best_alpha"], np.nan)


def curves_of(table: Table) -> Iterator[tuple[str, dict, np.ndarray, Table]]:
    """Each world's name, settings, diagonals and rows, diagonals rising."""
    for at, rows in table.cells(*WORLD):
        name = f"({at['tokens']}, {at['size']}, {at['density']:g})"
        yield name, at, rows[BETA], rows.rows(np.argsort(rows[BETA], kind="stable"))


def least_rise(betas):
    """The smallest R over all worlds at given diagonals."""

    def estimate(table: Table) -> Estimate:
        found = {}
        for name, _, _, rows in curves_of(table):
            for beta in betas:
                here = rows.where(**{BETA: beta})
                if len(here):
                    passed = "" if here["passed"].all() else ", still running"
                    found[f"{name} beta {beta:g}{passed}"] = -float(rises(here)[0])
        least = worst(found)
        note = ", ".join(f"{name}: {-value:.3f}" for name, value in found.items())
        return Estimate(-least.value, None, least.n, note)

    return estimate


def drawn_rise(betas):
    """The mean R over seeds, at the diagonal where it is smallest."""

    def estimate(table: Table) -> Estimate:
        return lowest(
            (f"beta {beta:g}", mean(rises(rows)))
            for beta in betas
            if len(rows := table.where(**{BETA: beta}))
        )

    return estimate


def onset(betas: np.ndarray, rise: np.ndarray) -> float:
    """The diagonal at which R crosses the level for good, between neighbours; NaN for never.

    Example:
        >>> round(onset(np.array([1.0, 2.0, 3.0]), np.array([0.9, 1.0, 1.1])), 6)
        2.2
    """
    below = np.flatnonzero(~(rise >= RISE))
    if not len(below) or below[-1] == len(rise) - 1:
        return float("nan")
    i = int(below[-1])
    share = (RISE - rise[i]) / (rise[i + 1] - rise[i])
    return float(betas[i] + share * (betas[i + 1] - betas[i]))


EXACT = (
    Claim(
        "event3-beta1",
        "Event III: alpha rises again, at a diagonal of 1.",
        "R = largest alpha over the best alpha for the attention at the start, smallest of worlds",
        least_rise((1.0,)),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
    Claim(
        "event3-large",
        "Event III: alpha rises again, at diagonals of 4 and 5.",
        "the same, smallest of worlds and diagonals",
        least_rise(LARGE),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
)
DRAWN = (
    Claim(
        "event3-64-beta1",
        "Event III at 64 patches, drawn populations, a diagonal of 1.",
        "R, mean over seeds",
        drawn_rise((1.0,)),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
    Claim(
        "event3-64-large",
        "Event III at 64 patches, drawn populations, diagonals of 4 and 5.",
        "R, mean over seeds, smaller of the two",
        drawn_rise(LARGE),
        AtLeast(RISE),
        "jelassi2022, Section 4.1, Event III",
    ),
)


# --- pictures ---------------------------------------------------------------------------------


def draw(table: Table):
    """R over the frozen diagonal, exact, one line a world."""
    lines = [(name, rows[BETA], rises(rows)) for name, _, _, rows in curves_of(table)]
    figure = curves(
        lines,
        x_label=r"frozen diagonal $\beta$",
        y_label=r"$R = \max_t \alpha_t / \alpha^*(A_0)$",
        references=[Reference("no second rise", 1.0), Reference("counts as one", RISE)],
        width=4.6,
    )
    caption(figure, *told(table, "worlds (D, C, q); exact, nothing drawn"))
    return figure


def draw_courses(table: Table):
    """The course of alpha and of the gain at several diagonals, in the first world."""
    name, _, _, rows = next(curves_of(table))
    chosen = [i for i, beta in enumerate(rows[BETA]) if beta in (0.0, 1.0, 2.0, 3.0, 5.0)]

    def lines(trace, by=None):
        found = []
        for i in chosen:
            keep = np.unique(rows["trace.step"][i], return_index=True)[1][1:]
            values = rows[f"trace.{trace}"][i][keep]
            over = 1.0 if by is None else rows[by][i]
            label = rf"$\beta$ = {rows[BETA][i]:g}"
            found.append((label, rows["trace.step"][i][keep], values / over))
        return found

    figure = panels(
        [
            Panel("value strength", lines("alpha", "best_alpha"), r"$\alpha_t / \alpha^*(A_0)$"),
            Panel("gain", lines("gain"), "G"),
            Panel("same set", lines("gamma"), r"$\gamma$"),
        ],
        x_label="step",
        log_x=True,
        columns=3,
        height=1.9,
    )
    for axes in figure.axes:
        for line in axes.get_lines():
            line.set_markevery((3, 24))
    caption(figure, *told(table, f"world (D, C, q) = {name}; a run ends past its maximum"))
    return figure


def draw_drawn(table: Table):
    """R over the frozen diagonal at 64 patches, with its spread over drawn populations."""
    betas = table.values(BETA)
    values = [rises(table.where(**{BETA: beta})) for beta in betas]
    found = [mean(value) for value in values]
    ends = np.array([e.interval for e in found], dtype=float)
    figure = curves(
        [Series("(64, 4, 0.3), drawn", betas, [e.value for e in found], ends[:, 0], ends[:, 1])],
        x_label=r"frozen diagonal $\beta$",
        y_label=r"$R = \max_t \alpha_t / \alpha^*(A_0)$",
        references=[Reference("no second rise", 1.0), Reference("counts as one", RISE)],
        width=4.6,
    )
    caption(figure, *told(table, "mean over seeds with a 95 % interval"))
    return figure


def summary(table: Table) -> list[str]:
    """R by world and diagonal, and the diagonal from which on alpha rises again."""
    lines = []
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
    lines, edges = [], []
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
        cost={"paper": "2 minutes on 2 busy cores"},
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
        cost={"paper": "1 minute on 2 busy cores"},
        departures="as event3; 64 patches in sets of 4, q = 0.3; each seed draws its own images, "
        "of which only the counts of marks matter; dense marks, so that no draw is separable, "
        "where alpha would grow without end",
    ),
)
