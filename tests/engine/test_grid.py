"""Axes, paths and overrides."""

import pytest

from limelight._core.errors import InputError
from limelight._engine import Grid, make_plan
from limelight._engine.grid import assign, is_static, leaves, lookup, parse, read
from limelight.experiments import Study
from limelight.measures import accuracy
from limelight.models import Shallow
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

STUDY = Study(Patterns(tokens=20), Shallow(width=4), Train(steps=20), (accuracy,))


def test_paths_reach_every_field_and_copies_leave_the_original():
    changed = assign(STUDY, {"world.relevant": 0.3, "train.steps": 40})
    assert (lookup(changed, "world.relevant"), lookup(changed, "train.steps")) == (0.3, 40)
    assert (STUDY.world.relevant, STUDY.train.steps) == (0.4, 20)


def test_static_is_what_the_field_says_or_what_is_no_number():
    assert is_static(STUDY, "world.tokens", [10, 20])
    assert not is_static(STUDY, "train.examples", [1, 2])
    assert is_static(STUDY, "world.noise", [None, 0.1])
    assert not is_static(STUDY, "world.noise", [0.0, 0.1])
    assert set(leaves(STUDY)) >= {"world.relevant", "train.examples", "model.frozen"}
    assert "world.tokens" not in leaves(STUDY)


@pytest.mark.parametrize(
    ("path", "hint"),
    [("world.relevnt", "world.relevant"), ("wrld.relevant", "world"), ("train.rate.x", "known")],
)
def test_an_unknown_path_suggests_the_nearest(path, hint):
    with pytest.raises(InputError, match="nothing is called") as error:
        lookup(STUDY, path)
    assert hint in error.value.hint


def test_cells_are_the_product_and_tuples_move_together():
    pair = ("world.relevant", "world.confusing")
    grid = Grid({pair: [(0.3, 0.1), (0.4, 0.0)], "train.rate": [1, 2]})
    assert len(grid.cells) == 4
    assert grid.cells[1] == {"world.relevant": 0.3, "world.confusing": 0.1, "train.rate": 2}


@pytest.mark.parametrize(
    ("axes", "word"),
    [
        ({"train.rate": []}, "no values"),
        ({"train.rate": [1.0, 1.0]}, "twice"),
        ({"train.rate": [float("nan")]}, "not finite"),
        ({("train.rate", "train.steps"): [(1,)]}, "needs 2 values"),
        ({"train.rates": [1]}, "nothing is called"),
        ({"world.relevant": [0.05]}, "tied or lost"),
        ({"train.rate": [[1]]}, "not a number"),
    ],
)
def test_bad_axes_are_refused_before_anything_runs(axes, word):
    with pytest.raises(InputError, match=word):
        make_plan(STUDY, axes, trials=1)


def test_plans_count_compilations_by_static_values():
    traced = make_plan(STUDY, {"world.relevant": [0.3, 0.4], "train.examples": [2, 4]}, trials=3)
    assert traced.compilations == 1
    static = make_plan(STUDY, {"world.tokens": [20, 40], "train.examples": [2, 4]}, trials=3)
    assert static.compilations == 2
    assert static.rows == 12
    assert sum(len(chunk.cells) for chunk in static.chunks) == 12
    assert traced.cost.flops > 0
    assert traced.memory > 0


def test_words_become_values_of_the_kind_that_is_there():
    assert parse("3", 1.5) == 3.0
    assert isinstance(parse("3", 1.5), float)
    assert parse("True", False) is True
    assert parse("none", 0.1) is None
    for text, current in (("1.5", 3), ("maybe", True), ("x", 1.0), ("inf", 1.0)):
        with pytest.raises(InputError):
            parse(text, current)


def test_the_hash_knows_every_setting():
    axes = {"train.examples": [2, 4]}
    base = make_plan(STUDY, axes, trials=2, width=4)
    same = make_plan(STUDY, axes, trials=2, width=4)
    assert base.hash == same.hash
    others = [
        make_plan(assign(STUDY, {"train.rate": 0.5}), axes, trials=2, width=4),
        make_plan(STUDY, axes, trials=3, width=4),
        make_plan(STUDY, axes, trials=2, width=8),
        make_plan(STUDY, axes, trials=2, width=4, seed=1),
        make_plan(STUDY, {"train.examples": [2, 5]}, trials=2, width=4),
    ]
    assert len({plan.hash for plan in (base, *others)}) == 6


def test_a_part_that_has_parts_is_no_single_value():
    with pytest.raises(InputError, match="world is not a single value") as error:
        read(STUDY, "world", "3")
    assert "world.tokens" in error.value.hint
