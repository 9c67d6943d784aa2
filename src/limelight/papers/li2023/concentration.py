r"""Where attention goes during training: Figures 4 and 7, and what the lemmas share with them."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from limelight import fit, plot
from limelight._core.types import Role
from limelight.chart import Chart, Film, player
from limelight.claims import Estimate
from limelight.experiments import Study
from limelight.fit import estimates
from limelight.measures import Accuracy, AttentionMass, FreshLoss, RoleMass
from limelight.models import Shallow
from limelight.table import Table
from limelight.theory.li2023 import mass_ceiling
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

LABELS = {
    "all": "all queries",
    "relevant": "label-relevant queries",
    "confusing": "confusion queries",
    "idle": "non-discriminative queries",
}
SHORT_LABELS = {"idle": "non-disc.", "confusing": "confusion"}
#: A mean over trials with its bootstrap interval.
average = partial(estimates.mean, method="bootstrap", least=2)
#: Shares of all trials that differ by less are the same but for rounding.
SAME = 1e-6


def average_share(shares: np.ndarray) -> Estimate:
    """A mean over trials of numbers from 0 to 1; where all are 0 or all are 1, an exact interval.

    A bootstrap of equal numbers has no width, though another trial might differ. All trials at an
    end are so many successes of so many, and a mean is at most as far from the end as their share.
    """
    shares = np.asarray(shares, dtype=float)
    if not np.isfinite(shares).all() or np.ptp(shares) > SAME or not len(shares):
        found = average(shares)
        low, high = estimates.ends_of(found)
        return replace(found, interval=(max(low, 0.0), min(high, 1.0)))
    end = round(float(shares.mean()))
    note = f"{end} in all {len(shares)} trials"
    return estimates.share(end * len(shares), len(shares), method="exact", least=2, note=note)


def world(dimension: int = 10) -> Patterns:
    """Half of the tokens relevant, two confusing, with token noise."""
    return Patterns(tokens=50, relevant=0.5, confusing=0.04, noise=0.01, dimension=dimension)


def trial(dimension: int = 10, traces: tuple = ()) -> Study:
    """One trial: attention logged through training, and what else is asked for."""
    return Study(
        world=world(dimension),
        model=Shallow(width=1000),
        train=Train(steps=300, batch=20, rate=2.0, examples=200, every=2),
        measures=(FreshLoss(100), Accuracy(100)),
        traces=(AttentionMass(20), RoleMass(20), *traces),
    )


def without_noise(traces: tuple = ()) -> dict[str, Any]:
    """Settings of the smaller scales: no token noise, so that equal tokens are grouped."""
    return {
        "world.noise": None,
        "model.groups": True,
        "train.every": 5,
        "traces": (AttentionMass(2), RoleMass(2), *traces),
    }


SHORT = {"train.examples": 50, "train.steps": 60}


def main_cell(table: Table) -> tuple[dict, Table]:
    """The paper's own setting: 50 tokens, of which 2 confuse."""
    for name, value in (("world.tokens", 50), ("world.confusing", 0.04)):
        if name in table.axes and value in table[name]:
            table = table.rows(table[name] == value)
    return next(table.cells())


def ceilings(table: Table, at: dict) -> dict[str, float]:
    """The largest mass that any weights can reach with the realised counts, by query role."""
    return mass_ceiling(*fractions(table, at))


def fractions(table: Table, at: dict) -> tuple[float, float]:
    """The realised fractions of a cell."""
    names = ("tokens", "relevant", "confusing")
    return Patterns(**{name: table.setting(f"world.{name}", at) for name in names}).fractions()


def in_words(at: dict) -> str:
    """A cell in words."""
    words = {"world.tokens": "tokens", "world.patterns": "patterns"}
    return ", ".join(f"{at[name]} {word}" for name, word in words.items() if name in at)


def logged_steps(table: Table, rows: Table) -> np.ndarray:
    """Training steps at which a trace was logged."""
    return table.setting("train.every") * np.arange(rows["trace.mass.all"].shape[1])


def until_settled(steps: np.ndarray, *logs: np.ndarray) -> int:
    """How many looks to draw: twice as long as anything moves by a hundredth of its range."""
    last = 1
    for log in logs:
        mean = np.nanmean(log, axis=0)
        moving = np.flatnonzero(np.abs(mean - mean[-1]) > 0.01 * max(np.ptp(mean), 1e-9))
        last = max(last, int(moving[-1]) if len(moving) else 1)
    return min(len(steps), 2 * last + 1)


def rise(table: Table) -> Estimate:
    """Final minus initial mass on S_*, averaged over queries and trials."""
    _, rows = main_cell(table)
    log = rows["trace.mass.all"].astype(float)
    return average(log[:, -1] - log[:, 0])


