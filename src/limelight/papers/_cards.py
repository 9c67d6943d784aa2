"""What is said of a figure before it is run, kept as data: its recipe would load JAX to say it.

`cards.json` holds one card per figure, and a digest of each paper's files: cards of other files
are not used. `python -m limelight.papers._cards` makes them anew; a test compares the two.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight._core.files import write_whole
from limelight.papers import KEYS, load
from limelight.papers._costs import cost_of

if TYPE_CHECKING:
    from limelight.papers.contents import Paper
    from limelight.papers.recipe import Figure

CARDS = "cards.json"


def card_of(paper: "Paper", name: str) -> dict[str, Any]:
    """A figure in plain values, and what its published run took; loads a recipe without a card."""
    kept = _kept()
    known = paper.key in KEYS and kept["files"].get(paper.key) == digest(paper.key)
    card = kept["cards"][f"{paper.key}/{name}"] if known else make_card(paper.figure(name))
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
        "sizes": figure.sizes,
        "claims": [
            {
                "claim": c.name,
                "statement": c.statement,
                "rule": c.rule_text,
                "reference": c.reference,
                "kind": c.kind,
                "fixed": c.fixed,
            }
            for c in figure.claims
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
    """The card of every figure, from its recipe, and the digest of every paper's files."""
    figures = [figure for key in KEYS for figure in load(key).figures]
    cards = {f"{figure.paper}/{figure.name}": make_card(figure) for figure in figures}
    return {"files": {key: digest(key) for key in KEYS}, "cards": cards}


def digest(key: str) -> str:
    """What a paper's recipes are made of, in its own folder."""
    folder = Path(__file__).parent / key
    files = sorted(path for path in folder.iterdir() if path.suffix in (".py", ".json"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def write() -> None:
    """Make the cards anew, one per line."""
    made = gather()
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made["cards"].items())
    text = f'{{"files": {json.dumps(made["files"])},\n"cards": {{\n{lines}\n}}}}\n'
    write_whole(Path(__file__).parent / CARDS, text.encode())


@functools.cache
def _kept() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / CARDS).read_text(encoding="utf-8"))


if __name__ == "__main__":
    write()
