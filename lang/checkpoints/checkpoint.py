"""`ti.save` and `ti.load`.

A checkpoint is an archive of arrays (`archive_formats.py`). One more array has a text in JSON, the *manifest*: the
type, shape and checksum of each array, the values that are not arrays, and the state of the random numbers."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch, WeftError
from weft.lang.arguments import is_one, path_of, shown
from weft.lang.atomic_files import previous_of, replacing
from weft.lang.checkpoints.archive_formats import FORMATS, Get
from weft.lang.checkpoints.state import Holder, deactivated_before, holders, is_plain, random_state, set_random_state
from weft.lang.data.sparse_access import SPARSE
from weft.lang.extras import MissingLibrary

__all__ = ["CheckpointError", "load", "save"]

_MANIFEST = "weft-manifest"
_VERSION = 1  # of the manifest
_PLACES = "@"  # the array of the indices of the active elements of x is x@
_NAME = re.compile(r"\w[\w -]*(\.\w[\w -]*)*")


class CheckpointError(WeftError, ValueError):
    """A file is not a checkpoint, is damaged, or does not fit what it is loaded into. It is a ValueError.

    Example:
        with open("run.npz", "w") as file:
            file.write("nonsense")

        ti.load("run.npz")  # raises CheckpointError
    """


def save(path: Any, state: Mapping[str, Any] | None = None, /, **named: Any) -> None:
    """Write the state of a simulation to a file: `ti.save("run.npz", height=height, particles=particles, time=t)`.

    Each keyword names one item of the state. An item is a field, a field of structs, an ndarray, an array of numpy, a
    dict of these, or a number, a string, True, False or None. Names that are not valid identifiers go into a dict, the
    second argument. Of a sparse field, the indices and values of the active elements are written. A gradient is written
    with its field. The state of the random numbers is always written.

    The ending of `path` selects the format: `.npz` needs nothing else; `.h5` and `.hdf5` need h5py (`pip install
    'weft[hdf5]'`); `.zarr`, a folder, needs zarr (`pip install 'weft[zarr]'`). Other programs can read all of them:
    `numpy.load("run.npz")["height"]`.

    The new file replaces an old one in a single step, when all of it is on the disk. If the process is killed before
    that, or if the disk is full, the old file stays unchanged. Raises WriteFailed (an OSError) if the file cannot be
    written, and TypeMismatch for an item that a checkpoint cannot contain.

    Example:
        height = ti.field(ti.f32, (2, 2))
        height.fill(3)
        ti.save("run.npz", height=height, time=0.5)
        height.fill(0)
        ti.load("run.npz", height=height)  # {'time': 0.5}
        height[1, 1]  # 3.0
    """
    target = Path(path_of(path, "ti.save"))
    items = _items(state, named)
    kind = _format_of(target)
    values = {name: item for name, item in items.items() if is_plain(item)}
    arrays = [holder for name, item in items.items() if name not in values for holder in holders(name, item)]
    _check_names([*values, *(holder.name for holder in arrays)])
    entries: dict[str, Any] = {}
    with replacing(target, durable=True) as new, kind.writing(new) as put:
        for holder in arrays:
            places, array = holder.active() if holder.is_sparse else (None, holder.get())
            put(holder.name, _little(array))
            entries[holder.name] = _entry(holder, _little(array))
            if places is not None:
                put(f"{holder.name}{_PLACES}", _little(places))
                entries[holder.name]["places"] = {"count": len(places), "crc32": _checksum(places)}
        manifest = {"version": _VERSION, "values": values, "arrays": entries, "random": random_state()}
        put(_MANIFEST, _packed(manifest))


def load(path: Any, into: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Any]:
    """Read a file that `ti.save` has written: `rest = ti.load("run.npz", height=height, particles=particles)`.

    Each keyword names an item of the file and the field, ndarray or array of numpy that receives it. The names, types
    and shapes must be those in the file. Returns all other items in a dict: values as they were, arrays and fields as
    arrays of numpy, sparse fields as pairs of arrays, indices and values, and fields of structs as dicts of arrays.
    `ti.load("run.npz")` returns everything, and needs none of the fields. Later random numbers are those that followed
    when the file was written, on any arch.

    The file is read and checked as a whole before anything is changed. Raises CheckpointError (a ValueError) if it is
    not a checkpoint, if it is damaged, or if an item does not fit; FileNotFoundError if there is no such file;
    OutOfMemory if a sparse node has too few cells.

    Example:
        x = ti.field(ti.i32, 3)
        ti.save("run.npz", x=x, step=12)
        sorted(ti.load("run.npz").items())  # [('step', 12), ('x', array([0, 0, 0], dtype=int32))]
        ti.load("run.npz", x=ti.field(ti.i32, 4))  # raises CheckpointError
    """
    named_path = Path(path_of(path, "ti.load"))
    kind, source = _format_of(named_path), _found(named_path)
    items = _items(into, named)
    for name, item in items.items():
        if is_plain(item):
            raise TypeMismatch(
                f"ti.load can fill only fields and arrays, but '{name}' is {shown(item)}: read it from the result"
            )
    targets = {holder.name: holder for name, item in items.items() for holder in holders(name, item)}
    for holder in targets.values():
        holder.check()
    try:
        with kind.reading(source) as get:
            manifest = _manifest(get, source)
            for name, holder in targets.items():
                _check_fit(holder, manifest["arrays"].get(name), manifest, source)
            arrays = {name: _read(get, name, entry) for name, entry in manifest["arrays"].items()}
    except (CheckpointError, MissingLibrary, PermissionError):
        raise
    except Exception as error:  # whatever the reader of a format raises for bytes that are not of that format
        raise CheckpointError(f"{str(source)!r} is damaged, or it is not a checkpoint ({error})") from error
    emptied = deactivated_before(targets.values())
    SPARSE.check_room(
        [(holder.owner, _places(holder, arrays[name])) for name, holder in targets.items() if holder.is_sparse],
        [top.node for top in emptied],
    )
    for top in emptied:
        top.deactivate_all()
    for name, holder in targets.items():
        array = arrays.pop(name)
        if isinstance(array, tuple):
            places, values = array
            holder.set_active(places, values, manifest["arrays"][name]["offset"])
        else:
            holder.set(array)
    set_random_state(manifest["random"])
    return {**manifest["values"], **_nested(arrays, manifest["arrays"])}


def _items(given: Any, named: dict[str, Any]) -> dict[str, Any]:
    """The items by name, from the dict and the keywords of a call."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeMismatch(
            f"the items of a checkpoint must be passed by name, as in ti.save(path, x=x), not {shown(given)}"
        )
    twice = sorted(set(given or {}) & set(named))
    if twice:
        raise TypeMismatch(f"the item '{twice[0]}' of the checkpoint is passed twice")
    return {**(given or {}), **named}


