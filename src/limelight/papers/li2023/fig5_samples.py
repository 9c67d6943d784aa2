"""Figure 5 over numbers of examples: do fewer suffice when tokens are removed?"""

from dataclasses import replace
from functools import partial

from limelight import fit, plot
from limelight.claims import AtMost, Estimate
from limelight.fit import estimates
from limelight.papers.li2023 import fig5
from limelight.papers.li2023.boundary import LEVELS, LOOSE, STRICT, at_both, n50
from limelight.papers.li2023.quotients import Quotients, quotients, single
from limelight.papers.li2023.removal import CUT, FEW, NAMES, WHOLE, cuts, small, smoke, trial
from limelight.papers.recipe import Finding, Scale, claims, scales
from limelight.table import Table
from limelight.worlds import POLICIES


def sample_ratio(table: Table, policy: str, level: float) -> Quotients:
    """N50 with few tokens kept over N50 with all."""
    kept, code = table["world.kept"], table["world.policy"]
    chosen = (kept == FEW) & (code == POLICIES.index(policy))
    rows = table.rows(((kept == WHOLE) & (code == 0)) | chosen)
    alone = {name: column for name, column in rows.columns.items() if name != "world.policy"}
    axes = tuple(name for name in rows.axes if name != "world.policy")
    return quotients(n50(Table(alone, axes, rows.manifest), level), "world.kept", FEW, WHOLE)


@claims(
    "5.samples.{name}{suffix}",
    "With {words} fewer examples suffice.",
    AtMost(1.0),
    at="li2023, Remark 2",
    cases=[
        {"name": name, "words": words, "policy": policy, **level}
        for name, words, policy in (
            ("random", "tokens removed at random", "random"),
            ("irrelevant", "label-irrelevant tokens removed", "drop_irrelevant"),
            ("noisy", "noisy tokens removed", "drop_noisy"),
            ("attention", "the least attended tokens removed", "attention"),
        )
        for level in LEVELS
    ],
)
def saving(table: Table, policy: str, level: float) -> Estimate:
    """N50 with 35 of 50 tokens over N50 with all, test loss below {level:g}."""
    return single(sample_ratio(table, policy, level))


def draw_success(table: Table, level: float) -> plot.Picture:
    """Success against examples, whole and with tokens removed by each policy."""

    def success(rows: Table) -> Estimate:
        return estimates.share(rows["test_loss"] < level, least=1)

    def line(rows: Table, name: str) -> list[plot.Series]:
        return plot.over_cells(rows, "train.examples", success, name=name) if len(rows) else []

    whole = line(table.where(world__kept=WHOLE), f"all {WHOLE} tokens")
    upwards = plot.Axis(f"share with test loss < {level:g}", limits=(-0.03, 1.03))
    panels = [
        plot.Panel(
            NAMES[name],
            [*whole, *line(table.where(world__policy=code, world__kept=FEW), f"{FEW} tokens kept")],
            y=upwards,
        )
        for code, name in enumerate(POLICIES)
    ]
    return plot.panels(
        panels, x_label="training examples $N$", log_x=True, columns=2, share=True, height=1.7
    )


def summary(table: Table) -> list[str]:
    """N50 with few tokens over N50 with all, by policy and criterion."""
    return fit.tabulate(
        [({"removed": NAMES[policy]}, policy) for policy in POLICIES],
        {"removed": ""},
        at_both(lambda policy, level: single(sample_ratio(table, policy, level))),
        title=f"N50({FEW} kept) / N50({WHOLE} kept):",
    )


figure = replace(
    fig5.figure,
    statement="sparsification reduces the sample complexity",
    # Enough examples for the boundary at the strict criterion, and steps to learn them.
    trial=trial(steps=4000, every=100),
    grid={CUT: cuts((35,)), "train.examples": [4, 8, 16, 32, 64, 128, 256, 512, 1024]},
    scales=scales(
        smoke=Scale(trials=2, grid={"train.examples": [4, 16]}, settings=smoke(steps=80)),
        small=Scale(
            trials=4, grid={"train.examples": [8, 16, 32]}, settings=small(steps=300, every=20)
        ),
    ),
    trials=50,
    claims=saving,
    pictures={
        "samples": partial(draw_success, level=STRICT),
        "loose": partial(draw_success, level=LOOSE),
    },
    findings={
        name: Finding(
            f"5.samples.attention{suffix}",
            holds="With the least attended tokens removed fewer examples suffice:"
            " {value:.2f} times as many",
            fails="With the least attended tokens removed more examples are needed:"
            " {value:.1f} times as many",
        )
        for name, suffix in (("samples", ""), ("loose", ".loose"))
    },
    summary=summary,
    reference="Figure 5 and Remark 2",
    sizes="the sizes of fig5, over numbers of examples that the paper does not sweep",
    departures=f"{fig5.DEPARTURES}; c_big is 0.5; 4,000 steps, so that training converges",
    shared=(*CUT, "train.examples"),
)
