"""Everything that is asked of one GPU, in five parts of a few minutes each.

    python benchmarks/on_gpu.py [--into FOLDER] [--keep FOLDER] [--limit SECONDS] [--tiny] PART ...

The parts are `decoder`, `steps`, `vit`, `fig2` and `li2023`; a part takes under ten minutes on one
H200, and each command of it a process of its own. What it prints goes into FOLDER beside its
record, named as in `results/benchmarks`. A command that fails or takes longer than the limit is
told, and the rest goes on. No program that was compiled before is used, so that times are those of
a fresh machine. Figures that are run are thrown away unless --keep names a place. With --tiny the
same commands run at sizes for which a CPU takes a minute or two, to see that they work.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from limelight._engine.reading import read_facts, read_manifest, stored_chunks

HERE = Path(__file__).resolve().parent
#: The synthetic figures of li2023, as `docs/papers/li2023/protocol.md` makes them.
SET = (
    *("fig1a", "fig1a-gap", "fig1a-pool", "fig1a-ratio", "fig1a-tokens"),
    *("fig1b-noise", "fig1b-point", "fig1b-sigma", "fig2", "fig3", "fig3-ratio", "fig4"),
    *("fig5", "fig5-long", "fig5-samples", "fig7", "fig8", "lemmas", "sets"),
)
#: Figures under way at a time. Each has a part of the device's memory: of six, programs of the
#: largest figures would hold two trials.
BESIDE = 3


@dataclass(frozen=True)
class Command:
    """A benchmark: words after `python`, and those at tiny sizes.

    Args:
        name: Of its record, and of what it prints.
        words: With `{out}` for the record and `{work}` for a folder that is thrown away.
        tiny: The words at tiny sizes; `None` where they are the same.
        runs: Whether it runs figures and writes no record of its own.
    """

    name: str
    words: str
    tiny: str | None = None
    runs: bool = False


LIMELIGHT = "-c 'from limelight._cli.app import main; main()'"
PARTS: dict[str, tuple[Command, ...]] = {
    "decoder": (
        Command(
            "decoder-h200",
            "decoder.py --peers {out}",
            "decoder.py --peers --at 12,20 --trials 2 --iterations 10 {out}",
        ),
    ),
    "steps": (
        Command("throughput-h200", "throughput.py --peers {out}", "throughput.py --help"),
        Command("descent-h200", "descent.py {out}", "descent.py"),
        Command("trainers-h200", "trainers.py {out}", "trainers.py"),
    ),
    "vit": (
        Command(
            "vit-h200",
            "vit.py --compile {out}",
            "vit.py --compile --batch 2 --steps 1 --small {out}",
        ),
    ),
    "fig2": (
        Command(
            "fig2-h200",
            f"{LIMELIGHT} run edelman2022 fig2 --scale paper --store {{work}}/fig2",
            f"{LIMELIGHT} run edelman2022 fig2 --scale smoke --store {{work}}/fig2",
            runs=True,
        ),
    ),
    "li2023": (
        Command(
            "li2023-h200",
            f"publish.py --beside {BESIDE} paper {{work}} " + " ".join(f"li2023/{n}" for n in SET),
            "publish.py --beside 2 smoke {work} li2023/fig1a li2023/fig4",
            runs=True,
        ),
    ),
}


def words(command: Command, out: Path, work: Path, tiny: bool) -> list[str]:
    """The command line of a process."""
    text = command.tiny if tiny and command.tiny is not None else command.words
    first, *rest = shlex.split(text.format(out=out, work=work))
    place = [first] if first.startswith("-") else [str(HERE / first)]
    return [sys.executable, *place, *rest]


def lengths(store: Path) -> list[dict[str, Any]]:
    """Seconds of every length of edelman2022's Figure 2, from what its chunks tell."""
    rows: dict[int, dict[str, Any]] = {}
    for name, facts in zip(stored_chunks(store), read_facts(store), strict=True):
        column = pq.read_table(store / "chunks" / f"{name}.parquet", columns=["world.length"])
        row = rows.setdefault(
            column["world.length"][0].as_py(),
            {"trials": 0, "seconds": 0.0, "waiting_for_the_compiler": 0.0, "finished": ""},
        )
        row["trials"] += facts["trials"]
        row["seconds"] += facts["seconds"]
        row["waiting_for_the_compiler"] += facts["compile_seconds"]
        row["finished"] = max(row["finished"], facts["finished"])
    return [{"length": length, **rows[length]} for length in sorted(rows)]


