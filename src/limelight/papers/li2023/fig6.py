r"""Figure 6: real images. Fewer background patches, fewer examples, fewer spurious correlations.

CIFAR-10 objects of $26 \times 26$ pixels on plants of $32 \times 32$, from a ViT trained on other
classes; at smoke and small scale digits on tiles, which need no file.
"""

from pathlib import Path

import numpy as np

from limelight import fit
from limelight.models.vit import Vision
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.composites import (
    ALL,
    ARM,
    CLAIMS,
    CUT,
    EXAMPLES,
    LEVELS,
    RELEVANT,
    SPURIOUS_CLAIMS,
    START_CLAIMS,
    arm,
    boundary,
    counted,
    cut,
    fractions,
    points,
    realised,
    sized,
    sizes,
)
from limelight.papers.li2023.fig1a import ends, facts
from limelight.plot import Series, TopAxis, caption, curves, phase_diagram
from limelight.study.course import Course
from limelight.study.finetune import Finetune
from limelight.study.starts import Pretraining, Start, Starts, save_starts
from limelight.table import Table
from limelight.worlds.composites import Composites

#: CIFAR-100's flowers, fruit and vegetables, and trees: coarse classes, and the fine ones in them.
PLANTS = (2, 4, 17)
PLANT_CLASSES = (0, 47, 51, 52, 53, 54, 56, 57, 59, 62, 70, 82, 83, 92, 96)
#: CIFAR-10's birds and airplanes; the first has the backgrounds.
BIRD, AIRPLANE = 2, 0
OTHERS = tuple(c for c in range(10) if c not in (BIRD, AIRPLANE))
NAMES = {"wide": "wide start", "narrow": "narrow start"}


# --- digits -----------------------------------------------------------------------------------


