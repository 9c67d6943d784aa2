"""`limelight prune`: what keeping fewer tokens of a real ViT costs, and what it saves."""

import shlex
import sys
from pathlib import Path

import typer

from limelight._cli.images import (
    Images,
    NetworkOptions,
    Preparing,
    Vit,
    how_read,
    inputs,
    name_of,
    say_read,
)
from limelight._cli.options import Json, Seed, check_output, spread
from limelight._cli.progress import Bar, busy
from limelight._cli.text import emit, print_table, say


@spread
def prune(
    file: Path = Vit,
    images: str | None = Images,
    keep: list[float] = typer.Option(
        [0.9, 0.7, 0.5],
        "--keep",
        metavar="FRACTION",
        help="The fraction of the patches to keep. May be repeated, to compare.",
    ),
    policy: list[str] = typer.Option(
        [],
        "--policy",
        metavar="WORD",
        help="How to choose patches: attention, similarity, norm, random or truth. May be repeated;"
        " all that apply if not given.",
    ),
    at: list[int] = typer.Option(
        [],
        "--at",
        metavar="BLOCK",
        help="Drop patches after this block, a quarter of the way if not given. May be repeated.",
    ),
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="Write a copy of the network that says how to prune it, for limelight.torch.prune.",
    ),
    plot: Path | None = typer.Option(
        None, "--plot", metavar="FILE", help="Draw accuracy against time and FLOPs to this file."
    ),
    groups: Path | None = typer.Option(
        None,
        "--groups",
        metavar="JSON",
        help="A JSON file that lists, for each class, the outputs that count as it.",
    ),
    limit: int | None = typer.Option(
        None,
        "--limit",
        metavar="NUMBER",
        help="The largest number of images to use; all if not given.",
    ),
    *,
    preparing: Preparing,
    said: NetworkOptions,
    batch: int | None = typer.Option(
        None, "--batch", metavar="NUMBER", help="The number of images per call of the network."
    ),
    rounds: int = typer.Option(
        10, "--rounds", metavar="NUMBER", help="The least number of times to time each variant."
    ),
    seed: int = Seed,
    json: bool = Json,
) -> None:
    """Drop patches inside a ViT and measure accuracy, FLOPs and time beside the whole network.

    After one block, the patches that the policy ranks lowest are removed. The policy `attention`
    removes those that the class token attends to least (without one, what patches attend to),
    `similarity` merges those most alike as ToMe does, `norm` removes the shortest tokens, `random`
    removes any, and `truth` removes the background (for images pasted onto others). Every variant
    sees the same images. Test images are used where a source has them. In a folder, the name of
    each subfolder is the class of its images: photos/CLASS/*.jpg.

    Examples:
      limelight prune vit.safetensors --images cifar10 --groups groups.json
      limelight prune vit.safetensors --images photos/ --keep 0.8 -o a.safetensors
      limelight prune vit.safetensors --images photos/ --at 3 --at 6 --plot a.png
      limelight prune vit.safetensors --images cifar10 --behind tiles
    """
    from limelight._core.errors import InputError

    if images is None:
        raise InputError("no images", "add --images with a folder, or a name such as cifar10")
    if output is not None:
        check_output(output, ".safetensors")
        if len(keep) != 1 or len(policy) > 1 or len(at) > 1:
            raise InputError(
                "which schedule to write is not clear", "one --keep, --policy and --at"
            )
    if plot is not None:
        check_output(plot, ".png", ".svg", ".pdf")
    with busy("reading"):
        from limelight._engine.device import use_cache
        from limelight._engine.store import now
        from limelight.instruments.gallery import group
        from limelight.instruments.prune import prune as measure
        from limelight.instruments.sight import Sight
        from limelight.models._schedule import Schedule, kept_patches, write_schedule

        for share in keep:
            kept_patches(share, 1)
        use_cache()
        name, network = name_of(file), said.load(file)
        model, sight = network.model, Sight.of(network)
        if model.outputs is None:
            raise InputError(f"{name} has no head that names classes", "probe needs none")
        gallery = preparing.gallery(images, sight, limit=limit, seed=seed, labelled=True)
        classes = group(model.outputs, gallery.pictures, groups)
    with Bar(f"pruning {name}", "images") as bar:
        found = measure(
            model, gallery, classes, keep, policies=policy, at=at or None, batch=batch,
            rounds=rounds, progress=bar,
        )  # fmt: skip
    written = []
    if output is not None:
        chosen = Schedule(policy[0] if policy else "attention", found.at[0], keep[0])
        write_schedule(network.files, output, chosen)
        written.append(str(output))
    if plot is not None:
        from limelight.instruments.curve import draw_curve

        draw_curve(found).save(plot)
        written.append(str(plot))
    if json:
        made = {"command": "limelight " + shlex.join(sys.argv[1:]), "date": now()}
        read = {"pixels": gallery.scale, "network": how_read(network, gallery.pictures)}
        read |= inputs(network, gallery)
        emit(made | {"checkpoint": name} | read | found.as_json())
    else:
        say_read(network, gallery.pictures)
        print_pruned(name, gallery.scale, found)
        if written:
            say("\nWritten: " + ", ".join(written))


