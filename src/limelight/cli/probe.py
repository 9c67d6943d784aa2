"""`limelight probe`: look into a ViT: attention, positions, and what its blocks do to noise."""

import dataclasses
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import typer

from limelight.cli.images import (
    Activation,
    BehindOnly,
    BehindSource,
    Epsilon,
    Heads,
    Images,
    Like,
    Pixels,
    Pool,
    Side,
    Size,
    SkipBad,
    Stretch,
    Vit,
    background,
    how_read,
    inputs,
    read_network,
    say_read,
)
from limelight.cli.options import Json, Seed, check_output
from limelight.cli.progress import Bar, busy
from limelight.cli.text import emit, print_table, say


def probe(
    file: Path = Vit,
    images: str | None = Images,
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="The page to write; NAME.probe.html if not given.",
    ),
    limit: int = typer.Option(32, "--limit", metavar="NUMBER", help="Use at most so many images."),
    shown: int = typer.Option(
        2, "--shown", metavar="NUMBER", help="How many images to draw attention maps over."
    ),
    noise: float = typer.Option(
        0.5, "--noise", metavar="NUMBER", help="Standard deviation of the noise, on scaled pixels."
    ),
    share: float = typer.Option(
        0.25, "--share", metavar="FRACTION", help="Fraction of the patches that get noise."
    ),
    behind: str | None = BehindSource,
    behind_only: str = BehindOnly,
    size: float = Size,
    pixels: str = Pixels,
    stretch: bool = Stretch,
    skip_bad: bool = SkipBad,
    heads: int | None = Heads,
    like: str | None = Like,
    activation: str | None = Activation,
    epsilon: float | None = Epsilon,
    pool: str | None = Pool,
    side: int | None = Side,
    seed: int = Seed,
    json: bool = Json,
) -> None:
    """See inside a ViT: where attention goes, what positions know, what each block does to noise.

    Writes one page. It shows attention maps over images, how spread out attention is in each block
    and head, how alike the position vectors are, and how noise on some patches travels through the
    blocks, also with other attention put in place of the network's own. Images need no labels: give
    one picture or a folder. Without images only positions are read, unless the ViT takes the
    bundled digits.

    Examples:
      limelight probe vit.safetensors
      limelight probe vit.safetensors --images photos/ -o vit.html
      limelight probe vit.safetensors --images cat.jpg
      limelight probe vit.safetensors --images cifar10 --behind tiles --json
    """
    from limelight.core.errors import InputError

    if shown < 0:
        raise InputError(f"--shown {shown}", "0 or more")
    page = output or Path(f"{file.stem}.probe.html")
    check_output(page, ".html", ".htm")
    with busy("reading"):
        from limelight.engine.device import describe_machine, use_cache
        from limelight.instruments.gallery import Gallery
        from limelight.instruments.page import write_page
        from limelight.instruments.probe import probe as look
        from limelight.instruments.sight import Sight

        use_cache()
        network = read_network(
            file,
            heads=heads,
            like=like,
            activation=activation,
            epsilon=epsilon,
            pool=pool,
            side=side,
        )
        model, sight = network.model, Sight.of(network)
        ground = background(behind, behind_only, size)
        chosen = images or usual_images(sight)
        gallery = None
        if chosen:
            gallery = Gallery.load(
                chosen, sight, limit=limit, pixels=pixels, stretch=stretch, skip_bad=skip_bad,
                seed=seed, behind=ground, labelled=False,
            )  # fmt: skip
    with Bar(f"probing {file.name}", "images") as bar:
        found = look(model, gallery, shown=shown, noise=noise, share=share, seed=seed, progress=bar)
    pictures = None if gallery is None else gallery.pictures
    found = dataclasses.replace(found, settings=found.settings | how_read(network, pictures))
    machine = describe_machine()
    found = replace(found, settings=found.settings | inputs(file, gallery))
    with busy("writing the page"):
        rerun = ["limelight " + shlex.join(sys.argv[1:])]
        write_page(page, file.name, found, machine, rerun)
    if json:
        emit({"checkpoint": file.name, "page": str(page)} | found.as_json() | machine)
        return
    if not images:
        say("no --images: the bundled digits" if chosen else "no --images: positions only")
    say_read(network, pictures)
    print_found(file.name, found)
    say(f"\nwritten: {page}")


def usual_images(sight) -> str:
    """The bundled digits where they fit as they are: 8 x 8 pixels, grey."""
    return "digits" if (sight.side, sight.channels) == (8, 1) else ""


def print_found(name: str, found) -> None:
    """The numbers a reader wants first."""
    where = found.settings.get("images")
    say(f"{name}: {found.keys} tokens" + (f"; {where}" if where else ""))
    p = found.positions
    if p is None:
        say("positions: none in a table, or too few to tell near from far")
    else:
        say(
            f"positions: locality {p.locality:.3f} (200 fresh ones at most {p.largest:.3f});"
            f" nearest is a neighbour for {p.neighbours:.1%} (fresh {p.neighbours_fresh:.1%})"
        )
        for groups, v in p.association.items():
            say(
                f"  association by {groups}: {v['overlap']:.3f}"
                f" (fresh {v['fresh']:.3f}, chance {v['chance']:.3f})"
            )
    if found.noise is not None:
        print_blocks(found)


def print_blocks(found) -> None:
    """A line for every block."""
    from limelight.instruments.probe import KINDS, with_interval

    names = {"entropy": "class_entropy", "keys": "effective_keys", "itself": "itself"}
    if found.relevant_share is not None:
        names["mass"] = "class_relevant"
    titles = ("block", *names, *KINDS)
    rows = []
    for b, against in enumerate(found.noise.against_identity):
        means = [f"{found.heads[name][b].mean():.3g}" for name in names.values()]
        rows.append((str(b + 1), *means, *map(with_interval, against)))
    say()
    print_table(titles, rows, right=titles)
    say(
        "\nMeans over heads. entropy: of the class token's row; keys: effective number, itself:"
        " weight on itself, both of patches. The last three: noise that attention lets through over"
        " no attention (A = I), for noisy patches, spared ones, and noise on tokens; with 95 %"
        " intervals over images, which one image has not. All below 1, it distils noise."
    )
    if found.relevant_share is not None:
        say(
            "mass: of the class token's attention to patches, on those of the image;"
            f" even attention has {found.relevant_share:.2f}."
        )
