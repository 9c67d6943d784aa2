"""A paper as a table of contents: symbols to names, labels to functions, figures to recipes.

Nothing here computes, and nothing heavy is loaded: statements answer without JAX, figures come when
they are first asked for.
"""

import importlib
import inspect
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight._core.errors import InputError, suggest
from limelight._core.words import kinds_of, parse, shortened
from limelight.theory.base import Bound

if TYPE_CHECKING:
    from limelight.claims import Claim
    from limelight.papers.coverage import Item
    from limelight.papers.recipe import Figure


#: What a stranger's code may raise; one that ends the process, even with 0, would decide nothing.
RAISED = (Exception, SystemExit)
#: One thread at a time: what is redirected belongs to the process.
_ASIDE = threading.RLock()


@contextmanager
def aside() -> Iterator[None]:
    """While a stranger's module is imported: what it prints goes where errors go.

    A command's own output is read by other programs (`--json`).
    """
    with _ASIDE, redirect_stdout(sys.stderr):
        yield


def cannot_load(what: str, error: BaseException) -> InputError:
    """A stranger's module that fails, as one line."""
    return InputError(f"cannot load the paper {what}: {in_a_line(error)}")


def in_a_line(error: BaseException) -> str:
    """What a stranger's code raised, even where it cannot say so itself."""
    try:
        said = str(error)
    except Exception:
        said = "it does not say why"
    return " ".join(f"{type(error).__name__}: {said}".split())


def check_names(whose: str, names: Iterable[str]) -> None:
    """Refuse what could not name a file, or would name one elsewhere; and a name given twice."""
    names = list(names)
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise InputError(
                f"{whose} cannot be called {name!r}", "it names files: letters, digits, - and _"
            )
        if names.count(name) > 1:
            raise InputError(f"{whose} {name!r} occurs twice", "give each a name of its own")


@dataclass(frozen=True)
class Statement:
    """A theorem made callable, with its settings as keyword arguments.

    Args:
        label: What the paper calls it, such as `theorem1`.
        title: What it says, in a line.
        function: Keyword arguments with defaults, to a `Bound` (or something that prints); as
            "module:name" it is imported when it is first needed.
        defaults: Defaults other than the function's own.
        most: The largest value of settings that are counted through one by one: far beyond it an
            answer would take hours, or all memory.

    Example:
        >>> examples = lambda relevant=0.5: Bound("examples", relevant**-2, "sufficient")
        >>> print(Statement("theorem1", "examples that suffice", examples).evaluate({}))
        examples = 4  [sufficient; applies]
    """

    label: str
    title: str
    function: Callable[..., Bound] | str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def loaded(self) -> Callable[..., Bound]:
        """The function itself, with the defaults of this statement."""
        if not isinstance(self.function, str):
            return partial(self.function, **self.defaults)
        module, name = self.function.split(":")
        with aside():
            return partial(getattr(importlib.import_module(module), name), **self.defaults)

    @property
    def settings(self) -> dict[str, Any]:
        """Names and defaults."""
        parameters = inspect.signature(self.loaded).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    def evaluate(self, settings: Mapping[str, str]) -> Bound:
        """Evaluate at the defaults, overridden by words from the command line."""
        known = self.settings
        values = {}
        for name, text in settings.items():
            if name not in known:
                hint = suggest(name, list(known)) if known else "it takes none"
                raise InputError(f"{self.label} has no setting {name!r}", hint)
            values[name] = self._value(name, text, known[name])
        try:
            with np.errstate(all="ignore"):  # what overflows shows as infinite
                bound = self.loaded(**values)
                bound.as_json()
        except MemoryError:
            raise InputError(
                f"{self.label} would need more memory than there is at these settings",
                "smaller ones",
            ) from None
        except (ArithmeticError, ValueError, TypeError) as error:  # no such root or quotient
            raise InputError(
                f"{self.label} says nothing at these settings: {error}",
                "defaults: " + ", ".join(f"{name}={known[name]}" for name in values),
            ) from None
        return bound

    def _value(self, name: str, text: str, default: Any) -> Any:
        try:
            value = parse(text, default)
        except InputError as error:
            raise InputError(f"{name}: {error.message}", f"the default is {default}") from None
        if value is None and default is not None:
            raise InputError(f"{name} cannot be none", f"the default is {default}")
        if name in self.most and isinstance(value, int | float) and value > self.most[name]:
            raise InputError(
                f"{name} = {shortened(text)} is too large", f"at most {self.most[name]}"
            )
        declared = inspect.signature(self.loaded).parameters[name].annotation
        if (
            isinstance(value, str)
            and not isinstance(default, str)
            and str not in kinds_of(declared)
        ):
            raise InputError(
                f"{name}: {shortened(text)!r} is not a number", f"the default is {default}"
            )
        return value


