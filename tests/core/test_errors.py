"""Checks of fields: refused on the right side of each edge, by name and with what would do."""

from types import SimpleNamespace

import pytest

from limelight._core import errors
from limelight._core.errors import InputError, RunError, StallError, StoreError
from limelight._core.words import shortened

PART = SimpleNamespace(size=4, rate=0.5, none=None, patch=2, nan=float("nan"))


def test_codes_are_those_of_the_docs():
    assert [e("").code for e in (RunError, InputError, StoreError, StallError)] == [1, 2, 2, 3]


def test_an_error_says_its_hint():
    assert str(InputError("wrong", "do this")) == "wrong (do this)"
    assert str(InputError("wrong")) == "wrong"


def test_words():
    errors.check_word("rule", "and", ("and", "or"))
    with pytest.raises(InputError, match="rule cannot be 'nad'") as raised:
        errors.check_word("rule", "nad", ("and", "or"))
    assert raised.value.hint == "did you mean and?"


@pytest.mark.parametrize(("least", "fine"), [(4, True), (5, False)])
def test_the_least_value_is_allowed(least, fine):
    if fine:
        errors.check_least(PART, ("size", "none"), least)
        return
    with pytest.raises(InputError, match=r"train\.size = 4") as raised:
        errors.check_least(PART, ("size", "none"), least, "train.")
    assert raised.value.hint == "at least 5"


def test_the_least_value_is_one_unless_said():
    with pytest.raises(InputError, match=r"rate = 0\.5"):
        errors.check_least(PART, ("rate",))
    errors.check_least(SimpleNamespace(n=1), ("n",))


def test_positive():
    errors.check_positive(PART, ("rate", "none"))
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(InputError, match="x = "):
            errors.check_positive(SimpleNamespace(x=wrong), ("x",))


@pytest.mark.parametrize("x", [0.0, 1.0, 0.3, None])
def test_both_ends_of_a_range_are_allowed(x):
    errors.check_between(SimpleNamespace(x=x), ("x",), 0.0, 1.0)


@pytest.mark.parametrize("x", [-0.1, 1.1, float("nan")])
def test_outside_a_range(x):
    with pytest.raises(InputError) as raised:
        errors.check_between(SimpleNamespace(x=x), ("x",), 0.0, 1.0)
    assert raised.value.hint == "between 0.0 and 1.0"


def test_multiples():
    errors.check_multiple(PART, "size", "patch")
    with pytest.raises(InputError, match="size = 5 is not a multiple of patch = 2"):
        errors.check_multiple(SimpleNamespace(size=5, patch=2), "size", "patch")
    with pytest.raises(InputError, match="patch = 0"):
        errors.check_multiple(SimpleNamespace(size=5, patch=0), "size", "patch")


def test_a_word_of_just_the_length_is_whole():
    assert shortened("x" * 40) == "x" * 40
    assert shortened("x" * 41) == "x" * 40 + "..."
