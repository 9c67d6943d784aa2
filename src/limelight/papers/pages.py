"""Runs and published tables as pages: a report, and what a site is made of."""

import dataclasses
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from limelight._core.errors import InputError
from limelight._core.maths import in_text
from limelight._engine.reading import open_table
from limelight._identity.description import describe, modern
from limelight._page.report import Illustration, Numbers, Section, write_report
from limelight._page.shell import packed
from limelight.chart import Chart, of_picture
from limelight.papers import _studied, known, load
from limelight.papers._titles import caption_of
from limelight.papers.contents import Paper
from limelight.papers.published import (
    cost_of_run,
    divergence,
    find_recipe,
    open_manifest,
    pictures_of,
    unfinished,
)
from limelight.papers.recipe import Figure
from limelight.plot import Image, Map
from limelight.table import Table

#: Packed bytes of the chart of a picture at most; heavier ones stay pictures.
MOST = 60_000


def write_page(path: str | Path, stores: Iterable[str | Path], paper: Paper | None = None) -> None:
    """One HTML page for several runs: what was found, figures, claims; the rest folded away."""
    sections = [section(store, paper) for store in _in_order(stores, paper)]
    write_report(path, title_of(sections, paper), sections, about=about(sections, paper))


def _in_order(stores: Iterable[str | Path], paper: Paper | None) -> list[str | Path]:
    """Runs of one paper in the order of its contents; others as they come."""
    stores = list(stores)
    figures = [find_recipe(open_manifest(store), paper) for store in stores]
    keys = {figure.paper if figure else "" for figure in figures}
    if len(keys) != 1 or "" in keys:
        return stores
    order = list((paper or load(keys.pop())).titles)
    place = {id(store): order.index(f.name) for store, f in zip(stores, figures, strict=True) if f}
    return sorted(stores, key=lambda store: place[id(store)])


def title_of(sections: list[Section], paper: Paper | None = None) -> str:
    """The heading of a page: the study, the paper, or just that it is a report."""
    if len(sections) == 1:
        return sections[0].title
    one = _paper_of(sections, paper)
    return one.title if one else "limelight report"


def about(sections: list[Section], paper: Paper | None = None) -> str:
    """Whose paper it is, and how much of it is on the page."""
    one = _paper_of(sections, paper)
    if one is None or len(sections) == 1:
        return ""
    shown = f"{len(sections)} of the {len(one.titles)} figures of {one.key}, run with limelight"
    return f"{one.authors}. {one.venue}. Here: {shown}."


def _paper_of(sections: list[Section], paper: Paper | None) -> Paper | None:
    """The paper that all sections are of."""
    keys = {one.name.partition(".")[0] for one in sections}
    (key,) = keys if len(keys) == 1 else ("",)
    if paper is not None and paper.key == key:
        return paper
    return load(key) if key in known() else None


def section(store: str | Path, paper: Paper | None = None) -> Section:
    """A run as a section of a page."""
    table = open_table(store)
    manifest = table.manifest
    figure = find_recipe(manifest, paper)
    missing = unfinished(table)
    if figure is None:
        return plain_section(store, table, missing)
    table = figure.marked(table)
    drawn, notes = illustrations(figure, table, store)
    numbers, lines = tables_of(figure.lines(table))
    return dataclasses.replace(
        heading(figure),
        verdicts=figure.verdict(table),
        remark=figure.remark,
        figures=drawn,
        studied=_studied.pictures(_studied.kinds_in(manifest)),
        numbers=numbers,
        settings=changed_settings(figure, manifest),
        cost=cost_of_run(store, table),
        versions={**manifest.get("versions", {}), **manifest.get("device", {})},
        rerun=[rerun(manifest, store), f"limelight cite {figure.paper}"],
        notes=[
            f"Unfinished: {missing}." if missing else f"{len(table):,} trials.",
            *([f"{divergence(table)}."] if table.diverged.any() else []),
            f"Departures: {figure.departures}.",
            *notes,
            *lines,
        ],
    )


def heading(figure: Figure) -> Section:
    """What a section says of a figure before any number."""
    return Section(
        name=f"{figure.paper}.{figure.name}",
        title=f"{figure.title[:1].upper()}{figure.title[1:]}",
        place=f"{figure.paper}, {figure.reference or figure.name}",
        statement=figure.lead if figure.lead.endswith((".", "?", "!")) else f"{figure.lead}.",
    )


def plain_section(store: str | Path, table: Table, missing: str) -> Section:
    """A run whose recipe is not at hand: what it holds, drawn plainly."""
    name = table.manifest.get("configuration", {}).get("name") or Path(store).name
    pictures = pictures_of(table, None) if len(table.axes) else {}
    return Section(
        name=name,
        title=name,
        statement="A study without a recipe: every measure over its axes.",
        figures=[
            Illustration(
                picture, caption=m, alt=f"{m} over the axes of the study", chart=chart_of(picture)
            )
            for m, picture in pictures.items()
        ],
        settings=all_settings(table.manifest),
        cost=cost_of_run(store, table),
        versions={**table.manifest.get("versions", {}), **table.manifest.get("device", {})},
        notes=[f"Unfinished: {missing}." if missing else f"{len(table):,} trials."],
    )


# --- figures ----------------------------------------------------------------------------------


