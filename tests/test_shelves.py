"""What stands on the shelves: every part has a stable name, every name leads somewhere."""

import subprocess
import sys

import pytest

from limelight import measures, models, theory, worlds
from limelight._core.kinds import kind_of


def names(shelf, *leave_out):
    return [(name, getattr(shelf, name)) for name in shelf.__all__ if name not in leave_out]


def test_every_measure_has_a_kind():
    for name, part in names(measures, "Begun"):
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
    [worlds, models, measures, theory]
    + [theory.jelassi2022, theory.tarzanagh2023, theory.zhang2024],
)
def test_every_name_of_a_shelf_leads_somewhere(shelf):
    assert len(set(shelf.__all__)) == len(shelf.__all__)
    assert all(getattr(shelf, name).__class__.__name__ != "module" for name in shelf.__all__)
    with pytest.raises(AttributeError, match="nowhere"):
        shelf.nowhere  # noqa: B018


def test_class_names_are_unique():
    """One name, one class: in the library's own shelves, read off their files."""
    import ast
    from collections import Counter
    from pathlib import Path

    root = Path(worlds.__file__).parents[1]
    owned = (
        "worlds",
        "models",
        "measures",
        "theory",
        "certificate",
        "instruments",
        "_page",
        "_core",
    )
    found = Counter(
        node.name
        for shelf in owned
        for path in (root / shelf).rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in found.items() if count > 1] == []


@pytest.mark.parametrize(
    "key", ["edelman2022", "jelassi2022", "li2023", "tarzanagh2023", "xu2022", "zhang2024"]
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
