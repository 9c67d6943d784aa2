"""Tables that must not decide as if all were well: diverged, unfinished, or named another scale."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import limelight as ll
from limelight._core.errors import InputError
from limelight._engine.reading import read_manifest
from limelight.claims import AtLeast, AtMost, Claim, Estimate, Undecided
from limelight.papers.pages import section
from limelight.papers.published import recipe_of
from limelight.plot import Panel, Picture, captioned
from limelight.table import Table

PUBLISHED = Path(__file__).parents[2] / "results" / "geshkovski2023"
RUNS = Path(__file__).parents[1] / "fixtures" / "earlier"
FIGURES = sorted(p.name for p in RUNS.iterdir() if not p.name.endswith("unfinished"))


def share(table):
    """Share of successes."""
    value = float((table["accuracy"] > 0.9).mean())
    return Estimate(value, (value, value), len(table))


def mean(table):
    """Mean accuracy."""
    value = float(table["accuracy"].mean())
    return Estimate(value, (value, value), len(table))


def without(table):
    """Mean accuracy of what did not diverge, said openly."""
    return mean(table.rows(~table.diverged))


def table(accuracy, diverged):
    return Table({"accuracy": np.array(accuracy, float), "diverged": np.array(diverged, bool)})


GOOD = [0.95] * 8
CASES = {
    "none diverged": (share, AtLeast(0.7), GOOD, [0] * 8, "holds"),
    "a share that holds with them as failures": (share, AtLeast(0.7), GOOD, [1] + [0] * 7, "holds"),
    "a share that needs them": (share, AtLeast(0.9), GOOD, [1] + [0] * 7, "inconclusive"),
    "a share that fails anyway": (share, AtLeast(0.7), [0.1] * 8, [1] + [0] * 7, "fails"),
    "a share kept low by them": (share, AtMost(0.5), GOOD, [1] * 6 + [0] * 2, "inconclusive"),
    "a mean": (mean, AtLeast(0.7), GOOD, [1] + [0] * 7, "inconclusive"),
    "what leaves them out": (without, AtLeast(0.7), GOOD, [1] + [0] * 7, "holds"),
    "all of them": (without, AtLeast(0.0), GOOD, [1] * 8, "inconclusive"),
    "all of them, by shares": (share, AtMost(0.99), [0.1] * 8, [1] * 8, "inconclusive"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_a_firm_verdict_does_not_rest_on_diverged_trials(name):
    estimate, rule, accuracy, diverged, wanted = CASES[name]
    claim = Claim("c", "it learns", "a share", estimate, rule, "here")
    verdict = claim.decide(table(accuracy, diverged), "a run")
    assert verdict.verdict == wanted
    said = f"{sum(diverged)} of 8 trials diverged"
    assert (said in verdict.note) == any(diverged)


def test_an_estimator_that_cannot_do_without_a_number_decides_nothing():
    def fragile(rows):
        """The first accuracy."""
        if np.isnan(rows["accuracy"]).any():
            raise Undecided("a number is missing")
        return mean(rows)

    claim = Claim("c", "it learns", "a mean", fragile, AtLeast(0.1), "here")
    assert claim.decide(table(GOOD, [0] * 8), "a run").verdict == "holds"
    assert claim.decide(table(GOOD, [1] + [0] * 7), "a run").verdict == "inconclusive"


def test_arms_diverge_one_by_one():
    columns = {"a.loss": np.ones(3), "b.loss": np.ones(3), "both": np.ones(3)}
    columns |= {"a.diverged": np.array([0, 1, 0]), "b.diverged": np.zeros(3, int)}
    found = Table(columns).without_diverged_readings()
    assert np.isnan(found["a.loss"]).tolist() == [False, True, False]
    assert not np.isnan(found["b.loss"]).any()
    assert Table(columns).diverged.tolist() == [False, True, False]
    assert not Table({"loss": np.ones(2)}).diverged.any()


def test_a_picture_says_how_many_trials_diverged():
    drawn = captioned(Picture([Panel("", [])]), table(GOOD, [1] + [0] * 7))
    assert "1 of 8 trials diverged" in str(drawn.caption)


def test_a_run_that_only_diverged_decides_nothing_and_its_page_says_so(tmp_path):
    figure = ll.papers.li2023.figure("fig4")
    done = figure.run("small", tmp_path / "run", settings={"train.rate": "1e30", "trials": "2"})
    assert done.diverged.all()
    assert {verdict.verdict for verdict in figure.verdict(done)} == {"inconclusive"}
    assert any("2 of 2 trials diverged" in note for note in section(tmp_path / "run").notes)


# --- another scale than it says -----------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_a_smoke_run_does_not_become_a_small_one_by_an_edit(name):
    found = ll.open(RUNS / name)
    figure = recipe_of(found.manifest, name)
    assert not figure.mismatch(found.manifest)
    for scale in {"smoke", "small", "paper"} - {found.manifest["scale"]}:
        other = Table(found.columns, found.axes, {**found.manifest, "scale": scale})
        verdicts = figure.verdict(other)
        assert {verdict.verdict for verdict in verdicts} == {"inconclusive"}
        assert figure.mismatch(other.manifest) in verdicts[0].note


def test_settings_that_the_table_does_not_have_are_noticed():
    found = ll.open(RUNS / "li2023-fig1a")
    figure = recipe_of(found.manifest, "fig1a")
    assert figure.mismatch({**found.manifest, "settings": {"train.examples": "4,8"}})
    assert figure.mismatch({**found.manifest, "settings": {"no.such": "4"}})


# --- unfinished ---------------------------------------------------------------------------------

UNFINISHED = {
    "jelassi2022-fig7-digits": 3,
    "jelassi2022-idealized": 1,
    "jelassi2022-linear": 3,
    "li2023-fig2": 5,
    "li2023-fig5": 3,
    "li2023-fig6c": 11,
    "xu2022-networks": 1,
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_page_of_an_unfinished_run_is_written(name, tmp_path):
    """Recipes are written for whole tables: what they cannot draw yet is said."""
    found = ll.open(RUNS / name)
    found.rows(np.arange(UNFINISHED[name])).save(tmp_path / "table.parquet")
    made = section(tmp_path)
    assert any("Unfinished" in note for note in made.notes)
    assert any("finished" in note for note in made.notes[1:]) or name == "xu2022-networks"
    assert {verdict.verdict for verdict in made.verdicts} == {"inconclusive"}


def test_a_picture_of_a_cell_that_is_not_there_yet_is_left_out(tmp_path):
    found = ll.open(PUBLISHED.parent / "zhang2024" / "prompt")
    found.rows(np.arange(1)).save(tmp_path / "table.parquet")
    made = section(tmp_path)
    assert any("'responses' could not be drawn: the run is not finished" in n for n in made.notes)
    assert {verdict.verdict for verdict in made.verdicts} == {"inconclusive"}


def test_a_run_without_its_first_chunks_has_a_page(tmp_path):
    shutil.copytree(RUNS / "li2023-fig1a-unfinished", tmp_path / "run")
    assert read_manifest(tmp_path / "run")
    assert section(tmp_path / "run").figures


# --- other settings than the recipe's -----------------------------------------------------------


def published(name, lost, settings):
    """A published table, some of its trials without any reading, as if it had other settings."""
    figure, whole = ll.papers.geshkovski2023.figure(name), ll.open(PUBLISHED / name)
    assert figure.marked(whole) is whole
    columns = dict(whole.columns)
    for reading, column in whole.columns.items():
        if column.dtype.kind == "f" and reading not in whole.axes:
            columns[reading] = column.copy()
            columns[reading][lost] = np.nan
    told = {**whole.manifest, "configuration": {}, "settings": settings}
    return figure, Table(columns, whole.axes, told)


def elsewhere(settings):
    """A run with heads that its picture does not know of."""
    figure, found = published("collapse", [], settings)
    moved = {**found.columns, "model.heads": np.full(len(found), 7)}
    return figure, Table(moved, found.axes, found.manifest)


def test_a_recipe_that_stumbles_over_other_settings_says_so():
    figure, found = elsewhere({"model.heads": "7"})
    with pytest.raises(InputError, match=r"not made for model.heads=7"):
        figure.plot(found)


def test_a_recipe_that_stumbles_over_its_own_table_is_at_fault():
    figure, found = elsewhere({})
    with pytest.raises(IndexError):
        figure.plot(found)


# --- numbers that are none, where no column says what diverged ----------------------------------


def test_what_overflowed_is_counted_and_decides_nothing():
    figure, found = published("collapse", slice(None), {"world.scale": "1e38"})
    assert not found.diverged.any()
    assert figure.marked(found).diverged.all()
    verdicts = figure.verdict(found)
    assert {verdict.verdict for verdict in verdicts} == {"inconclusive"}
    assert all("30720 of 30720 trials diverged" in verdict.note for verdict in verdicts)


@pytest.mark.parametrize("claim", ["collapse.bound", "collapse.paths", "ascent.bound"])
def test_one_lost_trial_leaves_the_largest_of_all_open(claim):
    """Python's `max` passes over what is no number: a bound would hold for the others alone."""
    figure, found = published(claim.partition(".")[0], [0], {})
    (verdict,) = figure.verdict(found, claim)
    assert verdict.note.startswith("1 of ")
    assert verdict.verdict == "inconclusive"
