"""Write files atomically: if a write fails or is killed, the old file stays unchanged.

The content goes to a new file in the same folder, which then replaces the old one in a single step. A process that is
killed in between leaves that new file behind, with `.partial` in its name; it may be deleted.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from weft.ir.errors import WeftError

__all__ = ["WriteFailed", "previous_of", "replacing", "require_space", "write_bytes"]


_DISK = (errno.ENOSPC, errno.EFBIG)  # for these, libraries give long texts


class WriteFailed(WeftError, OSError):
    """A file could not be written. The old file, if there was one, is unchanged."""


@contextmanager
def replacing(path: str | Path, durable: bool = False) -> Generator[Path, None, None]:
    """Give the path of a new file, or folder, to write in the `with` block. At the end of the block it replaces `path`.
    If the block raises an exception, it is deleted, and `path` stays as it was.

    Missing folders above `path` are made. With `durable` the content is on the disk before it replaces the old one, so
    that a power failure leaves one or the other. Raises WriteFailed for any OSError, such as that of a full disk."""
    target = Path(os.path.realpath(path))  # a link stays a link
    new = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.partial{target.suffix}")  # libraries look at endings
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise OSError(errno.EINVAL, "it is neither a file nor a folder")
        yield new
        if durable:
            _flush(new)
        _replace(new, target)
        if durable:
            _flush_folder(target.parent)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno in _DISK else error.strerror or str(error)
        kept = " The old content is unchanged." if target.exists() else ""
        raise WriteFailed(error.errno or errno.EIO, f"could not write {str(path)!r}: {why}.{kept}") from error
    finally:
        _delete(new)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file in one step, as `replacing` does."""
    with replacing(path) as new:
        new.write_bytes(content)


def require_space(path: Path, size: int) -> None:
    """Raise WriteFailed unless the disk has room for `size` more bytes in this file, which is about to grow."""
    free = shutil.disk_usage(path.parent).free
    if free < size:
        raise WriteFailed(
            errno.ENOSPC,
            f"could not write {str(path)!r}: {os.strerror(errno.ENOSPC)}. {size} bytes are needed, but only "
            f"{free} are free",
        )


def previous_of(path: Path) -> Path:
    """Where the old folder is while a new one replaces it. It is there only if the process was killed in that step."""
    return path.with_name(f".{path.name}.previous")


def _replace(new: Path, target: Path) -> None:
    """Put `new` in the place of `target`. A folder cannot replace a folder in one step: the old one is renamed
    first."""
    if new.is_dir() != target.is_dir() and target.exists():
        kind = "folder" if target.is_dir() else "file"
        raise OSError(errno.EEXIST, f"a {kind} of that name exists")
    if target.is_file():
        shutil.copymode(target, new)
    if not target.is_dir():
        os.replace(new, target)
        return
    old = previous_of(target)
    _delete(old)
    os.rename(target, old)
    os.rename(new, target)
    _delete(old)


def _flush(path: Path) -> None:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    for file in files:
        with open(file, "rb+") as opened:
            os.fsync(opened.fileno())


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows opens no folders
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():  # (False below a file, where unlink raises NotADirectoryError)
        path.unlink(missing_ok=True)
