r"""Cross-attention: no weight on oneself, so no self-lock; and what wrong pairs cost."""

from functools import cache

import numpy as np
from matplotlib.lines import Line2D

from limelight.claims import AtMost, Claim, Estimate, Inside
from limelight.engine.grid import Axes
from limelight.experiments import Study
from limelight.fit import families
from limelight.measures import cross_errors
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import (
    bars,
    fact,
    facts,
    legend_over,
    panel,
    plain_ticks,
    root,
    spread_out,
    tag,
)
from limelight.plot import TWO_COLUMNS, caption, new_figure
from limelight.plot.style import COLOURS, DASHES, INK, MARKERS
from limelight.table import Table
from limelight.theory.xu2022 import limit
from limelight.theory.xu2022.setting import Number, Setting
from limelight.worlds import Pairs

AXES = ("world.alignment", "world.wrong", "model.strength")
#: Points whose logit spread exceeds this are left out.
SPREAD = 0.02
#: A logit scale far beyond that.
BEYOND = 100.0


def setup(world: Pairs, alignments, wrongs, strengths, trials: int) -> Setup:
    """One study; draws are shared along the logit scale."""
    study = Study(world, Smoother(), None, (cross_errors,))
    axes: Axes = {
        "world.alignment": list(alignments),
        "world.wrong": list(wrongs),
        "model.strength": list(strengths),
    }
    return Setup(study, axes, trials, shared=("model.strength",))


# --- what is read off a table -----------------------------------------------------------------


@cache
def _sizes(clusters: int, size: int, wrong: Number) -> tuple[float, ...]:
    """Tokens of each cluster in the target."""
    labels = np.asarray(Pairs(clusters=clusters, size=size, wrong=wrong).labels())
    return tuple(np.bincount(labels, minlength=clusters).astype(float).tolist())


def law(table: Table, at, strength=None) -> tuple[np.ndarray, np.ndarray]:
    """Ratio and leaked mass in the limit, for the queries' cluster."""
    C, m = int(fact(table, at, "world.clusters")), int(fact(table, at, "world.size"))
    sigma = float(fact(table, at, "world.sigma_target"))
    sizes = np.array(_sizes(C, m, at["world.wrong"]))
    target = Setting(np.eye(C), np.maximum(sizes, 1.0), sigma)
    cosines = np.eye(C) * at["world.alignment"]
    lam = at["model.strength"] if strength is None else strength
    error, leaked = limit.cross_parts(cosines, target, lam, np.broadcast_to(sizes, (C, C)))
    return np.asarray(np.sqrt(error[..., 0]) / sigma), np.asarray(leaked[..., 0])


def spread(table: Table, at) -> float:
    """The logit variance of one query over keys of a cluster."""
    sigma, d = fact(table, at, "world.sigma_target"), fact(table, at, "world.dimension")
    query = 1 + fact(table, at, "world.sigma_source") ** 2
    return at["model.strength"] ** 2 * sigma**2 * query / d


def usable(table: Table):
    """Cells whose logit spread is small enough for the limit."""
    return [(at, rows) for at, rows in table.cells(*AXES) if spread(table, at) <= SPREAD]


def _name(at) -> str:
    lam, near, wrong = (at[p] for p in ("model.strength", "world.alignment", "world.wrong"))
    return f"lambda {lam:g}, alignment {near:g}, wrong {wrong:g}"


def _over(table: Table, cells) -> Estimate:
    points = [
        families.root_point(_name(at), rows["cross.square"], len(cells)).over(
            float(law(table, at)[0])
        )
        for at, rows in cells
    ]
    return families.inside(points, 0.98, 1.02)


def errors(table: Table) -> Estimate:
    """Measured over limit ratio."""
    return _over(table, usable(table))


def beyond(table: Table) -> Estimate:
    """The same where the logit spread is ten times what the claim allows, nothing wrong."""
    clean = table.rows((table["world.wrong"] == 0) & (table["world.alignment"] == 1))
    cells = [(at, rows) for at, rows in clean.cells(*AXES) if spread(table, at) >= 10 * SPREAD]
    return _over(table, cells)


def leaked(table: Table) -> Estimate:
    """Measured minus limit mass outside the matching cluster."""
    cells = usable(table)
    points = [
        families.mean_point(_name(at), rows["cross.leaked"] - float(law(table, at)[1]), len(cells))
        for at, rows in cells
    ]
    return families.inside(points, -0.01, 0.01)


def unlocked(table: Table) -> Estimate:
    """Cross ratio against half the self-attention ratio at lambda nearest 8, nothing wrong."""
    clean = table.rows((table["world.wrong"] == 0) & (table["world.alignment"] == 1))
    lams = clean.values("model.strength")
    lam = lams[np.argmin(np.abs(lams - 8))]
    rows = clean.rows(clean["model.strength"] == lam)
    point = families.difference_point(
        f"lambda {lam:g}", rows["cross.square"], rows["cross.itself"], 0.5, 1
    )
    ratios = [float(np.sqrt(rows[c].mean())) for c in ("cross.square", "cross.itself")]
    return families.below([point], 0.0, "cross {:.3f}, self {:.3f}".format(*ratios))


