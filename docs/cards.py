"""Errata as cards that people can link to, one page per paper, made from `errata.md` by `fill.py`.

A card says what is printed, what is wrong with it, what holds, the command that shows it, and
what that command prints (`evidence.py`).
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType


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
    evidence = re.sub(r"`S ", rf"`limelight show {key} ", evidence)
    verify = f"`limelight verify {key} --results results/` decides"
    return re.sub(r"\bV: ", f"{verify} ", evidence)


def commands(key: str, row: dict[str, str]) -> list[str]:
    """The commands that show a row, in full."""
    quoted = re.findall(r"`([^`]+)`", spelled_out(row["evidence"], key))
    return [c for c in quoted if c.startswith(("limelight show ", "pytest ", "python "))]


def claims(key: str, row: dict[str, str], known: Iterable[str]) -> list[str]:
    """The claims that a row names; a name may end with a star."""
    named = re.findall(r"`([^`]+)`", row["evidence"])
    return [claim for claim in known if any(fnmatchcase(claim, name) for name in named)]


def in_numbers(output: str) -> str:
    """Both sides of an erratum, from what its command prints; nothing for other commands."""
    text = re.sub(r"\n {4,}", " ", output)  # long lines are continued
    what = re.search(r"^E\d+: (.+) = \S+\s+\[", text, re.M)
    if what is None:
        return ""
    sides = re.findall(r"^  (holds|FAILS)  (.+): (.+)$", text, re.M)
    said = [what[1], *(f"{name}: {both}, which {word.lower()}" for word, name, both in sides)]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in said)


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
    facts = {
        "Printed": row["printed"],
        "What is wrong": row["what is wrong"],
        "True instead": row["what holds"],
        "Shown by": spelled_out(row["evidence"], key),
        "In numbers": " ".join(filter(None, map(in_numbers, outputs.values()))),
        "Decided": "; ".join(f"`{claim}` {said}" for claim, said in verdicts.items()),
    }
    body = "\n\n".join(f"**{name}.** {text}" for name, text in facts.items() if text)
    label = f"{key}-{row['#'].lower()}"
    head = f"({label})=\n### {row['#']}: {row['title']}\n"
    return f"{head}\n:::{{card}}\n{body}\n:::\n{printed(outputs)}"


def page(
    key: str,
    before: str,
    listed: list[dict[str, str]],
    after: str,
    outputs: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    verdicts: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """All cards of a paper."""
    head = (
        f"# Errata: {key}\n\nWhat [the paper](../papers/{key}/index.md) prints, what is wrong with"
        f" it, what holds instead, and what shows it. Each card has an address of its own.\n"
        + (f"\n{_from_a_folder(before)}\n" if before.strip() else "")
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
    tail = f"\n## Notes\n\n{_from_a_folder(after)}\n" if after.strip() else ""
    return head + "\n## Cards\n\n" + "\n".join(cards) + tail


def _from_a_folder(text: str) -> str:
    """Words of `errata.md` with its links as they are from the folder of the cards."""
    return text.strip().replace("](papers/", "](../papers/").replace("](proofs/", "](../proofs/")


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
        f"{key}.md": page(key, before, listed, after, outputs.get(key, {}), verdicts.get(key, {}))
        for key, (before, listed, after) in found.items()
    }
    counts = "\n".join(
        f"| [{key}]({key}.md) | {len(listed)} |" for key, (_, listed, _) in found.items()
    )
    toc = "\n".join(found)
    made["index.md"] = (
        "# Errata\n\nWhat the papers print that does not hold, what holds instead, and the command"
        " that shows it. Most cards name a command and show what it prints; many of these commands"
        " evaluate the printed and the corrected statement side by side. *By hand* marks what is"
        " read off the page: a slip of notation, or a line of algebra. The cards of each paper are"
        " also in one table, in `docs/errata.md` of the repository.\n\n"
        f"| paper | cards |\n| --- | ---: |\n{counts}\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n"
    )
    return made
