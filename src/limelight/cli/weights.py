"""`limelight weights`: the networks that a run has trained, as files."""

from pathlib import Path

from typer import Argument

from limelight.cli.options import Json, folder
from limelight.cli.progress import busy
from limelight.cli.text import emit, say, tell
from limelight.core.errors import InputError


def weights(
    store: Path = Argument(metavar="FOLDER", help="A run folder."),
    output: Path | None = folder(
        None, "-o", "--output", help="For the files; the run's own if not given."
    ),
    json: bool = Json,
) -> None:
    """Write the networks that a run keeps as safetensors, under timm's names.

    Few figures keep them. Other figures start from these files, and bound, probe and prune read
    them.

    Examples:
      limelight weights runs/starts -o starts
      limelight weights runs/li2023-fig6-starts-small --json
    """
    with busy("writing"):
        from limelight.papers.published import open_table, recipe_of, unfinished

        table = open_table(store)
        recipe = recipe_of(table.manifest, store)
        if recipe.save is None:
            raise InputError(f"{recipe.name} keeps no networks", "li2023 fig6-starts does")
        place = output or (store if store.is_dir() else store.parent)
        if place.exists() and not place.is_dir():
            raise InputError(f"{place} is a file", "name a folder")
        files = [str(path) for path in recipe.save(table, place)]
    if unfinished(table):
        tell(f"note: the run is not finished: {unfinished(table)}")
    emit({"figure": recipe.name, "files": files}) if json else say("written: " + ", ".join(files))
