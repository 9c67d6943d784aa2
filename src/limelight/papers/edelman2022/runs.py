r"""Figure 3 with more runs, where its ten leave questions open.

Ten runs a length cannot tell a share of .5 that learn from one of .8, nor place a median within a
factor of three. Here are forty at each of the lengths that the paper learns, with other random
numbers. The rules are those of Figure 3, fixed before either was run.
"""

from dataclasses import replace

from limelight.papers.base import Setup
from limelight.papers.edelman2022 import fig3
from limelight.papers.edelman2022.critical import LENGTH

figure = replace(
    fig3.figure,
    name="fig3-runs",
    title="loss of a network that learns a sparse parity online, forty runs a length",
    statement="how many runs learn within 10,000 iterations, and by when have half of them?",
    setups={
        "smoke": fig3.figure.setups["smoke"],
        "small": replace(fig3.figure.setups["small"], trials=6),
        "paper": Setup(fig3.experiment(), {LENGTH: list(fig3.SHORT)}, 40),
    },
    claims=tuple(
        replace(claim, name=f"runs.{claim.name.split('.')[1]}")
        for claim in fig3.CLAIMS
        if claim.name != "B4.not_beyond"
    ),
    summary=fig3.learned_lines,
    reference="limelight; the protocol of Figure 3",
    cost={
        "smoke": "21 s of processor time, 17 s of it compiling",
        "small": "6 minutes on 2 cores that other work shared",
        "paper": "277 s on one H200, 40 s of it waiting for programs",
    },
    departures="as fig3, without the lengths 60 and 100",
)
