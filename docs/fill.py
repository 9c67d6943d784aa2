"""Write every number in the docs from the published tables, so that none is typed by hand.

A page holds marks such as

    Of <!-- = claims li2023 -->139 claims 70 hold<!-- / -->

and what stands between the two comments is written by this script:

    python docs/fill.py            write every page anew
    python docs/fill.py --check    leave with 1 and say which page is out of date

The pages of errata cards (`cards.py`) are written too, from `errata.md`.

What a mark may ask for is the functions below, by name, with their words.
"""

import json
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cards  # noqa: E402
import networks  # noqa: E402

from limelight.claims import DECISIONS, Verdict
from limelight.papers import KEYS, coverage, load
from limelight.papers.published import decide_published
from limelight.table import Table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
MARK = re.compile(r"(<!-- = (.+?) -->)(.*?)(<!-- / -->)", re.DOTALL)


@cache
def decided(key: str) -> dict[str, Verdict]:
    """Every verdict of a paper by the claim's name."""
    verdicts = [v for figure in load(key).figures for v in decide_published(figure, RESULTS)]
    return {verdict.claim: verdict for verdict in verdicts}


def verdict_of(key: str, name: str) -> Verdict:
    """One verdict; a name that is not there is an error in the page."""
    return decided(key)[name]


# --- what a mark may ask for --------------------------------------------------------------------


def claims(key: str, whose: str = "all") -> str:
    """How many claims there are, and how many hold; `whose` may be paper, ours or a kind."""
    found = [v.verdict for v in decided(key).values() if whose in ("all", _group(v))]
    counts = Counter(found)
    words = {"holds": "hold", "fails": "fail"}
    parts = [f"{counts[word]} {words.get(word, word)}" for word in DECISIONS if counts[word]]
    return f"{len(found)} claims: {', '.join(parts)}"


def figures(key: str) -> str:
    """How many figures a paper has here."""
    return str(len(load(key).titles))


def firm() -> str:
    """How many claims of all papers hold or fail, and how many there are."""
    every = [v.verdict for key in KEYS for v in decided(key).values()]
    return f"{sum(word in ('holds', 'fails') for word in every)} of {len(every)} claims"


def tables(key: str) -> str:
    """How many tables are published, and how many trials they hold."""
    found = sorted((RESULTS / key).glob("*/table.parquet"))
    return f"{len(found)} tables, {sum(len(Table.load(path)) for path in found):,} trials"


def value(key: str, name: str, form: str = ".3g") -> str:
    """The number of a claim."""
    return f"{verdict_of(key, name).value:{form}}"


def interval(key: str, name: str, form: str = ".3g") -> str:
    """The interval of a claim."""
    low, high = verdict_of(key, name).interval or ()
    return f"{low:{form}} to {high:{form}}"


def verdict(key: str, name: str) -> str:
    """What was decided."""
    return verdict_of(key, name).verdict


def verdicts(key: str, *names: str) -> str:
    """A table of claims: what is said, what was decided, the number and its interval."""
    rows = ["| claim | says | verdict | value |", "| --- | --- | --- | --- |"]
    for name in names:
        v = verdict_of(key, name)
        ends = "" if v.interval is None else " [{:.3g}, {:.3g}]".format(*v.interval)
        number = "" if v.value != v.value else f"{v.value:.3g}{ends}"
        rows.append(f"| `{name}` | {_cell(v.statement)} | {v.verdict} | {number} |")
    return "\n" + "\n".join(rows) + "\n"


def undecided() -> str:
    """The papers' own claims that are open, each with the reason: all of them, and no other."""
    told = json.loads((ROOT / "docs" / "papers" / "open.json").read_text(encoding="utf-8"))
    found = {
        f"{key} {name}": v
        for key in KEYS
        for name, v in decided(key).items()
        if v.verdict == "inconclusive" and not v.ours
    }
    if set(found) != set(told):
        raise SystemExit(f"docs/papers/open.json is not the list of {sorted(found)}")
    rows = ["| claim | says | value | why it is open |", "| --- | --- | --- | --- |"]
    for name, v in found.items():
        ends = "" if v.interval is None else " [{:.3g}, {:.3g}]".format(*v.interval)
        number = "" if v.value != v.value else f"{v.value:.3g}{ends}"
        rows.append(f"| `{name}` | {_cell(v.statement)} | {number} | {told[name]} |")
    return "\n" + "\n".join(rows) + "\n"


def sizes(key: str) -> str:
    """What the scale `paper` is, figure by figure."""
    found: dict[str, list[str]] = {}
    for figure in load(key).figures:
        found.setdefault(figure.sizes, []).append(f"`{figure.name}`")
    rows = [f"- {', '.join(names)}: {words}." for words, names in found.items()]
    return "\n" + "\n".join(rows) + "\n"


