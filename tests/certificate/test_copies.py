"""Certificates beside weights, and those of bounds: every leaf is held against the weights."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest

import limelight as ll
from limelight._core.errors import InputError
from limelight.certificate import check, check_bound
from limelight.models.construct import construct
from limelight.models.construct._files import METADATA, beside, finite

VIT = Path(__file__).parents[1] / "fixtures" / "vit" / "hf.safetensors"


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "and.safetensors"
    construct("and", 8, 3).save(path)
    return path


def leaves(value, place=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            yield from leaves(inner, (*place, name))
    else:
        yield place, value


def put(document, place, value):
    document = json.loads(json.dumps(document))
    at = document
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    return document


# --- the copy beside a construction -------------------------------------------------------------


def test_the_copy_in_a_folder_that_stands_for_its_weights_is_read(made, monkeypatch):
    """The folder by its name, and as the place where one is, which has none."""
    monkeypatch.chdir(made.parent)
    for folder in (made.parent, Path(), Path("..", made.parent.name)):
        assert check(folder).code == 0
        assert check(folder).file == made.name
    beside(made).write_text("{}")
    for folder in (made.parent, Path()):
        assert check(folder).code == 1


def test_the_copy_beside_the_weights_is_read(made):
    assert check(made).code == 0
    copy = beside(made)
    document = json.loads(copy.read_text())
    for place, value in leaves(document):
        lie = [0] if value is None else not value if isinstance(value, bool) else 1
        copy.write_text(json.dumps(put(document, place, lie if lie != value else 2)))
        report = check(made)
        assert report.code == 1, place
        assert "says something else" in str(report)
    for text in ("", "[", "{}", "[" * 99_999, '{"a": 1, "a": 1}'):
        copy.write_text(text)
        assert check(made).code == 1
    copy.unlink()
    assert check(made).code == 0


def resaved(path, made, certificate: str):
    from safetensors.numpy import save_file

    save_file(made.tensors, path, metadata={METADATA: certificate})
    return path


def test_a_key_that_occurs_twice_or_means_nothing_is_refused(tmp_path):
    made = construct("or", 5, 2)
    text = json.dumps(finite(made.certificate))
    path = tmp_path / "x.safetensors"
    assert check(resaved(path, made, text)).code == 0
    twice = text.replace('"T": 5', '"T": 4, "T": 5')
    assert twice != text
    with pytest.raises(InputError, match="not a construction"):
        check(resaved(path, made, twice))
    with pytest.raises(InputError, match="means nothing"):
        check(resaved(path, made, text.replace('"T": 5', '"T": 5, "except": "all"')))
    more = text.replace('"digests": {', '"digests": {"head.9.W_Q": "00", ')
    assert more != text
    assert check(resaved(path, made, more)).code == 1


# --- bounds -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    place = tmp_path_factory.mktemp("bound") / "bound.json"
    construct("and", 8, 3, heads="many").save(place.with_name("and.safetensors"))
    weights = place.with_name("and.safetensors")
    report = ll.theory.edelman2022.capacity(weights, examples=5e4, delta=0.01)
    ll.certify(report, weights).save(place)
    return place


def weights_of(certificate):
    return certificate.with_name("and.safetensors")


def test_a_bound_s_certificate_is_computed_again(certificate, tmp_path):
    assert check_bound(certificate, weights_of(certificate)).code == 0
    report = ll.theory.edelman2022.capacity(VIT, heads=3)
    ll.certify(report, VIT).save(tmp_path / "vit.json")
    assert check_bound(tmp_path / "vit.json", VIT).as_json()["verdict"] == "pass"
    assert check_bound(tmp_path / "vit.json", VIT.with_name("digits.safetensors")).code == 1


def test_a_bound_s_certificate_outlives_a_new_name_and_who_said_the_heads(tmp_path):
    """Heads that were concluded when it was written are said when it is checked."""
    weights = tmp_path / "a.safetensors"
    shutil.copy(VIT.with_name("timm.safetensors"), weights)
    certificate = ll.certify(ll.theory.edelman2022.capacity(weights, heads=3), weights).as_json()
    for part in ("bound", "details"):
        notes = certificate[part]["notes"]
        assert "the only possibility among" in notes[-1]
        certificate[part]["notes"] = [*notes[:-1], f"3 heads per block, {notes[-1]}"]
    (tmp_path / "c.json").write_text(json.dumps(certificate))
    weights = weights.rename(tmp_path / "b.safetensors")
    assert check_bound(tmp_path / "c.json", weights).wrong == []
    # what only looks like such a note is one more claim
    for note in (
        "12 heads per block, from its configuration",
        "it generalises: 3 heads per block, from a proof",
        "activation any: the only possibility among bounds that hold",
    ):
        lie = {**certificate, "details": {**certificate["details"], "notes": [note]}}
        (tmp_path / "c.json").write_text(json.dumps(lie))
        assert check_bound(tmp_path / "c.json", weights).wrong, note


def test_every_leaf_of_a_bound_s_certificate_is_held_against_the_weights(certificate, tmp_path):
    document = json.loads(certificate.read_text())
    places = list(leaves(document))
    names = {place for place, _ in places if place[-1] == "file"}
    seen = set()
    for place, value in places:
        kind = tuple(name for name in place if isinstance(name, str))
        if place in names or kind in seen:  # one of every kind: blocks and heads are alike
            continue
        seen.add(kind)
        lie = not value if isinstance(value, bool) else 7 if value != 7 else 8
        (tmp_path / "c.json").write_text(json.dumps(put(document, place, lie)))
        with contextlib.suppress(InputError):  # refused, where not even a setting is left
            assert check_bound(tmp_path / "c.json", weights_of(certificate)).wrong, place


def test_other_weights_and_other_documents_are_not_certified(certificate, tmp_path, made):
    with pytest.raises(InputError, match="no certificate of a bound"):
        check_bound(beside(made), made)
    (tmp_path / "c.json").write_text(
        certificate.read_text().replace('"verdict"', '"holds": 1, "verdict"', 1)
    )
    with pytest.raises(InputError, match="twice"):
        check_bound(tmp_path / "c.json", weights_of(certificate))
    (tmp_path / "c.json").write_text(
        certificate.read_text().replace('"holds"', '"but": 1, "holds"', 1)
    )
    assert check_bound(tmp_path / "c.json", weights_of(certificate)).wrong == ["but is unknown"]
