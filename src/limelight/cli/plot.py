"""`limelight plot`: draw a run."""

from pathlib import Path

import typer

from limelight.cli.common import Json, emit, say


def plot(
    store: Path = typer.Argument(help="A run folder or a table.parquet."),
    output: Path | None = typer.Option(None, "-o", "--output", help="A .png, .svg or .pdf file."),
    json: bool = Json,
) -> None:
    """Draw the figure of a run from its table alone.

    Examples: limelight plot runs/li2023-fig1a-small -o fig1a.pdf
    """
    from limelight.papers.published import open_table, recipe_of
    from limelight.plot import save

    table = open_table(store)
    recipe = recipe_of(table.manifest, store)
    folder = store if store.is_dir() else store.parent
    drawn = recipe.plots(table)
    files = []
    for number, (name, picture) in enumerate(drawn.items()):
        path = output or folder / f"{recipe.name}.png"
        if number:  # the first picture is the figure itself, the others stand beside it
            path = path.with_stem(f"{path.stem}-{name}")
        save(picture, path)
        files.append(str(path))
    emit({"figure": recipe.name, "files": files}) if json else say("drawn: " + ", ".join(files))
