r"""Transfer, decided: what attention of the source task saves, and what scratch needs."""

from typing import NamedTuple

import numpy as np

from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.fit import curves
from limelight.fit.curves import slopes
from limelight.fit.estimates import LEAST, MEDIAN_DRAWS, highest, mean, median
from limelight.papers.jelassi2022.reading import fact
from limelight.table import Table

TOKENS, EXAMPLES, SOURCE = "world.tokens", "examples", "source"
#: Marks of an image outside the signal set, about: the density times D.
MARKS = 8
#: The error at which the samples of the scratch arm are counted, and the sizes a slope needs.
LEVEL, SIZES = 0.05, 5
ARMS = {
    "finetune.end": "attention of the source",
    "wrong.end": "attention of other sets",
    "frozen.end": "attention at its start",
    "scratch.best": "from scratch, tuned",
}


def by_size(table: Table, source: str = "idealized"):
    """Rows of every size D."""
    for at, rows in table.where(source=source).cells(TOKENS):
        yield int(at[TOKENS]), rows


def with_few(table: Table, column: str, source: str, examples: int = 8):
    """One column at a sample size, by D."""
    for D, rows in by_size(table, source):
        part = rows.where(examples=examples)
        if len(part):
            yield f"D = {D}", part[column].astype(float)


def eight_suffice(table: Table, source: str) -> Estimate:
    """Median error of fine-tuning with 8 images, the worst size."""
    return highest((name, median(v)) for name, v in with_few(table, "finetune.end", source))


def against(table: Table, other: str) -> Estimate:
    """Fine-tuning with 8 images minus another arm with 8, seed by seed, the worst size."""
    pairs = zip(
        with_few(table, "finetune.end", "idealized"),
        with_few(table, other, "idealized"),
        strict=True,
    )
    return highest((name, mean(ours - theirs)) for (name, ours), (_, theirs) in pairs)


def against_scratch(table: Table) -> Estimate:
    """Fine-tuning with 8 images minus scratch with 2048, seed by seed, D = 36."""
    for D, rows in by_size(table):
        few, many = rows.where(examples=8), rows.where(examples=2048)
        if D == 36 and len(few) and len(many):
            return mean(few["finetune.end"] - many["scratch.best"])
    return Estimate(np.nan, None, 0, "not in this table")


# --- what scratch needs -----------------------------------------------------------------------


class Needed(NamedTuple):
    """Images that the scratch arm needs at one size.

    Args:
        patches: The size, D.
        images: From the median curve.
        draws: From the median curves of bootstrapped seeds.
        side: `>=` where no sample reaches the level and the largest stands for it, `<=` where the
            smallest one does, nothing in between.
    """

    patches: int
    images: float
    draws: np.ndarray
    side: str


def curve(rows: Table) -> tuple[np.ndarray, np.ndarray]:
    """Sample sizes, and the tuned scratch error of every seed at each: seeds by sizes."""
    N = np.unique(rows[EXAMPLES])
    return N, np.stack([rows.where(examples=n)["scratch.best"] for n in N], axis=1).astype(float)


