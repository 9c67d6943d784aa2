"""From tables on disk back to their recipes: published verdicts, pictures, citations."""

import hashlib
import importlib.resources
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limelight import plot
from limelight._core.errors import InputError, RunError, suggest
from limelight._core.files import write_whole
from limelight._core.manifests import sealed
from limelight._engine.plan import Plan
from limelight._engine.reading import check_is_run, open_table, read_facts, read_manifest
from limelight._engine.run import run
from limelight._page.report import StudyCost
from limelight.claims import Verdict
from limelight.experiments._rebuild import rebuild
from limelight.experiments.starts import WEIGHTS
from limelight.papers import known, load
from limelight.papers._unforeseen import unfinished
from limelight.papers.contents import Paper
from limelight.papers.recipe import Figure
from limelight.plot import Picture
from limelight.table import Table


def default_store(
    figure: Figure,
    scale: str,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
    folder: str | Path = "runs",
) -> Path:
    """The folder of a run, when none is chosen: its name says what it holds."""
    name = f"{figure.paper}-{figure.name}-{scale}" + (f"-seed{seed}" if seed else "")
    if settings:
        text = json.dumps(dict(settings), sort_keys=True)
        name += "-" + hashlib.sha256(text.encode()).hexdigest()[:6]
    return Path(folder) / name


def find_recipe(manifest: Mapping[str, Any], paper: Paper | None = None) -> Figure | None:
    """The figure that a manifest belongs to; `None` when no paper that is at hand has it.

    Args:
        manifest: How the table was made.
        paper: The paper it belongs to, where that is not among the known ones.
    """
    if not all(isinstance(manifest.get(name), str) for name in ("paper", "figure", "scale")):
        return None
    key = manifest["paper"]
    if paper is not None and paper.key != key:
        raise InputError(f"the run belongs to {key!r}, not to {paper.key!r}")
    if paper is None and key not in known():
        return None
    return (paper or load(key)).figure(manifest["figure"])


#: What to do with a run that belongs to no paper: to go on with it, and to publish it.
BY_ITSELF = "use the script that made it: study.sweep(...) resumes by itself"
A_FIGURE = "figures of papers are published: limelight new paper KEY writes a paper for it"


def recipe_of(
    manifest: Mapping[str, Any], where: Any, paper: Paper | None = None, hint: str = BY_ITSELF
) -> Figure:
    """The figure that a manifest belongs to, which must be at hand."""
    found = find_recipe(manifest, paper)
    if found is None:
        if isinstance(manifest.get("paper"), str):
            near = suggest(manifest["paper"], known())
            raise InputError(
                f"{where} belongs to the paper {manifest['paper']!r}, which is not at hand",
                f"install it, or say where it is: paper=PATH; {near}",
            )
        raise InputError(f"{where} does not belong to a paper's figure", hint)
    return found


def pictures_of(
    table: Table, recipe: Figure | None, measure: str | None = None
) -> dict[str, Picture]:
    """Every picture of a run: as its recipe draws them, or plainly, one per measure."""
    if recipe is not None and recipe.pictures and measure is None:
        return recipe.plots(table)
    names = [measure] if measure else plot.measures(table)
    return {name: plot.captioned(plot.plain(table, name), table) for name in names}


def open_manifest(path: str | Path) -> Mapping[str, Any]:
    """How a run or a table was made; a run need not have finished anything."""
    path = Path(path)
    if path.is_dir() and not (path / "table.parquet").exists():
        return read_manifest(path)
    return open_table(path).manifest


def resume(
    store: str | Path,
    *,
    progress: Any = None,
    stall: float = 1800.0,
    same_code: bool = False,
    paper: Paper | None = None,
) -> Table:
    """Compute what is missing of a run and return its table; the folder says what it is.

    Any process may do this, and several at once. A run with code of your own is resumed by running
    that code again.

    Args:
        store: The run folder.
        progress: Called with an `engine.run.Progress` after every chunk.
        stall: Seconds a chunk may take before the run gives up, store intact.
        same_code: Whether results of another version of your code may be continued.
        paper: The paper that the run belongs to, where that is not among the known ones.

    Example:
        >>> import limelight as ll, tempfile
        >>> try:
        ...     ll.resume(tempfile.mkdtemp())
        ... except ll.InputError:
        ...     print("not a run folder")
        not a run folder
    """
    plan = plan_of(store, paper)
    return run(plan, store=store, progress=progress, stall=stall, same_code=same_code)


