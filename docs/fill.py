"""Write every number in the docs from the published tables, so that none is typed by hand.

A page holds marks such as

    Of <!-- = claims li2023 -->139 claims 70 hold<!-- / -->

and what stands between the two comments is written by this script:

    python docs/fill.py            write every page anew
    python docs/fill.py --check    leave with 1 and say which page is out of date

The pages of errata cards (`cards.py`) are written too, from `errata.md` and from what its commands
print (`evidence.py`), and the table of changed claims in CHANGELOG.md (`changes.py`).

What a mark may ask for is the functions below and those of `facts.py`,
`networks.py`, `pruning.py` and `rates.py`, by name, with their words.
"""

import json
import math
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import attacks  # noqa: E402
import cards  # noqa: E402
import changes  # noqa: E402
import evidence  # noqa: E402
import facts  # noqa: E402
import networks  # noqa: E402
import pruning  # noqa: E402
import rates  # noqa: E402

from limelight._core.maths import in_text
from limelight.claims import DECISIONS, LEVEL, OPEN_KINDS, Verdict
from limelight.papers import KEYS, coverage, load
from limelight.papers.published import decide_published
from limelight.table import Table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
MARK = re.compile(r"(<!-- = (.+?) -->)(.*?)(<!-- / -->)", re.DOTALL)
#: The pages write 92.2 %, whatever a table or a claim writes.
PERCENT = re.compile(r"(?<=\d)%(?!\w)")


@cache
def decided(key: str) -> dict[str, Verdict]:
    """Every verdict of a paper by the claim's name."""
    verdicts = [v for figure in load(key).figures for v in decide_published(figure, RESULTS)]
    for verdict in verdicts:
        if verdict.level not in (None, LEVEL):
            raise SystemExit(f"{key} {verdict.claim}: an interval at {verdict.level}, not {LEVEL}")
    return {verdict.claim: verdict for verdict in verdicts}


def verdict_of(key: str, name: str) -> Verdict:
    """One verdict; a name that is not there is an error in the page."""
    return decided(key)[name]


# --- what a mark may ask for --------------------------------------------------------------------


def claims(key: str, whose: str = "all") -> str:
    """How many claims there are, and how many hold; `whose` may be paper, ours or a kind."""
    found = [v.verdict for v in decided(key).values() if whose in ("all", _group(v))]
    counts = Counter(found)
    many = {"holds": "hold", "fails": "fail"}
    parts = [
        f"{counts[word]} {word if counts[word] == 1 else many.get(word, word)}"
        for word in DECISIONS
        if counts[word]
    ]
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
    return in_text(f"{verdict_of(key, name).value:{form}}")


def interval(key: str, name: str, form: str = ".3g") -> str:
    """The interval of a claim."""
    low, high = verdict_of(key, name).interval or ()
    return in_text(f"{low:{form}} to {high:{form}}")


def verdict(key: str, name: str) -> str:
    """What was decided."""
    return verdict_of(key, name).verdict


def n(key: str, name: str) -> str:
    """How many trials or draws a claim rests on."""
    return f"{verdict_of(key, name).n:,}"


def family(key: str, name: str) -> str:
    """How many points share the level of a claim."""
    return f"{verdict_of(key, name).family:,}"


def note(key: str, name: str) -> str:
    """What the verdict says beside its number."""
    return verdict_of(key, name).note


def one_in(key: str, name: str, times: str) -> str:
    """How rare it is that a share comes true so many times in a row, to two digits."""
    return f"{float(f'{verdict_of(key, name).value ** -int(times):.2g}'):,.0f}"


def errata_cards(key: str) -> str:
    """How many cards of errata a paper has."""
    return str(len(cards.tables((ROOT / "docs" / "errata.md").read_text())[key][1]))


def changed_claims() -> str:
    """Every claim that changed since the first list, with the reason."""
    now = {f"{key} {name}": v.as_json() for key in KEYS for name, v in decided(key).items()}
    return "\n" + changes.of_today(now) + "\n"


def verdicts(key: str, *names: str) -> str:
    """A table of claims: what is said, what was decided, the number and its interval."""
    rows = ["| claim | says | verdict | value |", "| --- | --- | --- | --- |"]
    for name in names:
        v = verdict_of(key, name)
        rows.append(f"| `{name}` | {_cell(v.statement)} | {v.verdict} | {_cell(_number(v))} |")
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
        rows.append(f"| `{name}` | {_cell(v.statement)} | {_cell(_number(v))} | {told[name]} |")
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
        where = ", ".join(_led(key, pointer) for pointer in item.where)
        rows.append(f"| {item.label} | {_cell(item.says)} | {where or 'not here: ' + item.why} |")
    return f"\n{counted['here']} of {counted['items']} are here.\n\n" + "\n".join(rows) + "\n"


