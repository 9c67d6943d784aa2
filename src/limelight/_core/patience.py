"""Waiting for a chunk that may never end, or for several."""

import collections
import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from limelight._core.errors import StallError

#: Seconds after which a busy thread hands Python over to one that asks for it; usually five times
#: as many.
HANDOVER = 1e-3
#: How many runs of this process are `promptly`, and the time that was usual before the first.
_counting, _inside, _usual = threading.Lock(), 0, 0.005


@contextlib.contextmanager
def promptly() -> Iterator[None]:
    """Let threads that need Python now and then have it sooner.

    While one thread traces, one that feeds a device or reads what it left asks for Python many
    times per segment, and would wait the usual time each time.
    """
    global _inside, _usual
    with _counting:
        if not _inside:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual, HANDOVER))
        _inside += 1
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            if not _inside:
                sys.setswitchinterval(_usual)


def patiently(
    task: Callable[[], Any],
    stall: float,
    name: str,
    moved: Callable[[], float] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Any:
    """Run a task in a thread of its own, so that a stuck one can be given up and Ctrl-C works.

    `moved` says when it last made progress; without it, only its end counts. `watch` is called
    again and again meanwhile, and may raise to give the task up.

    Side by side, batched linear algebra in one CPU program can deadlock; nothing inside the
    process can end it, so the caller must leave.
    """
    box: queue.SimpleQueue = queue.SimpleQueue()

    def work():
        try:
            box.put((task(), None))
        except BaseException as error:
            box.put((None, error))

    threading.Thread(target=work, daemon=True, name=f"chunk {name}").start()
    began = time.monotonic()
    while True:
        try:
            value, error = box.get(timeout=0.2)
        except queue.Empty:
            watch()
            if time.monotonic() > (moved() if moved else began) + stall:
                raise StallError(
                    f"chunk {name} made no progress for {stall:g} seconds",
                    "finished chunks are stored; run again, with a larger stall if it is just slow",
                ) from None
            continue
        if error is not None:
            raise error
        return value


def side_by_side(
    task: Callable[[Any], Any], items: Sequence[Any], hands: int, stop: threading.Event
) -> list[Any]:
    """The task of every item, so many at a time, each hand a thread; in the order of the items.

    The first error, or Ctrl-C, sets `stop`: no further item is begun, and a task that looks at it
    can end early.
    """
    if hands < 2 or len(items) < 2:
        return [task(item) for item in items]
    left, found = collections.deque(enumerate(items)), {}
    errors: list[BaseException] = []

    def work():
        while not stop.is_set():
            try:
                place, item = left.popleft()
            except IndexError:
                return
            try:
                found[place] = task(item)
            except BaseException as error:
                errors.append(error)
                stop.set()

    threads = [threading.Thread(target=work, daemon=True, name=f"hand {n}") for n in range(hands)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(0.1)  # in short turns, so that Ctrl-C is heard
    except BaseException:
        stop.set()
        for thread in threads:
            with contextlib.suppress(RuntimeError):  # Ctrl-C came before it was started
                thread.join(2.0)  # long enough to give a chunk back
        raise
    if errors:
        raise errors[0]
    return [found[place] for place in range(len(items))]
