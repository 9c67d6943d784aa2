"""`limelight verify`: every claim, decided."""

import sys
from pathlib import Path

import typer

from limelight.cli.common import Bar, Json, Seed, Stall, emit, print_verdicts, say


def verify(
    keys: list[str] = typer.Argument(None, help="Papers; all of them without."),
    scale: str = typer.Option("smoke", "--scale", "-s", help="smoke, small or paper."),
    results: Path | None = typer.Option(
        None, "--results", help="Decide from published tables in this folder; run nothing."
    ),
    store: Path = typer.Option(Path("runs"), "--store", help="Where runs are kept and resumed."),
    seed: int = Seed,
    stall: float = Stall,
    json: bool = Json,
) -> None:
    """Decide every claim: holds, fails or inconclusive, with numbers.

    Leaves with 0 if every claim was decided or marked, with 1 if a run failed.

    Examples: limelight verify   |   limelight verify li2023 --scale small   |
    limelight verify --results results/
    """
    from limelight.papers import KEYS, load
    from limelight.papers.published import decide_published, decide_running

    papers = [load(key) for key in keys or KEYS]
    failed: list[str] = []
    if results is not None:
        verdicts = [v for paper in papers for v in decide_published(paper, results)]
    else:
        verdicts = []
        for figure in (figure for paper in papers for figure in paper.figures):
            with Bar(f"{figure.paper} {figure.name}") as bar:
                try:
                    found, error = decide_running(figure, scale, store, seed, stall, bar)
                except KeyboardInterrupt:
                    from limelight.cli.app import leave

                    print("\nstopped; the same command goes on from here", file=sys.stderr)
                    leave(130)
                    return
            verdicts += found
            if error is not None:
                failed.append(f"{figure.paper} {figure.name}: {error}")
    if json:
        fields = ("claim", "statement", "verdict", "value", "interval", "n", "rule", "source")
        rows = [verdict.as_json() for verdict in verdicts]
        emit([{name: row[name] for name in (*fields, "note")} for row in rows])
    else:
        print_verdicts(verdicts)
        count = lambda word: sum(v.verdict == word for v in verdicts)
        say(
            f"\n{len(verdicts)} claims: {count('holds')} hold, {count('fails')} fail,"
            f" {count('inconclusive')} inconclusive"
        )
    for line in failed:
        print(f"error: {line}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)
