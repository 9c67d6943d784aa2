"""`limelight bench`: trials per second here, beside the ordinary loop."""

import typer

from limelight._cli.options import Json
from limelight._cli.progress import busy
from limelight._cli.text import emit, print_table, say, size


def bench(
    trials: int = typer.Option(
        4, "--trials", metavar="NUMBER", help="The number of trials per cell that limelight runs."
    ),
    loop: int = typer.Option(
        3, "--loop", metavar="NUMBER", help="The number of trials that the ordinary loop runs."
    ),
    json: bool = Json,
) -> None:
    """Measure how fast this machine runs li2023 fig1a, beside an ordinary loop.

    The ordinary loop is written in PyTorch and trains one model after another, with the same
    batch and number of steps. Without PyTorch, the same loop is measured in JAX. This takes a few
    minutes on a laptop, most of them for compiling.

    Examples:
      limelight bench
      limelight bench --trials 20 --json
    """
    from limelight._core.errors import InputError

    for option, value in (("trials", trials), ("loop", loop)):
        if value < 1:
            raise InputError(f"{option} = {value}", "at least 1")
    with busy("measuring"):
        from limelight.bench import measure

        rows = measure(trials=trials, loop=loop)
    if json:
        emit([row.as_json() for row in rows])
        return
    titles = ("what", "value", "unit", "beside", "ratio")
    ratio = lambda row: "" if row.ratio is None else f"{row.ratio:.1f}x"
    cells = [(r.name, *measured(r), r.baseline, ratio(r)) for r in rows]
    print_table(titles, cells, right=("value", "ratio"))
    say("\nRatios were measured side by side in this run; absolute numbers are this machine's.")


def measured(row) -> tuple[str, str]:
    """A value and its unit for people."""
    if row.unit == "bytes/trial":
        return size(row.value), "per trial"
    return f"{row.value:.4g}", row.unit
