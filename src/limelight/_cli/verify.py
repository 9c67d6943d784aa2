"""`limelight verify`: every claim, decided."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import typer

from limelight._cli.options import Json, Seed, Stall, check_stall
from limelight._cli.progress import Bar, Stopped, busy
from limelight._cli.text import (
    emit,
    interval,
    number,
    print_table,
    print_verdicts,
    say,
    tell,
    typeset,
)

#: Most surprising verdicts that are told before the rest.
SURPRISES = 10


def verify(
    words: list[str] = typer.Argument(
        [], metavar="[KEY|CLAIM]...", help="Papers or single claims; every claim if none is given."
    ),
    scale: str = typer.Option(
        "smoke", "--scale", "-s", metavar="SCALE", help="How large: smoke, small or paper."
    ),
    results: Path | None = typer.Option(
        None,
        "--results",
        metavar="FOLDER",
        help="Decide from the published tables in this folder, and run nothing.",
    ),
    store: Path = typer.Option(
        Path("runs"),
        "--store",
        metavar="FOLDER",
        help="The folder in which runs are kept and resumed.",
    ),
    seed: int = Seed,
    stall: float = Stall,
    everything: bool = typer.Option(
        False, "--all", metavar="", help="List every verdict, not only the counts."
    ),
    json: bool = Json,
) -> None:
    """Decide every claim: holds, fails or inconclusive.

    Runs every figure at the given scale or, with --results, reads published tables, which may
    include those of installed papers. Prints how many claims of each paper hold (the paper's
    own, ours, and those that only check), and the most surprising verdicts. To see every
    verdict, add --all; to see one with its rule, name its claim. The exit code is 1 if a run
    failed, otherwise 0, whatever the verdicts are.

    Examples:
      limelight verify --results results/
      limelight verify li2023 --results results/ --all
      limelight verify li2023 1a.law --results results/
      limelight verify li2023 --scale small
      limelight verify --results results/ --json
    """
    check_stall(stall)
    with busy("loading"):
        from limelight.papers import known, load
        from limelight.papers._outside import is_path
        from limelight.papers.published import decide_published

        words = [part for word in words for part in key_and_claim(word)]
        keys = [word for word in words if word in known() or is_path(word)]
        failed: list[str] = []
        papers = [load(key) for key in keys] or every_paper(results, failed)
        names = named_claims(papers, [word for word in words if word not in keys])
        figures = [f for p in papers for f in p.figures if not names or wanted(f, names)]
    if results is None:
        begins = (lambda: None) if json else cache(lambda: tell_of_runs(len(figures), scale))
        verdicts = decide_all(figures, scale, store, seed, stall, failed, begins)
    else:
        with busy("deciding"):
            whose = {paper.key: paper for paper in papers}
            decide = lambda figure: decide_published(figure, results, whose[figure.paper])
            verdicts = [v for figure in figures for v in guarded(figure, decide, failed)]
    verdicts = [v for v in verdicts if not names or v.claim in names]
    if json:
        emit([verdict.as_json() for verdict in verdicts])
    elif names:
        print_verdicts(verdicts)
    else:
        print_counts(verdicts)
        print_surprises(verdicts)
        if everything:
            print_verdicts(verdicts, rules=False)
        if results is None and scale == "smoke":
            say("\nSmoke scale decides nothing. To decide: --scale small")
        more = "" if everything else "Every verdict: --all. "
        say(f"\n{more}One with its rule: limelight verify KEY CLAIM")
    for line in failed:
        tell(f"error: {line}")
    if failed:
        raise typer.Exit(1)


def key_and_claim(word: str) -> tuple[str, ...]:
    """A word as it is; `li2023.1a.law` as a paper and its claim."""
    from limelight.papers import known
    from limelight.papers._outside import is_path

    key, dot, claim = word.partition(".")
    named = dot and claim and key in known() and not is_path(word)
    return (key, claim) if named else (word,)


def every_paper(results: Path | None, failed: list[str]) -> list:
    """Our papers, and those of installed packages that can be loaded.

    From tables, an installed package is asked only where the folder has some of its paper.
    """
    from limelight._core.errors import InputError
    from limelight.papers import KEYS, known, load_each

    there = lambda key: results is None or (results / key).is_dir()
    papers, broken = load_each(key for key in known() if key in KEYS or there(key))
    found = []
    for paper in papers:
        try:
            found += [paper] if paper.figures else []
        except InputError as error:  # a figure of a stranger's; ours raise what they will
            broken[paper.key] = error.message
    failed += broken.values()
    return found


def guarded(figure, decide, failed: list[str]) -> list:
    """The verdicts on a figure; a stranger's that fails is a line and harms no other."""
    from limelight.papers import KEYS
    from limelight.papers.contents import RAISED, in_a_line

    try:
        return list(decide(figure))
    except RAISED as error:
        if figure.paper in KEYS:
            raise
        why = in_a_line(error)
        failed.append(f"{figure.paper} {figure.name}: {why}")
        return list(figure.unknown(f"it could not be decided: {why}"))


