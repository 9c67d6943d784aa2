"""Maths of a label as plain Unicode, for places that cannot typeset: a terminal, a title bar."""

import re

_SIGNS = """
    alpha=α beta=β gamma=γ delta=δ epsilon=ε zeta=ζ eta=η theta=θ lambda=λ mu=μ nu=ν xi=ξ pi=π rho=ρ
    sigma=σ tau=τ phi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Phi=Φ
    Psi=Ψ Omega=Ω ell=ℓ infty=∞ times=× cdot=· leq=≤ le=≤ geq=≥ ge=≥ approx=≈ neq=≠ pm=± sqrt=√
    langle=⟨ rangle=⟩ to=→
"""
_LETTERS = dict(re.findall(r"(\w+)=(\S)", _SIGNS))
_UP = str.maketrans("0123456789+-()n*'t", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ*′ᵗ")
_DOWN = str.maketrans("0123456789+-()aeijklmnoprstuvx*#", "₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ∗#")


def unicode_maths(text: str) -> str:
    r"""A label with its `$...$` written in Unicode; what has no sign of its own stays as a word.

    Example:
        >>> unicode_maths(r"label-relevant fraction $\alpha_*^{-2}$")
        'label-relevant fraction α∗⁻²'
        >>> unicode_maths(r"$\ln \mathcal{N}$ at $10^6$, $m_k$ \$5")
        'ln N at 10⁶, mₖ $5'
        >>> unicode_maths(r"$\alpha_\#$")
        'α#'
    """
    text = text.replace(r"\$", "\0")
    return re.sub(r"\$(.*?)\$", lambda found: _formula(found[1]), text).replace("\0", "$")


def _formula(maths: str) -> str:
    maths = re.sub(r"\\([#%])", r"\1", maths)
    maths = re.sub(
        r"\\(?:mathcal|mathrm|mathbf|text|operatorname|hat|bar|lvert|rvert)\b", "", maths
    )
    maths = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", maths)
    maths = re.sub(r"\\([A-Za-z]+)", lambda f: _LETTERS.get(f[1], f[1]), maths)
    maths = re.sub(r"\^(?:\{([^{}]*)\}|(.))", lambda f: _raised(f[1] or f[2], _UP, "^"), maths)
    maths = re.sub(r"_(?:\{([^{}]*)\}|(.))", lambda f: _raised(f[1] or f[2], _DOWN, "_"), maths)
    return re.sub(r"[{}]|\\[,;! ]", "", maths)


def _raised(text: str, signs: dict[int, int], mark: str) -> str:
    """Superscript or subscript letters, where every one of them exists."""
    if all(ord(letter) in signs for letter in text):
        return text.translate(signs)
    return f"{mark}{text}"
