"""Pruned and merged tokens side by side in one run: accuracy lost at equal measured speed.

    python benchmarks/prune_tome.py WEIGHTS.safetensors IMAGES [--groups JSON] [-o OUT.json]

Needs PyTorch and timm. A ViT of timm with these weights (DeiT-tiny's sizes unless `--model` names
another of timm's) reads the same images whole, with `limelight.torch.prune` under every policy, and
with ToMe: its own package where it is installed, else its published algorithm (Bolya et al. 2023),
written below. On a GPU when PyTorch sees one. Attention is timm's, fused where PyTorch fuses it;
variants take turns batch by batch, so that what else the machine does falls on all alike.

Accuracy at a speed is read off the line between the two measured points around it.
"""

import argparse
import functools
import json
import sys
import time
from pathlib import Path

import numpy as np
import timm
import torch
from safetensors.torch import load_file

import limelight.torch
from limelight._engine.store import now
from limelight.instruments.gallery import Gallery, group
from limelight.instruments.sight import Sight
from limelight.models import load_vit

KEEP = (0.9, 0.8, 0.7, 0.6, 0.5)
#: Tokens that ToMe merges in every block.
MERGED = (2, 4, 8, 12, 16)
SPEEDS = (1.1, 1.2, 1.3, 1.4, 1.5)


# --- ToMe -------------------------------------------------------------------------------------


def use_tome(model: torch.nn.Module, r: int) -> str:
    """Patch with ToMe, `r` tokens in each block; says whose code does it."""
    try:
        import tome

        tome.patch.timm(model)
        model.r = r
        return "tome, its own package"
    except Exception:  # not installed, or made for another timm
        for block in model.blocks:
            block.forward = functools.partial(tome_block, model, block)
        plain = type(model).forward

        def forward(x):
            model.tome_size, model.tome_r = None, r
            return plain(model, x)

        model.forward = forward
        return "Bolya et al. 2023, written in this script"


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


def variants(make):
    """Names, a parameter, whose code it is, and the network."""
    yield "whole", 1.0, "timm", make()
    for policy in limelight.torch.POLICIES:
        for keep in KEEP:
            yield policy, keep, "limelight.torch", limelight.torch.prune(make(), keep, None, policy)
    for r in MERGED:
        model = make()
        yield "tome", float(r), use_tome(model, r), model


def measure(cases, gallery, groups, batch: int, rounds: int, device: str):
    """Seconds per image and round, and which images are named rightly, of every case."""
    starts = list(range(0, len(gallery), batch))
    turns = max(rounds, len(starts))
    right = np.zeros((len(cases), len(gallery)), bool)
    seconds = np.zeros((len(cases), turns))
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
            began = time.perf_counter()
            with torch.inference_mode():
                logits = cases[i][3](pixels)
            wait()
            if turn >= 0:
                seconds[i, turn] = (time.perf_counter() - began) / batch
                right[i, places] = groups.predict(logits.float().cpu().numpy()) == labels[places]
        print(f"\rround {turn + 1} of {turns}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return right, seconds


def lost_at(rows: list[dict], speed: float) -> float | None:
    """Points of accuracy lost at this speed, between the two points around it."""
    points = sorted((row["speedup"], row["lost"]) for row in rows)
    x, y = zip(*points, strict=True)
    return float(np.interp(speed, x, y)) if x[0] <= speed <= x[-1] else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("images")
    parser.add_argument("--groups", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--model", default="deit_tiny_patch16_224")
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
    cases = list(variants(make))
    batch = min(batch, len(gallery))
    right, seconds = measure(cases, gallery, groups, batch, given.rounds, device)
    rows = [
        {
            "policy": name,
            "parameter": parameter,
            "by": by,
            "accuracy": float(mine.mean()),
            "lost": float(100 * (right[0].mean() - mine.mean())),
            "milliseconds": float(1e3 * np.median(spent)),
            "speedup": float(np.median(seconds[0] / spent)),
        }
        for (name, parameter, by, _), mine, spent in zip(cases, right, seconds, strict=True)
    ]
    names = list(dict.fromkeys(row["policy"] for row in rows))[1:]
    of = lambda name: [row for row in rows if row["policy"] in (name, "whole")]
    at_equal = {name: {str(s): lost_at(of(name), s) for s in SPEEDS} for name in names}
    for row in rows:
        print(f"{row['policy']:11s} {row['parameter']:5g}  {row['accuracy']:7.2%}", end="")
        print(f"  {row['milliseconds']:8.3f} ms  {row['speedup']:5.2f}x")
    print("\npoints of accuracy lost at equal measured speed")
    print("policy      " + "".join(f"{s:>8g}x" for s in SPEEDS))
    for name, lost in at_equal.items():
        cells = "".join("        -" if v is None else f"{v:9.2f}" for v in lost.values())
        print(f"{name:12s}{cells}")
    print("ToMe:", next(row["by"] for row in rows if row["policy"] == "tome"))
    if given.out:
        cpu = f"{torch.get_num_threads()} threads"
        where = torch.cuda.get_device_name() if device == "cuda" else cpu
        record = {
            "command": "python " + " ".join(["benchmarks/prune_tome.py", *sys.argv[1:]]),
            "date": now(),
            "device": where,
            "torch": torch.__version__,
            "timm": timm.__version__,
            "images": str(gallery),
            "batch": batch,
            "rounds": seconds.shape[1],
            "rows": rows,
            "lost_at_equal_speed": at_equal,
        }
        given.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
