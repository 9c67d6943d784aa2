"""`limelight report`: one self-contained page."""

from pathlib import Path

import typer

from limelight._cli.options import Json, PaperAt, check_output, paper_at
from limelight._cli.progress import busy
from limelight._cli.text import emit, say


def report(
    stores: list[Path] = typer.Argument(
        metavar="FOLDER...", help="Run folders or table.parquet files."
    ),
    output: Path = typer.Option(
        Path("report.html"), "-o", "--output", metavar="FILE", help="The page to write."
    ),
    paper: str | None = PaperAt,
    json: bool = Json,
) -> None:
    """Write one HTML page with verdicts, figures, settings and costs.

    Examples:
      limelight report runs/li2023-fig1a-small
      limelight report runs/li2023-fig1a-small runs/li2023-fig4-small -o page.html
    """
    check_output(output, ".html", ".htm")
    with busy("writing the page"):
        from limelight.papers.pages import write_page

        write_page(output, stores, paper_at(paper))
    emit({"file": str(output)}) if json else say(f"Written: {output}")
