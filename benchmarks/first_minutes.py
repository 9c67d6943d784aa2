"""The first five minutes of a newcomer, by the stopwatch: from `git clone` to a study of their own.

    python benchmarks/first_minutes.py run results/benchmarks/first-minutes.json [--screens FOLDER]
    python benchmarks/first_minutes.py page results/benchmarks/first-minutes.json

`run` clones this repository into an empty folder, sets up an environment there and types every
command of `STEPS` into a terminal of 80 columns, with nothing compiled before. The record has what
each took and what the screen then showed; `--screens` also writes every screen as a text file.
`page` writes `docs/start/stopwatch.md` from a record. Nothing but Python and git is needed.
"""

import argparse
import datetime
import fcntl
import json
import os
import platform
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
COLUMNS, ROWS = 80, 24

#: Heading, what is typed, and what it is for.
STEPS = [
    ("Clone", "git clone --quiet {source} limelight", "The repository, published tables included."),
    ("Environment", "python3 -m venv .venv", "A place of its own for what is installed."),
    (
        "Install",
        "pip install --quiet -c constraints.txt -e .",
        "limelight, JAX and what they need.",
    ),
    ("What can it do?", "limelight --help", "Every command in a line."),
    ("What is here?", "limelight papers", "The papers, their figures and their statements."),
    ("One figure", "limelight show li2023 fig1a", "What it claims, by which rule, at what cost."),
    (
        "Run it",
        "limelight run li2023 fig1a --scale smoke",
        "Thirty-six small networks; the figure, and a map of it in the terminal.",
    ),
    (
        "One verdict",
        "limelight verify li2023 1a.law --results results/",
        "The law that the paper reads off this figure, decided from the published table.",
    ),
    (
        "A theorem",
        "limelight show li2023 theorem1 --set relevant=0.3",
        "Every condition with both sides.",
    ),
    ("A study of one's own", "limelight new study needle.py", "A file that runs as it is."),
    ("Run the study", "python needle.py", "A sweep, a claim, a picture."),
    ("A paper of one's own", "limelight new paper smith2026", "A package that runs as it is."),
    (
        "Run the paper",
        "limelight run smith2026/smith2026 fig1 --scale smoke",
        "Its figure, as that of any other paper.",
    ),
    (
        "Every verdict",
        "limelight verify --results results/",
        "All claims of all papers from the published tables.",
    ),
]
#: These happen before there is a clone, or an environment, to be in.
OUTSIDE = ("Clone",)

_ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]")


