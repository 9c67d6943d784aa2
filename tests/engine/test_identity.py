"""A study's identity: stable for what is ours, and never blind to a change in the user's code."""

import collections
import dataclasses
import functools
import importlib
import operator
import os
import re
import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import numpy as np
import optax
import pytest

from limelight._core.errors import InputError, StoreError
from limelight._core.kinds import EARLIER, kind_of
from limelight._identity import code, origin
from limelight._identity.description import changed_code, describe, digest, modern, without_code
from limelight.worlds import Patterns, SparseBoolean

HELPERS = '''
"""Helpers of a study."""
SCALE = 2.0

def scaled(value):
    """A docstring."""
    return SCALE * value
'''
STUDY = '''
"""A study of one's own."""
import functools
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import helpers
from limelight.experiments import Experiment

LEVEL = 0.5
TABLE = {"a": 1.0, "b": [2.0, 3.0]}

def closed(power):
    return lambda value: value**power

def scaled_by(factor):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(value):
            return factor * function(value)
        return wrapper
    return decorate

@scaled_by(2)
def doubled(value):
    return value

class Slotted:
    __slots__ = ("gain",)
    def __init__(self, gain):
        self.gain = gain

SLOTTED = Slotted(1.0)
SPAN = range(3)
KEY = jr.key(0)
across = jax.vmap(lambda a, b: a + b, in_axes=(0, None))

def swapped(value, other):
    return value - other

square = closed(2)

class Base(Experiment):
    def read(self, value):
        return value + LEVEL

class Meter:
    """A measure that is an object."""
    def __init__(self, gain):
        self.gain = gain
    def __call__(self, value):
        return self.gain * value

@jax.jit
def compiled(value):
    return value - 1.0

class Mine(Base):
    """Draws a number."""
    sides: float = 6.0
    meter: object = eqx.field(static=True, default=Meter(1.0))

    def trial(self, key):
        # a comment
        value = helpers.scaled(jr.uniform(key)) * self.sides
        value = doubled(value) * SLOTTED.gain + len(SPAN) + across(jnp.ones(2), 1.0)[0]
        value = swapped(value=value, other=jr.uniform(KEY))
        return {"value": compiled(square(self.meter(self.read(value)))) * TABLE["a"]}
'''
CHANGES = {
    "a method": ("jr.uniform(key)) * self.sides", "jr.uniform(key)) + self.sides", "Mine.trial"),
    "a base class": ("value + LEVEL", "value - LEVEL", "Base.read"),
    "a global number": ("LEVEL = 0.5", "LEVEL = 0.6", "Base.read"),
    "a global table": ('"b": [2.0', '"b": [2.5', "Mine.trial"),
    "a closure": ("square = closed(2)", "square = closed(3)", "closed.<locals>.<lambda>"),
    "a lambda": ("value**power", "value * power", "closed.<locals>.<lambda>"),
    "a compiled function": ("value - 1.0", "value - 2.0", "compiled"),
    "a callable object's code": ("self.gain * value", "self.gain + value", "Meter.__call__"),
    "a decorator's setting": ("@scaled_by(2)", "@scaled_by(3)", "doubled"),
    "a decorator's body": ("factor * function", "factor + function", "doubled"),
    "what slots hold": ("Slotted(1.0)", "Slotted(2.0)", "Mine.trial"),
    "a range": ("range(3)", "range(4)", "Mine.trial"),
    "a key": ("KEY = jr.key(0)", "KEY = jr.key(1)", "Mine.trial"),
    "a transform": ("in_axes=(0, None)", "in_axes=(0, None), out_axes=-1", "lambda"),
    "names of parameters": (
        "def swapped(value, other):\n    return value - other",
        "def swapped(other, value):\n    return other - value",
        "swapped",
    ),
    "a default inside": ("def read(self, value)", "def read(self, value, by=1)", "Base.read"),
}
HARMLESS = {
    "a comment": ("# a comment", "# another comment, longer"),
    "a docstring": ("Draws a number.", "Draws another number."),
    "lines": ("LEVEL = 0.5", "\n\nLEVEL = 0.5"),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Import the study's modules from their text, anew each time."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def loaded(study=STUDY, helpers=HELPERS):
        for name, text in (("helpers", helpers), ("mine", study)):
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        origin.installed.cache_clear()
        return importlib.import_module("mine")

    yield loaded
    for name in ("helpers", "mine"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_the_users_code_is_refused_by_name(load, tmp_path, change):
    axes = {"sides": [1.0, 2.0]}
    store = tmp_path / "runs"
    before = load().Mine().sweep(axes, trials=2, store=store)
    old, new, name = CHANGES[change]
    assert old in STUDY
    edited = load(STUDY.replace(old, new)).Mine()
    with pytest.raises(StoreError, match="other code") as error:
        edited.sweep(axes, trials=2, store=store)
    assert name in error.value.message
    assert "same_code=True" in error.value.hint
    again = edited.sweep(axes, trials=2, store=store, same_code=True)
    np.testing.assert_array_equal(again["value"], before["value"])


def test_a_helper_in_another_module_of_the_user_counts(load, tmp_path):
    axes = {"sides": [1.0, 2.0]}
    load().Mine().sweep(axes, trials=2, store=tmp_path / "runs")
    for change in (("SCALE = 2.0", "SCALE = 3.0"), ("SCALE * value", "SCALE + value")):
        edited = load(helpers=HELPERS.replace(*change)).Mine()
        with pytest.raises(StoreError, match=r"helpers\.scaled"):
            edited.sweep(axes, trials=2, store=tmp_path / "runs")


#: What an expression in a trial reaches in some other way than by a name, and what changes.
HIDDEN = {
    "an attribute by a word": ('getattr(helpers, "scaled")(1.0)', "helpers"),
    "a global by a word": ('globals()["LEVEL"]', "LEVEL"),
    "a module by a word": ('importlib.import_module("helpers").scaled(1.0)', "helpers"),
    "the environment": ('float(os.environ["LIMELIGHT_TRIED"])', "environment"),
    "the environment, by a default": ('float(os.getenv("LIMELIGHT_TRIED", 1))', "environment"),
    "the environment, by a name": ("float(os.environ[ASKED])", "environment"),
    "a file by its path": ('float(Path("number.txt").read_text())', "file"),
    "a file by a global": ("float(PATH.read_text())", "file"),
    "a file of a folder": ('float((FOLDER / "number.txt").read_text())', "file"),
    "a file beside the code": ('float((Path(__file__).parent / "number.txt").read_text())', "file"),
    "an installed package": ("plugin.number()", "package"),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_what_a_trial_reaches_unseen_counts(load, tmp_path, monkeypatch, how):
    """Each of these once gave the numbers of before, without a word."""
    expression, kind = HIDDEN[how]
    head = 'import importlib, os\nfrom pathlib import Path\nASKED = "LIMELIGHT_TRIED"\n'
    head += 'PATH = Path("number.txt")\nFOLDER = Path("inside")\n'
    head += "import plugin\n" if kind == "package" else ""
    study = head + STUDY.replace('TABLE["a"]}', f'TABLE["a"] + {expression}}}')
    installed = tmp_path / "installed"
    monkeypatch.syspath_prepend(str(installed))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere" if "beside" in how else tmp_path)
    places = lambda name: str(installed)
    monkeypatch.setattr(origin.sysconfig, "get_path", places)

    def lay_out(number):
        monkeypatch.setenv("LIMELIGHT_TRIED", number)
        (tmp_path / "inside").mkdir(exist_ok=True)
        for file in (tmp_path / "number.txt", tmp_path / "inside" / "number.txt"):
            file.write_text("0" if file.parent == tmp_path and "folder" in how else number)
            os.utime(file, (1, 1))  # neither its time nor its size tells
        about = installed / "plugin.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        (installed / "plugin.py").write_text(f"def number():\n    return {number}\n")
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: plugin\nVersion: {number}\n")
        sys.modules.pop("plugin", None)
        origin.version.cache_clear()
        helpers = HELPERS.replace("2.0", f"{number}.0") if kind == "helpers" else HELPERS
        level = f"LEVEL = {number}" if kind == "LEVEL" else "LEVEL = 0.5"
        return load(study.replace("LEVEL = 0.5", level), helpers)

    axes = {"sides": [1.0, 2.0]}
    lay_out("1").Mine().sweep(axes, trials=2, store=tmp_path / "runs")
    lay_out("1").Mine().sweep(axes, trials=2, store=tmp_path / "runs")  # nothing changed
    fresh = lay_out("3")
    with pytest.raises(StoreError, match=r"other (code|files).* changed since") as error:
        fresh.Mine().sweep(axes, trials=2, store=tmp_path / "runs")
    named = {"file": "number.txt", "package": "package plugin", "helpers": "helpers.scaled"}
    assert named.get(kind, "mine.") in error.value.message
    sys.modules.pop("plugin", None)


def test_a_method_put_into_a_class_of_ours_counts(monkeypatch):
    before = describe(Patterns())
    real = Patterns.sample
    for factor in (1, 2):
        other = lambda self, *words, by=factor: real(self, *words) * by
        monkeypatch.setattr(Patterns, "sample", other)
        now = describe(Patterns())
        assert now["is"] == "world.patterns"
        assert changed_code(before, now) == ["Patterns.sample"]
        before = now


def test_what_an_object_holds_is_a_setting_not_code(load, tmp_path):
    axes = {"sides": [1.0, 2.0]}
    load().Mine().sweep(axes, trials=2, store=tmp_path / "runs")
    edited = load(STUDY.replace("default=Meter(1.0)", "default=Meter(4.0)")).Mine()
    with pytest.raises(StoreError, match="holds another study.*meter"):
        edited.sweep(axes, trials=2, store=tmp_path / "runs")


@pytest.mark.parametrize("change", HARMLESS)
def test_comments_docstrings_and_lines_do_not_count(load, change):
    before = describe(load().Mine())
    assert describe(load(STUDY.replace(*HARMLESS[change])).Mine()) == before


def test_functions_of_a_notebook_count(tmp_path):
    """Classes made in `__main__` without a file, as in a notebook, and redefined there."""
    script = """
    import jax.random as jr
    from limelight._core.errors import StoreError
    from limelight.experiments import Experiment
    source = '''
    class Cell(Experiment):
        sides: float = 6.0
        def trial(self, key):
            return {"value": jr.uniform(key) * FACTOR}
    '''
    import textwrap
    FACTOR = 1.0
    exec(textwrap.dedent(source))
    Cell().sweep({"sides": [1.0]}, trials=2, store="runs")
    exec(textwrap.dedent(source.replace("* FACTOR", "+ FACTOR")))
    try:
        Cell().sweep({"sides": [1.0]}, trials=2, store="runs")
    except StoreError as error:
        print("refused:", "Cell.trial" in error.message)
    FACTOR = 2.0
    exec(textwrap.dedent(source))
    try:
        Cell().sweep({"sides": [1.0]}, trials=2, store="runs")
    except StoreError as error:
        print("refused:", "Cell.trial" in error.message)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.stdout.split("\n")[:2] == ["refused: True"] * 2, done.stderr


def test_a_script_and_its_import_are_one_study(tmp_path):
    """What is `__main__` in one process is a module in another: a worker's, say."""
    (tmp_path / "mine.py").write_text(
        STUDY + "\nif __name__ == '__main__':\n    from limelight."
        "_identity.description import describe, digest\n    print(digest(describe(Mine())))\n"
    )
    (tmp_path / "helpers.py").write_text(HELPERS)
    other = "import mine; from limelight._identity.description import describe, digest\n"
    other += "print(digest(describe(mine.Mine())))"
    runs = [["mine.py"], ["-c", other]]
    seen = {
        subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, timeout=120
        ).stdout
        for words in runs
    }
    assert len(seen) == 1
    assert "" not in seen


def test_ours_are_named_by_kind_wherever_they_live():
    world = describe(Patterns())
    assert world["is"] == kind_of(Patterns) == "world.patterns"
    assert "its code" not in world
    moved = dataclasses.replace(Patterns())
    type(moved).__module__, before = "elsewhere", type(moved).__module__
    try:
        assert describe(moved) == world
    finally:
        type(moved).__module__ = before


def test_optimizers_of_optax_differ_by_what_they_hold():
    made = [optax.sgd(0.1), optax.sgd(0.2), optax.sgd(0.1, momentum=0.9), optax.adam(0.1)]
    assert len({digest(describe(one)) for one in made}) == len(made)
    assert digest(describe(optax.sgd(0.1))) == digest(describe(optax.sgd(0.1)))


def times(factor, value):
    return factor * value


class Gain:
    """Something with a method that is compiled."""

    def __init__(self, gain):
        self.gain = gain

    def plain(self, value):
        return self.gain * value

    @functools.partial(jax.jit, static_argnums=0)
    def compiled(self, value):
        return self.gain * value


def with_rule(factor):
    """A function with a derivative of its own."""

    @jax.custom_jvp
    def squared(value):
        return value**2

    squared.defjvps(lambda tangent, answer, value: factor * value * tangent)
    return squared


class Wrapper:
    """What a class makes of a function that it decorates."""

    def __init__(self, function, factor):
        functools.update_wrapper(self, function)
        self.factor = factor

    def __call__(self, value):
        return self.factor * self.__wrapped__(value)


@dataclasses.dataclass
class Fields:
    """Something to which more is added later."""

    known: float = 0.0


def with_more(number):
    fields = Fields()
    fields.more = number  # type: ignore[attr-defined]
    return fields


#: What both a setting and a global may hold.
BOTH = {
    "a decorator that is a class": lambda n: Wrapper(times, n),
    "an axis of a transform": lambda n: eqx.filter_vmap(times, in_axes=(int(n), 0)),
    "what a gradient gives back": lambda n: eqx.filter_grad(times, has_aux=n > 1),
    "a rule of a derivative": with_rule,
    "what is otherwise": lambda n: collections.defaultdict(lambda: n),
    "which numbers are hidden": lambda n: np.ma.masked_array([1.0, 2.0], mask=[n > 1, False]),
    "an array of functions": lambda n: np.array([lambda: n, None]),
    "an attribute added later": with_more,
}
#: Settings that are called, and differ only in what they hold.
HELD = BOTH | {
    "a compiled partial": lambda n: jax.jit(functools.partial(times, n)),
    "a mapped partial": lambda n: jax.vmap(functools.partial(times, n)),
    "a compiled method": lambda n: jax.jit(Gain(n).plain),
    "a method that compiles": lambda n: Gain(n).compiled,
    "a partial as a tree": lambda n: jax.tree_util.Partial(times, n),
    "one of the operators": lambda n: operator.itemgetter(int(n)),
    "a method of a mapping": lambda n: {"a": n}.get,
    "a method of an array": lambda n: np.full(3, n).dot,
    "a mapping by numbers": lambda n: {1: n, "1": 0.0},
    "a number or its word as a name": lambda n: {1: 1.0} if n > 1 else {"1": 1.0},
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_setting_holds_is_told_apart(name):
    one, again, two = (digest(describe(HELD[name](n))) for n in (1.0, 1.0, 2.0))
    assert one == again != two


#: Globals that a function reaches, likewise.
REACHED = BOTH | {
    "a queue": lambda n: collections.deque([n]),
    "a pattern": lambda n: re.compile(f"a{n}"),
    "a compiled partial": lambda n: jax.jit(functools.partial(times, n)),
    "what exec made": lambda n: _executed(f"def made(value): return {n} * value")["made"],
}


#: Classes that extend what they are, with a method that a trial calls.
EXTENDED = {
    "a named tuple": ("typing.NamedTuple", "    gain: float = 1.0\n", "Part()"),
    "a mapping": ("dict", "", "Part()"),
    "a list": ("list", "", "Part()"),
    "a number": ("float", "", "Part(1.0)"),
    "a word": ("str", "", "Part()"),
    "a member": ("enum.IntEnum", "    GAIN = 1\n", "Part.GAIN"),
    "an array": ("np.ndarray", "", "np.ones(2).view(Part)"),
    "whatever is asked": (
        "object",
        "    gain = 1.0\n    def __getattr__(self, name): return 1.0\n",
        "Part()",
    ),
}


@pytest.mark.parametrize("name", EXTENDED)
def test_methods_of_what_extends_a_number_or_a_container_count(load, name):
    base, body, made = EXTENDED[name]
    text = (
        f"import enum, typing\nimport numpy as np\nclass Part({base}):\n{body}"
        "    def scaled(self): return 2.0\n"
        f"PART = {made}\ndef trial(key): return PART.scaled()\n"
    )
    seen = []
    for number in ("2.0", "2.0", "3.0"):
        module = load(text.replace("2.0", number))
        if base == "object":
            module.PART.held = 1.0  # what holds nothing is no setting
        seen.append((digest(describe(module.PART)), digest(describe(module.trial))))
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]
    assert seen[0][1] != seen[2][1]


TRYING = """
def first(): return 1
def second(): raise ValueError("second")
def trial(key):
    try:
        first()
        second()
    except ValueError:
        return 0
    return 1
"""


def test_what_stands_under_a_try_counts(load):
    """The instructions may be the same, one after another; what they raise goes elsewhere."""
    moved = TRYING.replace("        second()\n", "")
    moved = moved.replace("    return 1\n", "    else:\n        second()\n    return 1\n")
    with_it, without = load(TRYING).trial, load(moved).trial
    assert with_it(None) == 0
    with pytest.raises(ValueError, match="second"):
        without(None)
    assert describe(with_it) != describe(without)


def test_names_in_code_that_is_evaluated_count(load):
    text = "LEVEL = 2.0\ndef trial(key): return eval('LEVEL * key')\n"
    one, two = (describe(load(t).trial) for t in (text, text.replace("2.0", "3.0")))
    assert one != two


def _executed(text):
    scope = {}
    exec(text, scope)
    return scope


@pytest.mark.parametrize("name", REACHED)
def test_what_a_global_holds_is_told_apart(name, monkeypatch):
    seen = []
    for number in (1.0, 1.0, 2.0):
        monkeypatch.setitem(globals(), "GLOBAL", REACHED[name](number))
        seen.append(code.digests(reaching))
    assert seen[0] == seen[1] != seen[2]


def reaching(value):
    return GLOBAL, value  # noqa: F821


def test_what_holds_itself_is_refused_in_one_line():
    knot = Gain(None)
    knot.gain = knot
    with pytest.raises(InputError, match="cannot hold Gain objects: they hold themselves"):
        describe(knot)


def test_import_paths_of_the_first_release_mean_kinds():
    assert len(set(EARLIER.values())) == len(EARLIER)
    old = {"is": "limelight.worlds.boolean.SparseBoolean", "length": 8, "inner": [{"is": "x"}]}
    assert modern(old) == {"is": kind_of(SparseBoolean), "length": 8, "inner": [{"is": "x"}]}


def test_code_is_told_from_settings(load):
    one, two = (describe(load(text).Mine()) for text in (STUDY, STUDY.replace("- 1.0", "- 2.0")))
    assert one != two
    assert without_code(one) == without_code(two)
    assert changed_code(one, two) == ["mine.compiled"]
