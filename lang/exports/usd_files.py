"""Points and meshes as a USD stage with a sample for each frame (.usd, .usdc, .usda). Blender, Houdini, Maya and
Omniverse read it. The package usd-core writes it."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Any

import numpy as np

from weft.lang.atomic_files import replacing
from weft.lang.exports.frames import Mesh, Points
from weft.lang.extras import package

__all__ = ["Usd"]

_ROOT = "/World"
_BASES = {  # numpy's types: the names of USD's types, and the type that the numbers are cast to, without loss
    **dict.fromkeys(("int8", "int16", "uint16", "int32"), ("Int", np.int32)),
    "uint8": ("UChar", np.uint8),
    "uint32": ("UInt", np.uint32),
    "int64": ("Int64", np.int64),
    "uint64": ("UInt64", np.uint64),
    "float32": ("Float", np.float32),
    "float64": ("Double", np.float64),
}


_SHARE = 8  # a file is written again when the frames that it lacks are more than this part of it


class Usd:
    """A series in the file `path`, which begins with its first `first` frames if it exists. Raises ValueError if it has
    fewer.

    USD adds to a file in place, and a process that is killed meanwhile leaves a file that cannot be read. So the file
    is always written as a whole, and replaced. It is not written for each frame, because that would take time
    quadratic in the number of frames."""

    def __init__(self, path: Path, first: int, fps: float) -> None:
        self._sdf, self._usd, self._geometry, self._vt, self._tf = (
            package(f"pxr.{name}") for name in ("Sdf", "Usd", "UsdGeom", "Vt", "Tf")
        )
        self._path, self._number = path, first
        self._saved = first  # the number of frames in the file
        self._faces: Any = None  # those of the frame before
        self._stage = self._continued(first) if first else self._usd.Stage.CreateInMemory()
        self._geometry.SetStageUpAxis(self._stage, self._geometry.Tokens.y)
        self._geometry.SetStageMetersPerUnit(self._stage, 1.0)
        self._stage.SetTimeCodesPerSecond(fps)
        self._stage.SetFramesPerSecond(fps)
        self._stage.SetDefaultPrim(self._geometry.Xform.Define(self._stage, _ROOT).GetPrim())

    def write(self, time: float, frame: Points) -> list[Path]:
        """Add a frame. Its time code is its number; its time is in the attribute `weft:time`."""
        code = self._usd.TimeCode(self._number)
        prim = self._mesh(frame, code) if isinstance(frame, Mesh) else self._points(frame, code)
        prim.GetPointsAttr().Set(self._vectors(frame.positions.astype(np.float32)), code)
        bounds = np.stack([frame.positions.min(0), frame.positions.max(0)]).astype(np.float32)
        prim.GetExtentAttr().Set(self._vectors(bounds), code)
        for name, array in frame.channels.items():
            self._add_channel(prim, name, array, code)
        seconds = prim.GetPrim().CreateAttribute("weft:time", self._sdf.ValueTypeNames.Double, True)
        seconds.Set(time, code)
        self._stage.SetStartTimeCode(0)
        self._stage.SetEndTimeCode(self._number)
        self._number += 1
        if self._number - self._saved > self._saved // _SHARE:
            self.close()
        return [self._path]

    def close(self) -> None:
        """Write the frames that the file does not have yet."""
        if self._saved == self._number:
            return
        with replacing(self._path) as new:
            try:
                self._stage.GetRootLayer().Export(str(new))
            except self._tf.ErrorException as error:
                reasons = re.findall(r": '(.*)'", str(error)) or [str(error)]
                raise OSError(errno.EIO, reasons[0]) from error
        self._saved = self._number

    def _continued(self, first: int) -> Any:
        """A stage in memory with the first frames of the file."""
        source = self._sdf.Layer.FindOrOpen(str(self._path))
        if source is None:
            raise FileNotFoundError(2, "the recording to continue does not exist", str(self._path))
        source.Reload(True)  # this process may have an older state of the file in memory
        stage = self._usd.Stage.CreateInMemory()
        stage.GetRootLayer().TransferContent(source)
        frames = int(stage.GetEndTimeCode()) + 1
        if frames < first:
            raise ValueError(
                f"{str(self._path)!r} has {frames} frames, so the series cannot continue at number {first}"
            )
        for prim in stage.Traverse():
            for attribute in prim.GetAttributes():
                for code in attribute.GetTimeSamples():
                    if code >= first:
                        attribute.ClearAtTime(code)
        return stage

    def _points(self, frame: Points, code: Any) -> Any:
        prim = self._geometry.Points.Define(self._stage, f"{_ROOT}/points")
        if "radius" in frame.channels and not frame.element("radius"):
            widths = 2 * frame.channels["radius"].astype(np.float32)
            prim.GetWidthsAttr().Set(self._vt.FloatArray.FromNumpy(widths), code)
        return prim

    def _mesh(self, frame: Mesh, code: Any) -> Any:
        prim = self._geometry.Mesh.Define(self._stage, f"{_ROOT}/mesh")
        if self._faces is None or not np.array_equal(self._faces, frame.faces):
            self._faces = frame.faces
            counts = np.full(len(frame.faces), frame.faces.shape[1], np.int32)
            prim.GetFaceVertexCountsAttr().Set(self._vt.IntArray.FromNumpy(counts), code)
            prim.GetFaceVertexIndicesAttr().Set(self._vt.IntArray.FromNumpy(frame.faces.ravel()), code)
            prim.GetSubdivisionSchemeAttr().Set(self._geometry.Tokens.none)
        return prim

    def _vectors(self, array: Any) -> Any:
        return self._vt.Vec3fArray.FromNumpy(np.ascontiguousarray(array))

    def _add_channel(self, prim: Any, name: str, array: Any, code: Any) -> None:
        if name == "color" and array.shape[1:] in ((3,), (4,)):
            floats = array.astype(np.float32) / np.float32(255 if array.dtype == np.uint8 else 1)
            prim.GetDisplayColorPrimvar().SetInterpolation(self._geometry.Tokens.vertex)
            prim.GetDisplayColorAttr().Set(self._vectors(floats[:, :3]), code)
            if array.shape[1] == 4:
                prim.GetDisplayOpacityPrimvar().SetInterpolation(self._geometry.Tokens.vertex)
                opacities = np.ascontiguousarray(floats[:, 3])
                prim.GetDisplayOpacityAttr().Set(self._vt.FloatArray.FromNumpy(opacities), code)
            return
        base, dtype = _BASES[array.dtype.name]
        path = ":".join(self._tf.MakeValidIdentifier(part) for part in name.split("."))
        vector = array.dtype.kind == "f" and array.shape[1:] in ((2,), (3,), (4,))
        count = array.shape[1] if vector else 0
        kind, made = (
            (f"{base}{count}Array", f"Vec{count}{base[0].lower()}Array") if vector else (f"{base}Array", f"{base}Array")
        )
        flat = np.ascontiguousarray(array if vector else array.reshape(-1), dtype)
        variable = self._geometry.PrimvarsAPI(prim).CreatePrimvar(
            path, getattr(self._sdf.ValueTypeNames, kind), self._geometry.Tokens.vertex
        )
        if not vector and array.size != len(array):
            variable.SetElementSize(array.size // len(array))
        variable.Set(getattr(self._vt, made).FromNumpy(flat), code)
