"""README, docs, docstrings and examples are executed."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import limelight

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md")))]
MODULES = sorted(m.name for m in pkgutil.walk_packages(limelight.__path__, "limelight."))


def blocks(page: str) -> str:
    """The Python of a page as one script."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(page), page, "exec"), {})  # our own pages


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES[1:]])
def test_links_inside_the_repository_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not target.startswith(("http:", "https:")):
            assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_are_true(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0


def test_the_idea_fits_in_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = ROOT / "examples" / "from_scratch.py"
    assert len(script.read_text().splitlines()) < 100
    assert "limelight" not in re.sub(r'""".*?"""', "", script.read_text(), flags=re.S)
    space = runpy.run_path(str(script))
    success = space["main"](str(tmp_path / "out.png"), trials=4)
    assert success.shape == (4, 5)
    assert success[-1, -1] > success[0, 0]
    assert (tmp_path / "out.png").exists()


def test_importing_the_package_is_light():
    import subprocess
    import sys

    code = "import limelight, sys; print('jax' in sys.modules, 'matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]
