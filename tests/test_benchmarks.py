"""The benchmark of edelman2022's decoder: its counts, and the whole of it in small."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from limelight._engine.grid import assign
from limelight.papers import load

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


# --- peers ----------------------------------------------------------------------------------------


def test_a_peer_in_plain_jax_learns(monkeypatch):
    """The trial that is timed is one that trains: from a loss of 1 to nearly none."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    peers = __import__("shallow_peers")
    study = load("li2023").figure("fig1a").setup("small").experiment
    sizes = {"world.tokens": 20, "world.relevant": 0.5, "world.confusing": 0.0}
    losses = []
    for steps in (0, 200):
        trial = jax.jit(jax.vmap(peers.jax_trial(assign(study, sizes | {"train.steps": steps}))))
        with jax.numpy_rank_promotion("allow"):  # written as others write
            losses.append(float(trial(jax.random.split(jax.random.key(0), 4)).mean()))
    assert losses[0] == pytest.approx(1, abs=0.05)
    assert losses[1] < 0.1


# --- growth ---------------------------------------------------------------------------------------


def test_powers_are_found_and_drawn(monkeypatch, tmp_path):
    """Times with known powers; the least of several counts, and memory too small is left out."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    growth = __import__("growth")
    powers = {name: place / 3 for place, name in enumerate(growth.LINES)}
    rows = []
    for name, power in powers.items():
        one = lambda v, p=power: {"cpu": 0.1 * v**p, "bytes": 3e6 * v, "most": 1e9}
        slow = {"cpu": 1e9, "bytes": 1e15, "most": 1e15}
        points = {v: [slow, one(v)] for v in growth.LINES[name].values}
        rows.append(growth.fitted(name, points))
        assert rows[-1]["time"] == pytest.approx(power, abs=1e-6)
        assert rows[-1]["memory"] == pytest.approx(1.0)
    few = {v: [{"cpu": 1.0, "bytes": 10.0, "most": 1e9}] for v in growth.LINES["chunks"].values}
    assert growth.fitted("chunks", few)["memory"] is None
    growth.draw(rows).save(tmp_path / "growth.png")


# --- the first five minutes ---------------------------------------------------------------------


@pytest.fixture
def minutes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return __import__("first_minutes")


def test_a_screen_keeps_what_is_left_on_it_and_what_was_shown_meanwhile(minutes):
    screen = minutes.Screen()
    screen.feed("\x1b[?25l- fig1a ━━━ 0/36 compiling for 2 s (usually 3 s)")
    screen.feed("\r\x1b[2K- fig1a ━━━ 0/36 compiling for 3 s (usually 3 s)")
    screen.feed("\r\x1b[2K\x1b[1A\x1b[2K\x1b[32mdone\x1b[0m\r\nnext ░▒▓\r\n")
    assert screen.text == "done\nnext ░▒▓"
    screen.feed("x" * 90)
    assert screen.text.endswith("▓\n" + "x" * 80 + "\n" + "x" * 10)
    assert list(screen.passed.values()) == ["- fig1a ━━━ 0/36 compiling for 2 s (usually 3 s)"]


def test_a_command_is_typed_into_a_terminal_of_eighty_columns(minutes, tmp_path):
    code = "import os, sys; print(os.get_terminal_size().columns, sys.stdout.isatty(), 'é' * 3)"
    told = minutes.typed(f'{sys.executable} -c "{code}"', tmp_path, dict(minutes.os.environ))
    assert (told["exit"], told["screen"]) == (0, "80 True ééé")
    whole, rest = minutes._decoded("é".encode()[:1])
    assert (whole, rest) == ("", "é".encode()[:1])  # half a letter waits for the rest


def test_the_account_of_the_first_minutes_is_written_from_its_record(minutes):
    record = json.loads((ROOT / "results" / "benchmarks" / "first-minutes.json").read_text())
    assert [step["name"] for step in record["steps"]] == [name for name, _, _ in minutes.STEPS]
    assert all(step["exit"] == 0 for step in record["steps"])
    written = (ROOT / "docs" / "start" / "stopwatch.md").read_text()
    assert written == minutes.page(record)


# --- one GPU --------------------------------------------------------------------------------------


def test_what_a_gpu_is_asked_is_there(monkeypatch, tmp_path):
    """Every command names a script, and the set of li2023 is the one that its protocol makes."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    on_gpu = __import__("on_gpu")
    commands = [command for part in on_gpu.PARTS.values() for command in part]
    for command in commands:
        for tiny in (False, True):
            _, first, *rest = on_gpu.words(command, tmp_path / "out.json", tmp_path, tiny)
            assert first == "-c" or Path(first).exists()
            assert not any("{" in word for word in rest)
    assert len({command.name for command in commands}) == len(commands)
    text = (ROOT / "docs" / "papers" / "li2023" / "protocol.md").read_text()
    told = text[text.index("publish.py --beside") :]
    told = told[: told.index("```")].replace("\\\n", " ").split(" paper results ")[1].split()
    expand = [
        f"{word[: word.index('{')]}{end}"
        for word in told
        if "{" in word
        for end in word[word.index("{") + 1 : -1].split(",")
    ]
    plain = [word for word in told if "{" not in word]
    assert {f"li2023/{name}" for name in on_gpu.SET} == {*expand, *plain}
