"""One trial-iteration of edelman2022's Figure 2 beside the ordinary loop, side by side in one run.

    python benchmarks/decoder.py [--at T,M ...] [--trials N] [--iterations N] [--peers]
        [OUTPUT.json]

The ordinary way is a PyTorch loop over one trial at a time that computes every row of the decoder,
as minGPT does: a full-batch step, and a holdout of 10,000 every 10 iterations. Ours is what
`limelight run edelman2022 fig2` runs: the same protocol, many trials in one program. With --peers
stronger ways stand beside it (`peers.py`), and the ratio to the best of them. All are timed with
training and looks, without compilation; without PyTorch ours is timed alone. On a machine with a
GPU all run there.

FLOPs and bytes are counted by formula. The floor is measured: what a token would cost if there were
nothing but the two products of attention, forward and twice back, and one draw of its masks.
"""

import argparse
import json
import time
from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import peers
from peers import DROP, EVERY, HEADS, HOLDOUT, WIDTH, on_gpu
from timing import about, copy_rate, seconds

from limelight._engine.plan import make_plan
from limelight.experiments.sparse_and import IN_FLIGHT, SparseAnd
from limelight.models import decoder
from limelight.worlds import SparseBoolean

#: Lengths and sizes of a run without `--at`.
USUAL = {"cpu": [(100, 100)], "gpu": [(100, 100), (400, 100), (800, 200)]}

# --- ours -----------------------------------------------------------------------------------------


def experiment(length: int, iterations: int) -> SparseAnd:
    """What Figure 2 runs on this machine; nothing ends early, so every iteration is counted."""
    world = SparseBoolean(length=length, sparsity=3, rule="and")
    numbers = "bfloat16" if on_gpu() else "float32"
    return SparseAnd(world=world, iterations=iterations, numbers=numbers, share=1.0)


