"""README, docs, docstrings and examples are executed."""

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

import limelight

ROOT = Path(__file__).parents[1]
BUILT = (ROOT / "docs" / "_build", ROOT / "docs" / "api")
WRITTEN = [
    p for p in sorted((ROOT / "docs").rglob("*.md")) if not any(map(p.is_relative_to, BUILT))
]
PAGES = ["README.md", *(str(p.relative_to(ROOT)) for p in WRITTEN)]
MODULES = sorted(m.name for m in pkgutil.walk_packages(limelight.__path__, "limelight."))


def blocks(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


#: With fewer trials the README's study is the same program on less; the slow tests run it whole.
FEWER = "trials=16", "trials=2"


def scripts() -> list:
    """What must run by itself: each block of the README, and every other page as a whole.

    Other pages are slow; tutorials are notebooks, which `make docs` executes.
    """
    readme = [(f"README.md {i}", block) for i, block in enumerate(blocks("README.md"), 1)]
    quick = [(name, block.replace(*FEWER)) for name, block in readme]
    assert sum(one != other for one, other in zip(quick, readme, strict=True)) == 1
    others = [(page, "\n".join(blocks(page))) for page in PAGES[1:] if blocks(page)]
    whole = [(f"{name}, whole", block) for name, block in readme if FEWER[0] in block]
    return quick + [pytest.param(*other, marks=pytest.mark.slow) for other in whole + others]


@pytest.mark.parametrize(("name", "script"), scripts(), ids=lambda value: value[:20])
def test_the_python_of_a_page_runs(name, script, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, f"{name}: {ran.stderr}"


def test_the_world_that_contributors_are_shown_can_be_swept(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^   ```python\n(.*?)^   ```", text, re.M | re.S)
    use = """
    import limelight as ll


    class Sum(ll.Model):
        weights: jnp.ndarray

        def __call__(self, example, key=None):
            return self.weights @ example.tokens[:, 0]


    if __name__ == "__main__":
        start = lambda key, world, truth: Sum(0.1 * jr.normal(key, (world.tokens,)))
        study = ll.Study(Coins(), start, ll.Train(steps=20, batch=2), [ll.measures.accuracy])
        table = study.sweep({"world.noise": [0.0, 0.5], "train.examples": [4]}, trials=2)
        assert len(table) == 4
    """
    (tmp_path / "coins.py").write_text(textwrap.dedent(shown) + textwrap.dedent(use))
    words = [sys.executable, "coins.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


fill = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "fill.py")))


def test_no_number_in_a_page_is_out_of_date():
    ran = subprocess.run(
        [sys.executable, ROOT / "docs" / "fill.py", "--check"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_mark_is_filled_in_from_the_tables():
    page = "It has <!-- = tables xu2022 -->some<!-- / -->."
    found = sorted((ROOT / "results" / "xu2022").glob("*/table.parquet"))
    assert fill.written(page).startswith(f"It has <!-- = tables xu2022 -->{len(found)} tables, ")


def test_counts_of_lines_stand_while_they_are_nearly_right():
    now = fill.ASKED["lines"]("worlds/prompts.py")
    count = int(now.replace(",", ""))
    page = "<!-- = lines worlds/prompts.py -->{:,}<!-- / -->"
    near, far = (page.format(round(count * part)) for part in (1.08, 1.3))
    assert fill.written(near) == near
    assert fill.written(far) == page.format(count)
    table = fill.ASKED["made_of"]()
    assert fill.same_size(table.replace("zhang2024", "someone"), table) is False


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_empty_or_unfinished(page):
    text = (ROOT / page).read_text()
    assert len(text) > 100
    assert "<!--" not in fill.MARK.sub("", text)  # a mark that `docs/fill.py` fills in
    assert not re.search(r"\b[A-Z]{3,}_[A-Z]{3,}\b", re.sub(r"`[^`]*`", "", text))


@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", *PAGES[1:]])
def test_no_prose_begins_with_a_mark(page):
    """A comment at the start of a line begins a block of HTML: Markdown behind it is not read."""
    lines = (ROOT / page).read_text().splitlines()
    assert [line for line in lines if re.match(r"\s*<!-- = [^>]*-->\S", line)] == []


#: A ratio without its "per", as in "trials a cell".
RATIO = re.compile(
    r"\b(trials|seconds|ms|ns|images|bytes|MB|GB|FLOPs|examples|draws|numbers?|columns)\s+an? "
    r"(cell|trial|image|token|step|second|draw|size|row|head|class|patch|worker)\b",
    re.I,
)


def test_a_ratio_says_per():
    assert RATIO.search("50 trials a cell")
    files = [*(ROOT / page for page in PAGES), *(ROOT / "src").rglob("*.py")]
    said = {str(f.relative_to(ROOT)): RATIO.search(f.read_text(encoding="utf-8")) for f in files}
    assert {name: found[0] for name, found in said.items() if found} == {}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES[1:]])
def test_links_inside_the_repository_lead_somewhere(page):
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)", re.sub(r"`[^`\n]*`", "", text))
    for target, place in links:
        if not target.startswith(("http:", "https:")):
            there = (ROOT / page).parent / target if target else ROOT / page
            assert there.exists(), target
            assert not place or place in places(there.read_text()), f"{target}#{place}"


def places(page: str) -> set[str]:
    """What a link into a page may name: its headings, as Sphinx spells them, and its labels."""
    page = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    told = re.findall(r"^#+ (.+)$", fill.MARK.sub("", page), re.M)
    headings = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in told}
    return headings | set(re.findall(r"^\((\S+)\)=$", page, re.M))


def test_the_places_of_a_page_are_its_headings_and_labels():
    page = "(e-1)=\n# What a `step` costs\n```sh\n# no heading\n```\n"
    assert places(page) == {"e-1", "what-a-step-costs"}


