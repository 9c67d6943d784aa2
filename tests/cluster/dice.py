"""A paper from outside about slow dice: what workers are tried on.

Its measure sleeps, so that a fault has something to hit, and fails or takes memory where a file
beside it says so. Neither changes a number: the same settings give the same bytes everywhere.
"""

import os
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from limelight._core.types import Number
from limelight.claims import AtLeast, Estimate
from limelight.experiments import Experiment
from limelight.papers.contents import Paper
from limelight.papers.recipe import Figure, Scale, claim
from limelight.plot import lines


def _slowly(sides, throw):
    """What a fault hits: it takes its time, and fails or takes memory where a file says so.

    Every call leaves a line, so that what was computed twice can be counted. The names of the two
    variables are put together here: what they say is no part of the study.
    """
    asked = lambda name, default: os.environ.get(f"DICE_{name}", default)
    here = Path(asked("FAULTS", "/nowhere"))
    if here.is_dir():
        with (here / "calls").open("a") as file:
            file.write(f"{float(sides):g} {float(throw):.9g}\n")
    time.sleep(float(asked("SECONDS", "0")))
    if (here / f"fail-{float(sides):g}").exists():
        raise ValueError(f"no die has {float(sides):g} sides")
    if (here / f"hog-{float(sides):g}").exists():
        hog = bytearray(int((here / f"hog-{float(sides):g}").read_text()))
        hog[::4096] = b"x" * len(hog[::4096])
        time.sleep(600)
    return np.float32(0)


class Dice(Experiment):
    """The mean of some throws."""

    sides: Number = 6.0
    throws: int = eqx.field(static=True, default=2)

    def trial(self, key):
        throws = jr.uniform(key, (self.throws,)) * self.sides
        shape = jax.ShapeDtypeStruct((), jnp.float32)
        wait = jax.pure_callback(_slowly, shape, self.sides, throws[0], vmap_method="sequential")
        return {"mean": jnp.mean(throws) + wait}


@claim("dice.half", "It is half.", AtLeast(0.3), at="dice2000", statistic="mean over sides")
def half(table) -> Estimate:
    values = (table["mean"] / table["sides"]).astype(float)
    return Estimate(float(values.mean()), (float(values.min()), float(values.max())), len(values))


def draw(table):
    """Means of the throws."""
    return lines([("means", table["trial"], table["mean"])], x_label="throw", y_label="mean")


paper = Paper(
    key="dice2000",
    title="Of Slow Dice",
    authors="A Gambler",
    venue="In a tavern, 2000",
    symbols={},
    statements=(),
    figures=(
        Figure(
            name="dice",
            title="what dice show",
            statement="the mean is half the sides",
            trial=Dice(),
            grid={"sides": [4.0, 6.0, 8.0, 12.0]},
            trials=4,
            scales={name: Scale() for name in ("smoke", "small", "paper")},
            claims=(half,),
            pictures={"means": draw},
        ),
    ),
)
