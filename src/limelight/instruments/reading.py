"""One pass of images through the blocks of a ViT, and everything that is read on the way.

A block is compiled once and used for all blocks of the same shape, a few images at a time. Nothing
is computed for what is not wanted.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from limelight._core.arrays import Real
from limelight._engine.device import by_library
from limelight._engine.run import Progress
from limelight.instruments.gallery import Gallery
from limelight.instruments.overlay import overlay
from limelight.measures.denoising import feature_block, passages, shaken, stage_block
from limelight.measures.heads import looked_at, relevant_mass, rolled_out, summary
from limelight.measures.similarity import (
    ALONE,
    RESIDUAL,
    mean_cosine,
    mixed_residual,
    residual,
    similarities,
)
from limelight.models.layers import Block, among
from limelight.models.vit import ViT

#: Images in one call.
CHUNK = 8
#: Length of noise on tokens over their spread: small, so that the answer is nearly linear.
FEATURE_NOISE = 0.1
#: Images to which the cluster model is fitted.
OVERLAID = 4
#: What can be read of images.
ATTENTION, SIMILARITY, NORMS, NOISE = "attention", "similarity", "norms", "noise"

Read = dict[str, Any]


def read_images(
    model: ViT,
    gallery: Gallery,
    wanted: frozenset[str],
    *,
    shown: int,
    noise: Real,
    share: Real,
    seed: int,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Read:
    """Everything wanted of every image.

    Returns:
        Arrays by name, images first, then blocks: `heads`, `stage`, `feature` by name of their
        own; `rollout_mass`; `maps` and `rollout` of the shown images; `collapse`; `similarity` and
        `lengths` with a place for the tokens that enter the first block before those that leave
        each block; and `overlays`, by image and block.
    """
    began, chunk = time.perf_counter(), min(CHUNK, len(gallery))
    report = Progress(total=len(gallery), compiling=True)
    progress(report)
    found, overlays = [], []
    for start in range(0, len(gallery), chunk):
        places = np.arange(start, start + chunk) % len(gallery)  # the last call is filled up
        images, own = gallery.images(places)
        tokens = gallery.tokens(images)
        drawn, noisy = max(0, shown - start), NOISE in wanted
        fitted = max(0, min(OVERLAID, len(gallery)) - start) if SIMILARITY in wanted else 0
        given = _Noise(seed, gallery.numbers[places], tokens.shape[1:], noise, share, noisy)
        with jax.default_matmul_precision("highest"):
            read, fits = _chunk(model, tokens, given, own, wanted, drawn, fitted, seed)
        found.append(read | {"own": own})
        overlays += fits
        if not start:
            report.compiling, report.compile_seconds = False, time.perf_counter() - began
        report.done = report.computed = min(start + chunk, len(gallery))
        report.seconds = time.perf_counter() - began
        progress(report)
    some = lambda *parts: np.concatenate(parts)[: len(gallery)]
    return jax.tree.map(some, *found) | {"overlays": tuple(overlays)}


def _chunk(model: ViT, tokens, noise, own, wanted: frozenset[str], drawn: int, fitted: int, seed):
    """A few images through all blocks; arrays by image and block, and the cluster model's fits."""
    programs = _programs(model.first, model.class_token is not None, wanted)
    begin, step, look = map(by_library, programs)
    state = begin(model, tokens, noise.pixels)
    seen, rows, fits = [look(model.norm, state)], [], []
    for block in model.blocks:
        count, width = state["x"].shape[1:]
        given = noise.features((count - model.first, width))
        state, read, inner = step(block, state, own, noise.hit, given)
        seen.append(look(model.norm, state))
        read, inner = jax.tree.map(np.asarray, (read, inner))  # JAX would compile every slice
        fits.append([overlay(*_plain(inner, i), seed) for i in range(fitted)])
        rows.append(
            read | {name: read[name][:drawn] for name in ("maps", "rollout") if name in read}
        )
    by_image = lambda *parts: np.stack([np.asarray(part) for part in parts], axis=1)
    found = jax.tree.map(by_image, *rows) | jax.tree.map(by_image, *seen)
    return found, list(zip(*fits, strict=True))


