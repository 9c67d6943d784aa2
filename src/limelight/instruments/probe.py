r"""Read a ViT: where its attention goes, and what its blocks do to noise.

All numbers are read off one network on the same images; nothing is trained.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from limelight.core.arrays import Real
from limelight.core.errors import InputError
from limelight.core.keys import named
from limelight.core.types import Example, Number
from limelight.engine.device import by_library
from limelight.engine.run import Progress
from limelight.fit.intervals import mean_interval
from limelight.instruments.gallery import Gallery
from limelight.instruments.overlay import Overlay, overlay
from limelight.instruments.positions import Positions, read_positions
from limelight.measures.denoising import (
    CONTROLS,
    POPULATIONS,
    STAGES,
    feature_squares,
    hit_patches,
    stage_squares,
)
from limelight.measures.heads import looked_at, summary
from limelight.models.vit import ViT

#: Images in one call.
CHUNK = 4
#: Length of noise on tokens over their spread: small, so that the answer is nearly linear.
FEATURE_NOISE = 0.1


@dataclass(frozen=True)
class Shown:
    """One image and what every head makes of it: `maps` by block, head, row and column."""

    image: np.ndarray
    name: str
    maps: np.ndarray


@dataclass(frozen=True)
class Noise:
    r"""What becomes of noise, block by block.

    Args:
        stages: $g$ of every stage: blocks, stages, populations.
        gains: Noise behind the output map over noise behind the norm, by what stands in for
            attention: blocks, controls, and (hit, spared, feature).
        against_identity: Noise that attention lets through over what $A = I$ does: blocks, (hit,
            spared, feature), (geometric mean over images, lower and upper end, 95 %). Infinite
            where $A = I$ lets nothing through; ends are NaN where there is no interval.
        parts: Of noise on features, over noise behind the norm: `total`, `frozen`, `response`,
            `predicted`, by block.
    """

    stages: np.ndarray
    gains: np.ndarray
    against_identity: np.ndarray
    parts: dict[str, np.ndarray]


#: Of noise on features behind averaging: all of it, and how it comes about.
PARTS = ("total", "frozen", "response", "predicted")
#: Images to which the cluster model is fitted.
OVERLAID = 4
#: Which noise a gain is of: on hit and on spared patches of noisy images; on tokens.
KINDS = (*POPULATIONS, "feature")


@dataclass(frozen=True)
class Probe:
    """Everything that was read.

    Args:
        positions: `None` where the grid is too small to tell near from far.
        heads: Means over images, blocks by heads, by name; see `measures.heads.summary`.
        relevant_share: Share of patches that matter, where roles are known.
        shown: Images to draw.
        noise: `None` without images.
        model: The cluster model beside attention, for some images, block by block.
        keys: Tokens of a block.
        settings: How it was read.
    """

    positions: Positions | None
    heads: dict[str, np.ndarray]
    relevant_share: float | None
    shown: tuple[Shown, ...]
    noise: Noise | None
    model: tuple[tuple[Overlay, ...], ...]
    keys: int
    settings: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, NaN as null."""
        found: dict[str, Any] = {"settings": self.settings, "tokens": self.keys}
        found["positions"] = None if self.positions is None else self.positions.as_json()
        if self.noise is None:
            return found
        roles = {} if self.relevant_share is None else {"relevant_patches": self.relevant_share}
        per_block = [
            {"block": b + 1, "heads": {k: _plain(v[b]) for k, v in self.heads.items()}}
            | _noise_json(self.noise, b)
            | {"cluster_model": _model_json([image[b] for image in self.model])}
            for b in range(len(self.noise.stages))
        ]
        return found | roles | {"blocks": per_block}


