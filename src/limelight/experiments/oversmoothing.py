r"""How alike the patches of an image are, by block, and what skips and perceptrons do to it."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from PIL import Image

from limelight._core.errors import InputError, check_least
from limelight._core.files import file_digest
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight._engine.device import LIBRARY
from limelight.experiments.base import Experiment
from limelight.experiments.classify import Classify
from limelight.measures.similarity import mean_cosine, unit
from limelight.models.layers import Block
from limelight.models.pretrained import load
from limelight.models.pretrained.pixels import SCALES
from limelight.models.vit import Vision, ViT
from limelight.worlds import example
from limelight.worlds._patches import to_patches
from limelight.worlds.sources import Fit, load_pictures

Ablation = Literal["full", "no_mlp", "no_skip", "no_attention_skip", "pure"]
ABLATIONS = get_args(Ablation)
#: What is compared, which rows count, and how a pair counts: the twelve definitions.
DEFINED = tuple(
    f"{where}.{rows}.{how}"
    for where in ("stream", "normed")
    for rows in ("patches", "class")
    for how in ("signed", "diagonal", "absolute")
)
#: Images that go through a network together.
TOGETHER = 8


@kind("experiment.oversmoothing")
class Oversmoothing(Experiment):
    r"""Mean cosines of patches entering each block, and after the last, image by image.

    The network is read from a file, or trained here on digits. Same weights, nothing retrained:
    `full`; `no_mlp`, $x + \mathrm{Att}$; `no_skip`, both sums left out; `no_attention_skip`;
    `pure`, attention alone. For the full network all twelve `DEFINED` ways of counting as well, and
    `attended`, what the attention branch adds. Leaves traces of images by depths, row by row.

    Args:
        checkpoint: A file with a ViT; empty to train one.
        source: The images that it is shown; of digits the test part.
        study: Trains one where there is no file.
        trained: Whether it is read after its training, or at its start.
        images: How many images.
        network: What the file holds, once read.
        patches: The images, once read.

    Example:
        >>> Oversmoothing(images=8).images
        8

    Reference: limelight, for Dong, Cordonnier and Loukas (2021).
    """

    checkpoint: str = eqx.field(static=True, default="")
    source: str = eqx.field(static=True, default="")
    study: Classify = Classify(vit=Vision(pool="class"))
    trained: bool = eqx.field(static=True, default=True)
    images: int = eqx.field(static=True, default=64)
    network: ViT | None = None
    patches: Float[Array | np.ndarray, "images patches numbers"] | None = None

    compiler = LIBRARY

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Load or train, then show images."""
        net, patches = self._shown(key)
        found = jax.lax.map(lambda image: alike(net, image), patches, batch_size=TOGETHER)
        return {f"trace.{name}": path.reshape(-1) for name, path in found.items()}

    def _shown(self, key: PRNGKey) -> tuple[ViT, Array]:
        """The network and the images."""
        if self.checkpoint:
            here = self if self.network is not None else self.with_room([])
            assert here.network is not None
            assert here.patches is not None
            return here.network, jnp.asarray(here.patches)
        truth, start, ended = self.study.run(key)
        (k_images,) = named(key, "images")
        world = self.study.world.held_out()
        show = lambda number: example(world, k_images, truth, number).tokens
        net = ended.model if self.trained else start
        assert isinstance(net, ViT), "checked"
        return net, jax.vmap(show)(jnp.arange(self.images))

    def files_read(self) -> dict[str, str]:
        """The checkpoint and the images, where there are any."""
        if not self.checkpoint:
            return {}
        images = load_pictures(self.source, labelled=False).digest
        return {self.checkpoint: file_digest(self.checkpoint), self.source: images}

    def with_room(self, cells: Sequence[Any]) -> "Oversmoothing":
        """With what it reads in it, so that the program takes that as an argument."""
        if not self.checkpoint:
            return dataclasses.replace(self, study=self.study.with_room([]))
        read = load(self.checkpoint)
        scale = SCALES["imagenet"]
        if read.pixels is not None:
            scale = (read.pixels.mean, read.pixels.deviation)
        shown = fitted(self.source, self.images, read.model, scale)
        return dataclasses.replace(self, network=read.model, patches=shown)

    def check(self) -> None:
        """Refuse what cannot be read or trained."""
        check_least(self, ("images",))
        if self.checkpoint and not self.source:
            raise InputError("checkpoint without images", "set source=FOLDER or source=FILE")
        if not self.checkpoint:
            self.study.check()
            if self.study.network == "cnn":
                raise InputError("study.network = cnn has no attention", "set it to vit")


