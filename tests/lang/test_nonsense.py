"""Every public call of windows, tools, solvers, graphs and profilers, with nonsense for one argument after the other:
Weft itself says what is wrong, not what numpy or Python trip over inside of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft

ti: Any = weft  # whose annotations would refuse what is tried here

FLAT = np.random.default_rng(0).random((6, 2), np.float32)
SPACE = np.random.default_rng(1).random((6, 3), np.float32)
SIX, ORDER, GREY = np.ones(6, np.float32), np.arange(6, dtype=np.int32), np.zeros((24, 16), np.float32)
PLACE, COLOR, WHITE = (0.5, 0.5), 0xFF8000, (1.0, 1.0, 1.0)
ARROWS = np.ones((24, 16, 2))


WEFT = Path(weft.__file__).resolve().parent


class Opaque:
    """Nothing that any call wants."""

    def __repr__(self) -> str:
        return "<opaque>"


NONSENSE: dict[str, Any] = {"an object": Opaque(), "no matrix": [[1, 2], [3]], "texts": np.array(["a", "b"])}


@ti.kernel
def double(x: ti.template(), out: ti.template()):
    for i in x:
        out[i] = 2 * x[i]


@ti.kernel
def advance(x: ti.types.ndarray(ti.f32, 1), v: ti.math.vec2, dt: ti.f32):
    for i in x:
        x[i] += dt * v[0]


def gui() -> Any:
    return ti.GUI("test", (24, 16), show_gui=False)


def window() -> Any:
    return ti.ui.Window("test", (24, 16), show_window=False)


def canvas() -> Any:
    return window().get_canvas()


def panel() -> Any:
    made = window().get_gui()
    made.begin("panel", 0, 0, 0.5, 0.5)
    return made


def mesh() -> Any:
    return ti.tools.PLYWriter(6, 2)


def matrix() -> Any:
    made = ti.linalg.SparseMatrix(3, 3)
    made[1, 1] = 2.0
    return made


def widget() -> Any:
    return lambda value: setattr(gui().slider("a", 0, 1), "value", value)


def scene_of(what: str) -> Any:
    made = ti.ui.Scene()
    return getattr(made, what)


def run_graph(**arguments: Any) -> None:
    builder = ti.graph.GraphBuilder()
    x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    v, dt = (
        ti.graph.Arg(ti.graph.ArgKind.MATRIX, "v", ti.math.vec2),
        ti.graph.Arg(ti.graph.ArgKind.SCALAR, "dt", ti.f32),
    )
    builder.dispatch(advance, x, v, dt)
    builder.compile().run(arguments)


def solve(name: str) -> Any:
    def call(**arguments: Any) -> None:
        vectors = {label: ti.field(ti.f32, 4) for label in ("b", "x")}
        operator = ti.linalg.LinearOperator(double)
        getattr(ti.linalg, name)(**{"A": operator, **vectors, **arguments})

    return call


Call = tuple[Callable[[], Any], dict[str, Any]]  # what gives the function, and arguments that fit it

_OFFSETS = {"index_offset": 0, "index_count": 3}
_MESH = {"vertices": SPACE, "indices": ORDER, "normals": SPACE, "two_sided": True, "show_wireframe": False, **_OFFSETS}

CALLS: dict[str, Call] = {
    "GUI": (lambda: ti.GUI, {"name": "a", "res": 24, "show_gui": False, "fullscreen": False, "fast_gui": False}),
    "GUI background": (lambda: lambda color: ti.GUI("a", 4, color, show_gui=False), {"color": COLOR}),
    "GUI.clear": (lambda: gui().clear, {"color": COLOR}),
    "GUI.show": (lambda: gui().show, {"file": "a.png"}),
    "GUI.set_image": (lambda: gui().set_image, {"img": GREY}),
    "GUI.contour": (lambda: gui().contour, {"scalar_field": GREY, "normalize": True}),
    "GUI.circle": (lambda: gui().circle, {"pos": PLACE, "color": COLOR, "radius": 2}),
    "GUI.circles": (lambda: gui().circles, {"pos": FLAT, "color": COLOR, "radius": 2}),
    "GUI.circles by palette": (
        lambda: gui().circles,
        {"pos": FLAT, "palette": [0xFF, 0xFF00], "palette_indices": np.zeros(6, int)},
    ),
    "GUI.line": (lambda: gui().line, {"begin": PLACE, "end": PLACE, "color": COLOR, "radius": 2}),
    "GUI.lines": (lambda: gui().lines, {"begin": FLAT, "end": FLAT, "color": COLOR, "radius": 2}),
    "GUI.triangle": (lambda: gui().triangle, {"a": PLACE, "b": (0, 0), "c": (1, 0), "color": COLOR}),
    "GUI.triangles": (lambda: gui().triangles, {"a": FLAT, "b": FLAT, "c": FLAT, "color": COLOR}),
    "GUI.rect": (lambda: gui().rect, {"topleft": PLACE, "bottomright": PLACE, "color": COLOR, "radius": 2}),
    "GUI.text": (lambda: lambda **rest: gui().text("a", **rest), {"pos": PLACE, "font_size": 15, "color": COLOR}),
    "GUI.arrow": (lambda: gui().arrow, {"orig": PLACE, "direction": PLACE, "tip_scale": 0.2, "angle": 45}),
    "GUI.arrows": (lambda: gui().arrows, {"orig": FLAT, "direction": FLAT, "radius": 1, "color": COLOR}),
    "GUI.arrow_field": (lambda: gui().arrow_field, {"direction": ARROWS, "bound": 0.5}),
    "GUI.point_field": (lambda: gui().point_field, {"radius": GREY, "bound": 0.5}),
    "GUI.vector_field": (lambda: gui().vector_field, {"vector_field": ARROWS, "arrow_spacing": 5, "color": COLOR}),
    "GUI.slider": (lambda: gui().slider, {"text": "a", "minimum": 0, "maximum": 1, "step": 0.1}),
    "GUI.label": (lambda: gui().label, {"text": "a"}),
    "GUI.button": (lambda: gui().button, {"text": "a", "event_name": "b"}),
    "WidgetValue": (widget, {"value": 1}),
    "GUI.get_event": (lambda: lambda wanted: gui().get_event(wanted), {"wanted": "a"}),
    "GUI.is_pressed": (lambda: lambda key: gui().is_pressed(key), {"key": "a"}),
    "GUI.fps_limit": (lambda: lambda value: setattr(gui(), "fps_limit", value), {"value": 30}),
    "GUI.running": (lambda: lambda value: setattr(gui(), "running", value), {"value": True}),
    "EventFilter.match": (lambda: ti.GUI.EventFilter("a").match, {"e": ti.GUI.Event()}),
    "Window": (
        lambda: ti.ui.Window,
        {"name": "a", "res": 24, "vsync": True, "show_window": False, "fps_limit": 60, "pos": (1, 1)},
    ),
    "Window.running": (lambda: lambda value: setattr(window(), "running", value), {"value": True}),
    "Window.save_image": (lambda: window().save_image, {"filename": "a.png"}),
    "Window.get_depth_buffer": (lambda: window().get_depth_buffer, {"depth": GREY}),
    "Window.get_event": (lambda: window().get_event, {"tag": "a"}),
    "Window.is_pressed": (lambda: lambda key: window().is_pressed(key), {"key": "a"}),
    "Canvas.set_background_color": (lambda: canvas().set_background_color, {"color": WHITE}),
    "Canvas.set_image": (lambda: canvas().set_image, {"img": GREY}),
    "Canvas.contour": (lambda: canvas().contour, {"scalar_field": GREY, "cmap_name": "gray", "normalize": True}),
    "Canvas.triangles": (lambda: canvas().triangles, {"vertices": FLAT, "color": WHITE, "indices": ORDER}),
    "Canvas.lines": (lambda: canvas().lines, {"vertices": FLAT, "width": 0.1, "per_vertex_color": SPACE}),
    "Canvas.circles": (lambda: canvas().circles, {"centers": FLAT, "radius": 0.1, "per_vertex_color": SPACE}),
    "Canvas.circles of radii": (
        lambda: lambda **rest: canvas().circles(FLAT, 0.1, **rest),
        {"per_vertex_radius": SIX},
    ),
    "Canvas.vector_field": (
        lambda: canvas().vector_field,
        {"vector_field": ARROWS, "arrow_spacing": 5, "scale": 0.1, "width": 0.1, "color": WHITE},
    ),
    "Canvas.scene": (lambda: canvas().scene, {"scene": None}),
    "Scene.set_camera": (lambda: scene_of("set_camera"), {"camera": None}),
    "Scene.ambient_light": (lambda: scene_of("ambient_light"), {"color": WHITE}),
    "Scene.point_light": (lambda: scene_of("point_light"), {"pos": WHITE, "color": WHITE}),
    "Scene.particles": (lambda: scene_of("particles"), {"centers": SPACE, "radius": 0.1, "color": WHITE, **_OFFSETS}),
    "Scene.particles of radii": (
        lambda: lambda **rest: scene_of("particles")(SPACE, 0.1, **rest),
        {"per_vertex_radius": SIX, "per_vertex_color": SPACE},
    ),
    "Scene.lines": (lambda: scene_of("lines"), {"vertices": SPACE, "width": 0.1, "indices": ORDER, **_OFFSETS}),
    "Scene.lines in order": (lambda: scene_of("lines"), {"vertices": SPACE, "width": 1, "vertex_offset": 0}),
    "Scene.mesh": (lambda: scene_of("mesh"), _MESH),
    "Scene.mesh_instance": (
        lambda: scene_of("mesh_instance"),
        {**_MESH, "transforms": np.eye(4)[None], "instance_offset": 0, "instance_count": 1},
    ),
    **{
        f"Camera.{name}": (lambda name=name: getattr(ti.ui.Camera(), name), {"x": 1, "y": 2, "z": 3})
        for name in ("position", "lookat", "up")
    },
    **{
        f"Camera.{name}": (lambda name=name: getattr(ti.ui.Camera(), name), {name: 1.0})
        for name in ("fov", "left", "right", "top", "bottom", "z_near", "z_far")
    },
    "Camera.projection_mode": (lambda: ti.ui.Camera().projection_mode, {"mode": ti.ui.ProjectionMode.Orthogonal}),
    "Camera.get_projection_matrix": (lambda: ti.ui.Camera().get_projection_matrix, {"aspect": 1.5}),
    "Camera.track_user_inputs": (
        lambda: lambda **rest: ti.ui.Camera().track_user_inputs(**{"window": window(), **rest}),
        {"movement_speed": 1, "yaw_speed": 1, "pitch_speed": 1, "hold_key": "a"},
    ),
    "Camera.track_user_inputs of a window": (lambda: ti.ui.Camera().track_user_inputs, {"window": None}),
    "Gui.begin": (lambda: window().get_gui().begin, {"name": "a", "x": 0, "y": 0, "width": 0.5, "height": 0.5}),
    "Gui.text": (lambda: lambda color: panel().text("a", color), {"color": WHITE}),
    "Gui.button": (lambda: panel().button, {"text": "a"}),
    "Gui.checkbox": (lambda: panel().checkbox, {"text": "a", "old_value": True}),
    "Gui.slider_int": (lambda: panel().slider_int, {"text": "a", "old_value": 1, "minimum": 0, "maximum": 5}),
    "Gui.slider_float": (lambda: panel().slider_float, {"text": "a", "old_value": 1, "minimum": 0, "maximum": 5}),
    "Gui.color_edit_3": (lambda: panel().color_edit_3, {"text": "a", "old_value": WHITE}),
    "imread": (lambda: ti.tools.imread, {"channels": 3, "filename": "in.png"}),
    "imwrite": (lambda: ti.tools.imwrite, {"img": GREY, "filename": "a.png"}),
    "imresize": (lambda: ti.tools.imresize, {"img": GREY, "w": 3, "h": 4}),
    "imshow": (lambda: ti.tools.imshow, {"img": GREY, "title": "a"}),
    "PLYWriter": (lambda: ti.tools.PLYWriter, {"num_vertices": 6, "num_faces": 2, "face_type": "tri", "comment": "a"}),
    "PLYWriter.add_vertex_channel": (
        lambda: mesh().add_vertex_channel,
        {"key": "a", "data_type": "float", "data": SIX},
    ),
    "PLYWriter.add_face_channel": (
        lambda: mesh().add_face_channel,
        {"key": "a", "data_type": "int", "data": SIX[:2]},
    ),
    "PLYWriter.add_vertex_pos": (lambda: mesh().add_vertex_pos, {"x": SIX, "y": SIX, "z": SIX}),
    "PLYWriter.add_vertex_rgba": (lambda: mesh().add_vertex_rgba, {"r": SIX, "g": SIX, "b": SIX, "alpha": SIX}),
    "PLYWriter.add_faces": (lambda: mesh().add_faces, {"indices": ORDER}),
    "VideoManager": (
        lambda: ti.tools.VideoManager,
        {"output_dir": "out", "video_filename": "a", "width": 8, "height": 4, "post_processor": abs}
        | {"framerate": 24, "automatic_build": False},
    ),
    "VideoManager.write_frame": (lambda: ti.tools.VideoManager("out").write_frame, {"img": GREY}),
    "VideoManager.get_output_filename": (lambda: ti.tools.VideoManager("out").get_output_filename, {"suffix": ".mp4"}),
    "write_vtk": (lambda: ti.tools.write_vtk, {"scalar_field": GREY, "filename": "a"}),
    "Timer": (lambda: ti.Timer, {"name": "a"}),
    "ScopedProfiler": (lambda: ti.profiler.ScopedProfiler, {"name": "a"}),
    "timed": (lambda: ti.profiler.timed, {"function": gui}),
    "query_kernel_profiler_info": (lambda: ti.profiler.query_kernel_profiler_info, {"name": "a"}),
    "print_kernel_profiler_info": (lambda: ti.profiler.print_kernel_profiler_info, {"mode": "count"}),
    "save_timeline": (lambda: ti.profiler.save_timeline, {"filename": "a.json"}),
    "get_predefined_cupti_metrics": (lambda: ti.profiler.get_predefined_cupti_metrics, {"name": ""}),
    "set_kernel_profiler_toolkit": (lambda: ti.profiler.set_kernel_profiler_toolkit, {"toolkit_name": "default"}),
    "profile": (lambda: ti.profile, {"path": "a.json", "nvtx": False}),
    "parallel_sort": (lambda: ti.algorithms.parallel_sort, {"keys": SIX.copy(), "values": SIX.copy()}),
    "PrefixSumExecutor": (lambda: ti.algorithms.PrefixSumExecutor, {"length": 3}),
    "PrefixSumExecutor.run": (lambda: ti.algorithms.PrefixSumExecutor(3).run, {"input_arr": SIX.copy()}),
    "SparseMatrix": (lambda: ti.linalg.SparseMatrix, {"n": 3, "m": 3, "dtype": ti.f32, "storage_format": "row_major"}),
    "SparseMatrixBuilder": (
        lambda: ti.linalg.SparseMatrixBuilder,
        {"num_rows": 3, "num_cols": 3, "max_num_triplets": 4, "dtype": ti.f32, "storage_format": "row_major"},
    ),
    "SparseMatrix[i, j]": (lambda: lambda i, j: matrix()[i, j], {"i": 1, "j": 1}),
    "SparseMatrix[i, j] = v": (lambda: lambda i, v: matrix().__setitem__((i, 1), v), {"i": 1, "v": 1}),
    "SparseMatrix.mmwrite": (lambda: matrix().mmwrite, {"filename": "a.mtx"}),
    "SparseMatrix.build_from_ndarray": (lambda: matrix().build_from_ndarray, {"ndarray": None}),
    "SparseSolver": (lambda: ti.linalg.SparseSolver, {"dtype": ti.f32, "solver_type": "LU", "ordering": "AMD"}),
    "SparseSolver.compute": (lambda: ti.linalg.SparseSolver().compute, {"sparse_matrix": None}),
    "SparseCG": (
        lambda: lambda **rest: ti.linalg.SparseCG(**{"A": matrix(), "b": SIX[:3], **rest}),
        {"x0": SIX[:3], "max_iter": 4, "atol": 1e-3, "b": SIX[:3]},
    ),
    "SparseCG of a matrix": (lambda: lambda A: ti.linalg.SparseCG(A, SIX[:3]), {"A": None}),
    "MatrixFreeCG": (lambda: solve("MatrixFreeCG"), {"tol": 1e-3, "maxiter": 4, "quiet": True}),
    "MatrixFreeBICGSTAB": (lambda: solve("MatrixFreeBICGSTAB"), {"tol": 1e-3, "maxiter": 4, "quiet": True}),
    "MatrixFreeCG of fields": (lambda: solve("MatrixFreeCG"), dict.fromkeys(("A", "b", "x"))),
    "LinearOperator": (lambda: ti.linalg.LinearOperator, {"matvec_kernel": double}),
    "LinearOperator.matvec": (lambda: ti.linalg.LinearOperator(double).matvec, {"x": None, "Ax": None}),
    "Arg": (lambda: ti.graph.Arg, {"tag": ti.graph.ArgKind.NDARRAY, "name": "x", "dtype": ti.f32, "ndim": 1}),
    "GraphBuilder.dispatch": (lambda: ti.graph.GraphBuilder().dispatch, {"kernel_fn": None}),
    "GraphBuilder.append": (lambda: ti.graph.GraphBuilder().append, {"node": None}),
    "Graph": (lambda: ti.graph.Graph, {"calls": []}),
    "Graph.run": (lambda: run_graph, {"x": SIX.copy(), "v": ti.math.vec2(1, 2), "dt": 0.1}),
}


@pytest.fixture(autouse=True)
def program(kept_kernels: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_GUI_FRAMES", "1")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", CALLS)
def test_nonsense_is_refused_by_weft(name: str) -> None:
    make, valid = CALLS[name]
    if all(value is not None for value in valid.values()):
        if name == "imread":
            ti.tools.imwrite(GREY, "in.png")
        make()(**valid)
    for argument in valid:
        for what, nonsense in NONSENSE.items():
            with pytest.raises((TypeError, ValueError, IndexError)) as caught:
                make()(**{**valid, argument: nonsense})
            last = traceback.extract_tb(caught.tb)[-1]
            where = f"{argument} = {what}: {caught.value!r}, raised at {last.filename}:{last.lineno}"
            assert (last.line or "").lstrip().startswith("raise "), where
            assert Path(last.filename).resolve().relative_to(WEFT).parts[0] in ("ir", "lang"), where


NOT_A_NUMBER, HUGE = float("nan"), 10**30

NUMBERS: dict[str, tuple[Callable[[], Any], str]] = {
    "part of a pixel": (lambda: ti.GUI("a", 2.5, show_gui=False), "not 2.5"),
    "size in bytes": (lambda: ti.GUI("a", b"ab", show_gui=False), "not b'ab'"),
    "negative colour": (lambda: gui().clear(-1), "0xRRGGBB, a whole number from 0 to 0xFFFFFF, not -1"),
    "part of a colour": (lambda: gui().circle(PLACE, 2.5), "a whole number"),
    "no colour": (lambda: gui().circle(PLACE, NOT_A_NUMBER), "a whole number"),
    "huge colour": (lambda: gui().circle(PLACE, 2**40), "a whole number"),
    "colours": (lambda: gui().circles(FLAT, color=[1, 2]), "6 shapes, but 2 colours"),
    "sizes": (lambda: gui().circles(FLAT, [1, 2]), "6 shapes, but 2 sizes"),
    "one coordinate": (lambda: gui().line(0.5, PLACE), "vector of two numbers, not 0.5"),
    "many coordinates": (lambda: gui().circle(FLAT), "vector of two numbers, not an array"),
    "corners": (lambda: gui().triangles(FLAT, FLAT[:2], FLAT), "the same number of corners, not 6, 2, 6"),
    "directions": (lambda: gui().arrows(FLAT, FLAT[:2]), "6 arrows, but 2 directions"),
    "number in a palette": (lambda: gui().circles(FLAT, palette=[1], palette_indices=[-1] * 6), "no color -1"),
    "size of a text": (lambda: gui().text("a", PLACE, 0), "above 0, not 0"),
    "huge text": (lambda: gui().text("a", PLACE, 2**40), "at most 4096"),
    "text that is nowhere": (lambda: gui().text("a", (0, NOT_A_NUMBER)), "must have a finite position"),
    "angle": (lambda: gui().arrow(PLACE, PLACE, angle=NOT_A_NUMBER), "finite number, not nan"),
    "spacing": (lambda: gui().vector_field(ARROWS, -1), "at least 1, not -1"),
    "no vectors": (lambda: gui().vector_field(np.zeros((0, 0, 2))), r"shape \(w, h, 2\), not \(0, 0, 2\)"),
    "slider": (lambda: gui().slider("a", NOT_A_NUMBER, 1), "finite number, not nan"),
    "step": (lambda: gui().slider("a", 0, 1, -1), "at least 0, not -1"),
    "frames": (lambda: setattr(gui(), "fps_limit", 0), "above 0, not 0"),
    "ending of a name": (lambda: gui().show("picture"), "must end in its format"),
    "folder of an image": (lambda: ti.tools.imwrite(GREY, "picture.xyz"), "must end in its format"),
    "no pixels": (lambda: ti.tools.imwrite(np.zeros((0, 4)), "a.png"), r"not \(0, 4\)"),
    "resized nothing": (lambda: ti.tools.imresize(np.zeros((0, 4)), 3), r"its shape is \(0, 4\)"),
    "resized to too much": (lambda: ti.tools.imresize(GREY, HUGE), "two whole numbers"),
    "frames of a window": (lambda: ti.ui.Window("a", 4, show_window=False, fps_limit=NOT_A_NUMBER), "not nan"),
    "position of a window": (lambda: ti.ui.Window("a", 4, show_window=False, pos=(1, 2**20)), "two numbers of pixels"),
    "depths": (lambda: window().get_depth_buffer(np.zeros((24, 16), int)), "array of floats, not an array of int"),
    "nothing to plot": (lambda: canvas().contour(np.zeros((0, 2))), r"not of shape \(0, 2\)"),
    "background": (lambda: canvas().set_background_color((1, NOT_A_NUMBER, 1)), "three numbers"),
    "half an index": (lambda: canvas().triangles(FLAT, indices=[0.5, 1, 2]), "whole numbers"),
    "one index": (lambda: canvas().triangles(FLAT, indices=1), "a field or array of whole numbers"),
    "scale": (lambda: canvas().vector_field(ARROWS, scale=NOT_A_NUMBER), "finite number, not nan"),
    "lamp": (lambda: scene_of("point_light")((1, 2), WHITE), r"three numbers, not \(1, 2\)"),
    "offset": (lambda: scene_of("mesh")(SPACE, ORDER, vertex_offset=HUGE), "whole number, not 1000"),
    "count": (lambda: scene_of("particles")(SPACE, 0.1, index_count=-1), "elements 0 to -1 are out of bounds"),
    "camera": (lambda: ti.ui.Camera().position(0, NOT_A_NUMBER, 0), "finite number, not nan"),
    "far camera": (lambda: ti.ui.Camera().position(HUGE, 0, 0), "within 1e"),
    "camera that looks at itself": (lambda: _blind_camera().track_user_inputs(window()), "the two points must differ"),
    "aspect": (lambda: ti.ui.Camera().get_projection_matrix(0), "above 0, not 0"),
    "panel": (lambda: window().get_gui().begin("a", 0, 0, 0, 1), "above 0 and at most 16 times the window, not 0"),
    "huge panel": (lambda: window().get_gui().begin("a", 0, 0, HUGE, 1), "at most 16 times the window"),
    "half a whole number": (lambda: panel().slider_int("a", 2.5, 0, 5), "whole number, not 2.5"),
    "colour of text": (lambda: panel().text("a", (1, 2)), "three numbers"),
    "comment": (lambda: ti.tools.PLYWriter(1, comment="two\nlines"), "one line of ASCII"),
    "name of a channel": (lambda: mesh().add_vertex_channel("a b", "float", SIX), "one word of ASCII"),
    "channel that is none": (lambda: mesh().add_vertex_piece(SIX * NOT_A_NUMBER), "has nan, which does not fit int"),
    "large channel": (
        lambda: mesh().add_vertex_color_uchar(SIX * 256, SIX, SIX),
        "has 256.0, which does not fit uchar",
    ),
    "corner of a face": (lambda: mesh().add_faces(ORDER + 1), "6 vertices, so there is no vertex 6"),
    "frame of a series": (lambda: mesh().export_frame(-1, "a"), "at least 0, not -1"),
    "width of a video": (lambda: ti.tools.VideoManager("out", width=0), "at least 1, not 0"),
    "frames of a video": (lambda: ti.tools.VideoManager("out", framerate=NOT_A_NUMBER), "above 0, not nan"),
    "rows": (lambda: ti.linalg.SparseMatrix(-1), "not -1, -1"),
    "many rows": (lambda: ti.linalg.SparseMatrixBuilder(2**31, 3, 4), "below 2147483647, not 2147483648, 3"),
    "type of a solver": (lambda: ti.linalg.SparseSolver(ti.i32), "must be floats, not i32"),
    "steps": (lambda: ti.linalg.SparseCG(matrix(), SIX[:3], max_iter=-1), "at least 0, not -1"),
    "tolerance": (lambda: solve("MatrixFreeCG")(tol=NOT_A_NUMBER), "at least 0, not nan"),
    "array of matrices": (lambda: np.zeros((3, 3)) * matrix(), "'\\*' does not work on a sparse matrix and an array"),
    "sum of matrices and arrays": (
        lambda: matrix() + np.zeros((3, 3)),
        "'\\+' does not work on a sparse matrix and an array",
    ),
}


def _blind_camera() -> Any:
    made = ti.ui.Camera()
    made.lookat(0, 0, 0)
    return made


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_make_no_sense(name: str) -> None:
    call, message = NUMBERS[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_what_is_allowed() -> None:
    """Numbers of any kind, and places that are nowhere."""
    drawn = gui()
    drawn.circle(np.array([0.5, 0.5, 7.0]), color=np.uint32(0xFFFF0000), radius=np.float32(2))
    assert drawn.get_image()[12, 8].tolist() == [1, 0, 0, 1]
    drawn.circle((NOT_A_NUMBER, 0.5), radius=NOT_A_NUMBER)
    shape, size = ti.field(ti.f32, ()), ti.field(ti.i32, 3)
    shape[None] = 0.25
    size.from_numpy(np.array([0, 1, 2]))
    canvas().triangles(FLAT, indices=np.array([0.0, 1.0, 2.0]))
    canvas().circles(FLAT, shape)
    canvas().triangles(FLAT, indices=size)
    window().get_gui().begin("beside the window", 5, HUGE, 0.5, 0.5)
    ti.ui.Camera().fov(np.float64(60))
    assert not drawn.is_pressed(("a", ti.GUI.SHIFT), "b")
    assert not drawn.get_event((ti.GUI.PRESS, "a"), [ti.GUI.RELEASE, "b"])


def test_panels_beside_the_window_are_not_drawn() -> None:
    shown = window()
    before = shown.get_image_buffer_as_numpy()
    for x, y in ((HUGE, 0), (0, -HUGE), (-HUGE, HUGE), (1, 1), (-0.5, -100)):
        with shown.get_gui().sub_window(f"{x} {y}", x, y, 0.5, 0.5) as gui:
            gui.text("a")
    assert (shown.get_image_buffer_as_numpy() == before).all()


def test_a_window_that_was_closed_is_not_waited_for() -> None:
    class Closed:
        closed = True

        def poll(self) -> list[Any]:
            return []

    waits = gui()
    waits._window = waits._inputs.window = Closed()
    with pytest.raises(ti.WeftError, match="there is no window"):
        waits.get_key_event()


def test_a_sparse_matrix_outlives_its_program() -> None:
    A, solver, x = matrix(), ti.linalg.SparseCG(matrix(), np.array([0, 4, 0], np.float32)), np.ones(3, np.float32)
    assert (A @ x).tolist() == [0, 2, 0]
    for start in (ti.reset, lambda: ti.init(arch=ti.cpu)):
        start()
        assert (A @ x).tolist() == [0, 2, 0]
        assert solver.solve()[0].tolist() == [0, 2, 0]


def test_what_belongs_to_a_program_that_is_gone() -> None:
    image, places, numbers = ti.field(ti.f32, (24, 16)), ti.Vector.field(2, ti.f32, 6), ti.ndarray(ti.f32, 3)
    builder = ti.linalg.SparseMatrixBuilder(3, 3, 4)
    image.fill(1)
    places.fill(1)
    ti.init(arch=ti.cpu)
    for call in (
        lambda: gui().set_image(image),
        lambda: gui().circles(places),
        lambda: canvas().set_image(image),
        lambda: canvas().circles(places, 0.1),
        lambda: window().get_depth_buffer(image),
        lambda: ti.tools.imwrite(image, "a.png"),
        lambda: ti.tools.write_vtk(image, "a"),
        lambda: ti.algorithms.parallel_sort(numbers),
        lambda: ti.algorithms.PrefixSumExecutor(3).run(numbers),
        lambda: matrix() @ numbers,
        lambda: run_graph(x=numbers, v=ti.math.vec2(1, 2), dt=0.1),
        builder.build,
    ):
        with pytest.raises(ti.FieldError, match="no longer exists"):
            call()
