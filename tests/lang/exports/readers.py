"""Readers of other programs, and one of our own where they are missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

__all__ = ["arrays_of", "hdf_steps", "vtk_data", "xml_arrays"]

READERS = {".vti": "vtkXMLImageDataReader", ".vtp": "vtkXMLPolyDataReader", ".ply": "vtkPLYReader"}


def xml_arrays(path: Path) -> tuple[ElementTree.Element, dict[str, Any]]:
    """The XML of a file of VTK, and its arrays by name, read by its specification."""
    head, _, rest = path.read_bytes().partition(b'<AppendedData encoding="raw">\n_')
    root = ElementTree.fromstring(head + b"</VTKFile>")
    found: dict[str, Any] = {}
    for one in root.iter("DataArray"):
        match = re.fullmatch(r"(Float|Int|UInt)(\d+)", one.attrib["type"])
        assert match
        start = int(one.attrib["offset"])
        size = int(np.frombuffer(rest, np.uint64, 1, start)[0])
        kind = np.dtype(f"{match[1][0].lower()}{int(match[2]) // 8}")
        array = np.frombuffer(rest, kind, size // kind.itemsize, start + 8)
        parts = int(one.attrib.get("NumberOfComponents", 1))
        found[one.attrib["Name"]] = array.reshape(-1, parts) if parts > 1 else array
    return root, found


def vtk_data(path: str) -> Any:
    """What VTK reads of a file."""
    import vtk

    reader = getattr(vtk, READERS[Path(path).suffix])()
    reader.SetFileName(path)
    reader.Update()
    assert reader.GetErrorCode() == 0
    return reader.GetOutput()


def arrays_of(attributes: Any) -> dict[str, Any]:
    """The arrays of the point data or cell data of a data set of VTK."""
    from vtk.util.numpy_support import vtk_to_numpy

    return {
        attributes.GetArrayName(k): vtk_to_numpy(attributes.GetArray(k)) for k in range(attributes.GetNumberOfArrays())
    }


def hdf_steps(path: str) -> list[tuple[float, Any]]:
    """(time, data set) of all steps of a .vtkhdf file."""
    import vtk

    reader = vtk.vtkHDFReader()
    reader.SetFileName(path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    steps: list[tuple[float, Any]] = []
    for number, time in enumerate(times):
        reader.SetStep(number)
        reader.Update()
        data = reader.GetOutputDataObject(0)
        copy = data.NewInstance()
        copy.DeepCopy(data)
        steps.append((time, copy))
    return steps
