"""Docstrings are written in Markdown, as people read them; Sphinx wants reStructuredText."""

import re


def translated(lines: list[str]) -> list[str]:
    """A docstring with its maths and code in the other markup."""
    text = "\n".join(_remarks(lines))
    text = re.sub(r"^( *)\$\$(.+?)\$\$[.,;]? *$", _display, text, flags=re.M | re.S)
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [_plain(part) for part in parts[::2]]
    return _blocks("".join(parts).split("\n"))


#: Sections of ours whose words begin on the line of their name.
REMARKS = re.compile(r"^( *)(Notation|Departures|Reference): (.*)$")


def _remarks(lines: list[str]) -> list[str]:
    """Our one-line sections as paragraphs that begin with their name."""
    out: list[str] = []
    inside: str | None = None
    for line in lines:
        found = REMARKS.match(line)
        if found:
            inside = found[1]
            out += ["", f"{inside}**{found[2]}.** {found[3]}"]
        elif inside is not None and line.startswith(f"{inside} ") and line.strip():
            out.append(inside + line.strip())
        else:
            out += [""] * (inside is not None and bool(line.strip()))
            inside = None
            out.append(line)
    return out


def _display(found: re.Match[str]) -> str:
    space, inside = found[1], " ".join(found[2].split())
    return f"\n{space}.. math:: {inside}\n"


def _plain(text: str) -> str:
    text = re.sub(r"(?<![\\$\w])\$([^$]+?)\$", lambda f: f":math:`{' '.join(f[1].split())}`", text)
    pieces = re.split(
        r"(:math:`[^`]*`|^ *\.\. math::.*$|^ *>>>.*$|^ *\.\.\. .*$)", text, flags=re.M
    )
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1", pieces[i])
        pieces[i] = re.sub(r"(?<=\w)_(?=[\s).,;:'\"]|$)", r"\_", pieces[i], flags=re.M)
        pieces[i] = (
            re.sub(r"(?<!\*)\*(?!\*)", r"\*", pieces[i]) if "**" not in pieces[i] else pieces[i]
        )
        pieces[i] = re.sub(r"\|(?=\S)", r"\|", pieces[i])
    return "".join(pieces)


def _blocks(lines: list[str]) -> list[str]:
    """A line that ends in a colon before an indented block begins a piece of code."""
    out = list(lines)
    for i, line in enumerate(out[:-2]):
        follow = out[i + 2]
        deeper = len(follow) - len(follow.lstrip()) > len(line) - len(line.lstrip())
        code = deeper and not follow.lstrip().startswith((">>>", "-", "*", ".."))
        if (
            line.rstrip().endswith(":")
            and not line.rstrip().endswith("::")
            and not out[i + 1]
            and code
        ):
            out[i] = line.rstrip() + ":"
    return out


def _module(lines: list[str]) -> list[str]:
    """The docstring of a module, in which an indented paragraph is code, kept as it is."""
    out: list[str] = []
    was_code = False
    for part in re.split(r"\n\n+", "\n".join(lines)):
        code = all(line.startswith("    ") for line in part.split("\n") if line)
        if code and part.strip():
            out += [] if was_code else ["::", ""]
            out += [*part.split("\n"), ""]
        else:
            out += [*translated(part.split("\n")), ""]
        was_code = code
    return out


def setup(app):
    """Register it, before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _process(app, what, name, obj, options, lines) -> None:
    lines[:] = _module(lines) if what == "module" else translated(lines)
    if what in ("property", "attribute", "data") and lines:
        lines[:0] = ["..", ""]  # napoleon would read what stands before a colon as a type


def _skip(app, what, name, obj, skip, options) -> bool | None:
    """Fields of a named tuple are told among its parameters."""
    return True if type(obj).__name__ == "_tuplegetter" else None
