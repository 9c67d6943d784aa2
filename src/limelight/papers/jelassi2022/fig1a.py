r"""Figure 1(a): the positions of a trained ViT are similar to those of their neighbours.

By default a small ViT is trained on the bundled digits; a real one is read from a file:

    limelight run jelassi2022 fig1a --set checkpoint=deit_tiny.safetensors
"""

import numpy as np

from limelight.claims import AtLeast, Claim, Estimate
from limelight.experiments.classify import Classify
from limelight.experiments.encodings import Encodings
from limelight.papers.base import Figure, Setup
from limelight.papers.jelassi2022.reading import fact
from limelight.plot import caption, provenance, similarity_maps
from limelight.table import Table
from limelight.train.images import Course
from limelight.worlds.images import Images

#: What is drawn dark in the paper's figure.
THRESHOLD = 0.55
#: What trained positions must exceed, beside every fresh draw.
LEAST = 0.1


def setup(steps: int, seeds: int) -> Setup:
    """A trial trains a ViT (or reads a file) and draws 200 fresh positions."""
    study = Classify(Images(unit=False), course=Course(steps=steps, batch=128))
    return Setup(Encodings(study=study), {"draws": [200]}, seeds)


def margin(table: Table) -> Estimate:
    """Locality less the larger of .1 and the largest fresh draw; between the two undecided."""
    trained, largest = table["locality"].astype(float), table["largest"].astype(float)
    worst = int(np.argmin(trained - np.maximum(largest, LEAST)))
    found, fresh = trained[worst], largest[worst]
    note = f"locality {found:.3f}, largest of the fresh draws {fresh:.3f}"
    if fresh <= found <= LEAST:
        return Estimate(float("nan"), None, len(trained), f"{note}: above luck, below {LEAST:g}")
    return Estimate(float(found - max(fresh, LEAST)), None, len(trained), note)


CLAIM = Claim(
    "fig1a",
    "Trained positions are local; those at the start are not.",
    "locality less the larger of .1 and the largest of 200 fresh draws, worst trial",
    margin,
    AtLeast(0.0),
    "jelassi2022, Figure 1(a)",
)


def summary(table: Table) -> list[str]:
    """Locality and nearest neighbours, trained and fresh."""
    lines = []
    for i in range(len(table)):
        found = {name: table[name][i] for name in ("locality", "largest", "neighbours")}
        lines.append(
            "locality {locality:.3f} (fresh draws up to {largest:.3f}); the nearest encoding is"
            " that of a neighbour for {neighbours:.1%} of patches".format(**found)
            + f" (fresh {table['neighbours_fresh'][i]:.1%})"
        )
    return lines


def draw(table: Table):
    """Every patch's similarity to all others, as a grid of maps: at the start and trained."""
    panels = [("at the start", table["trace.fresh"][0]), ("trained", table["trace.similarity"][0])]
    figure = similarity_maps(panels, THRESHOLD, "similarity of positions")
    caption(figure, *facts(table))
    return figure


def facts(table: Table) -> tuple[str, ...]:
    """The line under a figure."""
    path = fact(table, "checkpoint", {k: table[k][0] for k in table.axes})
    note = f"positions of {str(path).rpartition('/')[2]}" if path else "a ViT trained on digits"
    trials = None if path else table.manifest.get("configuration", {}).get("trials")
    return provenance(scale=table.manifest.get("scale", ""), trials=trials, note=note)


figure = Figure(
    name="fig1a",
    title="similarity of positions, at the start and trained",
    statement="after training, the encodings of neighbouring patches are similar",
    setups={"smoke": setup(100, 2), "small": setup(1500, 3), "paper": setup(1500, 20)},
    claims=(CLAIM,),
    draws={"similarity": draw},
    summary=summary,
    reference="Figure 1(a)",
    departures="the paper shows ViT-small/32 trained on ImageNet. Without a file a one-layer ViT is"
    " trained on 8 x 8 digits; with checkpoint=FILE its positions are read. The class token is left"
    " out; the similarity is divided by its largest entry; maps are cut at .55 from above and at 0"
    " from below; the score and its threshold are ours",
)
