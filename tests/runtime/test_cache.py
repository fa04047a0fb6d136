"""The store: entries whole or not at all, nobody else's, within bounds, and never in the way."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from weft.runtime import cache
from weft.runtime.cache import Store

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path, "v1")
    made.put("a", b"first")
    return made


def _file(store: Store, key: str = "a") -> Path:
    return store.folder / f"{store.version}-{key}"


def test_entries_are_found_by_another_process(store: Store, tmp_path: Path):
    assert store.get("a") == b"first"
    assert store.get("b") is None
    assert Store(tmp_path, "v1").get("a") == b"first"
    assert Store(tmp_path, "v2").get("a") is None
    store.put("a", b"second")
    assert Store(tmp_path, "v1").get("a") == b"second"
    assert store.size() == (1, _file(store).stat().st_size)
    assert store.clear() == 1
    assert store.get("a") is None
    assert store.size() == (0, 0)


@POSIX
def test_nobody_else_can_read_or_write(store: Store):
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert _file(store).stat().st_mode & 0o777 == 0o600


def test_looking_makes_no_folder(tmp_path: Path):
    assert Store(tmp_path / "none").get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_damage_is_noticed_and_removed(tmp_path: Path):
    payload = bytes(range(256)) * 4
    for position in (0, 5, 13, 20, 44, 45, 300, -1):
        store = Store(tmp_path, "v1")
        store.put("a", payload)
        data = bytearray(_file(store).read_bytes())
        data[position] ^= 1
        _file(store).write_bytes(data)
        assert store.get("a") is None, position
        assert not _file(store).exists()
    for length in (0, 1, 12, 13, 44, 45, 46, 500):
        store.put("a", payload)
        _file(store).write_bytes(_file(store).read_bytes()[:length])
        assert store.get("a") is None, length


def test_an_entry_belongs_to_its_key(store: Store):
    os.replace(_file(store), _file(store, "b"))
    assert store.get("b") is None


@POSIX
def test_links_pipes_and_folders_are_no_entries(store: Store, tmp_path: Path):
    real = tmp_path / "real"
    os.replace(_file(store), real)
    _file(store).symlink_to(real)
    assert store.get("a") is None
    os.mkfifo(_file(store, "pipe"))
    assert store.get("pipe") is None
    _file(store, "folder").mkdir()
    assert store.get("folder") is None
    store.put("folder", b"x")  # cannot be written: no error


@POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_refused_once(
    store: Store, tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
):
    store.folder.chmod(mode)
    again = Store(tmp_path, "v1")
    assert again.get("a") is None
    again.put("b", b"x")
    assert again.get("b") is None
    assert not _file(again, "b").exists()
    (warning,) = (r.getMessage() for r in caplog.records if r.levelno == logging.WARNING)
    assert "other users may write to the folder" in warning


@POSIX
def test_a_folder_or_entry_of_another_user_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert Store(tmp_path, "v1").get("a") is None
    assert store.get("a") is None  # the folder was looked at before; the file is looked at each time


@POSIX
def test_an_entry_that_others_can_write_to_is_refused(store: Store):
    _file(store).chmod(0o666)
    assert store.get("a") is None


@POSIX
def test_a_linked_folder_is_refused(store: Store, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "kernels").symlink_to(store.folder)
    assert Store(other, "v1").get("a") is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_full_or_closed_disk_is_said_once(
    store: Store, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def full(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache, "_write", full)
    store.put("b", b"x")
    store.put("c", b"x")
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert store.get("a") == b"first"  # reading goes on


def test_a_disk_that_fills_while_writing_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", fail)
    store.put("b", b"x")
    assert [path.name for path in store.folder.iterdir()] == ["v1-a"]


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "below")
    store.put("a", b"x")
    assert store.get("a") is None
    assert store.size() == (0, 0)


def _aged(store: Store, key: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(_file(store, key), (then, then))


def _names(store: Store) -> list[str]:
    return sorted(path.name.split("-", 1)[1] for path in store.folder.iterdir())


@pytest.mark.parametrize(("policy", "left"), [("lru", ["a", "d", "new"]), ("fifo", ["c", "d", "new"])])
def test_the_oldest_give_way(tmp_path: Path, policy: str, left: list[str]):
    store = Store(tmp_path, "v1", most_bytes=4000, policy=policy, cleaning=0.25)
    for age, key in enumerate("dcba"):
        store.put(key, bytes(900))
        _aged(store, key, 100 + age)
    assert store.get("a") is not None  # used last, written first
    store._unmeasured = None
    store.put("new", bytes(900))
    assert _names(store) == left


def test_never_and_version(tmp_path: Path):
    never = Store(tmp_path, "v1", most_bytes=1000, policy="never")
    for key in "abcdef":
        never.put(key, bytes(900))
    assert len(_names(never)) == 6
    Store(tmp_path, "v2", most_bytes=1000, policy="version").put("g", bytes(900))
    assert [path.name for path in never.folder.iterdir()] == ["v2-g"]


def test_entries_larger_than_the_limit_are_not_stored(tmp_path: Path):
    store = Store(tmp_path, most_bytes=100)
    store.put("a", bytes(200))
    assert store.size()[0] == 0


def test_unfinished_files_are_cleared_away_in_time(store: Store, tmp_path: Path):
    young, old = (store.folder / f"v1-{name}.0.new" for name in ("young", "old"))
    young.write_bytes(b"")
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    Store(tmp_path, "v1").put("b", b"x")
    assert young.exists()
    assert not old.exists()


@pytest.mark.parametrize("policy", ["lru", "version"])
def test_what_another_process_is_writing_stays(tmp_path: Path, policy: str):
    store = Store(tmp_path, "v2", most_bytes=1000, policy=policy, cleaning=1.0)
    store.put("a", bytes(400))
    young = store.folder / "v1-young.0.new"
    young.write_bytes(bytes(900))
    store._unmeasured = None
    store.put("b", bytes(700))
    assert young.exists()
    store.clear()
    assert [path.name for path in store.folder.iterdir()] == [young.name]


def test_a_folder_that_is_removed_meanwhile_is_made_anew(store: Store, caplog: pytest.LogCaptureFixture):
    store.put("a", b"1")
    shutil.rmtree(store.folder)
    assert store.get("a") is None
    store.put("a", b"2")
    store.put("a", b"3")
    assert store.get("a") == b"3"
    assert not caplog.records


_WORKER = """
import sys
from pathlib import Path
from weft.runtime.cache import Store
store = Store(Path(sys.argv[1]), "v1", most_bytes=20_000)
found = 0
for turn in range(300):
    key = f"k{turn % 7}"
    payload = key.encode() * 700
    got = store.get(key)
    assert got is None or got == payload, "torn"
    found += got is not None
    store.put(key, payload)
print(found)
"""


def test_processes_share_it(tmp_path: Path):
    command = [sys.executable, "-c", _WORKER, str(tmp_path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [worker.communicate(timeout=120)[0] for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    assert sum(map(int, outputs)) > 400
    assert not list(Store(tmp_path).folder.glob("*.new"))
