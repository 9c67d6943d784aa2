"""The command line: its door, then `app`, and one small module per command.

`options`, `images`, `crew`, `progress` and `text` are what they share.
"""

import _thread
import contextlib
import os
import sys
import threading


def main() -> None:
    """Run the command line; Ctrl-C is heard at every moment, also while it is being loaded."""
    sys.unraisablehook = again
    try:
        from limelight._cli import app

        app.main()
    except KeyboardInterrupt:
        with contextlib.suppress(OSError, AttributeError, ValueError):
            sys.stdout.flush()
            sys.stderr.write("stopped: nothing is lost\nhint: run the same command again\n")
            sys.stderr.flush()
        os._exit(130)


def again(lost) -> None:
    """Send Ctrl-C again where Python dropped it: inside a callback of the garbage collector."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    if sys.is_finalizing():  # it ends as it is, and no thread can begin any more
        return
    sender = threading.Timer(0.05, _thread.interrupt_main)  # once the callback is over
    sender.daemon = True
    sender.start()