def items(key: str) -> str:
    """Every numbered item of a paper, and where it lives here."""
    found = load(key).items
    counted = coverage.counts(found)
    rows = ["| item | says | where |", "| --- | --- | --- |"]
    for item in found:
        where = ", ".join(f"`{pointer}`" for pointer in item.where)
        rows.append(f"| {item.label} | {_cell(item.says)} | {where or 'not here: ' + item.why} |")
    return f"\n{counted['here']} of {counted['items']} are here.\n\n" + "\n".join(rows) + "\n"


def mutants() -> str:
    """Faults that were put into a package, and how many the tests found, before and after."""
    rows = ["| package | faults | found before | found now | change nothing | not found |"]
    rows += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
    counted = list(_benchmark("mutants")["table"].items())
    names = ("tried", "killed", "equivalent", "survived")
    total = {when: {n: sum(c[when][n] for _, c in counted) for n in names} for when in ROUNDS}
    for package, c in [*counted, ("all", total)]:
        now = c["after"]
        real = now["tried"] - now["equivalent"]
        rows.append(
            f"| `{package}` | {now['tried']} | {c['before']['killed']} | {now['killed']}, "
            f"{now['killed'] / real:.0%} of those that change anything | {now['equivalent']} | "
            f"{now['survived']} |"
        )
    return "\n" + "\n".join(rows) + "\n"


def machines() -> str:
    """Every place that was tried, and what came of it."""
    rows = ["| place | Python, JAX, NumPy | commands | tests |", "| --- | --- | --- | --- |"]
    for name, found in _benchmark("machines").items():
        if "not here" in found:
            rows.append(f"| {name} | | not tried: {found['not here']} | |")
            continue
        versions = ", ".join(found["versions"][n] for n in ("python", "jax", "numpy"))
        quiet = found["commands"] - len(found["faults"])
        rows.append(
            f"| {name} | {versions} | {quiet} of {found['commands']} | {found.get('tests', '')} |"
        )
    return "\n" + "\n".join(rows) + "\n"


def guided() -> str:
    """Inputs of the fuzzer that follows coverage, by parser."""
    rows = ["| parser | inputs | places reached at first | at last | tracebacks |"]
    rows += ["| --- | ---: | ---: | ---: | ---: |"]
    for kind, found in _benchmark("torture")["guided"].items():
        first, last = found["places reached, at first"], found["places reached"]
        rows.append(f"| {kind} | {found['inputs']:,} | {first} | {last} | {found['tracebacks']} |")
    return "\n" + "\n".join(rows) + "\n"


ASKED = {
    f.__name__: f
    for f in (claims, figures, firm, tables, value, interval, verdict, verdicts, sizes, items)
} | {f.__name__: f for f in (mutants, machines, guided, undecided)}
ASKED |= {
    f.__name__: f
    for f in (
        networks.checkpoints,
        networks.loaded_networks,
        networks.refused_networks,
        networks.described_networks,
        networks.prune_curve,
        networks.probe_times,
    )
}
#: The two rounds of mutants: the tests as they were, and as they are.
ROUNDS = ("before", "after")


def _benchmark(name: str) -> dict:
    return json.loads((RESULTS / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def _group(v: Verdict) -> str:
    return v.kind if v.kind != "statistical" else "ours" if v.ours else "paper"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


# --- pages --------------------------------------------------------------------------------------


def written(text: str) -> str:
    """A page with every mark filled in."""

    def fill(found: re.Match[str]) -> str:
        name, *words = found[2].split()
        return found[1] + ASKED[name](*words) + found[4]

    return MARK.sub(fill, text)


def pages() -> list[Path]:
    """Every page that may hold marks."""
    here = ROOT / "docs"
    made = (here / "_build", here / "api", here / "errata")
    written = [p for p in sorted(here.rglob("*.md")) if not any(map(p.is_relative_to, made))]
    return [ROOT / "README.md", *written]


def errata() -> dict[Path, str]:
    """The pages of errata cards, from the tables in `errata.md`."""
    folder = ROOT / "docs" / "errata"
    folder.mkdir(exist_ok=True)
    made = cards.pages((ROOT / "docs" / "errata.md").read_text())
    return {folder / name: text for name, text in made.items()}


def main(words: list[str]) -> int:
    """Write the pages, or say which are out of date."""
    stale = []
    for page, new in {**{page: written(page.read_text()) for page in pages()}, **errata()}.items():
        if not page.exists() or new != page.read_text():
            stale.append(page.relative_to(ROOT))
            if "--check" not in words:
                page.write_text(new)
    for page in stale:
        print(f"{page} {'is out of date' if '--check' in words else 'written'}")
    return int("--check" in words and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
