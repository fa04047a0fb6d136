"""The disk cache: small files of bytes under keys, shared by the processes of a user and limited in size.

    <folder>/kernels/<version>-<key>      mark, BLAKE2b of (key, payload), payload

An entry is trusted if its folder belongs to the user and nobody else may write to it, and if its checksum is right. An
entry is written to a temporary file and then renamed, so that a reader sees all of it or nothing. Two writers of one
key write the same bytes. A folder that cannot be used is not an error: one line is logged, and nothing is kept.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from threading import Lock

from weft.runtime.forks import forkable

__all__ = ["Store", "cache_folder"]

_MARK = b"weft cache 1\n"
_DIGEST = 32
_HEADER = len(_MARK) + _DIGEST
_UNFINISHED = ".new"
_ABANDONED = 3600.0  # seconds after which an unfinished file counts as abandoned
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_POSIX = hasattr(os, "geteuid")
_SAFELY = sum({getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")})

_log = logging.getLogger("weft")


def cache_folder(chosen: str | None = None) -> Path | None:
    """Return the folder of compiled kernels: `chosen`, WEFT_CACHE_DIR, or `weft` in the user's cache folder. None for a
    user without a home folder."""
    own = chosen or os.environ.get("WEFT_CACHE_DIR")
    try:
        folder = Path(own).expanduser() if own else _users_caches() / "weft"
    except RuntimeError:  # raised by pathlib for such a user
        return None
    return folder if own or folder.is_absolute() else None


def _users_caches() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return shared if shared.is_absolute() else Path.home() / ".cache"


@dataclass(frozen=True)
class _Entry:
    path: str
    name: str
    size: int
    used: float  # seconds since the epoch


class Store:
    """The entries in `folder`. `version` marks those of this installation (used by the policy "version").

    When all entries together exceed `most_bytes`, the share `cleaning` of that size is deleted: the least recently used
    ("lru") or the oldest ("fifo") entries. "version" deletes the entries of other versions, "never" deletes nothing."""

    def __init__(
        self, folder: Path, version: str = "0", most_bytes: int = 100 << 20, policy: str = "lru", cleaning: float = 0.25
    ) -> None:
        self.folder = folder / "kernels"
        self.version, self.policy = version, policy
        self.most_bytes, self.cleaning = most_bytes, min(max(cleaning, 0.0), 1.0)
        self._usable: bool | None = None  # not checked yet
        self._writable = True
        self._unmeasured: int | None = None  # bytes written since the last measurement; None: never measured
        self._lock = forkable(Lock())

    # -- entries -------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> bytes | None:
        """Return the payload under `key`; None if there is none, or if it cannot be trusted."""
        if not self._open(create=False):
            return None
        path = self._path(key)
        try:
            data = _read(path)
        except OSError:
            return None
        payload = _checked(key, data)
        if payload is None:
            with suppress(OSError):  # the damaged file is useless
                os.unlink(path)
            return None
        if self.policy == "lru":
            with suppress(OSError):  # the folder may be read-only
                os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep `payload` under `key`, if possible."""
        if not self._writable or not self._open(create=True):
            return
        data = b"".join((_MARK, _digest(key, payload), payload))
        if len(data) > self.most_bytes and self.policy in ("lru", "fifo"):
            return
        try:
            _write(self._path(key), data)
        except FileNotFoundError:  # the folder was deleted meanwhile: the next entry creates it again
            self._usable = None
            return
        except OSError as error:
            self._writable = False
            _log.warning("cannot write to the cache, so kernels are not cached: %s", error)
            return
        self._make_room(len(data))

    def clear(self) -> int:
        """Delete all entries and return their number."""
        if not self._open(create=False):
            return 0
        removed = [entry for entry in self._entries() if _remove(entry.path)]
        self._unmeasured = None
        return len(removed)

    def size(self) -> tuple[int, int]:
        """Return the number of entries and their bytes."""
        if not self._open(create=False):
            return 0, 0
        sizes = [entry.size for entry in self._entries()]
        return len(sizes), sum(sizes)

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, f"{self.version}-{key}")

    # -- the folder ----------------------------------------------------------------------------------------------------

    def _open(self, create: bool) -> bool:
        """Return whether the folder can be used. This is checked once the folder exists."""
        if self._usable is not None:
            return self._usable
        with self._lock:
            try:
                if create:
                    self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    with suppress(FileExistsError):
                        self.folder.mkdir(mode=0o700)
                why = _why_unsafe(os.lstat(self.folder))
            except FileNotFoundError:
                if not create:
                    return False  # it may be created later
                why = "the folder cannot be created"
            except OSError as error:
                why = str(error)
            self._usable = not why
        if why:
            _log.warning("the cache %s is off: %s", self.folder, why)
        return self._usable

    def _entries(self) -> Iterator[_Entry]:
        """Return the complete entries. Unfinished files are left to their writers, unless they are abandoned."""
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    with suppress(OSError):  # another process has deleted it
                        found = file.stat(follow_symlinks=False)
                        if file.name.endswith(_UNFINISHED):
                            if time.time() - found.st_mtime > _ABANDONED:
                                os.unlink(file.path)
                        elif stat.S_ISREG(found.st_mode):
                            yield _Entry(file.path, file.name, found.st_size, found.st_mtime)
        except OSError:
            return

    # -- bounds --------------------------------------------------------------------------------------------------------

    def _make_room(self, written: int) -> None:
        """Measure all entries from time to time, and delete some if there are too many."""
        with self._lock:
            if self._unmeasured is not None:
                self._unmeasured += written
                if self._unmeasured < self.most_bytes // 16:
                    return
            self._unmeasured = 0
        entries = list(self._entries())
        if self.policy == "version":
            for entry in entries:
                if not entry.name.startswith(f"{self.version}-"):
                    _remove(entry.path)
        if self.policy in ("lru", "fifo"):
            self._evict(entries)

    def _evict(self, entries: list[_Entry]) -> None:
        total = sum(entry.size for entry in entries)
        if total <= self.most_bytes:
            return
        wanted = self.most_bytes * (1 - self.cleaning)
        for entry in sorted(entries, key=lambda entry: entry.used):
            if total <= wanted:
                break
            if _remove(entry.path):
                total -= entry.size


def _why_unsafe(found: os.stat_result) -> str:
    """Return why a folder cannot be trusted, or "" if it can."""
    if not stat.S_ISDIR(found.st_mode):
        return "the path is not a folder"
    if not _POSIX:
        return ""  # Windows itself protects the user's folders
    if found.st_uid != os.geteuid():
        return "the folder belongs to another user"
    return "other users may write to the folder" if found.st_mode & _OTHERS_WRITE else ""


def _read(path: str) -> bytes:
    """Return the bytes of a file that the user owns. Raises OSError for any other file."""
    descriptor = os.open(path, os.O_RDONLY | _SAFELY)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError("not a file")
        if _POSIX and (found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE):
            raise PermissionError("others may write to the file, or own it")
        return file.read()


def _write(path: str, data: bytes) -> None:
    """Write a new file. Other processes see it only when it is complete."""
    new = f"{path}.{token_hex(8)}{_UNFINISHED}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except BaseException:
        _remove(new)
        raise


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _digest(key: str, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=_DIGEST, key=blake2b(key.encode(), digest_size=_DIGEST).digest()).digest()


def _checked(key: str, data: bytes) -> bytes | None:
    """Return the payload of a file that was written under `key`; None if it is damaged."""
    payload = data[_HEADER:]
    whole = data.startswith(_MARK) and data[len(_MARK) : _HEADER] == _digest(key, payload)
    return payload if whole else None
