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
    parts = {
        paper: {"figures": [*paper.titles], "statements": [s.label for s in paper.statements]}
        for paper in papers
    }
    if json:
        emit([{"key": paper.key, "title": paper.title, **parts[paper]} for paper in papers])
        return
    for paper in papers:
        print_title(paper.key, paper.title)
        for name, labels in parts[paper].items():
            say(f"{name:11} {', '.join(labels)}", indent=2, hang=12)
        say()
    say("Next: limelight show KEY, or limelight run KEY FIGURE --scale smoke")
