"""The benchmark of edelman2022's decoder: its counts, and the whole of it in small."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "benchmarks/decoder.py", "--iterations", "10", "--trials", "2"]


@pytest.fixture
def decoder(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return __import__("decoder")


def test_flops_by_formula(decoder):
    """At T = m = 100: 3 m + 1000 rows of a stock decoder; products with 16 queries a token."""
    found = decoder.counts(100, 100)
    assert found["ordinary_flops"] == pytest.approx(1300 * 1.254e7, rel=1e-3)
    training, look = 300 * 5.12e5, 260 * (1.057e5)
    assert found["our_flops"] == pytest.approx(training + look, rel=1e-3)
    assert found["ordinary_bytes_of_scores"] == 3 * 4 * 100 * 16 * 101**2


@pytest.mark.slow
def test_one_command_measures_several_sizes(tmp_path):
    out = tmp_path / "record.json"
    subprocess.run([*COMMAND, "--at", "6,4", "--at", "8,30", str(out)], cwd=ROOT, check=True)
    record = json.loads(out.read_text())
    assert [(row["length"], row["examples"]) for row in record["rows"]] == [(6, 4), (8, 30)]
    for row in record["rows"]:
        assert row["our_ns_a_token"] == pytest.approx(
            1e6 * row["our_ms"] / (row["examples"] * (row["length"] + 1))
        )
        assert row["over_floor"] == row["our_ns_a_token"] / row["floor_ns_a_token"] > 0
        assert (row["ratio"] is None) == (row["ordinary_ms"] is None)


@pytest.mark.parametrize("bad", [["--at", "6"], ["--at", "x,y"], ["--iterations", "15"]])
def test_nonsense_is_refused(decoder, monkeypatch, capsys, bad):
    monkeypatch.setattr(sys, "argv", ["decoder.py", *bad])
    with pytest.raises(SystemExit):
        decoder.main()
    assert "error:" in capsys.readouterr().err
