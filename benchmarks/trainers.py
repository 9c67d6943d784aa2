"""What one training step of li2023's model costs, token by token and grouped.

    python benchmarks/trainers.py [OUTPUT.json]

FLOPs and bytes are XLA's own count of one compiled step (forward and backward, batch 16), per
example; bytes that stay in a cache are counted too. Time is per trial and step, many trials in one
program. The share of the memory-bandwidth limit is bytes over time over the rate at which a large
array is read and written, measured in the same run: above 1 the cache serves.
"""

import json
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from timing import about, copy_rate, seconds

from limelight.models import Shallow
from limelight.models.base import split
from limelight.train.minibatch import Train
from limelight.worlds import Patterns

STEPS = 100


def measure(groups: bool, width: int, trials: int, limit: float) -> dict:
    world = Patterns(tokens=100, relevant=0.36, confusing=0.14)
    recipe = Shallow(width=width, groups=groups)
    train = Train(
        steps=STEPS, batch=16, rate=2.0, examples=48, capacity=48, every=STEPS, early_exit=False
    )
    truth = world.draw(jr.key(0))

    def prepared(key):
        model = recipe.init(key, world, truth)
        trained, rest = split(model)
        return trained, train._task(key, world, truth, model, rest)

    def step(trained, task):
        gradient = jax.grad(task.batch_loss)(trained, jnp.array(0))
        return jax.tree.map(lambda w, g: w - 2.0 * g, trained, gradient)

    trained, task = eqx.filter_jit(jax.vmap(prepared))(jr.split(jr.key(1), trials))
    arrays, static = eqx.partition(task, eqx.is_array)
    one = lambda t, a: step(t, eqx.combine(a, static))
    compiled = jax.jit(jax.vmap(one)).lower(trained, arrays).compile()
    counted = compiled.cost_analysis()

    def many(t, a):
        return jax.lax.scan(lambda w, _: (one(w, a), None), t, length=STEPS)[0]

    per_step = seconds(jax.jit(jax.vmap(many)), trained, arrays) / STEPS / trials
    moved = counted["bytes accessed"] / trials
    return {
        "trainer": "grouped" if groups else "token by token",
        "width": width,
        "trials": trials,
        "flops_per_example": counted["flops"] / trials / 16,
        "bytes_per_example": moved / 16,
        "microseconds_per_trial_step": 1e6 * per_step,
        "gflops": counted["flops"] / trials / per_step / 1e9,
        "bandwidth_share": moved / per_step / limit,
    }


def main(output: str = "") -> None:
    gpu = jax.default_backend() == "gpu"
    limit = copy_rate()
    cases = [(True, 100, 1024 if gpu else 64), (True, 1000, 512 if gpu else 16)]
    cases += [(False, 100, 256 if gpu else 4), (False, 1000, 32 if gpu else 2)]
    record = {**about(), "copy_bytes_per_second": limit}
    record["rows"] = [measure(*case, limit) for case in cases]
    text = json.dumps(record, indent=2)
    print(text)
    if output:
        Path(output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
