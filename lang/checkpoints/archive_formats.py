"""The kinds of files that checkpoints are written to: arrays by name, in an npz, Zarr or HDF5 file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.lang.extras import package

__all__ = ["FORMATS", "Format", "Get", "Put"]

Put = Callable[[str, Any], None]  # writes an array of that name
Get = Callable[[str], Any]  # reads the array of that name; raises KeyError if there is none


@dataclass(frozen=True)
class Format:
    """How to write and how to read one kind of file."""

    writing: Callable[[Path], AbstractContextManager[Put]]
    reading: Callable[[Path], AbstractContextManager[Get]]


@contextmanager
def _writing_npz(path: Path) -> Generator[Put, None, None]:
    with zipfile.ZipFile(path, "w") as archive:

        def put(name: str, array: Any) -> None:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)

        yield put


@contextmanager
def _reading_npz(path: Path) -> Generator[Get, None, None]:
    with zipfile.ZipFile(path) as archive:

        def get(name: str) -> Any:
            with archive.open(f"{name}.npy") as member:
                return np.lib.format.read_array(member, allow_pickle=False)

        yield get


@contextmanager
def _writing_hdf5(path: Path) -> Generator[Put, None, None]:
    h5py = package("h5py")
    try:
        with h5py.File(path, "w") as file:
            yield lambda name, array: _put_hdf5(file, name, array)
    except RuntimeError as error:  # what h5py raises where a file cannot be closed, perhaps after an OSError
        before = error.__context__
        raise (before if isinstance(before, OSError) else OSError(f"HDF5: {error}")) from error


def _put_hdf5(file: Any, name: str, array: Any) -> None:
    file.create_dataset(name, data=array)


@contextmanager
def _reading_hdf5(path: Path) -> Generator[Get, None, None]:
    with package("h5py").File(path, "r") as file:
        yield lambda name: file[name][()]


@contextmanager
def _writing_zarr(path: Path) -> Generator[Put, None, None]:
    group = package("zarr").open_group(str(path), mode="w")
    files: dict[str, str] = {}

    def put(name: str, array: Any) -> None:
        other = files.setdefault(name.lower(), name)
        if other != name:  # an array is a folder, and some file systems ignore case
            raise OSError(
                f"names in a Zarr file must differ in more than upper and lower case, but '{other}' and '{name}' do not"
            )
        group.empty(name=name, shape=array.shape, dtype=array.dtype)[...] = array

    yield put


@contextmanager
def _reading_zarr(path: Path) -> Generator[Get, None, None]:
    group = package("zarr").open_group(str(path), mode="r")
    yield lambda name: np.asarray(group[name][...])


FORMATS: dict[str, Format] = {  # by the ending of a name
    ".npz": Format(_writing_npz, _reading_npz),
    ".zarr": Format(_writing_zarr, _reading_zarr),
    ".h5": Format(_writing_hdf5, _reading_hdf5),
    ".hdf5": Format(_writing_hdf5, _reading_hdf5),
}
