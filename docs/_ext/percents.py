"""A number and its % stay on one line."""

import re

from docutils import nodes

#: A space that may break, between the two.
APART = re.compile(r"(?<=\d) %")
#: What is shown as it is.
VERBATIM = (nodes.literal, nodes.math, nodes.FixedTextElement)


def join(app, doctree, docname: str) -> None:
    """Put a space that does not break into every text that is no code."""
    for text in list(doctree.findall(nodes.Text)):
        if APART.search(text) and not isinstance(text.parent, VERBATIM):
            text.parent.replace(text, nodes.Text(APART.sub("\N{NO-BREAK SPACE}%", text)))


def setup(app):
    """Register it."""
    app.connect("doctree-resolved", join)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
