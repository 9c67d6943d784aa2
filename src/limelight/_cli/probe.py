"""`limelight probe`: look into a ViT: attention, positions, and what its blocks do to noise."""

import os
import shlex
import sys
from dataclasses import replace
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
def probe(
    file: Path = Vit,
    images: str | None = Images,
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="Write the page to this file instead of NAME.probe.html.",
    ),
    folder: Path | None = typer.Option(
        None,
        "--pictures",
        metavar="FOLDER",
        help="Also write every picture to this folder, as PNG; it is made where there is none.",
    ),
    limit: int = typer.Option(
        32, "--limit", metavar="NUMBER", help="The largest number of images to use."
    ),
    shown: int = typer.Option(
        2, "--shown", metavar="NUMBER", help="The number of images to draw attention over."
    ),
    attention: bool = typer.Option(
        False, "--attention", metavar="", help="Read only where attention goes."
    ),
    similarity: bool = typer.Option(
        False, "--similarity", metavar="", help="Read only how alike tokens are, by depth."
    ),
    norms: bool = typer.Option(
        False, "--norms", metavar="", help="Read only how long tokens are, and which are artifacts."
    ),
    positions: bool = typer.Option(
        False, "--positions", metavar="", help="Read only the position vectors."
    ),
    block: int | None = typer.Option(
        None, "--block", metavar="NUMBER", help="Draw the heads of this block; the first is 1."
    ),
    head: int | None = typer.Option(
        None,
        "--head",
        metavar="NUMBER",
        help="Draw this head large, instead of the mean of all heads.",
    ),
    cut: float | None = typer.Option(
        None, "--cut", metavar="LENGTH", help="Call tokens longer than this artifacts."
    ),
    noise: float = typer.Option(
        0.5,
        "--noise",
        metavar="NUMBER",
        help="The standard deviation of the noise on scaled pixels.",
    ),
    share: float = typer.Option(
        0.25, "--share", metavar="FRACTION", help="The fraction of the patches that get noise."
    ),
    *,
    preparing: Preparing,
    said: NetworkOptions,
    seed: int = Seed,
    json: bool = Json,
) -> None:
    """See inside a ViT: attention, how alike and how long tokens are, positions, noise.

    Writes one page that opens with what was found, in words. It shows attention maps and rollout
    over images, how spread out attention is in each block and head, how alike tokens are against
    depth, which tokens are artifacts, how alike the position vectors are, and how noise on some
    patches travels through the blocks, also with other attention put in place of the network's own.
    With --attention, --similarity, --norms or --positions only these are read. Images need no
    labels: give one picture or a folder. Without images only positions are read, unless the ViT
    takes the bundled digits.

    Examples:
      limelight probe vit.safetensors
      limelight probe vit.safetensors --images photos/ -o vit.html
      limelight probe vit.safetensors --images cat.jpg --attention --block 9
      limelight probe vit.safetensors --images photos/ --similarity --norms
      limelight probe vit.safetensors --images cifar10 --behind tiles --json
    """
    # Products here are small: threads of NumPy's library would spend most of their time waiting.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from limelight._core.errors import InputError

    if shown < 0:
        raise InputError(f"--shown {shown}", "0 or more")
    named = {
        "attention": attention or block is not None or head is not None,
        "similarity": similarity,
        "norms": norms or cut is not None,
        "positions": positions,
    }
    only = [word for word, asked in named.items() if asked]
    name = name_of(file)
    page = output or Path(f"{name.removesuffix('.safetensors')}.probe.html")
    check_output(page, ".html", ".htm")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder", "choose another")
    with busy("reading"):
        from limelight._engine.device import describe_machine, use_cache
        from limelight.instruments.page import write_page
        from limelight.instruments.probe import probe as look
        from limelight.instruments.sight import Sight

        use_cache()
        network = said.load(file)
        model, sight = network.model, Sight.of(network)
        check_place("--block", block, len(model.blocks))
        check_place("--head", head, model.blocks[(block or 1) - 1].attention.heads)
        chosen = images or usual_images(sight)
        gallery = None
        if chosen:
            gallery = preparing.gallery(chosen, sight, limit=limit, seed=seed, labelled=False)
    with Bar(f"probing {name}", "images") as bar:
        found = look(
            model, gallery, only=only, shown=shown, noise=noise, share=share, cut=cut, seed=seed,
            progress=bar,
        )  # fmt: skip
    machine = describe_machine()
    pictures = None if gallery is None else gallery.pictures
    told = how_read(network, pictures) | inputs(network, gallery)
    found = replace(found, settings=found.settings | told)
    command = "limelight " + shlex.join(sys.argv[1:])
    with busy("writing the page"):
        write_page(page, name, found, machine, [command], block, head)
        if folder is not None:
            from limelight._core.files import explained
            from limelight.instruments.draw import pictures as drawn

            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
            for kind, picture in drawn(found, block, head).items():
                picture.save(folder / f"{name.removesuffix('.safetensors')}-{kind}.png")
    if json:
        made = {"command": command, "checkpoint": name, "page": str(page)}
        emit(made | found.as_json() | machine)
        return
    if not images:
        say("no --images: the bundled digits" if chosen else "no --images: positions only")
    say_read(network, pictures)
    print_found(name, found)
    say(f"\nWritten: {page}")


