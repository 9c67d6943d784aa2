"""Papers from outside: a file, a folder, an installed package; and runs without a paper."""

import importlib
import shutil
import sys
from pathlib import Path

import pytest

from limelight._core.errors import InputError
from limelight._engine.reading import open_table
from limelight.papers import _outside as outside

COINS = '''
import jax.numpy as jnp
import jax.random as jr

from limelight import plot
from limelight.claims import AtLeast
from limelight.experiments import Experiment
from limelight.fit import estimates
from limelight.papers.contents import Paper
from limelight.papers.recipe import Figure, Scale, claim, scales


class Coin(Experiment):
    bias: float = 0.5

    def trial(self, key):
        return {"heads": jnp.mean(jr.uniform(key, (100,)) < self.bias)}


@claim("coin.low", "Heads are not rare.", AtLeast(0.3), at="KEY, Figure 1")
def low(table):
    """Mean share of heads."""
    return estimates.mean(table["heads"])


def draw(table):
    """Heads over the bias."""
    return plot.lines(plot.over_cells(table, x="bias", y="heads"), x_label="bias", y_label="heads")


figure = Figure(
    name="fig1",
    title="coins",
    statement="the bias shows",
    trial=Coin(),
    grid={"bias": [0.4, 0.5, 0.6]},
    trials=20,
    scales=scales(smoke=Scale(trials=4), small=Scale(trials=8)),
    claims=(low,),
    pictures={"heads": draw},
    reference="Figure 1",
)
'''
PAPER = """
paper = Paper(
    key="KEY", title="Of coins", authors="A Gambler", venue="Here", symbols={}, statements=(),
    figures=FIGURES, package=__name__, bibtex="@misc{KEY,\\n}",
)
"""


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Each test finds the modules and packages that it made itself."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    outside.installed.cache_clear()
    outside.from_path.cache_clear()
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("coins", "broken", "twice")):
            del sys.modules[name]
    outside.installed.cache_clear()
    outside.from_path.cache_clear()


def write_file(path: Path, key: str) -> Path:
    path.write_text(
        (COINS + PAPER.replace("FIGURES", "(figure,)")).replace("KEY", key), encoding="utf-8"
    )
    return path


def write_package(folder: Path, key: str) -> Path:
    """A package with one module per figure, as our own papers are."""
    folder.mkdir(parents=True)
    head = "from limelight.papers.contents import Paper\n"
    contents = PAPER.replace("FIGURES", '{"fig1": "coins"}').replace("KEY", key)
    (folder / "__init__.py").write_text(head + contents)
    (folder / "fig1.py").write_text(COINS.replace("KEY", key))
    return folder