def print_pruned(name: str, pixels: str, found) -> None:
    """The table for people."""
    from limelight.instruments.curve import unit_of

    device = found.machine["device"]
    where = f"{device['cores']} CPU cores" if device["platform"] == "cpu" else device["kind"]
    several = len(found.at) > 1
    behind = "" if several else f"pruned after block {found.at[0]}; "
    say(f"{name} on {found.images}; {behind}pixels {pixels}; {where}")
    unit, size = unit_of(max(row.flops for row in found.rows))
    titles = ("policy", *(["at"] if several else []), "keep", "tokens", "acc. %", "95 %", "change",
              "95 %", unit, "by XLA", "ms", "faster")  # fmt: skip
    rows = [row_cells(row, size, several) for row in found.rows]
    print_table(titles, rows, right=titles[1:])
    from limelight.instruments.prune import counted, kernel

    say(
        f"\nChange: against no pruning, in points, on the same images. {unit} by formula, and as"
        f" XLA counts {counted(found.backend)}; ms the median of {found.rounds} calls of"
        f" {found.batch} images, taken in turn; all for one image."
    )
    say(f"Attention kernel: {kernel(found.backend)}.")
    apart = [row.compiled_flops / row.flops for row in found.rows if not row.agrees]
    if apart:
        ends = dict.fromkeys(f"{ratio:.3f}" for ratio in (min(apart), max(apart)))
        say(
            f"XLA's count is {' to '.join(ends)} times the formula's in {len(apart)} of"
            f" {len(found.rows)} rows, more than 2 % apart: in a small network what the formula"
            " leaves out (masks, the choice of tokens) shows."
        )


def three_digits(number: float) -> str:
    """Three digits, zeros at the end too, so that a column reads as one.

    Example:
        >>> three_digits(2.0037), three_digits(40.01), three_digits(423.0)
        ('2.00', '40.0', '423')
    """
    return f"{number:#.3g}".removesuffix(".")


def row_cells(row, size: float, several: bool = False) -> tuple[str, ...]:
    """One line of the table, FLOPs in a unit of this size, the block where there are several."""
    ends = lambda pair, sign="": " to ".join(f"{100 * end:{sign}.1f}" for end in pair)
    plain = row.policy == "none"
    return (
        row.policy,
        *(["" if plain else str(row.at)] if several else []),
        f"{row.keep:g}",
        str(row.tokens),
        f"{100 * row.accuracy:.2f}",
        ends(row.interval),
        "" if plain else f"{100 * row.difference:+.2f}",
        "" if plain else ends(row.difference_interval, "+"),
        three_digits(row.flops / size),
        three_digits(row.compiled_flops / size),
        three_digits(row.milliseconds),
        "" if plain else f"{row.speedup:.2f}x",
    )
