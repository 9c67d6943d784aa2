"""`limelight run`: a figure's study, from nothing or from where it stopped."""

import functools
import importlib
import re
import shlex
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from limelight._cli.options import (
    Json,
    Key,
    On,
    SameCode,
    Scale,
    Seed,
    Settings,
    Stall,
    With,
    Workers,
    check_stall,
    orders,
    settings,
)
from limelight._cli.progress import Bar, Stopped, busy
from limelight._cli.text import (
    clock,
    columns,
    emit,
    plural,
    print_verdicts,
    quoted,
    say,
    sentence,
    size,
    speaks_unicode,
    typeset,
    visible,
)

#: A row of a table, whose columns must stay where they are.
_ROW = re.compile(r"\S {2,}\S")


def run(
    key: str = Key,
    figure: str = typer.Argument(metavar="FIGURE", help="A figure's name, such as fig1a."),
    scale: str = Scale,
    store: Path | None = typer.Option(
        None,
        "--store",
        metavar="FOLDER",
        help="The folder for the results; one under runs/ if not given.",
    ),
    seed: int = Seed,
    sets: list[str] = Settings,
    width: int | None = typer.Option(
        None,
        "--width",
        metavar="NUMBER",
        help="The number of trials per program; if not given, as many as memory allows.",
    ),
    stall: float = Stall,
    same_code: bool = SameCode,
    on: str | None = On,
    workers: int | None = Workers,
    options: list[str] = With,
    dry_run: bool = typer.Option(
        False, "--dry-run", metavar="", help="Say what the run would cost, and compute nothing."
    ),
    json: bool = Json,
) -> None:
    """Run a figure's study; the same command again resumes it.

    With --workers, several processes compute it together, on this machine or on a cluster whose
    machines share the folder.

    Examples:
      limelight run li2023 fig1a --scale smoke
      limelight run li2023 fig1a --scale paper --dry-run
      limelight run li2023 fig4 --store runs/long --set train.steps=600
      limelight run li2023 fig1a --set train.examples=4,16,64 --seed 1
      limelight run li2023 fig1a --store /shared/a --on slurm --workers 16
    """
    check_stall(stall)
    chosen = settings(sets)
    crew = orders(on, workers, options)
    with busy("loading"):
        from limelight.papers import load
        from limelight.papers.published import default_store

        recipe = load(key).figure(figure)
        place = store or default_store(recipe, scale, seed, chosen)
    if crew is not None:
        from limelight._cli.crew import crewed

        order = Order(recipe, key, place, scale, seed, chosen, width, stall, same_code)
        crewed(order, crew, dry_run, json)
    elif dry_run:
        print_plan(recipe.plan(scale, seed=seed, settings=chosen, width=width, store=place), json)
    else:
        work(recipe, place, scale, seed, chosen, width, stall, same_code, json, named(key))


@dataclass(frozen=True)
class Order:
    """What is to be run, and where it is kept."""

    recipe: Any
    key: str
    place: Path
    scale: str
    seed: int
    settings: dict[str, str]
    width: int | None
    stall: float
    same_code: bool


def named(key: str) -> str:
    """How later commands are told of a paper that is a file."""
    from limelight.papers._outside import is_path

    return f" --paper {shlex.quote(key)}" if is_path(key) else ""


def work(
    recipe,
    place: Path,
    scale: str,
    seed: int,
    chosen: dict[str, str],
    width: int | None,
    stall: float,
    same_code: bool,
    json: bool,
    paper: str = "",
) -> None:
    """Run, then print what was found."""
    check_stall(stall)
    bar = Bar(f"{recipe.paper} {recipe.name}")

    def progress(now) -> None:
        if now.compiling:
            load_drawing()
        bar(now)

    try:
        with bar:
            table = recipe.run(
                scale,
                place,
                seed=seed,
                settings=chosen,
                width=width,
                progress=progress,
                stall=stall,
                same_code=same_code,
                command="limelight " + shlex.join(sys.argv[1:]),
            )
    except KeyboardInterrupt:
        raise stopped(place, bar.last) from None
    show(recipe, place, scale, table, bar.last, took(bar.last, len(table)), json, paper)


@functools.cache
def load_drawing() -> None:
    """Load what will draw the figure while the compiler, which needs no Python, is at work."""
    load = lambda: importlib.import_module("limelight.plot._draw")
    threading.Thread(target=load, name="drawing", daemon=True).start()


