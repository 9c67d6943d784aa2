"""`limelight weights`: the networks that a run has trained, as files."""

from pathlib import Path

import typer

from limelight._cli.options import Json
from limelight._cli.progress import busy
from limelight._cli.text import emit, say, tell


def weights(
    store: Path = typer.Argument(metavar="FOLDER", help="A run folder."),
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FOLDER",
        help="The folder for the files; the run's own folder if not given.",
    ),
    json: bool = Json,
) -> None:
    """Write the trained networks of a run as safetensors, with timm's names.

    Only a few figures keep their networks. The files can be read by bound, probe and prune, and
    some figures start from them.

    Examples:
      limelight weights runs/starts -o starts
      limelight weights runs/li2023-fig6-starts-small --json
    """
    from limelight._core.errors import InputError

    with busy("writing"):
        from limelight.papers.published import open_table, recipe_of, unfinished

        table = open_table(store)
        recipe = recipe_of(table.manifest, store)
        if recipe.save is None:
            raise InputError(f"{recipe.name} keeps no networks", "li2023 fig6-starts does")
        folder = output or (store if store.is_dir() else store.parent)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file", "name a folder")
        files = [str(path) for path in recipe.save(table, folder)]
    if unfinished(table):
        tell(f"note: the run is not finished: {unfinished(table)}")
    emit({"figure": recipe.name, "files": files}) if json else say("Written: " + ", ".join(files))
