"""What a file system sees of many workers: claiming measured here, then simulated for many more.

    python benchmarks/claiming.py [--folder FOLDER] [OUT.json]

First the operations of a worker are timed in a folder of 10^5 chunks: a claim by lock and by lease,
a look whether a chunk is there, the write of a chunk, a list of the folder. Then 10^5 chunks and
1,000 workers are simulated with these times, a file server that takes so many operations at a time,
and chunks of a given length: what the server sees per second, how long a claim takes, how much
of their time workers compute.
"""

import argparse
import heapq
import json
import random
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import about

from limelight._core.files import atomic
from limelight._engine.claims import BEAT, Claims
from limelight._engine.reading import chunk_name, stored_chunks
from limelight._workers.share import GLANCE, LINGER, POLL, SLOWEST, STRETCH

#: Calls of the file system in each operation that reach a server, counted with `strace`: what is
#: asked of an open file again is not among them. A claim is lost to whoever holds it.
CALLS = {"look": 1, "lock": 7, "lease": 7, "write": 24, "lost": 3}
CHUNKS, WORKERS = 100_000, 1_000


def measured(folder: Path, chunks: int, repeats: int = 300) -> dict[str, float]:
    """Median seconds of each operation among so many chunks."""
    place = folder / "chunks"
    place.mkdir(parents=True)
    names = [chunk_name(0, part) for part in range(chunks)]
    for name in names:
        (place / f"{name}.parquet").touch()
        (place / f"{name}.json").touch()
    (folder / "locks").mkdir()
    (folder / "leases").mkdir()
    locks, leases = Claims(folder / "locks"), Claims(folder / "leases", leases=True)
    some = random.Random(0).sample(names, repeats)

    def claim(claims: Claims, name: str) -> None:
        with claims.hold(name) as mine:
            assert mine

    def write(name: str) -> None:
        for ending in ("json", "parquet"):
            with atomic(place / f"{name}.{ending}") as temporary:
                temporary.write_bytes(b"x" * 4000)

    return {
        "look": median(lambda name: (place / f"{name}.parquet").exists(), some),
        "lock": median(lambda name: claim(locks, name), some),
        "lease": median(lambda name: claim(leases, name), some),
        "write": median(write, some),
        "list": median(lambda _: stored_chunks(folder), some[:3]),
    }


def median(function, arguments) -> float:
    times = []
    for argument in arguments:
        began = time.perf_counter()
        function(argument)
        times.append(time.perf_counter() - began)
    return float(np.median(times))


class Server:
    """A file server that answers so many calls per second, each after the same time at least."""

    def __init__(self, rate: float, latency: float, slot: float = 0.1):
        self.most, self.latency, self.slot = rate * slot, latency, slot
        self.calls = 0
        self.taken: dict[int, float] = {}  # calls in each tenth of a second

    def answer(self, now: float, calls: int) -> float:
        """When calls that are made one after another from now on are answered."""
        self.calls += calls
        slot, left = int(now / self.slot), float(calls)
        while True:
            fit = min(left, self.most - self.taken.get(slot, 0.0))
            self.taken[slot] = self.taken.get(slot, 0.0) + fit
            left -= fit
            if left <= 0:
                break
            slot += 1
        return max(now + calls * self.latency, slot * self.slot)

    @property
    def peak(self) -> float:
        """The most calls in one second."""
        seconds: dict[int, float] = {}
        for slot, calls in self.taken.items():
            second = int(slot * self.slot)
            seconds[second] = seconds.get(second, 0.0) + calls
        return max(seconds.values())


