"""What was found, in words that a verdict chooses."""

import math
import re
from dataclasses import dataclass

from limelight.claims._verdict import Verdict


@dataclass(frozen=True)
class Finding:
    """What a verdict says, in one line: words for each way that it can go.

    The words are formats of `value`, `low`, `high`, `n` and `minus` (the value with the other
    sign), such as `"a power of {value:.1f}, not 2"`. So no number in them is typed, and none of
    them can contradict the verdict that chose them.

    Args:
        claim: The claim's name.
        holds: When it holds; its sentence when not given.
        fails: When it fails; "Fails:" and its sentence when not given.
        open: When it is not decided; "Undecided:" and its sentence when not given.

    Example:
        >>> verdict = Verdict("1a", "It grows as n^2.", "fails", 7.3, (7.0, 7.6), 9, "", "")
        >>> Finding("1a", fails="It grows as a power of {value:.1f}, not 2").of(verdict)
        'It grows as a power of 7.3, not 2'
        >>> Finding("1a").of(verdict)
        'Fails: it grows as n^2'
    """

    claim: str
    holds: str = ""
    fails: str = ""
    open: str = ""

    def of(self, verdict: Verdict) -> str:
        """The words for a verdict; none where its table was not run or does not apply."""
        said = verdict.statement.removesuffix(".").replace(". (", " (")
        match verdict.verdict:
            case "holds":
                words = self.holds
            case "fails":
                words, said = self.fails, f"Fails: {_inside(said)}"
            case "inconclusive":
                words, said = self.open, f"Undecided: {_inside(said)}"
            case _:
                return ""
        low, high = verdict.interval or (math.nan, math.nan)
        told = {"value": verdict.value, "minus": -verdict.value, "low": low, "high": high}
        said = words.format(**told, n=verdict.n) if words else said
        return re.sub(r"(?<=\d)%", " %", said)


def _inside(sentence: str) -> str:
    """A sentence after a colon: its capital goes unless it is a symbol or a name."""
    first, second = sentence[:1], sentence[1:2]
    plain = second.islower() or (first == "A" and second == " ")
    named = sentence.split(" ")[0] in ("Lemma", "Theorem", "Lemmas", "Event", "Definition")
    return first.lower() + sentence[1:] if plain and not named else sentence
