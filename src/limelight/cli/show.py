"""`limelight show`: a paper, a figure or a statement."""

import typer

from limelight.cli.common import Json, Settings, console, emit, say, settings


def show(
    key: str = typer.Argument(help="A paper's key, such as li2023."),
    label: str = typer.Argument("", help="A figure or a statement; the whole paper without."),
    sets: list[str] = Settings,
    json: bool = Json,
) -> None:
    """Show a paper's contents, a figure's recipe, or evaluate a statement at given settings.

    Examples: limelight show li2023   |   limelight show li2023 fig1a   |
    limelight show li2023 theorem1 --set relevant=0.3 --set rate=0.5
    """
    from limelight.core.errors import InputError
    from limelight.papers import load
    from limelight.papers.base import Statement

    paper, chosen = load(key), settings(sets)
    if not label and chosen and paper.statements:
        label = paper.statements[0].label
    if not label:
        emit(paper_json(paper)) if json else print_paper(paper)
        return
    item = paper.find(label)
    if isinstance(item, Statement):
        bound = item.evaluate(chosen)
        if json:
            emit(bound.as_json())
        else:
            say(f"{paper.key} {item.label}: {item.title}\n\n{bound}")
            say("\nsettings: " + ", ".join(f"{k}={v}" for k, v in item.settings.items()))
        return
    if chosen:
        raise InputError("--set needs a statement here", f"limelight run {key} {label} takes --set")
    emit(figure_json(item)) if json else print_figure(paper, item)


def paper_json(paper) -> dict:
    """A paper for machines."""
    return {
        "key": paper.key,
        "title": paper.title,
        "authors": paper.authors,
        "venue": paper.venue,
        "symbols": dict(paper.symbols),
        "statements": {s.label: s.title for s in paper.statements},
        "figures": {f.name: f.title for f in paper.figures},
        "claims": {c.name: c.statement for c in paper.claims},
    }


def figure_json(figure) -> dict:
    """A figure for machines."""
    return {
        "name": figure.name,
        "title": figure.title,
        "statement": figure.statement,
        "reference": figure.reference,
        "departures": figure.departures,
        "claims": [
            {"claim": c.name, "statement": c.statement, "rule": c.rule_text} for c in figure.claims
        ],
        "scales": {
            name: {
                "axes": {str(k): list(v) for k, v in setup.axes.items()},
                "trials": setup.trials,
                "cost": figure.cost.get(name, "not measured"),
            }
            for name, setup in figure.setups.items()
        },
    }


def print_paper(paper) -> None:
    """A paper for people."""
    out = console()
    out.print(f"[bold]{paper.key}[/bold]  {paper.title}")
    say(f"{paper.authors}. {paper.venue}\n\nFigures")
    for figure in paper.figures:
        say(f"  {figure.name:14} {figure.title}")
    say("\nStatements")
    for statement in paper.statements:
        say(f"  {statement.label:14} {statement.title}")
    say("\nSymbols")
    for symbol, name in paper.symbols.items():
        say(f"  {symbol:14} {name}")


def print_figure(paper, figure) -> None:
    """A figure for people."""
    console().print(f"[bold]{paper.key} {figure.name}[/bold]  {figure.title}  ({figure.reference})")
    say(f"\nThe paper reads: {figure.statement}\nDepartures: {figure.departures}\n\nClaims")
    for claim in figure.claims:
        say(f"  {claim.name}: {claim.statement}\n      {claim.rule_text}")
    say("\nScales")
    for name, setup in figure.setups.items():
        axes = "; ".join(
            f"{k if isinstance(k, str) else ' with '.join(k)}: {len(v)} values"
            for k, v in setup.axes.items()
        )
        cost = figure.cost.get(name, "not measured")
        say(f"  {name:6} {axes}; {setup.trials} trials a cell. Cost: {cost}")
    say(f"\nRun it: limelight run {paper.key} {figure.name} --scale smoke")
