"""`limelight run`: a figure's study, from nothing or from where it stopped."""

import hashlib
import json as json_module
import shlex
import sys
from pathlib import Path
from typing import NoReturn

import typer

from limelight.cli.common import (
    Bar,
    Json,
    Scale,
    Seed,
    Settings,
    Stall,
    clock,
    emit,
    print_verdicts,
    say,
    settings,
    size,
)


def run(
    key: str = typer.Argument(help="A paper's key, such as li2023."),
    figure: str = typer.Argument(help="A figure's name, such as fig1a."),
    scale: str = Scale,
    store: Path | None = typer.Option(None, "--store", help="Folder for the results."),
    seed: int = Seed,
    sets: list[str] = Settings,
    width: int | None = typer.Option(None, "--width", help="Trials in one program."),
    stall: float = Stall,
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what it would cost, and stop."),
    json: bool = Json,
) -> None:
    """Run a figure's study; the same command again resumes it.

    Examples: limelight run li2023 fig1a --scale smoke   |
    limelight run li2023 fig4 --scale small --store runs/a --set train.steps=600   |
    limelight run li2023 fig1a --scale paper --dry-run
    """
    from limelight.papers import load

    recipe = load(key).figure(figure)
    chosen = settings(sets)
    place = store or default_store(key, figure, scale, seed, chosen)
    if dry_run:
        print_plan(recipe.plan(scale, seed=seed, settings=chosen, width=width, store=place), json)
        return
    command = "limelight " + shlex.join(sys.argv[1:])
    work(recipe, scale, place, seed, chosen, width, stall, command, json)


def default_store(key: str, figure: str, scale: str, seed: int, chosen: dict[str, str]) -> Path:
    """A folder that names what it holds."""
    name = f"{key}-{figure}-{scale}" + (f"-seed{seed}" if seed else "")
    if chosen:
        text = json_module.dumps(chosen, sort_keys=True)
        name += "-" + hashlib.sha256(text.encode()).hexdigest()[:6]
    return Path("runs") / name


def work(recipe, scale, place, seed, chosen, width, stall, command, json) -> None:
    """Run, then print what was found."""
    with Bar(f"{recipe.paper} {recipe.name}") as bar:
        try:
            table = recipe.run(
                scale,
                place,
                seed=seed,
                settings=chosen,
                width=width,
                progress=bar,
                stall=stall,
                command=command,
            )
        except KeyboardInterrupt:
            bar.__exit__()
            say_stopped(place, bar.last)
    verdicts, last = recipe.verdict(table), bar.last
    if json:
        emit(
            {
                "store": str(place),
                "figure": recipe.name,
                "scale": scale,
                "cells": len(table) // table.manifest["configuration"]["trials"],
                "trials": len(table),
                "seconds": round(last.seconds, 3),
                "trials_per_second": round(last.trials_per_second, 3),
                "compilations": last.compilations,
                "verdicts": [verdict.as_json() for verdict in verdicts],
            }
        )
        return
    say(f"{recipe.paper} {recipe.name}: {recipe.title}")
    if last.computed:
        say(
            f"{last.computed} of {len(table)} trials computed in {clock(last.seconds)}"
            f" ({last.trials_per_second:.0f} a second, {last.compilations} compilation"
            f"{'s' if last.compilations != 1 else ''}, {clock(last.compile_seconds)} of it)"
        )
    else:
        say(f"all {len(table)} trials were there already")
    for line in recipe.summary(table):
        say(line)
    say()
    print_verdicts(verdicts)
    say(f"\nStored in {place}. Next: limelight plot {place}   |   limelight report {place}")


def say_stopped(place: Path, last) -> NoReturn:
    """Ctrl-C: what is kept and how to go on."""
    from limelight.cli.app import leave

    done = f"{last.done} of {last.total} trials are stored" if last else "nothing was computed yet"
    print(f"\nstopped: {done}; go on with: limelight resume {place}", file=sys.stderr)
    leave(130)


def print_plan(plan, json: bool) -> None:
    """What a run would cost."""
    facts = {
        "cells": len(plan.grid.cells),
        "trials": plan.rows,
        "compilations": plan.compilations,
        "width": plan.width,
        "chunks": len(plan.chunks),
        "memory_bytes": plan.memory,
        "flops": plan.cost.flops * plan.rows,
        "seconds": round(plan.seconds, 1),
        "hash": plan.hash,
    }
    if json:
        emit(facts)
        return
    say(f"cells         {facts['cells']}")
    say(f"trials        {facts['trials']} in {facts['chunks']} chunks of {facts['width']}")
    say(f"compilations  {facts['compilations']}")
    say(f"memory        at most {size(facts['memory_bytes'])} a chunk")
    say(f"arithmetic    at most {facts['flops']:.2g} floating-point operations")
    say(f"time          roughly {clock(facts['seconds'])} or less, and compilation")
