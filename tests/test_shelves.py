"""What stands on the shelves: every part has a stable name, every name leads somewhere."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from limelight import measures, models, theory, worlds
from limelight._core.kinds import kind_of


def names(shelf, *leave_out):
    return [(name, getattr(shelf, name)) for name in shelf.__all__ if name not in leave_out]


def test_every_measure_has_a_kind():
    for name, part in names(measures):
        label = kind_of(part if isinstance(part, type) else type(part))
        assert (label or "").startswith("measure."), name


def test_every_world_and_every_recipe_has_a_kind():
    classes = lambda shelf, base: [
        (name, part) for name, part in names(shelf) if isinstance(part, type) and part is not base
    ]
    for name, world in classes(worlds, worlds.World):
        if not issubclass(world, worlds.World):
            continue
        assert kind_of(world) == "world." + snake(name), name
    for name, recipe in classes(models, models.Recipe):
        if issubclass(recipe, models.Recipe):
            assert kind_of(recipe) == "model." + snake(name), name


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


@pytest.mark.parametrize(
    "shelf",
    [worlds, models, measures, theory, theory.jelassi2022, theory.zhang2024]
    + [theory.tarzanagh2023, theory.geshkovski2023],
)
def test_every_name_of_a_shelf_leads_somewhere(shelf):
    assert len(set(shelf.__all__)) == len(shelf.__all__)
    assert all(getattr(shelf, name).__class__.__name__ != "module" for name in shelf.__all__)
    with pytest.raises(AttributeError, match="nowhere"):
        shelf.nowhere  # noqa: B018


SOURCE = Path(worlds.__file__).parents[1]
#: What `limelight new` writes stands alone: each start brings its own world and model.
STARTS = SOURCE / "start"


def sources():
    """Every file of the library with its text."""
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.is_relative_to(STARTS):
            yield path.relative_to(SOURCE), path.read_text(encoding="utf-8")


def test_class_names_are_unique():
    """One name, one class, read off the files."""
    found = defaultdict(list)
    for path, text in sources():
        for name in re.findall(r"^ *class (\w+)[(:]", text, re.M):
            found[name].append(str(path))
    assert len(found) > 300
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


FLAG = re.compile(r"(?<![\w-])--[a-z]")


def flags_in_errors(text):
    """Flags in whatever a text raises."""
    raised = [n.exc for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Raise) and n.exc]
    parts = [
        part.value for exc in raised for part in ast.walk(exc) if isinstance(part, ast.Constant)
    ]
    return [part for part in parts if isinstance(part, str) and FLAG.search(part)]


def test_errors_below_the_command_line_name_no_flag():
    """They speak of fields and values; the command line adds its flag."""
    assert flags_in_errors('raise InputError(f"{x} is no size", "another --size")')
    below = [(p, text) for p, text in sources() if p.parts[0] != "_cli" and FLAG.search(text)]
    assert {str(path): told for path, text in below if (told := flags_in_errors(text))} == {}


@pytest.mark.parametrize(
    "key",
    ["edelman2022", "jelassi2022", "li2023", "xu2022", "zhang2024"]
    + ["tarzanagh2023", "geshkovski2023"],
)
def test_statements_load_neither_jax_nor_matplotlib(key):
    """A statement answers from the command line at once."""
    heavy = ("jax", "equinox", "matplotlib", "scipy.stats", "scipy.optimize")
    script = (
        "import sys, importlib, pkgutil\n"
        f"package = importlib.import_module('limelight.theory.{key}')\n"
        f"late = {LATE.get(key, ())!r}\n"
        "for module in pkgutil.iter_modules(package.__path__):\n"
        "    if module.name not in late:\n"
        "        importlib.import_module(f'{package.__name__}.{module.name}')\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.stderr, ran.stdout) == ("", "[]\n")


#: Modules that compute with JAX.
LATE = {
    "jelassi2022": (
        "blurred", "descent", "flow", "full", "layer", "optimum", "population", "run",
        "shift", "start",
    ),
    "tarzanagh2023": ("compiled",),
    "zhang2024": ("course",),
}  # fmt: skip


@pytest.mark.parametrize("shelf", ["worlds", "models", "experiments", "fit", "certificate"])
def test_a_module_that_gives_users_nothing_says_so_in_its_name(shelf):
    """It begins with an underscore, unless its names are used by their module (`LOOSE`)."""
    import importlib
    import pkgutil

    package = importlib.import_module(f"limelight.{shelf}")
    given = {getattr(getattr(package, name), "__module__", "") for name in package.__all__}
    for module in pkgutil.iter_modules(package.__path__):
        full = f"{package.__name__}.{module.name}"
        public = any(place == full or place.startswith(full + ".") for place in given)
        assert public or module.name.startswith("_") or module.name in LOOSE[shelf], full


#: Modules whose functions are called as `module.function`, or that name a contract.
LOOSE = {
    "worlds": {"laws", "sources"},
    "models": {"construct", "decoder", "denoiser", "merge", "weights"},
    "experiments": set(),
    "fit": {"curves", "estimates"},
    "certificate": set(),
}
