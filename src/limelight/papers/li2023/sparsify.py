r"""Figures 5 and 8: what removing tokens does, by which tokens go.

A token is noisy with probability 0.3 and then has noise $c_{big}$. Cells share their trials'
randomness, so policies and numbers of kept tokens are compared by paired differences. A budget of
70 steps leaves the whole-token model unfinished (faster learning can show); 1,000 steps and a grid
of examples show whether fewer examples suffice.
"""

import numpy as np

from limelight.claims import AtMost, Claim, Estimate, Inside
from limelight.experiments import Screened
from limelight.fit import estimates
from limelight.measures import Accuracy, FreshLoss, KeptTokens
from limelight.models import Shallow
from limelight.papers.base import Setup
from limelight.papers.li2023.boundary import DRAWS, LOOSE, STRICT, boundary, setting
from limelight.papers.li2023.quotients import Quotients, quotients, single
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import POLICIES, Patterns, Sparse

WHOLE, FEW = 50, 35
CUT = ("world.policy", "world.kept")
LOUD = "world.inner.loud_noise"
POINT = ("world.inner.relevant", "world.inner.confusing", "model.key_error")
MAIN, RECALLED = (0.4, 0.1, 0.2), (0.6, 0.04, 0.5)
NAMES = {
    "random": "random",
    "drop_irrelevant": "irrelevant removed",
    "drop_noisy": "noisy removed",
    "attention": "least attended removed",
}


def study(scale: str, steps: int, *, dimension: int = 10, patterns: int = 5, examples: int = 80):
    """One trial; the policy is a number, so that one program serves all of them."""
    width, test = {"smoke": (20, 40), "small": (100, 100)}.get(scale, (1000, 200))
    inner = Patterns(
        tokens=WHOLE,
        relevant=MAIN[0],
        confusing=MAIN[1],
        patterns=patterns,
        dimension=dimension,
        noise=0.01,
        noisy_share=0.3,
        loud_noise=0.5,
    )
    return Screened(
        world=Sparse(inner, policy=0, kept=WHOLE),
        model=Shallow(width=width),
        train=Train(
            steps=steps,
            batch=16,
            rate=2.0,
            examples=40 if scale == "smoke" else examples,
            every=10 if steps < 100 else 20 if steps < 4000 else 100,
        ),
        measures=(FreshLoss(test), Accuracy(test), KeptTokens(test)),
    )


def cuts(kept, policies=POLICIES) -> list[tuple[int, int]]:
    """The whole example once, then every policy with every smaller number of kept tokens."""
    codes = [POLICIES.index(name) for name in policies]
    return [(0, WHOLE)] + [(code, k) for code in codes for k in kept if k != WHOLE]


def common(experiment: Screened, axes: dict, trials: int) -> Setup:
    """All cells share their trials' randomness."""
    names = [name for paths in axes for name in ((paths,) if isinstance(paths, str) else paths)]
    return Setup(experiment, axes, trials, shared=tuple(names))


# --- what is read off a table -----------------------------------------------------------------


def cell(table: Table, policy: str, kept: int, **where) -> Table:
    """The rows of one policy and number of kept tokens, in order of trial."""
    code = 0 if kept == WHOLE else POLICIES.index(policy)
    rows = table.where(world__policy=code, world__kept=kept)
    for name, value in where.items():
        column = name.replace("__", ".")
        found = rows[column] if column in rows.columns else setting(table, column)
        rows = rows.rows(np.broadcast_to(found == value, len(rows)))
    return rows.rows(np.argsort(rows["trial"]))


def at_point(point: tuple[float, float, float]) -> dict[str, float]:
    """A setting as arguments of `cell`."""
    return {name.replace(".", "__"): value for name, value in zip(POINT, point, strict=True)}


def change(policy: str, relative: bool, kept: int = FEW, **where):
    """Paired difference of test loss to the whole example, over its loss if `relative`."""

    def estimate(table: Table) -> Estimate:
        few, whole = (cell(table, policy, k, **where) for k in (kept, WHOLE))
        if not len(few) or not len(whole):
            return Estimate(np.nan, None, 0, "not in this table")
        pairs = np.stack([few["test_loss"], whole["test_loss"]], axis=1).astype(float)
        statistic = lambda m: (m[..., 0] - m[..., 1]) / (m[..., 1] if relative else 1.0)
        note = f"test loss {pairs[:, 1].mean():.4f} whole, {pairs[:, 0].mean():.4f} with {kept}"
        return estimates.of_means(pairs, statistic, level=0.9, draws=DRAWS, least=1, note=note)

    return estimate


def sample_ratio(table: Table, policy: str, level: float) -> Quotients:
    """N50 with few tokens kept over N50 with all."""
    codes = (0, POLICIES.index(policy))
    rows = table.rows(np.isin(table["world.policy"], codes))
    kept = rows["world.kept"]
    rows = rows.rows((kept == WHOLE) | ((kept == FEW) & (rows["world.policy"] == codes[1])))
    alone = {name: column for name, column in rows.columns.items() if name != "world.policy"}
    axes = tuple(name for name in rows.axes if name != "world.policy")
    return quotients(boundary(Table(alone, axes, rows.manifest), level), "world.kept", FEW, WHOLE)


def saving(policy: str, level: float):
    """The ratio as an estimate."""
    return lambda table: single(sample_ratio(table, policy, level))


# --- claims -----------------------------------------------------------------------------------


def loss_claims(prefix: str, suffix: str, told: str, **where) -> tuple[Claim, ...]:
    """The three curves of Figure 5, and removal by attention."""
    to = f"test loss with {FEW} of {WHOLE} tokens minus whole"
    return (
        Claim(
            f"{prefix}.random{suffix}",
            f"Removing tokens at random neither lowers the loss nor raises it ({told}).",
            f"{to}, relative to whole",
            change("random", True, **where),
            Inside(-0.25, 0.25),
            f"li2023, Figure {prefix}",
        ),
        *(
            Claim(
                f"{prefix}.{name}{suffix}",
                f"Removing {words} tokens lowers the loss ({told}).",
                f"{to}, paired",
                change(policy, False, **where),
                AtMost(0.0),
                source,
            )
            for name, words, policy, source in (
                ("irrelevant", "label-irrelevant", "drop_irrelevant", f"li2023, Figure {prefix}"),
                ("noisy", "noisy", "drop_noisy", f"li2023, Figure {prefix}"),
                ("attention", "the least attended", "attention", "limelight; Proposition 2"),
            )
        ),
    )


SAMPLE_CLAIMS = tuple(
    Claim(
        f"5.samples.{name}{suffix}",
        f"With {words} fewer examples suffice.",
        f"N50 with {FEW} of {WHOLE} tokens over N50 with all, test loss below {level:g}",
        saving(policy, level),
        AtMost(1.0),
        "li2023, Remark 2; the test is ours",
    )
    for name, words, policy in (
        ("random", "tokens removed at random", "random"),
        ("irrelevant", "label-irrelevant tokens removed", "drop_irrelevant"),
        ("noisy", "noisy tokens removed", "drop_noisy"),
        ("attention", "the least attended tokens removed", "attention"),
    )
    for suffix, level in (("", STRICT), (".loose", LOOSE))
)
