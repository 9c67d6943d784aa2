"""CPU seconds of `limelight probe` on 8 images of a DeiT-tiny: the first time, and again.

    python benchmarks/probe.py WEIGHTS IMAGES [--beside LIMELIGHT] [-o OUT.json]

*First* begins without any compiled program, *again* finds them in the cache; each is the least of
`--runs` runs, user and system time of the process and its children, which says more than the wall
clock of a busy machine. `--beside` is the command of another installation, such as that of an
earlier commit, which is measured in turn with this one.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import about

#: What is read, each alone and all together.
SUBJECTS = {
    "everything": [],
    "positions": ["--positions"],
    "attention": ["--attention"],
    "similarity": ["--similarity"],
    "norms": ["--norms"],
}


def cpu_seconds(command: list[str], cache: str) -> float:
    """User and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"XDG_CACHE_HOME": cache}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(program: list[str], given: argparse.Namespace, words: list[str]) -> dict[str, float]:
    """The least of several runs, without compiled programs and with them."""
    first, again = [], []
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory() as folder:
            command = [
                *program, "probe", str(given.weights), "--images", str(given.images),
                "--pixels", "imagenet", "--behind", "tiles", "--limit", "8", *words,
                "-o", f"{folder}/page.html",
            ]  # fmt: skip
            first.append(cpu_seconds(command, folder))
            again.append(cpu_seconds(command, folder))
    return {"first": round(min(first), 2), "again": round(min(again), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    programs = {"this": [sys.executable, "-m", "limelight"]}
    if given.beside:
        programs["beside"] = [str(given.beside)]
    rows: dict[str, dict[str, dict[str, float]]] = {name: {} for name in programs}
    for subject, words in SUBJECTS.items():
        for name, program in programs.items():
            if name == "beside" and words:
                continue  # an earlier one may not know them
            row = rows[name][subject] = measured(program, given, words)
            print(f"{name:7} {subject:11} first {row['first']:6.2f} s, again {row['again']:6.2f} s")
    if given.output:
        made = {"cpu_seconds": rows, "load_average": os.getloadavg()[:2], **about()}
        given.output.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