def named_claims(papers, names: list[str]) -> list[str]:
    """The names, when each is a claim of the papers."""
    from limelight._core.errors import InputError, suggest

    known = [claim.name for paper in papers for claim in paper.claims] if names else []
    for name in names:
        if name not in known:
            hint = suggest(name, [*(paper.key for paper in papers), *known])
            if Path(name).exists():
                hint = f"a file or a folder is named by its path: ./{name}"
            elif hint.startswith("known"):  # there are hundreds
                hint = "limelight papers lists papers, limelight show KEY FIGURE lists claims"
            raise InputError(f"no paper or claim {name!r}", hint)
    return names


def wanted(figure, names: list[str]) -> bool:
    """Whether a figure holds one of the claims."""
    return any(claim.name in names for claim in figure.claims)


#: How verdicts are grouped in the table of counts.
GROUPS = {
    "paper": "paper's",
    "ours": "ours",
    "identity": "identities",
    "control": "controls",
    "formula": "formulas",
}


def print_counts(verdicts) -> None:
    """How many claims hold, per paper: the paper's own, ours, and those that only check."""
    from limelight.claims import DECISIONS

    shown = [word for word in DECISIONS if any(v.verdict == word for v in verdicts)]
    rows = []
    for paper in dict.fromkeys(v.paper for v in verdicts):
        name = paper
        for group in GROUPS.values():
            found = [v.verdict for v in verdicts if (v.paper, group_of(v)) == (paper, group)]
            if found:
                rows.append((name, group, *counts(found, shown)))
                name = ""
    rows.append(("all", "", *counts([v.verdict for v in verdicts], shown)))
    numbers = (*(word.replace(" ", "\n") for word in shown), "all")  # narrow enough for 80 columns
    print_table(("paper", "claims", *numbers), rows, right=numbers)


def counts(found: list[str], words: list[str]) -> list[str]:
    """How often each word occurs, and how many there are; nothing for none."""
    return [*(str(found.count(word) or "") for word in words), str(len(found))]


def group_of(verdict) -> str:
    """The row of the table of counts that a verdict is counted in."""
    from limelight.claims import OPEN_KINDS

    if verdict.kind not in OPEN_KINDS:
        return GROUPS[verdict.kind]
    return GROUPS["ours" if verdict.ours else "paper"]


def print_surprises(verdicts) -> None:
    """The paper's own claims that fail most clearly, at most one of each table."""
    from limelight.claims import most_surprising

    chosen = most_surprising(verdicts, SURPRISES)
    if not chosen:
        return
    say("\nMost surprising: claims of the papers that fail most clearly")
    for v in chosen:
        found = number(v.value, v.interval) + (f" ({interval(v.interval)})" if v.interval else "")
        say(f"{v.paper} {v.claim}: {found}. {typeset(v.statement)}", indent=2, hang=2)


def tell_of_runs(figures: int, scale: str) -> None:
    """That many figures are run now, which takes long; and what most people mean."""
    if figures < 2:
        return
    decides = ", which decides nothing" if scale == "smoke" else ""
    tell(f"Running {figures} figures at {scale} scale{decides}.")
    tell("To decide from published tables, and run nothing: --results results/")


def decide_all(
    figures, scale: str, store: Path, seed: int, stall: float, failed: list[str], begins: Callable
) -> list:
    """Every claim from runs at a scale; what failed is added to the list and the rest goes on.

    `begins` is called whenever something is computed: what was asked for makes sense by then.
    """
    from limelight.papers.published import decide_running

    def decide(figure) -> list:
        with Bar(f"{figure.paper} {figure.name}") as bar:
            progress = lambda now: (begins(), bar(now))
            found, error = decide_running(figure, scale, store, seed, stall, progress)
        if error is not None:
            failed.append(f"{figure.paper} {figure.name}: {error}")
        return found

    verdicts = []
    for figure in figures:
        try:
            verdicts += guarded(figure, decide, failed)
        except KeyboardInterrupt:
            raise Stopped(
                f"at {figure.paper} {figure.name}; what was computed is stored in {store}",
                "the same command goes on from here",
            ) from None
    return verdicts
