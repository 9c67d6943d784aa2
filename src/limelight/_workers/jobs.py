"""What is written down of the workers that were started, and which of them are there now.

One file per worker, `workers/NUMBER.PLACE.json`: where it was started, under which name, by whom.
Anybody who sees the run folder may read it. A run that goes on elsewhere does not forget the jobs
that still wait on the cluster where it was begun.
"""

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limelight._core.files import read_regular, write_whole
from limelight._engine.claims import gone, holder, is_here
from limelight._engine.store import now
from limelight._workers.slurm import queued


def write_down(store: Path, number: int, on: str, job: str) -> None:
    """Keep what a worker is called, for whoever looks for it later."""
    facts = {"on": on, "job": job, "started": now(), "by": holder(), "user": os.getuid()}
    write_whole(store / "workers" / f"{number}.{on}.json", (json.dumps(facts) + "\n").encode())


def written_down(store: Path) -> list[dict[str, Any]]:
    """The workers that were started on a run; what is no such record is passed over.

    Earlier releases left the place out of the name.
    """
    found = []
    for file in sorted((store / "workers").glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            told = json.loads(read_regular(file, 2**16))
            facts = {"on": str(told["on"]), "job": str(told["job"]), "user": None, "by": {}}
            if isinstance(told.get("user"), int):
                facts["user"] = told["user"]
            if isinstance(told.get("by"), Mapping):
                facts["by"] = told["by"]
            found.append({"number": int(file.name.partition(".")[0]), **facts})
    return sorted(found, key=lambda told: told["number"])


def there(store: Path) -> dict[str, int] | None:
    """Workers that wait or run, counted; none where all have ended, `None` where nobody can say.

    SLURM is asked. Workers of a machine are processes of it; an actor of Ray waits or runs as long
    as the process does that started it.
    """
    known = written_down(store)
    states = Counter()
    for user in {told["user"] for told in known}:
        jobs = [t["job"] for t in known if t["on"] == "slurm" and t["user"] == user]
        if (seen := queued(jobs, user)) is None:
            return None
        states.update(state for state, _ in seen.values())
    for told in known:
        who = dict(told["by"])
        if told["on"] == "local" and told["job"].isdecimal():
            who["pid"] = int(told["job"])
        if told["on"] == "slurm" or gone(who):
            continue
        if not is_here(who):
            return None
        states["running" if told["on"] == "local" else "waiting"] += 1
    return dict(sorted(states.items()))
