"""Numbers for the pages that come from statements, tables and manifests rather than from verdicts.

`fill.py` asks for them by name, as marks in a page do.
"""

import inspect
import json
import re
from pathlib import Path

import numpy as np

from limelight import models, worlds
from limelight._core.kinds import kind_of
from limelight._core.maths import in_text
from limelight.papers import load
from limelight.papers._costs import duration, gather
from limelight.papers._studied import FOLDER as STUDIED
from limelight.table import Table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
#: Images for training in CIFAR-10 and CIFAR-100.
CIFAR = 50_000


#: What each of the papers that came last is made of, on the shelves under src/limelight and beside.
PARTS = {
    "theory": {
        "zhang2024": "theory/zhang2024/* theory/ode.py",
        "tarzanagh2023": "theory/tarzanagh2023/*",
        "geshkovski2023": "theory/geshkovski2023/*",
    },
    "worlds": {
        "zhang2024": "worlds/prompts.py",
        "tarzanagh2023": "worlds/selections.py",
        "geshkovski2023": "worlds/sphere.py",
    },
    "models": {
        "zhang2024": "models/linear_attention.py",
        "tarzanagh2023": "models/token_selector.py",
        "geshkovski2023": "models/sphere_attention.py models/attention_stack.py",
    },
    "training, measures": {
        "zhang2024": "",
        "tarzanagh2023": "train/_anchored.py",
        "geshkovski2023": "measures/clustering.py measures/similarity.py",
    },
    "experiments": {
        "zhang2024": "experiments/prompt_*.py",
        "tarzanagh2023": "experiments/token_selection.py experiments/token_basins.py"
        " experiments/margin_ranks.py experiments/joint_selection.py experiments/_choices.py"
        " experiments/selection_path.py experiments/mixed_selection.py",
        "geshkovski2023": "experiments/angle_flow.py experiments/cluster_flow.py"
        " experiments/token_geometry.py experiments/rank_collapse.py experiments/bound_ascent.py"
        " experiments/oversmoothing.py",
    },
    "figures and claims": {
        "zhang2024": "papers/zhang2024/*",
        "tarzanagh2023": "papers/tarzanagh2023/*",
        "geshkovski2023": "papers/geshkovski2023/*",
    },
    "tests": {
        "zhang2024": "/tests/*/test_zhang2024.py /tests/*/test_prompt*.py"
        " /tests/models/test_linear_attention.py",
        "tarzanagh2023": "/tests/*/test_tarzanagh2023.py /tests/*/test_token_selection.py"
        " /tests/experiments/test_margin_ranks.py",
        "geshkovski2023": "/tests/*/test_geshkovski2023.py /tests/experiments/test_token_flows.py"
        " /tests/experiments/test_oversmoothing.py /tests/models/test_attention_stack.py",
    },
    "page and tutorial": {
        "zhang2024": "/docs/papers/zhang2024/* /docs/tutorials/zhang2024.md",
        "tarzanagh2023": "/docs/papers/tarzanagh2023/* /docs/tutorials/tarzanagh2023.md",
        "geshkovski2023": "/docs/papers/geshkovski2023/* /docs/tutorials/geshkovski2023.md",
    },
}


def lines(*patterns: str) -> str:
    """How many lines some files have; patterns from src/limelight, from the root with a slash."""
    return f"{rounded(_lines(patterns)):,}"


def rounded(count: int) -> int:
    """To two digits: the rest changes with every edit."""
    return int(float(f"{count:.2g}"))


def made_of() -> str:
    """What each of the last papers is made of, in lines."""
    keys = list(PARTS["theory"])
    counts = [(part, [_lines(of[key].split()) for key in keys]) for part, of in PARTS.items()]
    rows = [*counts, ("all", [sum(row[i] for _, row in counts) for i in range(len(keys))])]
    text = [f"| lines | {' | '.join(keys)} |", f"| --- |{' ---: |' * len(keys)}"]
    text += [f"| {part} | {' | '.join(f'{rounded(n):,}' for n in row)} |" for part, row in rows]
    return "\n" + "\n".join(text) + "\n"


def _lines(patterns) -> int:
    found: set[Path] = set()
    for pattern in patterns:
        base, pattern = (
            (ROOT, pattern[1:]) if pattern.startswith("/") else (ROOT / "src/limelight", pattern)
        )
        files = {path for path in base.glob(pattern) if path.is_file()}
        if not files:
            raise SystemExit(f"no file {pattern}")
        found |= files
    return sum(len(path.read_text().splitlines()) for path in found)


def quantity(key: str, statement: str, name: str, form: str, *settings: str) -> str:
    """A number that a statement gives: `value`, or a quantity with its blanks as underscores."""
    given = dict(setting.split("=", 1) for setting in settings)
    bound = load(key).statement(statement).evaluate(given)
    known = {re.sub(r"\s", "_", said): number for said, number in bound.quantities.items()}
    return _written(float({"value": bound.value, **known}[name]), form)


