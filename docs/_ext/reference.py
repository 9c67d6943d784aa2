"""The API reference: one page per shelf, every public name in the order of its `__all__`."""

import functools
import importlib
import inspect
import re
import textwrap
from pathlib import Path

from limelight.papers import KEYS

#: The shelves, and what one finds there. A paper's theory has a page of its own.
SHELVES = {
    "limelight": "limelight: what most scripts need",
    "limelight.worlds": "Worlds: where examples come from",
    "limelight.models": "Models: what is trained",
    "limelight.train": "Training: how a model is trained",
    "limelight.measures": "Measures: what is read off a trained model",
    "limelight.experiments": "Experiments: one trial of each kind",
    "limelight.fit": "Statistics: intervals, thresholds, laws",
    "limelight.claims": "Claims, rules and verdicts",
    "limelight.plot": "Pictures, from tables",
    "limelight.chart": "Charts that answer to a reader",
    "limelight.theory": "Theory: conditions and bounds",
    **{f"limelight.theory.{key}": f"Theory of {key}" for key in KEYS},
    "limelight.papers": "Papers: recipes of figures",
    "limelight.instruments": "Instruments for real ViTs",
    "limelight.certificate": "Certificates: proofs about weights",
}
#: Public names that live in modules below a shelf, where each module has one subject.
BELOW = {
    "limelight.fit": (
        *("estimates.share", "estimates.mean", "estimates.median", "estimates.paired"),
        *("estimates.paired_shares", "estimates.difference", "estimates.share_gap"),
        *("estimates.ratio", "estimates.of_means", "estimates.largest", "estimates.together"),
        *("estimates.lowest", "estimates.highest", "estimates.hull", "estimates.joined"),
        *("estimates.enough", "estimates.missing"),
        *("curves.crossing", "curves.falls", "curves.slopes", "curves.law"),
    ),
    "limelight.papers": (
        *("load", "known", "contents.Paper", "contents.Statement"),
        *("recipe.Figure", "recipe.Scale", "recipe.scales"),
    ),
    "limelight.instruments": (
        *("sight.Sight", "gallery.Gallery", "probe.probe", "probe.Probe", "findings.findings"),
        *("draw.pictures", "prune.prune", "prune.Pruned"),
    ),
}
#: Shelves whose names are shown at work on another page, which is executed.
SHOWN = {"limelight.instruments": "../tutorials/vit.md"}


@functools.cache
def public(module: str) -> dict[str, object]:
    """The public names of a shelf that are not shelves themselves, and what they stand for."""
    shelf = importlib.import_module(module)
    named = {name: _below(module, name) for name in BELOW.get(module, ())}
    named |= {name: getattr(shelf, name) for name in getattr(shelf, "__all__", ())}
    return {name: thing for name, thing in named.items() if not inspect.ismodule(thing)}


def _below(module: str, name: str) -> object:
    path, _, last = f"{module}.{name}".rpartition(".")
    return getattr(importlib.import_module(path), last)


def entry(module: str, name: str, thing: object) -> str:
    """One name, as autodoc is asked for it."""
    if inspect.isclass(thing):
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    return f".. autofunction:: {module}.{name}\n"


def page(module: str, title: str) -> str:
    """A shelf."""
    parts = [f"# {title}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"]
    if module in SHOWN:
        parts.append(f"All of it at work, with its output: [a tutorial]({SHOWN[module]}).\n")
    for name, thing in public(module).items():
        home = shelf_of(name, thing) if module == "limelight" else module
        if home != module:
            parts.append(f"## {name}\n\nSee [`{home}.{name}`]({home}.md#{name.lower()}).\n")
        elif isinstance(thing, tuple | float | int | str):  # a constant
            parts.append(f"## {name}\n\n```python\n{name} = {thing!r}\n```\n")
        elif type(thing).__module__ in ("types", "typing", "collections.abc"):  # a name of types
            parts.append(f"## {name}\n\n```python\n{alias(name, thing)}\n```\n")
        elif type(thing).__module__.startswith("limelight"):
            kind = type(thing).__name__
            parts.append(
                f"## {name}\n\n[`{kind}`](#{kind.lower()}) with its usual settings: `{thing!r}`.\n"
            )
        else:
            parts.append(f"## {name}\n\n```{{eval-rst}}\n{entry(module, name, thing)}```\n")
    return "\n".join(parts)


def alias(name: str, types: object) -> str:
    """What a name of types stands for, without the modules that they are from."""
    plain = re.sub(r"\b(?:\w+\.)+(?=\w)", "", repr(types))
    return textwrap.fill(f"{name} = {plain}", 84, subsequent_indent="    ")


def shelf_of(name: str, thing: object) -> str:
    """Where a name of the door is explained: on a shelf that has it, or at the door."""
    shelves = [module for module in SHELVES if module != "limelight"]
    return next((module for module in shelves if public(module).get(name) is thing), "limelight")


def write(app) -> None:
    """Every page, written only where it changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for module, title in SHELVES.items():
        _put(folder / f"{module}.md", page(module, title))
    rows = "\n".join(f"| [`{m}`]({m}.md) | {t} | {first(m)} |" for m, t in SHELVES.items())
    toc = "\n".join(SHELVES)
    _put(
        folder / "index.md",
        "# API reference\n\nEverything that is for users, from the docstrings. Every name has an"
        " example, and the tests run it. What begins with an underscore serves the library itself"
        " and may change.\n\n"
        f"| shelf | what is there | begins with |\n| --- | --- | --- |\n{rows}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{toc}\n```\n",
    )


def first(module: str, most: int = 3) -> str:
    """The first names of a shelf, and how many there are; constants come last."""
    names = sorted(public(module), key=str.isupper)
    shown = ", ".join(f"`{name.rpartition('.')[2]}`" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def setup(app):
    """Register it."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