def probe(
    model: ViT,
    gallery: Gallery | None = None,
    *,
    shown: int = 2,
    noise: Real = 0.5,
    share: Real = 0.25,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Probe:
    """Read a ViT.

    Args:
        model: The ViT.
        gallery: Images; without them only positions are read.
        shown: How many of them to keep attention maps of.
        noise: Standard deviation of the noise on scaled pixels.
        share: Share of patches that get it.
        seed: Of noise, and of fresh positions.
        progress: Called with the state of the work after every few images.
    """
    if not noise > 0:
        raise InputError(f"noise = {noise:g}", "above 0")
    patches = model.patches
    if not 1 <= round(share * patches) < patches:
        raise InputError(f"share = {share:g}", f"some of the {patches} patches, not all")
    found = positions_of(model, seed)
    settings = {"noise": noise, "noisy_share": share, "feature_noise": FEATURE_NOISE, "seed": seed}
    if gallery is None:
        return Probe(found, {}, None, (), None, (), model.tokens, settings)
    read = _read_all(model, gallery, noise, share, seed, progress)
    heads = {name: values.mean(axis=0) for name, values in read["heads"].items()}
    if not gallery.knows_roles:
        heads = {name: values for name, values in heads.items() if "relevant" not in name}
    kept = min(shown, len(gallery))
    images, _ = gallery.images(np.arange(kept)) if kept else ((), ())
    names, side = gallery.pictures.names, gallery.sight.grid
    drawn = tuple(
        Shown(image, names[label], maps.reshape(*maps.shape[:2], side, side))
        for image, label, maps in zip(images, gallery.labels(), read["maps"][:kept], strict=False)
    )
    return Probe(
        positions=found,
        heads=heads,
        relevant_share=float(read["own"].mean()) if gallery.knows_roles else None,
        shown=drawn,
        noise=_noise(read["stage"], read["feature"]),
        model=_overlays(model, gallery, seed),
        keys=model.tokens,
        settings=settings | {"images": str(gallery), "pixels": gallery.scale},
    )


def positions_of(model: ViT, seed: int = 0) -> Positions | None:
    """Scores of positions; `None` for grids without two patches far apart, or without a table."""
    if model.positions is None or model.patches < 9:
        return None
    return read_positions(model.encodings, seed)


def _read_all(model: ViT, gallery: Gallery, noise: Real, share: Real, seed: int, progress):
    """Everything of every image, stacked; a few images at a time."""
    sizes = (jnp.asarray(noise, float), jnp.asarray(share, float))
    began, found, chunk = time.perf_counter(), [], min(CHUNK, len(gallery))
    report = Progress(total=len(gallery), compiling=True)
    progress(report)
    keys = jr.split(jr.key(seed), len(gallery))
    for first in range(0, len(gallery), chunk):
        places = np.arange(first, first + chunk) % len(gallery)  # the last call is filled up
        images, own = gallery.images(places)
        inputs = (jnp.asarray(gallery.tokens(images)), jnp.asarray(own), keys[places])
        with jax.default_matmul_precision("highest"):
            out = by_library(_several)(model, *inputs, *sizes)
        found.append(jax.tree.map(np.asarray, out) | {"own": own})
        if not first:
            report.compiling, report.compile_seconds = False, time.perf_counter() - began
        report.done = report.computed = min(first + chunk, len(gallery))
        report.seconds = time.perf_counter() - began
        progress(report)
    return jax.tree.map(lambda *parts: np.concatenate(parts)[: len(gallery)], *found)


def _several(model: ViT, tokens, own, keys, noise: Array, share: Array) -> dict[str, Any]:
    return jax.vmap(lambda t, o, k: one_image(model, t, o, k, noise, share))(tokens, own, keys)


def one_image(model: ViT, tokens, own, key, noise: Number, share: Number) -> dict[str, Any]:
    """All that is read of one image."""
    k_hit, k_pixels, k_features = named(key, "hit", "pixels", "features")
    count = len(tokens)
    attention = model.read(_whole(tokens)).attention
    hit = hit_patches(k_hit, count, share)
    added = jnp.where(hit[:, None], noise * jr.normal(k_pixels, tokens.shape), 0.0)
    classed = model.class_token is not None
    summaries = [summary(A, model.first, own, classed) for A in attention]
    return {
        "heads": {name: jnp.stack([s[name] for s in summaries]) for name in summaries[0]},
        "maps": jnp.stack([looked_at(A, model.first, classed) for A in attention]),
        "stage": stage_squares(model, tokens, tokens + added, hit),
        "feature": feature_squares(model, k_features, tokens, FEATURE_NOISE),
    }


def _overlays(model: ViT, gallery: Gallery, seed: int) -> tuple[tuple[Overlay, ...], ...]:
    """The cluster model fitted to every block, for a few images."""
    images, _ = gallery.images(np.arange(min(OVERLAID, len(gallery))))
    read = (by_library(_reads)(model, jnp.asarray(tokens)) for tokens in gallery.tokens(images))
    plain = lambda array: np.asarray(array, dtype=float)
    return tuple(
        tuple(overlay(plain(rows), plain(A), seed) for rows, A in zip(*parts, strict=True))
        for parts in read
    )


def _reads(model: ViT, tokens):
    """Patches behind the norm of every block, and attention among them."""
    first, found = model.first, model.read(_whole(tokens))
    rows = [b.norm_attention(x)[first:] for b, x in zip(model.blocks, found.tokens, strict=False)]
    return rows, [A[:, first:, first:] for A in found.attention]


def _whole(tokens) -> Example:
    """An image of which every patch takes part."""
    count = len(tokens)
    return Example(tokens, jnp.zeros(1), jnp.ones(count, bool), jnp.zeros(count, int))


def _noise(stage: dict[str, np.ndarray], feature: dict[str, np.ndarray]) -> Noise:
    """Sums over images, then roots of ratios; intervals over images."""
    ratio = lambda a, b: np.sqrt(np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0))
    g = ratio(stage["noise"].sum(0), stage["signal"].sum(0))
    # images, blocks, controls, kinds: both populations of noisy images, then noise on features
    through = np.concatenate([stage["let_through"], feature["let_through"][..., None]], axis=-1)
    taken = np.concatenate([stage["taken"], feature["taken"][..., None]], axis=-1)
    gains = ratio(through.sum(0), np.broadcast_to(taken.sum(0)[:, None], through.shape[1:]))
    attention, identity = (through[:, :, CONTROLS.index(c)] for c in ("attention", "identity"))
    # Infinite where A = I lets nothing through.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = 0.5 * (np.log(attention) - np.log(identity))
        middle = logs.mean(0)
    finite = np.where(np.isfinite(logs), logs, np.nan)
    low, high = (end.reshape(middle.shape) for end in mean_interval(finite.reshape(len(logs), -1)))
    parts = {k: ratio(feature[k].sum(0), feature["taken"].sum(0)) for k in PARTS}
    return Noise(g, gains, np.exp(np.stack([middle, low, high], axis=-1)), parts)