def simulate(
    chunks: int, workers: int, seconds: float, claim: str, rate: float, latency: float
) -> dict[str, float]:
    """The loop of `limelight._workers.share`, call by call, on one server.

    A list of the folder counts one call for every thousand names. Chunks take between half and one
    and a half of their mean time; workers start within a minute.
    """
    beats = workers / BEAT if claim == "lease" else 0.0  # of hearts, all the time
    dice, server = random.Random(0), Server(rate - beats, latency)
    done, holder = np.zeros(chunks, bool), np.zeros(chunks, bool)
    listing = lambda: max(1, 2 * int(done.sum()) // 1000)
    starts = [number * chunks // workers for number in range(workers)]
    me = [{"left": None, "idle": 0.0, "pause": POLL} for _ in range(workers)]
    events = [(dice.uniform(0, 60), number, -1) for number in range(workers)]
    began_at = [moment for moment, *_ in events]
    heapq.heapify(events)
    waits, busy, lost, end = [], 0.0, 0, 0.0

    def sort_out(one: dict, now: float) -> float:
        """Begin a round: what nobody holds first."""
        left = one["left"]
        one |= {
            "free": left[~holder[left]],
            "held": list(left[holder[left]]),
            "at": 0,
            "stretch": 0,
        }
        return server.answer(now, max(1, workers // 1000))

    while events:
        now, number, chunk = heapq.heappop(events)
        one = me[number]
        if chunk >= 0:  # computed: kept, and the next is looked for
            now = server.answer(now, CALLS["write"])
            done[chunk], holder[chunk], end = True, False, max(end, now)
            one |= {"stretch": 0, "idle": now, "pause": POLL}
        began, found, wait = now, -1, False
        if one["left"] is None:
            now = server.answer(now, listing())
            order = np.r_[starts[number] : chunks, 0 : starts[number]]
            one["left"] = order[~done[order]]
            now = sort_out(one, now)
        elif chunk < 0:  # waited
            now = sort_out(one, now)
        while found < 0 and not wait:
            if one["at"] == len(one["free"]):  # once round
                any_free, one["left"] = len(one["free"]) > 0, np.array(one["held"], int)
                if not any_free:  # those tried whose holders might be dead
                    tried = one["left"][:GLANCE]
                    now = server.answer(now, len(tried) * (CALLS["look"] + CALLS["lost"]))
                    one["left"] = np.r_[one["left"][GLANCE:], tried[~done[tried]]]
                    wait = True
                if not len(one["left"]):
                    break
                now = now if wait else sort_out(one, now)
                continue
            chunk = int(one["free"][one["at"]])
            one["at"] += 1
            now = server.answer(now, CALLS["look"])
            if not done[chunk] and not holder[chunk]:
                now, found = server.answer(now, CALLS[claim]), chunk
                continue
            if holder[chunk]:
                now, lost = server.answer(now, CALLS["lost"]), lost + 1
                one["held"].append(chunk)
            one["stretch"] += 1
            if one["stretch"] >= STRETCH:
                now = server.answer(now, listing())
                left = np.r_[one["free"][one["at"] :], np.array(one["held"], int)]
                one["left"] = left[~done[left]]
                if not len(one["left"]):
                    break
                now = sort_out(one, now)
        if found >= 0:
            holder[found] = True
            waits.append(now - began)
            took = seconds * dice.uniform(0.5, 1.5)
            busy += took
            heapq.heappush(events, (now + took, number, found))
        elif wait and now < one["idle"] + LINGER:
            heapq.heappush(events, (now + one["pause"], number, -1))
            one["pause"] = min(2 * one["pause"], SLOWEST)
    assert done.all()
    return {
        "chunk_seconds": seconds,
        "wall_seconds": round(end, 1),
        "computing": round(busy / sum(end - moment for moment in began_at), 4),
        "claim_median_ms": round(1e3 * float(np.median(waits)), 2),
        "claim_99_ms": round(1e3 * float(np.quantile(waits, 0.99)), 2),
        "calls_per_second": round(server.calls / end + beats),
        "calls_per_second_peak": round(server.peak + beats),
        "claims_lost": lost,
    }


def main() -> None:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--folder", type=Path, help="on the file system to be measured")
    words.add_argument("--chunks", type=int, default=CHUNKS)
    words.add_argument("--workers", type=int, default=WORKERS)
    words.add_argument("out", nargs="?", type=Path)
    told = words.parse_args()
    folder = Path(tempfile.mkdtemp(dir=told.folder))
    try:
        times = measured(folder, told.chunks)
        print(json.dumps(times), flush=True)
    finally:
        shutil.rmtree(folder)
    rows = []
    # A busy NFS or Lustre takes some thousands of calls per second, each in about a millisecond.
    for rate, lengths in ((20_000, (300.0, 30.0, 10.0, 3.0, 1.0)), (5_000, (30.0, 10.0, 3.0))):
        for claim in ("lock", "lease") if rate == 5_000 else ("lock",):
            for seconds in lengths:
                row = simulate(told.chunks, told.workers, seconds, claim, rate, 1e-3)
                rows.append({"claim": claim, "server_calls_per_second": rate, **row})
                print(json.dumps(rows[-1]), flush=True)
    record = {
        **about(),
        "chunks": told.chunks,
        "workers": told.workers,
        "measured_seconds": times,
        "calls": CALLS,
        "largest_folder": {"chunks": 2 * told.chunks, "locks": told.workers},
        "simulated": rows,
    }
    if told.out:
        told.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