reference = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "_ext" / "reference.py")))
#: Modules without an underscore that are no shelf: commands, an extra, what `new` writes, and the
#: class that stands at the door.
NO_SHELF = {"bench", "start", "table", "torch"}


@pytest.mark.parametrize("shelf", reference.SHELVES)
def test_every_public_name_is_in_the_reference_with_an_example(shelf):
    """Constants, types and ready-made measures carry no docstring of their own."""
    module = importlib.import_module(shelf)
    named = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    named = {name: thing for name, thing in named.items() if not inspect.ismodule(thing)}
    headings = re.findall(r"^## (.+)$", reference.page(shelf, "title"), re.M)
    assert set(named) <= set(headings)
    assert len(headings) == len(set(headings)) >= 2
    told = {
        name: thing
        for name, thing in reference.public(shelf).items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    }
    lacking = [name for name, thing in told.items() if ">>> " not in (thing.__doc__ or "")]
    if shelf in reference.SHOWN:
        shown = (ROOT / "docs" / "api" / reference.SHOWN[shelf]).resolve().read_text()
        lacking = [name for name in lacking if name.rpartition(".")[2] not in shown]
    assert lacking == []


def test_every_public_module_is_in_the_reference():
    found = {m.name for m in pkgutil.iter_modules(limelight.__path__)}
    public = {name for name in found if not name.startswith("_")} - NO_SHELF
    theories = {m.name for m in pkgutil.iter_modules([str(ROOT / "src/limelight/theory")])}
    papers = theories & set(importlib.import_module("limelight.papers").KEYS)
    expected = {"limelight"} | {f"limelight.{name}" for name in public}
    assert set(reference.SHELVES) == expected | {f"limelight.theory.{key}" for key in papers}


def test_cards_of_errata_keep_every_row():
    cards = runpy.run_path(str(ROOT / "docs" / "cards.py"))
    text = (ROOT / "docs" / "errata.md").read_text()
    rows = re.findall(r"^\| (E\d+) \|", text, re.M)
    made = cards["pages"](text)
    shown = [row for name, page in made.items() for row in re.findall(r"^### (E\d+)", page, re.M)]
    assert sorted(shown) == sorted(rows)
    anchors = [a for page in made.values() for a in re.findall(r"^\((\S+)\)=", page, re.M)]
    assert len(anchors) == len(set(anchors)) == len(rows)
    assert all(page.count(":::{card}") == page.count("**Printed.**") for page in made.values())


def test_drawings_are_those_of_their_script():
    drawings = runpy.run_path(str(ROOT / "docs" / "diagrams.py"))
    for name, draw in drawings["DRAWINGS"].items():
        assert (drawings["HERE"] / name).read_text() == draw(), name
    assert "&lt;" in drawings["text"](0, 0, "<")


def test_the_changelog_has_one_section_per_heading():
    text = (ROOT / "CHANGELOG.md").read_text()
    for release in re.split(r"^## ", text, flags=re.M)[1:]:
        headings = re.findall(r"^### (.+)$", release, re.M)
        assert len(headings) == len(set(headings)), headings


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    links = runpy.run_path(str(ROOT / "docs" / "links.py"))
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><a href="https://x.y">x</a>')
    (tmp_path / "b.html").write_text('<p id="here"></p><a href="a.html#gone">a</a>')
    assert links["check"](tmp_path) == (["b.html: no anchor a.html#gone"], 2)
    (tmp_path / "b.html").write_text('<img src="c.png"><script src="https://x.y/z.js"></script>')
    wrong, _ = links["check"](tmp_path)
    assert len(wrong) == 3


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_are_true(name):
    if name == "limelight.torch":  # an extra, which nothing else imports
        pytest.importorskip("torch", reason="PyTorch is not installed")
        pytest.importorskip("timm", reason="timm is not installed")
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0


def test_the_idea_fits_in_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = ROOT / "examples" / "from_scratch.py"
    assert len(script.read_text().splitlines()) < 100
    assert "limelight" not in re.sub(r'""".*?"""', "", script.read_text(), flags=re.S)
    space = runpy.run_path(str(script))
    success = space["main"](str(tmp_path / "out.png"), trials=2)
    assert success.shape == (4, 5)
    assert success[-1, -1] > success[0, 0]
    assert (tmp_path / "out.png").exists()


def lines_of_code(script: Path) -> int:
    """Lines that are neither empty nor part of a docstring."""
    text = re.sub(r'""".*?"""', "", script.read_text(encoding="utf-8"), flags=re.S)
    return sum(bool(line.strip()) for line in text.splitlines())


def test_an_own_study_needs_no_more_lines_than_a_plain_loop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study, loop = (ROOT / "examples" / name for name in ("own_study.py", "own_loop.py"))
    assert "limelight" not in re.sub(r'""".*?"""', "", loop.read_text(), flags=re.S)
    assert lines_of_code(study) <= lines_of_code(loop) + 10
    table = runpy.run_path(str(study))["main"](str(tmp_path / "study.png"), trials=20)
    last = runpy.run_path(str(loop))["main"](str(tmp_path / "loop.png"), trials=20)
    # Both ways of writing it down are one experiment: means agree within their errors.
    for size, plain in zip((4, 16, 64, 256), last, strict=True):
        accuracy = table.where(world__noise=0.5, train__examples=size)["accuracy"]
        assert abs(accuracy.mean() - plain) < 4 * (2 / 20) ** 0.5 * max(accuracy.std(), 0.03)
    assert (tmp_path / "study.png").exists()
    assert (tmp_path / "loop.png").exists()


def test_importing_the_package_is_light():
    code = "import limelight, sys; print('jax' in sys.modules, 'matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]
