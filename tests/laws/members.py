"""The members of every shelf, found by themselves, and examples of each to hold the laws on.

A class stands on a shelf if it is exported and keeps the shelf's contract. It is then under the
laws; a member without an example below is a failure.
"""

import inspect
from types import ModuleType
from typing import Any

from limelight import experiments, measures, models, worlds
from limelight._core.kinds import kind_of
from limelight.experiments import Experiment
from limelight.models.base import Recipe
from limelight.worlds import (
    Arrangements,
    Box,
    Clusters,
    Composites,
    FourClasses,
    GaussianPatches,
    Images,
    Pairs,
    Patterns,
    PatternSets,
    Prompts,
    Regions,
    Rows,
    Selections,
    Sparse,
    SparseBoolean,
    Spatial,
    Sphere,
)
from limelight.worlds.base import World

WORLDS = {
    "patterns": Patterns(tokens=16),
    "patterns, noisy": Patterns(tokens=16, noise=0.05),
    "patterns, loud": Patterns(tokens=16, noise=0.01, noisy_share=0.3),
    "patterns, fixed coin": Patterns(tokens=16, positions="fixed", labels="coin"),
    "patterns, no confusion": Patterns(tokens=16, confusing=0.0),
    "pattern sets": PatternSets(Patterns(tokens=16, dimension=20)),
    "four classes": FourClasses(tokens=16, noise=0.05),
    "sparse": Sparse(Patterns(tokens=16), "drop_irrelevant", 9),
    "images": Images(patch=2),
    "images, shuffled": Images(patch=4, cell=4, noise=0.5, noisy_share=0.3, augment="crop"),
    "images, held out": Images(part="test"),
    "composites": Composites(relevant=0.8),
    "composites, spurious": Composites(only=(3, 8), spurious=0.9, augment="flip"),
    "boolean and": SparseBoolean(length=12, sparsity=3),
    "boolean placed": SparseBoolean(length=12, sparsity=2, positions=(3, 7)),
    "boolean majority": SparseBoolean(length=9, sparsity=5, rule="majority", label_noise=0.1),
    "spatial grid": Spatial(tokens=16, dimension=5, density=0.5, partition="grid"),
    "spatial random": Spatial(tokens=12, size=3, dimension=5, variance=0.1),
    "gaussian tied": GaussianPatches(),
    "gaussian untied": GaussianPatches(kernel="untied", partition="strided"),
    "clusters": Clusters(clusters=3, size=4, dimension=16),
    "clusters, reduced": Clusters(clusters=3, size=4, dimension=100_000),
    "pairs": Pairs(clusters=3, size=4, dimension=1000),
    "prompts": Prompts(examples=6),
    "prompts, shifted": Prompts(3, 2, noise=0.5, response="cube", shift="orthogonal"),
    "arrangements": Arrangements("pair", level=3.0),
    "selections": Selections(tokens=4, dimension=3, most_tokens=5),
    "selections, levels": Selections("levels", tokens=4, dimension=3),
    "selections, mixed": Selections("mixed", tokens=4, dimension=3),
    "regions": Regions(side=4, clusters=2, dimension=32),
    "sphere": Sphere(6, 100_000),
    "sphere, one side": Sphere(6, 3, 3, start="hemisphere"),
    "box": Box(6, 2),
    "rows": Rows(6, 3),
}
MODELS = {
    "selector": (Selections("mixed", tokens=4, dimension=3), models.TokenSelector()),
    "selector, separate": (Selections(tokens=4, dimension=3), models.TokenSelector("separate")),
    "tokens": (Patterns(tokens=16, noise=0.05), models.Shallow(width=6)),
    "groups": (Patterns(tokens=16), models.Shallow(width=6, groups=True)),
    "heads and skip": (
        Patterns(tokens=16),
        models.Extended(models.Shallow(width=6), heads=2, skip=True),
    ),
    "two outputs": (
        FourClasses(tokens=16),
        models.FourWay(models.Shallow(width=6), separate=True),
    ),
    "scaled start": (
        Patterns(tokens=16),
        models.Shallow(width=6, start="scale", readout="shared"),
    ),
    "sequence": (
        SparseBoolean(length=6, sparsity=2),
        models.Sequence(width=8, heads=2, hidden=4),
    ),
    "vision": (Patterns(tokens=16), models.Vision(width=8, depth=2, heads=2, pool="class")),
    "positional": (
        Patterns(tokens=16),
        models.Vision(width=8, attention="positional", outputs=3),
    ),
    "model (T)": (Spatial(tokens=16, dimension=5), models.Positional()),
    "model (T), idealized": (
        Spatial(tokens=16, dimension=5),
        models.Positional(start="idealized"),
    ),
    "model (T), Gram": (GaussianPatches(), models.Positional(gram=True, logit_scale=0.25)),
    "convolutional": (
        Images(patch=2),
        models.Convolutional(widths=(4, 6), strides=(1, 2), norm="group"),
    ),
    "residual": (Composites(), models.Convolutional(widths=(4, 8), strides=(1, 2), blocks=1)),
    "constructed": (SparseBoolean(length=6, sparsity=2), models.Constructed(mapping="bag")),
    "linear attention, merged": (Prompts(examples=6), models.LinearAttention("merged")),
    "linear attention": (Prompts(examples=6), models.LinearAttention(rank=2)),
    "linear attention, as written": (Prompts(examples=6), models.LinearAttention("full")),
    "sphere attention": (Sphere(6, 3, 3), models.SphereAttention(4.0, layers=2)),
    "rescaled attention": (Box(6, 2), models.RescaledAttention("coupled")),
    "attention stack": (Rows(6, 3), models.AttentionStack(layers=2, heads=2, mlp=True)),
    "softmax smoother": (Clusters(clusters=3, size=4, dimension=16), models.Smoother()),
    "nearest neighbours": (
        Clusters(clusters=3, size=4, dimension=16),
        models.Smoother(operator="knn-l2", neighbours=3),
    ),
}
#: What a measure is read off in the laws: a world and a recipe of `MODELS`, or a pair of its own.
SHALLOW, SMOOTHER = MODELS["groups"], MODELS["softmax smoother"]
READ = {
    **dict.fromkeys(
        (
            "Accuracy",
            "AttentionMass",
            "FeatureNorms",
            "FeatureTurns",
            "FreshLoss",
            "Invariants",
            "KeptTokens",
            "LuckyNeurons",
            "Margins",
            "OutputProjections",
            "OwnAttention",
            "RoleMass",
            "ValueParts",
            "ValuePull",
            "accuracy",
            "fresh_loss",
        ),
        SHALLOW,
    ),
    **dict.fromkeys(
        (
            "NoiseLeft",
            "NoiseParts",
            "NoisePath",
            "NoiseProducts",
            "Purity",
            "WorstErrors",
            "noise_left",
            "noise_parts",
            "noise_path",
            "noise_products",
            "purity",
            "worst_errors",
        ),
        SMOOTHER,
    ),
    "GroupGrowth": (FourClasses(tokens=16), models.FourWay(models.Shallow(width=6))),
    "LuckyGates": (Patterns(tokens=8), models.Extended(models.Shallow(width=6), heads=2)),
    "SetGrowth": (PatternSets(Patterns(tokens=16, dimension=20)), models.Shallow(width=6)),
    "CrossErrors": (Pairs(clusters=3, size=4, dimension=1000), models.Smoother()),
    **dict.fromkeys(
        ("DomainAccuracy", "domain_accuracy"),
        (Regions(side=4, clusters=2, dimension=32), models.Smoother()),
    ),
    "FilterErrors": (Regions(side=4, clusters=2, dimension=32), models.Smoother()),
    "cross_errors": (Pairs(clusters=3, size=4, dimension=1000), models.Smoother()),
    "filter_errors": (Regions(side=4, clusters=2, dimension=32), models.Smoother()),
}
#: Recipes that need a file: they are held to the laws in the tests of their own module.
FROM_FILES = {"Loaded"}

