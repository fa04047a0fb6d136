"""`ti.views`: what the other libraries have is what the fields have."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.packages import needs
from weft.lang.exports.frames import Geometry, Points, grid_of
from weft.lang.exports.shown_shapes import color_bytes, plane_of, triangles

FACES = np.array([[0, 1, 2, 3], [2, 3, 4, 5]])


def cloud() -> tuple[Any, Any]:
    """The positions of six points, and a number for each."""
    x, speed = ti.Vector.field(3, ti.f32, 6), ti.field(ti.f64, 6)
    x.from_numpy(np.random.default_rng(1).random((6, 3)))
    speed.from_numpy(np.arange(6.0))
    return x, speed


# ---- xarray


@needs("xarray")
def test_a_data_set_has_coordinates() -> None:
    cell = ti.types.struct(half=ti.f16, flag=ti.u1)
    heat, flow = ti.field(ti.f32, (4, 3), offset=(0, 2)), ti.Vector.field(2, ti.f64, (4, 3), offset=(0, 2))
    strain, cells = ti.Matrix.field(2, 3, ti.i32, (4, 3), offset=(0, 2)), cell.field(shape=(4, 3), offset=(0, 2))
    heat.from_numpy(np.arange(12.0).reshape(4, 3))
    flow.from_numpy(np.arange(24.0).reshape(4, 3, 2))
    found = ti.views.xarray(
        heat=heat, flow=flow, strain=strain, cells=cells, origin=(1, 10), spacing=(0.5, 2), time=0.25
    )
    assert found.heat.dims == ("x", "y")
    assert found.flow.dims == ("x", "y", "flow_component")
    assert found.strain.dims == ("x", "y", "strain_row", "strain_column")
    assert found.x.values.tolist() == [1.25, 1.75, 2.25, 2.75]
    assert found.y.values.tolist() == [15, 17, 19]
    assert float(found.time) == 0.25
    assert float(found.heat.sel(x=1.75, y=19)) == 5
    assert found.flow.sel(x=2.75, y=15).values.tolist() == [18, 19]
    assert (found["cells.half"].dtype, found["cells.flag"].dtype) == (np.float16, np.bool_)
    corners = ti.views.xarray({"heat": heat.to_numpy()}, spacing=0.5, at="points", dims=["lon", "lat"])
    assert corners.lat.values.tolist() == [0, 0.5, 1]
    heat.fill(0)
    assert float(found.heat.sum()) == 66  # a copy


@needs("xarray")
def test_data_sets_are_joined_and_written(tmp_path: Path) -> None:
    import xarray

    x = ti.field(ti.f32, 5)
    sets = []
    for number in range(3):
        x.fill(number)
        sets.append(ti.views.xarray(value=x, time=number / 2))
    joined = xarray.concat(sets, "time")
    assert joined.value.sel(time=1.0).values.tolist() == [2] * 5
    with pytest.raises(TypeError, match="dims must have a name for each of 1 axes"):
        ti.views.xarray(value=x, dims=())


# ---- shapes and colours


def test_colours() -> None:
    def bytes_of(color: Any) -> Any:
        return color_bytes(Points(np.zeros((len(color), 3)), {"color": np.asarray(color)})).tolist()

    assert bytes_of([[0.0, 0.5, 1.0], [2.0, -1.0, np.nan]]) == [[0, 127, 255], [255, 0, 0]]
    assert bytes_of(np.array([[1, 2, 3, 4]], np.uint8)) == [[1, 2, 3, 4]]
    assert bytes_of([3, 7]) == [[0x44, 0x01, 0x54], [0xFD, 0xE7, 0x25]]
    assert bytes_of([5.0, 5.0]) == [[0x44, 0x01, 0x54]] * 2
    assert color_bytes(Points(np.zeros((1, 3)), {})) is None
    with pytest.raises(TypeError, match=r"a color must be a number, or 3 or 4 numbers, not \(2,\)"):
        bytes_of([[1.0, 2.0]])


def test_planes() -> None:
    cells = grid_of({"a": np.zeros((2, 3))}, Geometry.of((1, 2, 3), (1, 10), "cells"))
    corners, faces = plane_of(cells)
    assert corners.tolist() == [[1 + i, 2 + 10 * j, 3] for i in range(3) for j in range(4)]
    assert corners[faces].mean(1).tolist() == [[1.5 + i, 7 + 10 * j, 3] for i in range(2) for j in range(3)]
    points = grid_of({"a": np.zeros((2, 3))}, Geometry.of(0, 1, "points"))
    assert [len(part) for part in plane_of(points)] == [6, 2]
    a, b = corners[triangles(faces)][:2]
    normals = [np.cross(t[1] - t[0], t[2] - t[0]) for t in (a, b)]
    assert [n.tolist() for n in normals] == [[0, 0, 10]] * 2  # both halves look up


# ---- polyscope


@pytest.fixture(scope="module")
def stage() -> Iterator[Any]:
    import polyscope

    polyscope.set_allow_headless_backends(True)
    polyscope.set_verbosity(0)
    try:
        polyscope.init()
    except Exception as error:
        pytest.skip(f"Polyscope finds neither a display nor EGL here: {error}")
    yield polyscope
    polyscope.remove_all_structures()


def buffer(structure: Any, name: str, kind: str = "values") -> Any:
    return listed(structure.get_quantity_buffer(name, kind))


def listed(held: Any) -> Any:
    values = [held.get_value(k) for k in range(held.size())]
    return np.array([value.as_tuple() if hasattr(value, "as_tuple") else value for value in values])


@needs("polyscope")
def test_polyscope_has_points(stage: Any) -> None:
    x, speed = cloud()
    made = ti.views.polyscope.points(
        "sand", x, speed=speed, pull=x, flat=np.ones((6, 2)), color=np.full((6, 3), 51, np.uint8), radius=speed
    )
    assert np.array_equal(listed(made.get_buffer("points")), x.to_numpy())
    assert buffer(made, "speed").tolist() == speed.to_numpy().tolist()
    assert np.array_equal(buffer(made, "pull"), x.to_numpy())
    assert buffer(made, "flat").tolist() == [[1, 1, 0]] * 6
    assert np.allclose(buffer(made, "color", "colors"), 0.2)
    before = stage.screenshot_to_buffer().astype(int)
    made.set_enabled(False)
    assert np.abs(stage.screenshot_to_buffer().astype(int) - before).sum() > 1000  # something was seen


@needs("polyscope")
def test_polyscope_has_meshes(stage: Any) -> None:
    x, speed = cloud()
    made = ti.views.polyscope.mesh("cloth", x, FACES, speed=speed, color=speed)
    assert (made.n_vertices(), made.n_faces()) == (6, 2)
    assert buffer(made, "speed").tolist() == speed.to_numpy().tolist()


@needs("polyscope")
@pytest.mark.parametrize("at", ["cells", "points"])
def test_polyscope_has_grids(stage: Any, at: str) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    made = ti.views.polyscope.grid("air", values, origin=1, spacing=(1, 2, 3), at=at, wind=np.ones((2, 3, 4, 2)))
    assert np.allclose(made.get_bound_min(), 1)
    assert np.allclose(made.get_bound_max(), [3, 7, 13] if at == "cells" else [2, 5, 10])
    assert buffer(made, "air").tolist() == values.ravel("F").tolist()
    assert buffer(made, "wind[1]").tolist() == [1] * 24
    flat = ti.field(ti.f32, (4, 3))
    flat.from_numpy(np.arange(12.0).reshape(4, 3))
    plane = ti.views.polyscope.grid("water", at=at, height=flat, flow=ti.Vector.field(2, ti.f32, (4, 3)))
    assert (plane.n_vertices(), plane.n_faces()) == ((20, 12) if at == "cells" else (12, 6))
    assert buffer(plane, "height").tolist() == list(range(12))
    with pytest.raises(ValueError, match="two or three axes"):
        ti.views.polyscope.grid("line", np.zeros(3))


# ---- rerun


def logged(path: str, entity: str) -> dict[str, list[Any]]:
    """The columns of an entity of a recording, read by Rerun's own reader."""
    from rerun.chunk import RrdReader

    columns: dict[str, list[Any]] = {}
    for chunk in RrdReader(path).stream():
        if chunk.entity_path == f"/{entity}":
            for name, values in chunk.to_record_batch().to_pydict().items():
                columns.setdefault(name, []).extend(values)
    return columns


