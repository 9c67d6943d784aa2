"""Names with markup, quotes, control characters and terminal escapes stay text everywhere."""

import base64
import hashlib
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from limelight._cli.text import visible
from limelight._identity.description import describe
from tests.cli.conftest import Outcome


def possible(name: str) -> str:
    """Without what the names of files cannot hold here: not every locale is UTF-8."""
    encoding = sys.getfilesystemencoding()
    return name.encode(encoding, "ignore").decode(encoding)


NASTY = possible("<script>alert('x')</script>\x1b[2J\u202e\"&")
VIT = Path(__file__).parents[1] / "fixtures" / "vit" / "timm.safetensors"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def plain(outcome: Outcome) -> str:
    printed = outcome.out + outcome.err
    assert not STEERING.search(printed), repr(printed)
    return printed


def test_control_characters_are_written_out():
    assert visible("a\x1b[31m\x07b\tc\nd\u202e\udc80") == "a\\x1b[31m\\x07b\tc\nd\\u202e\\udc80"
    assert visible("plain, ünïcode, α*") == "plain, ünïcode, α*"


@pytest.mark.parametrize("command", ["plot", "report", "resume", "cite"])
def test_a_nasty_name_of_something_that_is_not_there(call, command):
    outcome = call(command, NASTY.replace("/", ""))
    assert outcome.code == 2
    assert "alert('x')" in plain(outcome)


#: One kind of malice each; every one is a name that a file system takes.
NAMES = {
    "markup": "<script>alert(1)<img src=x onerror=alert(2)>&lt;b&gt;",
    "quotes": "\"'` onmouseover='alert(1)' \\ $(reboot) ${HOME} %n {0}",
    "control characters": possible("a\rbc\x07\x08\x7f\x9b\nd"),
    "terminal escapes": possible("\x1b]0;title\x07\x1b[2J\x1b[31mred\u202egnp"),
}


@pytest.fixture(params=NAMES)
def named(request, finished, tmp_path):
    """A finished run in a folder with a nasty name."""
    return shutil.copytree(finished, tmp_path / NAMES[request.param])


def test_a_nasty_name_in_the_terminal(call, named):
    outcome = call("resume", named)
    assert outcome.code == 0
    assert visible(named.name).replace("\n", " ")[:8] in plain(outcome).replace("\n", " ")


def test_a_nasty_name_in_json(call, named):
    found = call("resume", named, "--json")
    assert json.loads(found.out)["store"] == str(named)
    assert not STEERING.search(found.out)


def test_a_nasty_name_on_a_page(call, named, tmp_path):
    plain(call("report", named, "-o", tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not STEERING.search(page)
    assert "default-src 'none'" in page
    seen = Tags()
    seen.feed(page)
    assert not seen.met & {"iframe", "object", "embed"}
    ours = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    seals = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in ours]
    assert all(f"'sha256-{seal}'" in page for seal in seals)
    assert page.count("<script") == len(ours) + page.count('<script type="application/gzip"')
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert letters(STEERING.sub("", named.name)) in letters("".join(seen.text))


def letters(text: str) -> str:
    """Without spaces and quotes: names are quoted for the shell where a command is shown."""
    return re.sub(r"\W", "", text)


class Tags(HTMLParser):
    """What a browser would make of a page: elements, their attributes, and text."""

    def __init__(self):
        super().__init__()
        self.met, self.attributes, self.text = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.met.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("kind", NAMES)
def test_nasty_names_of_tensors(call, kind, tmp_path):
    """Listed or refused, in the terminal and as JSON."""
    weights = tmp_path / "w.safetensors"
    tensors = load_file(VIT)
    tensors[NAMES[kind]] = tensors.pop("cls_token")
    save_file(tensors, weights)
    for words in ((), ("--json",)):
        outcome = call("bound", "edelman2022", weights, "--heads", 3, *words)
        assert outcome.code in (0, 2)
        plain(outcome)


@pytest.mark.parametrize("kind", NAMES)
def test_a_nasty_name_of_a_class(kind):
    """In the description of a study, which is what a manifest keeps and a refusal names."""

    class Loss:
        def __call__(self, output, example):
            return output - example

    Loss.__name__ = Loss.__qualname__ = NAMES[kind]
    described = describe(Loss())
    text = json.dumps(described)
    assert json.loads(text) == described
    assert json.dumps(NAMES[kind])[1:-1] in text
    assert not STEERING.search(text)


def test_a_message_is_never_endless(call):
    outcome = call("show", "li2023", "theorem1", "--set", "relevant=" + "9" * 5_000)
    assert outcome.code == 2
    assert len(outcome.err) < 700
