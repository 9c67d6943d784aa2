"""What tensors do not say of a ViT, and who does: configurations, known architectures, the caller.

A fact comes from the first that knows it: the caller, the file's own metadata, a configuration
beside the file, the name of an architecture, and last the only architecture of timm's that these
tensors fit. What nobody knows is asked for; nothing is ever assumed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from limelight._core.errors import InputError, check_word
from limelight.models.pretrained._known import (
    FACTS,
    Signature,
    alike,
    architectures,
    named,
)
from limelight.models.pretrained._places import Turns
from limelight.models.pretrained._processors import Unclear, of_row
from limelight.models.pretrained.pixels import Pixels

#: Facts in words, for questions and notes.
WORDS = {
    "heads": "how many heads share the columns",
    "epsilon": "what its norms add to the variance",
    "activation": "what its neurons are activated by",
    "pool": "what its head reads",
    "centred": "whether its norms take off the mean",
    "rotary": "whether queries and keys are turned by their position",
    "side": "how many pixels a side of its images has",
}
#: Where the caller can say them.
SAID = ("heads", "epsilon", "activation", "pool", "side")


@dataclass
class Facts:
    """What is known of a ViT beside its tensors, fact by fact with who says so.

    Args:
        values: By name, see `FACTS`; `side` is that of an image in pixels.
        sources: For each, who says it.
        pixels: How it wants images, where that is known.
        notes: What was concluded and not read.
        unclear: Why it is not known how it wants images, where something says it and is not
            understood.
    """

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    pixels: Pixels | None = None
    notes: list[str] = field(default_factory=list)
    unclear: str = ""

    def add(self, found: Mapping[str, Any], source: str) -> None:
        """Take in what one source says, where nobody has said it yet."""
        for name, value in found.items():
            if name not in self.values:
                self.values[name], self.sources[name] = value, source

    def agree(self, other: "Facts") -> None:
        """Take in what another source says, and refuse where it says something else.

        Only images of another size than its own may be asked of a network.
        """
        for name in FACTS:
            if name in self.values and name in other.values:
                known, said = (_plain(name, one.values[name]) for one in (self, other))
                if known != said:
                    raise InputError(
                        f"{name} is {known} by {self.sources[name]} and {said} by"
                        f" {other.sources[name]}",
                        "leave out, or mend, the one that is wrong",
                    )
        for name, value in other.values.items():
            self.add({name: value}, other.sources[name])
        self.add_pixels(other.pixels)
        self.notes += other.notes
        self.unclear = self.unclear or other.unclear

    def add_architecture(self, word: str, source: str) -> None:
        """Take in what an architecture of timm's is, by its name."""
        found = named(word)
        if found is None:
            nearest = get_close_matches(word.partition(".")[0], architectures(), n=1)
            raise InputError(
                f"{word!r} is no plain ViT of timm's",
                f"such as {nearest[0] if nearest else 'vit_base_patch16_224'}",
            )
        name, tag = found
        one = architectures()[name]
        if "refused" in one:
            raise InputError(
                f"this is timm's {name}: {one['refused']}", "such a ViT is not supported"
            )
        self.add({key: one[key] for key in FACTS}, source)
        self.add({"sizes": one["sizes"], "side": one["side"]}, f"timm's {name}")
        self.read_pixels(_released, one, tag, name)

    def add_pixels(self, pixels: Pixels | None) -> None:
        """Take in how images are prepared, where nobody has said it yet."""
        if self.pixels is not None and pixels is not None and not self.pixels.same(pixels):
            self.notes.append(
                f"images are prepared as {self.pixels.source} says ({self.pixels});"
                f" {pixels.source} says otherwise ({pixels})"
            )
        self.pixels = self.pixels or pixels

    def read_pixels(self, read: Callable[..., Pixels | None], *values: Any) -> None:
        """Take in what one source says of images, or why that is not understood."""
        try:
            self.add_pixels(read(*values))
        except Unclear as error:
            self.unclear = self.unclear or error.message

    def conclude(self, found: Signature | None) -> None:
        """What is left, where all of timm's architectures with these tensors agree on it."""
        missing = [name for name in FACTS if name not in self.values]
        if found is None or not missing:
            return
        same = alike(found)
        refused = [n for n, one in same.items() if "refused" in one]
        if same and len(refused) == len(same):
            one = refused[0]
            raise InputError(
                f"its tensors are those of timm's {one}: {same[one]['refused']}",
                "such a ViT is not supported",
            )
        if refused or not same:
            return
        values = {name: [one[name] for one in same.values()] for name in missing}
        agreed = {name: found[0] for name, found in values.items() if _one_value(name, found)}
        self.add(agreed, _who(same))
        told = [_in_words(name, value) for name, value in agreed.items() if name in SAID]
        if told:
            self.notes.append(f"{', '.join(told)}: the only possibility among {_who(same)}")

    def need(self, *names: str) -> None:
        """Ask for what nobody has said, all in one line."""
        missing = [name for name in names if name not in self.values]
        if missing:
            askable = [name for name in missing if name in SAID] or ["like"]
            raise InputError(
                "; ".join(WORDS[name] for name in missing) + ": not in the file",
                "put its config.json beside it, or say "
                + ", ".join(f"{name}=..." for name in askable)
                + ("" if "like" in askable else ", or like=... with its name in timm"),
            )
        if "activation" in names:
            from limelight.models.layers import ACTIVATIONS  # loads JAX

            check_word("activation", self.values["activation"], tuple(ACTIVATIONS))

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def told(self) -> dict[str, dict[str, Any]]:
        """Every fact with its source, as plain JSON values."""
        return {
            name: {"value": self.values[name], "from": self.sources[name]}
            for name in (*FACTS, "side")
            if name in self.values and name not in ("rotary", "centred")
        }


def _plain(name: str, value: Any) -> Any:
    """A fact as it is compared: two heads that read a class token and its kin are one pool."""
    if name == "rotary" and isinstance(value, dict):
        return Turns(**value)
    return "class" if name == "pool" and value in ("pair", "class_mean") else value


def _one_value(name: str, values: list[Any]) -> bool:
    """Whether all agree, and on something: no rotation is something, no number of heads is not."""
    return all(v == values[0] for v in values) and (values[0] is not None or name == "rotary")


def _in_words(name: str, value: Any) -> str:
    return f"{value} heads per block" if name == "heads" else f"{name} {value}"


def _who(same: Mapping[str, Any]) -> str:
    first, *others = same
    more = "" if not others else f" and {len(others)} more"
    return f"timm's architectures with these tensors ({first}{more})"


def _released(one: Mapping[str, Any], tag: str, name: str) -> Pixels | None:
    """How the weights of this tag want pixels, or all of the architecture's where they agree."""
    rows = one["pixels"]
    if tag in rows:
        return of_row(rows[tag], f"timm's {name}.{tag}")
    if rows and not tag and len({repr(row) for row in rows.values()}) == 1:
        return of_row(next(iter(rows.values())), f"timm's {name}, all of its weights")
    return None
