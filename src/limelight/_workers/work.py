"""One worker, a process of its own: `python -m limelight._workers.work FOLDER NUMBER COUNT`.

It writes to its log in the run folder. SIGTERM and SIGUSR2, with which schedulers warn, let it
finish its chunk if that takes no longer than the grace, or give it up; so does the end of its
standard input, where it is tied to whoever started it.
"""

import argparse
import hashlib
import os
import platform
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight._workers.share import Bell, Share


def command(
    store: Path,
    number: int,
    count: int,
    *,
    grace: float,
    stall: float,
    paper: str | None = None,
    same_code: bool = False,
    tied: bool = False,
    python: str = sys.executable,
) -> list[str]:
    """The command of a worker."""
    words = [python, "-m", "limelight._workers.work", str(store), str(number), str(count)]
    words += ["--grace", str(grace), "--stall", str(stall)]
    words += ["--paper", paper] if paper else []
    return words + ["--same-code"] * same_code + ["--tied"] * tied


def main() -> int:
    """Work, and leave with a code that says why: 0 done, 1 failed, 2 refused, 75 asked to leave."""
    told = _words()
    os.environ["LIMELIGHT_WORKER"] = str(told.number)
    _log_to(told.store / "workers" / f"{told.number}.log")
    try:
        return work(told)
    except BaseException:  # even that JAX cannot be imported is for the log
        traceback.print_exc()
        return 1


def work(told: argparse.Namespace) -> int:
    """The same, with a log to write to."""
    from limelight._core.errors import LimelightError
    from limelight._engine.claims import holder
    from limelight._workers.share import Bell, Released

    bell = Bell(told.grace)
    for number in (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT):
        signal.signal(number, bell.ring)
    if told.tied:
        threading.Thread(target=_until_alone, args=(bell,), daemon=True).start()
    who = holder()
    _say(f"worker {told.number} of {told.count} on {who['host']}, job {who['job'] or who['pid']}")
    try:
        share = _share(told, bell)
        computed = share.work()
    except Released as error:
        _say(error.message)
        return error.code
    except LimelightError as error:
        _say(f"error: {error}")
        return error.code
    why = "asked to leave" if bell.at else "nothing left here"
    _say(f"{computed} chunk{'s' * (computed != 1)} computed; {why}")
    return Released.code if bell.at else int(bool(share.failed))


def _words() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="limelight worker")
    words.add_argument("store", type=Path)
    words.add_argument("number", type=int)
    words.add_argument("count", type=int)
    words.add_argument("--grace", type=float, default=20.0)
    words.add_argument("--stall", type=float, default=1800.0)
    words.add_argument("--paper")
    words.add_argument("--same-code", action="store_true")
    words.add_argument("--tied", action="store_true")
    return words.parse_args()


def _share(told: argparse.Namespace, bell: "Bell") -> "Share":
    """Everything that takes long: JAX, the paper, the plan."""
    from limelight._engine.device import describe_machine
    from limelight._engine.run import Engine, lay_out
    from limelight._workers.share import Share
    from limelight.papers._outside import from_path
    from limelight.papers.published import plan_of

    programs = share_programs(told.store)
    plan = plan_of(told.store, from_path(told.paper) if told.paper else None)
    # Whoever starts workers tidies up: a thousand would open a thousand claims each.
    store = lay_out(plan, told.store, same_code=told.same_code, tidy=False)
    engine = Engine(plan, store, lambda progress: None, told.stall, describe_machine())
    return Share(engine, store, told.number, told.count, bell=bell, programs=programs, say=_say)


def share_programs(store: Path) -> Path | None:
    """Keep compiled programs in the run folder, one folder for machines that are alike."""
    import jax

    config: Any = jax.config
    if os.environ.get("LIMELIGHT_CACHE", "") == "off" or config.jax_compilation_cache_dir:
        return None
    folder = store / "workers" / f"programs-{_machine()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # then each compiles its own
        return None
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return folder


def _machine() -> str:
    """A digest of what a compiled program depends on: processor, devices, versions."""
    import jax

    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = sorted({line for line in lines if line.startswith(("flags", "model name"))})
    except OSError:
        flags = [platform.processor()]
    kinds = [device.device_kind for device in jax.local_devices()]
    text = repr((platform.machine(), flags, kinds, jax.__version__, os.environ.get("XLA_FLAGS")))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _log_to(path: Path) -> None:
    """Send all that is printed, by C++ too, to the end of a file."""
    path.parent.mkdir(exist_ok=True)  # on a machine that does not see the run none is made
    with path.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)


def _until_alone(bell: "Bell") -> None:
    """Ring when whoever started this process has ended: then its end of the pipe is closed."""
    while os.read(0, 4096):
        pass
    bell.ring()


def _say(line: str) -> None:
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())} {line}", flush=True)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a chunk that was given up may still run in its thread
