"""Types and shapes are checked while the tests run, whichever way a function is wrapped."""

import beartype
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float

from limelight.fit import trial_weights
from tests.typed import checked

Row = Float[np.ndarray, " a"]
check = checked(typechecker=beartype.beartype)


@check
def joined(first: Row, second: Row, times: int = 1) -> Row:
    return np.concatenate([first, second])[: len(first) * times]


@check
def counted(rows: Float[np.ndarray, "..."]) -> int:
    return rows.size if rows.size else None


def test_an_axis_has_one_size_in_a_call_and_another_in_the_next():
    for size in (2, 3):
        assert joined(np.ones(size), np.ones(size)).shape == (size,)
    with pytest.raises(BeartypeCallHintViolation):
        joined(np.ones(2), np.ones(3))
    with pytest.raises(BeartypeCallHintViolation):  # what comes back is held to it, too
        joined(np.ones(2), np.ones(2), 2)
    assert joined(np.ones(4), np.ones(4)).shape == (4,)  # a refusal leaves nothing behind


def test_types_are_checked_where_no_axis_has_a_name():
    assert counted(np.ones((2, 3))) == 6
    for wrong in (np.ones(3, int), np.ones(0)):
        with pytest.raises(BeartypeCallHintViolation):
            counted(wrong)


def test_what_says_nothing_is_left_as_it_is():
    def plain(x):
        return x

    assert check(plain) is plain


def test_the_library_is_under_the_checks():
    with pytest.raises(BeartypeCallHintViolation):
        trial_weights("many")
