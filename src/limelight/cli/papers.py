"""`limelight papers`: what is here."""

from limelight.cli.common import Json, console, emit, say


def papers(json: bool = Json) -> None:
    """List the papers, their figures and their claims.

    Examples: limelight papers   |   limelight papers --json
    """
    from limelight.papers import KEYS, load

    found = [load(key) for key in KEYS]
    if json:
        emit(
            [
                {
                    "key": paper.key,
                    "title": paper.title,
                    "figures": [figure.name for figure in paper.figures],
                    "claims": [claim.name for claim in paper.claims],
                }
                for paper in found
            ]
        )
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("key", "title", "figures", "statements", "claims"):
        grid.add_column(title)
    for paper in found:
        grid.add_row(
            paper.key,
            paper.title,
            ", ".join(figure.name for figure in paper.figures),
            ", ".join(statement.label for statement in paper.statements),
            str(len(paper.claims)),
        )
    console().print(grid)
    say("\nNext: limelight show KEY, or limelight run KEY FIGURE --scale smoke")
