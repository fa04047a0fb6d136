"""Packages that parts of Weft use and that are not installed with it.

Each is an extra of Weft: `pip install 'weft[hdf5]'` installs h5py. A package is imported when it is first needed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from weft.ir.errors import WeftError

__all__ = ["EXTRAS", "Extra", "MissingLibrary", "package"]


class MissingLibrary(WeftError, ImportError):
    """A library or program that is not installed with Weft is missing."""


@dataclass(frozen=True)
class Extra:
    """How to install a package."""

    package: str  # its name, as `pip` knows it
    extra: str  # the extra of Weft that installs it
    users: str  # what needs it, for the message


EXTRAS: dict[str, Extra] = {  # by the name that is imported
    "PIL": Extra("pillow", "viz", "images"),
    "anywidget": Extra("anywidget", "notebook", "views in notebooks"),
    "h5py": Extra("h5py", "hdf5", "HDF5 files"),
    "polyscope": Extra("polyscope", "polyscope", "views in Polyscope"),
    "pxr": Extra("usd-core", "usd", "USD files"),
    "rerun": Extra("rerun-sdk", "rerun", "views in Rerun"),
    "traitlets": Extra("anywidget", "notebook", "views in notebooks"),
    "trimesh": Extra("trimesh", "viser", "views in viser"),
    "viser": Extra("viser", "viser", "views in viser"),
    "xarray": Extra("xarray", "xarray", "xarray's data sets"),
    "zarr": Extra("zarr", "zarr", "Zarr files"),
}


def package(module: str) -> Any:
    """Import a module of one of these packages. Raises MissingLibrary, with the command that installs the package, if
    the import fails."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        row = EXTRAS[module.partition(".")[0]]
        raise MissingLibrary(
            f"{row.users} need {row.package}, which is not installed: pip install 'weft[{row.extra}]' ({error})"
        ) from None
