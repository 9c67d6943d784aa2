"""What every figure costs, as measured; a figure without a number here was not measured.

At paper scale on one H200 with a cold compilation cache, all figures from one command and four of
them at a time. At smoke and small scale the CPU time of the whole command, most of it compiling,
because the wall clock of a shared machine says little. The figures on real images were made apart
from the others, and all but `fig6-close` with several programs at once on the GPU: those times are
no speeds.
"""

#: Seconds in all, and seconds of it waiting for programs.
PAPER = {
    "fig1a": (28, 22),
    "fig1a-ratio": (39, 24),
    "fig1a-gap": (33, 22),
    "fig1a-pool": (46, 23),
    "fig1a-tokens": (30, 24),
    "fig1b-sigma": (31, 25),
    "fig1b-point": (47, 25),
    "fig1b-noise": (155, 33),
    "fig2": (30, 27),
    "fig3": (107, 66),
    "fig3-ratio": (121, 63),
    "fig4": (72, 64),
    "fig5": (62, 30),
    "fig5-long": (53, 30),
    "fig5-samples": (110, 31),
    "fig7": (60, 56),
    "fig8": (136, 123),
    "lemmas": (113, 110),
    "sets": (89, 88),
}
#: The same, with three programs at once on one GPU.
SHARING = {"fig6": (410, 133), "fig6c": (301, 120), "fig6-starts": (130, 75)}
#: The same, alone.
ALONE = {"fig6-close": (330, 71)}
#: Seconds of CPU time.
SMALL = {
    "fig1a": 38,
    "fig1b-point": 23,
    "fig2": 20,
    "fig4": 23,
    "fig7": 47,
    "lemmas": 48,
    "sets": 24,
}
SMOKE = {
    "fig1a": 19,
    "fig1a-ratio": 19,
    "fig1a-gap": 16,
    "fig1a-pool": 17,
    "fig1a-tokens": 21,
    "fig1b-sigma": 16,
    "fig1b-point": 14,
    "fig1b-noise": 41,
    "fig2": 16,
    "fig3": 17,
    "fig3-ratio": 19,
    "fig4": 23,
    "fig5": 24,
    "fig5-long": 22,
    "fig5-samples": 31,
    "fig7": 16,
    "fig8": 19,
    "lemmas": 27,
    "sets": 23,
}


def measured(name: str) -> dict[str, str]:
    """The cost of a figure in words, by scale."""
    found = {
        scale: f"{seconds[name]} s of CPU time"
        for scale, seconds in (("smoke", SMOKE), ("small", SMALL))
        if name in seconds
    }
    if name in PAPER:
        total, waiting = PAPER[name]
        found["paper"] = (
            f"{total} s on one H200, four figures at a time, {waiting} s of it waiting for programs"
        )
    if name in SHARING or name in ALONE:
        total, waiting = (seconds / 60 for seconds in {**SHARING, **ALONE}[name])
        how = ", three programs sharing the GPU" if name in SHARING else ""
        found["paper"] = (
            f"{total:.1f} minutes on one H200{how}, {waiting:.1f} of it waiting for programs"
        )
    return found
