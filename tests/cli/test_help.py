"""Help pages: quick, with examples that parse, readable in a narrow terminal."""

import shlex
import subprocess
import sys
from importlib import metadata

import pytest
import typer.main

from limelight._cli import app

HELP = """
import sys
from limelight._cli.app import main
sys.argv = ["limelight", *sys.argv[1:]]
try:
    main()
finally:
    loaded = {"jax", "numpy", "matplotlib", "pyarrow"} & set(sys.modules)
    assert not loaded, loaded
"""
SHOW = HELP.replace('"numpy"', '"scipy.stats", "scipy.optimize"')


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], ["nonsense"]])
def test_help_and_slips_load_nothing_heavy(words):
    done = subprocess.run([sys.executable, "-c", HELP, *words], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if words == ["nonsense"] else 0)


def test_the_package_is_the_command():
    words = [sys.executable, "-m", "limelight", "--version"]
    done = subprocess.run(words, capture_output=True, text=True)
    try:
        version = metadata.version("limelight")
    except metadata.PackageNotFoundError:  # on the path, as where other versions are tried
        version = "source, not installed"
    assert done.stdout.strip() == version


def test_the_calculator_loads_no_figure():
    words = ["show", "xu2022", "--set", "clusters=10", "size=50", "sigma=.5", "dim=384"]
    done = subprocess.run([sys.executable, "-c", SHOW, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "expected ratio" in done.stdout


def examples(name: str) -> list[str]:
    page = app.help_page(app.COMMANDS[name])
    assert "\nExamples:\n" in page
    return [line.strip() for line in page.split("\nExamples:\n")[1].splitlines()]


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_page_shows_its_examples_one_a_line(call, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    page = call(name, "--help")
    assert page.code == 0
    lines = [line.rstrip() for line in page.out.splitlines()]
    assert max(map(len, lines)) <= 80
    assert " Examples:" in lines
    for example in examples(name):
        assert f"   {example}" in lines
    assert any(example.startswith(f"limelight {name}") for example in examples(name))
    assert "--json" in page.out


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_example_is_a_command_that_parses(name):
    command = typer.main.get_command(app.app)
    for example in examples(name):
        words = shlex.split(example.partition(" > ")[0])
        assert words[:2] == ["limelight", name]
        command.commands[name].make_context(name, words[2:])  # pyright: ignore


def test_the_front_page_lists_every_command(call):
    page = call("--help")
    assert page.code == 0
    for name in app.COMMANDS:
        assert f" {name} " in page.out
    assert "limelight run li2023 fig1a --scale smoke" in page.out


@pytest.mark.parametrize("name", [name for name in app.COMMANDS if name not in app.BARE])
def test_a_command_without_its_words_shows_its_page(call, name):
    page = call(name)
    assert page.code == 2
    assert "Usage: limelight" in page.out + page.err
    assert "Examples:" in page.out + page.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["verfy"], "verify"),
        (["run", "li2023"], "Missing argument 'FIGURE'"),
        (["run", "li2023", "fig1a", "--sed", "3"], "--seed"),
        (["run", "li2023", "fig1a", "--seed", "three"], "'--seed'"),
        (["run", "li2023", "fig1a", "--seed"], "--seed"),
        (["papers", "li2023"], "li2023"),
    ],
)
def test_words_that_do_not_fit_are_one_line_and_a_hint(call, words, message):
    slip = call(*words)
    assert (slip.code, slip.out) == (2, "")
    error, hint = slip.err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith(("hint: limelight ", "hint: it is limelight "))
    assert hint.endswith("--help")


def test_a_missing_word_is_told_with_its_place(call):
    slip = call("bound", "model.safetensors")  # what is missing is the first one
    assert "hint: it is limelight bound KEY FILE; see" in slip.err