def of_ceiling(table: Table) -> Estimate:
    """Final mass on S_* over the largest that any weights can reach, averaged over queries."""
    at, rows = main_cell(table)
    ceiling = ceilings(table, at)["all"]
    mass = rows["trace.mass.all"][:, -1].astype(float)
    return replace(average(mass / ceiling), note=f"mass {mass.mean():.3f}, ceiling {ceiling:.3f}")


EXCESS = (
    "largest excess over the ceiling of the realised counts, all trials and steps, beyond an "
    "allowance of 1e-5 (0.01 with token noise)"
)


def excess(table: Table) -> Estimate:
    """Largest amount by which any trial, at any time, passes its ceiling and the allowance."""
    allowance = 0.01 if table.setting("world.noise") else 1e-5
    worst, where = -np.inf, ""
    for at, rows in table.cells():
        ceiling = ceilings(table, at)
        for role in ("all", "idle"):
            over = float(np.nanmax(rows[f"trace.mass.{role}"])) - ceiling[role]
            if over > worst:
                worst, where = over, f"{LABELS[role]}, {in_words(at)}"
    note = f"closest: {where}; allowance {allowance:g}"
    return Estimate(worst - allowance, None, len(table), note)


def draw_roles(table: Table) -> plot.Picture:
    """From which query role to which key role attention goes, before and after training."""
    at, rows = main_cell(table)
    names = [n for n in Role.NAMES if not np.isnan(rows[f"trace.roles.{n}.{n}"]).all()]

    def mass(step: int) -> np.ndarray:
        return np.array(
            [[rows[f"trace.roles.{q}.{k}"][:, step].mean() for k in names] for q in names]
        )

    return plot.mass_by_role(
        [("before training", mass(0)), ("after training", mass(-1))],
        [SHORT_LABELS.get(n, n) for n in names],
        note=in_words(at),
    )


def play(table: Table) -> Chart:
    """Where attention goes, step by step: between roles, to every token, to all relevant ones."""
    at, rows = main_cell(table)
    steps = logged_steps(table, rows)
    names = [n for n in Role.NAMES if not np.isnan(rows[f"trace.roles.{n}.{n}"]).all()]
    mass = np.array(
        [[rows[f"trace.roles.{q}.{k}"].mean(axis=0) for k in names] for q in names], dtype=float
    )
    frames = np.moveaxis(mass, -1, 0)  # steps by queries by keys
    tokens = int(table.setting("world.tokens", at))
    relevant, confusing = fractions(table, at)
    share = {"relevant": relevant, "confusing": confusing, "idle": 1 - relevant - confusing}
    counts = [round(share[name] * tokens) for name in names]
    each = np.repeat(frames / np.array(counts) * tokens, counts, axis=2)
    words = [SHORT_LABELS.get(name, name) for name in names]
    curves = [
        plot.band(label, steps, rows[f"trace.mass.{role}"].astype(float))
        for role, label in LABELS.items()
        if not np.isnan(rows[f"trace.mass.{role}"]).all()
    ]
    return player(
        steps,
        [
            Film(
                "from queries (rows) to keys (columns)",
                *(frames, words, words),
                low=0.0,
                high=1.0,
                numbers=True,
            ),
            Film(
                f"the {tokens} tokens in a row, by role: what each gets",
                *(each, words),
                low=0.0,
                high=float(np.nanmax(each)),
                width=440,
                height=120,
            ),
        ],
        curves=curves,
        label=r"attention mass on $\mathcal{S}_*$",
        limits=(0.0, 1.0),
        caption=f"Means over {len(rows)} trials; {in_words(at)}. Light: much attention.",
    )


def summary(table: Table) -> list[str]:
    """Mass before and after, by query role, with the ceiling."""
    cells = []
    for at, rows in table.cells():
        relevant, confusing = fractions(table, at)
        where = {"cell": in_words(at), "alpha_*": relevant, "alpha_#": confusing}
        for role, ceiling in ceilings(table, at).items():
            log = rows[f"trace.mass.{role}"].astype(float)
            if not np.isnan(log).all():  # there are such queries
                cells.append(({**where, "queries": LABELS[role]}, (log, ceiling)))
    columns = {
        "start": lambda cell: cell[0][:, 0].mean(),
        "end": lambda cell: cell[0][:, -1].mean(),
        "ceiling": lambda cell: cell[1],
    }
    heads = {"cell": "", "alpha_*": "alpha_*", "alpha_#": "alpha_#", "queries": ""}
    title = "attention mass on the relevant tokens, before and after training:"
    return fit.tabulate(cells, heads, columns, title=title)