class Screen:
    """As much of a terminal as our commands use: lines are written, gone back to and erased."""

    def __init__(self) -> None:
        self.lines, self.row, self.column = [""], 0, 0
        self.passed: dict[str, str] = {}  # what was shown for a while, one of each kind

    def feed(self, text: str) -> None:
        """Write what a command printed."""
        at = 0
        for found in _ESCAPE.finditer(text):
            self._write(text[at : found.start()])
            self._obey(found[1] or "", found[2] or "")
            at = found.end()
        self._write(text[at:])

    def _write(self, text: str) -> None:
        for letter in text:
            if letter == "\n":
                self.row += 1
                self.lines += [""] * (self.row >= len(self.lines))
            elif letter == "\r":
                self.column = 0
            elif letter >= " ":
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + letter + line[self.column + 1 :]
                self.column += 1

    def _obey(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        if letter == "A":
            self.row = max(0, self.row - count)
        elif letter == "K":
            line = self.lines[self.row].rstrip()
            if line:
                kind = re.sub(r"[\d.]+|[━╸╺ ]+|[-\\|/] ", "", line)
                self.passed.setdefault(kind, line)
            self.lines[self.row] = "" if numbers == "2" else line[: self.column]

    @property
    def text(self) -> str:
        """What is left on the screen; a line that is too long goes on in the next one."""
        lines = [line.rstrip() for line in self.lines]
        rows = [
            line[at : at + COLUMNS].rstrip()
            for line in lines
            for at in range(0, max(1, len(line)), COLUMNS)
        ]
        return "\n".join(rows).strip("\n")


def typed(command: str, folder: Path, env: dict[str, str]) -> dict:
    """Run a command in a terminal of its own; how long it took, and its screen."""
    keyboard, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began, before = time.perf_counter(), os.times()
    process = subprocess.Popen(
        command, shell=True, cwd=folder, env=env, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    screen, rest = Screen(), b""
    while True:
        try:
            read = os.read(keyboard, 65536)
        except OSError:  # the last one has left
            break
        if not read:
            break
        text, rest = _decoded(rest + read)
        screen.feed(text)
    code = process.wait()
    took, after = time.perf_counter() - began, os.times()
    os.close(keyboard)
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return {
        "seconds": round(took, 2),
        "cpu_seconds": round(used, 2),
        "exit": code,
        "screen": screen.text,
        "meanwhile": list(screen.passed.values()),
    }


def _decoded(raw: bytes) -> tuple[str, bytes]:
    """Whole letters and whole escapes; what is cut in the middle waits for the rest."""
    cut = raw.rfind(b"\x1b", max(0, len(raw) - 16))
    if cut < 0 or _ESCAPE.match(raw[cut:].decode("utf-8", "ignore")):
        cut = len(raw)
    for end in range(cut, max(cut - 4, -1), -1):
        try:
            return raw[:end].decode("utf-8"), raw[end:]
        except UnicodeDecodeError:
            continue
    return raw[:cut].decode("utf-8", "replace"), raw[cut:]


def without_addresses(screen: str) -> str:
    r"""A screen of pip without the messages that name an address, wherever they were broken.

    A message begins with a word such as `WARNING:` or `[notice]` and goes on to the next one.

    Example:
        >>> print(without_addresses("WARNING: no\nhttps://here\nis gone.\nWARNING: Two\nlines."))
        WARNING: Two
        lines.
    """
    messages = re.split(r"(?m)^(?=[A-Z]+: |\[notice\])", screen)
    return "".join(message for message in messages if "://" not in message).strip("\n")


def run(out: Path, screens: Path | None, source: str) -> None:
    """Every step after the other, in an empty folder."""
    place = Path(tempfile.mkdtemp(prefix="limelight-"))
    clone = place / "limelight"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LIMELIGHT", "JAX"))}
    env |= {"TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": str(ROWS), "PIP_NO_INPUT": "1"}
    env["PATH"] = f"{clone / '.venv' / 'bin'}{os.pathsep}{env['PATH']}"
    record = {"command": f"python benchmarks/{Path(__file__).name} run", **machine()}
    record["commit"] = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    record["steps"] = []
    try:
        for name, command, why in STEPS:
            if name not in (*OUTSIDE, "Environment", "Install"):
                env["XDG_CACHE_HOME"] = str(place / "cache")  # nothing was compiled before
            told = typed(command.format(source=source), place if name in OUTSIDE else clone, env)
            shown = command.format(source="https://.../limelight")
            for part in ("screen", "meanwhile"):
                told[part] = json.loads(json.dumps(told[part]).replace(str(clone), "~/limelight"))
            if name == "Install":  # where packages come from is an affair of this machine
                told["screen"] = without_addresses(told["screen"])
                told["meanwhile"] = []
            record["steps"].append({"name": name, "typed": shown, "why": why, **told})
            print(f"{told['seconds']:7.1f} s  {shown}", flush=True)
            if told["exit"]:
                print(told["screen"])
                sys.exit(f"error: {command} left with {told['exit']}")
    finally:
        shutil.rmtree(place)
    record["seconds"] = round(sum(step["seconds"] for step in record["steps"]), 1)
    out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if screens is not None:
        screens.mkdir(parents=True, exist_ok=True)
        for number, step in enumerate(record["steps"], 1):
            name = re.sub(r"\W+", "-", step["name"].lower()).strip("-")
            text = "\n".join([f"$ {step['typed']}", *step["meanwhile"], step["screen"], ""])
            (screens / f"{number:02}-{name}.txt").write_text(text)


def machine() -> dict:
    """When, and on what."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def page(record: dict) -> str:
    """The account for people, in Markdown."""
    cores = f"{record['cores']} cores" if record["cores"] != 1 else "one core"
    crowded = record["load"] > record["cores"] / 2
    busy = " The machine was busy: seconds of a processor say more than those on the clock."
    busy = busy if crowded else ""
    lines = [
        "# The stopwatch",
        "",
        "What a newcomer waits for, and what they see: from `git clone` to a study of their own,"
        f" typed into a terminal of {COLUMNS} columns on a machine with {cores}, with nothing"
        " compiled before.",
        "",
        "*Written from a record by `python benchmarks/first_minutes.py`: Python"
        f" {record['python']}, {record['system']}, {record['date'][:10]}, commit"
        f" {record['commit']}. Before it began {record['load']:g} processes were running on"
        f" average.{busy}*",
        "",
        "| | typed | seconds | of a processor | min:s since the start |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    so_far = 0.0
    for step in record["steps"]:
        so_far += step["seconds"]
        lines.append(
            f"| [{step['name']}](#{anchor(step['name'])}) | `{step['typed']}` |"
            f" {step['seconds']:.1f} | {step['cpu_seconds']:.1f} | {clock(so_far)} |"
        )
    for step in record["steps"]:
        lines += ["", f"## {step['name']}", "", step["why"], ""]
        waiting = [line for line in step["meanwhile"] if "compiling" in line]
        if waiting:
            lines += [
                "While one waits, the bar says:",
                "",
                "```text",
                waiting[-1].strip(),
                "```",
                "",
            ]
        lines += ["```console", f"$ {step['typed']}", *step["screen"].splitlines(), "```"]
    return "\n".join(lines) + "\n"


def anchor(heading: str) -> str:
    """Where a heading can be linked to."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def main() -> None:
    """Parse and do."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("record", type=Path)
    parser.add_argument("--screens", type=Path, help="also write every screen as a text file here")
    parser.add_argument("--source", default=str(ROOT), help="what is cloned; this repository")
    given = parser.parse_args()
    if given.what == "run":
        run(given.record, given.screens, given.source)
    else:
        written = page(json.loads(given.record.read_text()))
        (ROOT / "docs" / "start" / "stopwatch.md").write_text(written)


if __name__ == "__main__":
    main()
