"""Speeds on the pages, from records in `results/benchmarks`, for `fill.py`."""

import json
import re
from pathlib import Path
from typing import Any

from limelight._core.maths import in_text
from limelight.table import Table

RECORDS = Path(__file__).resolve().parents[1] / "results" / "benchmarks"

#: Rows of the benchmark of trials per second, and what they are called on a page.
SPEEDS = {
    "PyTorch loop": "PyTorch loop, one trial after another",
    "PyTorch, many at once, compiled": "PyTorch, many at once: `torch.func.vmap`, `torch.compile`",
    "JAX, many at once": "JAX, many at once: `jit(vmap(scan))`",
    "engine, token by token": "limelight, token by token",
    "engine, grouped, every step": "limelight, equal tokens computed once (exact)",
    "engine, grouped": "limelight, and trials that can no longer change end early (exact)",
}
#: The same for images per second in training.
IMAGES = {
    "torch_loop": "PyTorch loop, timm",
    "torch_compiled_loop": "the same with `torch.compile`",
    "torch_graphs_loop": "the same with CUDA graphs",
    "torch_step_in_a_graph": "the same with its whole step in one CUDA graph",
    "one": "one ViT here",
    "many": "{networks} at once, in one program",
}
#: What a full-batch step of jelassi2022 is called.
STEPS = {"two_rate": "two rates", "curvature": "curvature", "still": "attention still"}


def screen(step: str, most: str = "") -> str:
    """What a newcomer types and then sees, from the record of the first minutes.

    The step goes by its name, as in `run-it`; of a long screen the first lines are shown.
    """
    named = lambda step: re.sub(r"\W+", "-", step["name"].lower()).strip("-")
    steps = {named(step): step for step in _record("first-minutes")["steps"]}
    typed, seen = steps[step]["typed"], steps[step]["screen"].strip("\n").split("\n")
    if most and len(seen) > int(most):
        seen = [*seen[: int(most)], "..."]
    return "\n".join(["", "```console", f"$ {typed}", *seen, "```", ""])


def measured(name: str, path: str, form: str = "", times: str = "1") -> str:
    """One number of a record, as `rows.0.ratio`, in a form; perhaps in another unit."""
    found: Any = _record(name)
    for step in path.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]
    number = float(found) * float(times)
    return in_text(f"{number:{form}}") if form else _three(number)


def speeds(paces: str = "") -> str:
    """Trials per second over those of an ordinary loop; with a word also the trials per second."""
    files = (f"throughput-{name}" for name in ("cpu", "h200"))
    found = [{r["name"]: r for r in _record(file)["rows"]} for file in files]
    rows = []
    for name, words in SPEEDS.items():
        cells = []
        for row in (of.get(name) for of in found):
            if row is None:
                cells.append("not measured")
                continue
            ratio, pace = row["ratio"] or 1, row["value"]
            cells.append(_three(ratio) + (f" ({_three(pace)} trials per second)" if paces else ""))
        rows.append([words, *cells])
    return _table(["", "2 CPU cores", "one H200"], rows)


def ahead(record: str, *row: str) -> str:
    """How far a row of that benchmark is ahead of the best of the others that are not ours."""
    rate = {found["name"]: found["value"] for found in _record(record)["rows"]}
    others = [rate[name] for name in SPEEDS if name in rate and not name.startswith("engine")]
    return _three(rate[" ".join(row)] / max(others))


def compiling(name: str) -> str:
    """Seconds that the program of that benchmark took to compile."""
    rows = {row["name"]: row for row in _record(f"throughput-{name}")["rows"]}
    return f"{rows['compiling, grouped']['value']:.0f} s"


def images() -> str:
    """Images per second in training a ViT, over those of a PyTorch loop."""
    found = _record("vit-h200")
    pace, share = found["images_per_second"], found["share_of_product"]
    rows = [
        [
            words.format(networks=found["networks"]),
            f"{pace[name]:,.0f}",
            _three(pace[name] / pace["torch_loop"]),
            f"{share[name]:.1%}",
        ]
        for name, words in IMAGES.items()
        if name in pace
    ]
    head = ["", "images per second", "over the loop", "share of the FLOP/s of a large product"]
    return _table(head, rows)


def decoder() -> str:
    """One trial-iteration of edelman2022's Figure 2 beside an ordinary loop."""
    rows = []
    for name, device in (("cpu", "2 CPU cores"), ("h200", "one H200")):
        for row in _record(f"decoder-{name}")["rows"]:
            size = f"{row['length']}, {row['examples']}"
            times = (f"{_three(row[of])} ms" for of in ("ordinary_ms", "our_ms"))
            token = (f"{_three(row[of])} ns" for of in ("our_ns_a_token", "floor_ns_a_token"))
            flops = (_three(row[of] / 1e9) for of in ("ordinary_flops", "our_flops"))
            cells = [device, size, *times, _three(row["ratio"]), *token, " and ".join(flops)]
            rows.append(cells)
    head = ["device", "$T$, $m$", "loop", "limelight", "ratio", "per token", "floor per token"]
    return _table([*head, "$10^9$ FLOPs, loop and limelight"], rows)


def decoder_since() -> str:
    """The same on a GPU, alone, beside what that record said of the code before."""
    before, now = _record("decoder-h200"), _record("decoder-alone-h200")
    rows = []
    for old, new in zip(before["rows"], now["rows"], strict=True):
        size = f"{new['length']}, {new['examples']}"
        times = [f"{_three(1e3 * row['our_ms'])} µs" for row in (old, new)]
        floors = [f"{row['over_floor']:.2f}" for row in (old, new)]
        rows.append([size, *times, f"{new['our_ms'] / old['our_ms']:.2f}", *floors])
    days = [record["date"][:10] for record in (before, now)]
    head = ["$T$, $m$", *days, "of it", "over its floor", "now"]
    return _table(head, rows)


