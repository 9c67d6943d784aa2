"""`limelight plot`: draw a run."""

from pathlib import Path

import typer

from limelight._cli.options import Json, PaperAt, check_output, paper_at
from limelight._cli.progress import busy
from limelight._cli.text import emit, say, tell
from limelight._core.errors import InputError


def plot(
    store: Path = typer.Argument(metavar="FOLDER", help="A run folder or a table.parquet file."),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The .png, .svg or .pdf file to write."
    ),
    measure: str | None = typer.Option(
        None,
        "--measure",
        metavar="NAME",
        help="Draw this measure over the axes, instead of the figure.",
    ),
    paper: str | None = PaperAt,
    json: bool = Json,
) -> None:
    """Draw the figure of a run from its table alone.

    The first picture is the figure itself; further pictures of the same run are written beside it.
    If no file is named, they go into the run's folder. For a run of your own, or one whose paper
    is not at hand, every measure is drawn over its axes.

    Examples:
      limelight plot runs/li2023-fig1a-small
      limelight plot runs/li2023-fig1a-small -o fig1a.pdf
      limelight plot runs/mine --measure test_loss
      limelight plot results/li2023/fig4/table.parquet -o fig4.svg --json
    """
    if output is not None:
        check_output(output, ".png", ".svg", ".pdf")
    with busy("drawing"):
        from limelight.papers.published import find_recipe, open_table, pictures_of, unfinished
        from limelight.plot import save

        table = open_table(store)
        recipe = find_recipe(table.manifest, paper_at(paper))
        folder = store if store.is_dir() else store.parent
        name = recipe.name if recipe else folder.resolve().name
        first = output or folder / f"{name}.png"
        files = []
        try:
            drawn = pictures_of(table, recipe, measure)
        except InputError as error:
            if not unfinished(table) or measure:
                raise
            raise InputError(
                f"this figure cannot be drawn yet: {error.message}", f"limelight resume {store}"
            ) from None
        for number, (what, picture) in enumerate(drawn.items()):
            path = first.with_stem(f"{first.stem}-{what}") if number else first
            save(picture, path)
            files.append(str(path))
    if unfinished(table):
        tell(f"note: the run is not finished: {unfinished(table)}")
    emit({"figure": name, "files": files}) if json else say("Drawn: " + ", ".join(files))
