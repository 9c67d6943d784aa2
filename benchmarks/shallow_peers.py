"""How others would train li2023's shallow ViT many at once, each as well as it is usually done.

Both train the model of `limelight.bench.torch_trial` token by token, on the same data and for as
many steps, all trials in one program, and return trials per second:

- `plain_jax`: `jit(vmap(scan))`, all steps and the test loss in one program;
- `vmapped`: `torch.func.vmap` of a gradient, compiled by `torch.compile`, a call for each step.
"""

import math
import time
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

#: Training examples of a trial, and fresh ones for its test loss.
EXAMPLES, FRESH = 16, 100
#: Steps of PyTorch that are timed; they cost the same from first to last.
TIMED = 20


def kinds(study, count: int) -> np.ndarray:
    """The pattern of each token, before its place is drawn: labels alternate."""
    counts = [np.asarray(study.world.counts(jnp.asarray(y))) for y in (1.0, -1.0)]
    each = [np.repeat(np.arange(study.world.patterns), of) for of in counts]
    return np.stack([each[index % 2] for index in range(count)])


def jax_trial(study) -> Callable[[jax.Array], jax.Array]:
    """One trial as one would write it in JAX: from a key to its test loss."""
    world, train, model = study.world, study.train, study.model
    L, M, d, m = world.tokens, world.patterns, world.dimension, model.width
    mu, P = jnp.eye(M, d), jnp.eye(d, M)
    training, fresh = kinds(study, EXAMPLES), kinds(study, FRESH)

    def examples(key, kinds):
        placed = jr.permutation(key, kinds, axis=1, independent=True)
        return mu[placed], jnp.where(jnp.arange(len(kinds)) % 2 == 0, 1.0, -1.0)

    def near(key, error):
        drawn = jr.normal(key, (d, M))
        return (P + error * drawn / jnp.linalg.norm(drawn, axis=0)) @ mu

    def forward(weights, readout, X):
        output, value, key, query = weights
        S = jax.nn.softmax((X @ query.T) @ (X @ key.T).swapaxes(1, 2))
        return (readout * jax.nn.relu(S @ X @ (output @ value).T)).sum(-1).mean(-1)

    def loss(weights, readout, X, y):
        return jax.nn.relu(1 - y * forward(weights, readout, X)).mean()

    def trial(key):
        keys = jr.split(key, 8)
        weights = (
            model.output_scale * jr.normal(keys[0], (m, d)),
            near(keys[1], model.value_error),
            near(keys[2], model.key_error),
            near(keys[3], model.key_error),
        )
        readout = jr.rademacher(keys[4], (L, m), float) / math.sqrt(m)
        X, y = examples(keys[5], training)

        def step(weights, key):
            index = jr.randint(key, (train.batch,), 0, EXAMPLES)
            found = jax.grad(loss)(weights, readout, X[index], y[index])
            return jax.tree.map(lambda w, g: w - train.rate * g, weights, found), None

        weights, _ = jax.lax.scan(step, weights, jr.split(keys[6], train.steps))
        return loss(weights, readout, *examples(keys[7], fresh))

    return trial


def plain_jax(study, trials: int) -> float:
    """Trials per second of one program for all trials."""
    run = jax.jit(jax.vmap(jax_trial(study)))
    keys = jr.split(jr.key(0), trials)
    jax.block_until_ready(run(keys))
    began = time.perf_counter()
    jax.block_until_ready(run(keys))
    return trials / (time.perf_counter() - began)


def vmapped(study, trials: int) -> float:
    """Trials per second of one compiled step for all trials."""
    import torch

    world, train, model = study.world, study.train, study.model
    L, M, d, m = world.tokens, world.patterns, world.dimension, model.width
    device = "cuda" if jax.default_backend() == "gpu" else "cpu"
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    torch.manual_seed(0)
    torch.compiler.reset()
    mu, P = torch.eye(M, d), torch.eye(d, M)

    def near(error):
        drawn = torch.randn(trials, d, M)
        return (P + error * drawn / drawn.norm(dim=1, keepdim=True)) @ mu

    placed = torch.tensor(kinds(study, EXAMPLES)).expand(trials, -1, -1)
    placed = placed.gather(2, torch.rand(trials, EXAMPLES, L).argsort(-1))
    X, y = mu[placed].to(device), torch.tensor([1.0, -1.0] * (EXAMPLES // 2), device=device)
    drawn = model.output_scale * torch.randn(trials, m, d)
    starts = (drawn, near(model.value_error), near(model.key_error), near(model.key_error))
    weights = tuple(w.to(device) for w in starts)
    readout = ((torch.randint(0, 2, (trials, L, m)) * 2.0 - 1.0) / m**0.5).to(device)
    who = torch.arange(trials, device=device)[:, None]

    def loss(weights, readout, X, y):
        output, value, key, query = weights
        S = torch.softmax((X @ query.T) @ (X @ key.T).transpose(1, 2), dim=-1)
        found = (readout * torch.relu(S @ X @ (output @ value).T)).sum(-1).mean(-1)
        return torch.relu(1 - y * found).mean()

    gradient = torch.func.vmap(torch.func.grad(loss))

    @torch.compile(dynamic=False)
    def step(weights, index):
        found = gradient(weights, readout, X[who, index], y[index])
        return tuple(w - train.rate * g for w, g in zip(weights, found, strict=True))

    def steps(count):
        found = weights
        with torch.no_grad():
            for _ in range(count):
                index = torch.randint(0, EXAMPLES, (trials, train.batch), device=device)
                found = step(found, index)
        wait()

    steps(3)
    began = time.perf_counter()
    steps(TIMED)
    return trials / ((time.perf_counter() - began) * train.steps / TIMED)


def measured(study, trials: Sequence[int]) -> dict[str, float]:
    """Trials per second of every peer that runs here, its best over trials at once."""
    ways: dict[str, Callable[..., float]] = {
        "JAX, many at once": plain_jax,
        "PyTorch, many at once, compiled": vmapped,
    }
    found = {}
    for name, way in ways.items():
        rates = []
        for count in trials:
            try:
                rates.append(way(study, count))
            except Exception as error:  # no PyTorch, out of memory, a compiler that gives up
                print(f"{name}, {count}: {type(error).__name__}: {error}"[:300], flush=True)
        if rates:
            found[name] = max(rates)
    return found
