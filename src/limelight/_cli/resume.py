"""`limelight resume`: go on where a run stopped."""

from pathlib import Path

import typer

from limelight._cli.options import Json, PaperAt, SameCode, Stall, check_stall, paper_at
from limelight._cli.progress import Bar
from limelight._cli.run import named, stopped, took, work
from limelight._cli.text import emit, say


def resume(
    store: Path = typer.Argument(metavar="FOLDER", help="A run folder."),
    stall: float = Stall,
    same_code: bool = SameCode,
    paper: str | None = PaperAt,
    json: bool = Json,
) -> None:
    """Compute what is missing from a run.

    The folder says which study it is, so nothing else needs to be given again. Several processes
    may resume one folder at once.

    Examples:
      limelight resume runs/li2023-fig1a-small
      limelight resume runs/li2023-fig1a-small --stall 7200 --json
    """
    from limelight._engine.reading import check_is_run, read_manifest
    from limelight.papers.published import how_to_go_on, recipe_of

    check_is_run(store)
    manifest = read_manifest(store)
    if isinstance(manifest.get("paper"), str):
        seed, settings = how_to_go_on(manifest, store)
        recipe = recipe_of(manifest, store, paper_at(paper))
        there = named(paper) if paper else ""
        work(recipe, store, manifest["scale"], seed, settings, None, stall, same_code, json, there)
    else:
        plain(store, stall, same_code, json)


def plain(store: Path, stall: float, same_code: bool, json: bool) -> None:
    """Go on with a study that belongs to no paper."""
    from limelight.papers.published import resume as go_on

    check_stall(stall)
    bar = Bar(store.name)
    try:
        with bar:
            table = go_on(store, progress=bar, stall=stall, same_code=same_code)
    except KeyboardInterrupt:
        raise stopped(store, bar.last) from None
    if json:
        emit({"store": str(store), "trials": len(table), "seconds": round(bar.last.seconds, 3)})
    else:
        say(f"{took(bar.last, len(table))}\n{table}")
