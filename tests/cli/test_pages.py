"""Every command on a page is one: it parses, and what takes seconds is run.

`show`, `cite` and `papers` are run as they are typed; `run` with `--dry-run`, which plans the
figure with the settings that the page gives. What errata print is kept by `docs/evidence.py`.
"""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from limelight._cli import app
from limelight.papers import KEYS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = (DOCS / "_build", DOCS / "api", DOCS / "errata")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if not any(map(page.is_relative_to, MADE))),
]
#: A block of code, fenced or indented.
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```|^((?:(?:    |\t)\S[^\n]*\n)+)", re.M | re.S)
SHELL = ("", "sh", "console", None)
COMMAND = re.compile(r"^\s*(?:\$ )?(?:\.venv/bin/)?limelight ([a-z].+)$", re.M)
#: What says where a run is kept or computed, and not what.
ELSEWHERE = ("--store", "--on", "--workers", "--with")
#: Files that a reader has and the tests do not.
READERS_OWN = ("fig6-starts", "starts.folder=", "checkpoint=", "source=")


def commands(text: str) -> list[str]:
    """The commands of a page, without what is said behind them."""
    found = []
    for block in BLOCK.finditer(text):
        if block[1] not in SHELL:
            continue
        code = re.sub(r"\\\n\s*", "", block[2] or block[3])
        for line in COMMAND.findall(code):
            typed = re.split(r"\s+#|\s{2,}(?![-\s])| > | &$", line)[0]
            found.append(re.sub(r"[\[\]]", "", typed).strip())
    return found


SAID = {page: commands(page.read_text(encoding="utf-8")) for page in PAGES}
TYPED = sorted({command for said in SAID.values() for command in said})


def quick(command: str) -> list[str] | None:
    """The words to run for a command that takes seconds, or nothing."""
    words = shlex.split(command)
    if words[0] == "papers" or (words[0] in ("show", "cite") and words[1] in KEYS):
        return words
    if words[0] != "run" or words[1] not in KEYS or any(own in command for own in READERS_OWN):
        return None
    for option in ELSEWHERE:
        while option in words:
            place = words.index(option)
            del words[place : place + 2]
    return words if "--dry-run" in words else [*words, "--dry-run"]


QUICK = sorted({shlex.join(words) for command in TYPED if (words := quick(command))})
#: Planning a figure at its full size takes some seconds.
RUN = [pytest.param(c, marks=[pytest.mark.slow] if " paper" in c else []) for c in QUICK]


def test_commands_are_found_on_the_pages():
    assert len(TYPED) > 60
    assert len(QUICK) > 30
    page = (
        "```sh\nlimelight run a b \\\n    --set c=1   # why\n```\n\n    limelight papers    all\n"
    )
    assert commands(page) == ["run a b --set c=1", "papers"]


@pytest.mark.parametrize("command", TYPED)
def test_a_command_on_a_page_parses(command):
    name, *words = shlex.split(command)
    typer.main.get_command(app.app).commands[name].make_context(name, words)  # pyright: ignore


@pytest.mark.parametrize("command", RUN)
def test_a_command_on_a_page_runs(call, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(*shlex.split(command))
    if "LIMELIGHT_DATA, which is not set" in done.err:
        pytest.skip("it reads images that are not part of the repository")
    assert done.code == 0, done.err
    assert done.out
