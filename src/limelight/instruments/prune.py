r"""Token sparsification on a real ViT: what keeping fewer tokens costs, and what it saves.

After one block the class token and $k$ patches go on; the others are gone, not masked, or merged
into those that stay, so later blocks are smaller programs. Which patches stay is a policy; all are
held against no pruning on the same images, in one table.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from limelight._core.arrays import Real
from limelight._core.backend import on_gpu
from limelight._core.errors import InputError, check_word
from limelight._core.types import Example
from limelight._engine.cost import xla_flops
from limelight._engine.device import LIBRARY, describe_machine, for_gpu
from limelight._engine.run import Progress
from limelight.fit.intervals import paired_interval, wilson
from limelight.fit.trends import median_interval
from limelight.instruments.gallery import Gallery, Groups
from limelight.models._flops import NORM as NORM_FLOPS
from limelight.models._flops import Flops, vit_flops
from limelight.models._schedule import (
    ATTENTION,
    NORM,
    POLICIES,
    RANDOM,
    SIMILARITY,
    TRUTH,
    kept_patches,
    usual_cut,
)
from limelight.models.vit import ViT

#: Those that rank patches by what is given to them, not by what the network computes.
SCORED = (RANDOM, TRUTH)
NONE = "none"
#: How far XLA's count of FLOPs may be from the formula.
AGREES = 0.02
#: Images in one call.
BATCH = {"cpu": 16, "gpu": 256, "tpu": 256}


@dataclass(frozen=True)
class PrunedRow:
    """One policy at one share of tokens.

    Args:
        policy: Which patches stay; `none` where all do.
        at: The block after which the others go.
        keep: Share of the patches that stay.
        tokens: Tokens of the blocks after the cut, a class token included.
        accuracy: Share of images named rightly.
        interval: Wilson's, 95 %.
        difference: Accuracy less that without pruning, on the same images.
        difference_interval: Of the difference, 95 %, paired.
        flops: For one image, by formula.
        products: Of these, in matrix products.
        compiled_flops: For one image, XLA's count, of the program that `counted` names.
        milliseconds: For one image: the median over calls.
        speedup: Time without pruning over time with it, both in one round: the median.
        speedup_interval: Of that median, 95 %, from order statistics; `None` with under six rounds.
    """

    policy: str
    at: int
    keep: Real
    tokens: int
    accuracy: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]
    flops: int
    products: int
    compiled_flops: float
    milliseconds: float
    speedup: float
    speedup_interval: tuple[float, float] | None

    @property
    def agrees(self) -> bool:
        """Whether both counts of FLOPs do, within 2 %."""
        return abs(self.compiled_flops / self.flops - 1.0) <= AGREES

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**dataclasses.asdict(self), "flops_agree": self.agrees}


@dataclass(frozen=True)
class Pruned:
    """The table, and how it came about; `load` is that of the machine, before and after."""

    rows: tuple[PrunedRow, ...]
    at: tuple[int, ...]
    images: str
    batch: int
    rounds: int
    machine: dict[str, Any]
    load: tuple[float, float] = (0.0, 0.0)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "images": self.images,
            "pruned_behind_block": self.at[0] if len(self.at) == 1 else list(self.at),
            "rows": [row.as_json() for row in self.rows],
            "kernel": kernel(self.backend),
            "batch": self.batch,
            "timed_rounds": self.rounds,
            "load_average": self.load,
            "counted": "matrix products, biases, layer norms, softmax, GELU, sums; of one image;"
            f" by XLA: {counted(self.backend)}",
            **self.machine,
        }

    @property
    def backend(self) -> str:
        """The kind of device it was measured on."""
        return self.machine["device"]["platform"]


def kernel(backend: str) -> str:
    """How attention is computed there, for whoever compares times."""
    products = "; products are calls of the GPU's library" if backend == "gpu" else ""
    return f"plain: einsum, softmax, einsum in float32, compiled by XLA{products}; no fused kernel"


def counted(backend: str) -> str:
    """Which program XLA counts the FLOPs of. It does not count calls of a library."""
    return "the program before compilation" if backend == "gpu" else "the compiled program"


def prune(
    model: ViT,
    gallery: Gallery,
    groups: Groups,
    keep: Sequence[Real],
    *,
    policies: Sequence[str] = (),
    at: int | Sequence[int] | None = None,
    batch: int | None = None,
    rounds: int = 10,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Pruned:
    """Accuracy, FLOPs and time of a ViT with fewer tokens, beside the whole one.

    Every batch goes through every program before the next batch does, in turning order, so that
    what else the machine does falls on all alike. Compilation, and preparing images, is not timed.

    Args:
        model: The ViT.
        gallery: Images with labels.
        groups: How its outputs name their classes.
        keep: Shares of patches to keep; 1 is the whole ViT, which is always measured.
        policies: Of `POLICIES`; by default all that the images allow.
        at: The block after which tokens are dropped, counted from 1; or several, each tried.
        batch: Images in one call.
        rounds: Timed rounds at least; batches are gone through again where there are fewer.
        progress: Called with the state of the work after every batch.
    """
    at = usual_cut(len(model.blocks)) if at is None else at
    places = sorted({at} if isinstance(at, int) else set(at))
    batch = BATCH.get(jax.default_backend(), 16) if batch is None else batch
    batch = min(batch, len(gallery))
    _check(model, gallery, policies, places, batch, rounds)
    policies = policies or [p for p in POLICIES if p != TRUTH or gallery.knows_roles]
    shares = sorted({r for r in keep if kept_patches(r, gallery.sight.patches) and r < 1})[::-1]
    cases = [(NONE, 1.0, places[0])]
    cases += [(policy, r, place) for place in places for r in shares for policy in policies]
    before = os.getloadavg()[0]
    clock = _Clock(Progress(total=len(cases) * len(gallery), compiling=True), progress)
    patches = gallery.sight.patches
    programs = [_Program(model, policy, r, place, batch, patches) for policy, r, place in cases]
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2), "compiler") as pool:
        list(pool.map(_Program.compile, programs))
    clock.compiled()
    right, seconds = _measure(programs, gallery, groups, batch, rounds, clock)
    rows = [
        _row(*parts, right[0], seconds[0]) for parts in zip(programs, right, seconds, strict=True)
    ]
    load, machine = (before, os.getloadavg()[0]), describe_machine()
    return Pruned(tuple(rows), tuple(places), str(gallery), batch, seconds.shape[1], machine, load)


def _measure(
    programs: list["_Program"],
    gallery: Gallery,
    groups: Groups,
    batch: int,
    rounds: int,
    clock: "_Clock",
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each program names each image rightly, and its seconds per image in each round."""
    right = np.zeros((len(programs), len(gallery)), dtype=bool)
    labels, starts = gallery.labels(), range(0, len(gallery), batch)
    seconds = np.zeros((len(programs), max(len(starts), rounds)))
    for turn in range(seconds.shape[1]):
        first = starts[turn % len(starts)]
        places = np.arange(first, first + batch) % len(gallery)  # the last batch is filled up
        part = slice(first, min(first + batch, len(gallery)))
        images, own = gallery.images(places)
        inputs = jnp.asarray(gallery.tokens(images))
        scores = {p: jnp.asarray(patch_scores(p, own, gallery, places)) for p in (RANDOM, TRUTH)}
        for offset in range(len(programs)):
            i = (turn + offset) % len(programs)
            logits, seconds[i, turn] = programs[i](inputs, scores.get(programs[i].policy))
            right[i, part] = (groups.predict(logits) == labels[places])[: part.stop - first]
            clock.tick(part.stop - first if turn < len(starts) else 0)
    return right, seconds / batch


