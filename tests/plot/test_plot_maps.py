import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.plot import mass_by_role


def test_mass_by_role_writes_every_number(page):
    before, after = np.array([[0.737, 0.263], [np.nan, 1.0]]), np.array([[0.95, 0.05], [0.5, 0.5]])
    both = [("before", before), ("after", after)]
    figure = mass_by_role(both, ["label-relevant", "rest"]).matplotlib()
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    assert [t.get_text() for t in first.texts] == ["0.74", "0.26", "–", "1.00"]
    (cells,) = [c for c in second.collections if type(c).__name__ == "QuadMesh"]
    assert np.array_equal(cells.get_array(), after)
    assert [t.get_text() for t in first.get_yticklabels()] == ["label-\nrelevant", "rest"]
    done = page(figure)
    assert done.cut_off() == []
    assert done.crowded() == []


def test_narrow_roles_keep_their_names_apart(page):
    roles = ["one-thing", "second-role", "third-role", "fourth-role", "fifth-role", "rest"]
    assert page(mass_by_role([("", np.eye(6))], roles).matplotlib()).crowded() == []


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="1 by 1"):
        mass_by_role([("", np.eye(2))], ["a"])
    with pytest.raises(InputError, match="no matrix"):
        mass_by_role([], ["a"])
