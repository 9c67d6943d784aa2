"""The check on files made to fool it: every leaf of the certificate, every tensor, any JSON."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from limelight._core.errors import InputError
from limelight.certificate import check
from limelight.certificate._claim import read_claim
from limelight.certificate.construction import evaluate
from limelight.models.construct import construct, load
from limelight.models.construct._files import METADATA

REQUESTS = [
    {"rule": "and", "length": 8, "sparsity": 3},
    {"rule": "2c", "length": 8, "sparsity": 3, "basis": "chirp"},
    {"rule": "xor", "length": 8, "sparsity": 2, "mapping": "bag", "basis": "signs"},
    {"rule": "6b", "length": 8, "sparsity": 3, "mapping": "trainable", "dtype": "float32"},
]


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def put(document, path, value):
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


def alike(stated, true):
    """The same but for rounding: 1e-303 may stand where there is nothing."""
    if isinstance(true, dict):
        same = isinstance(stated, dict) and stated.keys() == true.keys()
        return same and all(alike(stated[key], true[key]) for key in true)
    number = lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    if number(true) and number(stated):
        return math.isclose(stated, true, rel_tol=1e-9, abs_tol=1e-12)
    return json.dumps(stated) == json.dumps(true)


def save(path, tensors, document):
    text = document if isinstance(document, str) else json.dumps(document)
    save_file(dict(tensors), path, metadata={METADATA: text})
    return path


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 1.01 + 0.01
    return {str: "other", type(None): 5.0, list: []}[type(value)]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: f"{r['rule']}")
def test_every_leaf_of_the_certificate_is_looked_at(tmp_path, request_):
    made = construct(**request_)
    path = tmp_path / "x.safetensors"
    # What is claimed, and what no weight can tell: an error allowed, how random signs were aimed.
    free = {("claim", "tolerance")}
    if request_.get("basis") == "signs":
        free.add(("basis", "Delta_bound"))
    for leaf, value in leaves(json.loads(json.dumps(made.certificate))):
        save(path, made.tensors, put(made.certificate, leaf, other(value)))
        try:
            noticed = check(path).code != 0
        except InputError:
            noticed = True
        assert noticed != (leaf in free), leaf
    for section in ("head", "norms", "mlp", "basis"):
        added = put(made.certificate, (section, "extra"), 1.0)
        assert "unknown" in check(save(path, made.tensors, added)).certificate[0]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: f"{r['rule']}")
def test_a_choice_that_no_weight_can_tell_must_still_fit(tmp_path, request_):
    made = construct(**request_)
    path = tmp_path / "x.safetensors"
    for leaf, value in (
        (("variant",), "printed"), (("dtype",), "float16"), (("head", "rho_kind"), "guessed"),
        (("basis", "kind"), "orthonormal"), (("basis", "kind"), "signs"),
        (("basis", "Delta_bound"), -1.0), (("lemmas",), ["B.4", "B.5"]),
    ):  # fmt: skip
        lie = put(made.certificate, leaf, value)
        if lie != made.certificate:
            assert check(save(path, made.tensors, lie)).certificate != "ok", leaf


nonsense = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([10**400, -1, 0, "80", "bound", [10**30]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner,
                                                                max_size=3),
    max_leaves=4,
)  # fmt: skip


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nonsense_anywhere_is_answered(tmp_path_factory, data):
    """Any value in any place: one line, or a report; and never a silent pass."""
    made = NONSENSE
    document = json.loads(json.dumps(made.certificate))
    places = [p for p, _ in leaves(document)] + [(k,) for k in document]
    drawn = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=2, unique=True))
    for place in sorted(drawn, key=len, reverse=True):  # what is inside before what holds it
        document = put(document, place, data.draw(nonsense))
    path = save(tmp_path_factory.mktemp("n") / "x.safetensors", made.tensors, document)
    try:
        report = check(path)
    except InputError:
        return
    stated, true = ({k: v for k, v in d.items() if k != "claim"}
                    for d in (document, made.certificate))  # fmt: skip
    assert report.code != 0 or alike(stated, true)
    json.dumps(report.as_json(), allow_nan=False)


NONSENSE = construct("or", 5, 2)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{", "null", '{"format": ' + "1" * 5000 + "}", '"x"', ""]
)
def test_metadata_that_is_no_certificate(tmp_path, text):
    with pytest.raises(InputError, match="not a construction"):
        check(save(tmp_path / "x.safetensors", NONSENSE.tensors, text))


@pytest.mark.parametrize("name", sorted(NONSENSE.tensors))
def test_tensors_of_any_shape_and_size(tmp_path, name):
    """No shape, no scale and no sign passes as right unless it is right, and nothing breaks."""
    path, before = tmp_path / "x.safetensors", NONSENSE.tensors[name]
    for shape in ((), (0,), (3,), before.shape[:-1] + (0,), (1, *before.shape)):
        with pytest.raises(InputError):
            check(save(path, NONSENSE.tensors | {name: np.ones(shape)}, NONSENSE.certificate))
    for factor in (1e300, 1e150, 1e17, 1e8, -1.0, 0.0, 1e-300):
        with np.errstate(over="ignore"):
            changed = before * factor
        save(path, NONSENSE.tensors | {name: changed}, NONSENSE.certificate)
        report = check(path)
        assert report.altered == [name]
        assert report.code != 0
        claim = read_claim(path)
        bits = (np.arange(2**5)[:, None] >> np.arange(5)) & 1
        with np.errstate(all="ignore"):
            error = np.abs(evaluate(claim, bits) - claim.expected(bits)).max()
        if report.verdict == "pass":
            assert error <= claim.tolerance
    for wrong in (np.nan, np.inf):
        with pytest.raises(InputError, match="NaN or infinite"):
            check(
                save(
                    path,
                    NONSENSE.tensors | {name: np.full(before.shape, wrong)},
                    NONSENSE.certificate,
                )
            )


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    NONSENSE.save(path)
    whole = path.read_bytes()
    for size in (0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError):
            check(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(InputError):
        check(path)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("basis", ["orthonormal", "chirp", "signs"])
def test_own_files_of_every_kind_have_a_certificate_that_fits(tmp_path, basis, dtype):
    path = tmp_path / "x.safetensors"
    for T, s in ((2, 1), (9, 3)):
        for mapping in ("deterministic", "bag"):
            for heads in ("auto", "many"):
                for rho in ("auto", "measured"):
                    made = construct("and", T, s, mapping=mapping, basis=basis, heads=heads,
                                     rho=rho, dtype=dtype)  # fmt: skip
                    made.save(path)
                    report = check(path)
                    assert report.code == 0, str(report)
                    assert load(path)[1] == made.certificate
