"""The gallery: all published tables of all papers as a folder of pages."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from limelight._core.errors import InputError
from limelight._page.report import Section
from limelight._page.site import Chapter, write_site
from limelight.papers import KEYS, _studied, known, load_each
from limelight.papers.contents import RAISED, Paper, in_a_line
from limelight.papers.pages import heading, section
from limelight.papers.published import open_manifest
from limelight.papers.recipe import Figure
from limelight.theory.base import Condition

TITLE = "The executable theory of attention"


def write_gallery(
    results: str | Path,
    folder: str | Path,
    paper: Paper | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Write the gallery of a folder of published results.

    Args:
        results: One folder per paper, one per figure in it, each with a `table.parquet`.
        folder: Where the pages go.
        paper: One more paper, where it is not among the known ones.
        tell: Called with a line for each paper whose tables are left out.

    Returns:
        The pages, the first one first.
    """
    results = Path(results)
    if not results.is_dir():
        raise InputError(f"there is no folder {results}", "published tables live in results/")
    published = sorted({path.parent.parent.name for path in results.glob("*/*/table.parquet")})
    papers, failed = load_each(key for key in known() if key in published)
    papers += [paper] if paper is not None and paper.key not in known() else []
    found = []
    for one in papers:
        try:
            found.append(chapter(one, results))
        except RAISED as error:
            if one.key in KEYS:
                raise  # a fault of our own; a stranger's harms no other
            failed[one.key] = in_a_line(error)
    found = [one for one in found if any(part.figures for part in one.sections)]
    for key in sorted({*published} - {one.key for one in found}):
        why = failed.get(key, f"the paper {key!r} is not at hand")
        tell(f"{results / key} is left out: {why}")
    if not found or paper is not None and paper.key not in [one.key for one in found]:
        raise InputError(
            f"{results} holds no published table of {paper.key if paper else 'a paper'}",
            "results/<paper>/<figure>/table.parquet",
        )
    return write_site(folder, TITLE, found)


def chapter(paper: Paper, results: Path) -> Chapter:
    """A paper with all its figures, in its own order; one without a table says so."""
    sections, kinds = [], []
    for name in paper.titles:
        figure = paper.figure(name)
        stores = [results / paper.key / place for place in (name, figure.once or name)]
        store = next((one for one in stores if (one / "table.parquet").exists()), None)
        sections.append(waiting(figure) if store is None else section(store, paper))
        kinds += [] if store is None else _studied.kinds_in(open_manifest(store))
    return Chapter(
        key=paper.key,
        title=paper.title,
        about=f"{paper.authors}. {paper.venue}",
        sections=sections,
        files=[f"{name}.html" for name in paper.titles],
        errata=errata(paper),
        studied=_studied.pictures(kinds),
    )


def waiting(figure: Figure) -> Section:
    """A figure without a published table: its claims, not run, and the command that would."""
    return replace(
        heading(figure),
        verdicts=figure.unknown("There is no published table yet.", decision="not run"),
        rerun=[f"limelight run {figure.paper} {figure.name} --scale paper"],
    )


def errata(paper: Paper) -> tuple[tuple[str, str, str], ...]:
    """What a paper prints and a number contradicts: both statements, and the command."""
    try:
        listed = importlib.import_module(f"limelight.theory.{paper.key}.errata").EVIDENCE
    except (ImportError, AttributeError):
        return ()
    found = []
    for number in listed:
        bound = paper.statement("errata").evaluate({"number": str(number)})
        name = bound.name
        told = "; ".join(_told(condition) for condition in bound.conditions)
        found.append((name, told, f"limelight show {paper.key} errata --set number={number}"))
    return tuple(found)


def _told(condition: Condition) -> str:
    sides = f"{condition.left:.3g} {condition.relation} {condition.right:.3g}"
    return f"{condition.name}: {sides} {'holds' if condition.holds else 'fails'}"
