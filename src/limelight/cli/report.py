"""`limelight report`: one self-contained page."""

from pathlib import Path

from typer import Argument

from limelight.cli.options import Json, check_output, file
from limelight.cli.progress import busy
from limelight.cli.text import emit, say


def report(
    stores: list[Path] = Argument(metavar="FOLDER", help="Run folders, or table.parquet files."),
    output: Path = file(Path("report.html"), "-o", "--output", help="The page to write."),
    json: bool = Json,
) -> None:
    """Write one HTML page: claims with verdicts, figures, settings, cost, how to rerun.

    Examples:
      limelight report runs/li2023-fig1a-small
      limelight report runs/li2023-fig1a-small runs/li2023-fig4-small -o page.html
    """
    check_output(output, ".html", ".htm")
    with busy("writing the page"):
        from limelight.papers.published import write_page

        write_page(output, stores)
    emit({"file": str(output)}) if json else say(f"written: {output}")
