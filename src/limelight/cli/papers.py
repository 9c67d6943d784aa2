"""`limelight papers`: what is here."""

from limelight.cli.common import Json, emit, print_title, say


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
    for paper in found:
        print_title(paper.key, paper.title)
        parts = {
            "figures": ", ".join(figure.name for figure in paper.figures),
            "statements": ", ".join(statement.label for statement in paper.statements),
            "claims": str(len(paper.claims)),
        }
        for name, text in parts.items():
            say(f"{name:11} {text}", indent=2, hang=12)
        say()
    say("Next: limelight show KEY, or limelight run KEY FIGURE --scale smoke")
