"""Options of the commands that show images to a real ViT."""

from pathlib import Path

import typer

from limelight._cli.text import say

Images = typer.Option(
    None,
    "--images",
    metavar="SOURCE",
    help="The images: digits, cifar10, or the path of a folder, an .npz file or an archive.",
)
Vit = typer.Argument(
    metavar="FILE",
    help="A ViT: a .safetensors file, a folder with its configuration, or hf:ID of Hugging Face.",
)
Heads = typer.Option(
    None, "--heads", metavar="NUMBER", help="Attention heads per block, if nothing else says."
)
Like = typer.Option(
    None,
    "--like",
    metavar="NAME",
    help="Its architecture in timm, which says the rest: deit_tiny_patch16_224.fb_in1k.",
)
Activation = typer.Option(
    None,
    "--activation",
    metavar="WORD",
    help="What its neurons are activated by: gelu, gelu_tanh, quick_gelu, silu or relu.",
)
Epsilon = typer.Option(
    None, "--epsilon", metavar="NUMBER", help="What its norms add to the variance."
)
Pool = typer.Option(
    None, "--pool", metavar="WORD", help="What its head reads: class, mean or attention."
)
Side = typer.Option(
    None,
    "--side",
    metavar="NUMBER",
    help="Pixels along a side of an image, where its table of positions has another or none.",
)
Pixels = typer.Option(
    "",
    "--pixels",
    metavar="WORD",
    help="How pixels are scaled for this network, if nothing else says: imagenet, half, clip, data"
    " or centred.",
)
Stretch = typer.Option(
    False,
    "--stretch",
    metavar="",
    help="Make whole images squares, instead of cutting out the middle as the network's own"
    " configuration says.",
)
SkipBad = typer.Option(
    False,
    "--skip-bad",
    metavar="",
    help="Leave out images that cannot be read; they are counted and listed.",
)
BehindSource = typer.Option(
    None,
    "--behind",
    metavar="SOURCE",
    help="Paste each image onto one of these, or onto `tiles`, so that it is known which patches"
    " show the object.",
)
BehindOnly = typer.Option(
    "",
    "--behind-only",
    metavar="NAMES",
    help="Use only these classes of the background images; separate names by commas.",
)
Size = typer.Option(
    0.8125,
    "--size",
    metavar="FRACTION",
    help="Side length of a pasted image, as a fraction of the whole picture's.",
)


def inputs(file: Path, gallery) -> dict[str, str]:
    """Digests of what was read: names may come to mean other files."""
    from limelight._core.files import file_digest

    found = {"weights_sha256": file_digest(file)}
    return found if gallery is None else found | {"images_sha256": gallery.pictures.digest}


def read_network(file: Path, **said):
    """The ViT, with what was read of it and where."""
    from limelight.models import load

    return load(str(file), **said)


def how_read(network, pictures=None) -> dict[str, str]:
    """What a page and JSON say of how a network was read, and which images were left out."""
    told = {name: f"{v['value']}, from {v['from']}" for name, v in network.facts.items()}
    told = {"layout": network.layout, **told}
    if network.notes:
        told["notes"] = "; ".join(network.notes)
    if pictures is not None and pictures.skipped:
        told["left_out"] = "; ".join(pictures.skipped)
    return told


def say_read(network, pictures=None) -> None:
    """The same for people: what was concluded, and what was left out."""
    for note in network.notes:
        say(f"note: {note}")
    skipped = () if pictures is None else pictures.skipped
    if skipped:
        say(f"note: {len(skipped)} images could not be read and are left out:")
        for reason in skipped:
            say(f"  {reason}")


def background(behind: str | None, only: str, size: float):
    """What to paste images on; nothing where nothing is said."""
    from limelight._core.errors import InputError
    from limelight.instruments.gallery import Behind

    if behind is None:
        if only:
            raise InputError("--behind-only without --behind", "name the backgrounds first")
        return None
    return Behind(behind, tuple(word.strip() for word in only.split(",") if word.strip()), size)