@pytest.fixture
def recording() -> Iterator[str]:
    import rerun

    rerun.init("test")
    rerun.save("a.rrd")
    yield "a.rrd"
    rerun.disconnect()


def finished(path: str, entity: str) -> dict[str, list[Any]]:
    import rerun

    rerun.disconnect()  # writes what is waiting
    return logged(path, entity)


@needs("rerun")
def test_rerun_has_points(recording: str) -> None:
    x, speed = cloud()
    ti.views.rerun.points("sand", x, time=0.5, speed=speed, color=speed, radius=np.full(6, 0.1, np.float32))
    found = finished(recording, "sand")
    assert np.array_equal(np.reshape(found["Points3D:positions"][0], (6, 3)), x.to_numpy())
    assert found["Points3D:radii"][0] == pytest.approx([0.1] * 6)
    assert len(found["Points3D:colors"][0]) == 6
    assert found["speed"][0] == speed.to_numpy().tolist()
    assert [one.total_seconds() for one in found["time"]] == [0.5]


@needs("rerun")
def test_rerun_has_meshes_grids_and_pictures(recording: str) -> None:
    x, speed = cloud()
    ti.views.rerun.mesh("cloth", x, FACES, color=np.zeros((6, 3)), speed=speed)
    ti.views.rerun.grid("air", np.arange(6.0).reshape(2, 3))
    ti.views.rerun.grid("air", flow=ti.Vector.field(2, ti.f32, (2, 3)))
    image = np.zeros((4, 3, 3), np.uint8)
    image[0, 2] = 255, 0, 0  # the upper left
    ti.views.rerun.image("photo", image, np.ones((4, 3)), order="xy")
    with pytest.warns(ti.tools.ImageOrderWarning, match=r"ti\.views\.rerun\.image takes"):
        ti.views.rerun.image("turned", image)
    mesh = finished(recording, "cloth")
    assert np.reshape(mesh["Mesh3D:triangle_indices"][0], (-1, 3)).tolist() == triangles(FACES).tolist()
    tensor = logged(recording, "air")["Tensor:data"][0][0]
    assert (tensor["shape"], tensor["names"]) == ([2, 3], ["x", "y"])
    assert logged(recording, "air/flow")["Tensor:data"][0][0]["names"] == ["x", "y", "component"]
    assert list(logged(recording, "photo")["Image:buffer"][0][0][:3]) == [255, 0, 0]
    assert len(logged(recording, "photo/depth")["DepthImage:buffer"]) == 1


