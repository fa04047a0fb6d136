"""Calls of the public interface with nonsense: an error of Weft's that says what is right, not what broke inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft

ti: Any = weft  # whose annotations would refuse what is tried here

KIND = ti.types.struct(a=ti.i32, b=ti.f32)

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "members": (lambda: ti.Struct.field(3), "members must be a dict"),
    "name": (lambda: ti.field(ti.f32, name=3), "name of a field must be a string"),
    "name of vectors": (lambda: ti.Vector.field(2, ti.f32, 3, name=3), "name of a field must be a string"),
    "parent": (lambda: ti.field(ti.f32, 4).parent("a"), "a number of levels"),
    "parent of a negative level": (lambda: ti.field(ti.f32, 4).parent(-1), "a number of levels"),
    "component": (lambda: ti.Matrix.field(2, 2, ti.f32, 4).get_scalar_field("a"), "indices of a component"),
    "no component": (lambda: ti.Vector.field(2, ti.f32, 4).get_scalar_field(), "indices of a component"),
    "struct from numpy": (lambda: KIND.field(4).from_numpy(3), "a dict with an array for each member"),
    "dense": (lambda: ti.root.dense(3, 4), "axes must be ti.i"),
    "axes": (lambda: ti.axes("a"), "axes must be distinct numbers"),
    "unhashable axes": (lambda: ti.axes([]), "axes must be distinct numbers"),
    "rows": (lambda: ti.linalg.SparseMatrixBuilder("a"), "whole numbers.*, not 'a'"),
    "builder": (lambda: ti.linalg.SparseMatrixBuilder(3, 3, 4)[0], "in a kernel"),
    "prefix sums": (lambda: ti.algorithms.PrefixSumExecutor("a"), "the number of elements to sum"),
    "shape of an image": (lambda: ti.tools.imresize(np.zeros(3), 3), "two or three axes"),
    "size of an image": (lambda: ti.tools.imresize(np.zeros((3, 3)), "a"), "two whole numbers"),
    "negative size": (lambda: ti.tools.imresize(np.zeros((3, 3)), -1), "two whole numbers"),
    "zero": (lambda: ti.zero("a"), "expected a number, vector or matrix"),
    "one": (lambda: ti.one(None), "expected a number, vector or matrix"),
    "ndrange": (lambda: ti.ndrange("a"), "an axis of ndrange"),
    "bound of ndrange": (lambda: ti.ndrange((0, None)), "an axis of ndrange"),
    "grouped": (lambda: ti.grouped("a"), "takes an ndrange, a field or an array"),
    "argument of a graph": (lambda: ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim="q"), "a number of axes"),
    "operator": (lambda: ti.linalg.LinearOperator(3), "a kernel of two fields"),
    "configurations": (lambda: ti.autotune(3), "takes configs="),
    "graph": (lambda: ti.graph.Graph(3), "takes a list of calls"),
    "sequence of a graph": (lambda: ti.graph.GraphBuilder().append(3), "create_sequential"),
    "arguments of a graph": (lambda: ti.graph.GraphBuilder().compile().run(3), "a dict from the names"),
    "pack": (lambda: ti.ArgPack(None, {}), "made by ti.types.argpack"),
    "members of a pack": (lambda: ti.ArgPackType(None), "members of an argument pack"),
    "field": (lambda: ti.ScalarField("f"), "with ti.field"),
    "field of matrices": (lambda: ti.MatrixField(None, 3), "with ti.Vector.field"),
    "field of structs": (lambda: ti.StructField(None), "the method `field` of their type"),
    "shape without axes": (lambda: ti.ndarray(ti.f32, np.array("x")), "a shape must consist of integers"),
    "rows of a matrix": (lambda: ti.Matrix.rows(np.array(3)), "a list of vectors"),
    "norm": (lambda: ti.Vector([1.0, 2.0]).norm("a"), "takes numbers, vectors and matrices, not 'a'"),
    "length": (lambda: ti.math.length(None), "takes numbers, vectors and matrices, not None"),
    "product": (lambda: ti.math.cmul(None, 3), "takes numbers, vectors and matrices, not None"),
    "list for a vector": (lambda: ti.math.cpow([1, 2], 3), "takes numbers, vectors and matrices"),
    "mod": (lambda: ti.math.mod("a", 3), "takes numbers, vectors and matrices, not 'a'"),
    "eye": (lambda: ti.math.eye(None), "takes numbers, vectors and matrices, not None"),
    "too few arguments": (lambda: ti.math.smoothstep(0.0), "missing 2 required"),
    "clz": (lambda: ti.math.clz(2.5), "takes an integer, not f64"),
    "isinf": (lambda: ti.math.isinf("a"), "takes numbers, vectors and matrices, not 'a'"),
    "condition of an array": (lambda: ti.static_assert(np.zeros(3)), "static_assert: "),
    "hex": (lambda: ti.hex_to_rgb("a"), "an integer such as 0xFF8000"),
    "colour": (lambda: ti.rgb_to_hex(3), "numbers in"),
    "two parts of a colour": (lambda: ti.rgb_to_hex((1, 0)), "numbers in"),
    "seed": (lambda: ti.seed(None), "an integer, not None"),
    "logs": (lambda: ti.set_logs([]), "must be a string"),
    "element of a vector": (lambda: ti.Vector([1.0, 2.0])[7], "of shape \\(2,\\): index 7 is out of bounds"),
    "no element of a vector": (lambda: ti.Vector([1.0, 2.0]).__setitem__(7, 3), "index 7 is out of bounds"),
    "all of a vector": (lambda: ti.Vector([1.0, 2.0]).fill([]), "elements of a matrix of shape"),
    "element of a sparse matrix": (lambda: ti.linalg.SparseMatrix(3, 3)[0], "A\\[i, j\\]"),
    "half an index": (lambda: ti.linalg.SparseMatrix(3, 3)[0.5, 1], "two whole numbers"),
    "value of an element": (lambda: ti.linalg.SparseMatrix(3, 3).__setitem__((0, 0), "a"), "must be a number, not 'a'"),
    "file of a sparse matrix": (lambda: ti.linalg.SparseMatrix(3, 3).mmwrite(3), "mmwrite takes the path"),
    "triplets": (lambda: ti.linalg.SparseMatrix(3, 3).build_from_ndarray(None), "an ndarray of"),
    "half a triplet": (
        lambda: ti.linalg.SparseMatrix(3, 3).build_from_ndarray(ti.ndarray(ti.f32, 4)),
        "a triplet is three numbers",
    ),
    "pattern": (lambda: ti.linalg.SparseSolver().analyze_pattern(None), "takes a SparseMatrix"),
    "factorize": (lambda: ti.linalg.SparseSolver().factorize(3), "takes a SparseMatrix"),
    "right-hand side": (lambda: ti.linalg.SparseCG(ti.linalg.SparseMatrix(3, 3), 3), "a numpy array, a field"),
    "image to read": (lambda: ti.tools.imread(None), "imread takes the path"),
    "image to write": (lambda: ti.tools.imwrite(np.zeros((4, 4)), None), "imwrite takes the path"),
    "image to show": (lambda: ti.tools.imshow(None), "an image: expected numbers, not None"),
    "size of a GUI": (lambda: ti.GUI("x", "a", show_gui=False), "the size of a GUI"),
    "size of a window": (lambda: ti.ui.Window("x", (4,), show_window=False), "the size of a window"),
    "vertices": (lambda: ti.tools.PLYWriter(None), "numbers of vertices and faces"),
    "channel": (lambda: ti.tools.PLYWriter(2).add_vertex_pos("a", "b", "c"), "expected numbers, not 'a'"),
    "frame of a series": (lambda: ti.tools.PLYWriter(2).export_frame("a", "b"), "must be an integer"),
    "folder of a video": (lambda: ti.tools.VideoManager(None), "VideoManager takes the path"),
    "close": (lambda: ti.testing.assert_close({}, 3), "compares numbers"),
    "bench": (lambda: ti.testing.do_bench(3), "a function without parameters"),
    "time of a bench": (lambda: ti.testing.do_bench(int, warmup="a"), "milliseconds"),
    "report": (lambda: ti.testing.perf_report(3), "ti.testing.Benchmark"),
    "timeline": (lambda: ti.profiler.save_timeline(None), "takes the path"),
    "arrays of structs": (lambda: ti.ndarray(KIND, 4).from_numpy(3), "a dict with an array for each member"),
    "class": (lambda: ti.data_oriented(5), "must decorate a class"),
    "type": (lambda: ti.types.vector(3, "f"), "not a primitive type"),
    "extent": (lambda: ti.types.vector("f", ti.f32), "an integer of at least 1"),
    "threads": (lambda: ti.init(cpu_max_num_threads=-4), "0 or more, not -4"),
    "one value": (lambda: ti.min(1), "at least two values"),
}


@pytest.mark.parametrize("name", CALLS)
def test_invalid_arguments_raise_a_clear_error(name: str) -> None:
    ti.init(arch=ti.cpu)
    call, words = CALLS[name]
    with pytest.raises(ti.WeftError, match=words):
        call()


def test_a_field_of_columns_takes_both_shapes_and_gives_the_short_one() -> None:
    ti.init(arch=ti.cpu)
    x = ti.Matrix.field(3, 1, ti.f32, 4)
    values = np.arange(12, dtype=np.float32).reshape(4, 3, 1)
    x.from_numpy(values)
    assert x.to_numpy().tolist() == values[:, :, 0].tolist()
    assert x.to_numpy(keep_dims=True).tolist() == values.tolist()
    assert x[2][1, 0] == 7
    x.from_numpy(values[:, :, 0] + 1)
    assert x.to_numpy(keep_dims=True).tolist() == (values + 1).tolist()


def test_numpys_scalars_are_accepted(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu)
    A = ti.linalg.SparseMatrix(np.int32(3), np.int64(3))
    A[np.int32(1), np.int64(2)] = np.float32(2.5)
    assert A[1, 2] == 2.5
    A.mmwrite(tmp_path / "A.mtx")
    assert "2 3 2.5" in (tmp_path / "A.mtx").read_text()
    ti.seed(np.int64(3))
    assert ti.hex_to_rgb(np.uint32(0xFF0000)) == (1.0, 0.0, 0.0)
    assert ti.rgb_to_hex(np.array([1.0, 0.0, 0.0])) == ti.rgb_to_hex(ti.Vector([1.0, 0.0, 0.0])) == 0xFF0000
    assert ti.GUI("x", np.array([8, 4]), show_gui=False).res == ti.GUI("x", (8.0, 4, 3), show_gui=False).res == (8, 4)
    assert ti.math.ivec2(10**30)[0] == int(np.uint64(10**30 & (2**64 - 1)).astype(np.int32))
    assert ti.math.vec2(10**30).x == np.float32(1e30)
    assert ti.ndarray(ti.f32, np.array([2, 3])).shape == (2, 3)
    writer = ti.tools.PLYWriter(np.int64(2))
    x = ti.field(ti.f32, 2)
    writer.add_vertex_pos(x, [1, 2], np.zeros(2))
    writer.export_frame(np.int32(1), tmp_path / "points.ply")
    assert (tmp_path / "points_000001.ply").exists()


def test_members_are_told_of() -> None:
    ti.init(arch=ti.cpu)
    for named in (KIND(1, 2.0), KIND.field(4), ti.ndarray(KIND, 4)):
        ask = named.__getitem__ if isinstance(named, ti.Struct) else named.get_member_field
        for nonsense in ("c", None, []):
            with pytest.raises(KeyError, match="has no member"):
                ask(nonsense)
