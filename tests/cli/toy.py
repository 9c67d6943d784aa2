"""A paper about dice, which compiles in a moment: what the command line is tried on."""

import sys

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import limelight.papers
from limelight import fit
from limelight._core.errors import InputError
from limelight._core.types import Number
from limelight.claims import AtLeast, Estimate
from limelight.experiments import Experiment
from limelight.papers.contents import Paper, Statement
from limelight.papers.recipe import Figure, Scale, claim
from limelight.plot import Picture, lines
from limelight.theory import Bound

KEY = "toy2000"


class Dice(Experiment):
    """The mean of some throws."""

    sides: Number = 6.0
    bonus: Number | None = None
    throws: int = eqx.field(static=True, default=2)
    kind: str = eqx.field(static=True, default="fair")

    def trial(self, key):
        throws = jr.uniform(key, (self.throws,)) * self.sides
        throws = throws if self.bonus is None else throws + self.bonus
        trace = {"trace.throws": throws} if self.kind == "traced" else {}
        return {"mean": jnp.mean(throws), **trace}

    def check(self):
        if self.sides <= 0 or self.throws < 1 or self.kind not in ("fair", "broken", "traced"):
            raise InputError("no such dice", "sides and throws are positive")


def share(table) -> Estimate:
    """Mean over sides."""
    if not len(table):
        raise InputError("no dice were thrown")
    values = table["mean"] / table["sides"]
    low, high = fit.mean_interval(values.astype(float), level=0.9)
    return Estimate(float(values.mean()), (float(low), float(high)), len(values))


def unfair(table) -> Estimate:
    """What only broken dice could show."""
    if "broken" in table.manifest["configuration"]["experiment"]["kind"]:
        raise InputError("the dice are broken")
    return Estimate(np.nan, None, len(table), "they are fair")


def draw(table) -> Picture:
    """Means of the throws."""
    means = np.sort(table["mean"])
    return lines([("means", np.arange(len(means)), means)], x_label="throw", y_label="mean")


def draw_if_fair(table) -> Picture:
    """The same, of fair dice."""
    unfair(table)
    return draw(table)


def figure(name: str, **settings) -> Figure:
    half = claim(f"{name}.half", "It is half.", AtLeast(0.3), at=KEY, statistic="mean over sides")
    odd = claim(
        f"{name}.unfair", "They are not fair.", AtLeast(1.0), at=KEY, statistic="unfairness"
    )
    return Figure(
        name=name,
        title="what dice show",
        statement="the mean is half the sides",
        trial=Dice(),
        claims=(half(share), odd(unfair)),
        pictures={"means": draw, "fair": draw_if_fair},
        summary=lambda table: [f"largest {table['mean'].max():.2f}", str(unfair(table).note)],
        **settings,
    )


PAIR = ("sides", "bonus")
paper = Paper(
    key=KEY,
    title="Of Dice",
    authors="A Gambler",
    venue="In a tavern, 2000",
    symbols={"n": "sides"},
    statements=(
        Statement("lemma", "any one side", lambda sides=6.0: Bound("p", 1 / sides, "exact")),
    ),
    figures=(
        figure(
            "dice",
            grid={"sides": [4.0, 6.0, 12.0]},
            trials=80,
            scales={"smoke": Scale(trials=12), "small": Scale(trials=40), "paper": Scale()},
        ),
        figure(
            "pairs",
            grid={PAIR: [(4.0, 0.0), (6.0, 1.0)]},
            trials=5,
            scales={name: Scale() for name in ("smoke", "small", "paper")},
        ),
    ),
)


def lay_out(patch) -> None:
    """Put the paper among the others; `patch` takes an object, a name and a value."""
    sys.modules[f"limelight.papers.{KEY}"] = sys.modules[__name__]
    patch(limelight.papers, "KEYS", (KEY, *limelight.papers.KEYS))
