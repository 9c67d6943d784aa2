"""Files that are whole or not there: what is refused, what is left, what is followed."""

import contextlib
import errno
import os
import re
import stat
import subprocess
import sys
import time

import pytest

from limelight._core import files, processes
from limelight._core.errors import InputError, StoreError


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a"
    files.write_whole(path, b"one")
    with contextlib.suppress(ZeroDivisionError), files.atomic(path) as temporary:
        temporary.write_bytes(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files.write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_permissions_are_those_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "a", b"")
        files.write_once(tmp_path / "b", b"")
    finally:
        assert os.umask(before) == 0o027
    for name in "ab":
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_who_comes_first_stays(tmp_path):
    assert files.write_once(tmp_path / "a", b"first")
    assert not files.write_once(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_without_links_a_file_is_still_written(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", refuse)
    assert files.write_once(tmp_path / "a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"


def test_leftovers_of_the_dead_are_cleared(tmp_path):
    for name in (".a.tmp", ".b.tmp", "mine.tmp", ".c"):
        (tmp_path / name).write_bytes(b"")
    handle = os.open(tmp_path / ".b.tmp", os.O_RDWR)
    assert files.lock(handle) is True
    assert files.clear_leftovers(tmp_path) == 1  # one is held, two are not ours
    os.close(handle)
    assert files.clear_leftovers(tmp_path) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [".c", "mine.tmp"]


def test_leftovers_are_known_by_their_names_where_locks_do_not_tell(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine = processes.owned("a")
    dead = mine.replace(f"-{os.getpid()}.", f"-{gone.pid}.")
    afar = re.sub("[0-9a-f]{8}-", "0" * 8 + "-", mine)
    for name in (
        f"{mine}x.tmp",
        f"{dead}x.tmp",
        f"{dead}y.tmp",
        f"{afar}new.tmp",
        f"{afar}old.tmp",
    ):
        (tmp_path / name).write_bytes(b"")
    day_before = time.time() - 2 * processes.DAY
    os.utime(tmp_path / f"{afar}old.tmp", (day_before, day_before))
    assert files.clear_leftovers(tmp_path, locks=False) == 3
    left = {f"{mine}x.tmp", f"{afar}new.tmp"}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(files, "flush", lambda path: seen.append((path, (tmp_path / "a").exists())))
    assert files.write_once(tmp_path / "a", b"x")
    assert [there for _, there in seen] == [False, True]
    assert seen[0][0].suffix == ".tmp"
    assert seen[1][0] == tmp_path


def test_a_lock_is_held_by_one(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    first, second = (os.open(tmp_path / "a", os.O_RDWR) for _ in range(2))
    assert (files.lock(first), files.lock(second)) == (True, False)
    os.close(first)
    assert files.lock(second) is True
    assert files.still_named(second, tmp_path / "a")
    (tmp_path / "a").unlink()
    assert not files.still_named(second, tmp_path / "a")
    (tmp_path / "a").write_bytes(b"")
    assert not files.still_named(second, tmp_path / "a")
    os.close(second)


def test_only_plain_files_of_some_size_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"123")
    assert files.read_regular(tmp_path / "a", 3) == b"123"
    with pytest.raises(OSError, match="larger than 2 bytes"):
        files.read_regular(tmp_path / "a", 2)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(OSError, match=r"not a plain file|directory"):
            files.read_regular(tmp_path / name)
    assert files.file_digest(tmp_path / "a").startswith("a665a45920422f9d")
    with pytest.raises(InputError, match="cannot read"):
        files.file_digest(tmp_path / "none")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "no room to write a"),
        (errno.EDQUOT, "no room"),
        (errno.EFBIG, "no room"),
        (errno.EACCES, "cannot write in /b"),
        (errno.EROFS, "cannot write in /b"),
        (errno.ENOENT, "there is no folder /b"),
        (errno.EIO, "cannot write /b/a"),
    ],
)
def test_refusals_of_the_system_in_words(number, said, tmp_path):
    from pathlib import Path

    with pytest.raises(StoreError, match=said), files.explained(Path("/b/a")):
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize(("number", "passes"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_some_file_systems_do_not_flush_folders(number, passes, tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    if passes:
        files.flush(tmp_path)
    else:
        with pytest.raises(OSError, match="error"):
            files.flush(tmp_path)


def test_a_home_is_found_or_asked_for(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert str(files.from_home("~/a")) == "/somewhere/a"
    assert str(files.from_home("a")) == "a"
    with pytest.raises(InputError, match="no home folder for ~nobody-of-this-name/a"):
        files.from_home("~nobody-of-this-name/a")
