"""The command line: it parses and prints; each command is one call to the Python API.

Nothing here imports JAX before a command needs it, so `--help` is quick.
"""

import sys
from typing import NoReturn

import typer

from limelight.cli import bench, cite, papers, plot, report, resume, run, show, verify
from limelight.core.errors import LimelightError

app = typer.Typer(
    name="limelight",
    help="The executable theory of attention: run, check and redraw theory papers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: limelight run li2023 fig1a --scale smoke",
)

#: Every command, in the order of the help page.
COMMANDS = {
    "papers": papers.papers,
    "show": show.show,
    "run": run.run,
    "resume": resume.resume,
    "plot": plot.plot,
    "report": report.report,
    "verify": verify.verify,
    "bench": bench.bench,
    "cite": cite.cite,
}
for name, command in COMMANDS.items():
    app.command(name, no_args_is_help=name in ("run", "resume", "plot", "report", "cite"))(command)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("limelight"))
        raise typer.Exit()


def main() -> None:
    """Run the command line; an error a user can act on is one line and a hint, no traceback."""
    try:
        app()
    except LimelightError as error:
        sys.stdout.flush()
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        leave(error.code)


def leave(code: int) -> NoReturn:
    """Leave at once: a stuck or still running chunk must not keep the process alive."""
    import os

    sys.stdout.flush()
    sys.stderr.flush()
    if "jax" in sys.modules:
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
