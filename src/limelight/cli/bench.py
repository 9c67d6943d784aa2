"""`limelight bench`: trials per second here, beside the ordinary loop."""

import typer

from limelight.cli.common import Json, console, emit, say


def bench(
    trials: int = typer.Option(128, "--trials", help="Trials the engine runs at once."),
    loop: int = typer.Option(3, "--loop", help="Trials the ordinary loop runs, one by one."),
    json: bool = Json,
) -> None:
    """Measure trials per second of li2023 fig1a here, beside the ordinary way, in one run.

    The ordinary way is a PyTorch loop, one trial after another, token by token, with the same
    model, batch and steps; without PyTorch the same loop is measured in JAX.

    Examples: limelight bench   |   limelight bench --json
    """
    from limelight.bench import measure

    rows = measure(trials=trials, loop=loop)
    if json:
        emit([row.as_json() for row in rows])
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("what", "value", "unit", "beside", "ratio"):
        grid.add_column(title, justify="right" if title in ("value", "ratio") else "left")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}x"
        grid.add_row(row.name, f"{row.value:.4g}", row.unit, row.baseline, ratio)
    console().print(grid)
    say("\nRatios were measured side by side in this run; absolute numbers are this machine's.")
