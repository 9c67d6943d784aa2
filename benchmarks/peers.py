"""How others would train the decoder of edelman2022's Figure 2, each as well as it is usually done.

Every function returns the seconds of one trial-iteration: a full-batch step with dropout, AdamW and
a clipped gradient, and a tenth of a look at the holdout.

- `loop`: one trial after another and every row, as minGPT does, with attention written out or by
  PyTorch's fused kernel.
- `vmapped`: many trials at once by `torch.func.vmap` of a gradient, compiled by `torch.compile`.
- `plain_jax`: many trials at once by `jit(vmap(scan))`, bfloat16, masks from a hash of a counter.

The last two know that one layer reads the last row alone, and that with dropout off a token is one
of two vectors per place, so that a look is a product of bits with a table.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import optax

WIDTH, HEADS, HIDDEN, HOLDOUT, EVERY, DROP = 64, 16, 256, 10_000, 10, 0.1
SIZE = WIDTH // HEADS
#: Inputs in which the loop may walk through the holdout; the fastest that fits counts.
PARTS = (50, 100, 250, 1000, 2500)
#: Bytes of the largest array of a part.
ROOM = 4e9


def shapes(length: int) -> dict[str, tuple[int, ...]]:
    """The weights that are drawn."""
    n, d = length + 1, WIDTH
    matrices = {name: (d, d) for name in ("query", "key", "value", "project")}
    gains = {f"{norm}_{part}": (d,) for norm in ("first", "second", "last") for part in "gs"}
    rest = {"tokens": (3, d), "positions": (n, d), "into": (d, HIDDEN), "out": (HIDDEN, d)}
    biases = {"into_bias": (HIDDEN,), "out_bias": (d,), "project_bias": (d,), "value_bias": (d,)}
    return {**matrices, **gains, **rest, **biases, "query_bias": (d,), "head": (d, 2)}


def on_gpu() -> bool:
    """Where all of them run."""
    return jax.default_backend() == "gpu"


# --- PyTorch --------------------------------------------------------------------------------------


def _spent(task: Callable[[], object], repeat: int) -> float:
    import torch

    wait = torch.cuda.synchronize if on_gpu() else lambda: None
    task()
    wait()
    began = time.perf_counter()
    for _ in range(repeat):
        task()
    wait()
    return (time.perf_counter() - began) / repeat


def loop(length: int, examples: int, fused: bool, steps: int = 5) -> float:
    """One trial after another, every row of the decoder; attention written out, or fused."""
    import torch
    from torch import nn

    device, n = "cuda" if on_gpu() else "cpu", length + 1
    torch.manual_seed(0)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(3, WIDTH)
            self.positions = nn.Parameter(torch.zeros(1, n, WIDTH))
            self.first, self.second, self.last = (nn.LayerNorm(WIDTH) for _ in range(3))
            self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(
                nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH), nn.Dropout(DROP)
            )
            self.head = nn.Linear(WIDTH, 2, bias=False)
            self.drop, self.drop_weights, self.drop_residual = (nn.Dropout(DROP) for _ in range(3))
            self.register_buffer("later", torch.ones(n, n, dtype=torch.bool).triu(1))

        def mix(self, q, k, v):
            if fused:
                drop = DROP if self.training else 0.0
                return nn.functional.scaled_dot_product_attention(
                    q, k, v, dropout_p=drop, is_causal=True
                )
            score = (q @ k.transpose(-2, -1)) * SIZE**-0.5
            return self.drop_weights(score.masked_fill(self.later, -torch.inf).softmax(-1)) @ v

        def forward(self, words):
            x = self.drop(self.tokens(words) + self.positions)
            b = len(x)
            q, k, v = self.qkv(self.first(x)).view(b, n, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
            mixed = self.mix(q, k, v).transpose(1, 2).reshape(b, n, WIDTH)
            x = x + self.drop_residual(self.project(mixed))
            return self.head(self.last(x + self.mlp(self.second(x))))[:, -1]

    model = Decoder().to(device)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=1e-3, weight_decay=1e-4, fused=device == "cuda"
    )
    words = torch.randint(0, 2, (examples, n), device=device)
    words[:, -1] = 2
    labels = words[:, :3].prod(1)

    def train() -> None:
        optimiser.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(words), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    def look(part: int) -> float:
        """Seconds for the whole holdout in parts of one size."""
        rows = words[torch.arange(part, device=device) % examples]
        model.eval()
        with torch.no_grad():
            found = _spent(lambda: model(rows), 2)
        model.train()
        return found * HOLDOUT / part

    largest = 4 * n * (8 * WIDTH if fused else HEADS * n)  # bytes an input
    fitting = [part for part in PARTS if part * largest <= ROOM] or PARTS[:1]
    return _spent(train, steps) + min(map(look, fitting)) / EVERY


def vmapped(length: int, examples: int, trials: int, steps: int = 10) -> float:
    """Many trials at once, the last row alone: `torch.func.vmap` of a gradient, compiled."""
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch.compiler.reset()  # each length is compiled for itself, not for all lengths at once
    device, n = "cuda" if on_gpu() else "cpu", length + 1
    weights = {
        name: 0.02 * torch.randn(trials, *shape, device=device)
        for name, shape in shapes(length).items()
    }
    bits = torch.randint(0, 2, (trials, examples, n), device=device)
    bits[:, :, -1] = 2
    labels = bits[:, :, :3].prod(-1)
    holdout = torch.randint(0, 2, (HOLDOUT, length), device=device)

    def norm(p, name, x):
        return F.layer_norm(x, (WIDTH,)) * (1 + p[f"{name}_g"]) + p[f"{name}_s"]

    def behind(p, x, mixed, drop):
        x = x + drop(mixed @ p["project"] + p["project_bias"])
        hidden = F.gelu(norm(p, "second", x) @ p["into"] + p["into_bias"])
        x = x + drop(hidden @ p["out"] + p["out_bias"])
        return norm(p, "last", x) @ p["head"]

    def asks(p, last):
        q = (last @ p["query"] + p["query_bias"]).unflatten(-1, (HEADS, SIZE)) * SIZE**-0.5
        return torch.einsum("...he,dhe->...hd", q, p["key"].unflatten(-1, (HEADS, SIZE)))

    def takes(p, mean):
        mixed = torch.einsum("...hd,dhe->...he", mean, p["value"].unflatten(-1, (HEADS, SIZE)))
        return mixed.flatten(-2) + p["value_bias"]

    def loss(p, words, labels):
        drop = lambda t: F.dropout(t, DROP)
        x = drop(p["tokens"][words] + p["positions"])
        z = norm(p, "first", x)
        score = torch.einsum("bhd,bnd->bhn", asks(p, z[:, -1]), z)
        mean = torch.einsum("bhn,bnd->bhd", drop(score.softmax(-1)), z)
        return F.cross_entropy(behind(p, x[:, -1], takes(p, mean), drop), labels)

    def look(p, holdout):
        last = p["tokens"][2] + p["positions"][-1]
        z = norm(p, "first", p["tokens"][:2, None] + p["positions"][None, :-1])
        z_last = norm(p, "first", last)
        asked = asks(p, z_last)
        score = torch.einsum("hd,wnd->wnh", asked, z)
        own = z_last @ asked.T
        top = torch.maximum(score.amax((0, 1)), own)
        e, e_own = (score - top).exp(), (own - top).exp()
        columns = torch.cat([e[..., None] * z[:, :, None], e[..., None]], -1).flatten(2)
        sums = columns[0].sum(0) + holdout.float() @ (columns[1] - columns[0])
        sums = sums.unflatten(-1, (HEADS, WIDTH + 1))
        top_sum = sums[..., :WIDTH] + e_own[:, None] * z_last
        mean = top_sum / (sums[..., WIDTH:] + e_own[:, None])
        return behind(p, last.expand(len(holdout), -1), takes(p, mean), lambda t: t).argmax(-1)

    gradient = torch.func.vmap(torch.func.grad(loss), randomness="different")
    moments = [{name: torch.zeros_like(w) for name, w in weights.items()} for _ in range(2)]

    @partial(torch.compile, dynamic=False)
    def step(weights, first, second, words, labels):
        found = gradient(weights, words, labels)
        length2 = sum((g**2).flatten(1).sum(1) for g in found.values())
        scale = (1.0 / length2.sqrt()).clamp(max=1.0)
        new, one, two = {}, {}, {}
        for name, w in weights.items():
            g = found[name] * scale.view(-1, *(1,) * (w.ndim - 1))
            one[name] = 0.9 * first[name] + 0.1 * g
            two[name] = 0.999 * second[name] + 0.001 * g**2
            new[name] = w * (1 - 1e-7) - 1e-3 * one[name] / (two[name].sqrt() + 1e-8)
        return new, one, two

    seen = torch.compile(torch.func.vmap(look, in_dims=(0, None)), dynamic=False)
    state = [weights, *moments]

    def train() -> None:
        state[:] = step(*state, bits, labels)

    with torch.no_grad():
        train()
        spent = _spent(train, steps) + _spent(lambda: seen(state[0], holdout), 3) / EVERY
    return spent / trials


# --- JAX ------------------------------------------------------------------------------------------


def plain_jax(length: int, examples: int, trials: int, iterations: int = 50) -> float:
    """Many trials at once, the last row alone: `jit(vmap(scan))`, masks from a hashed counter."""
    kind = jnp.bfloat16 if on_gpu() else jnp.float32
    n = length + 1

    def kept(seed, shape):
        x = jnp.arange(math.prod(shape), dtype=jnp.uint32) ^ seed
        x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
        x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
        return ((x ^ (x >> 16)) >= jnp.uint32(DROP * 2**32)).reshape(shape)

    def dropper(seed):
        count = iter(range(10))
        salt = lambda: seed + jnp.uint32(next(count)) * jnp.uint32(0x9E3779B9)
        return lambda t: jnp.where(kept(salt(), t.shape), t, 0) * (1 / (1 - DROP))

    def norm(p, name, x):
        wide = x.astype(jnp.float32)
        unit = wide - wide.mean(-1, keepdims=True)
        unit = unit * jax.lax.rsqrt((unit**2).mean(-1, keepdims=True) + 1e-5)
        return (unit * (1 + p[f"{name}_g"]) + p[f"{name}_s"]).astype(x.dtype)

    def behind(p, x, mixed, drop):
        x = x + drop(mixed @ p["project"] + p["project_bias"])
        hidden = jax.nn.gelu(norm(p, "second", x) @ p["into"] + p["into_bias"])
        x = x + drop(hidden @ p["out"] + p["out_bias"])
        return norm(p, "last", x) @ p["head"]

    def asks(p, last):
        q = (last @ p["query"] + p["query_bias"]).reshape(*last.shape[:-1], HEADS, SIZE)
        heads = p["key"].reshape(WIDTH, HEADS, SIZE)
        return jnp.einsum("...he,dhe->...hd", q * SIZE**-0.5, heads)

    def takes(p, mean):
        mixed = jnp.einsum("...hd,dhe->...he", mean, p["value"].reshape(WIDTH, HEADS, SIZE))
        return mixed.reshape(*mean.shape[:-2], WIDTH) + p["value_bias"]

    def loss(p, words, labels, seed):
        drop, wide = dropper(seed), jnp.float32
        x = drop((p["tokens"][words] + p["positions"]).astype(kind))
        z = norm(p, "first", x)
        asked = asks(p, z[:, -1].astype(wide)).astype(kind)
        score = jnp.einsum("bhd,bnd->bhn", asked, z, preferred_element_type=wide)
        weight = drop(jax.nn.softmax(score)).astype(kind)
        mean = jnp.einsum("bhn,bnd->bhd", weight, z, preferred_element_type=wide)
        output = behind(p, x[:, -1].astype(wide), takes(p, mean), drop)
        return optax.softmax_cross_entropy_with_integer_labels(output, labels).mean()

    def look(p, holdout):
        last = p["tokens"][2] + p["positions"][-1]
        z = norm(p, "first", p["tokens"][:2, None] + p["positions"][None, :-1])
        z_last = norm(p, "first", last)
        asked = asks(p, z_last)
        score, own = jnp.einsum("hd,wnd->wnh", asked, z), asked @ z_last
        top = jnp.maximum(score.max((0, 1)), own)
        e, e_own = jnp.exp(score - top), jnp.exp(own - top)
        columns = jnp.concatenate([e[..., None] * z[:, :, None], e[..., None]], -1)
        columns = columns.reshape(2, length, -1)
        sums = columns[0].sum(0) + holdout @ (columns[1] - columns[0]).astype(kind)
        sums = sums.astype(jnp.float32).reshape(len(holdout), HEADS, WIDTH + 1)
        top_sum = sums[..., :WIDTH] + e_own[:, None] * z_last
        mean = top_sum / (sums[..., WIDTH:] + e_own[:, None])
        same = lambda t: t
        return behind(p, jnp.broadcast_to(last, (len(holdout), WIDTH)), takes(p, mean), same)

    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=1e-4))

    def trial(key, holdout):
        drawn = jr.split(key, len(shapes(length)) + 1)
        weights = {
            name: 0.02 * jr.normal(k, shape)
            for k, (name, shape) in zip(drawn[1:], shapes(length).items(), strict=True)
        }
        words = jr.bernoulli(drawn[0], shape=(examples, n)).astype(int).at[:, -1].set(2)
        labels = words[:, :3].prod(1)
        start = jr.bits(drawn[0], (), jnp.uint32)

        def step(carry, number):
            weights, memory = carry
            found = jax.grad(loss)(weights, words, labels, start ^ number.astype(jnp.uint32))
            change, memory = optimizer.update(found, memory, weights)
            return (optax.apply_updates(weights, change), memory), None

        def block(carry, numbers):
            carry, _ = jax.lax.scan(step, carry, numbers)
            return carry, look(carry[0], holdout).argmax(-1).mean()

        numbers = jnp.arange(iterations).reshape(-1, EVERY)
        return jax.lax.scan(block, (weights, optimizer.init(weights)), numbers)[1]

    holdout = jr.bernoulli(jr.key(1), shape=(HOLDOUT, length)).astype(kind)
    run = jax.jit(jax.vmap(trial, in_axes=(0, None)))
    keys = jr.split(jr.key(0), trials)
    jax.block_until_ready(run(keys, holdout))
    best = float("inf")
    for _ in range(2):
        began = time.perf_counter()
        jax.block_until_ready(run(keys, holdout))
        best = min(best, time.perf_counter() - began)
    return best / (trials * iterations)


def measured(length: int, examples: int, trials: Sequence[int]) -> dict[str, float | None]:
    """Milliseconds of every peer, its best over trials at once; `None` where it fails."""

    def least(peer: Callable[..., float], *choices: tuple) -> float | None:
        found = []
        for choice in choices:
            try:
                found.append(1e3 * peer(length, examples, *choice))
            except Exception as error:  # out of memory, or a compiler that gives up
                print(f"{peer.__name__}{choice}: {type(error).__name__}: {error}"[:300], flush=True)
        return min(found, default=None)

    many = [(count,) for count in trials]
    return {
        "loop_ms": least(loop, (True,)),
        "vmapped_ms": least(vmapped, *many),
        "plain_jax_ms": least(plain_jax, *many),
    }
