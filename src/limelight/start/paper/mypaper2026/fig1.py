"""Figure 1: accuracy against the number of examples, at three levels of noise."""

import optax

import limelight as ll
from limelight import plot
from limelight.claims import Above
from limelight.fit import estimates
from limelight.papers.recipe import Figure, Scale, claim, scales

from .parts import Needle, start


@claim("1.examples", "More examples help.", Above(0.0), at="mypaper2026, Figure 1")
def more_examples_help(table):
    """Accuracy with the most examples less that with the fewest, paired by trial."""
    fewest, most = table.values("train.examples")[[0, -1]]
    few, many = (table.rows(table["train.examples"] == n) for n in (fewest, most))
    return estimates.paired(many["accuracy"], few["accuracy"])


def draw(table):
    """Accuracy over the number of examples."""
    lines = plot.over_cells(
        table, x="train.examples", y="accuracy", by="world.noise", name=r"$\sigma$ = {:g}"
    )
    labels = {"x_label": "training examples $n$", "y_label": "accuracy"}
    return plot.lines(lines, log_x=True, note="bands: 95 % intervals of the mean", **labels)


figure = Figure(
    statement="more examples are needed where there is more noise",
    trial=ll.Study(
        world=Needle(),
        model=start,
        train=ll.Train(steps=200, rate=0.05, optimizer=optax.adam, loss="logistic"),
        measures=[ll.measures.accuracy],
    ),
    grid={"world.noise": [0.2, 0.5, 1.0], "train.examples": [4, 8, 16, 32, 64, 128]},
    trials=50,
    scales=scales(
        smoke=Scale(trials=3, grid={"train.examples": [4, 64], "world.noise": [0.2, 0.5]}),
        small=Scale(trials=10, grid={"train.examples": [4, 16, 64]}),
    ),
    claims=(more_examples_help,),
    pictures={"accuracy": draw},
    shared=("train.examples",),
    reference="Figure 1",
    sizes="this is where you say how these sizes differ from the paper's",
    departures="none: this is where you say what differs from the paper's own experiment",
)
