"""`limelight status`: how far a run is, whoever works on it."""

import math
from collections.abc import Mapping
from pathlib import Path

import typer

from limelight._cli.options import Json
from limelight._cli.text import clock, emit, plural, print_table, say

#: Failures that are shown with the last lines of their logs.
MOST = 8


def status(
    store: Path = typer.Argument(metavar="RUN", help="A run folder."), json: bool = Json
) -> None:
    """Show how far a run is, who works on it, how fast, and what failed.

    It works from any machine that can read the folder, and changes nothing in it.

    Examples:
      limelight status runs/li2023-fig1a-small
      limelight status /shared/a --json
    """
    from limelight._workers.status import ago
    from limelight._workers.status import status as look

    seen = look(store)
    if json:
        emit(as_json(seen))
        return
    done = seen.chunks - len(seen.missing)
    share = seen.done / max(seen.trials, 1)
    chunks = plural(seen.chunks, "chunk")
    say(f"trials    {seen.done} of {seen.trials} ({share:.0%}), {done} of {chunks}")
    left = "" if math.isnan(seen.seconds_left) else f", {clock(seen.seconds_left)} left"
    say(f"pace      {seen.pace:.3g} trials per second{left}" if seen.pace else "pace      unknown")
    if seen.damaged:
        some = ", ".join(seen.damaged[:MOST]) + (", ..." if len(seen.damaged) > MOST else "")
        say(f"damaged   {some}: limelight resume sets them aside and computes them again", hang=10)
    if seen.held:
        say(f"held      {plural(len(seen.held), 'chunk')}")
        names = ("worker", "host", "job", "pid")
        rows = [
            (chunk, *(str(who.get(name, "")) for name in names), held_for(ago(who.get("since"))))
            for chunk, who in seen.held.items()
        ]
        print_table(("chunk", "worker", "host", "job", "process", "for"), rows)
    elif seen.missing:
        say("held      none" + (": nobody works on it" if seen.workers == {} else ""))
    if seen.missing:
        say_workers(seen.workers)
    for failure in seen.failures[:MOST]:
        where = ", ".join(filter(None, (failure.host, failure.job and f"job {failure.job}")))
        say(f"failed    {failure.chunk} in worker {failure.worker or '?'} ({where}):", hang=10)
        say(failure.error, indent=10)
        for line in failure.lines:
            say(line, indent=12, hang=2)
    if len(seen.failures) > MOST:
        say(f"          and {len(seen.failures) - MOST} more; --json has all of them")


def say_workers(workers: Mapping[str, int] | None) -> None:
    """How many workers wait for room and how many run, where that is known."""
    if workers is None:
        say("workers   some were started; whether they are still there cannot be seen from here")
    elif workers:
        words = {"waiting": "waiting for room", "running": "running"}
        parts = [f"{count} {words.get(state, state)}" for state, count in workers.items()]
        say("workers   " + ", ".join(parts))


def held_for(seconds: float) -> str:
    """How long a chunk is held, where that is known."""
    return "" if math.isnan(seconds) else clock(seconds)


def as_json(seen) -> dict:
    """The same for machines."""
    return {
        "chunks": seen.chunks,
        "chunks_done": seen.chunks - len(seen.missing),
        "trials": seen.trials,
        "trials_done": seen.done,
        "trials_per_second": round(seen.pace, 4),
        "seconds_left": None if math.isnan(seen.seconds_left) else round(seen.seconds_left, 1),
        "held": [
            {"chunk": chunk, **{n: who.get(n) for n in ("host", "pid", "job", "worker", "since")}}
            for chunk, who in seen.held.items()
        ],
        "workers": seen.workers,
        "missing": list(seen.missing),
        "damaged": list(seen.damaged),
        "failures": [
            {
                "chunk": failure.chunk,
                "error": failure.error,
                "host": failure.host,
                "job": failure.job,
                "worker": failure.worker,
                "log": list(failure.lines),
            }
            for failure in seen.failures
        ],
    }
