"""What one full-batch step of jelassi2022's model (T) costs, against the formula.

    python benchmarks/descent.py [OUTPUT.json]

FLOPs of the formula count matrix products, two for a multiply and an add: 4NDd + 6ND^2 a step with
constant rates, 2ND^2 more where the steps follow the curvature; 4NDd with attention still. Beside
them stands XLA's own count of one step before compilation, everything elementwise included. Time is
per trial and step without drawing the data, as the engine runs them: many trials in one program, on
a CPU one after another and two programs at a time. The share of the memory-bandwidth limit counts
only the two passes over the patches, 8NDd bytes, over the rate at which a large array is read and
written, measured in the same run. Above 1 the cache serves.
"""

import json
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
from timing import about, copy_rate, seconds

from limelight._core.patience import side_by_side
from limelight._engine import device
from limelight._engine.batch import over_rows
from limelight._engine.cost import xla_flops
from limelight.models import Positional
from limelight.train.descent import Descent, Sample, train, tune
from limelight.worlds import Spatial

STEPS = 20


def measure(kind: str, D: int, N: int, d: int, trials: int, limit: float) -> dict:
    world = Spatial(tokens=D, dimension=d)
    descent = Descent(
        mode="two_rate" if kind == "two_rate" else "curvature", steps=STEPS, every=STEPS
    )
    still = kind == "still"
    formula = 4 * N * D * d + (0 if still else 6 if kind == "two_rate" else 8) * N * D * D

    def net(key):
        return Positional().init(key, world, world.draw(key))

    def data(key):
        tokens = jr.normal(key, (N, D, d)) * d**-0.5
        labels = jnp.sign(jr.normal(key, (N,)))
        return Sample(tokens, labels, jnp.full(N, 1 / N))

    def one(start, sample, z):
        step = descent.tune if still else descent.step
        return step(start, sample.tokens if still else z, sample, world.size)

    def whole(start, sample):
        return (tune if still else train)(descent, start, sample, world.size).net

    keys = jr.split(jr.key(0), trials)
    nets, samples = jax.jit(jax.vmap(net))(keys), jax.jit(jax.vmap(data))(keys)
    with jax.default_matmul_precision("highest"):
        z = jnp.zeros((trials, N, D))
        counted = xla_flops(jax.jit(jax.vmap(one)), nets, samples, z)
        program = jax.jit(over_rows(whole, in_turn=True)).lower(nets, samples).compile()
        hands = device.hands(samples.tokens.nbytes)
        call = lambda _: jax.block_until_ready(program(nets, samples))
        both = lambda: side_by_side(call, range(hands), hands, threading.Event())
        spent = seconds(both) / STEPS / trials / hands
    return {
        "step": kind,
        "patches": D,
        "examples": N,
        "dimension": d,
        "trials": trials,
        "programs": hands,
        "formula_flops": formula,
        "xla_flops_over_formula": counted / trials / formula,
        "microseconds_per_trial_step": 1e6 * spent,
        "gflops": formula / spent / 1e9,
        "trials_per_second_300_steps": 1 / (300 * spent),
        "bandwidth_share": 8 * N * D * d / spent / limit,
    }


def main(output: str = "") -> None:
    gpu = jax.default_backend() == "gpu"
    limit = copy_rate()
    cases = [
        ("two_rate", 16, 4096, 32, 64 if gpu else 4),
        ("curvature", 16, 4096, 32, 64 if gpu else 4),
        ("curvature", 36, 16 * 1296, 32, 32 if gpu else 1),
        ("still", 36, 512, 64, 256 if gpu else 4),
    ]
    cases += [("curvature", 64, 64 * 4096, 32, 4), ("curvature", 100, 32 * 10**4, 32, 2)] * gpu
    record = {**about(), "copy_bytes_per_second": limit}
    record["rows"] = [measure(*case, limit) for case in cases]
    text = json.dumps(record, indent=2)
    print(text)
    if output:
        Path(output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
