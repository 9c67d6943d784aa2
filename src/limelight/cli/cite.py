"""`limelight cite`: BibTeX for what was used."""

from pathlib import Path

import typer

from limelight.cli.common import Json, emit, say


def cite(
    what: str = typer.Argument(help="A run folder, a table.parquet, or a paper's key."),
    json: bool = Json,
) -> None:
    """Print BibTeX for the paper and the software behind a run.

    Examples: limelight cite runs/li2023-fig1a-small   |   limelight cite li2023
    """
    from limelight.papers import KEYS, load
    from limelight.papers.published import entries, open_table

    key = what if what in KEYS else load_key(open_table(Path(what)).manifest, what)
    load(key)
    found = entries([key, "limelight", "jax", "equinox", "optax"])
    if json:
        emit([{"key": name, "bibtex": text} for name, text in found.items()])
    else:
        say("\n\n".join(found.values()))


def load_key(manifest, what: str) -> str:
    """The paper behind a manifest."""
    from limelight.core.errors import InputError

    if "paper" not in manifest:
        raise InputError(f"{what} does not say which paper it is from")
    return manifest["paper"]
