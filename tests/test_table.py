"""What a table says of its settings, in which order it gives its cells, and what it keeps."""

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.table import Table

ABOUT = {"configuration": {"experiment": {"train": {"steps": 60, "rate": 1.0}, "seed": 3}}}


def table() -> Table:
    columns = {
        "train.rate": np.array([2.0, 2.0, 1.0, 1.0]),
        "mode": np.array(["slow", "fast", "slow", "fast"], dtype=object),
        "y": np.arange(4.0),
    }
    return Table(columns, ("train.rate", "mode"), ABOUT)


def test_a_setting_is_the_coordinate_or_what_the_run_was_given():
    found = table()
    assert found.setting("train.steps") == 60
    assert found.setting("train.rate", {"train.rate": 2.0}) == 2.0
    assert found.where(train__rate=1.0).setting("train.rate") == 1.0
    assert found.setting("train.momentum", default=0.9) == 0.9


def test_a_setting_that_is_not_one_value_is_refused():
    with pytest.raises(InputError, match="was swept: it has 2 values"):
        table().setting("train.rate")
    with pytest.raises(InputError, match="did you mean steps"):
        table().setting("train.stps")
    with pytest.raises(InputError, match="no setting 'seed.depth'"):
        table().setting("seed.depth")


def test_cells_come_in_the_order_of_the_axes():
    cells = [(at["train.rate"], at["mode"]) for at, _ in table().cells()]
    assert cells == [(2.0, "slow"), (2.0, "fast"), (1.0, "slow"), (1.0, "fast")]
    by_mode = {at["mode"]: rows["y"].tolist() for at, rows in table().cells("mode")}
    assert list(by_mode) == ["slow", "fast"]
    assert by_mode == {"slow": [0.0, 2.0], "fast": [1.0, 3.0]}
    assert not list(table().rows(np.zeros(4, dtype=bool)).cells())


def test_what_is_made_from_a_table_is_made_once_and_stays_with_it():
    one, other, made = table(), table(), []
    for owner in (one, one, other):
        assert owner.cached("sum", lambda owner=owner: made.append(owner) or len(made)) >= 1
    assert len(made) == 2
