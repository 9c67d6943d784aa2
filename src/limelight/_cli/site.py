"""`limelight site`: the gallery, a folder of pages."""

from pathlib import Path

import typer

from limelight._cli.options import Json, PaperAt, paper_at
from limelight._cli.progress import busy
from limelight._cli.text import emit, say, tell


def site(
    tables: Path = typer.Argument(metavar="RESULTS", help="A folder of published tables."),
    output: Path = typer.Option(
        Path("site"), "-o", "--output", metavar="FOLDER", help="The folder to write."
    ),
    paper: str | None = PaperAt,
    json: bool = Json,
) -> None:
    """Write a gallery of pages: every claim with its verdict, every paper, every figure.

    The pages open from disk without a server or a network. Tables of a paper that is not at hand,
    or that cannot be loaded, are left out, and a line says so.

    Examples:
      limelight site results/
      limelight site results/ -o public
      limelight site results/ --paper ./mine.py
    """
    left: list[str] = []
    with busy("writing the pages"):
        from limelight.papers.gallery import write_gallery

        try:
            pages = write_gallery(tables, output, paper_at(paper), left.append)
        finally:
            for line in left:
                tell(line)
    if json:
        emit({"file": str(pages[0]), "pages": len(pages)})
    else:
        say(f"Written: {pages[0]} and {len(pages) - 1} more pages")
