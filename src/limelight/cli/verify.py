"""`limelight verify`: every claim, decided."""

from pathlib import Path

from typer import Argument, Exit, Option

from limelight.cli.options import Json, Seed, Stall, check_stall, folder
from limelight.cli.progress import Bar, Stopped, busy
from limelight.cli.text import emit, plural, print_verdicts, say, tell

FIELDS = ("claim", "statement", "verdict", "value", "interval", "n", "rule", "source", "note")


def verify(
    keys: list[str] = Argument([], metavar="KEY", help="Papers; all of them if none is given."),
    scale: str = Option("smoke", "--scale", "-s", metavar="SCALE", help="smoke, small or paper."),
    results: Path | None = folder(
        None, help="Decide from published tables in this folder; run nothing."
    ),
    store: Path = folder(Path("runs"), help="Where runs are kept and resumed."),
    seed: int = Seed,
    stall: float = Stall,
    json: bool = Json,
) -> None:
    """Decide every claim: holds, fails or inconclusive, with numbers.

    Runs every figure at the scale, or reads published tables. Leaves with 0 if every claim was
    decided or marked, with 1 if a run failed.

    Examples:
      limelight verify
      limelight verify li2023 --scale small
      limelight verify --results results/ --json
    """
    check_stall(stall)
    with busy("loading"):
        from limelight.papers import KEYS, load
        from limelight.papers.published import decide_published

        papers = [load(key) for key in keys or KEYS]
        verdicts = [v for p in papers for v in decide_published(p, results)] if results else []
    failed: list[str] = []
    if results is None:
        verdicts = decide_all(papers, scale, store, seed, stall, failed)
    if json:
        rows = [verdict.as_json() for verdict in verdicts]
        emit([{name: row[name] for name in FIELDS} for row in rows])
    else:
        print_verdicts(verdicts, rules=False)
        count = lambda word: sum(v.verdict == word for v in verdicts)
        say(
            f"\n{plural(len(verdicts), 'claim')}: {count('holds')} hold, {count('fails')} fail,"
            f" {count('inconclusive')} inconclusive\n"
            "The rule of each: limelight show KEY FIGURE, or limelight verify --json"
        )
    for line in failed:
        tell(f"error: {line}")
    if failed:
        raise Exit(1)


def decide_all(papers, scale: str, store: Path, seed: int, stall: float, failed: list[str]) -> list:
    """Every claim from runs at a scale; what failed is added to the list and the rest goes on."""
    from limelight.papers.published import decide_running

    verdicts = []
    for figure in (figure for paper in papers for figure in paper.figures):
        try:
            with Bar(f"{figure.paper} {figure.name}") as bar:
                found, error = decide_running(figure, scale, store, seed, stall, bar)
        except KeyboardInterrupt:
            raise Stopped(
                f"at {figure.paper} {figure.name}; what was computed is stored in {store}",
                "the same command goes on from here",
            ) from None
        verdicts += found
        if error is not None:
            failed.append(f"{figure.paper} {figure.name}: {error}")
    return verdicts