def _check_names(names: list[Any]) -> None:
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == _MANIFEST:
            raise TypeMismatch(
                f"the name of an item may contain letters, digits, '_', '-', '.' and spaces only, unlike {name!r}"
            )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TypeMismatch(f"two items of the checkpoint have the name '{twice[0]}'")


def _format_of(path: Path) -> Any:
    if not is_one(path.suffix.lower(), FORMATS):
        raise CheckpointError(f"the name of a checkpoint must end in {', '.join(FORMATS)}, unlike {str(path)!r}")
    return FORMATS[path.suffix.lower()]


def _found(path: Path) -> Path:
    """The path of an existing checkpoint. A folder that was being replaced when the process was killed counts."""
    for place in (path, previous_of(path)):
        if place.exists():
            return place
    raise FileNotFoundError(2, "this checkpoint does not exist", str(path))


# ---- arrays and the manifest


def _little(array: Any) -> Any:
    """The array in one piece, its numbers in little-endian order, as all formats can have them."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _checksum(array: Any) -> int:
    return zlib.crc32(_little(array).reshape(-1).view(np.uint8))


def _entry(holder: Holder, array: Any) -> dict[str, Any]:
    return {
        "dtype": holder.dtype.name,
        "shape": list(holder.shape),
        "element": list(holder.element),
        "offset": list(holder.offset),
        "crc32": _checksum(array),
    }


def _packed(manifest: dict[str, Any]) -> Any:
    """The manifest as bytes, after its own checksum."""
    text = json.dumps(manifest).encode()
    return np.frombuffer(b"%08x %s" % (zlib.crc32(text), text), np.uint8)


def _manifest(get: Get, source: Path) -> dict[str, Any]:
    try:
        packed = get(_MANIFEST).tobytes()
    except KeyError:
        raise CheckpointError(f"{str(source)!r} was not written by ti.save: it has no manifest") from None
    checksum, _, text = packed.partition(b" ")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError("the checksum of the manifest is wrong")
    manifest: dict[str, Any] = json.loads(text)
    if manifest["version"] != _VERSION:
        raise CheckpointError(
            f"{str(source)!r} is a checkpoint of version {manifest['version']}; this Weft reads version {_VERSION}"
        )
    return manifest


def _read(get: Get, name: str, entry: Mapping[str, Any]) -> Any:
    """The array of this entry; of a sparse field, the indices and the values. Raises ValueError if it differs from what
    was written."""
    array, active = get(name), entry.get("places")
    shape = entry["shape"] if active is None else [active["count"]]
    if array.dtype.name != entry["dtype"] or list(array.shape) != shape + entry["element"]:
        raise ValueError(f"'{name}' has a different type or shape than the manifest says")
    if _checksum(array) != entry["crc32"]:
        raise ValueError(f"the checksum of '{name}' is wrong")
    if active is None:
        return array
    places = get(f"{name}{_PLACES}")
    if places.dtype != np.int64 or places.shape != (len(array), len(entry["shape"])):
        raise ValueError(f"'{name}' has indices of a different type or shape than the manifest says")
    if _checksum(places) != active["crc32"]:
        raise ValueError(f"the checksum of the indices of '{name}' is wrong")
    return places, array


def _places(holder: Holder, array: Any) -> Any:
    """The indices of the elements of a sparse field that an entry activates."""
    if isinstance(array, tuple):
        return array[0]
    filled = array.reshape(*holder.shape, -1).any(axis=-1)
    return np.argwhere(filled) + np.array(holder.offset, np.int64)


def _check_fit(holder: Holder, entry: Any, manifest: Mapping[str, Any], source: Path) -> None:
    """Raise CheckpointError unless the entry fits the holder."""
    if entry is None:
        there = ", ".join((*manifest["arrays"], *manifest["values"]))
        raise CheckpointError(f"{str(source)!r} has no array '{holder.name}'; it has {there}")
    mine = {
        "dtype": holder.dtype.name,
        "shape": list(holder.shape),
        "element": list(holder.element),
        "offset": list(holder.offset),
    }
    differ = [fact for fact in mine if mine[fact] != entry[fact]]
    if isinstance(holder.owner, np.ndarray):  # its last axes may be those of an element
        differ = [fact for fact in differ if fact == "dtype"]
        if mine["shape"] != entry["shape"] + entry["element"]:
            differ.append("shape")
    if differ:
        raise CheckpointError(
            f"'{holder.name}' does not fit: {str(source)!r} contains {_described(entry)}, but the target is "
            f"{_described(mine)}. ti.load({str(source)!r}) returns the array, which you can convert and pass "
            "to from_numpy"
        )


def _described(facts: Mapping[str, Any]) -> str:
    shape, element, offset = (tuple(facts[fact]) for fact in ("shape", "element", "offset"))
    what = f"elements of shape {element} of " if element else ""
    where = f" from index {offset} on" if any(offset) else ""
    return f"{what}{facts['dtype']}, shape {shape}{where}"


def _nested(arrays: dict[str, Any], entries: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by name, with a dict for each field of structs. The gradient of `x` has the key `x.grad` beside it."""
    made: dict[str, Any] = {}
    for name, array in arrays.items():
        *path, last = _path(name, entries)
        inner = made
        for step in path:
            inner = inner.setdefault(step, {})
        inner[last] = array if isinstance(array, tuple) or array.shape else array[()]
    return made


def _path(name: str, entries: Mapping[str, Any]) -> list[str]:
    """The keys that lead to an array in the result."""
    owner, _, last = name.rpartition(".")
    if owner not in entries:
        return name.split(".")
    *path, owned = owner.split(".")
    return [*path, f"{owned}.{last}"]  # the gradient of `owned`
