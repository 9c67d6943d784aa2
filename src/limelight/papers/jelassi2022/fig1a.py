"""Figure 1(a): the positions of a trained ViT are similar to those of their neighbours.

By default a small ViT is trained on the bundled digits; a real one is read from a file:

    limelight run jelassi2022 fig1a --set checkpoint=deit_tiny.safetensors
"""

import numpy as np

from limelight.claims import AtLeast, Estimate, Undecided
from limelight.experiments.classify import Classify
from limelight.experiments.encodings import Encodings
from limelight.fit import tabulate
from limelight.papers.jelassi2022.images import LIGHTEST
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import Picture, similarity_maps
from limelight.table import Table
from limelight.worlds.images import Images

#: What trained positions must exceed, beside every fresh draw.
LEAST = 0.1


@claim(
    "fig1a",
    "Trained positions are local, by 0.1 or more and beyond each of 200 fresh draws.",
    AtLeast(0.0),
    at="jelassi2022, Figure 1(a)",
    fixed="pilot",
)
def local(table: Table) -> Estimate:
    """Locality less the larger of .1 and the largest of 200 fresh draws, worst trial."""
    trained, largest = table["locality"].astype(float), table["largest"].astype(float)
    worst = int(np.argmin(trained - np.maximum(largest, LEAST)))
    here, fresh = trained[worst], largest[worst]
    note = f"locality {here:.3f}, largest of the fresh draws {fresh:.3f}"
    if fresh <= here <= LEAST:
        raise Undecided(f"{note}: above luck, below {LEAST:g}", n=len(trained))
    return Estimate(float(here - max(fresh, LEAST)), None, len(trained), note)


def summary(table: Table) -> list[str]:
    """Locality and nearest neighbours, trained and fresh."""
    columns = {
        "locality": "locality",
        "largest of fresh draws": "largest",
        "nearest is a neighbour's": "neighbours",
        "fresh": "neighbours_fresh",
    }
    title = "locality, and the share of patches whose nearest encoding is that of a neighbour"
    return tabulate(table, "trial", columns, title=title)


def draw(table: Table) -> Picture:
    """Every patch's similarity to all others, as a grid of maps: at the start and trained."""
    panels = [("at the start", table["trace.fresh"][0]), ("trained", table["trace.similarity"][0])]
    first = table.rows(np.array([0]))
    path = first.setting("checkpoint", default="")
    source = f"positions of {str(path).rpartition('/')[2]}" if path else "a ViT trained on digits"
    note = (source, "one map per patch: its similarity to all patches")
    return similarity_maps(panels, LIGHTEST, "similarity of positions", note=note)


figure = Figure(
    statement="after training, the encodings of neighbouring patches are similar",
    trial=Encodings(study=Classify(Images(unit=False))),
    grid={"draws": [200]},
    trials=20,
    scales=scales(
        smoke=Scale(trials=2, settings={"study.course.steps": 100}), small=Scale(trials=3)
    ),
    claims=(local,),
    pictures={"similarity": draw},
    summary=summary,
    reference="Figure 1(a)",
    sizes="one checkpoint, or a small network where none is given: the paper shows ViT-"
    "small/32 on ImageNet",
    departures="the paper shows ViT-small/32 trained on ImageNet. Without a file a one-layer ViT is"
    " trained on 8 x 8 digits; with checkpoint=FILE its positions are read. The class token is left"
    " out; the similarity is divided by its largest entry; maps are cut at .55 from above and at 0"
    " from below; the score and its threshold are ours",
)
