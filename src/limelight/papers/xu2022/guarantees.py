r"""The repaired certificates against many draws, inside their conditions and just outside."""

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.experiments import Study
from limelight.fit import families
from limelight.measures import worst_errors
from limelight.models import Smoother
from limelight.papers.base import Figure, Setup
from limelight.papers.xu2022.reading import facts, setting
from limelight.plot import caption, new_figure
from limelight.plot.style import COLOURS, MUTED, TICK, label, legend_above, open_frame
from limelight.table import Table
from limelight.theory.xu2022 import certificates, limit
from limelight.theory.xu2022.setting import Number, Setting
from limelight.worlds import Clusters

AXIS = (
    "world.clusters",
    "world.size",
    "world.sizes",
    "world.cosine",
    "world.sigma",
    "world.dimension",
    "model.operator",
    "model.strength",
    "model.neighbours",
)
DELTA = 0.05


def knn(clusters: int, size: int, sigma: Number, dimension: int):
    """A row for T1', its K starting at the smallest certified one."""
    model = Setting.equal(clusters, size, sigma, dimension)
    fewest = int(certificates.averaging(model, DELTA)[2])
    return (clusters, size, "equal", 0.0, sigma, dimension, "knn-l2", 1.0, fewest)


def soft(clusters, size, sigma, dimension, lam, sizes="equal", cosine=0.0, operator="softmax"):
    """A row for T2' and T2''."""
    return (clusters, size, sizes, cosine, sigma, dimension, operator, lam, 1)


SMOKE = (knn(3, 30, 0.5, 60), soft(3, 20, 0.5, 2000, 5.0))
SMALL = (
    *SMOKE,
    knn(10, 20, 0.5, 200),
    soft(5, 40, 0.5, 1000, 6.0),
    soft(5, 40, 0.3, 1000, 7.0),
    soft(5, 40, 1.0, 20000, 3.0),
    soft(3, 1, 0.5, 2000, 5.0, sizes="2-5-40"),
    soft(4, 20, 0.3, 5000, 30.0, cosine=0.9),
    soft(4, 20, 0.7, 3000, 4.0, operator="masked"),
)


def setup(rows, trials: int) -> Setup:
    """One study over a list of rows."""
    study = Study(Clusters(), Smoother(), None, (worst_errors,))
    return Setup(study, {AXIS: list(rows)}, trials)


# --- what is read off a table -----------------------------------------------------------------


def shares(table: Table, form: str):
    """Each row's worst error over its bound, a number a draw."""
    for at, rows in table.cells(*AXIS):
        model = setting(table, at)
        neighbours = at["model.operator"].startswith("knn")
        if neighbours != (form == "neighbours"):
            continue
        if neighbours:
            found = certificates.nearest_neighbours(model, DELTA)
            # Both halves of T1': the bound for every K, and strict improvement for certified K.
            yield at, np.maximum(rows["worst.growth"] / found.growth, rows["worst.ratio"]), rows
            continue
        masked = at["model.operator"] == "masked"
        found = certificates.softmax(model, at["model.strength"], DELTA, masked=masked)
        bound = (found.triangle if form == "triangle" else found.quadrature) / model.sigma
        worst = rows["worst.cluster"][:, : model.clusters]
        yield at, np.max(worst / bound, axis=1), rows


def violated(form: str):
    """An estimate of how often a certificate is violated, all rows together."""

    def estimate(table: Table) -> Estimate:
        found = [share for _, share, _ in shares(table, form)]
        if not found:
            return Estimate(float("nan"), None, 0, "no row of this kind")
        share = np.concatenate(found)
        note = f"{len(found)} settings; largest error / bound {share.max():.3f}"
        return families.rate(int((share > 1).sum()), len(share), note)

    return estimate


def beyond(table: Table) -> Estimate:
    """Share of draws in which T1's bound fails at a K one fifth above the cluster size."""
    bad = n = 0
    for at, _, rows in shares(table, "neighbours"):
        growth = certificates.nearest_neighbours(setting(table, at), DELTA).growth
        bad, n = bad + int((rows["worst.beyond"] > growth).sum()), n + len(rows)
    return families.rate(bad, n, "K = 1.2 m_k: the condition K <= m_k cannot be dropped")


def without_slack(table: Table) -> Estimate:
    """Share of draws with a token above the limit law, T2'' with its finite-d terms left out."""
    bad = n = 0
    for at, _, rows in shares(table, "quadrature"):
        model, masked = setting(table, at), at["model.operator"] == "masked"
        law = limit.softmax_error(model, at["model.strength"], masked=masked) / model.sigma
        worst = rows["worst.cluster"][:, : model.clusters]
        bad, n = bad + int((worst > law).any(axis=1).sum()), n + len(rows)
    return families.rate(bad, n, "the limit law is no bound at finite d")


def above_limit(table: Table) -> Estimate:
    """Smallest certificate over limit law at 300 random models; needs no draws."""
    generator = np.random.default_rng(7)
    lowest, where = np.inf, ""
    for number in range(300):
        model, lam, masked = random_model(generator)
        found = certificates.softmax(
            model, lam, float(generator.uniform(0.01, 0.99)), masked=masked
        )
        law = limit.softmax_error(model, lam, masked=masked)
        ratio = float((np.minimum(found.triangle, found.quadrature) / law).min())
        if ratio < lowest:
            lowest, where = ratio, f"model {number}"
    return Estimate(lowest, None, 300, f"closest at {where}; no sampling of tokens")


