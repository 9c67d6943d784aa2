"""The table of changed claims and the outputs of errata are complete, or refused."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
changes = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "changes.py")))
evidence = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "evidence.py")))


def claim(verdict="holds", value=1.0, rule="above 0"):
    return {"verdict": verdict, "value": value, "interval": None, "rule": rule}


FIRST = {name: claim() for name in ("p a", "p b", "p c", "p d", "p e")}
NOW = {
    "p a": claim(value=1.00001),  # the last digits
    "p b": claim("fails"),
    "p c": claim(rule="above 1"),
    "p d": claim(value=None),
    "p new": claim(),
}


def test_a_claim_changed_if_its_verdict_rule_or_value_did_or_if_it_is_gone():
    assert list(changes.changed(FIRST, NOW)) == ["p b", "p c", "p d", "p e"]
    rows = changes.table(FIRST, NOW, {"p [bc]": "one", "p [de]": "other"}).splitlines()[2:]
    assert rows[0] == "| `p b` | holds, 1 | fails, 1 | same | one |"
    assert rows[1] == "| `p c` | holds, 1 | holds, 1 | new | one |"
    assert rows[3] == "| `p e` | holds, 1 | retired |  | other |"


@pytest.mark.parametrize(
    ("reasons", "why"),
    [
        ({"p [bcd]": "x"}, "0 reasons for the change of p e"),
        ({"p [bcde]": "x", "p b": "y"}, "2 reasons for the change of p b"),
        ({"p [bcde]": "x", "p a": "y"}, "nothing changed that fits 'p a'"),
    ],
)
def test_a_change_has_one_reason_and_a_reason_has_a_change(reasons, why):
    with pytest.raises(SystemExit, match=why.replace("[", r"\[")):
        changes.table(FIRST, NOW, reasons)


def test_the_first_list_is_whole():
    first = json.loads((ROOT / "docs" / "papers" / "first.json").read_text())
    counts = [sum(v["verdict"] == word for v in first.values()) for word in ("holds", "fails")]
    assert (len(first), counts) == (281, [165, 76])


def test_every_command_of_every_erratum_has_an_output_and_none_is_left_over():
    kept = evidence.kept()
    found = [(key, row, command) for key, row, command in evidence.asked()]
    stored = [(k, row, c) for k, rows in kept.items() for row, outs in rows.items() for c in outs]
    assert sorted(found) == sorted(stored)
    assert len(found) > 60
    assert all(kept[key][row][command].strip() for key, row, command in found)


def test_a_printed_statement_fails_in_what_its_erratum_prints():
    """Where one command evaluates both, the printed one fails and the corrected one holds."""
    shown = [
        out
        for rows in evidence.kept().values()
        for outs in rows.values()
        for command, out in outs.items()
        if " errata " in command
    ]
    assert len(shown) > 25
    assert all("printed" in out or "corrected" in out for out in shown)
    assert not any(" nan" in out for out in shown)


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ("a 1.0004 of 2e-17", True),
        ("a 1.01 of 2e-17", False),
        ("b 1.0 of 2e-17", False),
        ("a 1.0 of 2e-17 and 3", False),
    ],
)
def test_outputs_agree_up_to_last_digits(now, same):
    assert evidence.agree("a 1.0 of 5e-16", now) is same


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ("a 7.1×10⁻¹⁸ under 10⁻⁶", True),
        ("a 3.5×10⁻⁸ under 10⁻⁶", False),
        ("a 3.5×10⁻¹⁸ under 10⁻⁵", False),
    ],
)
def test_exponents_are_read_where_they_are_typeset(now, same):
    assert evidence.agree("a 3.5×10⁻¹⁸ under 10⁻⁶", now) is same


@pytest.mark.parametrize(
    "command",
    [
        "limelight show li2023 errata --set number=4",
        "limelight show xu2022 errata --set number=18",
        "limelight show edelman2022 errata --set number=8",
    ],
)
def test_a_command_still_prints_what_is_kept(command):
    """Three of them; `python docs/evidence.py --check` runs all."""
    [kept] = [
        out
        for rows in evidence.kept().values()
        for outs in rows.values()
        for said, out in outs.items()
        if said == command
    ]
    assert evidence.agree(kept, evidence.printed(command))


@pytest.mark.slow
def test_all_commands_still_print_what_is_kept():
    assert evidence.main(["--check"]) == 0
