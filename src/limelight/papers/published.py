"""From tables on disk back to their recipes: pages, published verdicts, citations."""

import importlib.resources
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from limelight.claims import Verdict
from limelight.core.errors import InputError, RunError, StallError
from limelight.papers import load
from limelight.papers.base import Figure, Paper
from limelight.plot import save
from limelight.report import Cost, Picture, Section, write_report
from limelight.store import read_facts, read_table
from limelight.table import Table


def recipe_of(manifest: Any, where: Any) -> Figure:
    """The figure that a manifest belongs to."""
    if "paper" not in manifest or "figure" not in manifest:
        raise InputError(
            f"{where} does not belong to a paper's figure",
            "use the script that made it: study.sweep(...) resumes by itself",
        )
    return load(manifest["paper"]).figure(manifest["figure"])


def open_table(path: str | Path) -> Table:
    """The table of a run folder, of a published folder, or of a Parquet file."""
    path = Path(path)
    if path.is_dir() and (path / "table.parquet").exists():
        return Table.load(path / "table.parquet")
    if path.is_dir():
        return read_table(path)
    if not path.exists():
        raise InputError(f"there is no {path}", "give a run folder or a table.parquet")
    return Table.load(path)


def write_page(path: str | Path, stores: Iterable[str | Path]) -> None:
    """One HTML page for several runs: verdicts first, then figures, settings, cost, rerun."""
    sections = [section(store) for store in stores]
    write_report(path, "limelight report", sections=sections)


def section(store: str | Path) -> Section:
    """A run as a section of a page."""
    table = open_table(store)
    manifest = table.manifest
    figure = recipe_of(manifest, store)
    rows = len(table)
    return Section(
        name=f"{figure.paper}-{figure.name}",
        title=f"{figure.paper}, {figure.reference or figure.name}: {figure.title}",
        statement=f"The paper reads: {figure.statement}",
        verdicts=figure.verdict(table),
        figures=[
            Picture(drawn, caption=_first_line(figure.draws[name]), alt=figure.title)
            for name, drawn in figure.plots(table).items()
        ],
        settings=_settings(manifest),
        cost=_cost(store, table),
        versions={**manifest.get("versions", {}), **manifest.get("device", {})},
        rerun=[_command(manifest, store), f"limelight cite {figure.paper}"],
        notes=[f"{rows} trials.", f"Departures: {figure.departures}", *figure.summary(table)],
    )


def publish(store: str | Path, folder: str | Path) -> None:
    """Put a finished run among the published results: one table, its manifest, its figure."""
    table = open_table(store)
    figure = recipe_of(table.manifest, store)
    cost = _cost(store, table)
    manifest = dict(table.manifest) | {"seconds": cost.seconds, "compilations": cost.compilations}
    place = Path(folder) / figure.paper / figure.name
    place.mkdir(parents=True, exist_ok=True)
    Table(table.columns, table.axes, manifest).save(place / "table.parquet")
    for name, drawn in figure.plots(table).items():
        save(drawn, place / f"{name}.png")


def decide_published(paper: Paper, results: str | Path) -> list[Verdict]:
    """Every claim of a paper from the published tables; a missing table is said, not hidden."""
    folder = Path(results) / paper.key
    if not Path(results).is_dir():
        raise InputError(f"there is no folder {results}", "published tables live in results/")
    verdicts: list[Verdict] = []
    for figure in paper.figures:
        path = folder / figure.name / "table.parquet"
        if path.exists():
            verdicts += figure.verdict(Table.load(path))
        else:
            verdicts += unknown(figure, f"no published table {path}")
    return verdicts


def decide_running(
    figure: Figure, scale: str, store: Path, seed: int, stall: float, progress: Any
) -> tuple[list[Verdict], str | None]:
    """Every claim of a figure from a run at a scale; a failed run is said and the rest goes on."""
    place = Path(store) / f"{figure.paper}-{figure.name}-{scale}" / (f"seed{seed}" if seed else "")
    try:
        table = figure.run(
            scale,
            place,
            seed=seed,
            progress=progress,
            stall=stall,
            command=f"limelight verify {figure.paper} --scale {scale} --seed {seed}",
        )
    except StallError:
        raise
    except RunError as error:
        return unknown(figure, f"the run failed: {error.message}"), error.message
    return list(figure.verdict(table)), None


def unknown(figure: Figure, why: str) -> list[Verdict]:
    """Every claim of a figure, inconclusive for a reason."""
    return [
        Verdict(c.name, c.statement, "inconclusive", np.nan, None, 0, c.rule_text, "none", why)
        for c in figure.claims
    ]


def entries(keys: Iterable[str]) -> dict[str, str]:
    """BibTeX entries by key."""
    text = (importlib.resources.files("limelight.papers") / "references.bib").read_text()
    found = {key: entry for entry, key in re.findall(r"(?ms)^(@\w+\{(\w+),.*?^\})", text)}
    return {key: found[key] for key in keys if key in found}


def _first_line(draw: Any) -> str:
    return (draw.__doc__ or "").strip().splitlines()[0] if draw.__doc__ else ""


def _settings(manifest: Any) -> dict[str, Any]:
    configuration = manifest.get("configuration", {})
    keep = {
        k: configuration[k] for k in ("trials", "seed", "width", "shared") if k in configuration
    }
    axes = {" with ".join(paths): values for paths, values in configuration.get("axes", [])}
    return {
        "scale": manifest.get("scale", "custom"),
        **keep,
        "axes": axes,
        "experiment": configuration.get("experiment", {}),
        "hash": manifest.get("hash", ""),
    }


def _cost(store: str | Path, table: Table) -> Cost:
    facts = read_facts(store) if Path(store).is_dir() else []
    seconds = sum(fact["seconds"] for fact in facts) or table.manifest.get("seconds", 0.0)
    compiled = sum(fact["compile_seconds"] > 0 for fact in facts)
    return Cost(
        trials=len(table),
        seconds=seconds,
        compilations=compiled or table.manifest.get("compilations"),
    )


def _command(manifest: Any, store: Any) -> str:
    extra = "".join(f" --set {k}={v}" for k, v in manifest.get("settings", {}).items())
    return (
        f"limelight run {manifest['paper']} {manifest['figure']} --scale {manifest['scale']}"
        f" --seed {manifest['seed']} --store {store}{extra}"
    )