def plan_of(store: str | Path, paper: Paper | None = None) -> Plan:
    """The plan of a run, from what its folder says.

    Args:
        store: The run folder.
        paper: The paper that the run belongs to, where that is not among the known ones.
    """
    check_is_run(store)
    manifest = read_manifest(store)
    if isinstance(manifest.get("paper"), str):
        recipe = recipe_of(manifest, store, paper)
        seed, settings = how_to_go_on(manifest, store)
        return recipe.plan(manifest["scale"], seed=seed, settings=settings, store=store)
    known = manifest["configuration"]
    axes = {
        paths[0] if len(paths) == 1 else tuple(paths): values
        if len(paths) == 1
        else [tuple(value) for value in values]
        for paths, values in known["axes"]
    }
    return rebuild(known["experiment"]).plan(
        axes,
        trials=known["trials"],
        seed=known["seed"],
        shared=tuple(known["shared"]),
        name=known["name"],
        store=store,
    )


def how_to_go_on(manifest: Mapping[str, Any], store: Any) -> tuple[int, dict[str, str]]:
    """The seed and the settings that a figure's run was begun with."""
    seed, settings = manifest.get("seed"), manifest.get("settings")
    if not isinstance(seed, int) or not isinstance(settings, dict):
        raise InputError(
            f"{store}/manifest.json does not say how to go on",
            "run the figure again with the same settings and folder",
        )
    return seed, settings


def divergence(table: Table) -> str:
    """How many trials diverged, and how they are counted."""
    return (
        f"{int(table.diverged.sum())} of {len(table)} trials diverged: they are failures where"
        " successes are counted, and a verdict stands only if it does not depend on their readings"
    )


def check_whole(store: str | Path, paper: Paper | None = None) -> Table:
    """The table of a finished run of a figure; anything else is refused."""
    table = open_table(store)
    recipe_of(table.manifest, store, paper, A_FIGURE)
    if missing := unfinished(table):
        raise InputError(f"{store} is not finished: {missing}", f"limelight resume {store}")
    return table


def place_for(table: Table, figure: Figure, folder: str | Path) -> Path:
    """Where a run of a figure is published; a place that holds another scale's table is refused."""
    place = Path(folder) / figure.paper / figure.name
    if (place / "manifest.json").exists():
        there, here = read_manifest(place).get("scale"), table.manifest.get("scale")
        if there != here:
            raise InputError(
                f"{place} holds a table of {there} scale, and this run is of {here} scale",
                "publish into another folder, or remove that one first",
            )
    return place


def publish(store: str | Path, folder: str | Path, paper: Paper | None = None) -> Path:
    """Put a finished run among the published results: its table, manifest and pictures.

    Trained weights stay with the run.
    """
    table = check_whole(store, paper)
    figure = recipe_of(table.manifest, store, paper)
    place = place_for(table, figure, folder)
    cost = cost_of_run(store, table)
    spent = {"seconds": cost.seconds, "compilations": cost.compilations}
    told = {name: entry for name, entry in table.manifest.items() if name != "seal"}
    told |= computed_on(store)
    told["command"] = _repeated(told.get("command", ""))
    manifest = sealed(told | spent | {"compile_seconds": cost.compiling})
    place.mkdir(parents=True, exist_ok=True)
    columns = {name: column for name, column in table.columns.items() if name != WEIGHTS}
    Table(columns, table.axes, manifest).save(place / "table.parquet")
    write_whole(place / "manifest.json", (json.dumps(manifest, indent=2) + "\n").encode())
    for name, drawn in figure.plots(table).items():
        drawn.save(place / f"{name}.png")
    return place


