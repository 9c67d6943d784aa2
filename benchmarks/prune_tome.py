"""Pruned and merged tokens side by side in one run: accuracy lost at equal measured speed.

    python benchmarks/prune_tome.py WEIGHTS.safetensors IMAGES [--groups JSON] [-o OUT.json]

Needs PyTorch and timm. A ViT of timm with these weights (DeiT-tiny's sizes unless `--model` names
another of timm's) reads the same images whole, with `limelight.torch.prune` under every policy, and
with ToMe: its own package where one is found that runs with this timm (it is not on PyPI; `tome`
there is something else), otherwise its published algorithm (Bolya et al. 2023), written below. On a
GPU when PyTorch sees one. Attention is timm's, fused where PyTorch fuses it; variants take turns
batch by batch, so that what else the machine does falls on all alike. A speed is a ratio of wall
clocks on a GPU, and of processor seconds on a CPU, which what else runs there does not lengthen.

Accuracy at a speed is read off the line between the two measured points around it; intervals are
over images, drawn again 2,000 times (95 %).
"""

import argparse
import functools
import itertools
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a thread that waits costs nothing
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the GPU is PyTorch's here

import numpy as np
import timm
import torch
from safetensors.torch import load_file

import limelight.torch
from limelight._core.files import atomic
from limelight._engine.store import now
from limelight.instruments.gallery import Gallery, group
from limelight.instruments.sight import Sight
from limelight.models import load_vit

KEEP = (0.9, 0.8, 0.7, 0.6, 0.5)
#: Tokens that ToMe merges in every block.
MERGED = (2, 4, 8, 12, 16)
SPEEDS = (1.1, 1.2, 1.3, 1.4, 1.5)
WHOLE, TOME = "whole", "tome"
DRAWS = 2000


# --- ToMe -------------------------------------------------------------------------------------


def with_tome(make, r: int) -> tuple[torch.nn.Module, str]:
    """A network that merges `r` tokens in each block, and whose code does it."""
    found = own_tome(make(), r)
    if found is not None:
        return found, "tome, its own package"
    model = make()
    for block in model.blocks:
        block.forward = functools.partial(tome_block, model, block)
    plain = type(model).forward

    def forward(x):
        model.tome_size, model.tome_r = None, r
        return plain(model, x)

    model.forward = forward
    return model, "Bolya et al. 2023, written in this script"


def own_tome(model: torch.nn.Module, r: int) -> torch.nn.Module | None:
    """Patched by ToMe's package; nothing where there is none, or none that this timm runs."""
    try:
        import tome

        tome.patch.timm(model)
        model.r = r
        size = model.patch_embed.img_size
        with torch.inference_mode():
            model(torch.zeros(1, 3, *size, device=next(model.parameters()).device))
    except Exception as reason:
        if not isinstance(reason, ImportError):
            print(f"the package tome does not run here: {reason}", file=sys.stderr)
        return None
    return model


