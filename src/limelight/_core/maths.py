r"""Our plain notation for maths, and TeX between dollars, as HTML or as Unicode.

Claims are written plainly (`alpha_*^-2`), labels of pictures in TeX (`$\alpha_*^{-2}$`). A reader
of a page, a notebook or a terminal sees neither: `in_html` and `in_text` typeset both, and
`in_mathtext` does for pictures.
"""

import html
import re
from collections.abc import Callable, Iterator
from typing import Literal

Level = Literal["", "sub", "sup"]

_SMALL = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
    "final",
    "sigma",
    "tau",
    "upsilon",
    "phi",
    "chi",
    "psi",
    "omega",
]
GREEK = {name: chr(0x3B1 + i) for i, name in enumerate(_SMALL) if name not in ("final", "omicron")}
GREEK |= {name.capitalize(): chr(ord(letter) - 32) for name, letter in GREEK.items()}
GREEK["eps"] = GREEK["epsilon"]
_WORDS = "|".join(sorted(GREEK, key=len, reverse=True))
# `beta` is a letter, `beta-binomial` and `alphabet` are words; `eta` is not the end of `beta`, and
# the field `world.sigma` keeps the name by which it is asked for.
_GREEK = re.compile(rf"(?<![A-Za-z\\])(?<!\w\.)({_WORDS})(?![A-Za-z=]|-[a-z])")
_LETTER = "A-Za-zα-ωΑ-Ω"
# A commit may be of digits and one e: what is as long as one is no number.
_TEN = re.compile(r"(?<![\w.])(?![0-9a-f]{7,}\b)(\d+(?:\.\d+)?)e\+?(-?)0*(\d+)(?!\w)")
_N50 = re.compile(r"\bN50\b")
_SIGNS = (
    (re.compile(r"(?<=\S) - (?=\S)"), " − "),
    (re.compile(r"(?<=\d) x (?=\d)"), " × "),
    (re.compile(r"(?<![\w)\]}.-])-(?=[\d.])"), "−"),
)
_PLAIN = (
    (_TEN, r"\1×10^{\2\3}"),
    (_N50, "N_{50}"),
    (re.compile(r"\blog2\b"), "log_{2}"),
    (re.compile(r"\bsqrt(?=[ (\d])"), "√"),
    (re.compile(r"(?<=\s)-(?=[A-Z]_)"), "−"),
    (re.compile(rf"(?<![A-Za-z])([{_LETTER}])_([A-Za-z0-9]+|[*#])"), r"\1_{\2}"),
    (re.compile(rf"(?<![{_LETTER}])([{_LETTER}])\*(?=[\s,.;:()\]|]|$)"), r"\1^{*}"),
    (re.compile(rf"(?<=[\w)}}{_LETTER}])\^([+-]?\d+(?:\.\d+)?|[+-]?[{_LETTER}]\b)"), r"^{\1}"),
    (re.compile(rf"(?<=[\w)}}{_LETTER}])\^\(([^()^_{{}}]*)\)"), r"^{\1}"),
    (re.compile(r"(?<=[A-Z]\d)''"), "″"),
    (re.compile(r"(?<=[A-Z]\d)'(?!s)"), "′"),
    (re.compile(r"<="), "≤"),
    (re.compile(r">="), "≥"),
    *_SIGNS,
    (re.compile(r"(?<=[\d)])-(?=[α-ω])"), "−"),
    (re.compile(r"(?<![\d.])1×10\^"), "10^"),
)
_TEX = {
    r"\mathcal{S}": "𝒮", r"\mathcal{O}": "𝒪", r"\propto": "∝", r"\approx": "≈", r"\sim": "∼",
    r"\times": "×", r"\cdot": "·", r"\leq": "≤", r"\geq": "≥", r"\le": "≤", r"\ge": "≥",
    r"\infty": "∞", r"\to": "→", r"\pm": "±", r"\sqrt": "√", r"\#": "#", r"\%": "%", r"\|": "‖",
    r"\,": " ", r"\;": " ", r"\ ": " ", r"\log": "log", r"\ln": "ln", r"\exp": "exp",
    r"\cos": "cos", r"\max": "max", r"\min": "min", r"\ell": "ℓ", r"\neq": "≠", r"\ne": "≠",
    r"\sum": "∑", r"\top": "⊤", r"\left": "", r"\right": "", r"\langle": "⟨", r"\rangle": "⟩",
    r"\in": "∈", "''": "″", "'": "′",
}  # fmt: skip
_STYLED = re.compile(
    r"\\(?:mathrm|mathbf|mathit|text|operatorname|mathcal|hat|bar|tilde)\{([^{}]*)\}"
)
_COMMAND = re.compile("|".join(re.escape(word) for word in sorted(_TEX, key=len, reverse=True)))
_SCRIPT = re.compile(r"[_^]\{[^{}]*\}")
_UP = str.maketrans("0123456789+-−=().niTVRkdmtβ*∗", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾·ⁿⁱᵀⱽᴿᵏᵈᵐᵗᵝ∗∗")
_DOWN = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvx*∗#", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ∗∗#"
)