def show(recipe, place: Path, scale: str, table, last, took: str, json: bool, paper: str) -> None:
    """What a finished run found."""
    table = recipe.marked(table)
    with busy("deciding"):
        verdicts, lines = recipe.verdict(table), recipe.lines(table)
    with busy("drawing"):
        picture, drawn = draw(recipe, table, place)
    if json:
        emit(as_json(recipe, scale, place, table, last, verdicts, picture, drawn))
        return
    say(f"{recipe.paper} {recipe.name}: {typeset(recipe.title)}")
    say(took)
    if table.diverged.any():
        from limelight.papers.published import divergence

        say(divergence(table), hang=4)
    if picture is not None:
        print_small(picture)
    if lines:
        say()
    for line in lines:
        say(line if _ROW.search(line) else typeset(line), hang=4)
    if why := undecided(verdicts):
        say(f"\n{open_claims(recipe, verdicts, why, scale, paper)}", hang=2)
    else:
        print_verdicts(verdicts)
    say(f"\nFigure: {drawn}" if picture is not None else f"\nNot drawn: {drawn}")
    here = quoted(place) + paper
    commands = ("plot", "report", *(["weights"] if recipe.save else []))
    say("\n".join([f"Stored in {place}. Next:", *(f"  limelight {c} {here}" for c in commands)]))


def draw(recipe, table, place: Path) -> tuple[Any, str]:
    """The figure, and where it was put; nothing, and why, where the table allows no picture."""
    from limelight._core.errors import InputError

    try:
        picture = recipe.plot(table)
        path = place / f"{recipe.name}.png"
        picture.save(path)
    except InputError as error:
        return None, error.message
    return picture, str(path)


def print_small(picture) -> None:
    """A small version of the figure, where the terminal can show one."""
    from limelight.plot.terminal import in_terminal

    text = in_terminal(picture, min(columns(), 80))
    if text and speaks_unicode(sys.stdout):
        typer.echo(f"\n{visible(text)}")


def undecided(verdicts) -> str:
    """Why no claim at all was decided, where there is one reason for it; else nothing."""
    if not verdicts or any(v.verdict != "inconclusive" or v.value == v.value for v in verdicts):
        return ""
    reasons = {v.note for v in verdicts}
    return reasons.pop() if len(reasons) == 1 else ""


def open_claims(recipe, verdicts, why: str, scale: str, paper: str) -> str:
    """One line for the claims that a run leaves open, and the command that decides them."""
    key = paper.removeprefix(" --paper ") or recipe.paper
    many = plural(len(verdicts), "claim")
    if scale != "smoke":
        return sentence(f"{many} left open: {why}")
    return (
        f"A smoke run shows that everything works but decides nothing: {many} left open. To decide:"
        f" limelight run {key} {recipe.name} --scale small"
    )


def stopped(place: Path, last) -> Stopped:
    """Ctrl-C: what is kept and how to go on."""
    from limelight._engine.reading import stored_rows

    if last is None or not (place / "manifest.json").exists():
        return Stopped("nothing has been computed yet", "run the same command again")
    # Counted anew: the last chunk may have been stored a moment ago.
    return Stopped(
        f"{stored_rows(place)} of {last.total} trials are stored in {place}",
        f"to go on: limelight resume {quoted(place)}",
    )


def took(last, rows: int) -> str:
    """What this run computed, and how quickly."""
    if not last.computed:
        return f"all {rows} trials had been computed before"
    computing = max(last.seconds - last.compile_seconds, 1e-9)
    pace = f"{last.computed / computing:.3g} trials per second"
    if not last.compilations:
        return f"{last.computed} of {rows} trials computed in {clock(last.seconds)}: {pace}"
    return (
        f"{last.computed} of {rows} trials computed in {clock(last.seconds)}:"
        f" {clock(last.compile_seconds)} for {plural(last.compilations, 'compilation')},"
        f" otherwise {pace}"
    )


def as_json(recipe, scale: str, place: Path, table, last, verdicts, picture, drawn) -> dict:
    """What a run left, for machines."""
    return {
        "store": str(place),
        "figure": recipe.name,
        "scale": scale,
        "cells": len(table) // table.manifest["configuration"]["trials"],
        "trials": len(table),
        "diverged": int(table.diverged.sum()),
        "seconds": round(last.seconds, 3),
        "trials_per_second": round(last.trials_per_second, 3),
        "compilations": last.compilations,
        "picture": drawn if picture is not None else None,
        "verdicts": [verdict.as_json() for verdict in verdicts],
    }


def print_plan(plan, json: bool) -> None:
    """What a run would cost."""
    facts = {
        "cells": len(plan.grid.cells),
        "trials": plan.rows,
        "compilations": plan.compilations,
        "width": plan.width,
        "chunks": len(plan.chunks),
        "memory_bytes": plan.memory,
        "fits": plan.fits,
        "flops": plan.cost.flops * plan.rows,
        "seconds": round(plan.seconds, 1),
        "hash": plan.hash,
    }
    if json:
        emit(facts)
        return
    say(f"cells         {facts['cells']}")
    say(f"trials        {plan.rows} in {plural(len(plan.chunks), 'chunk')} of {plan.width}")
    say(f"compilations  {plan.compilations}, often half a minute each; kept for later runs")
    say(f"memory        at most {size(plan.memory)} per chunk")
    if not plan.fits:
        say(f"              and {size(plan.cost.bytes)} per trial: more than any device here has")
    say(typeset(f"arithmetic    at most {facts['flops']:.2g} floating-point operations"))
    say(f"time          very roughly {clock(plan.seconds)}, plus the compilations")
    say("Nothing was computed or written.")