def figures(folder: Path) -> list[dict[str, Any]]:
    """What every figure took that was published under a folder."""
    rows = []
    for path in sorted(folder.glob("*/*/table.parquet")):
        told, trials = read_manifest(path.parent), pq.read_metadata(path).num_rows
        facts = {name: told.get(name, 0.0) for name in ("seconds", "compile_seconds")}
        rows.append({"figure": told["figure"], "trials": trials, **facts})
    return rows


def record(command: Command, line: list[str], work: Path, wall: float) -> dict[str, Any]:
    """The record of a command that runs figures."""
    if command.name.startswith("fig2"):
        said, told, rows = "limelight", read_manifest(work / "fig2"), lengths(work / "fig2")
    else:
        (first, *_) = work.glob("*/*/table.parquet")
        said, told, rows = "python publish.py", read_manifest(first.parent), figures(work)
    words = [said, *line[3 if said == "limelight" else 2 :]]
    return {
        "command": " ".join(words).replace(str(work), "runs"),
        **{name: told[name] for name in ("commit", "created")},
        "compilation_cache": "off",
        "wall_seconds": round(wall, 3),
        "rows": rows,
        **{name: told[name] for name in ("versions", "device")},
    }


def until(limit: float, line: list[str], **told: Any) -> int:
    """Run a command to its end; at the limit it and all that it started are killed.

    What it started would otherwise go on, and the next measurement would be beside it.
    """
    process = subprocess.Popen(line, start_new_session=True, **told)
    try:
        return process.wait(limit)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def run(command: Command, into: Path, keep: Path | None, limit: float, tiny: bool) -> str:
    """Run one; how it ended."""
    work = Path(tempfile.mkdtemp()) if keep is None else keep / command.name
    work.mkdir(parents=True, exist_ok=True)
    line = words(command, into / f"{command.name}.json", work, tiny)
    told = os.environ | {"LIMELIGHT_CACHE": "off", "PYTHONUNBUFFERED": "1"}
    told["PYTHONPATH"] = os.pathsep.join([str(HERE.parent / "src"), told.get("PYTHONPATH", "")])
    began = time.perf_counter()
    try:
        with (into / f"{command.name}.log").open("w") as log:
            code = until(limit, line, env=told, cwd=work, stdout=log, stderr=subprocess.STDOUT)
        spent = time.perf_counter() - began
        if command.runs and not code:
            found = record(command, line, work, spent)
            (into / f"{command.name}.json").write_text(json.dumps(found, indent=2) + "\n")
        return f"{command.name}: {'done' if not code else f'failed with {code}'} in {spent:.1f} s"
    except subprocess.TimeoutExpired:
        return f"{command.name}: stopped after {limit:g} s"
    finally:
        if keep is None:
            shutil.rmtree(work, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART")
    parser.add_argument("--into", type=Path, default=Path("results/benchmarks"))
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--limit", type=float, default=570.0)
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    into, keep = given.into.resolve(), given.keep and given.keep.resolve()
    if keep is not None and keep.exists() and any(keep.iterdir()):
        parser.error(f"{keep} is not empty: runs there would go on, and only the rest be timed")
    ends = time.monotonic() + given.limit
    for command in (command for part in given.parts for command in PARTS[part]):
        print(run(command, into, keep, max(1.0, ends - time.monotonic()), given.tiny), flush=True)


if __name__ == "__main__":
    main()
