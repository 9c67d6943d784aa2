"""Errata as cards that people can link to, one page per paper, made from `errata.md` by `fill.py`.

A card says what is printed, what is wrong with it, what is true, the command that shows it, and
what that command prints (`evidence.py`).
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

#: Titles of the columns, as the tables of `errata.md` call them.
COLUMNS = {
    "printed": ("printed statement", "Printed", "printed"),
    "wrong": ("what is wrong", "What is wrong"),
    "true": ("corrected statement", "Corrected", "corrected"),
    "shown by": ("evidence", "Evidence"),
    "where": ("where",),
}


def tables(text: str) -> dict[str, tuple[str, list[dict[str, str]], str]]:
    """By paper: the words before its table, its rows by column, and the words after."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        key, _, body = part.partition("\n")
        lines = body.strip().splitlines()
        rows = [line for line in lines if line.startswith("|")]
        first = lines.index(rows[0])
        before, after = lines[:first], lines[first + len(rows) :]
        titles = cells(rows[0])
        listed = [dict(zip(titles, cells(row), strict=True)) for row in rows[2:]]
        found[key.strip()] = ("\n".join(before), listed, "\n".join(after))
    return found


def cells(row: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def spelled_out(evidence: str, key: str) -> str:
    """Commands in full, where the table abbreviates them."""
    show = f"limelight show {key} errata --set number="
    evidence = re.sub(r"`show (\d+)`", rf"`{show}\1`", evidence)
    evidence = re.sub(r"`S errata (\d+)`", rf"`{show}\1`", evidence)
    evidence = re.sub(r"`S ", rf"`limelight show {key} ", evidence)
    verify = f"`limelight verify {key} --results results/` decides"
    return re.sub(r"\bV: ", f"{verify} ", evidence)


def cell(row: dict[str, str], name: str) -> str:
    """A cell of a row by what it holds; the tables have other titles for it."""
    return next((row[title] for title in COLUMNS[name] if title in row), "")


def commands(key: str, row: dict[str, str]) -> list[str]:
    """The commands that show a row, in full."""
    quoted = re.findall(r"`([^`]+)`", spelled_out(cell(row, "shown by"), key))
    return [c for c in quoted if c.startswith(("limelight show ", "pytest ", "python "))]


def claims(key: str, row: dict[str, str], known: Iterable[str]) -> list[str]:
    """The claims that a row names; a name may end with a star."""
    named = re.findall(r"`([^`]+)`", cell(row, "shown by"))
    return [claim for claim in known if any(fnmatchcase(claim, name) for name in named)]


def printed(outputs: Mapping[str, str]) -> str:
    """What commands print, folded away."""
    found = [
        f":::{{dropdown}} `{command}`\n```text\n{output}\n```\n:::\n"
        for command, output in outputs.items()
    ]
    return "\n".join(["", *found]) if found else ""


def card(
    key: str,
    row: dict[str, str],
    outputs: Mapping[str, str] = MappingProxyType({}),
    verdicts: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One card, with an anchor of its own, what its commands print, and what its claims are."""
    where = f" ({cell(row, 'where')})" if cell(row, "where") else ""
    facts = {
        "Printed": cell(row, "printed") + where,
        "What is wrong": cell(row, "wrong"),
        "True instead": cell(row, "true"),
        "Shown by": spelled_out(cell(row, "shown by"), key),
        "Decided": "; ".join(f"`{claim}` {said}" for claim, said in verdicts.items()),
    }
    body = "\n\n".join(f"**{name}.** {text}" for name, text in facts.items() if text)
    label = f"{key}-{row['#'].lower()}"
    return f"({label})=\n### {row['#']}\n\n:::{{card}}\n{body}\n:::\n{printed(outputs)}"


def page(
    key: str,
    listed: list[dict[str, str]],
    after: str,
    outputs: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    verdicts: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """All cards of a paper."""
    head = (
        f"# Errata: {key}\n\nWhat [the paper](../papers/{key}/index.md) prints, what is wrong with"
        f" it, what holds instead, and what shows it. Each card has an address of its own.\n"
    )
    cards = [
        card(
            key,
            row,
            outputs.get(row["#"], {}),
            {claim: verdicts[claim] for claim in claims(key, row, verdicts)},
        )
        for row in listed
    ]
    tail = f"\n## Notes\n\n{after.strip()}\n" if after.strip() else ""
    tail = tail.replace("](papers/", "](../papers/").replace("](proofs/", "](../proofs/")
    return head + "\n## Cards\n\n" + "\n".join(cards) + tail


def pages(
    text: str,
    outputs: Mapping[str, Mapping[str, Mapping[str, str]]] = MappingProxyType({}),
    verdicts: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> dict[str, str]:
    """Every page of cards by its name.

    Args:
        text: `errata.md`.
        outputs: What commands print, by paper, row and command.
        verdicts: What is decided, by paper and claim.
    """
    found = tables(text)
    made = {
        f"{key}.md": page(key, listed, after, outputs.get(key, {}), verdicts.get(key, {}))
        for key, (_, listed, after) in found.items()
    }
    counts = "\n".join(
        f"| [{key}]({key}.md) | {len(listed)} |" for key, (_, listed, _) in found.items()
    )
    toc = "\n".join(found)
    made["index.md"] = (
        "# Errata\n\nWhat the papers print that does not hold, what holds instead, and the command"
        " that shows it. Most cards name a command that evaluates the printed and the corrected"
        " statement side by side, and show what it prints. *By hand* marks what is read off the"
        " page: a slip of notation, or a line of algebra. All of them in one table per paper:"
        " `docs/errata.md` in the repository.\n\n"
        f"| paper | cards |\n| --- | ---: |\n{counts}\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n"
    )
    return made
