"""Certificates of bounds: the first line says what they are worth."""

import json

import numpy as np
import pytest

import limelight as ll
from limelight._core.errors import InputError
from limelight.models.construct import construct
from limelight.theory.base import Bound, Condition


def test_first_line():
    good = ll.certify(Bound("gap", 0.5, "certificate"))
    assert good.holds
    assert good.as_json()["verdict"].startswith("holds")
    far = ll.certify(Bound("gap", 5.0, "certificate", (Condition("small", 5.0, "<", 1.0),)))
    assert not far.holds
    assert str(far).startswith("DOES NOT APPLY")
    assert ll.certify(Bound("gap", np.inf, "certificate")).verdict.startswith("VOID")


def test_a_report_is_saved_with_the_weights_digest(tmp_path):
    path = tmp_path / "and.safetensors"
    construct("and", 8, 3).save(path)
    report = ll.theory.edelman2022.capacity(path, delta=0.05)
    ll.certify(report, path).save(tmp_path / "c.json")
    saved = json.loads((tmp_path / "c.json").read_text())
    assert next(iter(saved)) == "verdict"
    assert len(saved["weights"]["sha256"]) == 64
    assert saved["details"]["blocks"][0]["heads"][0]["norms"]["token"] == pytest.approx(2**0.5)
    with pytest.raises(InputError):
        ll.certify(report, tmp_path / "missing")
