"""What a probe found, in a few sentences that anybody can read."""

from typing import TYPE_CHECKING

import numpy as np

from limelight._core.arrays import Real
from limelight.measures.similarity import DEFINITIONS

if TYPE_CHECKING:
    from limelight.instruments.positions import Positions
    from limelight.instruments.probe import Probe

#: Attention has found the object where it closes this share of the gap between even and all.
FOUND = 0.5
#: Light on the object this far above or below even light is more than rounding.
MORE = 0.02


def findings(found: "Probe") -> list[str]:
    """Sentences, the most telling first."""
    return [sentence for said in by_subject(found).values() for sentence in said]


def by_subject(found: "Probe") -> dict[str, list[str]]:
    """Sentences by what they are about, in the order of the page; the first one is the finding."""
    said: dict[str, list[str]] = {}
    if found.heads:
        said["attention"] = _object(found) if found.relevant_share is not None else _width(found)
    if found.similarity is not None:
        said["similarity"] = _alike(found)
    if found.norms is not None:
        said["norms"] = _long(found)
    if found.noise is not None:
        said["noise"] = _noise(found)
    if found.positions is not None:
        said["positions"] = _places(found.positions)
    return said


def _object(found: "Probe") -> list[str]:
    """Where attention finds the object."""
    mass, even = found.heads["class_relevant"].mean(axis=1), float(found.relevant_share or 0.0)
    best = int(mass.argmax())
    asked = _asking(found)
    top = f"{mass[best]:.0%} of {asked}'s attention to patches in block {best + 1}"
    chance = f"even attention would have {even:.0%}"
    gap = (mass - even) / max(1.0 - even, 1e-9)
    if not (gap >= FOUND).any():
        return [f"Attention does not find the object: at most {top}, where {chance}."]
    said = [f"Attention finds the object in {blocks(gap >= FOUND)}: {top}, where {chance}."]
    first = int(np.argmax(gap >= FOUND))
    below = np.arange(len(mass))[:first][mass[:first] < even - MORE]
    if len(below):
        places = blocks(np.isin(np.arange(len(mass)), below))
        said.append(f"In {places} it attends to the background more than even attention would.")
    return said


def _width(found: "Probe") -> list[str]:
    """How widely the class token attends, where nobody knows what matters."""
    keys = np.exp(found.heads["class_entropy"].mean(axis=1))
    narrow, wide = int(keys.argmin()), int(keys.argmax())
    return [
        f"{_asking(found).capitalize()} attends to about {keys[narrow]:.0f} of {found.keys} tokens"
        f" in block {narrow + 1}, where attention is narrowest, and to about {keys[wide]:.0f} in"
        f" block {wide + 1}, where it is widest."
    ]


def _asking(found: "Probe") -> str:
    classed = bool(np.isfinite(found.heads["class"]).all())
    return "the class token" if classed else "the average query"


def _alike(found: "Probe") -> list[str]:
    """How similarity changes with depth, and which definitions say otherwise."""
    alike = found.similarity
    assert alike is not None
    path, trend = alike.mean("cosine"), alike.trend("cosine")
    word = {"rises": "become more alike", "falls": "become less alike"}.get(trend, "stay as alike")
    said = [
        f"Tokens {word} with depth: the mean cosine of two different patches is {path[1]:.2f}"
        f" after block 1 and {path[-1]:.2f} after block {len(path) - 1}"
    ]
    low, high = int(path[1:].argmin()) + 1, int(path[1:].argmax()) + 1
    ends = sorted((path[1], path[-1]))
    if path[low] < ends[0] - MORE or path[high] > ends[1] + MORE:
        said[0] += (
            f", but not in one direction: lowest after block {low} ({path[low]:.2f}), highest"
            f" after block {high} ({path[high]:.2f}), so where one starts decides the trend"
        )
    said[0] += "."
    other = [n for n in DEFINITIONS if {alike.trend(n), trend} == {"rises", "falls"}]
    if other:
        named = " and ".join(f"`{name}`" for name in other)
        said.append(f"Measured in another published way ({named}), the trend is the opposite.")
    return said


def _long(found: "Probe") -> list[str]:
    """How many tokens are too long."""
    norms = found.norms
    assert norms is not None
    shares, images = norms.shares, len(norms.lengths)
    if not shares[1:].any():
        ratio = norms.lengths[:, -1].max() / np.median(norms.lengths[:, -1])
        return [
            "No artifact tokens: after the last block the longest patch token is"
            f" {ratio:.1f} times as long as the median one."
        ]
    worst = int(shares[1:].argmax()) + 1
    any_images = int(norms.long[:, worst].any(axis=1).sum())
    counted = f"{_percent(shares[worst])} of the patches, in {any_images} of {images} images."
    if (shares[1:] > 0).sum() == 1:
        return [f"High-norm tokens after block {worst} alone: {counted}"]
    return [f"High-norm tokens in {blocks(shares[1:] > 0)}: most after block {worst}, {counted}"]


def _places(positions: "Positions") -> list[str]:
    """Whether positions know which patches are neighbours."""
    share, fresh = positions.neighbours, positions.neighbours_fresh
    knows = "know" if positions.locality > positions.largest else "do not know"
    return [
        f"Positions {knows} the grid: for {share:.0%} of the patches the most similar position is a"
        f" neighbour's, for {fresh:.0%} where they are drawn afresh."
    ]


def _percent(share: Real) -> str:
    """A share to a tenth of a percent, and never none where there is one."""
    return f"{share:.1%}" if share >= 0.001 else "under 0.1%"


def _noise(found: "Probe") -> list[str]:
    """Whether attention averages noise away."""
    from limelight.instruments.probe import distils

    assert found.noise is not None
    told = np.array([distils(ends[0]) for ends in found.noise.against_identity])
    if (told == "yes").all():
        return [
            "In every block attention lets less noise of noisy patches through than none would."
        ]
    if not (told == "yes").any():
        return ["In no block is it certain that attention lets less noise through than none would."]
    return [f"Attention lets less noise through than none would in {blocks(told == 'yes')}."]


def blocks(chosen: np.ndarray) -> str:
    """Names of blocks, runs joined.

    Example:
        >>> blocks(np.array([True, False, True, True, True]))
        'blocks 1 and 3 to 5'
        >>> blocks(np.array([False, True]))
        'block 2'
    """
    numbers, runs = [int(i) + 1 for i in np.flatnonzero(chosen)], []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [f"{a}" if a == b else f"{a} and {b}" if b == a + 1 else f"{a} to {b}" for a, b in runs]
    head = ", ".join(words[:-1])
    joined = f"{head} and {words[-1]}" if head else words[-1]
    return f"block{'s' * (len(numbers) > 1)} {joined}"