class Paper:
    """One paper's contents.

    A figure is a module of the paper's package with the name of the figure, dashes written as
    underscores; it is loaded when it is first asked for.

    Args:
        key: As in files, the command line, docs and BibTeX.
        title: Its title.
        authors: As cited.
        venue: Where and when.
        symbols: The paper's symbol to the name used here.
        statements: Theorems made callable.
        figures: The name of every figure and what it shows; or the figures themselves, where a
            paper is one file.
        package: The package whose modules are the figures; `limelight.papers.<key>` unless given.
        bibtex: The paper's BibTeX entry; ours stand in `references.bib`.
        renamed: Earlier names of figures, to today's; both are understood.

    Example:
        >>> paper = Paper(
        ...     key="smith2026", title="On Needles", authors="A. Smith", venue="2026",
        ...     symbols={"N": "train.examples"}, statements=(), figures={"fig1": "accuracy"},
        ... )
        >>> paper.titles
        {'fig1': 'accuracy'}
    """

    def __init__(
        self,
        *,
        key: str,
        title: str,
        authors: str,
        venue: str,
        symbols: Mapping[str, str],
        statements: tuple[Statement, ...],
        figures: "Mapping[str, str] | tuple[Figure, ...]",
        package: str = "",
        bibtex: str = "",
        renamed: Mapping[str, str] | None = None,
    ):
        check_names("a paper", [key])
        if isinstance(figures, Mapping):
            for name, shows in figures.items():
                if not isinstance(shows, str):
                    raise InputError(
                        f"{key}: {name} is given as a {type(shows).__name__}, not in words",
                        "figures=(figure, ...) where they stand in the same file",
                    )
        self.key, self.title, self.authors, self.venue = key, title, authors, venue
        self.symbols, self.statements = symbols, statements
        self.package = package or f"limelight.papers.{key}"
        self.bibtex = bibtex
        self.renamed = dict(renamed or {})
        self._figures = figures
        names = [one if isinstance(one, str) else one.name for one in figures]
        check_names(f"a figure of {key}", names)
        self._loaded: dict[str, Figure] = {}

    def __repr__(self) -> str:
        return f"{self.key}: {self.title} ({len(self.titles)} figures)"

    @cached_property
    def titles(self) -> dict[str, str]:
        """What each figure shows, by name; loads none of them."""
        if isinstance(self._figures, Mapping):
            return dict(self._figures)
        self._loaded = {figure.name: replace(figure, paper=self.key) for figure in self._figures}
        return {figure.name: figure.title for figure in self._figures}

    @cached_property
    def figures(self) -> "tuple[Figure, ...]":
        """Every figure, loaded."""
        from limelight.claims import check_unique

        figures = tuple(self.figure(name) for name in self.titles)
        check_unique(tuple(claim for figure in figures for claim in figure.claims))
        return figures

    @property
    def claims(self) -> "tuple[Claim, ...]":
        """Every claim, in order of figures."""
        return tuple(claim for figure in self.figures for claim in figure.claims)

    @cached_property
    def items(self) -> "tuple[Item, ...]":
        """Every numbered item, and where it lives here; empty where nobody listed them."""
        name = f"{self.package}.items"
        try:
            return importlib.import_module(name).ITEMS
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or name + "."):
                raise
            return ()

    def figure(self, name: str) -> "Figure":
        """A figure by name, or by a name that it had; no other is loaded."""
        name = self.renamed.get(name, name)
        if name not in self.titles:
            raise InputError(f"{self.key} has no figure {name!r}", suggest(name, list(self.titles)))
        if name not in self._loaded:
            self._loaded[name] = replace(
                self._recipe(name),
                name=name,
                title=self.titles[name],
                paper=self.key,
                once=next((old for old, new in self.renamed.items() if new == name), ""),
            )
        found = self._loaded[name]
        check_names(f"a picture of {self.key} {name}", found.pictures)
        check_names(f"a claim of {self.key} {name}", [claim.name for claim in found.claims])
        return found

    def _recipe(self, name: str) -> "Figure":
        """The figure of a module; a stranger's that cannot be loaded is one line of error."""
        try:
            with aside():
                return importlib.import_module(f"{self.package}.{name.replace('-', '_')}").figure
        except RAISED as error:
            if self.package == f"limelight.papers.{self.key}":
                raise  # a fault of our own
            raise cannot_load(f"{self.key} {name}", error) from error

    def statement(self, label: str) -> Statement:
        """A theorem by its label."""
        for statement in self.statements:
            if statement.label == label:
                return statement
        known = [statement.label for statement in self.statements]
        raise InputError(f"{self.key} has no statement {label!r}", suggest(label, known))

    def find(self, label: str) -> "Figure | Statement":
        """A statement or a figure by name; a statement loads no figure."""
        labels = [statement.label for statement in self.statements]
        if label in labels:
            return self.statement(label)
        if label in self.titles or label in self.renamed:
            return self.figure(label)
        known = [*self.titles, *labels]
        raise InputError(f"{self.key} has nothing called {label!r}", suggest(label, known))
