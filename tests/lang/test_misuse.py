"""Calls of the public interface with nonsense: an error of Weft's that says what is right, not what broke inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft

ti: Any = weft  # whose annotations would refuse what is tried here

KIND = ti.types.struct(a=ti.i32, b=ti.f32)

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "members": (lambda: ti.Struct.field(3), "members are a dict"),
    "name": (lambda: ti.field(ti.f32, name=3), "name of a field is a string"),
    "name of vectors": (lambda: ti.Vector.field(2, ti.f32, 3, name=3), "name of a field is a string"),
    "parent": (lambda: ti.field(ti.f32, 4).parent("a"), "how many levels"),
    "parent of a negative level": (lambda: ti.field(ti.f32, 4).parent(-1), "how many levels"),
    "component": (lambda: ti.Matrix.field(2, 2, ti.f32, 4).get_scalar_field("a"), "indices of a component"),
    "no component": (lambda: ti.Vector.field(2, ti.f32, 4).get_scalar_field(), "indices of a component"),
    "struct from numpy": (lambda: KIND.field(4).from_numpy(3), "a dict with an array for each member"),
    "dense": (lambda: ti.root.dense(3, 4), "axes are given as"),
    "axes": (lambda: ti.axes("a"), "axes are distinct numbers"),
    "unhashable axes": (lambda: ti.axes([]), "axes are distinct numbers"),
    "rows": (lambda: ti.linalg.SparseMatrixBuilder("a"), "whole numbers, not 'a'"),
    "builder": (lambda: ti.linalg.SparseMatrixBuilder(3, 3, 4)[0], "in a kernel"),
    "prefix sums": (lambda: ti.algorithms.PrefixSumExecutor("a"), "the length of what it sums"),
    "shape of an image": (lambda: ti.tools.imresize(np.zeros(3), 3), "two or three axes"),
    "size of an image": (lambda: ti.tools.imresize(np.zeros((3, 3)), "a"), "two whole numbers"),
    "negative size": (lambda: ti.tools.imresize(np.zeros((3, 3)), -1), "two whole numbers"),
    "zero": (lambda: ti.zero("a"), "a number, vector or matrix is needed"),
    "one": (lambda: ti.one(None), "a number, vector or matrix is needed"),
    "ndrange": (lambda: ti.ndrange("a"), "an axis of ndrange"),
    "bound of ndrange": (lambda: ti.ndrange((0, None)), "an axis of ndrange"),
    "grouped": (lambda: ti.grouped("a"), "takes an ndrange, a field or an array"),
    "argument of a graph": (lambda: ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim="q"), "a number of axes"),
    "operator": (lambda: ti.linalg.LinearOperator(3), "a kernel of two fields"),
    "configurations": (lambda: ti.autotune(3), "takes configs="),
    "class": (lambda: ti.data_oriented(5), "goes on a class"),
    "type": (lambda: ti.types.vector(3, "f"), "not a primitive type"),
    "extent": (lambda: ti.types.vector("f", ti.f32), "an integer of at least 1"),
    "threads": (lambda: ti.init(cpu_max_num_threads=-4), "0 or more, not -4"),
    "one value": (lambda: ti.min(1), "at least two values"),
}


@pytest.mark.parametrize("name", CALLS)
def test_nonsense_is_refused_in_words(name: str) -> None:
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