def trials(key: str, figure: str) -> str:
    """How many trials the published table of a figure holds."""
    return f"{len(_table(key, figure)):,}"


def mean(key: str, figure: str, column: str, form: str, *where: str) -> str:
    """The mean of a column over the rows where others have given values."""
    return f"{float(_where(_table(key, figure), where)[column].astype(float).mean()):{form}}"


def most(key: str, figure: str, column: str, form: str, *where: str) -> str:
    """The same for the largest."""
    return f"{float(_where(_table(key, figure), where)[column].astype(float).max()):{form}}"


def days(key: str, figure: str, minutes: str) -> str:
    """How many days the trials of a figure would take one after the other."""
    return f"{len(_table(key, figure)) * float(minutes) / 60 / 24:.0f}"


def onsets(key: str, figure: str, *where: str) -> str:
    """The first and the last step, over cells, at which half of the seeds have every row exact."""
    from limelight.papers.jelassi2022 import traces

    rows = _where(_table(key, figure), where)
    every = rows.setting("descent.every")
    first = [every * np.median(traces.first_exact(cell)) for _, cell in rows.cells(*rows.axes)]
    ever = [step for step in first if step >= 0]
    return f"{min(ever):.0f} to {max(ever):.0f}"


def epochs(key: str, figure: str) -> str:
    """How often a run on CIFAR saw each image, from the settings in its manifest."""
    return f"{_epochs(key, figure):.0f}"


def _epochs(key: str, figure: str) -> float:
    made = _manifest(key, figure)["configuration"]
    alone = "vit" not in json.dumps(made["axes"])  # no ViT is trained: the CNN's course counts
    course = made["experiment"]["cnn_course" if alone else "course"]
    return course["steps"] * course["batch"] / CIFAR


def _manifest(key: str, figure: str) -> dict:
    text = (RESULTS / key / figure / "manifest.json").read_text(encoding="utf-8")
    return json.loads(text)


def shelf(name: str) -> str:
    """Every world, or every model, with its picture and what it says of itself."""
    package = {"world": worlds, "model": models}[name]
    words = json.loads((STUDIED / "pictures.json").read_text(encoding="utf-8"))
    found = []
    for title in sorted(package.__all__):
        part = getattr(package, title)
        kind = kind_of(part) if inspect.isclass(part) else None
        if kind in words:
            picture = f"![{words[kind]}](../../src/limelight/papers/studied/{kind}.png)"
            found.append(f"### {title}\n\n{_first(part)}\n\n{picture}\n")
    return "\n\n" + "\n".join(found) + "\n"


def _first(part: type) -> str:
    """The first sentence of a docstring."""
    return " ".join((inspect.getdoc(part) or "").split("\n\n")[0].split())


def costs(key: str) -> str:
    """What every published table of a paper took, from its manifest."""
    found = {n: facts for n, facts in gather(RESULTS).items() if n.startswith(f"{key}/")}
    rows = ["| table | trials | device | time | programs | made by |"]
    rows += ["| --- | ---: | --- | ---: | ---: | --- |"]
    for name, facts in found.items():
        beside = re.search(r"--beside (\d+)", facts["command"])
        others = int(beside[1]) - 1 if beside else 0
        shared = f", beside {others} other{'s' * (others > 1)}" if others else ""
        script = "publish.py" if "publish.py" in facts["command"] else "limelight run"
        rows.append(
            f"| `{name.split('/')[1]}` | {facts['trials']:,} | {_device(facts)}{shared} |"
            f" {duration(facts['seconds'])} | {facts['compilations']} | `{script}` |"
        )
    sums = [
        f"{duration(sum(f['seconds'] for f in found.values() if _device(f) == device))} of {device}"
        for device in dict.fromkeys(map(_device, found.values()))
    ]
    return f"\n{len(found)} tables: {', '.join(sums)}.\n\n" + "\n".join(rows) + "\n"


def _device(facts: dict) -> str:
    device = facts["device"]
    return "one H200" if device["platform"] == "gpu" else f"{device['cores']} CPU cores"


def _table(key: str, figure: str) -> Table:
    return Table.load(RESULTS / key / figure / "table.parquet")


def _written(number: float, form: str) -> str:
    """A number; `tex` writes powers of ten as formulas do."""
    if form != "tex":
        return in_text(f"{number:{form}}")
    digits, power = f"{number:.2e}".split("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}"


def _where(rows: Table, where: tuple[str, ...]) -> Table:
    for name, value in (part.split("=", 1) for part in where):
        text = np.array([str(found) for found in rows[name].tolist()])
        rows = rows.rows(text == value)
        if not len(rows):
            raise SystemExit(f"no row has {name} = {value}: {sorted({*text.tolist()})}")
    return rows
