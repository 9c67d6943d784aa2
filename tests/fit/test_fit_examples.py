import doctest
import importlib
import pkgutil

import pytest

from limelight import fit


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(fit.__path__)])
def test_examples_in_docstrings_run(name):
    assert not doctest.testmod(importlib.import_module(f"limelight.fit.{name}")).failed


def test_everything_named_is_there_and_documented():
    assert len(set(fit.__all__)) == len(fit.__all__)
    for name in fit.__all__:
        assert getattr(fit, name).__doc__