class _Noise:
    """The noise of a few images, drawn for each from its own number; nothing if none is wanted."""

    def __init__(self, seed: int, numbers: np.ndarray, shape, size: Real, share: Real, any: bool):
        self.generators = [np.random.default_rng([seed, 2, int(n)]) for n in numbers] if any else []
        self.hit = self.pixels = None
        if any:
            patches = shape[0]
            count = round(share * patches)
            self.hit = np.stack([g.permutation(patches) < count for g in self.generators])
            self.pixels = self._normals(shape) * np.float32(size) * self.hit[..., None]

    def features(self, shape) -> np.ndarray | None:
        """Noise for the tokens of the next block."""
        return FEATURE_NOISE * self._normals(shape) if self.generators else None

    def _normals(self, shape) -> np.ndarray:
        return np.stack([g.standard_normal(shape, np.float32) for g in self.generators])


@functools.cache
def _programs(first: int, classed: bool, wanted: frozenset[str]) -> tuple[Callable, ...]:
    """What happens before the first block and in a block, and what is read between two."""

    def begin(model: ViT, tokens, noise):
        state = jax.vmap(lambda t, n: _begin(model, t, n, wanted))(tokens, noise)
        return state | {"places": model.places}

    def step(block: Block, state, own, hit, noise):
        places = state["places"]
        rest = {name: value for name, value in state.items() if name != "places"}
        one = lambda s, o, h, n: _step(block, places, s, o, h, n, first, classed, wanted)
        on, read, inner = jax.vmap(one)(rest, own, hit, noise)
        return on | {"places": places}, read, inner

    def look(norm, state):
        rows = {name: state[name] for name in ("x", "alone") if name in state}
        return jax.vmap(lambda s: _look(norm, s, first, wanted))(rows)

    return begin, step, look


def _begin(model: ViT, tokens, noise, wanted: frozenset[str]) -> Read:
    """The rows of one image that enter the first block."""
    x = model.embedded(tokens)
    state = {"x": x}
    if NOISE in wanted:
        state["y"] = model.embedded(tokens + noise)
    if ATTENTION in wanted:
        state["rolled"] = jnp.eye(len(x), dtype=x.dtype)
    if SIMILARITY in wanted:
        state["alone"] = x
    return state


def _look(norm, state: Read, first: int, wanted: frozenset[str]) -> Read:
    """What is read of one image between two blocks."""
    read: Read = {}
    if SIMILARITY in wanted:
        read["similarity"] = _alike(state["x"], state["alone"], first, norm)
    if NORMS in wanted:
        read["lengths"] = jnp.linalg.norm(state["x"][first:], axis=-1)
    return read


def _step(block: Block, places, state: Read, own, hit, noise, first, classed, wanted):
    """One image through one block: what goes on, what is read, what the cluster model reads."""
    x = state["x"]
    rows, ends = {"x": x}, 1
    if NOISE in wanted:
        rows |= {"y": state["y"], "shaken": shaken(x, noise, first)}
        ends = 2
    if SIMILARITY in wanted:
        rows["alone"] = state["alone"]
    parts = passages(block, list(rows.values()), ends, places)
    gone = dict(zip(rows, parts, strict=True))
    clean = gone["x"]
    on, read, inner = {"x": clean.leaving}, {}, {}
    A = among(clean.weights, jnp.ones(len(x), bool))
    if ATTENTION in wanted:
        on["rolled"] = rolled = rolled_out(A, state["rolled"])
        read["heads"] = summary(A, first, own, classed)
        read["maps"] = looked_at(A, first, classed)
        read["rollout"] = looked_at(rolled[None], first, classed)[0]
        read["rollout_mass"] = relevant_mass(rolled[None], first, own, classed)[0]
    if NOISE in wanted:
        on["y"] = gone["y"].leaving
        read["stage"] = stage_block(block, clean, gone["y"], hit, first)
        read["feature"] = feature_block(block, clean, gone["shaken"], first)
    if SIMILARITY in wanted:
        on["alone"] = block.attention.output(gone["alone"].mixed)
        left = block.attention.output(clean.mixed)
        read["collapse"] = {"entering": mixed_residual(clean.normed), "left": mixed_residual(left)}
        inner = {"rows": clean.normed[first:], "weights": A[:, first:, first:]}
    return on, read, inner


def _alike(x, alone, first: int, norm) -> Read:
    lonely = {ALONE: mean_cosine(alone[first:]), f"{RESIDUAL}_{ALONE}": residual(alone[first:])}
    return similarities(x, first, norm) | lonely


def _plain(inner: Read, image: int) -> tuple[np.ndarray, np.ndarray]:
    one = lambda name: np.asarray(inner[name][image], dtype=float)
    return one("rows"), one("weights")