def install(site: Path, name: str, key: str, value: str) -> None:
    """A distribution as pip leaves it, with an entry point."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[limelight.papers]\n{key} = {value}\n")
    if str(site) not in sys.path:
        sys.path.insert(0, str(site))
    importlib.invalidate_caches()
    outside.installed.cache_clear()


def test_a_recipe_where_its_title_belongs_is_one_line(call):
    text = COINS + PAPER.replace("FIGURES", '{"fig1": figure}')
    Path("coins_m.py").write_text(text.replace("KEY", "coins2026"))
    said = call("show", "./coins_m.py").err
    assert "coins2026: fig1 is given as a Figure, not in words" in said
    assert "Traceback" not in said


def test_a_project_that_holds_a_package_of_its_name_is_a_paper(call):
    write_package(Path("coins_p") / "coins_p", "coins2026")
    assert "Of coins" in call("show", "./coins_p").out
    ran = call("run", "./coins_p", "fig1", "--scale", "smoke", "--json")
    assert ran.code == 0
    assert call("cite", ran.json["store"], "--paper", "./coins_p").out.startswith("@misc{coins2026")


@pytest.mark.parametrize("write", [write_file, write_package])
def test_a_file_or_a_folder_is_a_paper(call, write):
    here = "./" + str(write(Path("coins_a.py" if write is write_file else "coins_b"), "coins2026"))
    assert "Of coins" in call("show", here).out
    ran = call("run", here, "fig1", "--scale", "small", "--json")
    assert (ran.code, ran.json["verdicts"][0]["verdict"]) == (0, "holds")
    store = ran.json["store"]
    assert f"--paper {here}" in call("run", here, "fig1", "--scale", "small").out
    assert "all 24 trials had been computed before" in call("resume", store, "--paper", here).out
    assert call("plot", store, "--paper", here, "--json").json["figure"] == "fig1"
    assert call("cite", store, "--paper", here).out.startswith("@misc{coins2026")
    assert call("cite", here).out.startswith("@misc{coins2026")
    assert call("verify", here, "--scale", "small", "--json").json[0]["paper"] == "coins2026"
    call("report", store, "--paper", here, "-o", "page.html")
    assert "coin.low" in Path("page.html").read_text(encoding="utf-8")
    assert call("publish", store, "--paper", here, "-o", "results").code == 0
    assert call("verify", here, "--results", "results", "--json").json[0]["verdict"] == "holds"
    assert "no published table of a paper" in call("site", "results", "-o", "pages").err
    assert call("site", "results", "-o", "pages", "--paper", here).code == 0
    assert "coin.low" in Path("pages/coins2026/fig1.html").read_text(encoding="utf-8")


def test_a_run_whose_paper_is_not_at_hand_is_drawn_plainly(call):
    write_file(Path("coins_c.py"), "coins2026")
    store = call("run", "./coins_c.py", "fig1", "--scale", "smoke", "--json").json["store"]
    drawn = call("plot", store, "--json").json
    assert [Path(file).exists() for file in drawn["files"]] == [True]
    assert call("plot", store, "--measure", "nothing").code == 2
    assert call("report", store, "-o", "page.html").code == 0
    assert "Heads are not rare" not in Path("page.html").read_text(encoding="utf-8")
    for words in (("resume", store), ("cite", store)):
        told = call(*words)
        assert (told.code, "--paper PATH" in told.err) == (2, True), told.err
    write_file(Path("coins_d.py"), "coins1900")
    assert "not to 'coins1900'" in call("plot", store, "--paper", "coins_d.py").err


def test_a_study_that_belongs_to_no_paper_is_not_published(call):
    """It is told what to do instead; to go on with a run is another matter."""
    coins = outside.from_path(str(write_file(Path("coins_n.py"), "coins2026")))
    coins.figure("fig1").setup("smoke").experiment.sweep({}, trials=1, store="plain")
    for command, told in (("publish", "limelight new paper"), ("verify", "no paper or claim")):
        said = call(command, "plain")
        assert (said.code, told in said.err) == (2, True), said.err


def test_an_installed_package_brings_a_paper(call):
    site = Path("site").resolve()
    write_package(site / "coins_e", "coins2027")
    install(site, "coins-e", "coins2027", "coins_e:paper")
    assert "coins2027" in [paper["key"] for paper in call("papers", "--json").json]
    assert "coins_e.fig1" not in sys.modules  # listing loads no figure
    ran = call("run", "coins2027", "fig1", "--scale", "small", "--json")
    store = ran.json["store"]
    assert call("plot", store, "--json").json["figure"] == "fig1"
    assert "had been computed before" in call("resume", store).out
    assert call("cite", store).out.startswith("@misc{coins2027")
    call("publish", store, "-o", "results")
    assert call("site", "results", "-o", "pages", "--json").json["pages"] > 1
    assert "coin.low" in Path("pages/coins2027/fig1.html").read_text(encoding="utf-8")
    # No key is every paper with tables there, the installed one among them; ours are not run.
    verdicts = {
        v["claim"]: v["verdict"] for v in call("verify", "--results", "results", "--json").json
    }
    assert verdicts["coin.low"] == "holds"
    assert verdicts["1a.law"] == "not run"
    Path("empty").mkdir()
    ours = call("verify", "--results", "empty", "--json").json
    assert "coins2027" not in {v["paper"] for v in ours}


def test_commands_that_do_not_need_a_plugin_do_not_load_it(call):
    site = Path("site").resolve()
    write_package(site / "coins_f", "coins2028")
    install(site, "coins-f", "coins2028", "coins_f:paper")
    run = ("run", "li2023", "fig1a", "--scale", "smoke", "--store", "own")
    for words in (
        ("show", "li2023"),
        ("show", "li2023", "theorem1"),
        ("cite", "li2023"),
        (*run, "--dry-run"),
        run,
        ("status", "own"),
        ("resume", "own"),
        ("plot", "own", "-o", "own.png"),
        ("report", "own", "-o", "own.html"),
        ("cite", "own"),
        ("publish", "own", "-o", "told"),
        ("verify", "li2023", "--results", "told"),
        ("verify", "--results", "told"),
        ("site", "told", "-o", "pages"),
        ("new", "study", "needle.py"),
    ):
        assert call(*words).code == 0, words
        assert "coins_f" not in sys.modules, words
    assert call("papers").code == 0  # this one lists them, so it must
    assert "coins_f" in sys.modules


def test_what_a_package_prints_when_it_is_loaded_does_not_mix_with_what_a_command_prints(call):
    site = Path("site").resolve()
    loud = 'print("hello from the package")\n'
    write_package(site / "coins_l", "coins2029")
    for module in (site / "coins_l").iterdir():
        module.write_text(loud + module.read_text())
    install(site, "coins-l", "coins2029", "coins_l:paper")
    listed = call("papers", "--json")
    assert "coins2029" in [paper["key"] for paper in listed.json]
    assert "hello" not in listed.out
    assert "hello" in listed.err
    assert call("show", "coins2029", "fig1", "--json").json["claims"]  # loads the figure
    own = write_file(Path("coins_m.py"), "coins2030")
    own.write_text(loud + own.read_text())
    assert "hello" not in call("cite", "./coins_m.py").out


def test_a_broken_package_is_one_line_and_harms_no_other(call):
    site = Path("site").resolve()
    site.mkdir()
    (site / "broken_a.py").write_text("import nothing_of_this_name\n")
    install(site, "broken-a", "broken2026", "broken_a:paper")
    listed = call("papers")
    assert listed.code == 0
    assert "li2023" in listed.out
    [line] = [line for line in listed.err.splitlines() if "broken2026" in line]
    assert "the package broken-a 1.0" in line
    assert "nothing_of_this_name" in line
    assert call("papers", "--json").json[-1]["key"] == "broken2026"
    told = call("run", "broken2026", "fig1")
    assert (told.code, told.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("breaks", "line", "said"),
    [
        ("contents", "import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("figure", "import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("contents", "raise SystemExit(0)", "SystemExit: 0"),  # verify would say that all is well
        ("figure", "raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_tables_of_a_broken_package_harm_no_other(call, breaks, line, said):
    """It worked when its table was published; today it fails, whole or in a figure."""
    site = Path("site").resolve()
    write_package(site / "coins_i", "coins2029")
    bad = write_package(site / "broken_c", "broken2029")
    install(site, "coins-i", "coins2029", "coins_i:paper")
    install(site, "broken-c", "broken2029", "broken_c:paper")
    for key in ("coins2029", "broken2029"):
        store = call("run", key, "fig1", "--scale", "small", "--json").json["store"]
        assert call("publish", store, "-o", "results").code == 0
    for name in [name for name in sys.modules if name.startswith("broken")]:
        del sys.modules[name]
    file = bad / ("__init__.py" if breaks == "contents" else "fig1.py")
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{line}\n{text}", encoding="utf-8")
    importlib.invalidate_caches()
    shutil.copytree("results/coins2029", "results/absent2029")

    made = call("site", "results", "-o", "pages")
    assert made.code == 0, made.err
    assert Path("pages/coins2029/fig1.html").exists()
    absent, broken = made.err.splitlines()
    assert absent == "results/absent2029 is left out: the paper 'absent2029' is not at hand"
    assert broken.startswith("results/broken2029 is left out: ")
    assert said in broken
    decided = call("verify", "--results", "results", "--json")
    assert decided.code == 1
    (told,) = decided.err.splitlines()
    assert "broken2029" in told
    assert said in told
    assert "holds" in {v["verdict"] for v in decided.json if v["paper"] == "coins2029"}


def test_names_that_clash_are_refused_with_both_origins(call):
    site = Path("site").resolve()
    site.mkdir()
    install(site, "twice-a", "twice2026", "twice_a:paper")
    install(site, "twice-b", "twice2026", "twice_b:paper")
    install(site, "twice-c", "li2023", "twice_c:paper")
    told = call("show", "twice2026").err
    assert "twice-a 1.0" in told
    assert "twice-b 1.0" in told
    told = call("show", "li2023").err
    assert "limelight's own" in told
    assert "twice-c 1.0" in told
    assert call("show", "xu2022").code == 0
    write_file(Path("coins_g.py"), "xu2022")
    assert "limelight's own" in call("show", "./coins_g.py").err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("def broken(:", "SyntaxError"),
        ("x = 1", "holds no paper"),
        ("paper = 1", "does not give a Paper"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("class E(Exception):\n __str__ = lambda self: 1 / 0\nraise E", "does not say why"),
    ],
)
def test_a_file_that_is_no_paper_is_one_line(call, text, told):
    Path("broken_b.py").write_text(text, encoding="utf-8")
    said = call("run", "./broken_b.py", "fig1")
    assert (said.code, told in said.err) == (2, True), said.err
    assert "Traceback" not in said.err


def test_a_name_in_use_and_a_missing_path_are_refused(call):
    shutil.copy(write_file(Path("coins_h.py"), "coins2026"), "json.py")
    assert "a module that is in use" in call("show", "./json.py").err
    assert "no paper ./nowhere.py" in call("show", "./nowhere.py").err
    Path("folder").mkdir()
    assert "./folder" in call("show", "folder").err


def test_a_figure_without_pictures_is_run_and_its_measures_are_drawn(call):
    text = COINS.replace('pictures={"heads": draw}', "pictures={}")
    text += PAPER.replace("FIGURES", "(figure,)")
    Path("coins_n.py").write_text(text.replace("KEY", "coins2026"))
    ran = call("run", "./coins_n.py", "fig1", "--scale", "smoke", "--store", "run")
    assert (ran.code, ran.err) == (0, "")
    assert "Not drawn: fig1 has no picture" in ran.out
    again = call("resume", "run", "--paper", "./coins_n.py", "--json")
    assert (again.code, again.json["picture"]) == (0, None)
    for words in (["plot", "run", "-o", "a.png"], ["report", "run"], ["publish", "run"]):
        assert call(*words, "--paper", "./coins_n.py").code == 0
    assert Path("a.png").stat().st_size > 1_000  # heads over the bias
    with pytest.raises(InputError, match="has no picture"):
        outside.from_path("./coins_n.py").figure("fig1").chart(open_table("run"))


@pytest.mark.parametrize(
    ("part", "instead", "said"),
    [
        ('key="coins2026"', 'key="../up"', "a paper cannot be called '../up'"),
        ('name="fig1"', 'name="../up"', "a figure of coins2026 cannot be called '../up'"),
        ('{"heads": draw}', '{"../up": draw}', "a picture of coins2026 fig1 cannot be called"),
        ("claims=(low,)", "claims=(low, low)", "'coin.low' occurs twice"),
        ("(figure,)", "(figure, figure)", "a figure of coins2026 'fig1' occurs twice"),
        ('{"heads": jnp.mean', "5 * {0: jnp.mean", "a trial cannot be built: TypeError"),
        ("return {", "return jnp.ones(3)\n        return {", "gives no numbers by name"),
        ("return {", "raise SystemExit(0)\n        return {", "cannot be built: SystemExit: 0"),
    ],
)
def test_names_and_trials_that_will_not_do_are_refused_in_a_line(call, part, instead, said):
    """Names become files: none may lie elsewhere. A trial that ends the process is no success."""
    text = (COINS + PAPER.replace("FIGURES", "(figure,)")).replace("KEY", "coins2026")
    assert part in text
    Path("coins_q.py").write_text(text.replace(part, instead))
    done = call("run", "./coins_q.py", "fig1", "--scale", "smoke", "--store", "run")
    assert (done.code, said in done.err) == (2, True), done.err
    assert not Path("run").exists()
