"""How long compiling usually takes is remembered, and never in the way."""

from types import SimpleNamespace

from limelight._cli.progress import compiling as said
from limelight._core import compiling


def test_a_study_is_told_its_own_median_and_a_new_one_that_of_all(tmp_path):
    assert compiling.usual(tmp_path, "a") is None
    for seconds in (1.0, 9.0, 2.0):
        compiling.remember(tmp_path, "a", seconds)
    compiling.remember(tmp_path, "b", 30.0)
    assert compiling.usual(tmp_path, "a") == 2.0
    assert compiling.usual(tmp_path, "new") == 5.5
    for _ in range(compiling.KEPT):
        compiling.remember(tmp_path, "a", 4.0)
    assert compiling.usual(tmp_path, "a") == 4.0


def test_a_damaged_or_missing_record_says_nothing(tmp_path):
    compiling.remember(None, "a", 1.0)
    assert compiling.usual(None, "a") is None
    for text in ("{", "[]", '{"cpu a": "x"}', '{"cpu a": [true, "x"]}'):
        (tmp_path / compiling.NAME).write_text(text)
        assert compiling.usual(tmp_path, "a") is None
    missing = tmp_path / "missing"
    compiling.remember(missing, "a", 1.0)
    assert not missing.exists()


def test_the_bar_says_what_is_compiled_for_how_long_and_how_long_it_takes():
    progress = SimpleNamespace(
        compilations=1, programs=3, compiling_since=-1e9, compiling_usually=12.0
    )
    words = said(progress)
    assert words.startswith("compiling 2 of 3 for ")
    assert words.endswith("(usually 12 s)")
    progress.programs, progress.compiling_usually = 1, None
    assert said(progress).startswith("compiling for ")