def digit_starts(vit: Vision, canvas: int, steps: int, wide, narrow) -> Starts:
    """Starts trained on some digits, zeros around them; the narrow one on 100 of them."""
    plain = lambda only: Composites(only=only, background="blank", canvas=canvas)
    course = Course(steps=steps, batch=64, rate=3e-3, warmup=steps // 10)
    few = Course(steps=steps // 4, batch=64, rate=3e-3, warmup=steps // 40, examples=100)
    return Starts(wide=Start(plain(wide), vit, course), narrow=Start(plain(narrow), vit, few))


def digits(scale: str, only: tuple[int, ...], steps: int, **options) -> Finetune:
    """Digits on tiles, from a ViT that was trained on the other digits."""
    tiny = scale == "smoke"
    vit = Vision(16, 1, 2, 32) if tiny else Vision(32, 2, 4, 64)
    others = tuple(c for c in range(10) if c not in only)
    canvas, course = 10 if tiny else 12, Course(steps, 32, 3e-3, warmup=steps // 10, fresh=False)
    starts = digit_starts(vit, canvas, 60 if tiny else 300, others, others)
    world = Composites(only=only, canvas=canvas, **options)
    return Finetune(world, starts, course, looked=20 if tiny else 60)


# --- CIFAR ------------------------------------------------------------------------------------

VIT = Vision(width=128, depth=5, heads=4, hidden=256)


def cifar_starts() -> Starts:
    """The paper's two: CIFAR-100, here without plants, and 4,000 of eight classes of CIFAR-10."""
    whole = {"background": "blank", "size": 32, "canvas": 32, "patch": 4, "augment": "crop"}
    kept = tuple(c for c in range(100) if c not in PLANT_CLASSES)
    course = lambda steps, examples: Course(
        steps,
        256,
        1e-3,
        examples=examples,
        decay=0.05,
        warmup=steps // 20,
        floor=0.01,
        clip=1.0,
        smoothing=0.1,
        numbers="bfloat16",
    )
    return Starts(
        wide=Start(Composites("cifar100", only=kept, **whole), VIT, course(8000, 0)),
        narrow=Start(Composites("cifar10", only=OTHERS, **whole), VIT, course(2000, 4000)),
    )


def cifar(steps: int, **options) -> Finetune:
    """Objects of 26 x 26 on plants."""
    world = Composites(
        "cifar10", "cifar100", behind=PLANTS, coarse=True, size=26, canvas=32, patch=4, **options
    )
    course = Course(
        steps,
        64,
        5e-4,
        decay=0.05,
        warmup=steps // 10,
        clip=1.0,
        numbers="bfloat16",
        fresh=False,
    )
    return Finetune(world, cifar_starts(), course, looked=500)


# --- recipes ----------------------------------------------------------------------------------


def removal(base: Finetune, levels, examples, trials: int) -> Setup:
    """Fractions by examples, and beside them as many patches of any kind removed."""
    cuts = [(False, a) for a in levels] + [(True, ALL)]
    shared = (*CUT, EXAMPLES)
    return Setup(base, {CUT: cuts, EXAMPLES: list(examples)}, trials, shared)


def spurious(base: Finetune, levels, trials: int) -> Setup:
    """Both starts with backgrounds that give the label away, and the wide one without."""
    arms = [("wide", 0.9), ("narrow", 0.9), ("wide", 0.5)]
    return Setup(base, {ARM: arms, RELEVANT: list(levels)}, trials, (*ARM, RELEVANT))


def training(starts: Starts, trials: int) -> Setup:
    """Both starts."""
    return Setup(Pretraining(starts), {"starts.which": ["wide", "narrow"]}, trials)


# --- pictures ---------------------------------------------------------------------------------


def draw_accuracy(table: Table):
    """Accuracy against the relevant fraction, a line for each number of examples."""
    levels = fractions(table)
    x = [realised(table, a) for a in levels]
    series = []
    for n in sizes(table):
        rows = sized(table, n)
        series.append(Series(f"N = {n:g}", x, *_band([points(cut(rows, a)) for a in levels])))
    control = [points(cut(sized(table, n), ALL, True)) for n in sizes(table)]
    figure = curves(
        series,
        x_label=r"label-relevant fraction $\alpha_*$",
        y_label="test accuracy, %",
        width=4.6,
    )
    axes = figure.axes[0]
    for n, found in zip(range(len(series)), control, strict=True):
        colour = axes.lines[n].get_color()
        axes.plot([x[0]], [found.mean()], marker="x", color=colour, linestyle="none", clip_on=False)
    note = "crosses: as many patches of any kind removed as at the right end"
    caption(figure, *facts(table), note)
    return figure


def draw_samples(table: Table):
    """Success by fraction and number of examples, with N50, at the level that shows most of it."""
    level = shown(table)
    edge = boundary(table, level)
    levels, counts = fractions(table), sizes(table)
    x = np.array([realised(table, a) for a in levels])
    rate = [[np.mean(cut(sized(table, n), a)["accuracy"] >= level) for a in levels] for n in counts]
    figure = phase_diagram(
        x**-2.0,
        counts,
        rate,
        x_label=r"$\alpha_*^{-2}$",
        y_label="training examples $N$",
        edge=Series("N50, 95 % interval", counted(table, edge) ** -2.0, *ends(edge)),
        top=TopAxis(r"$\alpha_*$", np.round(x, 2)),
        bar_label=f"share of trials with accuracy of at least {level:.1%}",
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_attention(table: Table):
    """Attention on the object before and after training, by number of examples."""
    whole = cut(table, fractions(table)[0])
    series = []
    for name, column in (("before", "mass.start"), ("after", "mass.end")):
        rows = [whole.rows(whole[EXAMPLES] == n)[column].astype(float) for n in sizes(table)]
        series.append(Series(f"{name} training", sizes(table), *_band(rows)))
    even = Series("even attention", sizes(table), [whole["alpha"].mean()] * len(sizes(table)))
    figure = curves(
        series,
        guides=[even],
        x_label="training examples $N$",
        y_label="attention mass on the object",
        log_x=True,
    )
    caption(figure, *facts(table), "nothing removed")
    return figure


def draw_spurious(table: Table):
    """Accuracy against the relevant fraction, for both starts, and without the correlation."""
    series = []
    for at, _ in table.cells(*ARM):
        rows = arm(table, at["starts.which"], at["world.spurious"])
        levels = fractions(rows)
        tied = "" if at["world.spurious"] > 0.5 else ", backgrounds half and half"
        x = [realised(rows, a) for a in levels]
        found = _band([points(cut(rows, a)) for a in levels])
        series.append(Series(NAMES[str(at["starts.which"])] + tied, x, *found))
    figure = curves(
        series,
        x_label=r"label-relevant fraction $\alpha_*$",
        y_label="test accuracy, %",
        width=4.6,
    )
    caption(figure, *facts(table), "95 % intervals of the mean")
    return figure


def draw_starts(table: Table):
    """Accuracy of both starts on the classes that they were trained on, chance beside it."""
    x = np.arange(len(table))
    series = [
        Series("test accuracy", x, 100 * table["accuracy"].astype(float)),
        Series("chance", x, 100 * table["chance"].astype(float)),
    ]
    figure = curves(series, x_label="start", y_label="%", limits=(0, 100))
    figure.axes[0].set_xticks(x, [NAMES[str(which)] for which in table["starts.which"]])
    caption(figure, *facts(table))
    return figure


def shown(table: Table) -> float:
    """The accuracy that most boundary points are resolved at; the highest of several."""
    return max(LEVELS, key=lambda level: (boundary(table, level).resolved.sum(), level))


def _band(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over trials, and their 95 % intervals where there are two trials or more."""
    middle = np.array([part.mean() for part in cells])
    if min(len(part) for part in cells) < 2:
        return middle, middle, middle
    low, high = zip(*(fit.mean_interval(part) for part in cells), strict=True)
    return middle, np.array(low, float), np.array(high, float)


# --- words ------------------------------------------------------------------------------------


def summary(table: Table) -> list[str]:
    """Accuracy of every cell, and N50 at every level."""
    lines = []
    for n in sizes(table):
        rows = sized(table, n)
        found = [
            f"{realised(table, a):.2f}: {points(cut(rows, a)).mean():.1f}" for a in fractions(table)
        ]
        control = points(cut(rows, ALL, True)).mean()
        lines.append(
            f"N {n:g}: accuracy by alpha_* {', '.join(found)} %; as many removed of any kind"
            f" {control:.1f} %"
        )
    for level in LEVELS:
        edge = boundary(table, level)
        at = counted(table, edge)
        told = [f"{a:.2f}: {found}" for a, found in zip(at, edge.thresholds, strict=True)]
        lines.append(f"N50 at accuracy {level:.1%}, by alpha_*: {'; '.join(told)}")
    return lines


def spurious_summary(table: Table) -> list[str]:
    """Accuracy by fraction, for every arm."""
    lines = []
    for at, _ in table.cells(*ARM):
        rows = arm(table, at["starts.which"], at["world.spurious"])
        found = [f"{realised(rows, a):.2f}: {points(cut(rows, a)).mean():.1f}"
                 for a in fractions(rows)]  # fmt: skip
        which, share = at["starts.which"], at["world.spurious"]
        lines.append(f"{which}, backgrounds {share:.0%} and {1 - share:.0%}: {', '.join(found)} %")
    return lines


def start_summary(table: Table) -> list[str]:
    """Accuracy of the starts."""
    columns = (table[name] for name in ("starts.which", "accuracy", "chance", "training_loss"))
    return [
        f"{which}: accuracy {found:.3f}, chance {chance:.3f}, training loss {loss:.3f}"
        for which, found, chance, loss in zip(*columns, strict=True)
    ]


def save_models(table: Table, folder: str | Path) -> list[Path]:
    """The starts of a table as safetensors, for `--set starts.folder=FOLDER`."""
    scale, settings = (table.manifest.get(name) for name in ("scale", "settings"))
    experiment = figures[-1].setup(scale or "small", settings or {}).experiment
    assert isinstance(experiment, Pretraining)
    return save_starts(table, experiment.starts, folder)


DEPARTURES = (
    "plants are CIFAR-100's flowers, trees, fruit and vegetables (32 x 32), not ImageNet's; patches"
    " of 4, width 128, two-layer perceptrons of 256; AdamW; no augmentation: example i is one"
    " composite; the wide start has not seen the plants' classes (85 of CIFAR-100) and has 8,000"
    " steps of 256, the narrow one 2,000; one start of each kind; zero padding is the mean colour;"
    " bfloat16 but for weights, norms and losses. At smoke and small scale digits on tiles, starts"
    " trained on the other digits"
)
LEVELS_OF_ALPHA = (0.5, 0.72, 0.78, 0.85, 0.92, ALL)

figures = (
    Figure(
        name="fig6",
        title="accuracy and examples needed against the fraction of object patches",
        statement="removing background patches raises accuracy and lowers the examples needed",
        setups={
            "smoke": removal(digits("smoke", (5, 6, 7, 8, 9), 30), (0.5, ALL), (40, 400), 2),
            "small": removal(
                digits("small", (5, 6, 7, 8, 9), 400),
                (0.4, 0.6, 0.75, 0.9, ALL),
                (50, 150, 400, 650),
                5,
            ),
            "paper": removal(cifar(1000), LEVELS_OF_ALPHA, (1000, 3000, 8000, 20_000, 50_000), 10),
        },
        claims=CLAIMS,
        draws={"accuracy": draw_accuracy, "samples": draw_samples, "attention": draw_attention},
        summary=summary,
        reference="Figure 6(a) and (b)",
        departures=DEPARTURES + "; 1,000 steps of 64 for every N",
    ),
    Figure(
        name="fig6c",
        title="spurious backgrounds, removed",
        statement="removing spurious backgrounds raises accuracy from both starts",
        setups={
            "smoke": spurious(digits("smoke", (3, 8), 20, spurious=0.9), (0.5, ALL), 2),
            "small": spurious(digits("small", (3, 8), 150, spurious=0.9), (0.4, 0.7, ALL), 10),
            "paper": spurious(cifar(500, only=(BIRD, AIRPLANE), spurious=0.9), LEVELS_OF_ALPHA, 10),
        },
        claims=SPURIOUS_CLAIMS,
        draws={"accuracy": draw_spurious},
        summary=spurious_summary,
        reference="Figure 6(c)",
        departures=DEPARTURES + "; 500 steps of 64; beside the paper's, a protocol of ours in which"
        " backgrounds tell nothing",
    ),
    Figure(
        name="fig6-starts",
        title="the initial models of figure 6",
        statement="a start trained on more classes and images, and one trained on fewer",
        setups={
            "smoke": training(digits("smoke", (3, 8), 20).starts, 1),
            "small": training(digits("small", (3, 8), 20).starts, 1),
            "paper": training(cifar_starts(), 1),
        },
        claims=START_CLAIMS,
        draws={"accuracy": draw_starts},
        summary=start_summary,
        reference="Figure 6, initial models",
        departures=DEPARTURES,
    ),
)