def usual_images(sight) -> str:
    """The bundled digits where they fit as they are: 8 x 8 pixels, grey."""
    return "digits" if (sight.side, sight.channels) == (8, 1) else ""


def check_place(flag: str, number: int | None, count: int) -> None:
    """Refuse a block or a head that the network does not have."""
    from limelight._core.errors import InputError

    if number is not None and not 1 <= number <= count:
        raise InputError(f"{flag} {number}", f"from 1 to {count}")


def print_found(name: str, found) -> None:
    """What was found in words, then the numbers a reader wants first."""
    from limelight.instruments.findings import findings

    where = found.settings.get("images")
    say(f"{name}: {found.keys} tokens" + (f"; {where}" if where else ""))
    for sentence in findings(found):
        say(f"- {sentence}")
    if found.positions is not None:
        print_positions(found.positions)
    elif not found.settings.get("images"):
        say("positions: the grid is too small to tell near from far")
    if found.heads or found.noise is not None:
        print_blocks(found)
    if found.similarity is not None:
        print_similarity(found.similarity)
    if found.norms is not None:
        print_norms(found.norms)


def print_positions(p) -> None:
    """Scores of the positions."""
    say(
        f"positions: locality {p.locality:.3f} (200 fresh ones at most {p.largest:.3f});"
        f" nearest is a neighbour for {p.neighbours:.1%} (fresh {p.neighbours_fresh:.1%})"
    )
    for groups, v in p.association.items():
        say(
            f"  association by {groups}: {v['overlap']:.3f}"
            f" (fresh {v['fresh']:.3f}, chance {v['chance']:.3f})"
        )


def print_similarity(alike) -> None:
    """A line for every depth."""
    from limelight.measures.similarity import ALONE, DEFINITIONS

    names = (*DEFINITIONS, ALONE)
    paths = {name: alike.mean(name) for name in names}
    rows = [
        (str(d), *(f"{path[d]:.3f}" for path in paths.values()))
        for d in range(len(paths["cosine"]))
    ]
    say("\nSimilarity of tokens by depth (0 enters the first block), means over images:")
    print_table(("depth", *names), rows, right=("depth", *names))
    say()
    for name, one in DEFINITIONS.items():
        say(f"{name}: {one.words} ({one.source})")
    low, high = alike.grip.min(), alike.grip.max()
    say(
        f"{ALONE}: cosine, of tokens through attention alone, without sums and perceptrons. The"
        f" theorem of rank collapse speaks where its number is below 1; here it is {low:.2g} to"
        f" {high:.2g}."
    )


def print_norms(norms) -> None:
    """A line for every depth."""
    titles = ("depth", "median", "99 %", "longest", "long above", "long", "% of patches")
    rows = [
        (str(d["depth"]), *(f"{d[k]:.3g}" for k in ("median", "percentile_99", "largest", "cut")),
         f"{d['long_tokens']:,}", f"{100 * d['long_share']:.2f}")
        for d in norms.as_json()
    ]  # fmt: skip
    say("\nLengths of patch tokens by depth (0 enters the first block), before any norm:")
    print_table(titles, rows, right=titles)


def print_blocks(found) -> None:
    """A line for every block."""
    from limelight.instruments.probe import KINDS, with_interval

    names = {}
    if found.heads:
        names = {"entropy": "class_entropy", "keys": "effective_keys", "itself": "itself"}
    if found.heads and found.relevant_share is not None:
        names["mass"] = "class_relevant"
    noise, rolled = found.noise, found.rollout_mass
    rolled = rolled if noise is None else None  # no room beside intervals
    kinds = KINDS if noise is not None else ()
    titles = ("block", *names, *(("rollout",) if rolled is not None else ()), *kinds)
    rows = []
    for b in range(found.blocks):
        cells = [str(b + 1), *(f"{found.heads[name][b].mean():.3g}" for name in names.values())]
        if rolled is not None:
            cells.append(f"{rolled[b]:.3g}")
        if noise is not None:
            cells += map(with_interval, noise.against_identity[b])
        rows.append(tuple(cells))
    say()
    print_table(titles, rows, right=titles)
    if found.heads:
        say(
            "\nMeans over heads. entropy: of the class token's row; keys: effective number, itself:"
            " weight on itself, both of patches."
        )
    if kinds:
        say(
            "The last three: noise that attention lets through over no attention (A = I), for noisy"
            " patches, spared ones, and noise on tokens; with 95 % intervals over images, which one"
            " image has not. All below 1, it distils noise."
        )
    if found.heads and found.relevant_share is not None:
        say(
            "mass: of the class token's attention to patches, on those of the image; "
            + ("rollout: the same of the rollout up to here; " if rolled is not None else "")
            + f"even attention has {found.relevant_share:.2f}."
        )
