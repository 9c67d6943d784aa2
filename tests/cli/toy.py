"""A paper about dice, which compiles in a moment: what the command line is tried on."""

import sys

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import limelight.papers
from limelight import fit
from limelight.claims import AtLeast, Claim, Estimate
from limelight.core.errors import InputError
from limelight.core.types import Number
from limelight.experiments import Experiment
from limelight.papers.base import Figure, Paper, Setup, Statement
from limelight.plot import new_figure
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


def draw(table):
    """Means of the throws."""
    picture = new_figure(3.0, 2.0)
    picture.axes[0].plot(np.sort(table["mean"]))
    return picture


def draw_if_fair(table):
    """The same, of fair dice."""
    unfair(table)
    return draw(table)


def setup(trials: int) -> Setup:
    return Setup(Dice(), {"sides": [4.0, 6.0, 12.0]}, trials)


def figure(name: str, setups: dict[str, Setup]) -> Figure:
    return Figure(
        name=name,
        title="what dice show",
        statement="the mean is half the sides",
        setups=setups,
        claims=(
            Claim(f"{name}.half", "It is half.", "mean over sides", share, AtLeast(0.3), KEY),
            Claim(f"{name}.unfair", "They are not fair.", "unfairness", unfair, AtLeast(1.0), KEY),
        ),
        draws={"means": draw, "fair": draw_if_fair},
        summary=lambda table: [f"largest {table['mean'].max():.2f}", str(unfair(table).note)],
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
        figure("dice", {"smoke": setup(12), "small": setup(40), "paper": setup(80)}),
        figure("pairs", {"smoke": Setup(Dice(), {PAIR: [(4.0, 0.0), (6.0, 1.0)]}, 5)}),
    ),
)


def lay_out(patch) -> None:
    """Put the paper among the others; `patch` takes an object, a name and a value."""
    sys.modules[f"limelight.papers.{KEY}"] = sys.modules[__name__]
    patch(limelight.papers, "KEYS", (KEY, *limelight.papers.KEYS))
