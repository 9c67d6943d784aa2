"""How far a run is, for whoever shows it."""

from dataclasses import dataclass, field


@dataclass
class Progress:
    """How far a run is.

    Args:
        total: Trials in the study.
        done: Trials finished, earlier runs included.
        under_way: Trials finished in a chunk that is not.
        computed: Trials this run computed.
        seconds: Since this run began.
        compile_seconds: Of these, spent waiting for the compiler.
        compilations: Programs this run compiled (or took from the cache).
        compiling: Whether a program is being compiled now.
        programs: Programs that the study consists of.
        compiling_since: When that began, on the clock of `time.monotonic`.
        compiling_usually: Seconds that a program of this study usually takes to compile on this
            machine; `None` where that is not known.
        messages: What the user should hear; whoever shows a message removes it.
    """

    total: int
    done: int = 0
    under_way: int = 0
    computed: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    compilations: int = 0
    compiling: bool = False
    programs: int = 0
    compiling_since: float = 0.0
    compiling_usually: float | None = None
    messages: list[str] = field(default_factory=list)

    @property
    def trials_per_second(self) -> float:
        """Trials of this run over its time, compilation included."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float:
        """At the pace of the computing so far; NaN before the first chunk."""
        computing = self.seconds - self.compile_seconds
        if not self.computed:
            return float("nan")
        return (self.total - self.done) * computing / self.computed
