"""Options of the commands that show images to a real ViT."""

from pathlib import Path

import typer

Images = typer.Option(
    None,
    "--images",
    metavar="SOURCE",
    help="The images: digits, cifar10, or the path of a folder, an .npz file or an archive.",
)
Heads = typer.Option(
    None, "--heads", metavar="NUMBER", help="Attention heads per block, if the file does not say."
)
Pixels = typer.Option(
    "",
    "--pixels",
    metavar="WORD",
    help="How pixels are scaled for this network: imagenet, half, data or centred.",
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
    from limelight.core.files import file_digest

    found = {"weights_sha256": file_digest(file)}
    return found if gallery is None else found | {"images_sha256": gallery.pictures.digest}


def background(behind: str | None, only: str, size: float):
    """What to paste images on; nothing where nothing is said."""
    from limelight.core.errors import InputError
    from limelight.instruments.gallery import Behind

    if behind is None:
        if only:
            raise InputError("--behind-only without --behind", "name the backgrounds first")
        return None
    return Behind(behind, tuple(word.strip() for word in only.split(",") if word.strip()), size)
