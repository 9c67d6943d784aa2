"""The command line with the cheap engine, for tests that need a process of its own.

    python -m tests.cli.driver KIND WORDS...

Kinds: `quick`; `slow`, half a second a chunk; `stuck`, whose third chunk never ends; `full`, on a
disk where no file may grow.
"""

import resource
import sys
import time

from limelight.cli.app import main
from limelight.study.run import Engine
from tests.cli.cheap import made_up

kind = sys.argv[1]


def compute(engine, chunk):
    if kind == "slow":
        time.sleep(0.5)
    if kind == "stuck" and chunk.name.endswith("2"):
        time.sleep(600)
    return made_up(engine, chunk)


if __name__ == "__main__":
    Engine._compute = compute
    if kind == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    sys.argv = ["limelight", *sys.argv[2:]]
    main()
