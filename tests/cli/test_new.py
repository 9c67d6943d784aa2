"""`limelight new` writes a start that runs and whose tests pass."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_a_new_study_runs_and_its_test_passes(call):
    done = call("new", "study", "needle.py")
    assert (done.code, done.err) == (0, "")
    assert "python needle.py" in done.out
    text = Path("needle.py").read_text(encoding="utf-8")
    assert "limelight.start" not in text
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "needle.py"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout


def test_a_new_paper_is_a_plugin_whose_tests_pass(call):
    done = call("new", "paper", "smith2026", "--json")
    assert len(done.json["files"]) == 7
    written = "".join(Path(file).read_text(encoding="utf-8") for file in done.json["files"])
    assert "mypaper2026" not in written
    assert call("show", "./smith2026/smith2026", "theorem1").code == 0
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd="smith2026",
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout
    for name in [name for name in sys.modules if name.startswith("smith2026")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("study", "needle.txt"), "cannot write needle.txt"),
        (("study", "my needle.py"), "cannot write"),
        (("paper", "Smith-2026"), "cannot be called 'Smith-2026'"),
        (("paper", "li2023"), "there is a paper 'li2023' already"),
        (("study", "class.py"), "'class' is a word of Python"),
        (("study", "__main__.py"), "'__main__' is a word of Python"),
        (("study", "numpy.py"), "'numpy' is the name of a module"),  # it would import itself
        (("paper", "json"), "'json' is the name of a module"),
    ],
)
def test_names_that_will_not_do_are_refused(call, words, told):
    done = call("new", *words)
    assert (done.code, told in done.err) == (2, True), done.err
    assert list(Path().iterdir()) == []


def test_nothing_is_written_over(call):
    Path("needle.py").write_text("mine", encoding="utf-8")
    assert "there is already a file" in call("new", "study", "needle.py").err
    assert Path("needle.py").read_text(encoding="utf-8") == "mine"
