"""Inputs that nobody should send, as Hypothesis strategies, and a count of what became of them."""

import contextlib
import fcntl
import json
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, seed, settings

from limelight._core.errors import LimelightError
from limelight._engine.device import commit

#: Inputs in all; `make torture` asks for a hundred thousand.
INPUTS = int(os.environ.get("LIMELIGHT_FUZZ", "1000"))
#: Of every draw: the same inputs whenever as many are asked for.
SEED = int(os.environ.get("LIMELIGHT_FUZZ_SEED", "0"))
#: Where the count goes, if anywhere.
RECORD = os.environ.get("LIMELIGHT_FUZZ_RECORD", "")
#: Inputs of a whole session; the record keeps a shorter one beside it.
WHOLE = 100_000
SOURCE = {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"} if RECORD else {}
#: Seconds that one input may compute, those that it may take where a machine has other work too or
#: it waits for something, and bytes by which the process may grow in all.
LONGEST, PATIENCE, MOST_GROWTH = 20.0, 180.0, 1_500_000_000

#: By kind: accepted, refused in one line, faults; the longest time, and the time of all.
COUNTS: dict[str, Counter] = {}


def _grown() -> int:
    """The most bytes that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


_START = _grown()


def many(share: float) -> Callable[[Callable], Callable]:
    """The settings of a test that takes its share of the inputs."""
    chosen = settings(
        max_examples=max(10, round(share * INPUTS)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: seed(SEED)(chosen(test))


@contextlib.contextmanager
def counted(kind: str) -> Iterator[None]:
    """One input: it is taken, or refused in one line; it neither hangs nor fills the memory."""
    count = COUNTS.setdefault(kind, Counter())
    began, said = time.process_time(), ""

    def too_long(number, _):
        limit = LONGEST if number == signal.SIGPROF else PATIENCE
        raise AssertionError(f"{kind}: an input took longer than {limit:g} seconds")

    clocks = {
        signal.SIGPROF: (signal.ITIMER_PROF, LONGEST),
        signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE),
    }
    before = {number: signal.signal(number, too_long) for number in clocks}
    for clock, limit in clocks.values():
        signal.setitimer(clock, limit)
    try:
        yield
        count["taken"] += 1
    except LimelightError as error:
        count["refused"] += 1
        said = error.message
    except BaseException:
        count["faults"] += 1
        raise
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])
    assert "\n" not in said, said
    assert len(said) < 2_000, said
    took = time.process_time() - began
    count["longest, ms"] = max(count["longest, ms"], round(1000 * took))
    count["together, ms"] += 1000 * took
    grown = _grown() - _START
    assert grown < MOST_GROWTH, f"{kind}: the process has grown by {grown:,} bytes"


def keep_counts() -> None:
    """Add the count to the record, where one is wanted.

    Kinds that another process tried with this commit and seed stay: all need not be tried at once.
    """
    if not RECORD:
        return
    path = Path(RECORD)
    with open(path.with_name(path.name + ".lock"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        there = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        before = there.pop("fuzz, shorter", {})
        alike = all(before.get(name) == value for name, value in (SOURCE | {"seed": SEED}).items())
        kinds = (before["kinds"] if alike else {}) | {k: _rounded(c) for k, c in COUNTS.items()}
        total = sum(count.get("taken", 0) + count.get("refused", 0) for count in kinds.values())
        grown = round((_grown() - _START) / 1e9, 2)
        fuzz = {
            **SOURCE,
            "seed": SEED,
            "inputs": total,
            "tracebacks": sum(count.get("faults", 0) for count in kinds.values()),
            "seconds for one at most": LONGEST,
            "seconds for one at most, with waiting": PATIENCE,
            "GB of growth at most": MOST_GROWTH / 1e9,
            "GB of growth": max(grown, before["GB of growth"]) if alike else grown,
            "kinds": kinds,
        }
        name = "fuzz" if total >= WHOLE else "fuzz, shorter"
        path.write_text(json.dumps({**there, name: fuzz}, indent=2) + "\n", encoding="utf-8")


def _rounded(count: Counter) -> dict[str, int]:
    return {name: round(number) for name, number in sorted(count.items())}


# --- bytes --------------------------------------------------------------------------------------

_OPERATIONS = ("flip", "cut", "insert", "remove", "repeat", "zero", "number")


@st.composite
def damaged(draw: Any, content: bytes) -> bytes:
    """Some bytes after a few accidents: flips, cuts, insertions, numbers made huge."""
    raw = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        if not raw:
            break
        place = draw(st.integers(0, len(raw) - 1))
        length = draw(st.integers(1, 24))
        how = draw(st.sampled_from(_OPERATIONS))
        if how == "flip":
            raw[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del raw[place:]
        elif how == "insert":
            raw[place:place] = draw(st.binary(min_size=1, max_size=8))
        elif how == "remove":
            del raw[place : place + length]
        elif how == "repeat":
            raw[place:place] = raw[place : place + length] * draw(st.integers(1, 50))
        elif how == "zero":
            raw[place : place + length] = bytes(len(raw[place : place + length]))
        else:
            size = draw(st.sampled_from((1, 2, 4, 8)))
            huge = draw(st.sampled_from((0xFF, 0x7F, 0x80)))
            raw[place : place + size] = bytes([huge]) + b"\xff" * (size - 1)
    return bytes(raw)


# --- JSON ---------------------------------------------------------------------------------------

nonsense = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from([10**400, -1, 0, 1, 2**31, "0", "<script>", "\x1b[2J", "..", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """Where anything stands in a document, parts and leaves."""
    if place:
        yield place
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for name, inner in items:
        yield from places(inner, (*place, name))


@st.composite
def mutated(draw: Any, document: Any) -> Any:
    """A document with some of its parts replaced, removed, renamed, or wrapped."""
    made = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 3))):
        there = list(places(made))
        if not there:
            break
        *parents, last = draw(st.sampled_from(there))
        at = made
        for name in parents:
            at = at[name]
        how = draw(st.sampled_from(("put", "put", "remove", "rename", "wrap", "deep")))
        if how == "put":
            at[last] = draw(nonsense)
        elif how == "remove":
            del at[last]
        elif how == "rename" and isinstance(at, dict):
            at[draw(st.text(max_size=5))] = at.pop(last)
        elif how == "wrap":
            at[last] = draw(st.sampled_from(([at[last]], {"a": at[last]}, str(at[last]))))
        elif how == "deep":
            inner = at[last]
            for _ in range(draw(st.integers(50, 400))):
                inner = [inner]
            at[last] = inner
    return made
