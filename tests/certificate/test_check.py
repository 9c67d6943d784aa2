"""The check of constructions: against brute force, on altered files, on nonsense."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from limelight._core.errors import InputError
from limelight.certificate import check
from limelight.certificate._claim import read_claim
from limelight.certificate.construction import _outputs, evaluate, head_outputs
from limelight.models.construct import construct, load
from limelight.models.construct._files import METADATA
from limelight.theory.enclosure import Ball, head_range, network_range, times

KINDS = [
    (mapping, heads)
    for mapping in ("deterministic", "trainable", "bag")
    for heads in ("auto", "many")
]
TENSORS = ["head.0.W_Q", "head.0.W_K", "head.0.W_V", "head.0.W_C", "cls", "E", "P", "V",
           "mlp.W_1", "mlp.W_2", "mlp.w"]  # fmt: skip


def small(mapping, heads):
    return construct("xor", 6, 2, positions=[1, 4], mapping=mapping, heads=heads)


#: Every tensor of every kind; not every kind has all.
PARTS = [(*kind, name) for kind in KINDS for name in TENSORS if name in small(*kind).tensors]


def inputs(T):
    return (np.arange(2**T)[:, None] >> np.arange(T)) & 1


def altered_file(path, made, change):
    tensors = {k: v.copy() for k, v in made.tensors.items()}
    change(tensors)
    save_file(tensors, path, metadata={METADATA: json.dumps(made.certificate)})
    return path


def brute(path):
    claim = read_claim(path)
    bits = inputs(claim.length)
    return float(np.abs(evaluate(claim, bits) - claim.expected(bits)).max())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize(("mapping", "heads"), KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_was_built_passes(folder, mapping, heads, dtype):
    path = folder / "good.safetensors"
    for T, s in ((1, 1), (3, 3), (7, 2), (10, 4)):
        construct("xor", T, s, mapping=mapping, heads=heads, dtype=dtype).save(path)
        report = check(path)
        assert (report.verdict, report.code, report.certificate) == ("pass", 0, "ok"), str(report)
        assert report.altered == []
        assert report.exhaustive["ran"]
        assert report.exhaustive["max_error"] <= report.output_error_upper
        assert report.output_error_upper < (1e-10 if dtype == "float64" else 1e-3)
        assert report.head_error_upper <= load(path)[1]["head"]["error_bound"] * (1 + 1e-5)
        assert "pass" in str(report)


@pytest.mark.parametrize(("mapping", "heads"), KINDS)
def test_long_inputs_are_proved(folder, mapping, heads):
    path = folder / "long.safetensors"
    construct("majority", 1000, 3, mapping=mapping, heads=heads).save(path)
    report = check(path)
    assert report.code == 0, str(report)
    assert report.inputs_covered == "2^1000"
    assert not report.exhaustive["ran"]
    assert report.samples["max_error"] <= report.output_error_upper < 1e-9


def test_every_tensor_is_altered_below():
    first = lambda kind: {name for name in small(*kind).tensors if not name.startswith("head.")}
    assert set().union(*map(first, KINDS)) <= set(TENSORS)
    assert {name for *_, name in PARTS} == set(TENSORS)


@pytest.mark.parametrize(("mapping", "heads", "name"), PARTS)
def test_every_matrix_when_altered(folder, mapping, heads, name):
    """A change beyond the slack fails; one that leaves the function right passes only as such."""
    made = small(mapping, heads)
    path = folder / "bad.safetensors"
    before = made.tensors[name]
    rng = np.random.default_rng(TENSORS.index(name))
    top = max(1.0, np.abs(before).max())
    single = np.zeros(before.size)
    single[rng.choice(np.flatnonzero(before))] = top
    changes = [size * top * rng.normal(size=before.shape) for size in (1e-4, 0.05, 1.0)]
    changes += [size * single.reshape(before.shape) for size in (0.02, 1.0)]
    changes += [-0.9 * before, -2.0 * before]
    verdicts = []
    for change in changes:
        altered_file(path, made, lambda tensors, by=change: tensors.update({name: before + by}))
        error, report = brute(path), check(path)
        assert report.altered == [name]
        assert report.code != 0
        verdicts.append(report.verdict)
        right = error <= report.tolerance
        if report.verdict == "unproved":
            assert abs(error - report.tolerance) < 1e-3
            continue
        assert report.verdict == ("pass" if right else "fail"), (error, str(report))
        assert replace(report, function_only=True).code == (0 if right else 1)
        if report.verdict == "fail":
            bits = np.array([[int(c) for c in report.witness["input"]]])
            claim = read_claim(path)
            assert abs(evaluate(claim, bits) - claim.expected(bits))[0] > report.tolerance
    assert "fail" in verdicts, "no change of this matrix was ever noticed in the function"


@given(st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_boxes_contain_every_input_whatever_the_weights(tmp_path_factory, seed):
    """The range of heads and network over all backgrounds, on weights that mean nothing."""
    rng = np.random.default_rng(seed)
    T, s = int(rng.integers(2, 7)), int(rng.integers(1, 3))
    mapping, heads = KINDS[rng.integers(len(KINDS))]
    made = construct("or", T, s, mapping=mapping, heads=heads)

    def change(tensors):
        for name in tensors:
            tensors[name] += rng.choice([0, 0.1, 1]) * rng.normal(size=tensors[name].shape)

    path = altered_file(tmp_path_factory.mktemp("x") / "x.safetensors", made, change)
    claim = read_claim(path)
    ranges = [head_range(t, claim.positions, claim.patterns()) for t in claim.tables()]
    low, high = (sum(side) for side in zip(*ranges, strict=True))
    bits = inputs(T)
    index = bits[:, claim.positions] @ 2 ** np.arange(s)
    found = head_outputs(claim, bits)
    assert (found >= low[index] - 1e-12).all()
    assert (found <= high[index] + 1e-12).all()
    if claim.heads == 1:  # exact, not only safe
        for a in range(2**s):
            assert found[index == a].max(axis=0) == pytest.approx(high[a], abs=1e-7)
            assert found[index == a].min(axis=0) == pytest.approx(low[a], abs=1e-7)
    net = [claim.tensors[f"mlp.{n}"] for n in ("W_1", "W_2", "w")]
    under, over = network_range(low, high, *net)
    out = evaluate(claim, bits)
    assert (out >= under[index] - 1e-9 * (1 + np.abs(out))).all()
    assert (out <= over[index] + 1e-9 * (1 + np.abs(out))).all()
    report = check(path)
    error = np.abs(out - claim.expected(bits)).max()
    assert report.verdict != ("pass" if error > claim.tolerance * 1.001 else "fail")


def test_products_contain_the_exact_result():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, B = rng.normal(size=(2, 5)), rng.normal(size=(5, 2)) * rng.choice([1e-8, 1, 1e8])
        ball = times(Ball.exact(A), Ball.exact(B))
        for i in range(2):
            for j in range(2):
                exact = sum(Fraction(float(A[i, n])) * Fraction(float(B[n, j])) for n in range(5))
                centre, radius = Fraction(float(ball.centre[i, j])), float(ball.radius[i, j])
                assert abs(exact - centre) <= Fraction(radius)
                assert radius <= 1e-14 * np.abs(A[i]) @ np.abs(B[:, j])


def test_printed_variants_fail_with_a_witness(folder):
    path = folder / "printed.safetensors"
    construct("xor", 10, 3, basis="signs:200", variant="printed").save(path)
    report = check(path)
    assert (report.verdict, report.code) == ("fail", 1)
    assert "witness" in str(report)


def test_a_certificate_that_lies_is_caught(folder):
    made = construct("and", 8, 3)
    path = folder / "lie.safetensors"
    for section, field, value in (
        ("head", "R", 1.0), ("head", "error_bound", 1e-9), ("head", "gamma", 0.1),
        ("head", "rho_measured", 0.5), ("basis", "Delta_measured", 0.3), ("mlp", "delta", 1.0),
        ("mlp", "slack", 0.5), ("head", "leakage_bound", 1e-3), ("mlp", "separation", 9.0),
    ):  # fmt: skip
        certificate = json.loads(json.dumps(made.certificate))
        certificate[section][field] = value
        save_file(made.tensors, path, metadata={METADATA: json.dumps(certificate)})
        report = check(path)
        assert report.verdict == "pass"
        assert report.code == 1
        assert str(report).startswith("fail: ")
        assert report.certificate != "ok", field
    for name in ("W_Q", "W_K", "W_V", "W_C", "W_1", "W_2", "w"):
        certificate = json.loads(json.dumps(made.certificate))
        certificate["norms"][name]["allowed"] = 1e-3
        save_file(made.tensors, path, metadata={METADATA: json.dumps(certificate)})
        assert any(name in line for line in check(path).certificate)
    del certificate["head"]["gamma"]
    save_file(made.tensors, path, metadata={METADATA: json.dumps(certificate)})
    assert "head.gamma (missing)" in check(path).certificate


def test_a_false_claim_about_the_function_fails(folder):
    made = construct("and", 8, 3)
    path = folder / "false.safetensors"
    for claim in ({"truth_table": "81"}, {"positions": [0, 1, 2]}):
        certificate = json.loads(json.dumps(made.certificate))
        certificate["claim"] |= claim
        save_file(made.tensors, path, metadata={METADATA: json.dumps(certificate)})
        if certificate["claim"] != made.certificate["claim"]:
            assert check(path).verdict == "fail"


@pytest.mark.parametrize(
    "broken",
    [
        {"T": 9}, {"s": 2}, {"s": True}, {"positions": [5, 3, 1]}, {"positions": [1, 2, 99]},
        {"truth_table": "fff"}, {"truth_table": "zz"}, {"tolerance": 0.9}, {"tolerance": 0},
        {"mapping": "other"}, {"mapping": "bag"}, {"cls_attended": False}, {"positions": None},
    ],
)  # fmt: skip
def test_claims_that_make_no_sense_are_refused(folder, broken):
    made = construct("and", 8, 3)
    certificate = json.loads(json.dumps(made.certificate))
    certificate["claim"] |= broken
    path = folder / "broken.safetensors"
    save_file(made.tensors, path, metadata={METADATA: json.dumps(certificate)})
    with pytest.raises(InputError):
        check(path)


def test_tensors_that_do_not_fit_are_refused(folder):
    made = construct("and", 8, 3)
    path = folder / "shapes.safetensors"

    def refuse(change, match):
        altered_file(path, made, change)
        with pytest.raises(InputError, match=match):
            check(path)

    refuse(lambda t: t.pop("cls"), "missing cls")
    refuse(lambda t: t.update(extra=np.zeros(2)), "extra extra")
    refuse(lambda t: t.update(E=np.zeros((3, 11))), "expected")
    refuse(lambda t: t.update({"mlp.w": np.full(8, np.nan)}), "NaN")
    refuse(lambda t: t.update({"mlp.w": np.ones(8, dtype=np.int64)}), "int64")
    save_file(made.tensors, path)
    with pytest.raises(InputError, match="not a construction"):
        check(path)


def test_wide_boxes_are_cut_until_they_tell(folder):
    """Two units that cancel: of a whole box nothing is known, of small ones nearly all."""
    path = folder / "cut.safetensors"
    construct("and", 6, 2).save(path)
    twice = np.array([[1.0, 1.0], [0.0, 0.0]])
    net = {"W_1": twice, "W_2": np.vstack([np.eye(2), np.zeros(2)]), "w": np.array([1.0, -1.0])}
    tensors = {f"mlp.{name}": value for name, value in net.items()}
    for tolerance in (4.0, 0.05):
        claim = replace(read_claim(path), tensors=tensors, values=np.zeros(2), tolerance=tolerance)
        low, high = _outputs(claim, np.array([[-1.0], [-0.5]]), np.array([[1.0], [3.0]]))
        assert (low <= 0).all()
        assert (high >= 0).all()
        assert max(high.max(), -low.min()) <= tolerance


@pytest.mark.parametrize(("sparsity", "inputs"), [(3, (2 + 125) * 8), (9, (2 + 2) * 512)])
def test_how_many_inputs_of_a_long_construction_are_tried(folder, sparsity, inputs):
    path = folder / "many.safetensors"
    construct("majority", 64, sparsity).save(path)
    report = check(path)
    assert report.code == 0, str(report)
    assert report.samples["inputs"] == inputs


@pytest.mark.parametrize("rho", ["auto", "measured"])
@pytest.mark.parametrize("name", ["W_K", "W_V", "W_C"])
def test_what_the_lemma_allows_is_computed_again_also_where_overlaps_were_measured(
    folder, rho, name
):
    made = construct("and", 9, 3, basis="signs", rho=rho)
    certificate = json.loads(json.dumps(made.certificate))
    assert certificate["head"]["rho_kind"] == ("measured" if rho == "measured" else "bound")
    path = folder / "lie.safetensors"
    made.save(path)
    assert check(path).certificate == "ok"
    certificate["norms"][name]["allowed"] += 1
    save_file(dict(made.tensors), path, metadata={METADATA: json.dumps(certificate)})
    wrong = check(path).certificate
    assert isinstance(wrong, list)
    assert any(f"norms.{name}" in one for one in wrong)


@pytest.mark.parametrize("mapping", ["deterministic", "trainable", "bag"])
def test_a_printed_construction_differs_from_its_lemma_in_one_norm_alone(folder, mapping):
    path = folder / "printed.safetensors"
    construct("and", 16, 3, positions=[1, 4, 9], mapping=mapping, variant="printed").save(path)
    (wrong,) = check(path).certificate
    assert wrong.startswith("norms.W_2 ")
