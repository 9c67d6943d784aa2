"""Waiting for a chunk that may never end."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from limelight._core.errors import StallError


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