def crossing(N: np.ndarray, errors: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """The sample size at which an error, one curve a row, first is at the level."""
    return curves.crossing(N, errors, level, falling=True, edges=True, log=True)


def needs(table: Table, draws: int = MEDIAN_DRAWS) -> list[Needed]:
    """What every size needs; seeds of different sizes are other trials, resampled apart."""
    generator, found = np.random.default_rng(0), []
    for D, rows in by_size(table):
        N, errors = curve(rows)
        middle = np.median(errors, axis=0)
        picks = generator.integers(len(errors), size=(draws, len(errors)))
        resampled = np.stack([np.median(column[picks], axis=1) for column in errors.T], axis=1)
        side = "" if (middle <= LEVEL).any() else ">= "
        side = "<= " if middle[0] <= LEVEL else side
        found.append(Needed(D, float(crossing(N, middle[None])[0]), crossing(N, resampled), side))
    return found


def slope(table: Table) -> Estimate:
    """Slope of log N(error <= .05) on log D, with a bootstrap over seeds."""
    found = needs(table)
    if len(found) < 2:
        return Estimate(np.nan, None, 0, "one size has no slope")
    x, y = np.log([size.patches for size in found]), np.log([size.images for size in found])
    draws = np.log([size.draws for size in found])
    low, high = np.percentile(slopes(x, draws), [2.5, 97.5])
    seeds = len(curve(next(rows for _, rows in by_size(table)))[1])
    note = ", ".join(f"D = {size.patches}: {size.side}{size.images:.0f}" for size in found)
    if len(found) > 2:
        # The interval is that of seeds. Whether one power serves all sizes is another question: at
        # D = 16 the value vector alone comes near the level, and its images are few for that.
        ends = np.percentile(slopes(x[1:], draws[1:]), [2.5, 97.5])
        later = f"{slopes(x[1:], y[1:]):.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
        local = ", ".join(f"{value:.1f}" for value in np.diff(y) / np.diff(x))
        note += f"; slope without D = {found[0].patches}: {later}; between neighbours {local}"
    if len(found) < SIZES or seeds < LEAST:
        note = f"{note}; needs {SIZES} sizes, {LEAST} seeds"
        low, high = np.nan, np.nan
    return Estimate(float(slopes(x, y)), (float(low), float(high)), seeds, note)


def seen_by(table: Table, column: str, images: np.ndarray) -> np.ndarray:
    """Sample sizes at which an arm is read: those that keep attention still use no more images."""
    most = np.inf if column.startswith("scratch") else fact(table, "most")
    return images[images <= most]


def diverged(table: Table) -> str:
    """How many trials of each arm ended early, in words."""
    arms = [column.split(".")[0] for column in ARMS]
    return "diverged: " + ", ".join(f"{arm} {int(table[f'{arm}.diverged'].sum())}" for arm in arms)


def rule_of(table: Table) -> str:
    """How steps were chosen, and the ratio of the rates from scratch."""
    modes = f"steps {fact(table, 'descent.mode')}, v alone {fact(table, 'tuning.mode')}"
    # Samples that are separated have hardly a slope left, and ratios of nothing.
    most = table[EXAMPLES].max()
    ratio = np.nanmedian(table.where(examples=most)["scratch.ratio"])
    return f"{modes}, rates A : v from scratch {ratio:.2g} at {most} images"


CLAIMS = (
    Claim(
        "thm5.1",
        "With transferred attention 8 images suffice.",
        "median test error of fine-tuning on 8 images, idealized attention, worst size",
        lambda table: eight_suffice(table, "idealized"),
        AtMost(0.03),
        "jelassi2022, Theorem 5.1",
    ),
    Claim(
        "thm5.1-learned",
        "The same with attention that gradient descent learned.",
        "median test error of fine-tuning on 8 images, learned attention, worst size",
        lambda table: eight_suffice(table, "learned"),
        AtMost(0.03),
        "jelassi2022, Theorem 5.1",
    ),
    Claim(
        "thm5.2-ours",
        "From scratch the images needed grow with the number of patches (our algorithm only).",
        "slope of log N(error <= 0.05) on log D of the tuned, early stopped scratch arm",
        slope,
        AtLeast(1e-6),  # above 0: no growth at all does not count
        "jelassi2022, Theorem 5.2",
    ),
    Claim(
        "transfer.few",
        "Fine-tuning on 8 images beats training from scratch on 2048.",
        "mean difference of test errors, fine-tuned on 8 minus tuned scratch on 2048, D = 36",
        against_scratch,
        AtMost(0.0),
        "jelassi2022, Section 5",
    ),
    Claim(
        "transfer.sets",
        "It is the sets that transfer: attention learned for other sets does not serve.",
        "mean difference of test errors on 8 images, attention of the source minus of other sets,"
        " worst size",
        lambda table: against(table, "wrong.end"),
        AtMost(0.0),
        "limelight",
    ),
    Claim(
        "transfer.start",
        "Attention at its start does not serve either.",
        "mean difference of test errors on 8 images, attention of the source minus at its start,"
        " worst size",
        lambda table: against(table, "frozen.end"),
        AtMost(0.0),
        "limelight",
    ),
)
