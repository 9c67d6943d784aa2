"""What a run studies, as pictures: one example of its world, and its model at the start.

They are drawn beforehand by `docs/studied.py`, one for each kind, so that no page waits for them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from limelight._identity.description import modern
from limelight._page.report import Illustration

FOLDER = Path(__file__).parent / "studied"
#: Pictures of worlds, and of models, on a page at most.
MOST = 2
_CAPTIONS = {"world": "The world: one example", "model": "The model: its weights at the start"}


def kinds_in(manifest: Mapping[str, Any]) -> list[str]:
    """The kinds of worlds and models that a run is made of, each once, outer ones first."""
    experiment = modern(manifest.get("configuration", {}).get("experiment", {}))
    return list(dict.fromkeys(kind for kind in _kinds(experiment) if kind in _words()))


def pictures(kinds: Iterable[str]) -> list[Illustration]:
    """A picture of each kind, worlds first; of many kinds those named most often."""
    order = [kind for kind, _ in Counter(kinds).most_common()]
    chosen = [
        kind
        for shelf in _CAPTIONS
        for kind in [kind for kind in order if kind.startswith(f"{shelf}.")][:MOST]
    ]
    return [
        Illustration(
            (FOLDER / f"{kind}.png").read_bytes(),
            caption=f"{_CAPTIONS[kind.partition('.')[0]]}.",
            alt=_words()[kind],
            shaded=True,
        )
        for kind in chosen
    ]


@cache
def _words() -> dict[str, str]:
    """What each picture shows, by kind."""
    return json.loads((FOLDER / "pictures.json").read_text(encoding="utf-8"))


def _kinds(told: Any) -> Iterator[str]:
    if isinstance(told, Mapping):
        if isinstance(told.get("is"), str):
            yield told["is"]
        for part in told.values():
            yield from _kinds(part)
    elif isinstance(told, list | tuple):
        for part in told:
            yield from _kinds(part)
