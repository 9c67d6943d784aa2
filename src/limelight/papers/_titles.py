"""The title of a published picture: what was found, and in which setting."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from limelight._core.errors import InputError
from limelight._core.maths import GREEK
from limelight.claims import Finding, Verdict, is_ours
from limelight.plot import Picture

#: What a picture shows: a claim's name, a finding in words of its own, or several.
Findings = str | Finding | Iterable[str | Finding]
#: Words with which a further finding goes on with the sentence; without one it stands below.
GOES_ON = ("and", "but", "nor", "while", "though")


def titled(
    picture: Picture,
    found: Iterable[Finding],
    decide: Callable[[str], Verdict],
    drawn: str,
    setting: str,
) -> Picture:
    """A picture under what was found; under what is drawn, where nothing was decided.

    Args:
        picture: The picture; one that has a title keeps it.
        found: What it shows.
        decide: The verdict on a claim, by its name.
        drawn: What is drawn, in words.
        setting: Where it stands and what it was made with.
    """
    if picture.title:
        return picture
    words, further = _message([*filter(None, (_words(one, decide) for one in found))])
    about = "; ".join(filter(None, (f"{_capital(drawn)}" if words else "", setting)))
    about = " ".join([*(f"{_capital(one)}." for one in further), about.replace("?; ", "? ")])
    return picture.titled(_capital(words or drawn), about)


def _message(words: list[str]) -> tuple[str, list[str]]:
    """One message: the first finding and those that go on with it; and the findings beside it.

    Example:
        >>> _message(["It grows", "but not for ever", "Fails: it stops"])
        ('It grows, but not for ever', ['Fails: it stops'])
        >>> _message(["but not for ever"])
        ('not for ever', [])
    """
    first, *others = words or [""]
    while first.partition(" ")[0] in GOES_ON:
        first = first.partition(" ")[2]
    joined = [one for one in others if one.partition(" ")[0] in GOES_ON]
    return ", ".join([first, *joined]), [one for one in others if one not in joined]


def several(found: Findings) -> list[Finding]:
    """Findings as a list, a claim's name as a finding in its own words."""
    listed = [found] if isinstance(found, str | Finding) else list(found)
    return [Finding(one) if isinstance(one, str) else one for one in listed]


def caption_of(draw: Any) -> str:
    """What a picture shows: the first line of what draws it."""
    draw = draw.func if isinstance(draw, partial) else draw
    return (draw.__doc__ or "").strip().partition("\n")[0].removesuffix(".")


def _words(finding: Finding, decide: Callable[[str], Verdict]) -> str:
    verdict = decide(finding.claim)
    # A smoke run or an unfinished one has no number, and so no finding.
    nothing = verdict.verdict == "inconclusive" and verdict.value != verdict.value
    return "" if nothing else finding.of(verdict)


def setting_of(
    words: str, manifest: Mapping[str, Any], paper: str, name: str, reference: str
) -> str:
    """Where a figure stands, and its settings: `{world.tokens} tokens` filled in from its run.

    Example:
        >>> told = {"configuration": {"experiment": {"world": {"tokens": 1000}}}}
        >>> setting_of("{world.tokens} tokens", told, "li2023", "fig1a", "Figure 1(a)")
        'li2023, Figure 1(a), 1,000 tokens'
    """
    study = manifest.get("configuration", {}).get("experiment", {})

    def entry(match: re.Match) -> str:
        value = study
        for part in match[1].split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None or isinstance(value, Mapping):
            raise InputError(f"{paper} {name} has no setting {match[1]!r} to tell")
        return f"{value:,}" if isinstance(value, int) else str(value)

    whose = f"{paper} {name}" if is_ours(reference or "limelight") else f"{paper}, {reference}"
    filled = re.sub(r"\{([a-z_.]+)\}", entry, words) if study else ""
    return ", ".join(filter(None, (whose, filled)))


def _capital(text: str) -> str:
    """A sentence begins with a capital; a symbol stays as it is."""
    symbol = re.match(r"[^\W\d_]*[_^\d]|[^\W\d_aA]\b", text) or text.split(" ")[0] in GREEK
    return text if symbol else text[:1].upper() + text[1:]
