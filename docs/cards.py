"""Errata as cards that people can link to, one page per paper, made from `errata.md` by `fill.py`.

A card says what is printed, what is wrong with it, what is true, and the command that shows it.
"""

import re

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


def card(key: str, row: dict[str, str], number: int) -> str:
    """One card, with an anchor of its own."""
    cell = lambda name: next((row[t] for t in COLUMNS[name] if t in row), "")
    where = f" ({cell('where')})" if cell("where") else ""
    shown = spelled_out(cell("shown by"), key)
    facts = {
        "Printed": cell("printed") + where,
        "What is wrong": cell("wrong"),
        "True instead": cell("true"),
        "Shown by": shown,
    }
    body = "\n\n".join(f"**{name}.** {text}" for name, text in facts.items() if text)
    label = f"{key}-{row['#'].lower()}"
    return f"({label})=\n### {row['#']}\n\n:::{{card}}\n{body}\n:::\n"


def page(key: str, listed: list[dict[str, str]], after: str) -> str:
    """All cards of a paper."""
    head = (
        f"# Errata: {key}\n\nWhat [the paper](../papers/{key}/index.md) prints, what is wrong with"
        f" it, what holds instead, and what shows it. Each card has an address of its own.\n"
    )
    cards = [card(key, row, i) for i, row in enumerate(listed, 1)]
    tail = f"\n## Notes\n\n{after.strip()}\n" if after.strip() else ""
    tail = tail.replace("](papers/", "](../papers/").replace("](proofs/", "](../proofs/")
    return head + "\n## Cards\n\n" + "\n".join(cards) + tail


def pages(text: str) -> dict[str, str]:
    """Every page of cards by its name, from the text of `errata.md`."""
    found = tables(text)
    made = {f"{key}.md": page(key, listed, after) for key, (_, listed, after) in found.items()}
    counts = "\n".join(
        f"| [{key}]({key}.md) | {len(listed)} |" for key, (_, listed, _) in found.items()
    )
    toc = "\n".join(found)
    made["index.md"] = (
        "# Errata\n\nWhat the papers print that does not hold, what holds instead, and the command"
        " that shows it. Most cards name a command that evaluates the printed and the corrected"
        " statement side by side. *By hand* marks what is read off the page: a slip of notation, or"
        " a line of algebra. All of them in one table per paper: `docs/errata.md` in the"
        " repository.\n\n"
        f"| paper | cards |\n| --- | ---: |\n{counts}\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n"
    )
    return made
