"""Names with markup, quotes, control characters and terminal escapes stay text everywhere."""

import json
import re
import shutil

import pytest

from limelight._cli.text import visible
from tests.cli.conftest import Outcome

NASTY = "<script>alert('x')</script>\x1b[2J\u202e\"&"
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


def test_a_run_folder_with_a_nasty_name(call, finished, tmp_path):
    store = tmp_path / NASTY.replace("/", "")
    shutil.copytree(finished, store)
    plain(call("resume", store))
    found = call("resume", store, "--json")
    assert json.loads(found.out)["store"] == str(store)
    assert "\x1b" not in found.out
    plain(call("report", store, "-o", tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(" in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page


def test_a_message_is_never_endless(call):
    outcome = call("show", "li2023", "theorem1", "--set", "relevant=" + "9" * 5_000)
    assert outcome.code == 2
    assert len(outcome.err) < 700
