"""Write fields as files for ParaView and VisIt, in VTK's XML format of rectilinear grids (.vtr), without a library."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from weft.lang.arguments import numbers_of, path_of

__all__ = ["write_vtk"]

_TYPES = {"f": "Float", "i": "Int", "u": "UInt"}


def write_vtk(scalar_field: Any, filename: str) -> str:
    """Write a field of numbers with two or three axes to `filename.vtr`. Returns that path.

    Element (i, j, k) is the value of the cell between the points (i, j, k) and (i + 1, j + 1, k + 1). A field with two
    axes is one cell deep. The array in the file has the name `filename`, without folders. Raises ValueError for another
    number of axes and for a field of vectors, TypeError for a number type that VTK does not have (f16, u1).

    Example:
        density = ti.field(ti.f32, (4, 4, 4))
        ti.tools.write_vtk(density, "density")  # 'density.vtr'
    """
    filename = path_of(filename, "write_vtk")
    array = numbers_of(scalar_field, "the field of write_vtk")
    if array.ndim not in (2, 3) or not array.size or getattr(scalar_field, "n", 1) != 1:
        raise ValueError(f"write_vtk takes a field of numbers with 2 or 3 axes, not an array of shape {array.shape}")
    if array.dtype.kind not in _TYPES or array.dtype == np.float16:
        raise TypeError(f"VTK has no numbers of type {array.dtype}")
    path = Path(filename if filename.endswith(".vtr") else f"{filename}.vtr")
    box = array if array.ndim == 3 else array[:, :, None]
    extent = " ".join(f"0 {cells}" for cells in box.shape)
    axes = "".join(_data(name, np.arange(n + 1, dtype=np.float32)) for name, n in zip("xyz", box.shape))
    values = _data(path.stem, box.ravel(order="F"))  # x fastest
    name = quoteattr(path.stem)
    text = (
        '<?xml version="1.0"?>\n'
        '<VTKFile type="RectilinearGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        f'<RectilinearGrid WholeExtent="{extent}">\n<Piece Extent="{extent}">\n'
        f"<Coordinates>\n{axes}</Coordinates>\n<CellData Scalars={name}>\n{values}</CellData>\n"
        "</Piece>\n</RectilinearGrid>\n</VTKFile>\n"
    )
    path.write_text(text, encoding="utf-8")
    return str(path)


def _data(name: str, values: Any) -> str:
    """Return a data array: its length in bytes, then its numbers, in base 64."""
    small = values.astype(values.dtype.newbyteorder("<"))
    content = base64.b64encode(np.uint64(small.nbytes).astype("<u8").tobytes() + small.tobytes()).decode()
    kind = f"{_TYPES[values.dtype.kind]}{values.dtype.itemsize * 8}"
    return f'<DataArray type="{kind}" Name={quoteattr(name)} format="binary">{content}</DataArray>\n'