STARTS = {
    f"starts.{which}.course.{name}": value
    for which in ("wide", "narrow")
    for name, value in (("steps", 4), ("warmup", 1))
}
#: Experiments as small as they go: a figure's smoke scale, and what is made smaller still.
EXPERIMENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Study": ("li2023", "fig1a", {"train.steps": 40, "model.width": 8}),
    "Passage": ("li2023", "fig2", {"model.width": 8}),
    "Screened": ("li2023", "fig5", {"train.steps": 40, "model.width": 8}),
    "Finetune": ("li2023", "fig6c", {"course.steps": 4, "course.warmup": 1, "looked": 20} | STARTS),
    "Pretraining": ("li2023", "fig6-starts", STARTS),
    "SparseAnd": ("edelman2022", "fig2", {"iterations": 20, "holdout": 200, "first": 100}),
    "Parity": ("edelman2022", "fig3", {"iterations": 20, "test": 256}),
    "Representable": ("edelman2022", "capacity", {"train.steps": 10, "test": 100}),
    "Denoising": ("xu2022", "trained", {"steps": 10, "images": 16}),
    "Tolerance": ("xu2022", "networks", {"study.course.steps": 6, "study.watched": 5}),
    "StudentMatrices": ("jelassi2022", "fig2-matrices", {}),
    "Students": ("jelassi2022", "fig2", {}),
    "Recovery": ("jelassi2022", "fig4", {"descent.steps": 20, "frames": (0, 2), "examples": 400}),
    "Transfer": (
        "jelassi2022",
        "transfer",
        {"descent.steps": 20, "tuning.steps": 20, "tests": 400},
    ),
    "Idealized": ("jelassi2022", "idealized", {}),
    "SingleRate": ("jelassi2022", "single-rate", {}),
    "LinearRules": ("jelassi2022", "linear", {}),
    "Sketch": ("jelassi2022", "fig3", {}),
    "SetShift": ("jelassi2022", "shift", {}),
    "Encodings": ("jelassi2022", "fig1a", {"study.course.steps": 5, "study.watched": 5}),
    "PromptFlow": ("zhang2024", "drop", {}),
    "PromptErrors": ("zhang2024", "shift", {"prompts": 100}),
    "PromptDescent": ("zhang2024", "samples", {"steps": 5}),
    "AngleFlow": ("geshkovski2023", "reduction", {}),
    "ClusterFlow": ("geshkovski2023", "phase", {}),
    "TokenGeometry": ("geshkovski2023", "geometry", {"world.tokens": 4, "looks": 2}),
    "RankCollapse": ("geshkovski2023", "collapse", {}),
    "BoundAscent": ("geshkovski2023", "ascent", {}),
    "Oversmoothing": ("geshkovski2023", "oversmoothing", {"study.course.steps": 5}),
    "TokenSelection": ("tarzanagh2023", "directions", {}),
    "TokenBasins": ("tarzanagh2023", "basins", {}),
    "SelectionPath": ("tarzanagh2023", "path", {}),
    "JointSelection": ("tarzanagh2023", "joint", {}),
    "MixedSelection": ("tarzanagh2023", "heads", {}),
    "MarginRanks": ("tarzanagh2023", "ranks", {"samples": 2, "world.dimension": 3}),
    "Classify": ("jelassi2022", "fig7-digits", {"course.steps": 5, "watched": 5}),
}


def members(shelf: ModuleType, contract: type) -> dict[str, type]:
    """The final classes that a shelf exports and that keep its contract."""
    return {
        name: item
        for name in shelf.__all__
        if inspect.isclass(item := getattr(shelf, name))
        and issubclass(item, contract)
        and not inspect.isabstract(item)
    }


def world_members() -> dict[str, type]:
    """Every world."""
    return members(worlds, World)


def recipe_members() -> dict[str, type]:
    """Every recipe of a model that needs no file."""
    return {n: c for n, c in members(models, Recipe).items() if n not in FROM_FILES}


def experiment_members() -> dict[str, type]:
    """Every experiment."""
    return members(experiments, Experiment)


def measure_members() -> dict[str, Any]:
    """Everything on the shelf of measures that a study could be given, ready to be called."""
    found = {}
    for name in measures.__all__:
        item = getattr(measures, name)
        if inspect.isclass(item):
            if not inspect.isabstract(item) and kind_of(item) is not None:
                found[name] = item()
        elif kind_of(item if inspect.isfunction(item) else type(item)) is not None:
            found[name] = item
    return found
