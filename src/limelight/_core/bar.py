"""The progress bar of a notebook: shown by itself where a run is started in one."""

import html
import sys
from collections.abc import Callable
from typing import Any

#: Runs that end within so many seconds show no bar.
AT_ONCE = 0.3


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython is not loaded to find out."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    return shell is not None and hasattr(shell, "kernel")


def default() -> Callable[[Any], None]:
    """What shows how far a run is by default: a bar in a notebook, elsewhere nothing."""
    return NotebookBar() if in_notebook() else lambda _: None


class NotebookBar:
    """One line of output that is written anew as a run goes on."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __call__(self, progress: Any) -> None:
        """What the engine calls when something happened."""
        if self.handle is None:
            if progress.done >= progress.total and progress.seconds < AT_ONCE:
                return
            from IPython.display import display

            self.handle = display(Line(progress), display_id=True)
        else:
            self.handle.update(Line(progress))


class Line:
    """How far a run is, as a notebook or a plain console shows it."""

    def __init__(self, progress: Any) -> None:
        self.done, self.total = progress.done + progress.under_way, progress.total
        self.words = words(progress)
        self.messages = list(progress.messages)

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        notes = "".join(f"<br>note: {html.escape(message)}" for message in self.messages)
        bar = f'<progress value="{self.done}" max="{self.total}"></progress> '
        return (bar if self.done < self.total else "") + html.escape(self.words) + notes


def words(progress: Any) -> str:
    """What a run does now, or what it took."""
    done = progress.done + progress.under_way
    if progress.compiling:
        usual = progress.compiling_usually
        often = "" if usual is None else f", usually {max(1, round(usual))} s"
        which = f" {progress.compilations + 1} of {progress.programs}"
        return f"{done:,} of {progress.total:,} trials; compiling program{which}{often}"
    if done < progress.total:
        return f"{done:,} of {progress.total:,} trials, {progress.seconds:.0f} s"
    if not progress.computed:
        return f"all {progress.total:,} trials were there already"
    word = "trial" if progress.computed == 1 else "trials"
    return (
        f"{progress.computed:,} {word} in {progress.seconds:.1f} s,"
        f" of which {progress.compile_seconds:.1f} s compiling"
    )
