"""Trials per second of the engine beside the ordinary way, measured side by side in one run.

The study is li2023's Figure 1(a) at small scale. The ordinary way is a loop over trials, each a
loop over steps, token by token: in PyTorch where it is installed, otherwise in JAX (compiled
once, one trial after another).
"""

import importlib.util
import os
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from limelight._core.backend import on_gpu
from limelight._core.keys import trial_key
from limelight._core.patience import side_by_side
from limelight._engine import device
from limelight._engine.batch import program
from limelight._engine.grid import assign
from limelight._engine.plan import make_plan
from limelight.experiments import Study
from limelight.measures import FreshLoss
from limelight.models import Shallow
from limelight.papers import load
from limelight.worlds import Patterns


@dataclass(frozen=True)
class Row:
    """One measured number, and what it was measured beside."""

    name: str
    value: float
    unit: str
    baseline: str
    ratio: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def measure(trials: int = 4, loop: int = 2, tokens: int = 16) -> list[Row]:
    """Every row of the benchmark.

    Args:
        trials: Trials per cell for the grouped trainer.
        loop: Trials of the ordinary loop.
        tokens: Trials, at least, of the token-level trainer.
    """
    setup = load("li2023").figure("fig1a").setup("small")
    study: Any = setup.experiment
    every_step = assign(study, {"train.early_exit": False})
    plain = assign(every_step, {"model.groups": False})
    fewer = {next(iter(setup.axes)): list(next(iter(setup.axes.values())))[2:3]}
    fewer |= {"train.examples": [16]}

    ordinary, name = _ordinary(plain, loop)
    grouped, compiling, size = _engine(study, setup.axes, trials)
    grouped_all, _, _ = _engine(every_step, setup.axes, trials)
    token, _, token_size = _engine(plain, fewer, tokens)
    return [
        Row(name, ordinary, "trials/s", "", None),
        Row("engine, grouped", grouped, "trials/s", name, grouped / ordinary),
        Row("engine, grouped, every step", grouped_all, "trials/s", name, grouped_all / ordinary),
        Row("engine, token by token", token, "trials/s", name, token / ordinary),
        Row("compiling, grouped", compiling, "s", "", None),
        Row("memory, grouped", size, "bytes/trial", "", None),
        Row("memory, token by token", token_size, "bytes/trial", "", None),
    ]


def _engine(study: Study, axes, trials: int) -> tuple[float, float, float]:
    """Trials per second once compiled, seconds to compile, bytes per trial."""
    plan = make_plan(study, axes, trials=trials)
    chunks = [plan.arguments(chunk) for chunk in plan.chunks]
    began = time.perf_counter()
    run = jax.jit(program(plan.groups[0])).lower(*chunks[0]).compile()
    compiling = time.perf_counter() - began
    jax.block_until_ready(run(*chunks[0]))
    hands = device.hands(plan.memory) if plan.cost.free else 1  # as the engine does
    call = lambda arguments: jax.block_until_ready(run(*arguments))
    began = time.perf_counter()
    side_by_side(call, chunks, hands, threading.Event())
    # The padding of the last chunk is computed but not counted.
    rate = plan.rows / (time.perf_counter() - began)
    return rate, compiling, plan.cost.bytes


def _ordinary(study: Study, loop: int) -> tuple[float, str]:
    if importlib.util.find_spec("torch") is not None:
        return _torch_loop(study, loop), "PyTorch loop"
    return _jax_loop(study, loop), "JAX, one trial after another"


def _jax_loop(study: Study, loop: int) -> float:
    fitted = assign(study, {"train.capacity": 48, "train.examples": 16})
    one = jax.jit(lambda seed, cell, trial: fitted.trial(trial_key(seed, cell, trial)))
    call = lambda trial: one(np.uint32(0), np.zeros(2, np.uint32), np.uint32(trial))
    jax.block_until_ready(call(0))
    began = time.perf_counter()
    for trial in range(loop):
        jax.block_until_ready(call(trial))
    return loop / (time.perf_counter() - began)


def _torch_loop(study: Study, loop: int) -> float:
    """Trials per second, on one thread or on all cores, whichever is faster."""
    torch = importlib.import_module("torch")
    device = "cuda" if torch.cuda.is_available() and on_gpu() else "cpu"
    rates = []
    for threads in {1, os.cpu_count() or 1}:
        torch.set_num_threads(threads)
        torch_trial(study, 0, device, steps=20)
        began = time.perf_counter()
        for seed in range(loop):
            torch_trial(study, seed, device)
        rates.append(loop / (time.perf_counter() - began))
    return max(rates)


def torch_trial(study: Study, seed: int, device: str = "cpu", steps: int | None = None) -> float:
    """One trial as one would write it in PyTorch; returns its test loss."""
    torch = importlib.import_module("torch")
    generator = torch.Generator().manual_seed(seed)
    world, train, model = study.world, study.train, study.model
    assert isinstance(world, Patterns)
    assert isinstance(model, Shallow)
    assert train is not None
    L, M, d, m = world.tokens, world.patterns, world.dimension, model.width
    normal = lambda *shape: torch.randn(*shape, generator=generator)

    def examples(count):
        counts = [np.asarray(world.counts(jnp.asarray(y))) for y in (1.0, -1.0)]
        rows = []
        for index in range(count):
            kinds = torch.tensor(np.repeat(np.arange(M), counts[index % 2]))
            rows.append(torch.eye(M, d)[kinds[torch.randperm(L, generator=generator)]])
        labels = torch.tensor([1.0, -1.0] * count)[:count]
        return torch.stack(rows).to(device), labels.to(device)

    def unit_columns():
        draws = normal(d, M)
        return draws / draws.norm(dim=0)

    mu = torch.eye(M, d)
    P = torch.eye(d, M)
    value = (P + model.value_error * unit_columns()) @ mu
    key = (P + model.key_error * unit_columns()) @ mu
    query = (P + model.key_error * unit_columns()) @ mu
    output = model.output_scale * normal(m, d)
    weights = [w.to(device).requires_grad_() for w in (output, value, key, query)]
    signs = torch.randint(0, 2, (L, m), generator=generator) * 2.0 - 1.0
    readout = (signs / m**0.5).to(device)

    def forward(X):
        output, value, key, query = weights
        logits = (X @ query.T) @ (X @ key.T).transpose(1, 2)
        context = torch.softmax(logits, dim=-1) @ X
        hidden = torch.relu(context @ (output @ value).T)
        return (readout * hidden).sum(dim=-1).mean(dim=-1)

    X, y = examples(16)
    optimizer = torch.optim.SGD(weights, lr=train.rate)
    for _ in range(steps or train.steps):
        index = torch.randint(0, len(X), (train.batch,), generator=generator).to(device)
        optimizer.zero_grad()
        torch.relu(1 - y[index] * forward(X[index])).mean().backward()
        optimizer.step()
    size = next((m.examples for m in study.measures if isinstance(m, FreshLoss)), 100)
    X, y = examples(size)
    with torch.no_grad():
        return float(torch.relu(1 - y * forward(X)).mean())
