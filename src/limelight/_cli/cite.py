"""`limelight cite`: BibTeX for what was used."""

import typer

from limelight._cli.options import Json, PaperAt, paper_at
from limelight._cli.text import emit


def cite(
    what: str = typer.Argument(
        metavar="WHAT", help="A run folder, a table.parquet file or a paper's key."
    ),
    paper: str | None = PaperAt,
    json: bool = Json,
) -> None:
    """Print BibTeX for a run: its paper and the software.

    A study of your own has no paper.

    Examples:
      limelight cite li2023
      limelight cite runs/li2023-fig1a-small > used.bib
    """
    from limelight.papers import known, load
    from limelight.papers._outside import holds_paper
    from limelight.papers.published import entries

    ours = what in known() or holds_paper(what)
    chosen = load(what) if ours else _paper_of(what, paper_at(paper))
    found = entries(chosen, "limelight", "jax", "equinox", "optax")
    if json:
        emit([{"key": name, "bibtex": text} for name, text in found.items()])
    else:
        typer.echo("\n\n".join(found.values()))


def _paper_of(place: str, paper):
    """The paper of a run or a table; a study of somebody's own has none."""
    from pathlib import Path

    from limelight._core.errors import InputError, suggest
    from limelight.papers import known, load
    from limelight.papers.published import open_manifest, recipe_of

    if not Path(place).exists():
        raise InputError(
            f"{place} is neither a paper nor a run folder",
            suggest(place, known()),
        )
    manifest = open_manifest(place)
    if paper is None and "paper" not in manifest:
        return None
    recipe_of(manifest, place, paper)
    return paper or load(manifest["paper"])
