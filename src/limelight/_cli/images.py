"""What the commands on real networks are told, once for all of them: the network, and images."""

from dataclasses import asdict, dataclass
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
    help="The ViT: a .safetensors file, a folder with its configuration, or a Hugging Face id"
    " such as hf:facebook/dinov2-small.",
)
Heads = typer.Option(
    None,
    "--heads",
    metavar="NUMBER",
    help="The number of attention heads in each block, where no configuration gives it.",
)
Like = typer.Option(
    None,
    "--like",
    metavar="NAME",
    help="The name of its architecture in timm, from which everything missing is read, such as"
    " deit_tiny_patch16_224.fb_in1k.",
)
Activation = typer.Option(
    None,
    "--activation",
    metavar="WORD",
    help="The activation of its perceptrons, where no configuration gives it: gelu, gelu_tanh,"
    " quick_gelu, silu or relu.",
)
Epsilon = typer.Option(
    None,
    "--epsilon",
    metavar="NUMBER",
    help="The epsilon of its layer norms, where no configuration gives it.",
)
Pool = typer.Option(
    None,
    "--pool",
    metavar="WORD",
    help="What its head reads, where no configuration gives it: class, mean or attention.",
)
Side = typer.Option(
    None,
    "--side",
    metavar="NUMBER",
    help="The side length of its images in pixels; its position vectors are interpolated if they"
    " are for another size.",
)
Pixels = typer.Option(
    "",
    "--pixels",
    metavar="WORD",
    help="How to scale pixels, if not as the network's configuration says: imagenet, half, clip,"
    " data or centred.",
)
Stretch = typer.Option(
    False,
    "--stretch",
    metavar="",
    help="Squeeze whole images into squares, instead of cutting them as the network's"
    " configuration says.",
)
SkipBad = typer.Option(
    False,
    "--skip-bad",
    metavar="",
    help="Skip images that cannot be read, and list them, instead of stopping.",
)
BehindSource = typer.Option(
    None,
    "--behind",
    metavar="SOURCE",
    help="Paste each image onto one of these images, or onto `tiles`. Then it is known which"
    " patches show the object.",
)
BehindOnly = typer.Option(
    "",
    "--behind-only",
    metavar="NAMES",
    help="Paste onto these classes of --behind only; separate several names by commas.",
)
Size = typer.Option(
    0.8125,
    "--size",
    metavar="FRACTION",
    help="The side of a pasted image, as a fraction of the side of the whole picture.",
)


@dataclass(frozen=True)
class NetworkOptions:
    """What is said of a ViT beside its file."""

    heads: int | None = Heads
    like: str | None = Like
    activation: str | None = Activation
    epsilon: float | None = Epsilon
    pool: str | None = Pool
    side: int | None = Side

    def load(self, file: Path):
        """The ViT, with what was read of it and where."""
        from limelight.models import load

        return load(str(file), **asdict(self))


@dataclass(frozen=True)
class Preparing:
    """How images become what a ViT sees."""

    behind: str | None = BehindSource
    behind_only: str = BehindOnly
    size: float = Size
    pixels: str = Pixels
    stretch: bool = Stretch
    skip_bad: bool = SkipBad

    def gallery(self, source: str, sight, *, limit: int | None, seed: int, labelled: bool):
        """The images of a source as this ViT sees them."""
        from limelight._core.errors import InputError
        from limelight.instruments.gallery import Behind, Gallery

        behind, names = None, tuple(filter(None, map(str.strip, self.behind_only.split(","))))
        if self.behind is not None:
            behind = Behind(self.behind, names, self.size)
        elif names:
            raise InputError("--behind-only without --behind", "name the backgrounds first")
        return Gallery.load(
            source, sight, limit=limit, pixels=self.pixels, stretch=self.stretch,
            skip_bad=self.skip_bad, seed=seed, behind=behind, labelled=labelled,
        )  # fmt: skip


def name_of(file: Path) -> str:
    """What to call a network: a file's name, a folder's, or the last part of an id.

    Example:
        >>> name_of(Path("hf:facebook/dinov2-small")), name_of(Path("a/vit.safetensors"))
        ('dinov2-small', 'vit.safetensors')
    """
    name = file.name or file.resolve().name
    return name.replace(".safetensors.index.json", ".safetensors")


def inputs(network, gallery) -> dict[str, str]:
    """Digests of what was read: names may come to mean other files."""
    from limelight._core.files import files_digest

    found = {"weights_sha256": files_digest(network.files)}
    return found if gallery is None else found | {"images_sha256": gallery.pictures.digest}


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
