"""`limelight plot`: draw a run."""

from pathlib import Path

from typer import Argument

from limelight.cli.options import Json, check_output, file
from limelight.cli.progress import busy
from limelight.cli.text import emit, say, tell


def plot(
    store: Path = Argument(metavar="FOLDER", help="A run folder or a table.parquet."),
    output: Path | None = file(None, "-o", "--output", help="A .png, .svg or .pdf file."),
    json: bool = Json,
) -> None:
    """Draw the figure of a run from its table alone.

    The first picture is the figure itself; others of the same run are put beside it. Without a
    file name they are put into the run's folder.

    Examples:
      limelight plot runs/li2023-fig1a-small
      limelight plot runs/li2023-fig1a-small -o fig1a.pdf
      limelight plot results/li2023/fig4/table.parquet -o fig4.svg --json
    """
    if output is not None:
        check_output(output, ".png", ".svg", ".pdf")
    with busy("drawing"):
        from limelight.papers.published import open_table, recipe_of, unfinished
        from limelight.plot import save

        table = open_table(store)
        recipe = recipe_of(table.manifest, store)
        folder = store if store.is_dir() else store.parent
        first = output or folder / f"{recipe.name}.png"
        files = []
        for number, (name, picture) in enumerate(recipe.plots(table).items()):
            path = first.with_stem(f"{first.stem}-{name}") if number else first
            save(picture, path)
            files.append(str(path))
    if unfinished(table):
        tell(f"note: the run is not finished: {unfinished(table)}")
    emit({"figure": recipe.name, "files": files}) if json else say("drawn: " + ", ".join(files))
