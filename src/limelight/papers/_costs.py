"""What published runs took: read from their manifests, kept as data, never typed.

`costs.json` holds one entry per published table; `gather` makes it from a folder of results, and a
test compares the two.
"""

import functools
import importlib.resources
import json
from pathlib import Path
from typing import Any

FACTS = ("scale", "seconds", "compile_seconds", "compilations", "device", "command")


def cost_of(paper: str, figure: str) -> dict[str, str]:
    """What the published run of a figure took, in words, by scale; empty where there is none."""
    facts = _published().get(f"{paper}/{figure}")
    return {} if facts is None else {facts["scale"]: in_words(facts)}


def in_words(facts: dict[str, Any]) -> str:
    """One published run's cost as a phrase.

    Example:
        >>> in_words({"trials": 6000, "seconds": 28.2, "compile_seconds": 21.9,
        ...           "device": {"kind": "NVIDIA H200", "platform": "gpu", "cores": 16}})
        '6,000 trials in 28 s on one NVIDIA H200, 22 s of it compiling'
    """
    device = facts["device"]
    where = f"{device['cores']} CPU cores" if device["platform"] == "cpu" else device["kind"]
    count = "" if device["platform"] == "cpu" else "one "
    waited = facts.get("compile_seconds")
    rest = f", {duration(waited)} of it compiling" if waited else ""
    return f"{facts['trials']:,} trials in {duration(facts['seconds'])} on {count}{where}{rest}"


def duration(seconds: int | float) -> str:
    """Seconds up to two minutes, then minutes.

    Example:
        >>> duration(28.2), duration(410)
        ('28 s', '6.8 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def gather(results: str | Path) -> dict[str, dict[str, Any]]:
    """The cost of every published run, from the manifests in a folder of results."""
    import pyarrow.parquet as pq

    found = {}
    for path in sorted(Path(results).glob("*/*/manifest.json")):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        facts = {name: manifest[name] for name in FACTS if name in manifest}
        facts["trials"] = pq.read_metadata(path.with_name("table.parquet")).num_rows
        found[f"{path.parent.parent.name}/{path.parent.name}"] = facts  # a figure may be renamed
    return found


@functools.cache
def _published() -> dict[str, Any]:
    text = (importlib.resources.files("limelight.papers") / "costs.json").read_text(
        encoding="utf-8"
    )
    return json.loads(text)
