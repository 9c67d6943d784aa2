"""`limelight papers`: what is here."""

from limelight.cli.common import Json, emit, print_table, say


def papers(json: bool = Json) -> None:
    """List the papers, their figures and their claims.

    Examples:
      limelight papers
      limelight papers --json
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
    rows = [
        (
            paper.key,
            paper.title,
            ", ".join(figure.name for figure in paper.figures),
            ", ".join(statement.label for statement in paper.statements),
            str(len(paper.claims)),
        )
        for paper in found
    ]
    print_table(("key", "title", "figures", "statements", "claims"), rows, right=("claims",))
    say("\nNext: limelight show KEY, or limelight run KEY FIGURE --scale smoke")
