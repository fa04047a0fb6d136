"""Write point clouds and meshes as PLY files, which Houdini and Blender can read."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_one, numbers_of, path_of, shown, text_of

__all__ = ["PLYWriter"]

_TYPES: dict[str, Any] = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "float": np.float32,
    "double": np.float64,
}
_CORNERS = {"tri": 3, "quad": 4}


class PLYWriter:
    r"""Vertices, and faces of `face_type` "tri" or "quad", each with any number of channels. `export*` writes them.
    Raises ValueError for arrays of the wrong length.

    Example:
        writer = ti.tools.PLYWriter(num_vertices=3, num_faces=1)
        writer.add_vertex_pos(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3))
        writer.add_vertex_color(np.ones(3), np.zeros(3), np.zeros(3))
        writer.add_faces(np.array([0, 1, 2]))
        writer.export_ascii("triangle.ply")
        open("triangle.ply").readline()  # 'ply\n'
    """

    def __init__(self, num_vertices: Any, num_faces: Any = 0, face_type: Any = "tri", comment: str = "") -> None:
        if not all(isinstance(count, int | np.integer) for count in (num_vertices, num_faces)):
            raise TypeMismatch(f"PLYWriter takes numbers of vertices and faces, not {num_vertices!r}, {num_faces!r}")
        if num_vertices <= 0 or num_faces < 0 or not is_one(face_type, _CORNERS):
            raise ValueError("a PLY file must have at least one vertex, and faces of type 'tri' or 'quad'")
        self.num_vertices, self.num_faces, self.face_type = int(num_vertices), int(num_faces), str(face_type)
        if not text_of(comment, "a comment").isascii() or len(comment.splitlines()) > 1:
            raise ValueError(f"a comment of a PLY file must be one line of ASCII, not {comment!r}")
        self.comment = comment or "written by weft"
        self._vertices: dict[str, tuple[str, Any]] = {}
        self._faces: dict[str, tuple[str, Any]] = {}
        self._corners: Any = None

    # ---- channels

    def add_vertex_channel(self, key: str, data_type: str, data: Any) -> None:
        """Add a number per vertex. `data_type` is a C name such as "float". A type that PLY does not have is left out,
        with a warning."""
        _keep(self._vertices, key, data_type, data, self.num_vertices)

    def add_face_channel(self, key: str, data_type: str, data: Any) -> None:
        """Add a number per face, like `add_vertex_channel`."""
        _keep(self._faces, key, data_type, data, self.num_faces)

    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> None:
        """Add the positions of the vertices: three arrays, one number for each vertex."""
        self._add(("x", "y", "z"), (x, y, z))

    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> None:
        """Add the normals of the surface: three arrays, one number for each vertex."""
        self._add(("nx", "ny", "nz"), (nx, ny, nz))

    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> None:
        """Add the velocities of the vertices: three arrays, one number for each vertex."""
        self._add(("vx", "vy", "vz"), (vx, vy, vz))

    def add_vertex_color(self, r: Any, g: Any, b: Any) -> None:
        """Add red, green and blue: floats in [0, 1], or u8."""
        for key, part in zip(("red", "green", "blue"), (r, g, b)):
            self._add_color(key, part)

    def add_vertex_alpha(self, alpha: Any) -> None:
        """Add the opacity: floats in [0, 1], or u8."""
        self._add_color("Alpha", alpha)

    def add_vertex_rgba(self, r: Any, g: Any, b: Any, alpha: Any) -> None:
        """Add colours with opacity: four arrays of floats in [0, 1], or of u8."""
        self.add_vertex_color(r, g, b)
        self.add_vertex_alpha(alpha)

    def add_vertex_color_uchar(self, r: Any, g: Any, b: Any) -> None:
        """Add colours in 0 .. 255: three arrays, one number for each vertex."""
        for key, part in zip(("red", "green", "blue"), (r, g, b)):
            self.add_vertex_channel(key, "uchar", part)

    def add_vertex_id(self) -> None:
        """Add the number of each vertex, from 0 on, as the channel `id`."""
        self.add_vertex_channel("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: Any) -> None:
        """Add the group of each vertex, a whole number, as the channel `piece`."""
        self.add_vertex_channel("piece", "int", piece)

    def add_faces(self, indices: Any) -> None:
        """Add the vertices of each face, one face after the other."""
        corners = numbers_of(indices, "the corners of faces").reshape(-1)
        if corners.size != self.num_faces * _CORNERS[self.face_type]:
            raise ValueError(
                f"the number of corners, {corners.size}, does not match {self.num_faces} faces of type {self.face_type}"
            )
        sound = (corners >= 0) & (corners < self.num_vertices) & (corners == np.floor(corners))
        if not sound.all():
            raise ValueError(f"there are {self.num_vertices} vertices, so there is no vertex {corners[~sound][0]}")
        self._corners = corners.astype(np.int32).reshape(-1, _CORNERS[self.face_type])

    def add_face_id(self) -> None:
        """Add the number of each face, from 0 on, as the channel `id`."""
        self.add_face_channel("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: Any) -> None:
        """Add the group of each face, a whole number, as the channel `piece`."""
        self.add_face_channel("piece", "int", piece)

    def _add(self, keys: tuple[str, ...], parts: tuple[Any, ...]) -> None:
        for key, part in zip(keys, parts, strict=True):
            self.add_vertex_channel(key, "double" if _numbers(part).dtype == np.float64 else "float", part)

    def _add_color(self, key: str, part: Any) -> None:
        kind = _numbers(part).dtype
        self.add_vertex_channel(key, "uchar" if kind == np.uint8 else "double" if kind == np.float64 else "float", part)

    # ---- files

    def export(self, path: Any) -> None:
        """Write a binary file to `path`, which PLY readers open."""
        order = "<" if sys.byteorder == "little" else ">"
        kind = [(key, np.dtype(_TYPES[name]).newbyteorder(order)) for key, (name, _) in self._vertices.items()]
        vertices = np.empty(self.num_vertices, kind)
        for key, (_, data) in self._vertices.items():
            vertices[key] = data
        content = vertices.tobytes()
        if self._corners is not None:
            count = self._corners.shape[1]
            fields: list[Any] = [("n", "u1"), ("corners", f"{order}i4", (count,))]
            fields += [(key, np.dtype(_TYPES[name]).newbyteorder(order)) for key, (name, _) in self._faces.items()]
            faces = np.empty(self.num_faces, fields)
            faces["n"], faces["corners"] = count, self._corners
            for key, (_, data) in self._faces.items():
                faces[key] = data
            content += faces.tobytes()
        Path(path_of(path, "PLYWriter")).write_bytes(self._header(f"binary_{sys.byteorder}_endian").encode() + content)

    def export_ascii(self, path: Any) -> None:
        """Write a text file to `path`, which people can read."""
        columns = [data.tolist() for _, data in self._vertices.values()]
        lines = [" ".join(map(str, row)) for row in zip(*columns)]
        if self._corners is not None:
            extras = [data.tolist() for _, data in self._faces.values()]
            for number, corners in enumerate(self._corners.tolist()):
                row = [len(corners), *corners, *(extra[number] for extra in extras)]
                lines.append(" ".join(map(str, row)))
        Path(path_of(path, "PLYWriter")).write_text(
            self._header("ascii") + "\n".join(lines) + "\n", encoding="ascii", newline="\n"
        )

    def export_frame(self, series_num: Any, path: Any) -> None:
        """Write a binary file of a series: `name.ply` becomes `name_000012.ply`."""
        self.export(_numbered(series_num, path))

    def export_frame_ascii(self, series_num: Any, path: Any) -> None:
        """Write a text file of a series: `name.ply` becomes `name_000012.ply`."""
        self.export_ascii(_numbered(series_num, path))

    def print_header(self) -> None:
        """Print the header of a text file."""
        print(self._header("ascii"), end="")

    def sanity_check(self) -> None:
        """Raise ValueError if the data lack something that a file must have."""
        self._header("ascii")

    def _header(self, form: str) -> str:
        if self.num_faces and self._corners is None:
            raise ValueError(f"the {self.num_faces} faces are missing: call add_faces first")
        if not {"x", "y", "z"} <= set(self._vertices):
            raise ValueError("the vertices have no positions: call add_vertex_pos first")
        lines = ["ply", f"format {form} 1.0", f"comment {self.comment}", f"element vertex {self.num_vertices}"]
        lines += [f"property {name} {key}" for key, (name, _) in self._vertices.items()]
        if self._corners is not None:
            lines += [f"element face {self.num_faces}", "property list uchar int vertex_indices"]
            lines += [f"property {name} {key}" for key, (name, _) in self._faces.items()]
        return "\n".join([*lines, "end_header"]) + "\n"


def _keep(channels: dict[str, tuple[str, Any]], key: str, data_type: str, data: Any, count: int) -> None:
    if not text_of(key, "the name of a channel").isascii() or key.split() != [key]:
        raise ValueError(f"the name of a channel must be one word of ASCII, not {key!r}")
    if text_of(data_type, "the type of a channel") not in _TYPES:
        text = f"channel '{key}' is left out: its type must be one of {', '.join(_TYPES)}, not {data_type}"
        warnings.warn(text, stacklevel=3)
        return
    array = _numbers(data).reshape(-1)
    if array.size != count:
        raise ValueError(f"expected {count} numbers, one for each, not {array.size}")
    kind = np.dtype(_TYPES[data_type])
    if kind.kind != "f":
        limits = np.iinfo(kind)
        sound = (array > limits.min - 1) & (array < limits.max + 1)
        if not sound.all():
            raise ValueError(f"channel '{key}' has {array[~sound][0]}, which does not fit {data_type}")
    channels[key] = data_type, array.astype(kind)


def _numbers(data: Any) -> Any:
    return numbers_of(data, "a channel of a PLY file")


def _numbered(number: Any, path: Any) -> str:
    if not isinstance(number, int | np.integer) or number < 0:
        raise TypeMismatch(f"the number of a frame must be an integer of at least 0, not {shown(number)}")
    place = Path(path_of(path, "PLYWriter"))
    suffix = place.suffix or ".ply"
    return str(place.with_name(f"{place.stem}_{number:06d}{suffix}"))
