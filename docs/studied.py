"""Draw one example of every world and the start of every model, for pages of all kinds.

    python docs/studied.py            all of them
    python docs/studied.py Patterns   some of them

The pictures lie beside the papers in the library, since `limelight report` and `limelight site`
show them too; what each shows stands in `pictures.json`.
"""

import io
import json
import sys
from collections.abc import Iterator

import jax
import jax.random as jr
from PIL import Image

from limelight import models, worlds
from limelight._core.kinds import kind_of
from limelight._core.maths import in_text
from limelight.papers._studied import FOLDER
from limelight.plot import Picture, example, parts
from limelight.plot.examples import summary
from limelight.plot.files import render

PATTERNS = worlds.Patterns(tokens=20, relevant=0.4, confusing=0.2, noise=0.05)
BITS = worlds.SparseBoolean(length=16, sparsity=3)
SPATIAL = worlds.Spatial(tokens=16, size=4, dimension=8, density=0.4, partition="grid")
CLUSTERS = worlds.Clusters(clusters=4, size=12, dimension=64, sigma=0.7)
PROMPTS = worlds.Prompts(examples=12)
CHOICES = worlds.Selections(tokens=8, dimension=6)
WORLDS = [
    PATTERNS,
    worlds.PatternSets(worlds.Patterns(tokens=20, dimension=20)),
    worlds.FourClasses(tokens=20, noise=0.05),
    worlds.Sparse(PATTERNS, "drop_irrelevant", 12),
    worlds.Composites(relevant=0.8),
    worlds.Images(patch=2),
    BITS,
    SPATIAL,
    worlds.GaussianPatches(),
    CLUSTERS,
    worlds.Pairs(clusters=4, size=12, dimension=64, sigma_source=0.7, sigma_target=0.7),
    worlds.Regions(side=5, clusters=3, dimension=64),
    PROMPTS,
    CHOICES,
    worlds.Arrangements("uneven"),
    worlds.Sphere(24, 3, 3),
    worlds.Box(24, 2),
    worlds.Rows(12, 8),
]
MODELS = [
    (PATTERNS, models.Shallow(width=12)),
    (PATTERNS, models.Extended(models.Shallow(width=12), heads=2, skip=True)),
    (worlds.FourClasses(tokens=20), models.FourWay(models.Shallow(width=12), separate=True)),
    (PATTERNS, models.Vision(width=16, depth=1, heads=2)),
    (worlds.Images(patch=2), models.Convolutional(widths=(4, 6), strides=(1, 2))),
    (BITS, models.Sequence(width=16, heads=1, hidden=8)),
    (BITS, models.Constructed(mapping="bag")),
    (SPATIAL, models.Positional()),
    (CLUSTERS, models.Smoother()),
    (PROMPTS, models.LinearAttention(rank=2)),
    (CHOICES, models.TokenSelector("separate")),
    (worlds.Sphere(24, 3, 3), models.SphereAttention(4.0)),
    (worlds.Box(24, 2), models.RescaledAttention("coupled")),
    (worlds.Rows(12, 8), models.AttentionStack(layers=2, heads=2, mlp=True)),
]


def drawn(wanted: list[str]) -> Iterator[tuple[str, Picture]]:
    """Kind and picture of every world and of every model at its start."""
    for world in WORLDS:
        if not wanted or type(world).__name__ in wanted:
            yield kind_of(type(world)) or "", example(world)
    for world, recipe in MODELS:
        name = type(recipe).__name__
        if not wanted or name in wanted:
            k_truth, k_init = jr.split(jr.key(0))
            start = jax.jit(lambda key, w=world, r=recipe, k=k_truth: r.init(key, w, w.draw(k)))
            model = start(k_init)
            yield (
                kind_of(type(recipe)) or "",
                parts(model).titled(f"{name} at its start", summary(model)),
            )


def main(wanted: list[str]) -> None:
    """Write pictures of few colours, and their words."""
    FOLDER.mkdir(exist_ok=True)
    listed = FOLDER / "pictures.json"
    words = json.loads(listed.read_text()) if listed.exists() else {}
    for kind, picture in drawn(wanted):
        image = Image.open(io.BytesIO(render(picture, dots_per_inch=200)))
        few = image.convert("RGB").quantize(64, method=Image.Quantize.MEDIANCUT)
        few.save(FOLDER / f"{kind}.png", dpi=(200, 200), optimize=True)
        words[kind] = f"{in_text(picture.title)}. {in_text(picture.subtitle)}."
        print(kind)
    listed.write_text(json.dumps(words, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
