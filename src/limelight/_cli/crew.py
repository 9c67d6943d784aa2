"""A run by workers, for the command line: what it will cost, a bar of the whole, what was found."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from limelight._cli.options import CrewOrder
from limelight._cli.progress import Bar, Stopped, busy
from limelight._cli.run import Order, named, show, stopped
from limelight._cli.text import clock, emit, plural, quoted, say, tell


def crewed(order: Order, crew: CrewOrder, dry_run: bool, json: bool) -> None:
    """Lay the study out, start workers, wait for the whole and print what was found."""
    from limelight._workers.crew import workers
    from limelight._workers.launcher import launcher

    options: dict[str, Any] = {"stall": order.stall, **crew.options}
    launch = launcher(crew.on, order.place, options)  # refuses what it does not know
    count = crew.count or launch.usual
    with busy("planning"):
        plan, cost = lay_out(order, count, launch.gpus, dry_run)
    if dry_run:
        print_cost(plan, cost, crew.on, json)
        return
    if not json:
        say(announced(plan, cost, crew.on))
    bar = Bar(f"{order.recipe.paper} {order.recipe.name}")
    paper = order.key if named(order.key) else None
    team = workers(order.place, crew.on, count, paper=paper, same_code=order.same_code, **options)
    if launch.outlives and team.jobs and not json:
        say(f"Jobs {listed(team.jobs)}; how far they are: limelight status {quoted(order.place)}")
    try:
        with bar:
            table = team.wait(bar)
    except KeyboardInterrupt:
        raise interrupted(order.place, team, launch, bar.last) from None
    finally:
        for message in team.messages:
            tell(f"note: {message}")
    last = bar.last
    took = f"{last.computed} of {len(table)} trials computed in {clock(last.seconds)}"
    took += f" by {plural(len(team.jobs), 'worker')} on {crew.on}"
    took += f" ({last.trials_per_second:.3g} per second, start included)"
    if not last.computed:
        took = f"all {len(table)} trials were there already"
    show(order.recipe, order.place, order.scale, table, last, took, json, named(order.key))


def lay_out(order: Order, count: int, gpus: bool, dry_run: bool):
    """The plan, fitted to the workers and written down, and what it will cost."""
    import jax

    from limelight._engine import run
    from limelight._engine.reading import stored_chunks
    from limelight._workers.layout import estimate, fitted

    # The devices are for the workers: this process only counts.
    jax.config.update("jax_platforms", "cpu")
    recipe = order.recipe
    make = partial(
        recipe.plan, order.scale, seed=order.seed, settings=order.settings, store=order.place
    )
    begun = (order.place / "manifest.json").exists()
    chosen = order.width is not None or begun
    plan = make(width=order.width) if chosen else fitted(make, count, gpus)
    if not dry_run:
        command = "limelight " + shlex.join(sys.argv[1:])
        about = recipe.about(order.scale, order.seed, order.settings, command)
        run.lay_out(plan, order.place, about, order.same_code)
    return plan, estimate(plan, count, gpus, set(stored_chunks(order.place)) if begun else ())


def interrupted(place: Path, team, launch, last) -> Stopped:
    """Ctrl-C: workers of a scheduler go on, those of this process leave with it."""
    if not launch.outlives:
        team.cancel()
        return stopped(place, last)
    return Stopped(
        f"the workers go on: jobs {listed(team.jobs)}",
        f"limelight status {quoted(place)}; the same command waits for them again",
    )


def listed(jobs: list[str]) -> str:
    """The first and the last."""
    return ", ".join(jobs) if len(jobs) < 5 else f"{jobs[0]} to {jobs[-1]}"


def announced(plan, cost, on: str) -> str:
    """What a run by workers will cost, in a line; of a run that was begun, what is left of it."""
    if not cost.left:
        return f"all {plural(cost.chunks, 'chunk')} are there; no worker is needed"
    return (
        f"{plural(cost.workers, 'worker')} on {on}: {plural(cost.programs, 'program')},"
        f" {chunks_left(cost)} of {plan.width} trials ({cost.each:.3g} per worker,"
        f" roughly {clock(cost.chunk_seconds)} each),"
        f" very roughly {cost.device_hours:.2g} {cost.kind}-hours"
    )


def chunks_left(cost) -> str:
    """How many chunks are to be computed."""
    if cost.left == cost.chunks:
        return plural(cost.chunks, "chunk")
    return f"{cost.left} more of {plural(cost.chunks, 'chunk')}"


def print_cost(plan, cost, on: str, json: bool) -> None:
    """What it would cost, without doing it."""
    if json:
        emit(
            {
                "workers": cost.workers,
                "on": on,
                "programs": cost.programs,
                "trials": cost.trials,
                "width": plan.width,
                "chunks": cost.left,
                "chunks_there": cost.chunks - cost.left,
                "chunks_per_worker": round(cost.each, 2),
                "chunk_seconds": round(cost.chunk_seconds, 3),
                "device": cost.kind,
                "device_hours": round(cost.device_hours, 6),
            }
        )
        return
    say(f"workers       {cost.workers} on {on}")
    say(f"programs      {cost.programs}, each compiled once where machines are alike")
    say(f"trials        {cost.trials} in {chunks_left(cost)} of {plan.width}")
    say(f"chunks        {cost.each:.3g} per worker, roughly {clock(cost.chunk_seconds)} each")
    say(f"{cost.kind}-hours     very roughly {cost.device_hours:.2g}, plus the compilations")
    say("Nothing was computed, written or submitted.")
