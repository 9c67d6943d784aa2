"""`limelight resume`: go on where a run stopped."""

import shlex
import sys
from pathlib import Path

import typer

from limelight.cli.common import Json, Stall
from limelight.cli.run import work


def resume(
    store: Path = typer.Argument(help="A run folder."),
    stall: float = Stall,
    json: bool = Json,
) -> None:
    """Compute what is missing of a run; several processes may resume one folder at once.

    Examples: limelight resume runs/li2023-fig1a-small
    """
    from limelight.papers.published import recipe_of
    from limelight.store import read_manifest

    manifest = read_manifest(store)
    recipe = recipe_of(manifest, store)
    command = "limelight " + shlex.join(sys.argv[1:])
    work(
        recipe,
        manifest["scale"],
        store,
        manifest["seed"],
        manifest["settings"],
        None,
        stall,
        command,
        json,
    )
