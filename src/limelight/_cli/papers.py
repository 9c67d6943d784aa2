"""`limelight papers`: what is here."""

from limelight._cli.options import Json
from limelight._cli.text import emit, plural, print_title, say, tell


def papers(json: bool = Json) -> None:
    """List the papers, their figures and their statements.

    Examples:
      limelight papers
      limelight papers --json
    """
    from limelight.papers import known, load_each

    papers, failed = load_each(known())
    if json:
        broken = [{"key": key, "error": why} for key, why in failed.items()]
        emit([*(paper_json(paper) for paper in papers), *broken])
        return
    for paper in papers:
        print_title(paper.key, paper.title)
        parts = {
            "figure": list(paper.titles),
            "statement": [statement.label for statement in paper.statements],
        }
        for word, names in parts.items():
            if names:
                say(f"{plural(len(names), word) + ':':15} {', '.join(names)}", indent=2, hang=16)
        say()
    for why in failed.values():
        tell(f"error: {why}")
    say("Next: limelight show KEY, or limelight run KEY FIGURE --scale smoke")


def paper_json(paper) -> dict:
    """A paper for machines."""
    return {
        "key": paper.key,
        "title": paper.title,
        "figures": list(paper.titles),
        "statements": [statement.label for statement in paper.statements],
    }
