"""`ti.Recorder`: what it writes is what the readers of other programs read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.lang.exports.readers import arrays_of, hdf_steps, vtk_data, xml_arrays
from tests.packages import needs, with_package
from weft.lang.exports.vtk_files import read_pvd

RANDOM = np.random.default_rng(7)


def filled(field: Any) -> Any:
    """The field, with numbers in it."""
    shape, kind = field.to_numpy().shape, field.to_numpy().dtype
    field.from_numpy((RANDOM.random(shape) * 100).astype(kind))
    return field


GRIDS = [(5,), (4, 3), (2, 3, 4)]


def grid(shape: tuple[int, ...]) -> dict[str, Any]:
    """Fields of that shape, of each kind."""
    return {
        "heat": filled(ti.field(ti.f32, shape)),
        "half": filled(ti.field(ti.f16, shape)),
        "big": filled(ti.field(ti.i64, shape)),
        "flag": filled(ti.field(ti.u1, shape)),
        "flow": filled(ti.Vector.field(len(shape), ti.f64, shape)),
        "strain": filled(ti.Matrix.field(2, 2, ti.f32, shape)),
        "plain": RANDOM.random(shape),
    }


def wanted(fields: dict[str, Any], axes: int) -> dict[str, Any]:
    """The numbers of these fields as VTK has them: x fastest, vectors of three."""
    made: dict[str, Any] = {}
    for name, field in fields.items():
        array = field if isinstance(field, np.ndarray) else field.to_numpy()
        array = array.astype({"half": np.float32, "flag": np.uint8}.get(name, array.dtype))
        inner = array.shape[axes:]
        rows = np.stack(
            [array[i].reshape(inner) for i in sorted(np.ndindex(array.shape[:axes]), key=lambda i: i[::-1])]
        )
        if inner == (2,):
            rows = np.concatenate([rows, np.zeros((len(rows), 1), rows.dtype)], 1)
        if inner == (2, 2):
            rows = np.stack([np.block([[row, np.zeros((2, 1))], [np.zeros((1, 3))]]).ravel() for row in rows])
        made[name] = rows.reshape(len(rows), -1).squeeze(1) if inner in ((), (1,)) else rows.reshape(len(rows), -1)
    return made


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.array_equal(found[name], array), name
        assert found[name].dtype.kind == array.dtype.kind


@pytest.mark.parametrize("shape", GRIDS)
@pytest.mark.parametrize("at", ["cells", "points"])
def test_grids_as_xml(shape: tuple[int, ...], at: str) -> None:
    recorder, fields = ti.Recorder("out/a.vti", origin=1, spacing=(0.5, 2)[: len(shape)], at=at), grid(shape)
    recorder.grid(**fields)
    root, found = xml_arrays(Path("out/a_000000.vti"))
    same(found, wanted(fields, len(shape)))
    cells = [n - (at == "points") for n in shape] + [0] * (3 - len(shape))
    image = root[0]
    assert image.attrib["WholeExtent"] == " ".join(f"0 {n}" for n in cells)
    assert image.attrib["Origin"] == "1.0 1.0 1.0"
    assert image.attrib["Spacing"].startswith("0.5")


@needs("vtk")
@pytest.mark.parametrize("shape", GRIDS)
@pytest.mark.parametrize("at", ["cells", "points"])
@pytest.mark.parametrize("ending", [".vti", with_package(".vtkhdf", "h5py")])
def test_vtk_reads_grids(shape: tuple[int, ...], at: str, ending: str) -> None:
    recorder = ti.Recorder(f"a{ending}", origin=(1, 2, 3), spacing=0.5, at=at)
    frames = [grid(shape), grid(shape)]
    for number, fields in enumerate(frames):
        recorder.grid(**fields, time=0.25 * number)
    if ending == ".vti":
        images = [(time, vtk_data(file)) for time, file in read_pvd("a.pvd")]
    else:
        images = hdf_steps("a.vtkhdf")
    assert [time for time, _ in images] == [0, 0.25]
    for (_, image), fields in zip(images, frames):
        same(arrays_of(image.GetCellData() if at == "cells" else image.GetPointData()), wanted(fields, len(shape)))
        assert image.GetOrigin() == (1, 2, 3)
        assert image.GetSpacing() == (0.5, 0.5, 0.5)
        corners = [n + (at == "cells") for n in shape] + [1] * (3 - len(shape))
        assert image.GetDimensions() == tuple(corners)


def test_the_offset_of_a_field_moves_the_grid() -> None:
    recorder = ti.Recorder("a.vti", origin=(10, 20), spacing=2)
    recorder.grid(ti.field(ti.f32, (4, 4), offset=(-1, 3)))
    root, found = xml_arrays(Path("a_000000.vti"))
    assert root[0].attrib["Origin"] == "8.0 26.0 0.0"
    assert list(found) == ["a"]


def test_structs_become_arrays() -> None:
    cell = ti.types.struct(speed=ti.math.vec3, inner=ti.types.struct(mass=ti.f32))
    recorder, field = ti.Recorder("a.vti"), cell.field(shape=(3, 4))
    recorder.grid(cell=field, array=ti.ndarray(ti.math.vec2, (3, 4)))
    assert sorted(xml_arrays(Path("a_000000.vti"))[1]) == ["array", "cell.inner.mass", "cell.speed"]


# ---- points and meshes

FACES = {"triangles": np.array([[0, 1, 2], [2, 1, 4], [3, 4, 5]]), "quads": np.array([[0, 1, 2, 3], [2, 3, 4, 5]])}


def cloud(axes: int = 3) -> tuple[Any, dict[str, Any]]:
    """Six points, and channels."""
    channels = {
        "speed": filled(ti.field(ti.f64, 6)),
        "id": filled(ti.field(ti.i32, 6)),
        "color": np.linspace(0, 1, 18, dtype=np.float32).reshape(6, 3),
        "radius": np.linspace(0.1, 0.5, 6, dtype=np.float32),
        "pull": filled(ti.Vector.field(3, ti.f32, 6)),
    }
    return filled(ti.Vector.field(axes, ti.f32, 6)), channels


def places_of(positions: Any) -> Any:
    array = positions.to_numpy()
    return np.pad(array, ((0, 0), (0, 3 - array.shape[1])))


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("faces", [None, *FACES])
def test_points_and_meshes_as_xml(axes: int, faces: str | None) -> None:
    recorder, (x, channels) = ti.Recorder("a.vtp"), cloud(axes)
    if faces is None:
        recorder.points(x, **channels)
    else:
        recorder.mesh(x, FACES[faces], **channels)
    _, found = xml_arrays(Path("a_000000.vtp"))
    cells = np.arange(6)[:, None] if faces is None else FACES[faces]
    assert np.array_equal(found.pop("Points"), places_of(x))
    assert found.pop("connectivity").tolist() == cells.ravel().tolist()
    assert found.pop("offsets").tolist() == [cells.shape[1] * (k + 1) for k in range(len(cells))]
    same(found, wanted(channels, 1))


@needs("vtk")
@pytest.mark.parametrize("faces", [None, *FACES])
@pytest.mark.parametrize("ending", [".vtp", with_package(".vtkhdf", "h5py")])
def test_vtk_reads_points_and_meshes(faces: str | None, ending: str) -> None:
    from vtk.util.numpy_support import vtk_to_numpy

    recorder, frames = ti.Recorder(f"a{ending}", fps=10), [cloud(), cloud(), cloud()]
    for x, channels in frames:
        if faces is None:
            recorder.points(x, **channels)
        else:
            recorder.mesh(x, FACES[faces], **channels)
    steps = [(time, vtk_data(file)) for time, file in read_pvd("a.pvd")] if ending == ".vtp" else hdf_steps("a.vtkhdf")
    assert [time for time, _ in steps] == [0, 0.1, 0.2]
    for (_, data), (x, channels) in zip(steps, frames):
        assert np.array_equal(vtk_to_numpy(data.GetPoints().GetData()), places_of(x))
        same(arrays_of(data.GetPointData()), wanted(channels, 1))
        cells = data.GetVerts() if faces is None else data.GetPolys()
        corners = np.arange(6) if faces is None else FACES[faces].ravel()
        assert vtk_to_numpy(cells.GetConnectivityArray()).tolist() == corners.tolist()


@needs("vtk")
@needs("h5py")
def test_the_number_of_points_may_change() -> None:
    recorder = ti.Recorder("a.vtkhdf")
    for count in (3, 7, 1):
        recorder.points(np.full((count, 3), count, np.float32), number=np.arange(count))
    counts = [(data.GetNumberOfPoints(), data.GetVerts().GetNumberOfCells()) for _, data in hdf_steps("a.vtkhdf")]
    assert counts == [(3, 3), (7, 7), (1, 1)]
    arrays = [arrays_of(data.GetPointData())["number"].tolist() for _, data in hdf_steps("a.vtkhdf")]
    assert arrays == [[0, 1, 2], [0, 1, 2, 3, 4, 5, 6], [0]]


@needs("meshio")
@pytest.mark.parametrize("faces", list(FACES))
def test_meshio_reads_ply(faces: str) -> None:
    import meshio

    recorder, (x, channels) = ti.Recorder("a.ply"), cloud()
    recorder.mesh(x, FACES[faces], **channels)
    mesh = meshio.read("a_000000.ply")
    assert np.array_equal(mesh.points, x.to_numpy())
    assert np.array_equal(mesh.cells[0].data, FACES[faces])
    assert np.array_equal(mesh.point_data["speed"], channels["speed"].to_numpy())
    assert np.array_equal(mesh.point_data["pull_y"], channels["pull"].to_numpy()[:, 1])
    assert np.allclose(mesh.point_data["green"], channels["color"][:, 1])


@needs("vtk")
def test_vtk_reads_ply() -> None:
    from vtk.util.numpy_support import vtk_to_numpy

    recorder, (x, channels) = ti.Recorder("a.ply"), cloud()
    recorder.points(x, **channels)
    assert np.array_equal(vtk_to_numpy(vtk_data("a_000000.ply").GetPoints().GetData()), x.to_numpy())


def test_integers_of_ply_fit_or_are_refused() -> None:
    recorder = ti.Recorder("a.ply")
    recorder.points(np.zeros((2, 3)), number=np.array([1, 2**31 - 1]))
    with pytest.raises(TypeError, match="have 32 bits, but 'number' has larger values"):
        recorder.points(np.zeros((2, 3)), number=np.array([1, 2**31]))


# ---- pictures


def test_pictures_with_depth() -> None:
    from PIL import Image

    recorder = ti.Recorder("out/a.png", depth_range=(-1, 3))
    image = RANDOM.random((4, 3, 3))
    depth = RANDOM.uniform(-1, 3, (4, 3))
    recorder.image(image, depth=depth)
    recorder.image(image.swapaxes(0, 1)[::-1], order="yx")
    assert [path.name for path in recorder.files] == ["a_000000.png", "a_000001.png"]
    rows = np.asarray(Image.open("out/a_000000.png"))
    assert np.array_equal(rows, np.asarray(Image.open("out/a_000001.png")))
    assert np.array_equal(rows[-1, 0], (image[0, 0] * 255).astype(np.uint8))
    with Image.open("out/a_000000.depth.png") as picture:
        low, high = map(float, picture.info["depth_range"].split())
        read = np.asarray(picture).astype(np.float64) / 65535 * (high - low) + low
    assert np.abs(read[::-1].swapaxes(0, 1) - depth).max() <= 4 / 65535
    with pytest.raises(ValueError, match=r"the depth 3\.5 is outside of the recorder's depth_range, -1\.0 to 3\.0"):
        recorder.image(image, depth=np.full((4, 3), 3.5))
    with pytest.raises(ValueError, match=r"has \(4, 3\) pixels, but there are \(3, 4\) depths"):
        recorder.image(image, depth=np.zeros((3, 4)))
    assert not Path("out/a_000002.png").exists()


def test_a_photograph_is_not_turned_without_a_word() -> None:
    with pytest.warns(ti.tools.ImageOrderWarning, match=r"Recorder\.image takes") as record:
        ti.Recorder("a.png").image(np.zeros((4, 3, 3), np.uint8))
    assert record[0].filename == __file__


def test_a_window_is_recorded() -> None:
    window, recorder = ti.ui.Window("a", (8, 6), show_window=False), ti.Recorder("a.png")
    recorder.image(window.get_image_buffer_as_numpy(), depth=window.get_depth_buffer_as_numpy())
    assert ti.tools.imread("a_000000.png").shape == (8, 6, 4)
    assert Path("a_000000.depth.png").exists()


# ---- series


def test_a_list_of_files() -> None:
    recorder, x = ti.Recorder("out/a.vti", fps=4), ti.field(ti.f32, (2, 2))
    recorder.grid(x)
    recorder.grid(x, time=7)
    assert read_pvd("out/a.pvd") == [(0.0, "a_000000.vti"), (7.0, "a_000001.vti")]
    assert [path.as_posix() for path in recorder.files] == ["out/a_000000.vti", "out/a.pvd", "out/a_000001.vti"]


@needs("pyvista")
def test_pyvista_reads_the_list() -> None:
    import pyvista

    recorder, x = ti.Recorder("a.vti"), ti.field(ti.f32, (2, 2))
    for number in range(3):
        x.fill(number)
        recorder.grid(heat=x, time=number / 10)
    reader = pyvista.get_reader("a.pvd")
    assert reader.time_values == [0, 0.1, 0.2]
    reader.set_active_time_value(0.2)
    assert reader.read()[0]["heat"].tolist() == [2, 2, 2, 2]


def test_a_list_continues() -> None:
    x = ti.field(ti.f32, (2, 2))
    recorder = ti.Recorder("a.vti")
    for number in range(5):
        x.fill(number)
        recorder.grid(heat=x, time=number)
    recorder = ti.Recorder("a.vti", first=3)
    x.fill(30)
    recorder.grid(heat=x, time=3)
    assert read_pvd("a.pvd") == [(float(k), f"a_{k:06d}.vti") for k in range(4)]
    assert xml_arrays(Path("a_000003.vti"))[1]["heat"].tolist() == [30] * 4
    with pytest.raises(ValueError, match="has 4 frames, so the series cannot continue at number 5"):
        ti.Recorder("a.vti", first=5)


@needs("vtk")
@needs("h5py")
@pytest.mark.parametrize("kind", ["grid", "points", "mesh"])
def test_one_file_continues(kind: str) -> None:
    def record(recorder: Any, number: int) -> None:
        if kind == "grid":
            recorder.grid(value=np.full((2, 3), number))
            return
        x, value = np.full((number + 3, 3), number), np.full(number + 3, number)
        recorder.points(x, value=value) if kind == "points" else recorder.mesh(x, FACES["triangles"][:1], value=value)

    recorder = ti.Recorder("a.vtkhdf", fps=1)
    for number in range(5):
        record(recorder, number)
    recorder = ti.Recorder("a.vtkhdf", first=2, fps=1)
    for number in (20, 30):
        record(recorder, number)
    steps = hdf_steps("a.vtkhdf")
    assert [time for time, _ in steps] == [0, 1, 2, 3]
    values = [arrays_of(data.GetCellData() if kind == "grid" else data.GetPointData())["value"] for _, data in steps]
    assert [array.tolist() for array in values] == [[n] * (6 if kind == "grid" else n + 3) for n in (0, 1, 20, 30)]
    if kind == "mesh":
        assert [data.GetNumberOfCells() for _, data in steps] == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="the file has 4 steps"):
        ti.Recorder("a.vtkhdf", first=6)


@needs("h5py")
def test_steps_have_the_same_arrays() -> None:
    recorder = ti.Recorder("a.vtkhdf")
    recorder.grid(heat=np.zeros((2, 3)))
    for other in ({"cold": np.zeros((2, 3))}, {"heat": np.zeros((3, 3))}, {"heat": np.zeros((2, 3), np.float32)}):
        with pytest.raises(TypeError, match=r"the first has 'heat' \(float64 \(3, 2\)\)"):
            recorder.grid(**other)
    with pytest.raises(TypeError, match="the same arrays"):
        recorder.points(np.zeros((2, 3)))
    recorder.grid(heat=np.ones((2, 3)))
    assert recorder.number == 2


# ---- mistakes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ti.Recorder("a.obj"), r"must end in \.vti, .* unlike 'a\.obj'"),
        (lambda: ti.Recorder(3), r"ti\.Recorder takes the path of a file, not 3"),
        (lambda: ti.Recorder("a.vti", at="corners"), "at 'cells' or 'points', not at 'corners'"),
        (lambda: ti.Recorder("a.vti", spacing=0), "must be positive, not 0"),
        (lambda: ti.Recorder("a.vti", origin=(1, 2, 3, 4)), "a number for each of up to three axes"),
        (lambda: ti.Recorder("a.png", depth_range=3), "depth_range must be two numbers"),
        (lambda: ti.Recorder("a.png", depth_range=(3, 1)), "must be smaller than the second"),
        (lambda: ti.Recorder("a.vti", first=-1), "a whole number of at least 0"),
        (lambda: ti.Recorder("a.vti", fps=0), "above 0"),
        (
            lambda: ti.Recorder("a.vti").points(np.zeros((2, 3))),
            r"a \.vti file supports grid, not points; use ",
        ),
        (lambda: ti.Recorder("a.vti").grid(), "at least one field"),
        (lambda: ti.Recorder("a.vti").grid(a=ti.field(ti.f32, 3), b=ti.field(ti.f32, 4)), "the same shape and offset"),
        (lambda: ti.Recorder("a.vti").grid(a=ti.field(ti.f32, (2,) * 4)), r"its shape is \(2, 2, 2, 2\)"),
        (lambda: ti.Recorder("a.vti").grid(a="text"), "'a': expected numbers"),
        (lambda: ti.Recorder("a.vti").grid(a=np.zeros(3), time="now"), "the time of a frame must be a number"),
        (
            lambda: ti.Recorder("a.vtp").points(np.zeros((2, 4))),
            "positions must be at least one vector of 2 or 3 numbers",
        ),
        (
            lambda: ti.Recorder("a.vtp").points(ti.field(ti.f32, (4, 3))),
            "positions must be at least one vector of 2 or 3 numbers",
        ),
        (lambda: ti.Recorder("a.vtp").points(np.zeros((2, 3)), a=np.zeros(3)), "there are 2 points, but 'a' has shape"),
        (lambda: ti.Recorder("a.vtp").mesh(np.zeros((2, 3)), np.zeros((1, 3))), "must be integers of shape"),
        (lambda: ti.Recorder("a.vtp").mesh(np.zeros((2, 3)), [[0, 1, 2]]), "2 vertices, but a face has the vertex 2"),
        (lambda: ti.Recorder("a.png").image(np.zeros((2, 2, 5))), "an image must have the shape"),
        (lambda: ti.Recorder("a.png").image(np.zeros((2, 2)), order="up"), "'xy' or 'yx', not 'up'"),
    ],
)
def test_mistakes(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("ending", "module", "extra"),
    [(".vtkhdf", "h5py", "hdf5"), (".usd", "pxr.Sdf", "usd"), (".png", "PIL.Image", "viz")],
)
def test_a_missing_package_is_named(ending: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"pip install 'weft\[{extra}\]'"):
        ti.Recorder(f"a{ending}").image(np.zeros((2, 2)))
