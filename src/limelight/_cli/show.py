"""`limelight show`: a paper, a figure or a statement."""

import typer

from limelight._cli.options import Json, Key, settings
from limelight._cli.text import emit, plural, print_title, say, sentence, typeset


def show(
    key: str = Key,
    words: list[str] | None = typer.Argument(
        None,
        metavar="[LABEL] [NAME=VALUE]...",
        help="A figure, or a statement and its settings; if none is given, the whole paper.",
    ),
    sets: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of a statement. May be repeated."
    ),
    everything: bool = typer.Option(
        False,
        "--all",
        metavar="",
        help="Also list every numbered item of the paper, and where to find it here.",
    ),
    json: bool = Json,
) -> None:
    """Show a paper or a figure, or evaluate a statement at given settings.

    Examples:
      limelight show li2023
      limelight show li2023 --all
      limelight show li2023 fig1a
      limelight show li2023 theorem1 --set relevant=0.3 rate=0.5
    """
    from limelight._core.errors import InputError
    from limelight.papers import load
    from limelight.papers._cards import card_of
    from limelight.papers.contents import Statement

    labels = [word for word in words or [] if "=" not in word]
    if len(labels) > 1:
        raise InputError(f"one label, not {' and '.join(labels)}", "limelight show KEY LABEL")
    label = labels[0] if labels else ""
    paper, chosen = load(key), settings([*sets, *(w for w in words or [] if "=" in w)])
    if not label and chosen and paper.statements:
        label = paper.statements[0].label
    if not label:
        emit(paper_json(paper)) if json else print_paper(paper, key, everything)
        return
    figure = paper.renamed.get(label, label)
    item = card_of(paper, figure) if figure in paper.titles else statement_of(paper, label)
    if isinstance(item, Statement):
        bound = item.evaluate(chosen)
        if json:
            emit(bound.as_json())
        else:
            say(f"{paper.key} {item.label}: {typeset(item.title)}\n\n{typeset(str(bound))}", hang=4)
            if item.settings:
                taken = {**item.settings, **chosen}
                told = ", ".join(f"{name}={briefly(value)}" for name, value in taken.items())
                say(f"\nSettings: {told}", hang=4)
        return
    if chosen:
        raise InputError("--set needs a statement here", f"limelight run {key} {label} takes --set")
    emit(item) if json else print_figure(paper, item, key)


def statement_of(paper, label: str):
    """A statement; who asks for a claim is told where it is shown."""
    from limelight._core.errors import InputError
    from limelight.papers._cards import card_of

    try:
        return paper.find(label)
    except InputError:
        for figure in paper.titles:
            if label in (claim["claim"] for claim in card_of(paper, figure)["claims"]):
                hint = (
                    f"limelight verify {paper.key} {label}, or limelight show {paper.key} {figure}"
                )
                raise InputError(f"{label} is a claim of {paper.key} {figure}", hint) from None
        raise


def briefly(value: object) -> object:
    """A setting as one would type it: of a long fraction six digits."""
    return f"{value:.6g}" if isinstance(value, float) and len(repr(value)) > 8 else value


def paper_json(paper) -> dict:
    """A paper for machines."""
    return {
        "key": paper.key,
        "title": paper.title,
        "authors": paper.authors,
        "venue": paper.venue,
        "symbols": dict(paper.symbols),
        "statements": {s.label: s.title for s in paper.statements},
        "figures": paper.titles,
        "items": [item.as_json() for item in paper.items],
    }


def print_paper(paper, key: str, everything: bool = False) -> None:
    """A paper for people."""
    print_title(paper.key, paper.title)
    say(f"{paper.authors}. {paper.venue}")
    parts = {
        "Figures": paper.titles,
        "Statements": {statement.label: statement.title for statement in paper.statements},
        "Symbols, and their names here": dict(paper.symbols),
    }
    # Symbols are letters, all others are names that one types.
    parts = {
        title: {typeset(name) if "Symbols" in title else name: text for name, text in these.items()}
        for title, these in parts.items()
    }
    width = max(14, *(len(name) for entries in parts.values() for name in entries))
    for title, entries in parts.items():
        if entries:
            say(f"\n{title}")
        for name, text in entries.items():
            say(f"  {name:{width}} {typeset(text)}", hang=width + 1)
    if paper.items:
        print_items(paper.items, key, everything)
    first = next(iter(paper.titles), "FIGURE")
    say(f"\nNext: limelight show {key} {first}")


def print_items(items, key: str, everything: bool) -> None:
    """How many numbered items of a paper are here; each of them, and where, when asked for."""
    from limelight.papers.coverage import counts

    found = counts(items)
    say(f"\nNumbered items of the paper: {found['here']} of {found['items']} are here")
    if not everything:
        say(f"  each of them: limelight show {key} --all")
        return
    for item in items:
        say(f"  {item.label}: {typeset(item.says)}", hang=4)
        say(", ".join(item.where) or f"not here: {typeset(item.why)}", indent=6, hang=2)


def together(paths: str) -> str:
    """An axis for people: settings that change together are listed."""
    *first, last = paths.split(" with ")
    return f"{', '.join(first)} and {last} together" if first else last


def print_figure(paper, card, key: str) -> None:
    """A figure for people."""
    title = f"{card['title']} ({card['reference']})"
    print_title(f"{paper.key} {card['name']}", typeset(title))
    say(typeset(sentence(f"\n{card['lead']}")), hang=2)
    say(typeset(sentence(f"Departures: {card['departures']}")), hang=2)
    say("\nClaims")
    for claim in card["claims"]:
        say(f"{claim['claim']}: {typeset(claim['statement'])}", indent=2, hang=4)
        say(typeset(sentence(claim["rule"])), indent=6)
    say("\nScales")
    for name, scale in card["scales"].items():
        swept = scale["axes"].items()
        axes = "; ".join(f"{together(k)}: {plural(len(v), 'value')}" for k, v in swept)
        say(f"{name:6} {axes}; {plural(scale['trials'], 'trial')} per cell.", indent=2, hang=7)
        if name == "paper":
            say(typeset(sentence(f"Sizes: {card['sizes']}")), indent=9)
        if scale["cost"]:
            say(f"Published run: {scale['cost']}.", indent=9)
    say(f"\nRun it: limelight run {key} {card['name']} --scale smoke")