# ---- viser


@pytest.fixture
def server() -> Iterator[Any]:
    import viser

    made = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield made
    made.stop()


@needs("viser")
def test_viser_has_points_meshes_and_grids(server: Any) -> None:
    x, speed = cloud()
    cloud_shown = ti.views.viser.points("/sand", x, server=server, color=speed, radius=0.02)
    assert np.array_equal(cloud_shown.points, x.to_numpy())
    assert cloud_shown.colors[0].tolist() == [0x44, 0x01, 0x54]
    assert cloud_shown.point_size == pytest.approx(0.04)
    plain = ti.views.viser.mesh("/cloth", x, FACES, server=server)
    assert plain.vertices.tolist() == x.to_numpy().tolist()
    assert plain.faces.tolist() == triangles(FACES).tolist()
    colored = ti.views.viser.mesh("/silk", x, FACES, server=server, color=np.ones((6, 3)))
    assert len(colored.glb_data) > 100
    for at in ("cells", "points"):
        plane = ti.views.viser.grid("/water", np.arange(12.0).reshape(4, 3), server=server, at=at)
        assert plane.name == "/water"
    with urllib.request.urlopen(f"http://127.0.0.1:{server.get_port()}/") as page:
        assert b"<html" in page.read(1000)


@needs("viser")
def test_viser_refuses_what_it_cannot_show(server: Any) -> None:
    x, speed = cloud()
    with pytest.raises(TypeError, match="not 'speed': pass it as color"):
        ti.views.viser.points("/sand", x, server=server, speed=speed)
    with pytest.raises(TypeError, match="only fields of numbers with two axes"):
        ti.views.viser.grid("/air", np.zeros((2, 2, 2)), server=server)


@needs("viser")
def test_viser_starts_a_server_of_this_machine() -> None:
    from weft.lang.exports import viser_view

    started = ti.views.viser.server()
    try:
        assert started is ti.views.viser.server()
        assert started.get_host() == "127.0.0.1"
        assert ti.views.viser.points("/sand", np.zeros((2, 3))).points.shape == (2, 3)
    finally:
        started.stop()
        viser_view._servers.clear()


# ---- missing packages


@pytest.mark.parametrize("module", ["xarray", "polyscope", "rerun", "viser"])
def test_a_missing_package_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    view = getattr(ti.views, module)
    with pytest.raises(ImportError, match=rf"pip install 'weft\[{module}\]'"):
        view(a=np.zeros(3)) if module == "xarray" else view.points("a", np.zeros((2, 3)))