def _led(key: str, pointer: str) -> str:
    """Where an item lives, as it is written; an erratum leads to its card."""
    kind, _, name = pointer.partition(":")
    card = f"errata/{key}.md#{key}-{name.lower()}"
    return f"[`{pointer}`]({card})" if kind == "erratum" else f"`{pointer}`"


def mutants(draw: str = "") -> str:
    """Faults that were put into a package, and how many the tests found, before and after.

    Args:
        draw: Which sample: the first, the `second`, or `both` together.
    """
    rows = ["| package | faults | found before | found now | change nothing | not found |"]
    rows += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
    record = _benchmark("mutants")
    first, second = record["table"], record["second"]["table"]
    taken = {"": [first], "second": [second], "both": [first, second]}[draw]
    names = ("tried", "killed", "equivalent", "survived")
    add = lambda those: {
        when: {n: sum(c[when][n] for c in those) for n in names} for when in ROUNDS
    }
    counted = [(package, add([table[package] for table in taken])) for package in taken[0]]
    for package, c in [*counted, ("all", add([c for _, c in counted]))]:
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
    record = _benchmark("machines")
    rows = ["| place | Python, JAX, NumPy | commands | tests |", "| --- | --- | --- | --- |"]
    for name, found in record.get("places", record).items():  # earlier records are places alone
        if "not here" in found:
            rows.append(f"| {name} | | not tried: {found['not here']} | |")
            continue
        versions = ", ".join(found["versions"][n] for n in ("python", "jax", "numpy"))
        quiet = found["commands"] - len(found["faults"])
        commands = f"{quiet} of {found['commands']}" if found["commands"] else ""
        most = f"{found['most memory, GB']} GB at most" if "most memory, GB" in found else ""
        told = ", ".join(filter(None, [found.get("tests"), most]))
        rows.append(f"| {name} | {versions} | {commands} | {told} |")
    made = f"\n*{record['date']}. Code: {record['commit'][:7]}.*\n" if "commit" in record else ""
    return "\n" + "\n".join(rows) + f"\n{made}"


def guided() -> str:
    """Inputs of the fuzzer that follows coverage, by parser."""
    rows = ["| parser | inputs | places reached at first | at last | tracebacks |"]
    rows += ["| --- | ---: | ---: | ---: | ---: |"]
    for kind, found in _benchmark("torture")["guided"].items():
        first, last = found["places reached, at first"], found["places reached"]
        rows.append(f"| {kind} | {found['inputs']:,} | {first} | {last} | {found['tracebacks']} |")
    return "\n" + "\n".join(rows) + "\n"


def claiming(part: str) -> str:
    """What claims cost: the operations as measured, or the simulation of many workers."""
    record = _benchmark("claiming")
    if part == "measured":
        times, calls = record["measured_seconds"], record["calls"]
        of = lambda name: f"{1e3 * times[name]:.2g} ms"
        listing = 2 * record["chunks"] // 1000
        rows = [
            f"| a look whether a chunk is there | {of('look')} | {calls['look']} |",
            f"| a claim and its release, by lock | {of('lock')} | {calls['lock']} |",
            f"| the same, by lease | {of('lease')} | {calls['lease']}, and one every 10 s |",
            f"| a chunk and its facts, whole and flushed | {of('write')} | {calls['write']} |",
            f"| a list of the chunks | {times['list']:.2g} s | {listing} |",
        ]
        head = "| operation | median time | calls that reach a server (`strace`) |"
        return "\n" + "\n".join([head, "| --- | ---: | ---: |", *rows]) + "\n"
    names = "claims | server, calls per second | chunk | wall | computing"
    names += " | claim, median (99 %) | calls per second, mean (peak)"
    rows = [f"| {names} |", "| --- " + "| ---: " * 6 + "|"]
    for row in record["simulated"]:
        middle, last = row["claim_median_ms"], row["claim_99_ms"]
        mean, peak = row["calls_per_second"], row["calls_per_second_peak"]
        rows.append(
            f"| {row['claim']} | {row['server_calls_per_second']:,} | {row['chunk_seconds']:g} s"
            f" | {row['wall_seconds']:,.0f} s | {row['computing']:.3f}"
            f" | {middle:.0f} ms ({last:.0f} ms) | {mean:,} ({peak:,}) |"
        )
    return "\n" + "\n".join(rows) + "\n"