class _Clock:
    """Tells whoever watches how far the work is."""

    def __init__(self, progress: Progress, tell: Callable[[Progress], None]):
        self.progress, self.tell, self.began = progress, tell, time.perf_counter()
        tell(progress)

    def compiled(self) -> None:
        self.progress.compiling = False
        self.progress.compile_seconds = time.perf_counter() - self.began

    def tick(self, count: int) -> None:
        self.progress.done += count
        self.progress.computed += count
        self.progress.seconds = time.perf_counter() - self.began
        self.tell(self.progress)


def patch_scores(policy: str, own, gallery: Gallery, places) -> Float[np.ndarray, "some patches"]:
    """What a policy that needs no attention ranks patches by; drawn anew for every image.

    One draw serves all shares, so that what is kept of fewer tokens is kept of more.
    """
    seeds = ([gallery.seed, 1, int(gallery.numbers[place])] for place in places)
    drawn = np.stack([np.random.default_rng(s).random(own.shape[1], np.float32) for s in seeds])
    return drawn + own.astype(np.float32) if policy == TRUTH else drawn


class _Program:
    """A ViT that keeps so many patches, traced when it is made; `compile` before it is called."""

    def __init__(self, model: ViT, policy: str, keep: Real, at: int, batch: int, patches: int):
        self.policy, self.keep, self.at, self.batch = policy, keep, at, batch
        count = kept_patches(keep, patches)
        self.model = dataclasses.replace(model, keep=((at - 1, count),), policy=ATTENTION)
        self.tokens = count + model.first
        self.arrays, rest = eqx.partition(self.model, eqx.is_array)
        inputs = jax.ShapeDtypeStruct((batch, patches, model.embed.weight.shape[0]), jnp.float32)
        scores = jax.ShapeDtypeStruct((batch, patches), jnp.float32)
        scored = policy in SCORED

        def run(arrays, inputs, scores=None):
            vit = eqx.combine(arrays, rest)
            return jax.vmap(lambda x, s: output(vit, x, s, policy))(inputs, scores)

        program = jax.jit(run, compiler_options=for_gpu(LIBRARY))
        given = self.arrays, inputs, *([scores] if scored else [])
        with jax.default_matmul_precision("highest"):
            self.lowered = program.lower(*given)
            self.before = xla_flops(program, *given) if on_gpu() else None
        self.shapes = inputs, scores

    def compile(self) -> None:
        self.run = self.lowered.compile()
        cost: Any = self.run.cost_analysis()
        self.flops = (cost["flops"] if self.before is None else self.before) / self.batch
        # The first call is never timed.
        self(*(jnp.zeros(given.shape, given.dtype) for given in self.shapes))

    def __call__(self, inputs, scores) -> tuple[np.ndarray, float]:
        given = (scores,) if self.policy in SCORED else ()
        began = time.perf_counter()
        logits = jax.block_until_ready(self.run(self.arrays, inputs, *given))
        spent = time.perf_counter() - began
        return np.asarray(logits).reshape(len(inputs), -1), spent


