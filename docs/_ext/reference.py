"""The API reference: one page per shelf, every public name in the order of its `__all__`."""

import importlib
import inspect
from pathlib import Path

#: The shelves, and what one finds there.
SHELVES = {
    "limelight": "The door",
    "limelight.worlds": "Worlds: where examples come from",
    "limelight.models": "Models: what is trained",
    "limelight.train": "Training",
    "limelight.measures": "Measures: what is read off a trained model",
    "limelight.experiments": "Experiments: one trial of each kind",
    "limelight.fit": "Statistics: intervals, thresholds, laws",
    "limelight.claims": "Claims, rules and verdicts",
    "limelight.plot": "Pictures",
    "limelight.theory": "Theory: conditions and bounds",
    "limelight.theory.li2023": "Theory of li2023",
    "limelight.theory.xu2022": "Theory of xu2022",
    "limelight.theory.edelman2022": "Theory of edelman2022",
    "limelight.theory.jelassi2022": "Theory of jelassi2022",
    "limelight.certificate": "Certificates",
}


def public(module: str) -> dict[str, object]:
    """The public names of a shelf that are not shelves themselves."""
    shelf = importlib.import_module(module)
    named = {name: getattr(shelf, name) for name in shelf.__all__}
    return {name: thing for name, thing in named.items() if not inspect.ismodule(thing)}


def entry(module: str, name: str, thing: object) -> str:
    """One name, as autodoc is asked for it."""
    if inspect.isclass(thing):
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    if inspect.isfunction(thing):
        return f".. autofunction:: {module}.{name}\n"
    return f".. autodata:: {module}.{name}\n   :no-value:\n"


def page(module: str, title: str) -> str:
    """A shelf."""
    names = public(module)
    listed = ", ".join(f"[`{name}`](#{anchor(module, name)})" for name in names)
    body = "\n".join(entry(module, name, thing) for name, thing in names.items())
    return (
        f"# {title}\n\n```{{eval-rst}}\n.. currentmodule:: {module}\n.. automodule:: {module}\n"
        f"```\n\n{listed}\n\n```{{eval-rst}}\n{body}```\n"
    )


def anchor(module: str, name: str) -> str:
    """Where autodoc puts a name."""
    return f"{module}.{name}"


def write(app) -> None:
    """Every page, written only where it changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for module, title in SHELVES.items():
        _put(folder / f"{module}.md", page(module, title))
    rows = "\n".join(f"| [`{m}`]({m}.md) | {title} |" for m, title in SHELVES.items())
    toc = "\n".join(SHELVES)
    _put(
        folder / "index.md",
        "# API reference\n\nEverything that is for users, from the docstrings. Every name has an"
        " example, and the tests run it. What begins with an underscore serves the library itself"
        " and may change.\n\n"
        f"| shelf | what is there |\n| --- | --- |\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n",
    )


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def setup(app):
    """Register it."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
