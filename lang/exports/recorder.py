"""`ti.Recorder`: the frames of a simulation as a series of files.

The table `_KINDS` has a row for each ending of a name: what such files can have, and the class of the series. A series
is either a file for each frame, or one file with all frames."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import number_of, path_of, shown, whole_of
from weft.lang.exports.frames import (
    Frame,
    Geometry,
    Grid,
    Mesh,
    Picture,
    Points,
    grid_of,
    mesh_of,
    picture_of,
    points_of,
)
from weft.lang.exports.vtk_files import read_pvd, write_pvd
from weft.lang.ui.image_order import order_of

__all__ = ["Recorder"]


class Series(Protocol):
    """Files that are written frame by frame."""

    def write(self, time: float, frame: Any) -> list[Path]:
        """Write the next frame. Returns the files that have it, or will have it."""
        ...

    def close(self) -> None:
        """Write what was not written yet. More frames may follow."""
        ...


@dataclass(frozen=True)
class _Settings:
    """What a recorder is told of its files."""

    path: Path
    first: int  # the number of the first frame; those before it are kept
    fps: float
    depth_range: tuple[float, float]


@dataclass(frozen=True)
class _Kind:
    """One ending of a name."""

    takes: tuple[type, ...]  # the frames that such files can have
    open: Callable[[_Settings], Series]


class _NumberedFiles:
    """A file for each frame, `name_000012.vti` and so on, and with `indexed` the list of them in `name.pvd`."""

    def __init__(self, settings: _Settings, write: Callable[[Path, Any], None], indexed: bool) -> None:
        self._path, self._number, self._write = settings.path, settings.first, write
        self._index = settings.path.with_suffix(".pvd") if indexed else None
        self._frames: list[tuple[float, str]] = []
        if self._index is not None and settings.first:
            self._frames = read_pvd(self._index)[: settings.first]
            if len(self._frames) < settings.first:
                raise ValueError(
                    f"{str(self._index)!r} has {len(self._frames)} frames, so the series cannot continue at "
                    f"number {settings.first}"
                )

    def write(self, time: float, frame: Any) -> list[Path]:
        """Write the next file, then the list."""
        path = self._path.with_name(f"{self._path.stem}_{self._number:06d}{self._path.suffix}")
        self._write(path, frame)
        self._number += 1
        if self._index is not None:
            self._frames.append((time, path.name))
            write_pvd(self._index, self._frames)
        return [path, *([] if self._index is None else [self._index])]

    def close(self) -> None:
        """Do nothing: each frame is in its file."""


def _numbered(module: str, writer: str, indexed: bool = False) -> Callable[[_Settings], Series]:
    def opened(settings: _Settings) -> Series:
        write = getattr(import_module(f"weft.lang.exports.{module}"), writer)
        if writer == "write_png":
            write = partial(write, depth_range=settings.depth_range)
        return _NumberedFiles(settings, write, indexed)

    return opened


def _vtkhdf(settings: _Settings) -> Series:
    from weft.lang.exports.vtkhdf_files import VtkHdf

    return VtkHdf(settings.path, settings.first)


def _usd(settings: _Settings) -> Series:
    from weft.lang.exports.usd_files import Usd

    return Usd(settings.path, settings.first, settings.fps)


_KINDS: dict[str, _Kind] = {
    ".vti": _Kind((Grid,), _numbered("vtk_files", "write_vti", indexed=True)),
    ".vtp": _Kind((Points, Mesh), _numbered("vtk_files", "write_vtp", indexed=True)),
    ".vtkhdf": _Kind((Grid, Points, Mesh), _vtkhdf),
    ".ply": _Kind((Points, Mesh), _numbered("ply_files", "write_ply")),
    ".png": _Kind((Picture,), _numbered("png_files", "write_png")),
    **dict.fromkeys((".usd", ".usda", ".usdc"), _Kind((Points, Mesh), _usd)),
}

_CALLS: dict[type, str] = {Grid: "grid", Points: "points", Mesh: "mesh", Picture: "image"}


class Recorder:
    """Writes the frames of a simulation for other programs: `recorder = ti.Recorder("out/waves.vti")`, then in each
    frame `recorder.grid(height=height, time=t)`.

    The ending of `path` selects the files:

    - `.vti`: a grid for each frame, for ParaView, with the list `out/waves.pvd`.
    - `.vtp`: points or a mesh for each frame, for ParaView, with such a list.
    - `.vtkhdf`: one file with grids, points or meshes of all frames, for ParaView (`pip install 'weft[hdf5]'`).
    - `.usd`, `.usdc`, `.usda`: one file with points or meshes of all frames, for Blender and others
      (`pip install 'weft[usd]'`).
    - `.ply`: points or a mesh for each frame, for Blender and Houdini.
    - `.png`: a picture for each frame, and its depth (`pip install 'weft[viz]'`).

    `origin` and `spacing` place grids: a number for all axes, or one for each. With `at="cells"`, the default, an
    element is a cell and `origin` is the lower corner of the first cell; with "points", elements are corners of cells.
    `first` is the number of the first frame. The frames before it are kept, so a simulation that continues from a
    checkpoint at frame n continues its recording with `first=n`. `fps` is for USD, and for frames without a time.
    `depth_range` has the depths that become black and white in pictures of depth.

    Example:
        height = ti.field(ti.f32, (8, 8))
        recorder = ti.Recorder("waves.vti", spacing=0.1)
        for frame in range(3):
            height.fill(frame)
            recorder.grid(height=height, time=0.1 * frame)
        recorder.close()
        [path.name for path in recorder.files][:2]  # ['waves_000000.vti', 'waves.pvd']
    """

    def __init__(
        self,
        path: Any,
        *,
        origin: Any = 0.0,
        spacing: Any = 1.0,
        at: str = "cells",
        first: int = 0,
        fps: float = 24.0,
        depth_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.path = Path(path_of(path, "ti.Recorder"))
        ending = self.path.suffix.lower()
        if ending not in _KINDS:
            raise ValueError(f"the name of a recording must end in {', '.join(_KINDS)}, unlike {str(self.path)!r}")
        self._kind, self._geometry = _KINDS[ending], Geometry.of(origin, spacing, at)
        self._fps = number_of(fps, "the number of frames per second", 0, above=True)
        self.number: int = whole_of(first, "the number of the first frame", 0)
        self._files: dict[Path, None] = {}
        self._series = self._kind.open(_Settings(self.path, self.number, self._fps, _range_of(depth_range)))
        weakref.finalize(self, self._series.close)

    number: int  # of the next frame

    @property
    def files(self) -> list[Path]:
        """The paths of all files that were written so far."""
        return list(self._files)

    def close(self) -> None:
        """Write what was not written yet: a `.usd` file may lack up to a ninth of its frames until then. The end of a
        `with` block, the end of the program, and the deletion of the recorder do it too. More frames may follow."""
        self._series.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def grid(self, values: Any = None, /, *, time: Any = None, **named: Any) -> None:
        """Write a frame with fields or arrays of one shape, of one to three axes: `grid(height=height, time=t)`. Axis 0
        is x. A field without a name has the name of the file. `time` is `number / fps` by default."""
        if values is not None:
            named = {self.path.stem: values, **named}
        self._write(time, Grid, lambda: grid_of(named, self._geometry))

    def points(self, positions: Any, /, *, time: Any = None, **channels: Any) -> None:
        """Write a frame with points at the vectors of `positions`. Each further field or array has a value for each
        point: `points(x, speed=v)`. `color` (floats in [0, 1], or u8) and `radius` have their meaning in PLY and
        USD."""
        self._write(time, Points, lambda: points_of(positions, channels))

    def mesh(self, vertices: Any, faces: Any, /, *, time: Any = None, **channels: Any) -> None:
        """Write a frame with a mesh. `faces` has the 3 or 4 vertices of each face, or is a list of corners of triangles
        as `ti.ui` takes it. Each further field or array has a value for each vertex."""
        self._write(time, Mesh, lambda: mesh_of(vertices, faces, channels))

    def image(self, pixels: Any, depth: Any = None, *, time: Any = None, order: Any = None) -> None:
        """Write a frame with a picture, as `ti.tools.imwrite` takes it, also as to `order`. `depth` has a number for
        each pixel. It is written beside the picture, as `name_000012.depth.png`: 16 bits of grey over
        `depth_range`."""
        self._write(time, Picture, lambda: picture_of(pixels, depth, order_of(order, pixels, "Recorder.image")))

    def _write(self, time: Any, kind: type, make: Callable[[], Frame]) -> None:
        if kind not in self._kind.takes:
            calls = " and ".join(_CALLS[one] for one in self._kind.takes)
            others = ", ".join(ending for ending, row in _KINDS.items() if kind in row.takes)
            raise TypeMismatch(
                f"a {self.path.suffix} file supports {calls}, not {_CALLS[kind]}; use {others} for {_CALLS[kind]}"
            )
        when = self.number / self._fps if time is None else number_of(time, "the time of a frame")
        self._files.update(dict.fromkeys(self._series.write(when, make())))
        self.number += 1


def _range_of(given: Any) -> tuple[float, float]:
    try:
        low, high = (number_of(one, "a depth") for one in given)
    except (TypeError, ValueError):
        raise TypeMismatch(
            f"depth_range must be two numbers, the depths of black and of white, not {shown(given)}"
        ) from None
    if low >= high:
        raise ValueError(f"the first number of depth_range must be smaller than the second, unlike {shown(given)}")
    return low, high
