"""What every figure costs, as measured; a figure without a number here was not measured.

At paper scale on one H200 with a cold compilation cache, alone or, where `SHARED` says so, beside
other runs. At smoke and small scale the CPU time of the whole command, most of it compiling,
because the wall clock of a shared machine says little.
"""

#: Seconds in all, and seconds of it compiling.
PAPER = {
    "fig1a": (26, 17),
    "fig1a-ratio": (15, 13),
    "fig1a-gap": (10, 7),
    "fig1a-pool": (8, 1),
    "fig1a-tokens": (20, 18),
    "fig1b-sigma": (20, 18),
    "fig2": (20, 16),
    "fig3": (23, 17),
    "fig3-ratio": (16, 8),
    "fig4": (62, 58),
    "fig5": (30, 20),
    "fig5-long": (28, 19),
    "fig8": (70, 63),
    "fig7": (49, 47),
}
SHARED = {
    "fig1b-point": (168, 69),
    "fig1b-noise": (285, 115),
    "fig5-samples": (308, 143),
    "lemmas": (256, 243),
    "sets": (107, 100),
}
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
SMOKE = {"fig1a": 19, "fig1a-ratio": 19, "fig1b-noise": 41, "fig4": 23, "fig8": 19}


def measured(name: str) -> dict[str, str]:
    """The cost of a figure in words, by scale."""
    found = {
        scale: f"{seconds[name]} s of CPU time"
        for scale, seconds in (("smoke", SMOKE), ("small", SMALL))
        if name in seconds
    }
    for seconds, where in ((PAPER, "one H200"), (SHARED, "one H200 beside other runs")):
        if name in seconds:
            total, compiling = seconds[name]
            found["paper"] = f"{total} s on {where}, {compiling} s of it compiling"
    return found
