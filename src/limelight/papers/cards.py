"""What is said of a figure before it is run, kept as data: its recipe would load JAX to say it.

`cards.json` holds one card per figure; `gather` makes them from the recipes, and a test compares
the two.
"""

import functools
import importlib.resources
import json
from typing import TYPE_CHECKING, Any

from limelight.papers import KEYS, load
from limelight.papers.costs import cost_of

if TYPE_CHECKING:
    from limelight.papers.contents import Paper
    from limelight.papers.recipe import Figure


def card_of(paper: "Paper", name: str) -> dict[str, Any]:
    """A figure in plain values, and what its published run took; loads a recipe without a card."""
    card = _kept().get(f"{paper.key}/{name}") or make_card(paper.figure(name))
    cost = cost_of(paper.key, name)
    scales = {at: {**scale, "cost": cost.get(at)} for at, scale in card["scales"].items()}
    return {**card, "scales": scales}


def make_card(figure: "Figure") -> dict[str, Any]:
    """What a recipe says, in plain values: its words, its claims, and what each scale sweeps."""
    setups = {scale: figure.setup(scale) for scale in figure.scales}
    return {
        "name": figure.name,
        "title": figure.title,
        "statement": figure.statement,
        "lead": figure.lead,
        "reference": figure.reference,
        "departures": figure.departures,
        "claims": [
            {"claim": c.name, "statement": c.statement, "rule": c.rule_text} for c in figure.claims
        ],
        "scales": {
            scale: {
                "axes": {
                    paths if isinstance(paths, str) else " with ".join(paths): list(values)
                    for paths, values in setup.axes.items()
                },
                "trials": setup.trials,
            }
            for scale, setup in setups.items()
        },
    }


def gather() -> dict[str, dict[str, Any]]:
    """The card of every figure, from its recipe."""
    figures = [figure for key in KEYS for figure in load(key).figures]
    return {f"{figure.paper}/{figure.name}": make_card(figure) for figure in figures}


@functools.cache
def _kept() -> dict[str, Any]:
    return json.loads((importlib.resources.files("limelight.papers") / "cards.json").read_text())
