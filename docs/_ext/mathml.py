"""Maths as MathML, which browsers set by themselves: no script, no font, nothing fetched."""

import re

from docutils import nodes
from latex2mathml.converter import convert


def tex(text: str) -> str:
    """What the converter does not know, in words that it knows."""
    text = re.sub(r"\\(?:lvert|rvert)\b", r"|", text)
    text = re.sub(r"\\(?:lVert|rVert)\b", r"\\|", text)
    text = text.replace(r"\tfrac", r"\frac").replace(r"\dfrac", r"\frac")
    text = re.sub(r"\\arg(?=[\\_{ ])", r"\\mathrm{arg}\\,", text)
    text = re.sub(r"\\operatorname\*?\{([^}]*)\}", r"\\mathrm{\1}", text)
    return re.sub(r"\\(?:big|Big|bigg|Bigg)[lr]?(?=[^a-zA-Z])", "", text)


def inline(self, node: nodes.math) -> None:
    """One formula in a line."""
    self.body.append(convert(tex(node.astext())))
    raise nodes.SkipNode


def block(self, node: nodes.math_block) -> None:
    """A displayed formula, with room to scroll where the page is narrow."""
    text = node.astext()
    if "&" in text and r"\begin" not in text:
        text = rf"\begin{{align}}{text}\end{{align}}"
    self.body.append('<div class="maths">')
    self.body.append(convert(tex(text), display="block"))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Register it."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
