"""`limelight cite`: BibTeX for what was used."""

from pathlib import Path

from typer import Argument, echo

from limelight.cli.options import Json
from limelight.cli.text import emit
from limelight.core.errors import InputError, suggest


def cite(
    what: str = Argument(metavar="WHAT", help="A run folder, a table.parquet, or a paper's key."),
    json: bool = Json,
) -> None:
    """Print BibTeX for the paper and the software behind a run.

    Examples:
      limelight cite li2023
      limelight cite runs/li2023-fig1a-small > used.bib
    """
    from limelight.papers import KEYS
    from limelight.papers.published import entries

    key = what if what in KEYS else _key_of(what)
    found = entries([key, "limelight", "jax", "equinox", "optax"])
    if json:
        emit([{"key": name, "bibtex": text} for name, text in found.items()])
    else:
        echo("\n\n".join(found.values()))


def _key_of(place: str) -> str:
    """The paper behind a run or a table."""
    from limelight.papers import KEYS
    from limelight.papers.published import open_manifest, recipe_of

    if not Path(place).exists():
        raise InputError(f"{place} is neither a paper nor a run folder", suggest(place, list(KEYS)))
    return recipe_of(open_manifest(place), place).paper
