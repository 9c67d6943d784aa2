"""Fuzzing that is guided by the lines it reaches: `python -m tests.torture.guided` (needs Atheris).

One process for each parser, for some seconds; an input that ends in anything but a result or an
error of ours ends it, and is kept. Nothing of ours may be imported before; what comes later is
watched. The counts go beside the others in `results/benchmarks/torture.json`.
"""

import argparse
import io
import json
import pickle
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

VIT = Path(__file__).parents[1] / "fixtures" / "vit" / "timm.safetensors"
EARLIER = Path(__file__).parents[1] / "fixtures" / "earlier"
RESULTS = Path(__file__).parents[2] / "results" / "benchmarks" / "torture.json"
#: Seconds for one input, and MB for the process.
LONGEST, ROOM = 20, 3000


def main() -> None:
    """Read the words; without a kind, all kinds one after another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("--seconds", type=int, default=120, help="for each kind")
    parser.add_argument("--output", type=Path, default=RESULTS)
    words = parser.parse_args()
    if words.kind:
        fuzz(words.kind, words.seconds)
    for kind in KINDS:
        command = [sys.executable, "-m", "tests.torture.guided", kind]
        ran = subprocess.run(
            [*command, "--seconds", str(words.seconds)], stderr=subprocess.PIPE, text=True
        )
        print(kind, found := counts(ran))
        there = json.loads(words.output.read_text())
        there["guided"] = there.get("guided", {}) | {kind: found}
        words.output.write_text(json.dumps(there, indent=2) + "\n")


def counts(ran: subprocess.CompletedProcess) -> dict:
    """What libFuzzer says at the end: inputs, and how many places of the code they reached."""
    inputs = re.findall(r"number_of_executed_units: (\d+)", ran.stderr)
    reached = re.findall(r"cov: (\d+)", ran.stderr)
    seconds = re.findall(r"in (\d+) second", ran.stderr)
    found = {
        "inputs": int(inputs[-1]) if inputs else 0,
        "places reached, at first": int(reached[0]) if reached else 0,
        "places reached": int(reached[-1]) if reached else 0,
        "seconds": int(seconds[-1]) if seconds else 0,
        "tracebacks": int(ran.returncode != 0),
    }
    return found | ({"said": ran.stderr[-1500:]} if ran.returncode else {})


def fuzz(kind: str, seconds: int) -> None:
    """Hand over to libFuzzer, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["limelight"]):
        from limelight._core.errors import LimelightError

        with tempfile.TemporaryDirectory() as folder:
            seeds, parse = KINDS[kind](Path(folder))
            corpus = Path(folder) / "seeds"
            corpus.mkdir()
            for number, seed in enumerate(seeds):
                (corpus / str(number)).write_bytes(seed)

            def one(raw: bytes) -> None:
                said = ""
                try:
                    parse(raw)
                except LimelightError as error:
                    said = error.message
                assert "\n" not in said, said

            limits = [f"-max_total_time={seconds}", f"-timeout={LONGEST}", f"-rss_limit_mb={ROOM}"]
            longest = f"-max_len={2 * max(map(len, seeds))}"
            kept = f"-artifact_prefix={tempfile.gettempdir()}/"
            atheris.Setup(
                ["guided", *limits, longest, kept, "-print_final_stats=1", "-seed=1", str(corpus)],
                one,
            )
            atheris.Fuzz()


# --- parsers ------------------------------------------------------------------------------------

Target = tuple[list[bytes], Callable[[bytes], object]]


def manifests(folder: Path) -> Target:
    """The manifest of a run folder."""
    from limelight._engine.reading import read_manifest

    def parse(raw: bytes) -> None:
        (folder / "manifest.json").write_bytes(raw)
        read_manifest(folder)

    return [path.read_bytes() for path in sorted(EARLIER.glob("*/manifest.json"))[:8]], parse


def checkpoints(folder: Path) -> Target:
    """The header of a safetensors file, with its tensors behind it."""
    from limelight.models import load_vit

    whole = VIT.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header, body = whole[8 : 8 + size], whole[8 + size :]

    def parse(raw: bytes) -> None:
        (folder / "w.safetensors").write_bytes(len(raw).to_bytes(8, "little") + raw + body)
        load_vit(folder / "w.safetensors", 3)

    return [header], parse


def certificates(folder: Path) -> Target:
    """What is claimed of weights, inside their file."""
    from safetensors.numpy import save_file

    from limelight.certificate import check
    from limelight.models.construct import construct
    from limelight.models.construct._files import METADATA, finite

    made = construct("or", 5, 2)

    def parse(raw: bytes) -> None:
        text = raw.decode("utf-8", "replace")
        save_file(made.tensors, folder / "c.safetensors", metadata={METADATA: text})
        json.dumps(check(folder / "c.safetensors").as_json(), allow_nan=False)

    return [json.dumps(finite(made.certificate)).encode()], parse


def images(folder: Path) -> Target:
    """A file in a folder of images."""
    import numpy as np
    from PIL import Image

    from limelight.worlds.sources import load_pictures
    from limelight.worlds.sources._files import FORMATS

    seeds = []
    for kind in FORMATS:
        raw = io.BytesIO()
        Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(raw, kind)
        seeds.append(raw.getvalue())

    def parse(raw: bytes) -> None:
        (folder / "a.png").write_bytes(raw)
        load_pictures(str(folder / "a.png"), labelled=False)

    return seeds, parse


def archives(folder: Path) -> Target:
    """The pickles of an archive of CIFAR; every member is the fuzzed one."""
    import numpy as np

    from limelight.worlds.sources import load_pictures

    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta"]

    def parse(raw: bytes) -> None:
        with tarfile.open(folder / "cifar.tar.gz", "w:gz", compresslevel=1) as archive:
            for name in names:
                member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
                member.size = len(raw)
                archive.addfile(member, io.BytesIO(raw))
        load_pictures(str(folder / "cifar.tar.gz"))

    pixels = np.zeros((1, 3072), np.uint8)
    batch = {"data": pixels, "labels": [0], "label_names": ["a", "b"]}
    return [pickle.dumps(batch, 2), pickle.dumps({"label_names": ["a", "b"]}, 2)], parse


KINDS = {
    "manifests": manifests,
    "checkpoints": checkpoints,
    "certificates": certificates,
    "images": images,
    "archives": archives,
}

if __name__ == "__main__":
    main()
