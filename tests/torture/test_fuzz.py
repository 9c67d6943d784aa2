"""Nonsense, damage and malice: no traceback, no hang, no meaning changed unseen."""

import contextlib
import gzip
import io
import json
import pickle
import re
import shutil
import sys
import tarfile
from pathlib import Path

import click
import hypothesis.strategies as st
import numpy as np
import pytest
import typer
from hypothesis import given
from PIL import Image

from limelight._cli import app
from limelight._core.errors import LimelightError
from limelight._core.manifests import digest, sealed
from limelight._engine.reading import read_manifest, read_table
from limelight._engine.store import Store
from limelight.models import load_vit
from limelight.models.construct import construct
from limelight.models.construct._files import METADATA, finite
from limelight.models.weights import read
from limelight.table import Table
from limelight.worlds.sources import load_pictures
from limelight.worlds.sources._files import FORMATS
from tests.cli import toy
from tests.torture.fuzz import COUNTS, counted, damaged, keep_counts, many, mutated
from tests.torture.walks import sweep

VIT = Path(__file__).parents[1] / "fixtures" / "vit"


@pytest.fixture(scope="module", autouse=True)
def _counts():
    yield
    keep_counts()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with one good thing of every kind."""
    folder = tmp_path_factory.mktemp("fuzz")
    sweep(folder / "run")
    read_table(folder / "run").save(folder / "table.parquet")
    return folder


# --- run folders --------------------------------------------------------------------------------


@given(st.data(), st.booleans())
@many(0.1)
def test_manifests(place, data, enemy):
    """Refused, or the same study: an enemy makes hash and seal right again."""
    good = json.loads((place / "run" / "manifest.json").read_text())
    document = data.draw(mutated(good))
    if enemy and isinstance(document.get("configuration"), dict):
        with contextlib.suppress(RecursionError, ValueError):
            document["hash"] = digest(document["configuration"])
            document.pop("seal", None)
            document = sealed(document)
    folder = place / "manifest"
    folder.mkdir(exist_ok=True)
    try:
        text = json.dumps(document)
    except (RecursionError, ValueError):
        return
    (folder / "manifest.json").write_text(text)
    (folder / "chunks").mkdir(exist_ok=True)
    for name in ("000-00000.parquet", "001-00003.parquet"):
        shutil.copy(place / "run" / "chunks" / name, folder / "chunks" / name)
    with counted("manifests"):
        read_manifest(folder)
        with contextlib.suppress(LimelightError):
            table = read_table(folder)
            assert document["configuration"] == good["configuration"]
            assert len(table) <= 20  # two chunks lie there


@given(st.data())
@many(0.2)
def test_chunks(place, data):
    """Refused, or nothing is different."""
    good = (place / "run" / "chunks" / "000-00000.parquet").read_bytes()
    raw = data.draw(damaged(good))
    keep = Store(place / "chunk", read_manifest(place / "run"))
    keep.file("000-00000").write_bytes(raw)
    known = {"cell": np.zeros(10, np.int32), "trial": np.arange(10, dtype=np.int32)}
    with counted("chunks"):
        assert keep.finished("000-00000", known) == (raw == good)


@given(st.data())
@many(0.12)
def test_tables(place, data):
    good = (place / "table.parquet").read_bytes()
    raw = data.draw(damaged(good))
    (place / "t.parquet").write_bytes(raw)
    with counted("tables"):
        Table.load(place / "t.parquet")
        assert raw == good


# --- weights and certificates -------------------------------------------------------------------


def safetensors(header: bytes, body: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header + body


@given(st.data(), st.sampled_from(["timm", "hf"]))
@many(0.15)
def test_checkpoints(place, data, name):
    """Bytes anywhere, or lies in the header: sizes, types, overlaps, names."""
    good = (VIT / f"{name}.safetensors").read_bytes()
    size = int.from_bytes(good[:8], "little")
    header, body = good[8 : 8 + size], good[8 + size :]
    if data.draw(st.booleans()):
        raw = safetensors(json.dumps(data.draw(mutated(json.loads(header)))).encode(), body)
    else:
        raw = safetensors(data.draw(damaged(header)), body)
    (place / "w.safetensors").write_bytes(raw)
    with counted("checkpoints"):
        for tensor in (tensors := read(place / "w.safetensors")):
            with contextlib.suppress(LimelightError):
                tensors[tensor]
        load_vit(place / "w.safetensors", 3)


MADE = construct("or", 5, 2)


@given(st.data())
@many(0.03)
def test_certificates(place, data):
    """A mutation that is accepted and changes what is said would be a hole."""
    from safetensors.numpy import save_file

    from limelight.certificate import check

    good = json.loads(json.dumps(finite(MADE.certificate)))
    document = data.draw(mutated(good))
    try:
        text = json.dumps(document)
        text.encode()
    except (RecursionError, ValueError):
        return
    save_file(MADE.tensors, place / "c.safetensors", metadata={METADATA: text})
    with counted("certificates"):
        report = check(place / "c.safetensors")
        same = {k: v for k, v in document.items() if k != "claim"} == {
            k: v for k, v in good.items() if k != "claim"
        }
        assert report.code != 0 or same or close(document, good)
        json.dumps(report.as_json(), allow_nan=False)


def close(one, two) -> bool:
    """Alike up to rounding of numbers."""
    if isinstance(one, dict) and isinstance(two, dict):
        return set(one) == set(two) and all(close(one[k], two[k]) for k in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(close, one, two))
    if isinstance(one, float | int) and isinstance(two, float | int):
        return abs(one - two) <= 1e-9 * abs(two) + 1e-12
    return one == two


# --- images and archives ------------------------------------------------------------------------


def picture(kind: str, mode: str) -> bytes:
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).convert(mode)
    raw = io.BytesIO()
    image.save(raw, kind)
    return raw.getvalue()


PICTURES = [picture(kind, mode) for kind in FORMATS for mode in ("RGB", "L") if kind != "WEBP"]
PICTURES += [picture("WEBP", "RGB"), picture("PNG", "P"), picture("PNG", "RGBA")]


@given(st.data(), st.sampled_from(PICTURES))
@many(0.2)
def test_images(place, data, good):
    folder = place / "images"
    folder.mkdir(exist_ok=True)
    (folder / "a.png").write_bytes(data.draw(damaged(good)))
    with counted("images"):
        found = load_pictures(str(folder / "a.png"), labelled=False)
        assert found.images.nbytes < 200_000_000


def archives() -> dict[str, bytes]:
    """A data set of every kind, as small as it can be."""
    rng = np.random.default_rng(0)
    batch = {
        "data": rng.integers(0, 256, (2, 3072), dtype=np.uint8),
        "labels": [0, 1],
    }
    found = {}
    for end in (".tar.gz", ".tar"):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w:gz" if end == ".tar.gz" else "w") as archive:
            names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta"]
            for name in names:
                body = pickle.dumps({"label_names": ["a", "b"]} if "meta" in name else batch, 2)
                member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
        found[f"cifar{end}"] = raw.getvalue()
    raw = io.BytesIO()
    np.savez(raw, images=rng.integers(0, 256, (4, 8, 8), dtype=np.uint8), labels=np.arange(4) % 2)
    found["plain.npz"] = raw.getvalue()
    raw = io.BytesIO()
    np.savez_compressed(raw, images=np.zeros((4, 8, 8), np.uint8), labels=np.arange(4) % 2)
    found["packed.npz"] = raw.getvalue()
    return found


ARCHIVES = archives()


@given(st.data(), st.sampled_from(sorted(ARCHIVES)))
@many(0.15)
def test_archives(place, data, name):
    raw = data.draw(damaged(ARCHIVES[name]))
    if name == "cifar.tar.gz" and data.draw(st.booleans()):
        raw = gzip.compress(data.draw(damaged(ARCHIVES["cifar.tar"])))
    (place / name).write_bytes(raw)
    with counted("archives"):
        load_pictures(str(place / name))


# --- command lines ------------------------------------------------------------------------------

#: Codes that the documentation lists, without the one of Ctrl-C.
CODES = {0, 1, 2, 3}
WORDS = st.sampled_from(
    ["", "-", "--", "0", "1", "-1", "1e400", "9" * 400, "9" * 5000, "nan", "inf", "none", "true",
     "x", "../..", "/", "/dev/null", "/dev/zero", "a b", "<script>alert(1)</script>", "\x1b[2J",
     "\u202e", "é", "a=1", "trials=0", "trials=9999999999", "world.relevant=2", "=", "a=", "*",
     "li2023", "fig4", "theorem1", "xu2022", "limit", "toy2000", "dice", "smoke", "run", "digits",
     "clusters=20000", "a.html", "a.png", "a.safetensors", "no/such/a.html", "and", "6b", "--help"]
)  # fmt: skip
WORDS |= st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=8)
#: Commands that would compute for minutes when all words are right; these make them cheap or wrong.
CHEAP = {"run": ["--dry-run"], "verify": ["--results", "nowhere"], "bench": ["--trials", "0"]}


def options(name: str) -> list[str]:
    """The flags of a command, as its parser knows them."""
    command = typer.main.get_command(app.app).commands[name]
    return [flag for parameter in command.params for flag in getattr(parameter, "opts", [])
            if flag.startswith("-")]  # fmt: skip


OPTIONS = {name: options(name) for name in app.COMMANDS}


@given(st.data(), st.sampled_from(sorted(app.COMMANDS)))
@many(0.03)
def test_command_lines(place, data, name):
    """Words of the real parameters of each command, in any order, with any values."""
    here = place / "here"
    here.mkdir(exist_ok=True)
    word = WORDS | st.sampled_from([str(place / "run"), str(place / "table.parquet")])
    flags = st.sampled_from(OPTIONS[name]) if OPTIONS[name] else st.just("--json")
    words = data.draw(st.lists(word | flags | st.tuples(flags, word), max_size=5))
    flat = [part for one in words for part in (one if isinstance(one, tuple) else (one,))]
    try_line(here, "command lines", [name, *flat, *CHEAP.get(name, [])])


#: Command lines that work, one or more for each command; files are those of `place`.
WORKING = """
papers --json
show li2023 theorem1 --set relevant=0.3 rate=0.5
show xu2022 limit --set clusters=20 --json
show li2023 fig1a
show toy2000 --all
run toy2000 dice --scale smoke --set trials=3 --store dice --json
run toy2000 pairs --scale smoke --set trials=4 --seed 3 --width 2 --dry-run
run li2023 fig4 --scale small --set train.rate=0.1 --dry-run
verify toy2000 --results ../results --all
verify toy2000 --scale smoke --store verified --json
cite ../toy
resume ../toy --stall 60 --json
status ../run --json
plot ../toy -o a.png
plot ../table.parquet --json
report ../toy ../toy -o a.html
weights ../toy -o weights
publish ../toy -o published
site ../results -o site
bench --trials 0 --loop 1 --json
probe ../vit.safetensors --heads 3 --pixels half --images ../pictures --limit 1 --attention --json
prune ../vit.safetensors --heads 3 --pixels half --images ../pictures --keep 0.5 --at 1 --json
bound edelman2022 ../vit.safetensors --heads 3 --tokens 5 --examples 100 --json
construct and --length 6 --sparsity 2 -o and.safetensors --json
construct --check ../or.safetensors
new study study.py
new paper mine
"""
LINES = [line.split() for line in WORKING.strip().splitlines()]


@pytest.fixture(scope="module")
def good_place(place):
    """A folder with what the working lines name."""
    shutil.copy(VIT / "timm.safetensors", place / "vit.safetensors")
    (place / "pictures").mkdir(exist_ok=True)
    (place / "pictures" / "a.png").write_bytes(PICTURES[0])
    (place / "here").mkdir(exist_ok=True)
    for words in ("run toy2000 dice --scale smoke --store ../toy", "publish ../toy -o ../results",
                  "construct or --length 5 --sparsity 2 -o ../or.safetensors"):  # fmt: skip
        with called(place / "here", words.split()) as (code, printed):
            assert code == 0, printed
    return place


@given(st.data(), st.sampled_from(LINES))
@many(0.02)
def test_nearly_right_command_lines(good_place, data, line):
    """A line that works, with a few words lost, doubled, moved or replaced: most reach far."""
    words = list(line)
    word = WORDS.filter(
        lambda word: word not in ("/", "trials=9999999999")
    )  # right, and without end
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(1, len(words)))
        how = data.draw(st.sampled_from(("lose", "double", "replace", "add", "edit")))
        if how == "add" or place == len(words):
            words.insert(place, data.draw(word | st.sampled_from(OPTIONS.get(line[0], ["-h"]))))
        elif how == "lose":
            del words[place]
        elif how == "double":
            words.insert(place, words[place])
        elif how == "replace":
            words[place] = data.draw(word)
        else:
            end = data.draw(st.integers(0, len(words[place])))
            words[place] = words[place][:end] + data.draw(word)
    long = words[0] == "bench" or (words[0] in ("run", "verify") and words[1:2] != ["toy2000"])
    cheap = CHEAP[words[0]] if long else []
    try_line(good_place / "here", "nearly right command lines", words + cheap)


def try_line(folder: Path, kind: str, words: list[str]) -> None:
    """One command line: it ends with a code of the list, and what it prints is plain text."""
    with counted(kind), called(folder, words) as (code, printed):
        assert code in CODES, (code, words)
        COUNTS[kind][f"ended with {code}"] += 1
        assert "Traceback" not in printed
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", printed.replace("\r", ""))


@contextlib.contextmanager
def called(folder: Path, words: list[str]):
    """The command line as a shell would call it: its code, and all that it printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["limelight", *words])
        out = io.StringIO()
        patch.setattr(app, "leave", _leave)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", out)
        toy.lay_out(patch.setattr)
        try:
            app.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except click.exceptions.Abort:
            code = 1
        yield code, out.getvalue()


def _leave(code: int) -> None:
    raise SystemExit(code)
