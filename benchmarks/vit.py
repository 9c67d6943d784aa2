"""Training ViTs on images beside a plain PyTorch loop over timm's, side by side in one run.

    python benchmarks/vit.py [--batch B] [--steps T] [--many N] [--compile] [--variants] [--alone]
        [--small] [OUTPUT.json]

Both train the ViT of li2023's Figure 6 on images of 32 x 32 that lie on the device, with crops,
flips, AdamW, a clipped gradient and a cosine; on a GPU both compute in bfloat16. The ordinary loop
trains one network after another, so that ten take ten times as long; ours trains one, and ten in
one program. Compilation is not counted. FLOPs are counted by formula (three times the forward
pass), and their rate is compared with that of a large matrix product in the same run. Needs
PyTorch and timm.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from timing import about, seconds
from vit_variants import VARIANTS, way

from limelight._engine.device import LIBRARY, for_gpu
from limelight.models import Vision
from limelight.train.images import ImageTraining
from limelight.worlds import Images
from limelight.worlds.sources._base import pictures

SIDE, PATCH, CLASSES, COUNT = 32, 4, 10, 10_000
WIDTH, DEPTH, HEADS, HIDDEN = 128, 5, 4, 256
OURS = ("one", "many")
RATE, DECAY, CLIP, PAD = 1e-3, 0.05, 1.0, 4


def data() -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels; what they show does not matter here."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (COUNT, SIDE, SIDE, 3), dtype=np.uint8)
    return images, rng.integers(0, CLASSES, COUNT)


def ordinary(batch: int, steps: int, mode: str = "", whole: bool = False) -> float:
    """Images a second of a stock loop, compiled in a mode of `torch.compile` if one is given.

    With `whole` the step, from drawing images to the update, is one CUDA graph.
    """
    import timm
    import torch
    from torch import nn

    device = "cuda" if jax.default_backend() == "gpu" else "cpu"
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = timm.models.VisionTransformer(
        img_size=SIDE,
        patch_size=PATCH,
        num_classes=CLASSES,
        embed_dim=WIDTH,
        depth=DEPTH,
        num_heads=HEADS,
        mlp_ratio=HIDDEN / WIDTH,
        class_token=False,
        global_pool="avg",
    ).to(device)
    torch.compiler.reset()
    call = torch.compile(model, mode=mode) if mode else model
    rate = torch.tensor(RATE, device=device) if whole else RATE
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=rate, weight_decay=DECAY, fused=device == "cuda", capturable=whole
    )
    pixels, labels = (torch.from_numpy(array).to(device) for array in data())
    padded = nn.functional.pad(pixels.permute(0, 3, 1, 2), (PAD,) * 4)
    span, count = torch.arange(SIDE, device=device), torch.zeros((), device=device)

    def pace() -> None:
        """Along a cosine; in a graph the rate is a number on the device."""
        if whole:
            count.add_(1)
            rate.copy_(RATE / 2 * (1 + torch.cos(torch.pi * count / 10_000)))
        else:
            schedule.step()

    def step() -> None:
        index = torch.randint(COUNT, (batch,), device=device)
        rows, columns = torch.randint(2 * PAD + 1, (2, batch, 1), device=device) + span
        flip = torch.rand(batch, 1, device=device) < 0.5
        columns = torch.where(flip, columns.flip(1), columns)
        here = torch.arange(batch, device=device)[:, None, None]
        chosen = padded[index].permute(0, 2, 3, 1)[here, rows[:, :, None], columns[:, None, :]]
        images = (chosen.permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.29
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = nn.functional.cross_entropy(call(images), labels[index])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        pace()

    schedule = None if whole else torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 10_000)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    again = captured(step) if whole else step
    for _ in range(5):
        again()
    best = np.inf
    for _ in range(3):
        wait()
        began = time.perf_counter()
        for _ in range(steps):
            again()
        wait()
        best = min(best, time.perf_counter() - began)
    return steps * batch / best


def captured(step: Callable[[], None]) -> Callable[[], None]:
    """A step as one CUDA graph, after some to warm up on a stream of their own."""
    import torch

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def ours(batch: int, steps: int, many: int, **words: bool) -> float:
    """Images a second, all networks together; the words are those of `way`."""
    program, keys, pixels = training(batch, steps, many)
    with way(**words):
        taken = seconds(program, keys, pixels)  # traced at the first call
    return many * steps * batch / taken


def training(batch: int, steps: int, many: int) -> tuple:
    """A program that trains networks and returns their losses, and what it is called with."""
    numbers = "bfloat16" if jax.default_backend() == "gpu" else "float32"
    images, labels = data()
    found = pictures("random", (images[100:], labels[100:]), (images[:100], labels[:100]))
    world = Images(patch=PATCH, augment="crop", data=found)
    recipe = Vision(WIDTH, DEPTH, HEADS, HIDDEN)
    course = ImageTraining(
        steps, batch, RATE, decay=DECAY, clip=CLIP, precision="bfloat16", numbers=numbers
    )

    def train(keys, pixels):
        here = dataclasses.replace(world, data=dataclasses.replace(found, images=pixels))

        def one(key):
            truth = here.draw(key)
            return course(key, here, truth, recipe.init(key, here, truth)).losses

        return jax.vmap(one)(keys)

    program = jax.jit(train, compiler_options=for_gpu(LIBRARY))  # as the studies of images do
    return program, jr.split(jr.key(0), many), jnp.asarray(found.images)


def variants(batch: int, steps: int, choices: Sequence[tuple]) -> list[dict]:
    """Images a second of other ways to take the step; none where a way fails."""
    rows = []
    for name, many, words in choices:
        row = {"way": name, "networks": many, "images_per_second": None}
        try:
            row["images_per_second"] = ours(batch, steps, many, **words)
        except Exception as error:  # out of memory, or a compiler that gives up
            print(f"{name}, {many}: {type(error).__name__}: {error}"[:300], flush=True)
        print(row, flush=True)
        rows.append(row)
    return rows


def flops() -> float:
    """Of one image in training, multiply and add apart."""
    tokens = (SIDE // PATCH) ** 2
    block = 2 * tokens * (4 * WIDTH**2 + 2 * WIDTH * HIDDEN) + 4 * tokens**2 * WIDTH
    return 3.0 * (DEPTH * block + 2 * tokens * 3 * PATCH**2 * WIDTH + 2 * WIDTH * CLASSES)


def product_rate() -> float:
    """FLOP/s of a large matrix product, in the numbers that training uses."""
    on_gpu = jax.default_backend() == "gpu"
    size, repeat = (8192, 20) if on_gpu else (1024, 4)
    a = jnp.ones((size, size), jnp.bfloat16 if on_gpu else jnp.float32)
    chain = jax.jit(lambda x: jax.lax.fori_loop(0, repeat, lambda _, y: (x @ y) / size, x))
    return repeat * 2.0 * size**3 / seconds(chain, a)


def here(alone: bool) -> dict:
    """The command, the moment and the machine, with the versions of the ordinary loop."""
    found = about()
    beside = () if alone else ("torch", "timm")
    found["versions"] |= {name: metadata.version(name) for name in beside}
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--batch", type=int, default=256)
    words.add_argument("--steps", type=int, default=0)
    words.add_argument("--many", type=int, default=10)
    words.add_argument("--compile", action="store_true", help="torch.compile beside the plain loop")
    words.add_argument("--variants", action="store_true", help="other ways to take our step")
    words.add_argument("--alone", action="store_true", help="no ordinary loop beside")
    words.add_argument("--small", action="store_true", help="one block, two networks: does it work")
    words.add_argument("output", nargs="?", default="")
    told = words.parse_args()
    choices = VARIANTS
    if told.small:
        global DEPTH
        DEPTH, told.many = 1, 2
        choices = [(name, min(many, 2), words) for name, many, words in VARIANTS]
    steps = told.steps or (100 if jax.default_backend() == "gpu" else 2)
    rates = {} if told.alone else {"torch_loop": ordinary(told.batch, steps)}
    rates |= {
        "one": ours(told.batch, steps, 1),
        "many": ours(told.batch, steps, told.many),
    }
    if told.compile:
        rates["torch_compiled_loop"] = ordinary(told.batch, steps, "default")
        rates["torch_graphs_loop"] = ordinary(told.batch, steps, "reduce-overhead")
        if jax.default_backend() == "gpu":
            rates["torch_step_in_a_graph"] = ordinary(told.batch, steps, "default", True)
    if not told.alone:
        rates["torch_loop"] = max(rates["torch_loop"], ordinary(told.batch, steps))
    limit = product_rate()
    record = {
        **here(told.alone),
        "batch": told.batch,
        "steps": steps,
        "networks": told.many,
        "images_per_second": rates,
        **({} if told.alone else {f"ratio_{n}": rates[n] / rates["torch_loop"] for n in OURS}),
        "flops_per_image": flops(),
        "product_flops_per_second": limit,
        "share_of_product": {name: rate * flops() / limit for name, rate in rates.items()},
    }
    if told.variants:
        record["variants"] = variants(told.batch, steps, choices)
    text = json.dumps(record, indent=2)
    print(text)
    if told.output:
        Path(told.output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
