r"""Figure 6: objects on backgrounds, where removing background patches raises $\alpha_*$.

CIFAR-10 objects of $26 \times 26$ pixels on plants of $32 \times 32$, from a ViT trained on other
classes; at smoke and small scale digits on tiles, which need no file. All cells of a figure share
their trials' randomness, so that cells are compared by paired differences.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from limelight.experiments.finetune import Finetune
from limelight.experiments.starts import Start, Starts
from limelight.fit import estimates
from limelight.models.vit import Vision
from limelight.table import Table
from limelight.train.images import ImageTraining
from limelight.worlds.composites import Composites

EXAMPLES = "course.examples"
#: Whether patches go blindly, and the fraction wanted.
CUT, RELEVANT = ("world.blind", "world.relevant"), "world.relevant"
#: Every background patch is removed.
ALL = 1.0
#: With nothing removed 0.72 of the patches are the object's.
FRACTIONS = (0.5, 0.78, 0.85, 0.92, ALL)
DEPARTURES = (
    "plants are CIFAR-100's flowers, trees, fruit and vegetables (32 x 32), not ImageNet's; patches"
    " of 4, width 128, two-layer perceptrons of 256; AdamW; no augmentation: example i is one"
    " composite; the wide start has not seen the plants' classes (85 of CIFAR-100) and has 20,000"
    " steps of 256, the narrow one 2,000; one start of each kind; zero padding is the mean colour;"
    " a patch that is half object keeps its other half; bfloat16 but for weights, norms and losses."
    " At smoke and small scale digits on tiles, starts trained on the other digits"
)

#: CIFAR-100's flowers, fruit and vegetables, and trees: coarse classes, and the fine ones in them.
PLANTS = (2, 4, 17)
PLANT_CLASSES = (0, 47, 51, 52, 53, 54, 56, 57, 59, 62, 70, 82, 83, 92, 96)
#: CIFAR-10's birds and airplanes; the first has the backgrounds.
BIRD, AIRPLANE = 2, 0
VIT = Vision(width=128, depth=5, heads=4, hidden=256)
HALF: dict[str, Any] = {"precision": "bfloat16", "numbers": "bfloat16"}


def cifar(**options) -> Finetune:
    """Objects of 26 x 26 on plants."""
    world = Composites(
        "cifar10", "cifar100", behind=PLANTS, coarse=True, size=26, canvas=32, patch=4, **options
    )
    course = ImageTraining(1000, 64, 5e-4, decay=0.05, warmup=100, clip=1.0, fresh=False, **HALF)
    return Finetune(world, cifar_starts(), course, looked=500)


def cifar_starts() -> Starts:
    """The paper's two: CIFAR-100, here without plants, and 4,000 of eight classes of CIFAR-10."""
    whole: dict[str, Any] = {
        "background": "blank",
        "size": 32,
        "canvas": 32,
        "patch": 4,
        "augment": "crop",
    }
    seen = tuple(c for c in range(100) if c not in PLANT_CLASSES)
    others = tuple(c for c in range(10) if c not in (BIRD, AIRPLANE))
    options = {"decay": 0.05, "floor": 0.01, "clip": 1.0, "smoothing": 0.1, **HALF}
    long = ImageTraining(20_000, 256, 1e-3, examples=0, warmup=1000, **options)
    short = ImageTraining(2000, 256, 1e-3, examples=4000, warmup=100, **options)
    return Starts(
        wide=Start(Composites("cifar100", only=seen, **whole), VIT, long),
        narrow=Start(Composites("cifar10", only=others, **whole), VIT, short),
    )


#: Networks for digits: one that compiles in seconds, and one that learns more.
TINY, MODEST = Vision(16, 1, 2, 32), Vision(32, 2, 4, 64)


def digits(vit: Vision, canvas: int, only: tuple[int, ...], steps: int, **options) -> Finetune:
    """Digits on tiles, from a ViT that was trained on the other digits."""
    others = tuple(c for c in range(10) if c not in only)
    course = ImageTraining(steps, 32, 3e-3, warmup=steps // 10, fresh=False)
    starts = digit_starts(vit, canvas, max(steps, 60), others)
    return Finetune(Composites(only=only, canvas=canvas, **options), starts, course, looked=60)


def digit_starts(vit: Vision, canvas: int, steps: int, only: tuple[int, ...]) -> Starts:
    """Starts trained on some digits, zeros around them; the narrow one on 100 of them."""
    world = Composites(only=only, background="blank", canvas=canvas)
    course = ImageTraining(steps, 64, 3e-3, warmup=steps // 10)
    few = ImageTraining(steps // 4, 64, 3e-3, warmup=steps // 40, examples=100)
    return Starts(wide=Start(world, vit, course), narrow=Start(world, vit, few))


#: A mean over trials with its 95 % bootstrap interval.
mean = partial(estimates.mean, method="bootstrap")


def fractions(table: Table) -> list[float]:
    """The fractions asked for, ascending; at the lowest nothing is removed."""
    return [float(value) for value in table.values(RELEVANT)]


def sizes(table: Table) -> list[float]:
    """Numbers of examples, ascending."""
    return [float(value) for value in table.values(EXAMPLES)]


def cut(table: Table, fraction: float, blind: bool = False) -> Table:
    """The rows with one fraction, background alone removed or blindly; in order of trial."""
    rows = table.rows(table[RELEVANT] == fraction)
    if "world.blind" in rows.columns:
        rows = rows.rows(rows["world.blind"].astype(bool) == blind)
    return rows.rows(np.argsort(rows["trial"], kind="stable"))


def realised(table: Table, fraction: float) -> float:
    r"""$\alpha_*$ as counted on test composites."""
    return float(cut(table, fraction)["alpha"].astype(float).mean())


def points(rows: Table) -> np.ndarray:
    """Accuracy in percent."""
    return 100 * rows["accuracy"].astype(float)


def gain(table: Table, blind: bool = False) -> np.ndarray:
    """Accuracy with all backgrounds removed less with none, points, trial by trial."""
    whole, bare = cut(table, fractions(table)[0]), cut(table, ALL, blind)
    return points(bare) - points(whole) if len(whole) == len(bare) else np.zeros(0)


def accuracies(table: Table) -> tuple[np.ndarray, np.ndarray]:
    r"""$\alpha_*$ as counted, and accuracy in percent there, background alone removed.

    Returns:
        The fractions, ascending; fractions by trials.
    """
    levels = fractions(table)
    found = [points(cut(table, fraction)) for fraction in levels]
    return np.array([realised(table, fraction) for fraction in levels]), np.stack(found)


def by_fraction(table: Table) -> dict[str, Callable[[Table], float]]:
    """Columns of a summary: accuracy at every fraction, in percent."""
    return {
        f"{realised(table, a):.2f}": lambda rows, a=a: points(cut(rows, a)).mean()
        for a in fractions(table)
    }
