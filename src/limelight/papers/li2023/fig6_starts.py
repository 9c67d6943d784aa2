"""The initial models of Figure 6: one trained on more classes and images, one on fewer."""

from pathlib import Path

import numpy as np

from limelight import fit, plot
from limelight.claims import AtLeast, Estimate
from limelight.experiments.starts import Pretraining, save_starts
from limelight.papers.li2023.composites import DEPARTURES, TINY, cifar_starts, digits
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.table import Table


@claim(
    "6.starts",
    "Both starts have learned the classes they were trained on: three times chance or more.",
    AtLeast(3.0),
    at="limelight",
)
def learned(table: Table) -> Estimate:
    """Accuracy over chance, the smaller of the two."""
    ratio = table["accuracy"].astype(float) / table["chance"]
    note = ", ".join(f"{w}: {r:.3g}" for w, r in zip(table["starts.which"], ratio, strict=True))
    return Estimate(float(ratio.min()), None, len(table), note)


def draw_accuracy(table: Table) -> plot.Picture:
    """Accuracy of both starts on the classes that they were trained on, chance beside it."""
    x = np.arange(len(table))
    accuracy, chance = (100 * table[name].astype(float) for name in ("accuracy", "chance"))
    panel = plot.Panel(
        "",
        [
            plot.Bars("", x, accuracy, colour=0),
            plot.Points(
                "chance", x, chance, colour=1, x_low=x - 0.32, x_high=x + 0.32, marker="", width=1.6
            ),
        ],
        y=plot.Axis("test accuracy, %", limits=(0, 100)),
        x=plot.Axis(categories=[f"{which} start" for which in table["starts.which"]]),
    )
    return plot.Picture([panel])


def summary(table: Table) -> list[str]:
    """Accuracy of the starts."""
    columns = {"accuracy": "accuracy", "chance": "chance", "training loss": "training_loss"}
    return fit.tabulate(table, {"starts.which": "start"}, columns)


def save_models(table: Table, folder: str | Path) -> list[Path]:
    """The starts of a table as safetensors, for other figures to begin from (`starts.folder`)."""
    scale, settings = (table.manifest.get(name) for name in ("scale", "settings"))
    experiment = figure.setup(scale or "small", settings or {}).experiment
    assert isinstance(experiment, Pretraining)
    return save_starts(table, experiment.starts, folder)


figure = Figure(
    statement="a start trained on more classes and images, and one trained on fewer",
    trial=Pretraining(cifar_starts()),
    grid={"starts.which": ["wide", "narrow"]},
    trials=1,
    scales=scales(
        smoke=Scale(settings={"starts": digits(TINY, 10, (3, 8), 20).starts}),
        small=Scale(settings={"starts": digits(TINY, 12, (3, 8), 150).starts}),
    ),
    claims=(learned,),
    pictures={"accuracy": draw_accuracy},
    summary=summary,
    reference="Figure 6, initial models",
    sizes="smaller than the paper's, whose starts are not described in full",
    departures=DEPARTURES,
    save=save_models,
)
