"""Graphs: sequences of kernel calls whose arguments come with each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError

NDARRAY, SCALAR, MATRIX = ti.graph.ArgKind.NDARRAY, ti.graph.ArgKind.SCALAR, ti.graph.ArgKind.MATRIX


@pytest.fixture(autouse=True, params=("cpu", "python"))
def arch(request: pytest.FixtureRequest) -> Iterator[None]:
    ti.init(arch=request.param)
    yield
    ti.reset()


@ti.kernel
def advance(x: ti.types.ndarray(dtype=ti.math.vec2, ndim=1), v: ti.math.vec2, dt: ti.f32):
    for i in x:
        x[i] += v * dt


@ti.kernel
def measure(x: ti.types.ndarray(ndim=1), out: ti.types.ndarray(dtype=ti.f32, ndim=0)):
    for i in x:
        out[None] += x[i].sum()


def args() -> tuple[Any, ...]:
    return (
        ti.graph.Arg(NDARRAY, "x", ti.math.vec2, ndim=1),
        ti.graph.Arg(MATRIX, "v", ti.math.vec2),
        ti.graph.Arg(SCALAR, "dt", dtype=ti.f32),
        ti.graph.Arg(NDARRAY, "sum", ti.f32, ndim=0),
    )


def test_runs_its_calls_in_order_with_the_arguments_of_each_run() -> None:
    x, v, dt, total = args()
    builder = ti.graph.GraphBuilder()
    step = builder.create_sequential()
    step.dispatch(advance, x, v, dt)
    for _ in range(3):
        builder.append(step)
    builder.dispatch(measure, x, total)
    builder.dispatch(advance, x, ti.math.vec2(0, 100), 1.0)  # values that are the same in every run
    graph = builder.compile()
    step.dispatch(measure, x, total)  # too late: the graph has its calls
    for shift in (1.0, 10.0):
        places, out = ti.Vector.ndarray(2, ti.f32, 5), ti.ndarray(ti.f32, ())
        graph.run({"x": places, "v": ti.math.vec2(shift, 0), "dt": 0.5, "sum": out})
        assert out[None] == 5 * 1.5 * shift
        np.testing.assert_array_equal(places.to_numpy(), np.tile([1.5 * shift, 100], (5, 1)))


def test_methods() -> None:
    @ti.data_oriented
    class Pile:
        def __init__(self, grain: int) -> None:
            self.grain = grain

        @ti.kernel
        def add(self, heights: ti.types.ndarray(dtype=ti.i32)):
            for I in ti.grouped(heights):
                heights[I] += self.grain

    heights = ti.graph.Arg(NDARRAY, "heights", ti.i32, ndim=2)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(Pile(3).add, heights)
    builder.dispatch(Pile(4).add, heights)
    array = ti.ndarray(ti.i32, (2, 3))
    builder.compile().run({"heights": array})
    assert (array.to_numpy() == 7).all()


def test_arguments_that_do_not_fit() -> None:
    x, v, dt, total = args()
    builder = ti.graph.GraphBuilder()
    with pytest.raises(ArgumentError, match="takes 3 arguments, got 2"):
        builder.dispatch(advance, x, v)
    with pytest.raises(
        ArgumentError,
        match=r"parameter 'v' of kernel 'advance' is annotated .*, which does not accept Arg\(SCALAR, 'dt', f32\)",
    ):
        builder.dispatch(advance, x, dt, dt)
    with pytest.raises(
        ArgumentError, match=r"parameter 'x' of kernel 'advance'.*not accept Arg\(NDARRAY, 'sum', f32, ndim=0\)"
    ):
        builder.dispatch(advance, total, v, dt)
    with pytest.raises(ArgumentError, match="dispatch takes a kernel, not <function"):
        builder.dispatch(args)
    builder.dispatch(advance, x, v, dt)
    graph = builder.compile()
    given = {"x": ti.Vector.ndarray(2, ti.f32, 5), "v": ti.math.vec2(0), "dt": 1.0}
    with pytest.raises(ArgumentError, match="needs 'dt'; its arguments are x, v, dt"):
        graph.run({"x": given["x"], "v": given["v"]})
    with pytest.raises(ArgumentError, match="has no argument 'y'"):
        graph.run({**given, "y": 1})
    with pytest.raises(ArgumentError, match=r"argument Arg.*'x'.* cannot be an ndarray of f32 with 1 axes"):
        graph.run({**given, "x": ti.ndarray(ti.f32, 5)})
    builder.dispatch(advance, ti.graph.Arg(NDARRAY, "x", ti.math.vec2, 1), v, ti.graph.Arg(SCALAR, "v", ti.f32))
    with pytest.raises(ArgumentError, match=r"'v' is Arg.* in one call, but Arg.* in another"):
        builder.compile()


def test_arguments_that_make_no_sense() -> None:
    for tag, dtype, ndim, why in (
        (SCALAR, ti.math.vec2, None, "its dtype cannot be"),
        (MATRIX, ti.f32, None, "its dtype cannot be"),
        (NDARRAY, ti.f32, None, "say its ndim"),
        (SCALAR, ti.f32, 1, "it has no ndim"),
        (ti.graph.ArgKind.TEXTURE, ti.f32, 2, "textures are not implemented yet"),
    ):
        with pytest.raises(ti.CompilationError, match=why):
            ti.graph.Arg(tag, "a", dtype, ndim)
