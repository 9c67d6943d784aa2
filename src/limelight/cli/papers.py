"""`limelight papers`: what is here."""

from limelight.cli.options import Json
from limelight.cli.text import emit, print_title, say


def papers(json: bool = Json) -> None:
    """List the papers, their figures and their statements.

    Examples:
      limelight papers
      limelight papers --json
    """
    from limelight.papers import KEYS, load

    papers = [load(key) for key in KEYS]
    if json:
        emit([paper_json(paper) for paper in papers])
        return
    for paper in papers:
        print_title(paper.key, paper.title)
        parts = {
            "figures": ", ".join(paper.titles),
            "statements": ", ".join(statement.label for statement in paper.statements),
        }
        for name, text in parts.items():
            say(f"{name:11} {text}", indent=2, hang=12)
        say()
    say("Next: limelight show KEY, or limelight run KEY FIGURE --scale smoke")


def paper_json(paper) -> dict:
    """A paper for machines."""
    return {
        "key": paper.key,
        "title": paper.title,
        "figures": list(paper.titles),
        "statements": [statement.label for statement in paper.statements],
    }