def workers() -> str:
    """The pace of two workers beside that of one process, and how long they take to start."""
    record = _benchmark("workers-cpu")
    names = "| | trials per second | of one process | first line | first chunk | load |"
    rows = [names, "| --- " + "| ---: " * 5 + "|"]
    for way, found in record["median"].items():
        name = way if way == "one process" else f"two workers, `{way}`"
        took = [f"{found[n]:.1f} s" if n in found else "" for n in ("first_line", "first_chunk")]
        rows.append(
            f"| {name} | {found['pace']:.3g} | {found['against_one_process']:.2f}"
            f" | {took[0]} | {took[1]} | {found['load']:.1f} |"
        )
    made = f"{record['date'][:10]}, {record['device']['cores']} cores, median of"
    made += f" {len(record['rounds']['one process'])}: `{record['command']}`"
    return "\n" + "\n".join(rows) + f"\n\n*{made}*\n"


ASKED = {
    f.__name__: f
    for f in (claims, figures, firm, tables, value, interval, verdict, verdicts, sizes, items)
} | {
    f.__name__: f
    for f in (mutants, machines, guided, undecided, claiming, workers, n, family, note, one_in)
    + (errata_cards, changed_claims, facts.quantity, facts.trials, facts.mean, facts.most)
    + (facts.days, facts.onsets, facts.epochs, facts.costs, facts.lines, facts.made_of)
    + (facts.shelf,)
    + (rates.measured, rates.speeds, rates.ahead, rates.compiling, rates.images, rates.decoder)
    + (rates.decoder_since,)
    + (rates.grid, rates.weights_over_tokens)
    + (rates.descent, rates.trainers, rates.peers, rates.growth, rates.screen)
    + (networks.checkpoints, networks.layouts, networks.loaded_networks, networks.refused_networks)
    + (networks.described_networks, networks.prune_curve, networks.probe_times)
    + (pruning.pruned_rows, pruning.pruned_speeds, pruning.pruned_changes, pruning.beside_tome)
    + (pruning.pruned, pruning.lost_to_tome, pruning.probed)
    + (attacks.killed, attacks.fuzzed)
}
#: Marks that count lines: these move with every edit, so a page stands while it is nearly right.
COUNTED, COUNT = ("lines", "made_of"), re.compile(r"\d[\d,]*")
#: The two rounds of mutants: the tests as they were, and as they are.
ROUNDS = ("before", "after")


def _benchmark(name: str) -> dict:
    return json.loads((RESULTS / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def _group(v: Verdict) -> str:
    return v.kind if v.kind not in OPEN_KINDS else "ours" if v.ours else "paper"


def _said(v: Verdict) -> str:
    return in_text(", ".join(filter(None, (v.verdict, _number(v)))))


def _number(v: Verdict) -> str:
    """The value and its interval, as far as they are known."""
    known = v.interval is not None and not any(math.isnan(end) for end in v.interval)
    ends = " [{:.3g}, {:.3g}]".format(*v.interval) if known else ""
    return "" if math.isnan(v.value) else f"{v.value:.3g}{ends}"


def _cell(text: str) -> str:
    """Words of a claim for the cell of a table: maths typeset, code as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    typeset = (part if i % 2 else in_text(part) for i, part in enumerate(parts))
    return "".join(typeset).replace("|", r"\|")


# --- pages --------------------------------------------------------------------------------------


def written(text: str) -> str:
    """A page with every mark filled in."""

    def fill(found: re.Match[str]) -> str:
        name, *words = found[2].split()
        new = PERCENT.sub(" %", ASKED[name](*words))
        kept = name in COUNTED and same_size(found[3], new)
        return found[1] + (found[3] if kept else new) + found[4]

    return MARK.sub(fill, text)


def same_size(old: str, new: str) -> bool:
    """Whether two texts differ in nothing but numbers that are within a tenth of each other."""
    sizes = [[int(n.replace(",", "")) for n in COUNT.findall(text)] for text in (old, new)]
    alike = COUNT.sub("", old) == COUNT.sub("", new)
    return alike and all(abs(a - b) <= b / 10 for a, b in zip(*sizes, strict=True))


def pages() -> list[Path]:
    """Every page that may hold marks."""
    here = ROOT / "docs"
    made = (here / "_build", here / "api", here / "errata")
    written = [p for p in sorted(here.rglob("*.md")) if not any(map(p.is_relative_to, made))]
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *written]


def errata() -> dict[Path, str]:
    """The pages of errata cards: the tables in `errata.md`, outputs of commands, verdicts."""
    folder = ROOT / "docs" / "errata"
    folder.mkdir(exist_ok=True)
    said = {key: {name: _said(v) for name, v in decided(key).items()} for key in KEYS}
    made = cards.pages(written((ROOT / "docs" / "errata.md").read_text()), evidence.kept(), said)
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
