"""The command line called in this process, and one finished run for all tests to read."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from limelight._cli import app
from tests.cli import toy

#: A run of 36 trials in 3 chunks.
RUN = ("run", toy.KEY, "dice", "--scale", "smoke", "--width", "12")


@dataclass(frozen=True)
class Outcome:
    """How a call ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """All of stdout as JSON."""
        return json.loads(self.out)


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Call the command line as a shell would, in an empty folder."""

    def leave(code):
        raise SystemExit(code)

    def call(*words) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["limelight", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            app.main()
        printed = capsys.readouterr()
        return Outcome(int(end.value.code or 0), printed.out, printed.err)

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("COLUMNS", raising=False)
    # the name on the help page is that of the program, even under `python -m pytest`
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None, raising=False)
    monkeypatch.setattr(app, "leave", leave)
    toy.lay_out(monkeypatch.setattr)
    return call


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A finished run; look, but do not touch."""
    place = tmp_path_factory.mktemp("finished") / "run"
    toy.paper.figure("dice").run("smoke", place, width=12)
    return place


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A finished run of one's own."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, locks aside."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.parent.name != "locks"
    }