CLAIMS = (
    Claim(
        "cross.limit",
        "Cross-attention follows its limit law within 2 %, wrong pairs included.",
        "measured over limit ratio, points with logit spread at most 0.02",
        errors,
        Inside(0.98, 1.02),
        "limelight",
    ),
    Claim(
        "cross.beyond",
        "It still does at ten times that spread.",
        "measured over limit ratio, logit spread at least 0.2 (expected to fail: few keys count)",
        beyond,
        Inside(0.98, 1.02),
        "limelight",
    ),
    Claim(
        "cross.leak",
        "The mass on wrong clusters is the law's within 0.01.",
        "measured minus limit leaked mass",
        leaked,
        Inside(-0.01, 0.01),
        "limelight",
    ),
    Claim(
        "cross.unlocked",
        "Cross-attention does not lock on itself: below half the self-attention ratio.",
        "cross ratio over half the self ratio, minus 1, lambda 8, sigma 1, paired draws",
        unlocked,
        AtMost(0.0),
        "xu2022, Section 1, in our model",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """Ratio and leaked mass over the logit scale, by share of wrong pairs."""
    alignments = sorted(table.values("world.alignment"), reverse=True)
    wrongs = spread_out(table.values("world.wrong"), 5)
    figure = new_figure(TWO_COLUMNS, 2.7, columns=len(alignments) + 1)
    lams = table.values("model.strength")
    fine = np.geomspace(lams.min(), lams.max(), 80)
    for axes, alignment in zip(figure.axes[:-1], alignments, strict=True):
        panel(axes, r"logit scale $\lambda$", "")
        tag(axes, f"alignment {alignment:g}")
        for i, wrong in enumerate(wrongs):
            _draw_line(axes, table, float(alignment), wrong, i, fine)
        if alignment == alignments[0]:
            clean = table.rows(
                (table["world.wrong"] == 0) & (table["world.alignment"] == alignment)
            )
            cells = list(clean.cells("model.strength"))
            x = [at["model.strength"] for at, _ in cells]
            y = [root(rows, "cross.itself").value for _, rows in cells]
            axes.plot(x, y, color=INK, linestyle=DASHES[2], linewidth=1.2)
        axes.set_ylim(0.1, 2)
        plain_ticks(axes, (1, 10, 100), (0.1, 0.2, 0.5, 1, 2))
    last = figure.axes[-1]
    panel(last, r"logit scale $\lambda$", "", log_y=False)
    tag(last, f"leaked mass, alignment {alignments[0]:g}")
    for i, wrong in enumerate(wrongs):
        at = {"world.alignment": float(alignments[0]), "world.wrong": wrong}
        last.plot(fine, law(table, at, fine)[1], color=COLOURS[i], linewidth=0.9)
        part = table.rows(
            (table["world.alignment"] == alignments[0]) & (table["world.wrong"] == wrong)
        )
        cells = list(part.cells("model.strength"))
        y = [float(rows["cross.leaked"].mean()) for _, rows in cells]
        look = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 3, "linestyle": "none"}
        last.plot([c["model.strength"] for c, _ in cells], y, **look)
    plain_ticks(last, (1, 10, 100))
    figure.axes[0].set_ylabel(r"ratio  $|x'-u'|/\sigma_t$", fontsize=7.5)
    handles = [
        Line2D(
            [],
            [],
            label=f"{w:.0%} wrong pairs",
            color=COLOURS[i],
            marker=MARKERS[i],
            linewidth=0.9,
            markersize=3,
        )
        for i, w in enumerate(wrongs)
    ]
    handles.append(Line2D([], [], label="self-attention", color=INK, linestyle=DASHES[2]))
    legend_over(figure, handles)
    note = f"C = {fact(table, {}, 'world.clusters')}, $m_k$ = {fact(table, {}, 'world.size')}"
    caption(figure, *facts(table, note), "noise level 1 in both domains; lines: limit law")
    return figure


def _draw_line(axes, table: Table, alignment: Number, wrong: Number, i: int, fine) -> None:
    part = table.rows((table["world.alignment"] == alignment) & (table["world.wrong"] == wrong))
    at = {"world.alignment": alignment, "world.wrong": wrong}
    axes.plot(fine, law(table, at, fine)[0], color=COLOURS[i], linewidth=0.9)
    cells = list(part.cells("model.strength"))
    look = {"color": COLOURS[i], "marker": MARKERS[i]}
    x = [c["model.strength"] for c, _ in cells]
    bars(axes, x, [root(rows, "cross.square") for _, rows in cells], **look)


def summary(table: Table) -> list[str]:
    """Ratio, leaked mass and self-attention, nothing wrong."""
    lines = []
    for at, rows in table.cells(*AXES):
        if at["world.wrong"] in (0.0, 0.48, 0.5) and at["world.alignment"] == 1:
            ratio, mass = law(table, at)
            lines.append(
                f"{_name(at)}: cross {root(rows, 'cross.square').value:.4f} (limit {ratio:.4f}),"
                f" leaked {rows['cross.leaked'].mean():.4f} ({mass:.4f}),"
                f" self {root(rows, 'cross.itself').value:.4f}"
            )
    return lines


figure = Figure(
    name="cross",
    title="cross-attention between two domains, with wrong pairs",
    statement="cross-attention tolerates noisy pseudo-label pairs",
    setups={
        "smoke": setup(Pairs(clusters=4, size=16), (1.0,), (0.0, 0.5), (2.0, 4.0, 8.0), 4),
        "small": setup(
            Pairs(),
            (1.0, 0.7),
            (0.0, 0.25, 0.5, 0.75, 0.9),
            (1.0, 1.6, 2.6, 4.3, 8.0, 11.0, 18.0, 30.0, BEYOND),
            16,
        ),
        "paper": setup(
            Pairs(),
            (1.0, 0.7),
            [round(0.06 * v, 2) for v in range(17)],
            [*(round(float(v), 3) for v in np.geomspace(1, 30, 32)), BEYOND],
            64,
        ),
    },
    claims=CLAIMS,
    draws={"cross": draw},
    summary=summary,
    reference="Section 1",
    departures="the paper argues in words; the model of wrong pairs is ours",
)
