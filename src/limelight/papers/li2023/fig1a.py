r"""Figure 1(a) and its two clean protocols: pictures and recipes.

The paper moves $\alpha_\#$ with $\alpha_*$ (`nd`: their sum is fixed), which confounds the two; the
protocols `ratio` ($\alpha_\# = \alpha_*/4$) and `gap` ($\alpha_* - \alpha_\# = 0.24$) do not.
"""

from collections.abc import Callable, Sequence

import numpy as np

from limelight import fit
from limelight.claims import Claim, Estimate, Inside
from limelight.experiments import Study
from limelight.fit import Edge
from limelight.measures import Accuracy, FreshLoss
from limelight.models import Shallow
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.boundary import (
    CONVERGED,
    FLOOR,
    LOOSE,
    ND_CLAIMS,
    PAIR,
    STRICT,
    boundary,
    exponent,
    gap,
    laws,
    relevant,
    straightness,
)
from limelight.plot import (
    Marked,
    Series,
    TopAxis,
    Validity,
    caption,
    curves,
    phase_diagram,
    provenance,
)
from limelight.table import Table
from limelight.theory.li2023 import relevant_needed
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

# --- pictures ---------------------------------------------------------------------------------


def draw_phase(table: Table):
    """Success map with N50, its interval, theory curves, and where Theorem 1 does not apply."""
    edge = boundary(table)
    x, y, rate = _rates(table)
    loss = _grid(table, "training_loss")
    alphas = x
    lines = {
        r"\alpha_*^{-2}": _line(edge, relevant(edge) ** -2.0),
        r"(\alpha_*-\alpha_\#)^{-2}": _line(edge, gap(edge) ** -2.0),
    }
    needed = relevant_needed(0.5, 0.1, 0.2, 0.0)
    is_nd = np.allclose(relevant(edge) + edge.x("world.confusing"), 0.5)
    figure = phase_diagram(
        alphas**-2.0,
        y,
        rate,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=Series("N50, 95 % interval", relevant(edge) ** -2.0, *ends(edge)),
        theory=[
            (rf"line in ${name}$ ($R^2$ = {squared:.2f})", relevant(edge) ** -2.0, fitted)
            for name, (fitted, squared) in lines.items()
            if np.isfinite(fitted).any()
        ],
        validity=Validity(needed**-2.0, "right", "Theorem 1 does not apply") if is_nd else None,
        marked=Marked("training not converged", loss >= CONVERGED),
        top=TopAxis(r"$\alpha_*$", alphas),
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_law(table: Table):
    """N50 against one over the relevant fraction, on logarithmic axes, with the slope 2 beside."""
    found = []
    for name, level in (("test loss < 0.001", STRICT), ("test loss < 0.01", LOOSE)):
        edge = boundary(table, level)
        found.append(Series(f"N50, {name}", 1 / relevant(edge), *ends(edge)))
    edge = boundary(table)
    x = 1 / relevant(edge)
    use = edge.resolved & (edge.values >= FLOOR)
    guides = []
    if use.any():
        middle = np.exp(np.mean(np.log(edge.values[use]) - 2 * np.log(x[use])))
        guides.append(Series(r"slope 2: $N \propto \alpha_*^{-2}$", x, middle * x**2))
        inverse = 1 / gap(edge)
        middle = np.exp(np.mean(np.log(edge.values[use]) - 2 * np.log(inverse[use])))
        label = r"$N \propto (\alpha_*-\alpha_\#)^{-2}$"
        guides.append(Series(label, x, middle * inverse**2))
    figure = curves(
        found,
        guides=guides,
        x_label=r"$1/\alpha_*$",
        y_label="N50, training examples",
        log_x=True,
        log_y=True,
        width=4.6,
    )
    caption(figure, *facts(table, found))
    return figure


def summary(table: Table) -> list[str]:
    """N50 for each fraction, and both straight lines with their intervals."""
    lines = ["N50 (examples at which half of the trials succeed), 95 % interval:"]
    for level in (STRICT, LOOSE):
        edge = boundary(table, level)
        points = [
            f"  alpha_* {at['world.relevant']:.2f}, alpha_# {at['world.confusing']:.2f}: {found}"
            for at, found in edge
        ]
        lines += [f" test loss below {level:g}", *points]
    for name, x_of in (("alpha_*", relevant), ("alpha_* - alpha_#", gap)):
        straight, slope = straightness(x_of)(table), exponent(STRICT, x_of)(table)
        lines.append(
            f"against ({name})^-2: R^2 {_range(straight)}; exponent in 1/({name}) {_range(slope)}"
        )
    return lines


def _range(estimate: Estimate) -> str:
    if not np.isfinite(estimate.value):
        return f"unresolved ({estimate.note})"
    low, high = estimate.interval or (np.nan, np.nan)
    return f"{estimate.value:.2f} [{low:.2f}, {high:.2f}]"


def _grid(table: Table, column: str) -> np.ndarray:
    x, i = np.unique(table["world.relevant"], return_inverse=True)
    y, j = np.unique(table["train.examples"], return_inverse=True)
    place = j * len(x) + i
    size = len(x) * len(y)
    total, count = np.bincount(place, table[column], size), np.bincount(place, minlength=size)
    return (total / np.maximum(count, 1)).reshape(len(y), len(x))


def _rates(table: Table):
    found = fit.successes(table, "test_loss", STRICT, below=True)
    success = Table({**table.columns, "success": found}, table.axes)
    return table.values("world.relevant"), table.values("train.examples"), _grid(success, "success")


def ends(edge: Edge) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and ends; what the data do not bound is open."""
    if not len(edge):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    low = np.where([t.censored_low for t in edge.thresholds], 0.0, edge.low)
    high = np.where([t.censored_high for t in edge.thresholds], np.inf, edge.high)
    return np.where(edge.resolved, edge.values, np.nan), low, high


def _line(edge: Edge, x: np.ndarray) -> tuple[np.ndarray, float]:
    """A straight line through the boundary where one can be drawn, and its R squared."""
    use = edge.resolved
    if use.sum() < 3 or np.ptp(x[use]) < 1e-9:
        return np.full(len(x), np.nan), np.nan
    found = fit.linear(x[use], edge.values[use])
    fitted = found.predict(x)
    return np.where(fitted > 0, fitted, np.nan), found.r_squared


def facts(table: Table, series: Sequence[Series] = ()) -> tuple[str, ...]:
    """Scale and trials, for a caption; and whether points of the series are missing."""
    trials = table.manifest.get("configuration", {}).get("trials")
    known = all(np.isfinite(line.arrays()[1]).all() for line in series)
    missing = () if known else ("no mark: not resolved",)
    return (*provenance(scale=table.manifest.get("scale", ""), trials=trials), *missing)


# --- recipes ----------------------------------------------------------------------------------


def study(scale: str, steps: int) -> Study:
    """One trial: the paper's model on its data, tokens without noise, grouped."""
    tokens, width, test = {"smoke": (50, 50, 100), "small": (100, 100, 100)}.get(
        scale, (100, 1000, 200)
    )
    return Study(
        world=Patterns(tokens=tokens),
        model=Shallow(width=width, groups=True),
        train=Train(steps=steps, batch=16, rate=2.0, every=20),
        measures=(FreshLoss(test), Accuracy(test)),
    )


def setup(scale: str, steps: int, relevant, confusing: Callable, examples, trials: int) -> Setup:
    """A grid over the fractions, together, and the number of examples."""
    pairs = [(a, round(confusing(a), 6)) for a in relevant]
    return Setup(study(scale, steps), {PAIR: pairs, "train.examples": list(examples)}, trials)


EXAMPLES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
DEPARTURES = (
    "step size 2, batch 16 and steps are ours (the paper states none); token noise is 0, so that "
    "equal tokens are grouped exactly; positions are permuted in every example; the start is "
    "`perturb` because the printed one saturates the softmax"
)

nd = lambda a: 0.5 - a
ratio = lambda a: a / 4
fixed_gap = lambda a: a - 0.24


def steps_of(first: float, last: float, step: float) -> list[float]:
    """Round numbers from first to last."""
    return [round(v, 6) for v in np.arange(first, last + step / 2, step)]


figures = (
    Figure(
        name="fig1a",
        title="examples needed against the fraction of label-relevant tokens",
        statement="the sample complexity is almost linear in alpha_*^-2",
        setups={
            "smoke": setup("smoke", 200, (0.36, 0.42, 0.5), nd, (2, 8, 32), 4),
            # Up to 96 examples and 800 steps, so that at every fraction the boundary is inside the
            # grid and its cells converge.
            "small": setup(
                "small", 800, (0.32, 0.34, 0.36, 0.39, 0.43, 0.46, 0.5), nd, EXAMPLES, 20
            ),
            "paper": setup("paper", 1000, steps_of(0.32, 0.5, 0.02), nd, EXAMPLES, 50),
        },
        claims=ND_CLAIMS,
        draws={"phase": draw_phase, "law": draw_law},
        summary=summary,
        reference="Figure 1(a)",
        departures=DEPARTURES,
    ),
    Figure(
        name="fig1a-ratio",
        title="the same with alpha_# held at a quarter of alpha_*",
        statement="by Theorem 1 the sample complexity grows as alpha_*^-2 here too",
        setups={
            "smoke": setup("smoke", 300, (0.16, 0.32, 0.48), ratio, (2, 8, 32), 4),
            "small": setup(
                "small", 800, (0.08, 0.12, 0.16, 0.24, 0.36, 0.52), ratio, (4, 8, 16, 32, 64), 12
            ),
            "paper": setup(
                "paper",
                2000,
                (0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.36, 0.44, 0.52, 0.6),
                ratio,
                (*EXAMPLES, 128, 192),
                50,
            ),
        },
        claims=laws("1a.ratio", "alpha_# a quarter of alpha_*"),
        draws={"phase": draw_phase, "law": draw_law},
        summary=summary,
        reference="Figure 1(a), without its confounder",
        departures=DEPARTURES + "; the protocol is ours: alpha_# = alpha_*/4",
    ),
    Figure(
        name="fig1a-gap",
        title="the same with alpha_* - alpha_# held at 0.24",
        statement="by Theorem 1 the sample complexity grows as alpha_*^-2 here too",
        setups={
            "smoke": setup("smoke", 300, (0.32, 0.5), fixed_gap, (4, 32), 4),
            "small": setup(
                "small", 600, (0.26, 0.32, 0.4, 0.5, 0.6), fixed_gap, (4, 8, 16, 32, 64), 16
            ),
            "paper": setup(
                "paper",
                1500,
                (0.26, 0.28, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5, 0.54, 0.58),
                fixed_gap,
                (*EXAMPLES, 128, 192),
                50,
            ),
        },
        claims=(
            *laws("1a.which.alpha", "alpha_* - alpha_# held at 0.24"),
            *(
                Claim(
                    f"1a.which.gap{suffix}",
                    "Examples needed depend on the gap alpha_* - alpha_# alone.",
                    f"log-log slope of N50 in 1/alpha_* at a fixed gap, test loss below {level:g}",
                    exponent(level, relevant),
                    Inside(-0.5, 0.5),
                    "limelight",
                )
                for suffix, level in (("", STRICT), (".loose", LOOSE))
            ),
        ),
        draws={"phase": draw_phase, "law": draw_law},
        summary=summary,
        reference="Figure 1(a), without its confounder",
        departures=DEPARTURES + "; the protocol is ours: alpha_# = alpha_* - 0.24",
    ),
)
