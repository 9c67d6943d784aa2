r"""N50 drawn and in words, as Figure 1(a) and its other protocols show it."""

import numpy as np

from limelight import plot
from limelight.papers.li2023.boundary import (
    LOOSE,
    NEEDED,
    STRICT,
    exponent,
    gap,
    in_words,
    line,
    n50,
    relevant,
    slope_guide,
    straight_guide,
    straightness,
    unconverged_cells,
    unresolved,
    usable,
)
from limelight.plot import Marked, Picture, TopAxis, Validity
from limelight.table import Table

#: What a phase diagram is drawn over.
PLANE = ("world.relevant", "train.examples")


def success_rates(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fractions, sizes, and the share of trials that succeed; with the trials of each cell."""
    return plot.success_rates(table, *PLANE, "test_loss", STRICT, below=True)


def draw_phase(table: Table, validity: Validity | None = None) -> Picture:
    """Where trials succeed, N50 with straight lines through it, and where a theorem applies."""
    edge = n50(table)
    x = relevant(edge) ** -2.0
    fractions, sizes, success, _ = success_rates(table)
    return plot.phase_diagram(
        fractions**-2.0,
        sizes,
        success,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=line("N50, 95 % interval", edge, x),
        theory=[
            *straight_guide(r"line in $\alpha_*^{-2}$", edge, x, x),
            *straight_guide(r"line in $(\alpha_*-\alpha_\#)^{-2}$", edge, gap(edge) ** -2.0, x),
        ],
        validity=validity,
        marked=Marked("training not converged", unconverged_cells(table, *PLANE)),
        top=TopAxis(r"$\alpha_*$", fractions),
    )


def draw_law(table: Table) -> Picture:
    """N50 against one over the relevant fraction, on logarithmic axes, with slopes of 2 beside."""
    strict, loose = n50(table, STRICT), n50(table, LOOSE)
    found = [
        line("N50, test loss < 0.001", strict, 1 / relevant(strict)),
        line("N50, test loss < 0.01", loose, 1 / relevant(loose)),
    ]
    x, y = 1 / relevant(strict), np.where(usable(strict), strict.values, np.nan)
    return plot.lines(
        found,
        guides=[
            *slope_guide(r"slope 2: $N \propto \alpha_*^{-2}$", x, y, 2.0),
            *slope_guide(r"$N \propto (\alpha_*-\alpha_\#)^{-2}$", 1 / gap(strict), y, 2.0, at=x),
        ],
        x_label=r"$1/\alpha_*$",
        y_label=NEEDED,
        log_x=True,
        log_y=True,
        note=unresolved(found),
    )


def summary(table: Table) -> list[str]:
    """N50 for each fraction, and both straight lines with their intervals."""
    lines = ["N50 (examples at which half of the trials succeed), 95 % interval:"]
    for level in (STRICT, LOOSE):
        lines.append(f" test loss below {level:g}")
        lines += [
            f"  alpha_* {at['world.relevant']:.2f}, alpha_# {at['world.confusing']:.2f}: {found}"
            for at, found in n50(table, level)
        ]
    for name, x in (("alpha_*", relevant), ("alpha_* - alpha_#", gap)):
        squared, slope = in_words(straightness, table, x), in_words(exponent, table, STRICT, x)
        lines.append(f"against ({name})^-2: R^2 {squared}; exponent in 1/({name}) {slope}")
    return lines