def in_html(text: str) -> str:
    r"""Typeset and escaped, with raised and lowered parts as elements.

    Example:
        >>> in_html("a line in alpha_*^-2, N50 <= 8")
        'a line in α<sub>∗</sub><sup>−2</sup>, N<sub>50</sub> ≤ 8'
        >>> in_html("<b> shared_scaled $\\sigma^{2}$")
        '&lt;b&gt; shared_scaled σ<sup>2</sup>'
    """
    parts = []
    for words, level in _runs(text):
        escaped = html.escape(words, quote=True)
        parts.append(f"<{level}>{escaped}</{level}>" if level else escaped)
    return "".join(parts)


def in_text(text: str) -> str:
    r"""Typeset with the raised and lowered letters of Unicode, where every letter has one.

    Example:
        >>> in_text("$1/(\\alpha_*-\\alpha_\\#)$ and alpha_*^-2, D^2")
        '1/(α∗−α#) and α∗⁻², D²'
        >>> in_text("1e-9, 7.81e-09, 21e3, 3 x 3")
        '10⁻⁹, 7.81×10⁻⁹, 21×10³, 3 × 3'
        >>> in_text("between -V_i and |sqrt2 - s|")
        'between −Vᵢ and |√2 − s|'
        >>> in_text("1 - r^2/2, e^-R, e^(-tV), e^(-lambda/2)")
        '1 − r²/2, e⁻ᴿ, e⁻ᵗⱽ, e^(−λ/2)'
        >>> in_text("$1/\\sqrt{m_k}$")
        '1/√mₖ'
    """
    parts = []
    for words, level in _runs(text):
        table = {"sup": _UP, "sub": _DOWN}.get(level)
        if table is None:
            parts.append(words)
        elif all(ord(letter) in table for letter in words):
            parts.append(words.translate(table))
        else:
            parts.append(
                ("^" if level == "sup" else "_") + (words if len(words) < 4 else f"({words})")
            )
    return "".join(parts)


def with_signs(text: str) -> str:
    r"""Minus and times as signs, and powers of ten and N50 raised and lowered, outside formulas.

    Example:
        >>> with_signs("1 - $a-b$, slope -2, a 3 x 3 average of x")
        '1 − $a-b$, slope −2, a 3 × 3 average of x'
        >>> with_signs("1e-3, commit 78e1234")
        '10⁻³, commit 78e1234'
        >>> with_signs("N50 to within 1e-6, rates 5e-05 and 2e3")
        'N₅₀ to within 10⁻⁶, rates 5×10⁻⁵ and 2×10³'
    """
    for pattern, sign in ((_TEN, _raised), (_N50, "N₅₀"), *_SIGNS):
        text = "".join(_signed(text, pattern, sign))
    return text


def _signed(text: str, pattern: re.Pattern, sign: str | Callable[..., str]) -> Iterator[str]:
    end = 0
    for match in pattern.finditer(text):
        inside = text.count("$", 0, match.start()) % 2  # of a formula
        yield text[end : match.start()]
        yield match[0] if inside else sign if isinstance(sign, str) else sign(match)
        end = match.end()
    yield text[end:]


def _raised(match: re.Match) -> str:
    ten = "10" + f"{match[2]}{match[3]}".translate(_UP)
    return ten if match[1] == "1" else f"{match[1]}×{ten}"


def in_mathtext(text: str) -> str:
    r"""Typeset for Matplotlib: raised and lowered parts between dollars, all else as it is.

    Example:
        >>> in_mathtext("a line in alpha_*^-2")
        'a line in α$_{\\mathregular{∗}}$$^{\\mathregular{−2}}$'
    """
    parts = []
    for words, level in _runs(text):
        inside = re.sub(r"([#%&_{}])", r"\\\1", words).replace(" ", r"\ ")
        sign = {"sup": "^", "sub": "_"}.get(level, "")
        parts.append(
            rf"${sign}{{\mathregular{{{inside}}}}}$" if sign else words.replace("$", r"\$")
        )
    return "".join(parts)


def _runs(text: str) -> list[tuple[str, Level]]:
    pieces = text.split("$")
    if len(pieces) % 2 == 0:  # a dollar of its own
        pieces = [text]
    marked = "".join(_tex(piece) if i % 2 else _plain(piece) for i, piece in enumerate(pieces))
    found: list[tuple[str, Level]] = []
    end = 0
    for match in _SCRIPT.finditer(marked):
        found.append((marked[end : match.start()], ""))
        words = match[0][2:-1].replace("*", "∗")
        found.append((words.replace("-", "−"), "sub" if match[0][0] == "_" else "sup"))
        end = match.end()
    found.append((marked[end:], ""))
    return [run for run in found if run[0]]


def _plain(text: str) -> str:
    text = _GREEK.sub(lambda match: GREEK[match[1]], text)
    for pattern, instead in _PLAIN:
        text = pattern.sub(instead, text)
    return text


def _tex(text: str) -> str:
    text = re.sub(rf"\\({_WORDS})(?![A-Za-z])", lambda match: GREEK[match[1]], text)
    text = _COMMAND.sub(lambda match: _TEX[match[0]], text)
    text = _STYLED.sub(r"\1", text)
    text = re.sub(r"([_^])([^{\s])", r"\1{\2}", text)
    return (
        re.sub(r"(?<![_^])\{((?:[^{}]|[_^]\{[^{}]*\})*)\}", r"\1", text)
        .replace("-", "−")
        .replace("\\", "")
    )
