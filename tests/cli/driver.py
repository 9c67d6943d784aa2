"""The command line with the paper about dice, for tests that need a process of its own.

    python -m tests.cli.driver KIND WORDS...

Kinds: `stuck`, whose third chunk never ends; `full`, a disk on which no file may grow.
"""

import resource
import sys
import time

from limelight._cli import main
from limelight._engine.run import Engine
from tests.cli import toy

kind = sys.argv[1]
compute = Engine._compute


def or_never(engine, chunk):
    if kind == "stuck" and chunk.name.endswith("2"):
        time.sleep(600)
    return compute(engine, chunk)


if __name__ == "__main__":
    Engine._compute = or_never
    toy.lay_out(setattr)
    if kind == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    sys.argv = ["limelight", *sys.argv[2:]]
    main()