#: Who trains the decoder of edelman2022's Figure 2, as records name their times.
PEERS = {
    "ordinary_ms": "PyTorch loop",
    "loop_ms": "its attention fused",
    "vmapped_ms": "`torch.func.vmap`, compiled",
    "plain_jax_ms": "plain JAX, `vmap`",
    "our_ms": "limelight",
}


def peers() -> str:
    """One trial-iteration of that figure beside stronger ways than a loop."""
    rows = []
    for name, device in (("cpu", "2 CPU cores"), ("h200", "one H200")):
        for row in _record(f"decoder-{name}")["rows"]:
            if "ratio_to_best_peer" in row:
                times = [f"{_three(row[of])} ms" if row[of] else "fails" for of in PEERS]
                size = f"{device}, {row['length']} and {row['examples']}"
                rows.append([size, *times, _three(row["ratio_to_best_peer"])])
    return _table(["device, $T$ and $m$", *PEERS.values(), "over the best of them"], rows)


def growth() -> str:
    """How cost grows, from `growth-cpu`: fitted powers with their intervals."""

    def power(row: dict, of: str) -> str:
        if row[of] is None:
            return "too little to tell"
        return in_text(f"{row[of]:.2f} [{row[f'{of}_low']:.2f}, {row[f'{of}_high']:.2f}]")

    rows = []
    for row in _record("growth-cpu")["rows"]:
        values = f"{row['values'][0]:,} to {row['values'][-1]:,}"
        powers = (power(row, of) for of in ("time", "memory"))
        last = f"{row['time_at_last']:.2f}"
        time, memory = powers
        rows.append([row["name"], values, row["expected"], time, last, memory])
    head = ["what grows", "from, to", "power expected of time", "of CPU time", "its last doubling"]
    head += ["of memory"]
    return _table(head, rows)


def weights_over_tokens(name: str) -> str:
    """Bytes of weights over bytes of tokens that an iteration moves, at the shortest length."""
    row = _record(name)["rows"][0]
    return f"{row['our_bytes_of_weights'] / row['our_bytes_of_tokens']:.0f}"


def grid() -> str:
    """Seconds of Figure 2 of edelman2022 by length, and what a token that was trained on took."""
    table = Table.load(RECORDS.parent / "edelman2022" / "fig2" / "table.parquet")
    seen = table["examples"].astype(float) * (table["world.length"] + 1) * table["iterations_run"]
    columns = [["$T$", "seconds", "$10^9$ tokens trained", "ns per token"]]
    for row in _record("fig2-h200")["rows"]:
        tokens = float(seen[table["world.length"] == row["length"]].sum())
        each = 1e9 * (row["seconds"] - row["waiting_for_the_compiler"]) / tokens
        cells = (f"{row['seconds']:.1f}", f"{tokens / 1e9:.1f}", f"{each:.2f}")
        columns.append([str(row["length"]), *cells])
    head, *rows = map(list, zip(*columns, strict=True))
    return _table(head, rows)


def descent() -> str:
    """A full-batch step of jelassi2022's model on both machines."""
    size = lambda row: (row["step"], row["patches"], row["examples"], row["dimension"])
    cores = {size(row): row for row in _record("descent-cpu")["rows"]}
    rows = []
    for row in _record("descent-h200")["rows"]:
        step, *sizes = size(row)
        beside = cores.get(size(row))
        pace = ("", "") if beside is None else _pace(beside)
        over, rate = f"{row['xla_flops_over_formula']:.2f}", f"{row['gflops'] / 1e3:.2g}"
        cells = [STEPS[step], *(f"{n:,}" for n in sizes), over, *_pace(row), rate, *pace]
        rows.append(cells)
    head = ["step", "$D$", "$N$", "$d$", "XLA's FLOPs over the formula"]
    head += ["H200: trials per second", "share of bandwidth", "TFLOP/s"]
    return _table([*head, "2 cores: trials per second", "share of bandwidth"], rows)


def trainers() -> str:
    """FLOPs, bytes and time of one training step of li2023's model on both machines."""
    rows = []
    gpu, cpu = _record("trainers-h200")["rows"], _record("trainers-cpu")["rows"]
    for there, here in zip(gpu, cpu, strict=True):
        pairs = [
            in_text(f"{there[of]:.1e}, {here[of]:.1e}")
            for of in ("flops_per_example", "bytes_per_example")
        ]
        paces = [
            cell
            for row in (there, here)
            for cell in (
                f"{_three(row['microseconds_per_trial_step'])} µs",
                f"{row['bandwidth_share']:.2f}",
            )
        ]
        rows.append([f"{there['trainer']}, {there['width']}", *pairs, *paces])
    head = ["trainer, width", "FLOPs (H200, CPU)", "bytes (H200, CPU)", "H200: time"]
    return _table([*head, "share of bandwidth", "2 cores: time", "share of bandwidth"], rows)


def _pace(row: dict) -> tuple[str, str]:
    return f"{row['trials_per_second_300_steps']:.3g}", f"{row['bandwidth_share']:.2f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    text = [f"| {' | '.join(head)} |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    text += [f"| {' | '.join(row)} |" for row in rows]
    return "\n" + "\n".join(text) + "\n"


def _three(number: float) -> str:
    """Three digits, thousands in full."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _record(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
