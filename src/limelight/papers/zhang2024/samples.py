r"""Training on drawn prompts, a fixed set or fresh ones, beside the flow of the population."""

import numpy as np

from limelight.claims import AtMost, Estimate, Inside, Undecided
from limelight.experiments.prompt_descent import PromptDescent
from limelight.fit import tabulate
from limelight.fit.estimates import hull, mean, median
from limelight.models.linear_attention import LinearAttention
from limelight.papers.recipe import Figure, Scale, claim, scales
from limelight.plot import TWO_COLUMNS, Axis, Guide, Panel, Picture, Points
from limelight.table import Table

RUN = ("model.form", "model.scale", "rate", "steps", "prompts", "batch", "whiten")
SEPARATE, MERGED = ("separate", 0.3, 0.25, 20_000), ("merged", 0.01, 0.05, 2_400)


def runs(sizes: tuple[int, ...], batches: tuple[int, ...]) -> list[tuple]:
    """Fixed sets of every size, one of them whitened, and fresh batches."""
    fixed = [(*SEPARATE, P, 1, False) for P in sizes]
    fixed += [(*SEPARATE, 5000, 1, True)] * (5000 in sizes)
    return fixed + [(*form, 0, B, False) for form in (SEPARATE, MERGED) for B in batches]


@claim(
    "samples.end",
    "20,000 prompts are as good as the population within 1 %.",
    AtMost(0.01),
    fixed="pilot",
)
def end(table: Table) -> Estimate:
    """Population's loss after training on a set of 20,000 over the least loss, less 1; mean."""
    return mean(table.where(prompts=20_000, whiten=False)["over"])


@claim(
    "samples.online",
    "Fresh batches of 64 keep the times of the flow within a quarter.",
    Inside(0.8, 1.25),
    fixed="pilot",
)
def online(table: Table) -> Estimate:
    """Times of drops over those of the flow, B = 64, medians over seeds; all levels and forms."""
    rows = table.where(prompts=0, batch=64)
    found = []
    for at, part in rows.cells("model.form"):
        ratios = part["time"] / part["flow.time"]
        cut = int((~np.isfinite(ratios)).any(axis=1).sum())
        if cut:
            raise Undecided(f"{cut} of {len(part)} runs did not pass every level", len(part))
        found += [
            (f"{at['model.form']}, m = {m + 1}", median(ratios[:, m]))
            for m in range(ratios.shape[1])
        ]
    listed = ", ".join(f"{name}: {estimate.value:.3g}" for name, estimate in found)
    return hull(found, 1.0, listed)


def draw(table: Table) -> Picture:
    """Loss over the size of the set, and times of descent on fresh batches against the flow."""
    fixed = table.rows((table["prompts"] > 0) & ~table["whiten"].astype(bool))
    sizes = fixed.values("prompts")
    left: list = []
    for column, label in (("over", "after training"), ("fitted", "the set's best matrix")):
        parts = [mean(np.maximum(fixed.where(prompts=P)[column], 1e-7)) for P in sizes]
        ends = np.array([part.interval for part in parts])
        shift = 1.0 if column == "over" else 1.08
        left.append(Points(label, sizes * shift, [p.value for p in parts], *ends.T))
    white = table.where(whiten=True)
    if len(white):
        found = mean(white["over"])
        low, high = found.interval or (np.nan, np.nan)
        left.append(Points("whitened over the set", [5000 * 0.92], [found.value], [low], [high]))
    right: list = []
    batches = table.where(prompts=0).values("batch")[[0, -1]]  # four kinds of marks in a panel
    for at, part in table.where(prompts=0).cells("model.form", "batch"):
        if at["batch"] not in batches:
            continue
        label = f"{at['model.form']}, $B = {at['batch']}$"
        marker = "o" if at["model.form"] == "merged" else "s"
        x, y = part["flow.time"].ravel(), part["time"].ravel()
        right.append(Points(label, x, y, size=3, opacity=0.6, marker=marker))
    span = np.array([15.0, 4000.0])
    right.append(Guide("", span, span, colour="ink"))
    return Picture(
        [
            Panel(
                "a fixed set of $P$ prompts",
                left,
                Axis("population's loss over the least, less 1", log=True),
                Axis("prompts $P$", log=True),
            ),
            Panel(
                "$B$ fresh prompts per step",
                right,
                Axis("time of a drop, descent", log=True),
                Axis("time of a drop, flow", log=True),
            ),
        ],
        width=TWO_COLUMNS,
        height=3.2,
        note="left: means and 95 % intervals; right: every drop of every seed, line: equal times",
    )


def summary(table: Table) -> list[str]:
    """Losses and times by run."""
    ratio = lambda rows: np.nanmedian(rows["time"] / rows["flow.time"])
    columns = {"over the least": lambda rows: mean(rows["over"]), "fitted": "fitted", "time": ratio}
    by = {"model.form": "form", "prompts": "P", "batch": "B", "whiten": "whitened"}
    return tabulate(table, by, columns, title="loss, and times over those of the flow")


figure = Figure(
    statement="is training on drawn prompts that of the population?",
    trial=PromptDescent(model=LinearAttention("separate", 5, 1, 0.3)),
    grid={RUN: runs((1000, 5000, 20_000, 80_000), (16, 64, 512))},
    trials=20,
    scales=scales(
        smoke=Scale(
            trials=2,
            grid={
                RUN: [
                    ("separate", 0.3, 0.25, 200, 200, 1, False),
                    ("merged", 0.01, 0.05, 200, 0, 16, False),
                ]
            },
            settings={"dimension": 3},
        ),
        small=Scale(trials=5, grid={RUN: runs((1000, 5000, 20_000), (64,))}),
    ),
    claims=(end, online),
    pictures={"samples": draw},
    summary=summary,
    reference="limelight, after the protocol of Zhang et al. (2025)",
    departures="the moments of a fixed set stand for it, which is exact; covariates are not centred"
    " and tasks not whitened unless it is said; the layer is the reduced one: its other blocks"
    " start at 0 and stay there in the population",
)
