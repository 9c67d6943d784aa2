"""`limelight publish`: finished runs, put among the published results."""

from pathlib import Path

import typer

from limelight._cli.options import Json, PaperAt, paper_at
from limelight._cli.progress import busy
from limelight._cli.text import emit, say


def publish(
    stores: list[Path] = typer.Argument(metavar="RUN...", help="Finished run folders."),
    output: Path = typer.Option(
        Path("results"), "--output", "-o", metavar="FOLDER", help="The folder of published results."
    ),
    paper: str | None = PaperAt,
    json: bool = Json,
) -> None:
    """Copy finished runs into the published results: tables, manifests and pictures.

    It does not matter where a run was computed, or by how many processes. Trained weights are not
    copied. A table of another scale is not replaced.

    Examples:
      limelight publish runs/li2023-fig1a-paper
      limelight publish /shared/a /shared/b -o results/
    """
    from limelight.papers.published import check_whole, place_for, recipe_of
    from limelight.papers.published import publish as put

    beside = paper_at(paper)
    for store in stores:  # all of them before any is written
        table = check_whole(store, beside)
        place_for(table, recipe_of(table.manifest, store, beside), output)
    places = []
    for store in stores:
        with busy(f"publishing {store.name}"):
            places.append(put(store, output, beside))
        if not json:
            say(f"{store} is published in {places[-1]}")
    if json:
        emit([{"store": str(s), "published": str(p)} for s, p in zip(stores, places, strict=True)])
