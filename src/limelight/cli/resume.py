"""`limelight resume`: go on where a run stopped."""

from pathlib import Path

import typer

from limelight.cli.options import Json, SameCode, Stall
from limelight.cli.run import work


def resume(
    store: Path = typer.Argument(metavar="FOLDER", help="A run folder."),
    stall: float = Stall,
    same_code: bool = SameCode,
    json: bool = Json,
) -> None:
    """Compute what is missing of a run; several processes may resume one folder at once.

    The folder says which study it is: nothing else needs to be given again.

    Examples:
      limelight resume runs/li2023-fig1a-small
      limelight resume runs/li2023-fig1a-small --stall 7200 --json
    """
    from limelight.core.errors import InputError
    from limelight.engine.store import read_manifest
    from limelight.papers.published import recipe_of

    if (store / "table.parquet").exists():
        raise InputError(
            f"{store} holds a published table, which is whole",
            f"limelight plot {store} and limelight report {store} read it as it is",
        )
    manifest = read_manifest(store)
    recipe = recipe_of(manifest, store)
    seed, settings = manifest.get("seed"), manifest.get("settings")
    if not isinstance(seed, int) or not isinstance(settings, dict):
        raise InputError(
            f"{store}/manifest.json does not say how to go on",
            "give the limelight run command again, with the same --store",
        )
    work(recipe, store, manifest["scale"], seed, settings, None, stall, same_code, json)
