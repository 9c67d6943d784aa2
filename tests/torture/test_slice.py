"""A slice of the torture: some kills, lost chunks and a full disk. `make torture` does the rest.

In a process of its own: it forks, and a process that has run JAX must not.
"""

import json
import subprocess
import sys


def test_a_run_survives_a_little_of_everything(tmp_path):
    record = tmp_path / "torture.json"
    words = ["-m", "tests.torture", "--kills", "2", "--seed", "3", "--slice"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *words, "--output", str(record)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(record.read_text())["kills"]
    assert found["processes ended from outside"] >= 2
    assert all(count["runs"] == count["survived"] for count in found["kinds"].values())
    assert len(found["kinds"]) == 4
    assert found["kinds"]["workers, replaced"]["ended"] >= 1
