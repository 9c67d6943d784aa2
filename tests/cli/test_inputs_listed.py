"""Every option of every command stands on the page that says what enters a result."""

import re
from pathlib import Path

import pytest
import typer

from limelight._cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "trust.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## What enters a result")[2].partition("## Trials that diverge")[0]
#: What only chooses what is shown, and where it goes.
SHOWN = re.findall(
    r"`(--[a-z-]+)`", TABLE.partition("change no number:")[2].partition(". A test")[0]
)


def rows(command):
    """The rows of the table that name a command."""
    lines = [line.split("|") for line in TABLE.splitlines() if line.startswith("| ")]
    return " ".join(cells[1] + cells[3] for cells in lines if f"`{command}" in cells[2])


@pytest.mark.parametrize("command", sorted(set(app.COMMANDS) - {"papers"}))
def test_every_option_is_listed(command):
    there = rows(command)
    assert there, f"{command} stands in no row"
    parameters = typer.main.get_command(app.app).commands[command].params
    for parameter in parameters:
        long = [name for name in parameter.opts if name.startswith("--")]
        known = any(f"`{name}`" in there or name in SHOWN for name in long)
        assert known or not long, f"{command} {long} is not on the page"


def test_a_missing_option_would_be_noticed():
    assert "--sides" not in TABLE
    assert "--seed" not in SHOWN
