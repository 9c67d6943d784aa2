"""One trial-iteration of edelman2022's Figure 2 beside the ordinary loop, side by side in one run.

    python benchmarks/decoder.py [--length T] [--examples M] [--trials N] [OUTPUT.json]

The ordinary way is a PyTorch loop over one trial at a time that computes every row of the decoder,
as minGPT does: a full-batch step, and a holdout of 10,000 every 10 iterations. Ours is what
`limelight run edelman2022 fig2` runs: the same protocol, many trials in one program. Both are
timed with training and looks, without compilation. FLOPs are counted by formula, bytes for the
token arrays that each way moves. Needs PyTorch; on a machine with a GPU both run there.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import jax
import numpy as np

from limelight.papers.edelman2022.learning import Learning
from limelight.study.device import describe_machine
from limelight.study.plan import compiled, make_plan
from limelight.worlds import SparseBoolean

#: Sizes in which the ordinary loop may walk through the holdout; the fastest counts.
PARTS = (50, 100, 250, 1000)
WIDTH, HEADS, HIDDEN, HOLDOUT, EVERY, DROP = 64, 16, 256, 10_000, 10, 0.1


def ordinary(length: int, examples: int, steps: int = 3) -> float:
    """Seconds a trial-iteration of a stock PyTorch loop, its share of a look included."""
    import torch
    from torch import nn

    device = "cuda" if jax.default_backend() == "gpu" else "cpu"
    torch.manual_seed(0)

    class Stock(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(3, WIDTH)
            self.positions = nn.Parameter(torch.zeros(1, length + 1, WIDTH))
            self.first, self.second, self.last = (nn.LayerNorm(WIDTH) for _ in range(3))
            self.query, self.key, self.value, self.project = (
                nn.Linear(WIDTH, WIDTH) for _ in range(4)
            )
            self.mlp = nn.Sequential(
                nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH), nn.Dropout(DROP)
            )
            self.head = nn.Linear(WIDTH, 2, bias=False)
            self.drop, self.drop_weights, self.drop_residual = (nn.Dropout(DROP) for _ in range(3))
            mask = torch.tril(torch.ones(length + 1, length + 1))
            self.register_buffer("mask", mask[None, None] == 0)

        def forward(self, words):
            x = self.drop(self.tokens(words) + self.positions)
            z, (b, n, _) = self.first(x), x.shape
            split = lambda t: t.view(b, n, HEADS, -1).transpose(1, 2)
            q, k, v = split(self.query(z)), split(self.key(z)), split(self.value(z))
            score = (q @ k.transpose(-2, -1)) / (WIDTH // HEADS) ** 0.5
            weight = self.drop_weights(score.masked_fill(self.mask, -torch.inf).softmax(-1))
            mixed = (weight @ v).transpose(1, 2).reshape(b, n, WIDTH)
            x = x + self.drop_residual(self.project(mixed))
            x = x + self.mlp(self.second(x))
            return self.head(self.last(x))[:, -1]

    model = Stock().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    words = torch.randint(0, 2, (examples, length + 1), device=device)
    words[:, -1] = 2
    labels = words[:, :3].prod(1)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def train() -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(words), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    def seconds(task, repeat: int) -> float:
        task()
        wait()
        began = time.perf_counter()
        for _ in range(repeat):
            task()
        wait()
        return (time.perf_counter() - began) / repeat

    def look(part: int) -> float:
        """Seconds for the whole holdout in parts of one size."""
        rows = torch.randint(0, 2, (part, length + 1), device=device)
        rows[:, -1] = 2
        model.eval()
        with torch.no_grad():
            found = seconds(lambda: model(rows), 2)
        model.train()
        return found * HOLDOUT / part

    return seconds(train, steps) + min(look(part) for part in PARTS) / EVERY


def ours(length: int, examples: int, trials: int, iterations: int) -> float:
    """Seconds a trial-iteration of the engine, looks and starts included."""
    numbers = "bfloat16" if jax.default_backend() == "gpu" else "float32"
    world = SparseBoolean(length=length, sparsity=3, rule="and")
    # Nothing ends early, so that every trial-iteration is counted once.
    experiment = Learning(world=world, iterations=iterations, numbers=numbers, share=1.0)
    plan = make_plan(experiment, {"examples": [examples]}, trials=trials, width=trials)
    chunk = plan.chunks[0]
    arguments = plan.arguments(chunk)
    lanes = compiled(plan.groups[0], arguments)
    best = np.inf
    for _ in range(2):
        began = time.perf_counter()
        lanes(arguments, plan.parts(chunk))
        best = min(best, time.perf_counter() - began)
    return best / (trials * iterations)


def counts(length: int, examples: int) -> dict[str, float]:
    """FLOPs of one trial-iteration, multiply and add apart, a look's tenth included."""
    n, d, heads = length + 1, WIDTH, HEADS
    rows = 24 * n * d**2 + 4 * n**2 * d
    absorbed = 4 * n * d * heads + 24 * d**2
    table = 4 * length * heads * (d // heads + 1) + 18 * d**2
    look = HOLDOUT / EVERY
    return {
        "ordinary_flops": 3 * examples * rows + look * rows,
        "our_flops": 3 * examples * absorbed + look * table,
        "ordinary_bytes_of_scores": 3 * 4.0 * examples * heads * n**2,
        "our_bytes_of_tokens": 4.0 * examples * n * d,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("output", nargs="?", default="")
    given = parser.parse_args()
    trials = given.trials or (200 if jax.default_backend() == "gpu" else 8)
    slow = ordinary(given.length, given.examples)
    fast = ours(given.length, given.examples, trials, given.iterations)
    slow = min(slow, ordinary(given.length, given.examples))
    record = {
        "command": "python " + " ".join(sys.argv),
        "length": given.length,
        "examples": given.examples,
        "trials": trials,
        "ratio": slow / fast,
        "ordinary_ms": 1e3 * slow,
        "our_ms": 1e3 * fast,
        "our_ns_a_token": 1e9 * fast / (given.examples * (given.length + 1)),
        **counts(given.length, given.examples),
        **describe_machine(),
    }
    text = json.dumps(record, indent=2)
    print(text)
    if given.output:
        Path(given.output).write_text(text + "\n")


if __name__ == "__main__":
    main()