def tome_block(model, block, x, *_, **__):
    """Attention in proportion to sizes, then a merge on keys, then the perceptron."""
    size = model.tome_size
    y = block.norm1(x)
    mask = None if size is None else size.log()[:, None, None, :, 0]
    x = x + block.drop_path1(block.ls1(block.attn(y, attn_mask=mask)))
    r = min(model.tome_r, (x.shape[1] - model.num_prefix_tokens) // 2)
    if r > 0:
        width = y.shape[2]
        weight, bias = block.attn.qkv.weight[width : 2 * width], block.attn.qkv.bias
        keys = torch.nn.functional.linear(
            y, weight, None if bias is None else bias[width : 2 * width]
        )
        keys = keys.unflatten(-1, (block.attn.num_heads, -1)).mean(dim=2)
        x, model.tome_size = tome_merge(x, keys, size, r, model.num_prefix_tokens)
    return x + block.drop_path2(block.ls2(block.mlp(block.norm2(x))))


def tome_merge(x, keys, size, r: int, held: int):
    size = torch.ones_like(x[..., :1]) if size is None else size
    keys = torch.nn.functional.normalize(keys, dim=-1)
    scores = keys[:, ::2] @ keys[:, 1::2].transpose(1, 2)
    if held:
        scores[:, 0] = -torch.inf  # the class token stays
    best, partner = scores.max(dim=-1)
    order = best.argsort(dim=-1, descending=True)
    going, staying = order[:, :r], order[:, r:].sort(dim=-1).values
    joins = partner.gather(1, going)
    pick = lambda v, i: v.gather(1, i[..., None].expand(-1, -1, v.shape[2]))

    def merged(v):
        to = joins[..., None].expand(-1, -1, v.shape[2])
        odd = v[:, 1::2].scatter_add(1, to, pick(v[:, ::2], going))
        return torch.cat([pick(v[:, ::2], staying), odd], dim=1)

    total = merged(size)
    return merged(x * size) / total, total


# --- the run ----------------------------------------------------------------------------------


def variants(make, policies, blocks):
    """Names, a parameter, whose code it is, and the network."""
    yield WHOLE, 1.0, "timm", make()
    for policy, at, keep in itertools.product(policies, blocks, KEEP):
        model = limelight.torch.prune(make(), keep, at, policy)
        yield f"{policy}, block {at}", keep, "limelight.torch", model
    for r in MERGED:
        model, by = with_tome(make, r)
        yield TOME, float(r), by, model


def measure(cases, gallery, groups, batch: int, rounds: int, device: str):
    """Which images every case names rightly, and its wall and processor seconds per image."""
    starts = list(range(0, len(gallery), batch))
    turns = max(rounds, len(starts))
    right = np.zeros((len(cases), len(gallery)), bool)
    wall, spent = np.zeros((2, len(cases), turns))
    moments = [torch.tensor(np.array(m), dtype=torch.float32, device=device)[:, None, None]
               for m in gallery.sight.moments(gallery.pictures, "imagenet")]  # fmt: skip
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    labels = gallery.labels()
    for turn in range(-1, turns):  # the first turn is not counted
        first = starts[max(turn, 0) % len(starts)]
        places = np.arange(first, first + batch) % len(gallery)
        images, _ = gallery.images(places)
        pixels = torch.tensor(images, device=device).permute(0, 3, 1, 2).float() / 255
        pixels = (pixels - moments[0]) / moments[1]
        for offset in range(len(cases)):
            i = (turn + offset) % len(cases)
            wait()
            began, cpu = time.perf_counter(), time.process_time()
            with torch.inference_mode():
                logits = cases[i][3](pixels)
            wait()
            if turn >= 0:
                wall[i, turn] = (time.perf_counter() - began) / batch
                spent[i, turn] = (time.process_time() - cpu) / batch
                right[i, places] = groups.predict(logits.float().cpu().numpy()) == labels[places]
        print(f"\rround {turn + 1} of {turns}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return right, wall, spent


def at_equal_speed(names, speedups, right) -> dict:
    """Points of accuracy lost at some speeds, and lost more than ToMe loses there."""
    draws = np.random.default_rng(0).multinomial(
        right.shape[1], np.full(right.shape[1], 1 / right.shape[1]), DRAWS
    )
    counts = np.concatenate([np.ones((1, right.shape[1])), draws])  # the images as they are first
    lost = 100 * counts @ (right[:1].astype(float) - right).T / right.shape[1]

    def path(name):
        mine = [i for i, other in enumerate(names) if other in (name, WHOLE)]
        order = sorted(mine, key=lambda i: speedups[i])
        x = speedups[order]
        known = [s if x[0] <= s <= x[-1] else np.nan for s in SPEEDS]
        return np.stack([np.interp(known, x, row) for row in lost[:, order]])

    told = lambda column: (
        None
        if np.isnan(column[0])
        else [float(column[0]), *map(float, np.quantile(column[1:], (0.025, 0.975)))]
    )
    theirs, found = path(TOME), {}
    for name in dict.fromkeys(names[1:]):
        mine = path(name)
        found[name] = {
            f"{speed:g}": {"lost": told(mine[:, k]), "over_tome": told((mine - theirs)[:, k])}
            for k, speed in enumerate(SPEEDS)
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("images")
    parser.add_argument("--groups", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--model", default="deit_tiny_patch16_224")
    parser.add_argument(
        "--at", type=int, action="append", help="cut after it; 3 and 6 if not given"
    )
    parser.add_argument("--policy", action="append", choices=limelight.torch.POLICIES)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch = given.batch or (256 if device == "cuda" else 16)
    state = {k: v.float() for k, v in load_file(given.weights).items()}

    def make():
        model = timm.create_model(given.model)
        model.load_state_dict(state)
        return model.eval().to(device)

    sight = Sight.of(load_vit(make().cpu()))
    gallery = Gallery.load(given.images, sight, limit=given.limit, pixels="imagenet")
    groups = group(len(state["head.bias"]), gallery.pictures, given.groups)
    policies = given.policy or limelight.torch.POLICIES
    cases = list(variants(make, policies, given.at or (3, 6)))
    batch = min(batch, len(gallery))
    right, wall, spent = measure(cases, gallery, groups, batch, given.rounds, device)
    clock = wall if device == "cuda" else spent
    speedups = np.median(clock[:1] / clock, axis=1)
    rows = [
        {
            "policy": name,
            "parameter": parameter,
            "by": by,
            "accuracy": float(right[i].mean()),
            "lost": float(100 * (right[0].mean() - right[i].mean())),
            "milliseconds": float(1e3 * np.median(wall[i])),
            "processor_milliseconds": float(1e3 * np.median(spent[i])),
            "speedup": float(speedups[i]),
        }
        for i, (name, parameter, by, _) in enumerate(cases)
    ]
    equal = at_equal_speed([row["policy"] for row in rows], speedups, right)
    for row in rows:
        print(f"{row['policy']:20s} {row['parameter']:5g}  {row['accuracy']:7.2%}", end="")
        print(
            f"  {row['milliseconds']:8.3f} ms  {row['processor_milliseconds']:8.3f} ms of CPU",
            end="",
        )
        print(f"  {row['speedup']:5.2f}x")
    print("\npoints of accuracy lost at equal measured speed, 95 %")
    print(" " * 20 + "".join(f"{s:>21g}x" for s in SPEEDS))
    for name, at in equal.items():
        cells = (v["lost"] and "{:.2f} ({:.2f} to {:.2f})".format(*v["lost"]) for v in at.values())
        print(f"{name:20s}" + "".join(f"{cell or '-':>22s}" for cell in cells))
    print("ToMe:", rows[-1]["by"])
    if given.out:
        cpu = f"{torch.get_num_threads()} CPU threads"
        record = {
            "command": "python " + " ".join(["benchmarks/prune_tome.py", *sys.argv[1:]]),
            "date": now(),
            "device": torch.cuda.get_device_name() if device == "cuda" else cpu,
            "clock": "wall" if device == "cuda" else "processor",
            "torch": torch.__version__,
            "timm": timm.__version__,
            "images": str(gallery),
            "batch": batch,
            "rounds": wall.shape[1],
            "load_average": os.getloadavg()[0],
            "rows": rows,
            "at_equal_speed": equal,
        }
        with atomic(given.out) as temporary:
            temporary.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