def random_model(generator: np.random.Generator) -> tuple[Setting, float, bool]:
    """A cluster model drawn at random: sizes, angles, noise, dimension, logit scale, mask."""
    C = int(generator.integers(1, 6))
    points = generator.standard_normal((C, C + 2)) + generator.uniform(0, 3)
    sizes = generator.integers(1, 40, C).astype(float)
    sizes[0] = max(sizes[0], 2)
    sigma = float(np.exp(generator.uniform(np.log(0.05), np.log(2))))
    dimension = float(np.round(np.exp(generator.uniform(np.log(C + 2), np.log(1e6)))))
    lam = float(np.exp(generator.uniform(np.log(0.05), np.log(80))))
    return Setting.from_points(points, sizes, sigma, dimension), lam, bool(generator.integers(2))


CLAIMS = (
    Claim(
        "guarantees.neighbours",
        "T1': with probability 0.95 every token and every K up to m_k obey its bound.",
        "share of draws with a violation",
        violated("neighbours"),
        AtMost(DELTA),
        "limelight, repairing xu2022, Theorem 1",
    ),
    Claim(
        "guarantees.neighbours_beyond",
        "Just outside, K one fifth above m_k, T1's bound fails.",
        "share of draws with a violation there",
        beyond,
        AtLeast(0.95),
        "limelight, repairing xu2022, Theorem 1",
    ),
    Claim(
        "guarantees.triangle",
        "T2': with probability 0.95 every token obeys its bound.",
        "share of draws with a violation",
        violated("triangle"),
        AtMost(DELTA),
        "limelight, repairing xu2022, Theorem 2",
    ),
    Claim(
        "guarantees.quadrature",
        "T2'': with probability 0.95 every token obeys its bound.",
        "share of draws with a violation",
        violated("quadrature"),
        AtMost(DELTA),
        "limelight, repairing xu2022, Theorem 2",
    ),
    Claim(
        "guarantees.without_slack",
        "Just outside, with the terms of finite d left out, T2'' fails.",
        "share of draws with a violation there",
        without_slack,
        AtLeast(0.95),
        "limelight, repairing xu2022, Theorem 2",
    ),
    Claim(
        "guarantees.order",
        "T2' and T2'' are never below the limit law.",
        "smallest certificate over limit law, 300 random models",
        above_limit,
        AtLeast(1.0),
        "limelight, repairing xu2022, Theorem 2",
    ),
)


# --- picture ----------------------------------------------------------------------------------


def draw(table: Table):
    """The distribution of worst error over bound, one line a setting and certificate."""
    forms = (("neighbours", "T1′"), ("triangle", "T2′"), ("quadrature", "T2″"))
    lines = [
        (name, i, at, share)
        for i, (form, name) in enumerate(forms)
        for at, share, _ in shares(table, form)
    ]
    figure = new_figure(5.2, 1.3 + 0.21 * len(lines))
    axes = figure.axes[0]
    open_frame(axes)
    label(axes, "worst error / certified bound, over draws", "")
    names = []
    for y, (name, i, at, share) in enumerate(lines[::-1]):
        low, middle, high = np.quantile(share, [0.005, 0.5, 0.995])
        axes.plot([low, high], [y, y], color=COLOURS[i], linewidth=2.2, solid_capstyle="butt")
        axes.plot([middle], [y], marker="|", color="white", markersize=5)
        axes.plot([share.max()], [y], marker="o", color=COLOURS[i], markersize=3.2)
        names.append(f"{name}  {_describe(at)}")
    axes.axvline(1.0, color=MUTED, linewidth=1.0)
    axes.set_yticks(range(len(names)), names, fontsize=TICK - 0.7)
    axes.set_xlim(0, 1.08)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.grid(axis="y", visible=False)
    handles = [
        axes.plot([], [], color=COLOURS[i], linewidth=2.2, label=name)[0]
        for i, (_, name) in enumerate(forms)
    ]
    handles += axes.plot(
        [], [], marker="o", color=MUTED, linestyle="none", markersize=3.2, label="largest"
    )
    legend_above(axes, handles, room=3.4)
    caption(
        figure,
        *facts(table, "$\\delta$ = 0.05"),
        "bar: 99 % of draws, gap: median; a violation lies right of 1",
    )
    return figure


def _describe(at) -> str:
    sizes = at["world.sizes"]
    many = f"{at['world.clusters']} x {at['world.size']}" if sizes == "equal" else sizes
    extra = f", cosine {at['world.cosine']:g}" if at["world.cosine"] else ""
    extra += ", masked" if at["model.operator"] == "masked" else ""
    knn = at["model.operator"].startswith("knn")
    last = "all K" if knn else f"$\\lambda$ {at['model.strength']:g}"
    return f"{many}, $\\sigma$ {at['world.sigma']:g}, d {at['world.dimension']}, {last}{extra}"


def summary(table: Table) -> list[str]:
    """Violations and the largest share of each bound that was used."""
    lines = []
    for form in ("neighbours", "triangle", "quadrature"):
        for at, share, _ in shares(table, form):
            text = _describe(at).replace("$\\lambda$", "lambda").replace("$\\sigma$", "sigma")
            lines.append(
                f"{form}, {text}: {int((share > 1).sum())} of {len(share)} violate,"
                f" largest error / bound {share.max():.3f}"
            )
    return lines


figure = Figure(
    name="guarantees",
    title="certificates against draws",
    statement="(none: these statements replace the paper's)",
    setups={
        "smoke": setup(SMOKE, 120),
        "small": setup(SMALL, 1000),
        "paper": setup(SMALL, 10_000),
    },
    claims=CLAIMS,
    draws={"guarantees": draw},
    summary=summary,
    reference="Theorems 1 and 2, repaired",
    departures="the certificates are ours; proofs in docs/proofs/xu2022.md",
)
