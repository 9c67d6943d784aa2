r"""Read a ViT: where its attention goes, how alike and how long its tokens are, what noise does.

All numbers are read off one network on the same images; nothing is trained.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError, check_word
from limelight._engine.device import use_cache
from limelight._engine.run import Progress
from limelight.fit.intervals import mean_interval
from limelight.instruments.collapse import Similarity, grip
from limelight.instruments.findings import findings
from limelight.instruments.gallery import Gallery
from limelight.instruments.norms import Norms, find_long
from limelight.instruments.overlay import Overlay
from limelight.instruments.positions import Positions, read_positions
from limelight.instruments.reading import (
    ATTENTION,
    FEATURE_NOISE,
    NOISE,
    NORMS,
    SIMILARITY,
    Read,
    read_images,
)
from limelight.measures.denoising import CONTROLS, POPULATIONS, STAGES
from limelight.models.vit import ViT

#: What can be read; all of it when nothing is said.
POSITIONS = "positions"
SUBJECTS = (ATTENTION, SIMILARITY, NORMS, NOISE, POSITIONS)


@dataclass(frozen=True)
class ShownImage:
    """One image and what every head makes of it.

    Args:
        image: Its pixels.
        name: Of its class, or of its file.
        maps: Attention by block, head, row and column.
        rollout: By block, row and column; see `measures.heads.rolled_out`.
    """

    image: np.ndarray
    name: str
    maps: np.ndarray
    rollout: np.ndarray


@dataclass(frozen=True)
class Noise:
    r"""What becomes of noise, block by block.

    Args:
        stages: $g$ of every stage: blocks, stages, populations.
        gains: Noise after the output map over noise after the norm, by what stands in for
            attention: blocks, controls, and (hit, spared, feature).
        against_identity: Noise that attention lets through over what $A = I$ does: blocks, (hit,
            spared, feature), (geometric mean over images, lower and upper end, 95 %). Infinite
            where $A = I$ lets nothing through; ends are NaN where there is no interval.
        parts: Of noise on features, over noise after the norm: `total`, `frozen`, `response`,
            `predicted`, by block.
    """

    stages: np.ndarray
    gains: np.ndarray
    against_identity: np.ndarray
    parts: dict[str, np.ndarray]


#: Of noise on features after averaging: all of it, and how it comes about.
PARTS = ("total", "frozen", "response", "predicted")
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
        rollout_mass: Of the rollout on patches that matter, by block, where roles are known.
        similarity: How alike tokens are.
        norms: How long they are.
    """

    positions: Positions | None
    heads: dict[str, np.ndarray]
    relevant_share: float | None
    shown: tuple[ShownImage, ...]
    noise: Noise | None
    model: tuple[tuple[Overlay, ...], ...]
    keys: int
    settings: dict[str, Any]
    rollout_mass: np.ndarray | None = None
    similarity: Similarity | None = None
    norms: Norms | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, NaN as null."""
        found: dict[str, Any] = {"settings": self.settings, "tokens": self.keys}
        found["findings"] = findings(self)
        found["positions"] = None if self.positions is None else self.positions.as_json()
        if self.relevant_share is not None:
            found["relevant_patches"] = self.relevant_share
        if self.similarity is not None:
            found["similarity"] = self.similarity.as_json()
        if self.norms is not None:
            found["norms"] = self.norms.as_json()
        blocks = [self._block_json(b) for b in range(self.blocks)]
        return found | ({"blocks": blocks} if blocks else {})

    @property
    def blocks(self) -> int:
        """Blocks of which something was read one by one."""
        if self.noise is not None:
            return len(self.noise.stages)
        if self.model:
            return len(self.model[0])
        return len(self.heads["entropy"]) if self.heads else 0

    def _block_json(self, b: int) -> dict[str, Any]:
        found: dict[str, Any] = {"block": b + 1}
        if self.heads:
            found["heads"] = {k: _plain(v[b]) for k, v in self.heads.items()}
        if self.rollout_mass is not None:
            found["rollout_relevant"] = _plain(self.rollout_mass[b])
        if self.noise is not None:
            found |= _noise_json(self.noise, b)
        if self.model:
            found["cluster_model"] = _model_json([image[b] for image in self.model])
        return found


def probe(
    model: ViT,
    gallery: Gallery | None = None,
    *,
    only: Collection[str] = (),
    shown: int = 2,
    noise: Real = 0.5,
    share: Real = 0.25,
    cut: Real | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Probe:
    """Read a ViT.

    Args:
        model: The ViT.
        gallery: Images; without them only positions are read.
        only: What to read, of `SUBJECTS`; everything when empty.
        shown: How many of them to keep attention maps of.
        noise: Standard deviation of the noise on scaled pixels.
        share: Share of patches that get it.
        cut: Length above which a token counts as long; by the rule of `norms` when not given.
        seed: Of noise, and of fresh positions.
        progress: Called with the state of the work after every few images.
    """
    for word in only:
        check_word("only", word, SUBJECTS)
    wanted = frozenset(only or SUBJECTS)
    if not noise > 0:
        raise InputError(f"noise = {noise:g}", "above 0")
    patches = model.patches
    if not 1 <= round(share * patches) < patches:
        raise InputError(f"share = {share:g}", f"some of the {patches} patches, not all")
    if gallery is None and only and POSITIONS not in wanted:
        raise InputError("there are no images to read", "give some, or read positions")
    use_cache()
    found = positions_of(model, seed) if POSITIONS in wanted else None
    settings: dict[str, Any] = {"seed": seed}
    keys = model.tokens
    if gallery is None or not wanted - {POSITIONS}:
        return Probe(found, {}, None, (), None, (), keys, settings)
    read = read_images(
        model, gallery, wanted - {POSITIONS}, shown=min(shown, len(gallery)),
        noise=noise, share=share, seed=seed, progress=progress,
    )  # fmt: skip
    if NOISE in wanted:
        settings |= {"noise": noise, "noisy_share": share, "feature_noise": FEATURE_NOISE}
    alike = None
    if SIMILARITY in wanted:
        entering, left = (read["collapse"][name] for name in ("entering", "left"))
        limit = grip(model, entering.mean(axis=0))
        alike = Similarity(read["similarity"], limit, (left / entering).mean(axis=0))
    mass = read.get("rollout_mass") if gallery.knows_roles else None
    return Probe(
        positions=found,
        heads=_heads(read, gallery.knows_roles),
        relevant_share=float(read["own"].mean()) if gallery.knows_roles else None,
        shown=_shown(gallery, read),
        noise=_noise(read["stage"], read["feature"]) if NOISE in wanted else None,
        model=read["overlays"],
        keys=keys,
        settings=settings | {"images": str(gallery), "pixels": gallery.scale},
        rollout_mass=None if mass is None else mass.mean(axis=0),
        similarity=alike,
        norms=find_long(read["lengths"], cut) if NORMS in wanted else None,
    )


def positions_of(model: ViT, seed: int = 0) -> Positions | None:
    """Scores of positions; `None` for grids without two patches far apart, or without a table."""
    if model.positions is None or model.patches < 9:
        return None
    return read_positions(model.encodings, seed)


def _heads(read: Read, roles: bool) -> dict[str, np.ndarray]:
    """Means over images; without what needs to know which patches matter, where nobody does."""
    heads = {name: values.mean(axis=0) for name, values in read.get("heads", {}).items()}
    return heads if roles else {k: v for k, v in heads.items() if "relevant" not in k}


def _shown(gallery: Gallery, read: Read) -> tuple[ShownImage, ...]:
    """The images that are drawn, with their maps."""
    count = len(read.get("maps", ()))
    if not count:
        return ()
    images, _ = gallery.images(np.arange(count))
    names, side = gallery.pictures.names, gallery.sight.grid
    grid = lambda maps: maps.reshape(*maps.shape[:-1], side, side)
    parts = zip(images, gallery.labels(), read["maps"], read["rollout"], strict=False)
    return tuple(ShownImage(image, names[label], grid(m), grid(r)) for image, label, m, r in parts)


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