def ours(length: int, examples: int, trials: int, iterations: int) -> tuple[float, int]:
    """Seconds a trial-iteration of the engine, looks and starts included, and the trials timed."""
    base = experiment(length, iterations)
    axes = {"examples": [examples]}
    if not trials:  # as many as the lanes hold, so that none runs half empty
        fitted = make_plan(base, axes, trials=1).groups[0].experiment
        trials = max(4, fitted.room()[1] // fitted.most_parts())
    plan = make_plan(base, axes, trials=trials, width=trials)
    chunk = plan.chunks[0]
    arguments = plan.arguments(chunk)
    executor, rows = base.executor, plan.settings(chunk)
    lanes = executor.trace(plan.groups[0], arguments).compile()
    times = []
    for _ in range(2):
        began = time.perf_counter()
        executor.run(lanes, arguments, rows, lambda done: None)
        times.append(time.perf_counter() - began)
    return min(times) / (trials * iterations), trials


def floor(length: int) -> dict[str, float]:
    """Nanoseconds a token: the two products of attention and the masks, each by itself."""
    kind = jnp.bfloat16 if on_gpu() else jnp.float32
    tokens, most = IN_FLIGHT["gpu"] if on_gpu() else (IN_FLIGHT["cpu"][0] // 10, 100)
    n = length + 1
    s = max(1, min(tokens // n, most, decoder.MOST))
    x = jr.normal(jr.key(0), (s, n, WIDTH)).astype(kind)
    asked = jr.normal(jr.key(1), (s, HEADS, WIDTH)).astype(kind)

    @jax.jit
    def products(asked, x):
        score = jnp.einsum("shd,snd->shn", asked, x, preferred_element_type=jnp.float32)
        back = score.astype(kind)
        return jnp.einsum("shn,snd->shd", back, x, preferred_element_type=jnp.float32)

    masks = jax.jit(lambda key: decoder.draw(key, jnp.arange(s), n, WIDTH, 1.0 - DROP, 1.0 - DROP))
    a_token = lambda spent: 1e9 * spent / (s * n)
    found = {
        "products_ns_a_token": a_token(seconds(products, asked, x)),
        "masks_ns_a_token": a_token(seconds(masks, jnp.array([1, 2], jnp.uint32))),
    }
    return found | {
        "floor_ns_a_token": 3 * found["products_ns_a_token"] + found["masks_ns_a_token"]
    }


# --- by formula -----------------------------------------------------------------------------------


def counts(length: int, examples: int) -> dict[str, float]:
    """FLOPs and bytes of one trial-iteration, a tenth of a look included.

    FLOPs count multiply and add apart. Bytes are what leaves the chip and comes back: on a GPU the
    words of masks (12 a token, written once and read twice), bits, and two moments; elsewhere the
    token array, written once and read by five products. The weights: a gradient and a copy a
    block, and Adam's reading and writing. Looks: bits of the first part, and both columns of them
    as the product reads them.
    """
    n, d, m = length + 1, WIDTH, examples
    rows = 24 * n * d**2 + 4 * n**2 * d
    one = experiment(length, EVERY)
    blocks, weights = -(-m // one.block), 50_432 + 64 * n
    a_token = 3 * 12 + 2 * 1 + 2 * 8 if on_gpu() else 6 * 4 * d
    column = 2 if on_gpu() else 4
    return {
        "ordinary_flops": (3 * m + HOLDOUT / EVERY) * rows,
        "our_flops": SparseAnd(world=one.world, examples=m, iterations=EVERY).flops() / EVERY,
        "ordinary_bytes_of_scores": 3 * 4.0 * m * HEADS * n**2,
        "our_bytes_of_tokens": float(a_token * m * n),
        "our_bytes_of_weights": 4.0 * weights * (3 * blocks + 7),
        "our_bytes_of_looks": (one.first + m) * length * (1 + 2 * 2 * column) / EVERY,
    }


def beside(length: int, examples: int, trials: int, fast: float) -> dict[str, float | None]:
    """Milliseconds of every peer in `peers.py`, and how far the best of them is behind.

    They train as many trials at once as we do, and the shortest half as many too.
    """
    at_once = (max(1, trials // 2), trials) if length <= 100 else (trials,)
    found = peers.measured(length, examples, at_once)
    best = min((spent for spent in found.values() if spent), default=None)
    return {**found, "ratio_to_best_peer": best / (1e3 * fast) if best else None}


def measure(
    length: int, examples: int, trials: int, iterations: int, limit: float, with_peers: bool
) -> dict:
    """One length and size; `limit` is the rate of memory traffic in bytes a second."""
    loop = bool(find_spec("torch"))
    ordinary = lambda: peers.loop(length, examples, fused=False, steps=3)
    slow = ordinary() if loop else np.inf
    fast, trials = ours(length, examples, trials, iterations)
    slow = min(slow, ordinary()) if loop else None
    counted, least = counts(length, examples), floor(length)
    a_token = 1e9 * fast / (examples * (length + 1))
    moved = sum(value for name, value in counted.items() if name.startswith("our_bytes"))
    return {
        "length": length,
        "examples": examples,
        "trials": trials,
        "iterations": iterations,
        "ratio": slow / fast if slow else None,
        "ordinary_ms": 1e3 * slow if slow else None,
        "our_ms": 1e3 * fast,
        **(beside(length, examples, trials, fast) if with_peers else {}),
        "our_ns_a_token": a_token,
        **least,
        "over_floor": a_token / least["floor_ns_a_token"],
        **counted,
        "our_flops_a_second": counted["our_flops"] / fast,
        "share_of_bandwidth": moved / fast / limit,
    }


def pair(text: str) -> tuple[int, int]:
    """A length and a size."""
    length, size = (int(part) for part in text.split(","))
    if length < 3 or size < 1:
        raise ValueError
    return length, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", type=pair, action="append", metavar="T,M")
    parser.add_argument("--trials", type=int, default=0, help="as many as fit unless given")
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--peers", action="store_true", help="stronger ways beside the loop")
    parser.add_argument("output", nargs="?", default="")
    given = parser.parse_args()
    cases = given.at or USUAL.get(jax.default_backend(), USUAL["cpu"])
    iterations = given.iterations or (200 if on_gpu() else 50)
    if iterations < 1 or iterations % EVERY or given.trials < 0:
        parser.error(f"iterations come in tens ({EVERY} a look), trials are not negative")
    limit = copy_rate()
    record: dict = {**about(), "copy_bytes_per_second": limit, "rows": []}
    for case in cases:  # a row is there as soon as it is measured, whatever becomes of the next
        record["rows"].append(measure(*case, given.trials, iterations, limit, given.peers))
        text = json.dumps(record, indent=2)
        if given.output:
            Path(given.output).write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