def illustrations(
    figure: Figure, table: Table, store: str | Path
) -> tuple[list[Illustration], list[str]]:
    """Every picture that the table allows, with its chart, and why the others are not there.

    Beside a published table lie its pictures, which are taken as they are.
    """
    found, notes = [], []
    names = sorted(figure.pictures, key=lambda name: name not in figure.charts)
    for name in names:
        published = Path(store) / f"{name}.png"
        try:
            picture = figure.plot(table, name)
            chart = figure.chart(table, name) if name in figure.charts else chart_of(picture)
            still = published.read_bytes() if published.is_file() else picture
            caption = caption_of(figure.pictures[name])
            alt = ". ".join(filter(None, (in_text(picture.title), in_text(caption))))
            marks = [mark for panel in picture.panels for mark in panel.content]
            shaded = any(isinstance(mark, Map | Image) for mark in marks)
            words = picture.title, picture.subtitle
            found.append(Illustration(still, caption, alt, chart, shaded, *words))
        except InputError as error:
            notes.append(f"The picture {name!r} could not be drawn: {error.message}.")
    return found, notes


def chart_of(picture: Any) -> Chart | None:
    """A picture as a chart; none where it cannot be one, or would be heavy."""
    try:
        chart = of_picture(picture)
    except InputError:
        return None
    return chart if len(packed(chart.spec())) <= MOST else None


def tables_of(lines: list[str]) -> tuple[list[Numbers], list[str]]:
    """The lines of a summary as tables, each under its title, and the lines that are none.

    Example:
        >>> lines = ["by n:", "  n  mean", "  8  0.5", "  9  0.6", "  and 42 more cells"]
        >>> (table,), rest = tables_of(lines)
        >>> table.caption, table.rows, rest
        ('by n, and 42 more cells', [['8', '0.5'], ['9', '0.6']], [])
    """
    found, rest, block = [], [], []
    title = ""

    def close() -> None:
        nonlocal block, title
        rows = [re.split(r"\s{2,}", line.strip()) for line in block]
        if len(rows) > 2 and len(rows[-1]) == 1 < len(rows[0]):  # "and 42 more cells"
            title = f"{title.rstrip(':') or 'Summary'}, {' '.join(rows.pop())}"
        if len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            found.append(Numbers(title.rstrip(":") or "Summary", rows[0], rows[1:]))
        else:
            rest.extend(filter(None, (title, *(line.strip() for line in block))))
        block, title = [], ""

    for line in lines:
        if line.startswith("  "):
            block.append(line)
            continue
        if block or title:
            close()
        title = line
    close()
    return found, rest


# --- settings ---------------------------------------------------------------------------------


def changed_settings(figure: Figure, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was made with, as far as it is not the default of a part."""
    found = all_settings(manifest)
    try:
        trial = figure.setup(str(manifest.get("scale")), manifest.get("settings", {})).experiment
    except InputError:
        return found
    return found | {"experiment": _changed(trial, modern(found.get("experiment", {})))}


def _changed(part: Any, told: Any) -> Any:
    """Entries of a description that differ from the defaults of the part that they describe."""
    if not dataclasses.is_dataclass(part) or not isinstance(told, Mapping):
        return told
    found = {}
    for field in dataclasses.fields(part):
        if field.name not in told:
            continue
        value, entry = getattr(part, field.name), told[field.name]
        if dataclasses.is_dataclass(value) and isinstance(entry, Mapping):
            inner = _changed(value, entry)
            found |= {field.name: inner} if inner else {}
        elif field.default is dataclasses.MISSING or describe(field.default) != entry:
            found[field.name] = entry
    return found


def all_settings(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a run was made with."""
    configuration = manifest.get("configuration", {})
    keep = {k: configuration[k] for k in ("trials", "seed", "shared") if configuration.get(k)}
    axes: dict[str, Any] = {}
    for paths, values in configuration.get("axes", []):
        axes |= {paths[0]: values} if len(paths) == 1 else _together(paths, values)
    return {
        "scale": manifest.get("scale", "custom"),
        **keep,
        "axes": axes,
        "experiment": configuration.get("experiment", {}),
        "hash": manifest.get("hash", ""),
    }


def _together(paths: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, str]:
    """The values of axes that move together: each once, and in how many combinations.

    Example:
        >>> _together(["a", "b"], [[1, 0.125], [2, 0.125], [2, 1 / 3]])
        {'a': '1, 2 (3 combinations with b)', 'b': '0.125, 0.3333 (3 combinations with a)'}
    """
    found = {}
    for place, path in enumerate(paths):
        seen = dict.fromkeys(
            f"{one[place]:.4g}" if isinstance(one[place], float) else str(one[place])
            for one in values
        )
        others = ", ".join(other for other in paths if other != path)
        found[path] = f"{', '.join(seen)} ({len(values)} combinations with {others})"
    return found


def rerun(manifest: Mapping[str, Any], store: Any) -> str:
    """The command that makes a run again."""
    extra = [w for k, v in manifest.get("settings", {}).items() for w in ("--set", f"{k}={v}")]
    words = ["limelight", "run", manifest["paper"], manifest["figure"]]
    words += ["--scale", manifest["scale"], "--seed", str(manifest.get("seed", 0))]
    published = not (Path(store) / "chunks").is_dir()
    return shlex.join([*words, *([] if published else ["--store", str(store)]), *extra])