def computed_on(store: str | Path) -> dict[str, Any]:
    """The machine that computed most chunks: a run may have been begun on one without a device."""
    names = ("commit", "environment", "versions", "device")
    machines = [
        json.dumps({name: facts[name] for name in names if name in facts}, sort_keys=True)
        for facts in read_facts(store)
        if "device" in facts
    ]
    return json.loads(max(machines, key=machines.count)) if machines else {}


def decide_published(
    figure: Figure, results: str | Path, paper: Paper | None = None
) -> tuple[Verdict, ...]:
    """Every claim of a figure from its published table; a missing table is said, not hidden.

    Args:
        figure: The figure.
        results: The folder of results.
        paper: The figure's paper, where that is not among the known ones.
    """
    if not Path(results).is_dir():
        raise InputError(f"there is no folder {results}", "published tables live in results/")
    path = Path(results) / figure.paper / figure.name / "table.parquet"
    earlier = Path(results) / figure.paper / figure.once / "table.parquet"
    if figure.once and earlier.exists() and not path.exists():
        path = earlier
    if not path.exists():
        return figure.unknown(f"no published table {path}", decision="not run")
    table = Table.load(path)
    made_by = recipe_of(table.manifest, path, paper)
    if (made_by.paper, made_by.name) != (figure.paper, figure.name):
        raise InputError(
            f"{path} holds {made_by.paper} {made_by.name}, not {figure.paper} {figure.name}",
            "publish the right table there",
        )
    return figure.verdict(table)


def decide_running(
    figure: Figure, scale: str, folder: str | Path, seed: int, stall: float, progress: Any
) -> tuple[list[Verdict], str | None]:
    """Every claim of a figure from a run at a scale; a failed run is said and the rest goes on."""
    place = default_store(figure, scale, seed, folder=folder)
    command = f"limelight run {figure.paper} {figure.name} --scale {scale} --seed {seed}"
    try:
        table = figure.run(
            scale,
            place,
            seed=seed,
            progress=progress,
            stall=stall,
            command=f"{command} --store {shlex.quote(str(place))}",
        )
    except RunError as error:
        return list(figure.unknown(f"the run failed: {error.message}")), error.message
    return list(figure.verdict(table)), None


def entries(paper: Paper | None, *others: str) -> dict[str, str]:
    """BibTeX entries by key: a paper's if there is one, and those of others by their keys."""
    text = (importlib.resources.files("limelight.papers") / "references.bib").read_text(
        encoding="utf-8"
    )
    ours = {key: entry for entry, key in re.findall(r"(?ms)^(@\w+\{(\w+),.*?^\})", text)}
    ours |= {paper.key: paper.bibtex} if paper and paper.bibtex else {}
    return {key: ours[key] for key in (*([paper.key] if paper else []), *others) if key in ours}


def cost_of_run(store: str | Path, table: Table) -> StudyCost:
    """What a run took, from its chunks or from the manifest of its published table."""
    facts = read_facts(store) if Path(store).is_dir() else []
    seconds = sum(fact["seconds"] for fact in facts) or table.manifest.get("seconds", 0.0)
    compiled = sum(fact.get("compilations", 0) for fact in facts)
    waited = sum(fact["compile_seconds"] for fact in facts)
    return StudyCost(
        trials=len(table),
        seconds=seconds,
        compilations=compiled or table.manifest.get("compilations"),
        compiling=waited if facts else table.manifest.get("compile_seconds"),
    )


def _repeated(command: str) -> str:
    """A command without what says where it ran: folders, clusters and their addresses."""
    try:
        words = iter(shlex.split(command))
    except ValueError:
        return command
    kept = []
    for word in words:
        name, given, _ = word.partition("=")
        if name not in ("--store", "--on", "--workers", "--with"):
            kept.append(Path(word).name if Path(word).is_absolute() else word)
        elif not given:
            next(words, None)
    return shlex.join(kept)
