r"""Figures 5 and 8: what removing tokens does, by which tokens go.

A token is noisy with probability 0.3 and then has noise $c_{big}$. Cells share their trials'
randomness, so policies and numbers of kept tokens are compared by paired differences.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from limelight import fit, plot
from limelight.claims import AtMost, Claim, Estimate, Inside, Undecided
from limelight.experiments import Screened
from limelight.fit import estimates
from limelight.measures import Accuracy, FreshLoss, KeptTokens
from limelight.models import Shallow
from limelight.papers.li2023.boundary import DRAWS
from limelight.papers.recipe import claim, claims
from limelight.table import Table
from limelight.train.minibatch import Train
from limelight.worlds import POLICIES, Patterns, Sparse

WHOLE, FEW = 50, 35
CUT = ("world.policy", "world.kept")
LOUD, PATTERNS = "world.inner.loud_noise", "world.inner.patterns"
POINT = ("world.inner.relevant", "world.inner.confusing", "model.key_error")
#: The setting that the claims are about: both fractions, the error of keys, the noise.
MAIN = {**dict(zip(POINT, (0.4, 0.1, 0.2), strict=True)), LOUD: 0.5}
NAMES = {
    "random": "random",
    "drop_irrelevant": "irrelevant removed",
    "drop_noisy": "noisy removed",
    "attention": "least attended removed",
}


def trial(steps: int, every: int, *, dimension: int = 10, patterns: int = 5) -> Screened:
    """One trial; the policy is a number, so that one program serves all of them."""
    inner = Patterns(
        tokens=WHOLE,
        relevant=0.4,
        confusing=0.1,
        patterns=patterns,
        dimension=dimension,
        noise=0.01,
        noisy_share=0.3,
        loud_noise=0.5,
    )
    return Screened(
        world=Sparse(inner, policy=0, kept=WHOLE),
        model=Shallow(width=1000),
        train=Train(steps=steps, batch=16, rate=2.0, examples=80, every=every),
        measures=_tested(200),
    )


def smoke(steps: int) -> dict[str, Any]:
    """Settings at smoke scale."""
    few = {"model.width": 20, "train.examples": 40, "measures": _tested(40)}
    return {**few, "train.steps": steps, "train.every": 10}


def small(steps: int, every: int) -> dict[str, Any]:
    """Settings at small scale."""
    return {
        "model.width": 100,
        "train.steps": steps,
        "train.every": every,
        "measures": _tested(100),
    }


def cuts(kept: Iterable[int]) -> list[tuple[int, int]]:
    """The whole example once, then every policy with every smaller number of kept tokens."""
    kept = list(kept)
    return [(0, WHOLE)] + [(code, k) for code in range(len(POLICIES)) for k in kept]


def _tested(examples: int) -> tuple:
    return FreshLoss(examples), Accuracy(examples), KeptTokens(examples)


def cell(table: Table, policy: str, kept: int, where: Mapping[str, Any]) -> Table:
    """The rows of one policy and number of kept tokens at a setting, in order of trial."""
    code = 0 if kept == WHOLE else POLICIES.index(policy)
    rows = table.where(world__policy=code, world__kept=kept)
    for name, value in where.items():
        found = rows[name] if name in rows.columns else table.setting(name)
        rows = rows.rows(np.broadcast_to(found == value, len(rows)))
    return rows.rows(np.argsort(rows["trial"]))


def change(
    table: Table, policy: str, where: Mapping[str, Any], kept: int = FEW, *, relative: bool = False
) -> Estimate:
    """Paired difference of test loss to the whole example, over its loss if `relative`."""
    few, whole = (cell(table, policy, k, where) for k in (kept, WHOLE))
    if not len(few) or not len(whole):
        raise Undecided("not in this table")
    pairs = np.stack([few["test_loss"], whole["test_loss"]], axis=1).astype(float)
    after, before = pairs.mean(axis=0)
    note = f"test loss {before:.4f} whole, {after:.4f} with {kept}"

    def difference(means: np.ndarray) -> np.ndarray:
        less = means[..., 0] - means[..., 1]
        return np.asarray(less / means[..., 1] if relative else less)

    return estimates.of_means(pairs, difference, draws=DRAWS, least=1, note=note)


def loss_claims(
    figure: str, suffix: str, words: str, where: Mapping[str, Any], at: str
) -> tuple[Claim, ...]:
    """What removing tokens does to the loss at one setting: at random, and by three policies."""
    statistic = f"test loss with {FEW} of {WHOLE} tokens minus whole"

    def relatively(table: Table) -> Estimate:
        return change(table, "random", where, relative=True)

    def paired(table: Table, policy: str) -> Estimate:
        return change(table, policy, where)

    random = claim(
        f"{figure}.random{suffix}",
        f"Removing tokens at random changes the loss by at most a quarter of it ({words}).",
        Inside(-0.25, 0.25),
        at=at,
        statistic=f"{statistic}, relative to whole",
    )(relatively)
    chosen = (
        ("irrelevant", "label-irrelevant", "drop_irrelevant", at),
        ("noisy", "noisy", "drop_noisy", at),
        ("attention", "the least attended", "attention", "limelight; li2023, Proposition 2"),
    )
    others = claims(
        f"{figure}.{{name}}{suffix}",
        f"Removing {{tokens}} tokens lowers the loss ({words}).",
        AtMost(0.0),
        at="{at}",
        cases=[dict(zip(("name", "tokens", "policy", "at"), case, strict=True)) for case in chosen],
        statistic=f"{statistic}, paired",
    )(paired)
    return (random, *others)


#: A setting in words, for the terminal and for a caption.
SYMBOLS = {
    "world.inner.relevant": ("alpha_*", r"$\alpha_*$"),
    "world.inner.confusing": ("alpha_#", r"$\alpha_\#$"),
    "model.key_error": ("delta", r"$\delta$"),
    LOUD: ("c_big", r"$c_{big}$"),
    PATTERNS: ("M", "$M$"),
}


def settings(table: Table) -> list[dict[str, Any]]:
    """Every setting of the table besides the cut."""
    names = [name for name in SYMBOLS if name in table.axes]
    return [at for at, _ in table.cells(*names)] if names else [{}]


def draw_loss(table: Table) -> plot.Picture:
    """Test loss against removed tokens at the setting of the claims, or the first there is."""
    known = settings(table)
    agree = [at for at in known if all(at[name] == MAIN.get(name, at[name]) for name in at)]
    return draw_loss_at(table, (agree or known)[0])


def draw_loss_at(table: Table, where: Mapping[str, Any]) -> plot.Picture:
    """Test loss against removed tokens by policy; bands are 95 % of the paired difference."""
    found = []
    for code in table.values("world.policy"):
        policy = POLICIES[int(code)]
        counts = sorted({WHOLE, *table.where(world__policy=code)["world.kept"].tolist()})
        loss = [cell(table, policy, kept, where)["test_loss"].astype(float) for kept in counts]
        if any(len(part) == 0 for part in loss):
            continue
        whole = loss[counts.index(WHOLE)]
        # Trials are common, so what compares cells is the paired difference: its interval is shown.
        ends = [fit.mean_interval(part - whole, level=0.95) for part in loss]
        low, high = whole.mean() + np.array(ends).reshape(-1, 2).T
        mean = [part.mean() for part in loss]
        removed = WHOLE - np.array(counts)
        found.append(plot.Series(NAMES[policy], removed, mean, np.maximum(low, 0), high))
    note = ", ".join(f"{SYMBOLS[name][1]} = {value:g}" for name, value in where.items())
    return plot.lines(found, x_label="removed tokens, of 50", y_label="test hinge loss", note=note)


def summary(table: Table) -> list[str]:
    """Paired differences to the whole example, every setting, policy and number of tokens."""
    names = {name: words for name, (words, _) in SYMBOLS.items() if name in table.axes}
    cells = []
    for at, rows in table.cells(*names, *CUT):
        policy, kept = POLICIES[at["world.policy"]], at["world.kept"]
        if kept != WHOLE:
            found = change(table, policy, {name: at[name] for name in names}, kept)
            cells.append(({**at, "policy": NAMES[policy]}, (rows, found)))
    mean = lambda column: lambda cell: cell[0][column].mean()
    return fit.tabulate(
        cells,
        {**names, "policy": "tokens", "world.kept": "kept"},
        {
            "test loss": mean("test_loss"),
            "whole": lambda cell: cell[0]["test_loss"].mean() - cell[1].value,
            "difference, 95 % interval": lambda cell: cell[1],
            "realised alpha_*": mean("tokens.relevant"),
            "alpha_#": mean("tokens.confusing"),
            "votes changed": mean("tokens.vote_changed"),
        },
    )