def _noise_json(noise: Noise, block: int) -> dict[str, Any]:
    named_by = lambda names, values: dict(zip(names, map(_plain, values), strict=True))
    stages = {s: named_by(POPULATIONS, noise.stages[block, i]) for i, s in enumerate(STAGES)}
    gains = {c: named_by(KINDS, noise.gains[block, i]) for i, c in enumerate(CONTROLS)}
    against = {
        kind: {**named_by(("ratio", "low", "high"), ends), "distils": distils(ends)}
        for kind, ends in zip(KINDS, noise.against_identity[block], strict=True)
    }
    parts = {name: _plain(values[block]) for name, values in noise.parts.items()}
    return {"noise": stages, "gains": gains, "against_identity": against, "feature": parts}


def _model_json(fits: list[Overlay]) -> dict[str, Any]:
    """Means over images; by head where heads differ."""
    names = ("clusters", "silhouette", "sigma", "strength", "r_squared", "predicted", "measured")
    return {name: _plain(np.mean([getattr(f, name) for f in fits], axis=0)) for name in names}


def distils(ends) -> str:
    """Whether attention lets less noise through than none at all: yes, no or open.

    Open is also what has no interval, as with one image; unless $A = I$ lets nothing through and
    attention does.
    """
    middle, low, high = ends
    return "yes" if high < 1 else "no" if low > 1 or np.isposinf(middle) else "open"


def with_interval(ends) -> str:
    """The ratio and its interval, as far as there are any."""
    middle, low, high = ends
    if not np.isfinite(middle):
        return ""
    return f"{middle:.2f}" + (f" [{low:.2f}, {high:.2f}]" if np.isfinite([low, high]).all() else "")


def _plain(values: Any) -> Any:
    array = np.asarray(values, dtype=float)
    if array.ndim:
        return [_plain(value) for value in array]
    return float(f"{array:.6g}") if np.isfinite(array) else None