def output(
    model: ViT,
    tokens: Float[Array, "patches numbers"],
    scores: Float[Array, " patches"] | None,
    policy: str = "",
) -> Float[Array, "..."]:
    """The output for one image; patches of the highest scores are kept first.

    Args:
        model: Its `keep` says after which block, and how many.
        tokens: The image.
        scores: Of the patches, for policies that do not ask the network.
        policy: `similarity` merges, `norm` ranks by length; otherwise scores or attention decide.
    """
    count = len(tokens)
    image = Example(tokens, jnp.zeros(1), jnp.ones(count, bool), jnp.zeros(count, int))
    (_, left), *_ = model.keep or ((0, count),)
    if policy in (SIMILARITY, NORM) and left < count:
        return dataclasses.replace(model, policy=policy)(image)
    return model.read(image, scores).output


def flops_of(model: ViT, policy: str) -> Flops:
    """By formula, for one image: what the network costs, and what the policy adds."""
    cost = vit_flops(model, scored=policy in (*SCORED, NORM, SIMILARITY))
    (block, left), *_ = model.keep or ((0, model.patches),)
    if left >= model.patches:
        return cost
    width, n = model.embed.weight.shape[1], model.tokens
    if policy == NORM:
        return cost + Flops(0, 2 * model.patches * width)
    if policy != SIMILARITY:
        return cost
    rows, att = left + model.first, model.blocks[block].attention
    keys = att.key.weight.shape[1] // att.heads
    matching = Flops(2 * (n // 2) * (n - n // 2) * keys, 2 * n * width + 2 * n * att.heads * keys)
    later = len(model.blocks) - block - 1
    weighing = Flops(0, 3 * later * att.heads * rows**2)
    return cost + matching + weighing + Flops(0, NORM_FLOPS * (n - rows) * width)


def _row(program: _Program, mine, seconds, whole, whole_seconds) -> PrunedRow:
    n, cost = len(mine), flops_of(program.model, program.policy)
    low, high = wilson(int(mine.sum()), n)
    lost, gained = int((whole & ~mine).sum()), int((mine & ~whole).sum())
    difference, down, up = paired_interval(lost, gained, n)
    ratio, slow, fast = median_interval(whole_seconds / seconds)
    plain = program.policy == NONE
    return PrunedRow(
        policy=program.policy,
        at=program.at,
        keep=program.keep,
        tokens=program.tokens,
        accuracy=float(mine.mean()),
        interval=(float(low), float(high)),
        difference=float(difference),
        difference_interval=(0.0, 0.0) if plain else (float(down), float(up)),
        flops=cost.total,
        products=cost.products,
        compiled_flops=program.flops,
        milliseconds=1e3 * float(np.median(seconds)),
        speedup=ratio,
        speedup_interval=(slow, fast) if np.isfinite([slow, fast]).all() else None,
    )


def _check(
    model: ViT, gallery: Gallery, policies: Sequence[str], at: list[int], batch: int, rounds: int
) -> None:
    depth = len(model.blocks)
    if depth < 2:
        raise InputError("a ViT of one block has no block after the cut", "two blocks or more")
    for place in at:
        if not 1 <= place < depth:
            raise InputError(f"at = {place}", f"a block from 1 to {depth - 1}, of {depth}")
    for name, value in (("batch", batch), ("rounds", rounds)):
        if value < 1:
            raise InputError(f"{name} = {value}", "at least 1")
    for policy in policies:
        check_word("policy", policy, POLICIES)
        if policy == TRUTH and not gallery.knows_roles:
            raise InputError(
                f"which patches of {gallery.pictures.name} matter is not known",
                "paste the images on others (behind=...), or leave out the policy truth",
            )