def ablated(block: Block, x: Float[Array, "rows width"], places, how: Ablation):
    """The rows after a block with some of its sums and branches left out."""
    taken, _ = block.attention(block.norm_attention(x), jnp.ones(len(x), bool), places)
    x = x + taken if how in ("full", "no_mlp") else taken
    if how in ("no_mlp", "pure"):
        return x
    added = block.perceptron(x)
    return added if how == "no_skip" else x + added


def alike(net: ViT, patches: Float[Array, "patches numbers"]) -> dict[str, Array]:
    """Every similarity of one image, by depth."""
    begun, found = net.embedded(patches), {}
    for how in ABLATIONS:
        path = [begun]
        for block in net.blocks:
            path.append(ablated(block, path[-1], net.places, how))
        found[how] = jnp.stack([mean_cosine(x[net.first :]) for x in path])
        if how == "full":
            norms = [*(block.norm_attention for block in net.blocks), net.norm]
            normed = [x if norm is None else norm(x) for x, norm in zip(path, norms, strict=True)]
            branch = lambda block, x: block.attention(x, jnp.ones(len(x), bool), net.places)[0]
            attended = [branch(b, x) for b, x in zip(net.blocks, normed[:-1], strict=True)]
            found["attended"] = jnp.stack([mean_cosine(x[net.first :]) for x in attended])
            for name in DEFINED:
                rows = path if name.startswith("stream") else normed
                found[name] = jnp.stack([counted(x, net, name) for x in rows])
    return found


def counted(x: Float[Array, "rows width"], net: ViT, name: str) -> Array:
    """One of the twelve definitions."""
    _, which, how = name.split(".")
    rows = x[net.first :]
    if which == "class" and net.class_token is not None:
        rows = jnp.concatenate([x[:1], rows])
    n = len(rows)
    if how == "absolute":
        u = unit(rows)
        return jnp.mean(jnp.abs(u @ u.T))
    signed = mean_cosine(rows)
    return signed + (1 - signed) / n if how == "diagonal" else signed


def fitted(source: str, count: int, net: ViT, scale) -> Float[np.ndarray, "images patches numbers"]:
    """Images from all over a source, resized to what a ViT takes, scaled, and cut."""
    found = load_pictures(source, labelled=False)
    if len(found.labels) < count:
        raise InputError(f"{source} has {len(found.labels)} images", "set images to at most that")
    chosen = np.linspace(0, len(found.labels) - 1, count).astype(int)
    inputs = net.embed.weight.shape[0]
    patch = round((inputs / found.channels) ** 0.5)
    side = patch * round(net.patches**0.5)
    if patch**2 * found.channels != inputs or (side // patch) ** 2 != net.patches:
        raise InputError(f"{source} does not fit the network", "square images of as many colours")
    fit, (mean, deviation) = Fit(side), (np.array(part) for part in scale)
    grey = lambda pixels: pixels[..., 0] if found.channels == 1 else pixels
    whole = lambda image: (
        np.asarray(image, dtype=np.float32).reshape(side, side, -1) / found.brightest
    )
    shown = [whole(fit(Image.fromarray(grey(np.asarray(found.images[i]))))) for i in chosen]
    cut = jax.vmap(lambda image: to_patches(image, patch))
    return np.asarray(cut(jnp.asarray((np.stack(shown) - mean) / deviation, jnp.float32)))
