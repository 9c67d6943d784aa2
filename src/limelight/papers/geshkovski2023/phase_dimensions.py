"""Close pairs and clusters in three more dimensions, looked at more often."""

from dataclasses import replace

from limelight.experiments.cluster_flow import ClusterFlow
from limelight.papers.geshkovski2023 import phase
from limelight.papers.geshkovski2023.phase import BETAS, RUN, STEP
from limelight.papers.recipe import Finding, Scale, scales
from limelight.worlds.sphere import Sphere

DIMENSIONS = (32, 128, 1024)


def runs(strengths: list[float]) -> list[tuple]:
    """Every dimension at these strengths; 32 tokens span 32 coordinates."""
    return [(d, 32, beta, STEP) for d in DIMENSIONS for beta in strengths]


figure = replace(
    phase.figure,
    statement="when tokens cluster over time and strength, in high dimension: as the flow of equal"
    " angles says",
    trial=ClusterFlow(Sphere(32), looks=200),
    grid={RUN: runs(BETAS)},
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={RUN: [(d, 8, beta, STEP) for d in (32, 1024) for beta in (1.0, 4.0)]},
            settings={"world.tokens": 8, "until": 6.0, "looks": 6},
        ),
        small=Scale(trials=8, grid={RUN: runs(BETAS[2::18])}, settings={"looks": 30}),
    ),
    claims=(
        replace(
            phase.edge_high,
            name="phase.edge-1024",
            statement=phase.edge_high.statement.replace("dimension 512", "dimension 1,024"),
        ),
        replace(
            phase.edge_low,
            name="phase.edge-128",
            statement=phase.edge_low.statement.replace("dimension 64", "dimension 128"),
        ),
        phase.never_back.again("phase.back-high", " (dimensions 32, 128 and 1,024)"),
    ),
    pictures={"phase-dimensions": phase.draw},
    findings={
        "phase-dimensions": Finding(
            "phase.edge-1024",
            holds="In dimension 1,024 pairs close when equal angles say, for strengths up to 5",
        )
    },
    sizes="the paper's: three of its dimensions, 90 strengths, 200 looks, 256 draws per cell",
)
